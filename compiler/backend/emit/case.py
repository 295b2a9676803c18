"""Statements that run in one case only, told by a comparison at run time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...loops import Buffer
from ...lowering.program import InPlace, Nest, Rows, Still
from ..text.levels import LevelWriter
from ..text.registers import BITS, INTEGER_OF, Reg


@contextmanager
def in_case(w: LevelWriter, pointers: dict[Buffer, str], statement: Nest | Rows) -> Iterator[None]:
    """What is written inside runs in the case of the statement."""
    if isinstance(statement, Rows) or not statement.cases:
        yield
        return
    past = w.label("past")
    for case, holds in statement.cases:
        run = w.label("run")
        w.cbr(_holds(w, pointers, case), *((run, past) if holds else (past, run)))
        w.start(run)
    with w.forgotten():
        yield
    w.br(past)
    w.start(past)


def _holds(w: LevelWriter, pointers: dict[Buffer, str], case: InPlace | Still) -> Reg:
    """Whether a result lies where an input does, or an element is the right zero, bit by bit."""
    if isinstance(case, InPlace):
        return w.value("bool", 1, f"icmp eq ptr {pointers[case.result]}, {pointers[case.input]}")
    dtype = case.change.type.dtype
    bits = INTEGER_OF.get(dtype, dtype)
    zero = -1 << (BITS[bits] - 1) if case.negative else 0
    return w.eq(w.load(pointers[case.change], bits), w.number(zero, bits))


__all__ = ["in_case"]
