"""What a region's statements are written to: names, memory, and what each value is.

`Body` has these, and makes bodies of regions inside; what each step becomes is said by who writes them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from ...ir.graph import Graph, Op, Value
from ...ir.types import Type
from ...loops import (
    Buffer,
    Element,
    Index,
    Variable,
)
from ..program import Copy, Let, Site, Statement, Tape, View
from .steps import expanded, load, steps
from .takeover import Takeover


class Top(NamedTuple):
    """A tape as a value: where its records are, and how many bytes of them there are."""

    tape: Tape
    bytes: Element


Known = Element | Buffer | Top


class Making:
    """What all regions of a program share."""

    def __init__(self, called: int, vector_bits: int) -> None:
        self.called, self.vector_bits = called, vector_bits
        self.scratch: dict[Buffer, None] = {}
        self.sites: list[Site] = []
        self.base: dict[Buffer, Buffer] = {}
        self._taken: dict[str, Iterator[int]] = {}

    def name(self, hint: str) -> str:
        """A name that nothing else has."""
        if hint in self._taken:
            hint = hint.rstrip("0123456789").rstrip("_") or hint
            numbers = self._taken.setdefault(hint, count(1))
            hint = next(name for k in numbers if (name := f"{hint}_{k}") not in self._taken)
        self._taken[hint] = count(1)
        return hint

    def root(self, buffer: Buffer) -> Buffer:
        """The memory that a buffer is a part of."""
        return self.base.get(buffer, buffer)


class Body(ABC):
    """The statements of one region: `out`; `env` has what its values are.

    lies   the memory that an array has to itself, by its first name
    fresh  memory that was taken here
    slots  for a push and the number of a part, an array's place on the tape if it has been stored there before
    """

    def __init__(self, made: Making, graph: Graph, env: dict[Value, Known], owned: Mapping[Value, Buffer]) -> None:
        self.made, self.graph, self.env = made, expanded(graph), env
        self.steps = steps(self.graph)
        self.takeover = Takeover(self.graph, self.steps, set(owned))
        self.out: list[Statement] = []
        self.lies: dict[Value, Buffer] = dict(owned)
        self.fresh: set[Buffer] = set()
        self.tapes: Mapping[Value, Tape] = {}
        self.slots: dict[tuple[Op, int], Buffer] = {}

    # ---- names

    def let(self, value: Element, hint: str = "", low: int | None = None, high: int | None = None) -> Variable:
        """A name for what is made here."""
        name = Variable(self.made.name(hint or "x"), value.dtype, low, high)
        self.out.append(Let(name, value))
        return name

    def number(self, value: Value) -> Element:
        """A number's element."""
        e = self.env[value]
        assert isinstance(e, Element)
        return e

    def buffer(self, value: Value) -> Buffer:
        """Where an array lies."""
        b = self.env[value]
        assert isinstance(b, Buffer)
        return b

    def tape(self, value: Value) -> Top:
        """A tape."""
        t = self.env[value]
        assert isinstance(t, Top)
        return t

    def reader(self, value: Value) -> Callable[[Index], Element]:
        """How an element of a value is read."""
        known = self.env[value]
        if isinstance(known, Buffer):
            return load(known)
        assert isinstance(known, Element)
        return lambda index: known

    def view(self, new: Buffer, of: Buffer, offset: int = 0, gathered: Sequence[tuple[Element, int]] = ()) -> Buffer:
        """Let a buffer be a part of another one."""
        self.made.base[new] = self.made.root(of)
        self.out.append(View(new, of, offset, tuple(gathered)))
        return new

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Copy all elements."""
        self.out.append(Copy(to, source))

    def memory(self, type: Type, hint: str = "") -> Buffer:
        """New memory."""
        buffer = Buffer(self.made.name(hint or "t"), type)
        self.made.scratch[buffer] = None
        self.fresh.add(buffer)
        return buffer

    def room(self, value: Value) -> Buffer:
        """Memory of its own for a value."""
        buffer = self.memory(value.type, value.hint)
        self.env[value] = self.lies[value] = buffer
        return buffer

    def in_place_of(self, value: Value, argument: Value) -> Buffer:
        """The memory of an argument, for a value that may overwrite it; else new memory, to which it is copied."""
        source = self.buffer(argument)
        if self.takeover.taken.get(value) is argument:
            self.env[value], self.lies[value] = source, self.lies[argument]
            return source
        buffer = self.room(value)
        self.copy(buffer, source)
        return buffer

    def own(self, value: Value, used: set[Buffer]) -> Buffer | None:
        """The memory that an array has to itself and no other result has; None if it has none."""
        lies = self.lies.get(value)
        if lies is None or lies in used:
            return None
        used.add(lies)
        return lies

    # ---- steps

    @abstractmethod
    def run(self) -> None:
        """Write all steps."""

    def inner(
        self, graph: Graph, args: Sequence[Known], owned: Mapping[Value, Buffer],
        tapes: Mapping[Value, Tape] = MappingProxyType({}),
    ) -> Body:
        """A region on what its parameters are; `tapes` are those that it makes and hands out."""
        inner = type(self)(self.made, graph, dict(zip(graph.params, args, strict=True)), owned)
        inner.tapes = tapes
        inner.run()
        return inner
