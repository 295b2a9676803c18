"""Functions that users attach to tensors, nodes and modules, and the handles that detach them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Self
from weakref import ref

Hook = Callable[..., Any]
Table = dict[int, Any]
"""Hooks by the numbers of their handles, in the order in which they run."""

_numbers = count()


def count_from(number: int) -> None:
    """Give no hook a number below this one: hooks that were read from a file have such."""
    global _numbers
    _numbers = count(max(number, next(_numbers)))


class RemovableHandle:
    """What registering a hook returns: `remove()` detaches it; as a context manager, at the end of the block."""

    def __init__(self, *tables: Table, ids: Sequence[int] = ()) -> None:
        self.id = next(_numbers)
        self._tables, self._ids = tables, ids or [self.id] * len(tables)
        self._then: Callable[[], None] | None = None

    def note(self, table: Table) -> None:
        """Put the hook's number into one more table, for as long as it is attached."""
        table[self.id] = True
        self._tables, self._ids = (*self._tables, table), [*self._ids, self.id]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_then": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        count_from(self.id + 1)

    def remove(self) -> None:
        for table, number in zip(self._tables, self._ids, strict=True):
            table.pop(number, None)
        if self._then is not None:
            self._then()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


def attach(table: Table, hook: Any, prepend: bool = False) -> RemovableHandle:
    """Put `hook` into a table, at its end or its start."""
    handle = RemovableHandle(table)
    if prepend:
        later = dict(table)
        table.clear()
        table[handle.id] = hook
        table.update(later)
    else:
        table[handle.id] = hook
    return handle


def attached_to(tape: Any) -> dict[int, Any]:
    """What is attached to values of the trace that a tape records, by their numbers."""
    if tape.attached[0] != tape.serial:
        tape.attached = tape.serial, {}
    return tape.attached[1]


class Watched:
    """A value of a trace, the result of a node, at whose gradient a backward pauses.

    serial, number   the value
    hooks            functions of its gradient, which may return another
    retained         the tensor whose `grad` takes the gradient, if it does
    """

    __slots__ = ("serial", "number", "hooks", "retained")

    def __init__(self, serial: int, number: int) -> None:
        self.serial, self.number = serial, number
        self.hooks: Table = {}
        self.retained: ref[Any] | None = None

    def keeper(self) -> Any:
        """The tensor that keeps the gradient, if it does and is still there."""
        return None if self.retained is None else self.retained()


class NodeHooks:
    """What hangs on a node: hooks of its results as tensors, results that keep their gradient, hooks of its own.

    watched   for the number of a result, what was attached while it was a value of the trace
    tensors   for the number of a result, functions of its gradient, which may return another
    retained  for the number of a result, the tensor whose `grad` takes the gradient
    before    functions of the gradients of the results, which may return others
    after     functions of the gradients of the inputs and of the results; they may return other ones of the inputs
    """

    __slots__ = ("watched", "tensors", "retained", "before", "after")

    def __init__(self) -> None:
        self.watched: dict[int, Watched] = {}
        self.tensors: dict[int, Table] = {}
        self.retained: dict[int, ref[Any]] = {}
        self.before: Table = {}
        self.after: Table = {}

    def no_longer_retained(self, index: int) -> ref[Any] | None:
        """The tensor that has kept the gradient of a result so far, if there is one."""
        watched = self.watched.get(index)
        if watched is None or watched.retained is None:
            return self.retained.pop(index, None)
        kept, watched.retained = watched.retained, None
        return kept

    def are_watched(self, serial: int) -> bool:
        """Whether nothing hangs there but what was attached in that trace."""
        others = self.tensors or self.retained or self.before or self.after
        return not others and all(each.serial == serial for each in self.watched.values())


__all__ = ["Hook", "NodeHooks", "RemovableHandle", "Table", "Watched", "attach", "attached_to"]
