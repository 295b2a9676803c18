"""Parts of memory by their values alone: arguments of a call go in, and they come out with tensors that share nothing.

    w.t() @ x        of a column, or of a transposed matrix, a product reads the values, and not where they lie

A part that is not dense, or one of which no gradient is known, is no argument of a recognised call: what the call does
may depend on how the part lies and on what may be written to it. A call whose results lie in memory of their own asks
for neither. It reads the cell of the part, by which writes to the memory are seen, as the part itself would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..reverse.modes import mode
from .cells import Cell
from .memory import requires, tensor_types
from .slots import PART, SPECIAL, VIEWED


def by_value(a: Any) -> Any:
    """A part of plain data that is not dense, or may not be written to, by its value; whatever else as it is."""
    if type(a) not in tensor_types or a._storage is None or a._is_late or not a._steps or a._inference:
        return a
    if a._storage.array is not None or (a._is_dense() and not a._origin) or (mode.enabled and requires(a)):
        return a
    cell = a._read()
    if type(cell) is not Cell:
        return a
    cls: Any = tensor_types[0]
    made = cls.__new__(cls)
    made._cell, made._node = cell, None
    return made


def through_values(recorded: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a recorded function gives of arguments of which some are read by their values; NotImplemented where none is,
    or where its results may lie in the memory of what it was given, which is learned then.

    What shares the memory of the first argument, if the function writes to that, stays what it is.
    """
    if not (_has_parts(args) or (kwargs and _has_parts(kwargs.values()))):
        return NotImplemented
    first = args[0] if recorded.writes else None
    if recorded.writes and (kwargs or type(first) not in tensor_types):
        return NotImplemented
    found: dict[int, Any] = {}
    given = _given(args, found, first)
    named = dict(zip(kwargs, _given([*kwargs.values()], found, first), strict=True)) if kwargs else kwargs
    if not found:
        return NotImplemented
    made = (recorded.native or recorded.slow)(*given, **named)
    if recorded.writes:
        return made
    written = [(a, v) for a, v, cell in found.values() if v._is_late or v._cell is not cell]
    for a, v in written:
        a.copy_(v)
    again = next((a for a, v, _ in found.values() if v is made), None)
    recorded.shares = bool(written) or again is not None or not _is_apart(made, found)
    if recorded.shares and not written:
        return NotImplemented
    return made if again is None else again


def _has_parts(args: Iterable[Any]) -> bool:
    """Whether there are parts of memory among arguments; most calls have none, and are not to wait for more."""
    for a in args:
        cls = type(a)
        if (a._steps and not a._is_late) if cls in tensor_types else (cls is tuple or cls is list) and _has_parts(a):
            return True
    return False


def _given(args: Sequence[Any], found: dict[int, Any], but: Any) -> Any:
    """Arguments, or what is in a list, with values in place of parts; what was `found` by their numbers."""
    return [_one(a, found, but) for a in args]


def _one(a: Any, found: dict[int, Any], but: Any) -> Any:
    cls = type(a)
    if cls in (list, tuple):
        return cls(_given(a, found, but))
    if cls not in tensor_types or a._storage is None or (but is not None and a._storage is but._storage):
        return a
    if id(a) in found:
        return found[id(a)][1]
    made = by_value(a)
    if made is not a:
        found[id(a)] = a, made, made._cell
    return made


def _is_apart(made: Any, found: dict[int, Any]) -> bool:
    """Whether what a call gave is in memory of its own, and is no argument."""
    if type(made) in tensor_types:
        given = any(v is made for _, v, _ in found.values())
        return not given and made._storage is None and not made._flags & (SPECIAL | PART | VIEWED)
    return isinstance(made, (list, tuple)) and bool(made) and all(_is_apart(m, found) for m in made)


__all__ = ["by_value", "through_values"]
