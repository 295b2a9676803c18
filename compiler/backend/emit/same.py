"""When two statements are written alike: a key of what their text depends on, buffers and axes by number.

A straight program often has the same step many times, as an unrolled loop does.  Its text is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ...ir.types import Type
from ...loops import Affine, Apply, Axis, Buffer, Element, Guarded, Load, Number, Position, Variable
from ...lowering.nests.inside import reachable
from ...lowering.program import Nest, Rows, tops


def key(statement: Nest | Rows, used: Sequence[Buffer], alone: Sequence[str]) -> tuple[Any, ...]:
    """Equal for statements with the same text, the names of their `used` buffers aside; `alone` is told of these."""
    return _Key(used).of(statement, alone)


class _Key:
    def __init__(self, used: Sequence[Buffer]) -> None:
        self.numbers: dict[int, int] = {}
        self.elements: list[tuple[Any, ...]] = []
        for buffer in used:
            self._number(buffer)

    def of(self, statement: Nest | Rows, alone: Sequence[str]) -> tuple[Any, ...]:
        """The key of a statement: its elements, children first, and its parts."""
        for nest in statement.body if isinstance(statement, Rows) else (statement,):
            gathered = [e for s in nest.after for e, _ in s.gathered]
            for e in reachable([*tops(nest), *gathered]):
                if id(e) not in self.numbers:
                    self.elements.append(self._element(e))
                    self._number(e)
        return tuple(alone), tuple(self.elements), self._part(statement)

    def _number(self, thing: Any) -> int:
        return self.numbers.setdefault(id(thing), len(self.numbers))

    def _part(self, x: Any) -> Any:
        """What a part of a statement is written from."""
        kind = type(x)
        if kind is int or kind is str or x is None:
            return x
        if kind is tuple:
            return tuple([self._part(each) for each in x])
        if kind is Affine:
            return x.constant, tuple([(self._part(a), f) for a, f in x.terms])
        if isinstance(x, Axis):
            return "axis", self._number(x), x.extent
        if isinstance(x, Buffer):
            return "buffer", self._number(x), x.type.dtype, x.type.shape
        if isinstance(x, Element):
            return "element", self.numbers[id(x)]
        if isinstance(x, Type):
            return x.dtype, x.shape
        if isinstance(x, int | str):
            return x
        return kind.__name__, tuple([self._part(getattr(x, f.name)) for f in fields(x)])

    def _element(self, e: Element) -> tuple[Any, ...]:
        """An element by the numbers of those that it is made of; numbers by their text, as 0.0 is -0.0 to Python."""
        if isinstance(e, Apply):
            return e.spelling, e.dtype, *[self.numbers[id(a)] for a in e.args]
        if isinstance(e, Load):
            return "load", e.dtype, self._part(e.buffer), self._part(e.offset), self._part(e.gathered)
        if isinstance(e, Number):
            return "number", e.dtype, repr(e.value), type(e.value).__name__
        if isinstance(e, Position):
            return "position", self._part(e.index)
        if isinstance(e, Guarded):
            return "guarded", self._part(e.ranges), self.numbers[id(e.inside)], self.numbers[id(e.outside)]
        assert isinstance(e, Variable), e
        return "variable", e.dtype, id(e)


__all__ = ["key"]
