"""Nests that share their outer axes as LLVM text: for each row, one nest after the other."""

from __future__ import annotations

import math

from ...ir.measure import Extent
from ...loops import Buffer
from ...lowering.program import Rows
from ..text.levels import LevelWriter
from ..text.registers import BYTES, Reg
from .loops import EVERYTHING, REST, Span, Stop, loop_over
from .memory import Cell, Row
from .nest import Failed, NestEmitter, flat, pairs, passed, possible


def emit_rows(
    w: LevelWriter, pointers: dict[Buffer, str], rows: Rows, span: Span | None = EVERYTHING, stop: Stop | None = None
) -> list[Failed]:
    """Write nests that share their outer axes, or a span of the outermost; what their assertions found."""
    row = Row(rows.local, rows.width, rows.straight, w.level)
    if not rows.straight:
        pointers = pointers | {b: _local_memory(w, b, rows.width) for b in rows.local}
    checks = [passed(w)] * sum(len(nest.asserts) for nest in rows.body)

    def turn(cell: Cell, checks: list[Failed]) -> list[Failed]:
        at = 0
        for nest in rows.body:
            n = len(nest.asserts)
            made = NestEmitter(w, pointers, nest, row, cell).emit(checks[at : at + n])
            checks = [*checks[:at], *made, *checks[at + n :]]
            at += n
        return checks

    def walk(at: int, cell: Cell, checks: list[Failed]) -> list[Failed]:
        if at == len(rows.axes):
            return turn(cell, checks)
        axis = rows.axes[at]
        width = rows.width if axis is rows.vector else 1

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            row.index[axis] = (index, w.level)
            return flat(walk(at + 1, cell, pairs(carries)))

        whole, part = axis.extent - axis.extent % width, span if at == 0 else EVERYTHING
        if possible(whole) and part is not REST:
            here = stop if stop is not None and stop.pause is not None and stop.pause.axis is axis else None
            checks = pairs(loop_over(w, whole, width, flat(checks), body, part, here))
        rest = axis.extent % width
        if possible(rest) and part in (EVERYTHING, REST):
            told = isinstance(rest, Extent)
            row.index[axis] = (w.number(whole if told else 0, "i64"), w.level)
            checks = walk(at + 1, Cell(0, w.number(rest, "i64")) if told else Cell(whole, rest), checks)
        return checks

    return walk(0, Cell(0), checks)


def _local_memory(w: LevelWriter, buffer: Buffer, width: int) -> str:
    """Memory on the stack for a buffer of one row."""
    return w.alloca(math.prod(buffer.type.static_shape()) * width * BYTES[buffer.type.dtype])
