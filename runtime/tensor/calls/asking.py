"""Asking for the values of arguments, so that a wrong one is an error now: how a recognised call asks again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..trace.peeking import peek
from ..trace.tape import force, tapes
from ..value.cells import Cell, shown
from ..value.core import Core


def check_values(x: Core, test: Callable[[np.ndarray], None]) -> None:
    """Call `test` with the values of `x`, and again whenever a recognised call comes with another value there."""
    tape = tapes.tape
    if tape.again is None:
        made = peek(x, tape.call, True) if x._is_late or x._cell.array is None else None
        if made is not None:
            if tape.call is not None:
                tape.call.checked(x, test)
            test(made)
            return
        cell = x._read()
        constant = _is_constant(cell)
        array = shown(cell if cell.array is not None else force(cell))
        if tape.call is not None and not constant:
            tape.call.checked(x, test)
        test(array)
    elif tape.again.stand_in is not None:
        tape.again.checked(x, test)


def _is_constant(cell: Cell) -> bool:
    """Whether a function made a value of nothing but the form of its arguments, so that the answer stays the same."""
    return cell.array is not None and not cell.serial and cell.home is None
