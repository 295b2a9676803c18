"""A small recorder for tests of the native one: its classes, and states made by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pullback.compiler.backend import recorder
from pullback.compiler.backend.recorder import Give, Need, words


class Kind:
    """Stands for a dtype and a shape."""


class Cell(recorder.CellBase):
    __slots__ = ()


class State(recorder.StateBase):
    __slots__ = ()


class Core(recorder.TensorBase):
    asked = 0

    def _late_cell(self) -> None:
        Core.asked += 1
        self._cell = Cell(self._kind, None)

    def _late_node(self) -> None:
        Core.asked += 1
        self._node = None


class Tensor(Core):
    def method(self) -> str:
        return "method"


class Parameter(Tensor):
    pass


class Recorded(recorder.RecordedBase):
    pass


recorder.mark(Recorded)


class Bench:
    """A tape, some recorded functions, and states made by hand."""

    def __init__(self) -> None:
        self.kind, self.other_kind = Kind(), Kind()
        self.slow_calls: list[tuple[Any, ...]] = []
        self.serial = 1
        self.tape = recorder.TapeBase()
        self.tape.owner = threading.get_ident()
        self.root = State()
        self.restart()
        self.f, self.g = self.function("f"), self.function("g")

    def function(self, name: str) -> Any:
        def plain(*args: Any, **kwargs: Any) -> Any:
            return name, "plain", args, kwargs

        def slow(*args: Any, **kwargs: Any) -> Any:
            self.slow_calls.append((name, args, kwargs))
            return name, "slow"

        return Recorded(plain, slow)

    def restart(self) -> None:
        self.serial += 1
        self.tape.restart(self.serial, self.root)

    def tensor(self, cls: type = Tensor, kind: Any = None, array: Any = "array") -> Any:
        made = cls()
        made._cell, made._node = Cell(kind or self.kind, array), None
        return made

    def event(self, needs: list, gives: list, new: int, call: Any = None, parent: Any = None, count: int = 1,
              names: Any = None, mode: int = 0, keep: Any = None) -> Any:
        """The state that a call leads to."""
        parent = parent or self.root
        made = State()
        made.call, made.count, made.names, made.mode = call or self.f, count, names, mode
        made.needs, made.gives, made.keep = words(*needs), words(*gives), (needs, gives, keep, self.kind)
        made.values = parent.values + new
        made.sibling, parent.first = parent.first, made
        return made

    def input(self, number: int, flags: int = 0, kind: Any = None) -> tuple[int, ...]:
        return Need.INPUT, number, id(kind or self.kind), flags

    def result(self, number: int, flags: int = 0) -> tuple[int, ...]:
        return Give.RESULT, number, id(self.kind), flags

    def hits(self, *args: Any, **kwargs: Any) -> bool:
        """Whether f is recognised, from the root."""
        self.restart()
        return self.f(*args, **kwargs) != ("f", "slow")


@contextmanager
def installed() -> Iterator[Bench]:
    """A bench whose tape is the one that calls are recognised on."""
    before = recorder.installed()
    made = Bench()
    recorder.install(made.tape, State, Cell, Tensor, Parameter)
    try:
        yield made
    finally:
        made.restart()
        recorder.install(*(before or (recorder.TapeBase(), State, Cell, Tensor, Parameter)))
