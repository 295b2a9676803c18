"""Functions that users attach to tensors, nodes and modules, and the handles that detach them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

if TYPE_CHECKING:
    from ..value.core import Core

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


class NodeHooks:
    """What hangs on a node: hooks of its results as tensors, results that keep their gradient, hooks of its own.

    tensors   for the number of a result, functions of its gradient, which may return another
    retained  for the number of a result, the tensor whose `grad` takes the gradient
    before    functions of the gradients of the results, which may return others
    after     functions of the gradients of the inputs and of the results; they may return other ones of the inputs
    """

    __slots__ = ("tensors", "retained", "before", "after")

    def __init__(self) -> None:
        self.tensors: dict[int, Table] = {}
        self.retained: dict[int, ref[Core]] = {}
        self.before: Table = {}
        self.after: Table = {}


__all__ = ["Hook", "NodeHooks", "RemovableHandle", "Table", "attach"]
