"""A small recorder for tests of the native one: its classes, and states made by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pullback.runtime.tensor import recorder
from pullback.runtime.tensor.recorder import Give, Need, Range, words


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


class Tape(recorder.TapeBase):
    """A tape that counts how often it was to settle its notes, and does so with a function that a test may give."""

    asked = 0
    settling: Any = None

    def settle(self) -> None:
        self.asked += 1
        if self.settling is not None:
            self.settling()


recorder.mark(Recorded)


class Bench:
    """A tape, some recorded functions, and states made by hand."""

    def __init__(self) -> None:
        self.kind, self.other_kind = Kind(), Kind()
        self.slow_calls: list[tuple[Any, ...]] = []
        self.serial = 1
        self.tape: Any = Tape()
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

    def pattern(self, needs: list, gives: list, values: int, call: Any = None, count: int = 1, names: Any = None,
                mode: int = 0) -> Any:
        """What calls of a function do wherever they stand, looked at before what was told of it until now."""
        call, made = call or self.f, State()
        made.count, made.names, made.mode, made.values = count, names, mode, values
        made.needs, made.gives, made.keep = words(*needs), words(*gives), (needs, gives, self.kind)
        made.sibling, call.pattern = call.pattern, made
        return made

    def any(self, k: int, flags: int = 0, kind: Any = None) -> tuple[int, ...]:
        return Need.ANY, k, id(kind or self.kind), flags

    def some(self, k: int, cls: type = float, fits: int = Range.ANY) -> tuple[int, ...]:
        return Need.SOME, k, id(cls), fits

    def notes(self) -> list[tuple[int, ...]]:
        """The notes on the tape: (pattern, base, tensors' numbers, what they are again), without the place."""
        found, words, tensors = [], self.tape.notes(), {}
        for call in (self.f, self.g):
            at = call.pattern
            while at is not None:
                tensors[id(at)] = sum(need[0] == Need.ANY for need in at.keep[0])
                at = at.sibling
        while words:
            pattern, base, n = words[0], words[1], tensors[words[0]]
            found.append((pattern, base, words[4 : 4 + n], words[4 + n : 4 + 2 * n]))
            words = words[4 + 2 * n :]
        return found

    def input(self, number: int, flags: int = 0, kind: Any = None) -> tuple[int, ...]:
        return Need.INPUT, number, id(kind or self.kind), flags

    def result(self, number: int, flags: int = 0) -> tuple[int, ...]:
        return Give.RESULT, number, id(self.kind), flags

    def hits(self, *args: Any, **kwargs: Any) -> bool:
        """Whether f is recognised, from the root."""
        self.restart()
        return self.f(*args, **kwargs) != ("f", "slow")


def missed(bench: Bench, *args: Any, **kwargs: Any) -> bool:
    """Whether f goes the slow way, and leaves the tape as it was."""
    tape = bench.tape
    before = tape.count, tape.notes(), [(tape.value(n), tape.cell(n)) for n in range(tape.count)]
    slow = bench.f(*args, **kwargs) == ("f", "slow")
    after = tape.count, tape.notes(), [(tape.value(n), tape.cell(n)) for n in range(tape.count)]
    assert not slow or before == after
    return slow


def late(bench: Bench, flags: int = 0, serial: int = 0) -> Any:
    """A late tensor, the next value of the tape or one of another trace."""
    made = Tensor()
    made._serial, made._number, made._flags = serial or bench.serial, bench.tape.count, flags
    made._kind = bench.kind
    if not serial:
        bench.tape.put(bench.tape.count, made, None)
    return made


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
