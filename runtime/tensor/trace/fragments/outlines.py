"""Graphs without their numbers: a graph goes in, and what it has in common with those of other sizes comes out.

    outline(graph, numbers)       a tuple that graphs share which differ in whole numbers only; adds those to `numbers`
    Form.of(many)                 which of the numbers are sizes, and which have always been equal
    renumbered(graph, numbers)    the graph with other numbers in their places
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import isfinite
from typing import Any

from .....compiler.ir.graph import Graph, Op, Value
from .....compiler.ir.key import text_of
from .....compiler.ir.primitive import Primitive
from .....compiler.ir.symint import SymFloat, SymInt, example
from .....compiler.ir.types import Type
from .....compiler.locks import cached_property
from .....compiler.ops.external import external
from .....compiler.ops.library import Library

BODIES = 8192
"""Bodies that are known."""



class Form:
    """Which numbers of a graph are sizes: those that have changed, and numbers that have always been equal are one.

    Each number is one of a pool, by its place there: first come sizes, then constants.
    """

    def __init__(self, places: Sequence[int], constants: Sequence[Any]) -> None:
        self._of, self._constants = [*places], [*constants]
        self._first = [places.index(k) for k in range(max(places, default=-1) + 1 - len(constants))]
        self.key = (*places, *constants)

    @classmethod
    def of(cls, seen: Sequence[Sequence[int]]) -> Form:
        """The form of graphs that have had these numbers."""
        columns: list[tuple[Any, ...]]
        columns = [(type(column[0]), *column) for column in zip(*seen, strict=True)]  # 1 equals 1.0
        places: dict[tuple[Any, ...], int] = {}
        for column in sorted({*columns}, key=lambda c: (len({*c[1:]}) == 1, columns.index(c))):
            places[column] = len(places)
        return cls([places[c] for c in columns], [c[1] for c in places if len({*c[1:]}) == 1])

    def sizes(self, numbers: Sequence[int]) -> list[int] | None:
        """The sizes by which a graph of these numbers is one of the form, if it is."""
        found = [numbers[k] for k in self._first]
        return found if self.numbers(found) == numbers else None

    def numbers(self, sizes: Sequence[Any]) -> list[Any]:
        """All numbers at some sizes."""
        pool = [*sizes, *self._constants]
        return [pool[k] for k in self._of]

    def at(self, graph: Graph, sizes: Sequence[Any]) -> Graph:
        """The graph with other sizes."""
        return renumbered(graph, iter(self.numbers(sizes)))


class Body:
    """What a graph is but for its numbers; there is one object for each."""

    def __init__(self, outline: tuple[Any, ...]) -> None:
        self.outline = outline

    @cached_property
    def text(self) -> str:
        """What tells it from others in any process."""
        return text_of_outline(self.outline)


_bodies: dict[Hashable, Body] = {}


def body_of(graph: Graph) -> tuple[Body | None, list[int]]:
    """A graph's body, numbers aside, and the numbers; None if it is opaque."""
    if is_opaque(graph):
        return None, []
    numbers: list[int] = []
    key = outline(graph, numbers)
    body = _bodies.get(key)
    if body is None:
        if len(_bodies) >= BODIES:
            _bodies.clear()
        body = _bodies[key] = Body(key)
    return body, numbers[sum([len(p.type.shape) for p in graph.params]) :]


def is_opaque(graph: Graph) -> bool:
    """Whether it calls what is no native code of ours."""
    return any(op.prim is external or isinstance(op.prim, Library) for op in graph.body)


def outline(graph: Graph, numbers: list[int]) -> tuple[Any, ...]:
    """What graphs have in common that differ in whole numbers only; the numbers are added to those given."""
    places: dict[Value, int] = {}

    def named(values: Sequence[Value]) -> tuple[Any, ...]:
        for v in values:
            places[v] = len(places)
            numbers.extend(v.type.shape)  # type: ignore[arg-type]
        return tuple([(v.type.dtype, len(v.type.shape)) for v in values])

    params = named(graph.params)
    ops = []
    for op in graph.body:
        attrs = tuple([outlined(v, numbers) for v in op.attrs.values()]) if op.attrs else ()
        regions = tuple([outline(r, numbers) for r in op.regions]) if op.regions else ()
        ops.append((op.prim, tuple([places[a] for a in op.args]), attrs, regions, named(op.results)))
    return params, tuple(ops), tuple([places[r] for r in graph.results])


def outlined(attribute: Any, numbers: list[int]) -> Any:
    """An attribute without its numbers, which are added to those given."""
    kind = type(attribute)
    if kind is int or kind is SymInt:
        numbers.append(attribute)
        return int
    if kind is tuple:
        return tuple([outlined(each, numbers) for each in attribute])
    if kind is Type:
        numbers.extend(attribute.shape)
        return attribute.dtype, len(attribute.shape)
    if kind is SymFloat and not _may_change(example(attribute)):
        kind, attribute = float, attribute.plain()
    if (kind is float or kind is SymFloat) and _may_change(example(attribute)):
        numbers.append(attribute)
        return float
    return kind, repr(attribute) if kind is float else attribute  # 0.0 equals -0.0


def _may_change(number: float) -> bool:
    """Whether a float may be one of those that change with sizes, as 1 / n does."""
    return isfinite(number) and number != 0


def renumbered(graph: Graph, numbers: Iterator[Any]) -> Graph:
    """The graph with other numbers, in the order in which `outline` has found its own."""
    env: dict[Value, Value] = {}

    def moved(values: Sequence[Value]) -> tuple[Value, ...]:
        for v in values:
            env[v] = Value(with_numbers(v.type, numbers), v.hint)
        return tuple([env[v] for v in values])

    params = moved(graph.params)
    body = []
    for op in graph.body:
        attrs = {name: with_numbers(v, numbers) for name, v in op.attrs.items()} if op.attrs else op.attrs
        regions = tuple([renumbered(r, numbers) for r in op.regions])
        args = tuple([env[a] for a in op.args])
        body.append(Op(op.prim, args, attrs, regions, moved(op.results), op.where))
    return Graph(graph.name, params, tuple(body), tuple([env[r] for r in graph.results]))


def with_numbers(attribute: Any, numbers: Iterator[Any]) -> Any:
    """An attribute with other numbers, in the order in which `outlined` has found its own."""
    kind = type(attribute)
    if kind is int or kind is SymInt or ((kind is float or kind is SymFloat) and _may_change(example(attribute))):
        return next(numbers)
    if kind is tuple:
        return tuple([with_numbers(each, numbers) for each in attribute])
    if kind is Type:
        return attribute.with_shape([next(numbers) for _ in attribute.shape])
    return attribute


def text_of_outline(part: Any) -> str:
    """A part of an outline as text that no other one has, in any process."""
    if type(part) is tuple:
        return f"({','.join(map(text_of_outline, part))})"
    if type(part) is Body:
        return part.text
    if isinstance(part, Primitive):
        if part.opaque:
            raise TypeError(f"{part.name} means something in this process only")
        return part.name
    return part.__name__ if isinstance(part, type) else "None" if part is None else text_of(part)


__all__ = [
    "Body", "Form", "body_of", "is_opaque", "outline", "outlined", "renumbered", "text_of_outline",
    "with_numbers",
]  # fmt: skip
