"""Writes by index into known memory: a tensor, a key and a value go in, and the elements are written by NumPy at once.

    memory[step] = observation      a few elements of a large buffer, written where they lie

Nothing is recorded and nothing else is copied, as long as nobody else holds what the buffer was: a trace that reads it
later, a node that has saved it, and a view that was read keep their values, and the buffer gets other memory then.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from ...reverse.modes import mode
from ...trace.crowd import crowd
from ...trace.peeking import in_memory
from ...trace.tape import tapes
from ...value.aliases import array_of, whole_number
from ...value.cells import Cell
from ...value.core import Core, number_of, requires
from ...value.located import owner_by_calls
from ...value.memory import tensor_types
from ...value.numbers import FLOAT_MAX
from ...value.paths import Path
from ...value.plain import is_plain, meets, memory_of, target_of, touch, write_now
from ...value.slots import HISTORY, LEAF, PART, SPECIAL
from .cuts import PLAIN_BOUNDS, cell_path

NUMBERED = "f32", "f64", "i64", "i32", "bool"
"""The dtypes that Python's numbers are written to by NumPy as PyTorch does it."""


def store(x: Any, key: Any, value: Any) -> bool:
    """x[key] = value, if all of it is known and no gradient is kept; whether that was done."""
    if type(x) not in tensor_types:
        return False
    if type(x._key) is tuple:
        if key is not ...:
            x._tell()
        else:
            x, key = target_of(x)
    if not is_plain(x):
        return False
    place = _as_numpy(key)
    if place is None:
        return False
    kind = x._kind if x._is_late else x._cell.kind
    memory, steps = memory_of(x)
    inside = isinstance(value, Core) and memory_of(value)[0] is memory
    if inside:
        path, lies = _path_to(place, kind.shape), memory_of(value)[1]
        if path is None or meets(memory, steps + path, lies):
            return False
        if steps + path == lies and touch(x):  # as `x[i] += y` does it
            return True
    given = as_given(value, kind)
    if given is None:
        return False
    return write_now(x, given.copy() if inside else given, place)


def _path_to(place: tuple[Any, ...], shape: tuple[int, ...]) -> Path | None:
    """The path along ints and slices."""
    if place and place[-1] is ...:  # an array is not to be compared
        place = place[:-1]
    if len(place) > len(shape) or any(type(k) is not int and type(k) is not slice for k in place):
        return None
    if not place:
        return ()
    spelled = [k.indices(n) if type(k) is slice else k for k, n in zip(place, shape, strict=False)]
    try:
        return cell_path(shape, tuple(spelled))
    except IndexError:
        return None


def _as_numpy(key: Any) -> Any:
    """The key as NumPy's; None where it has parts that mean something else, or are not known."""
    several = key if type(key) is tuple else (key,)
    made = []
    for k in map(whole_number, several):
        cls = type(k)
        if cls is int or k is None or k is Ellipsis or (cls is slice and _is_plain_slice(k)):
            made.append(k)
        elif isinstance(k, Core) and (array := _index(k)) is not None:
            made.append(array if array.shape else array.item())  # which is a view for both
        else:
            return None
    return tuple(made)


def _is_plain_slice(k: slice) -> bool:
    return {type(k.start), type(k.stop), type(k.step)} <= PLAIN_BOUNDS and (k.step is None or k.step > 0)


def _index(k: Any) -> np.ndarray | None:
    """The values of a tensor of indices, or of a mask, if they are there."""
    cell = k._read()
    allowed = ("i64", "i32", "bool") if cell.kind.shape else ("i64", "i32")
    return cell.array if type(cell) is Cell and cell.kind.dtype in allowed else None


def as_given(value: Any, kind: Any) -> Any:
    """The numbers that are written; None where NumPy would convert them otherwise than PyTorch."""
    if isinstance(value, Core):
        if type(value._key) is tuple and (known := array_of(value)) is not None:
            return _converted(known, kind)
        if (known := _known_view(value)) is not None:
            return _converted(known, kind)
        if type(value._read()) is not Cell or (mode.enabled and requires(value)):
            return None
        return _converted(value._array(), kind)
    number = number_of(value)
    if kind.dtype not in NUMBERED or type(number) not in _fitting(kind):
        return None
    return None if type(number) is float and FLOAT_MAX <= abs(number) < inf else number


def _known_view(value: Any) -> np.ndarray | None:
    """What a late view without a history holds, as `keys.T`, where it is one of memory that is there."""
    tape = tapes.tape
    late = value._is_late and value._flags & (SPECIAL | PART | HISTORY | LEAF) == SPECIAL
    if not late or tape.depth or crowd.on or value._serial != tape.serial:
        return None
    found = owner_by_calls(value, tape)
    if found is None or found[0]._storage is not None or (mode.enabled and requires(found[0])):
        return None
    return in_memory(value, tape)


def _converted(array: np.ndarray, kind: Any) -> np.ndarray | None:
    """An array in the dtype of a kind, if PyTorch converts it as well."""
    if array.dtype == kind.numpy:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(kind.numpy) if np.can_cast(array.dtype, kind.numpy, "same_kind") else None


def _fitting(kind: Any) -> Iterable[type]:
    """The classes of numbers that elements of a kind can be."""
    return (int, bool, float) if kind.is_float or kind.dtype == "bool" else (int, bool)


__all__ = ["as_given", "store"]
