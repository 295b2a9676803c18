"""A run of array operations inside a region as statements on buffers that others own.

    made = part(ops, given, wanted, into, ...)       %u1 = update %u, %v, %i  with into {%u1: buffer of %u}
    made.body                                        for j in 64: u[j + 64*i] = v[j]

Where a result is to lie in the memory of something that is read, it is made there if every element is read before it
is written; else in the `spare` memory that was offered; else in a buffer of its own, and copied at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...ir.graph import Graph, Op, Value
from ...loops import Axis, Buffer, Element, Load, along
from ..access import Statement
from ..inplace import Order, copied
from ..nests.assemble import Assembly, scratch_of
from ..nests.fuse import Fusion
from ..nests.peel import peeled
from ..nests.schedule import schedule
from ..program import Assert, Nest, Rows, Site, Store


@dataclass(frozen=True)
class Part:
    """Statements, and what is to be known about their buffers.

    scratch  memory that they need
    sites    what their assertions tell
    same     buffers that are other names for the memory of given ones, which they overwrite
    where    the buffer in which each wanted value lies
    """

    body: tuple[Statement, ...]
    scratch: tuple[Buffer, ...]
    sites: tuple[Site, ...]
    same: dict[Buffer, Buffer]
    where: dict[Value, Buffer]


def part(
    ops: Sequence[Op],
    given: Mapping[Value, Buffer | Element],
    wanted: Sequence[Value],
    into: Mapping[Value, Buffer],
    called: int,
    vector_bits: int,
    first_site: int = 1,
    spare: Mapping[Value, Buffer] | None = None,
    names: Callable[[str], str] | None = None,
) -> Part:
    """The statements of `ops`, which hold no regions, on the buffers of what they are given.

    A number may be given as an element, which holds no loads.
    """
    spare = spare or {}
    graph = Graph("part", tuple(given), tuple(ops), tuple(dict.fromkeys(wanted)))
    places = [into[r] for r in graph.results]
    made = Assembly(graph, called, list(given.values()), places, names)
    body = _numbered(made.statements(vector_bits, small=True), first_site - 1)
    fitting = _Fitting(body, dict(zip(made.results, places, strict=True)))
    other = {b: spare[r] for b, r in zip(made.results, graph.results, strict=True) if r in spare}
    fitting.fit(other, lambda nest: schedule(nest, vector_bits))
    where = {r: fitting.lies.get(b, b) for r, b in zip(graph.results, made.results, strict=True)}
    body = list(peeled(fitting.body, lambda nest: schedule(nest, vector_bits)))
    known = {*made.inputs, *places, *spare.values(), *fitting.same}
    return Part(tuple(body), scratch_of(body, known), tuple(made.sites), fitting.same, where)


def _numbered(body: Sequence[Statement], first: int) -> list[Statement]:
    """The statements with the numbers that their assertions have behind the `first` ones of a program."""

    def nest(n: Nest) -> Nest:
        return replace(n, asserts=tuple(Assert(a.fails, a.report, a.site + first) for a in n.asserts))

    return [
        replace(s, body=tuple(map(nest, s.body))) if isinstance(s, Rows) else nest(s) if isinstance(s, Nest) else s
        for s in body
    ]


class _Fitting:
    """Brings results to their places; `places` says for the buffers in which they are made where they belong.

    lies  where each result's buffer is after all
    """

    def __init__(self, body: Sequence[Statement], places: Mapping[Buffer, Buffer]) -> None:
        self.body, self.places = list(body), places
        self.same: dict[Buffer, Buffer] = {}
        self.lies: dict[Buffer, Buffer] = {}

    def fit(self, spare: Mapping[Buffer, Buffer], schedule: Callable[[Nest], tuple[Nest, ...]]) -> None:
        """Let results lie where they belong; those that may not are made elsewhere and copied when all else is done."""
        moved = {out: place for out, place in self.places.items() if out is not place}
        if not moved:
            return
        order, late = Order(self.body, asserts=False), []
        for out, place in moved.items():
            self.lies[out] = place
            if order.allow(out, place):
                self.same[out] = place
            elif out in spare:
                self.same[out] = self.lies[out] = spare[out]
            else:
                late.append(_copy(out, place))
        pairs = set(self.same.items())
        self.body = [s for s in order.statements() if copied(s) not in pairs]
        self.body += [nest for copy in late for nest in schedule(copy)]


def _copy(source: Buffer, to: Buffer) -> Nest:
    axes = tuple(Axis(name, n) for name, n in zip("ijklmnpqrst", source.type.static_shape(), strict=False))
    offset, _ = Fusion.place([along(a) for a in axes], source.type.static_shape())
    return Nest(axes, 0, (Store(to, offset, Load(source, offset)),))


__all__ = ["Part", "part"]
