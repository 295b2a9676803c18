"""Statements that run in one case only, told by a comparison at run time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from ..loops import Buffer
from ..lowering.program import InPlace, Nest, Rows
from .levels import LevelWriter
from .registers import BITS, INTEGER_OF, Reg


@contextmanager
def in_case(w: LevelWriter, pointers: dict[Buffer, str], statement: Nest | Rows) -> Iterator[None]:
    """What is written inside runs in the case of the statement."""
    if isinstance(statement, Rows) or statement.case is None:
        yield
        return
    run, past = w.label("run"), w.label("past")
    w.cbr(_holds(w, pointers, statement.case), *((past, run) if statement.otherwise else (run, past)))
    w.start(run)
    with w.forgotten():
        yield
    w.br(past)
    w.start(past)


def _holds(w: LevelWriter, pointers: dict[Buffer, str], case: InPlace) -> Reg:
    """Whether the result lies where the input does, and the change is the right zero, bit by bit."""
    same = w.value("bool", 1, f"icmp eq ptr {pointers[case.result]}, {pointers[case.input]}")
    if case.change is None:
        return same
    dtype = case.change.type.dtype
    bits = INTEGER_OF.get(dtype, dtype)
    sign = -1 << (BITS[bits] - 1) if math.copysign(1.0, case.zero) < 0 else 0
    return w.and_(same, w.eq(w.load(pointers[case.change], bits), w.number(sign, bits)))


__all__ = ["in_case"]
