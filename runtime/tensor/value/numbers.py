"""Python's numbers among tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.ir.symint import SymFloat, SymInt
from ....compiler.ir.types import CARRIED, HALVES, INTEGERS, STORED
from ..trace.fragments.fragment_cache import fragment_for, is_symbolic
from ..trace.fragments.fragments import Fragment, Operation
from ..trace.tape import tapes
from .cells import PARTS, Cell, number_cell
from .given import NumberInput, asked, holds_given

NUMBERS = (int, float, bool, complex)
FLOATS_TO_PYTORCH: tuple[type, ...] = (np.bool_, np.longdouble)
FLOAT_MAX = float(np.finfo(np.float32).max)


STAND_INS = NumberInput, SymInt, SymFloat
"""What stands for a number that may be another the next time."""


def number_of(value: Any) -> float | None:
    """Python's number for one of Python's or NumPy's, None for anything else.

    NumPy's truths and its longer floats are floats, as they are for PyTorch.
    """
    if type(value) in NUMBERS or type(value) in STAND_INS:
        return value  # type: ignore[return-value]  # which stands for a number
    if isinstance(value, FLOATS_TO_PYTORCH):
        return float(value)
    if isinstance(value, (np.generic, *NUMBERS)):
        plain: Any = value.item() if isinstance(value, np.generic) else value
        own: Any = next((t for t in (bool, int, float, complex) if isinstance(plain, t)), None)
        return own and own(plain)
    return None


def checked_number(operation: Operation, a: Any) -> float:
    number = number_of(a)
    if number is None:
        raise TypeError(f"{operation.name}(): expected a Tensor or a number, got {type(a).__name__}")
    return number


def input_cell(value: Any, dtype: str) -> Cell:
    """A cell of a number that may be an argument of the call that is recorded."""
    if type(value) is NumberInput:
        linked = value.link and value.link(value, dtype)
        return linked or cell_of_number(value.value, dtype)
    if type(value) in STAND_INS:
        return tapes.tape.again.number(value, dtype)
    cell = cell_of_number(value, dtype)
    call = tapes.tape.call
    if call is not None:
        call.numbers.number(value, cell)
    return cell


def cell_of_number(value: float, dtype: str) -> Cell:
    """A cell of a number as an operation reads it; an error if it does not fit."""
    if isinstance(value, complex):
        if dtype not in PARTS:
            raise RuntimeError(f"value {value} cannot be converted to {dtype} without overflow: it is complex")
        return number_cell(value, dtype)
    if dtype in CARRIED and dtype not in HALVES:
        return number_cell(np.array(value).astype(STORED[dtype]).item(), dtype)
    if dtype in INTEGERS:
        info = np.iinfo(STORED[dtype])
        if not info.min <= value <= info.max:
            raise RuntimeError(f"value {value} cannot be converted to {dtype} without overflow")
    elif not -FLOAT_MAX < value < FLOAT_MAX:
        with np.errstate(over="ignore"):
            return number_cell(value, dtype)
    return number_cell(value, dtype)


FEW = 3
"""So many different numbers are constants, each with code of its own; the next one makes inputs of them."""

KEPT = 4096
"""Operations with numbers that are watched."""

_seen: dict[Any, list[set[float]]] = {}
_constant: set[Any] = set()
"""What must know its numbers."""


def fragment_and_numbers(key: tuple[Any, ...]) -> tuple[Fragment, tuple[Any, ...]]:
    """The fragment for (operation, attributes, *arguments), and which numbers among its attributes are inputs of it.

    Those are inputs that a call was given as such, or that have changed before, unless the operation must know them.
    """
    operation, attributes, *arguments = key
    if holds_given(attributes):
        given = [a for a in attributes if type(a) is NumberInput]
        lifted = operation, tuple([float if type(a) is NumberInput else asked(a) for a in attributes]), *arguments
        fragment = _lifted(lifted)
        if fragment is not None:
            return fragment, tuple(given)
        attributes = asked(attributes)
        key = operation, attributes, *arguments
    numbers = [a for a in attributes if type(a) is float]
    if not numbers or is_symbolic(key):
        return fragment_for(key), ()
    bare = operation, tuple([float if type(a) is float else a for a in attributes]), *arguments
    seen = _seen.get(bare)
    if seen is None:
        while len(_seen) >= KEPT:
            _seen.pop(next(iter(_seen)), None)
        seen = _seen[bare] = [set() for _ in numbers]
    moves = False
    for values, value in zip(seen, numbers, strict=True):
        if len(values) <= FEW:
            values.add(value)
        moves = moves or len(values) > FEW
    if not moves:
        return fragment_for(key), ()
    changing = [len(values) > FEW for values in seen]
    each = iter(changing)
    lifted = operation, tuple([float if type(a) is float and next(each) else a for a in attributes]), *arguments
    fragment = _lifted(lifted)
    if fragment is not None:
        return fragment, tuple([v for v, moves in zip(numbers, changing, strict=True) if moves])
    return fragment_for(key), ()


def _lifted(key: tuple[Any, ...]) -> Fragment | None:
    """The fragment of which some numbers are inputs, unless the operation must know them."""
    if key not in _constant:
        try:
            return fragment_for(key)
        except Exception:  # whatever a formula does with what is no number
            if len(_constant) >= KEPT:
                _constant.clear()
            _constant.add(key)
    return None
