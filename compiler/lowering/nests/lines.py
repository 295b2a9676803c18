"""Graphs of single numbers, such as functions of floats and unrolled loops over them: no nests, only lines.

Such a graph needs none of what nests are made by: every value is made once, in its place. LLVM takes more than twice
the time for twice the lines of one function, so a long list is cut into functions of `PIECE` values; what one makes
and another reads lies in a frame in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.graph import Graph, Op, Value
from ...ir.primitive import Effect
from ...ir.types import Type
from ...loops import Affine, Apply, Buffer, Check, Element, Index, Load, Map, Number, Relabel, linear
from ..origins import made_by
from ..program import Assert, Lines, Program, Site

PIECE = 512
"""Values that one function makes: some thousand lines of text."""


class _Unfit(Exception):
    """The graph holds something else than numbers."""


def lines(graph: Graph) -> Program | None:
    """The program of a graph whose every value is one number; None for other graphs."""
    if not graph.body or not all(map(_is_plain, graph.body)) or not all(_is_single(r.type) for r in graph.results):
        return None
    values = _Values(graph)
    try:
        for op in graph.body:
            values.add(op)
    except _Unfit:
        return None
    return values.program()


def _is_plain(op: Op) -> bool:
    return not op.regions and all(_is_single(v.type) for v in (*op.args[: _checked(op)], *op.results))


def _checked(op: Op) -> int:
    """How many arguments must be single numbers: of what may fail, all."""
    return 0 if op.effect is Effect.PURE else len(op.args)


def _is_single(type: Type) -> bool:
    return type.shape == () or all(d == 1 for d in type.shape)


class _Values:
    """The elements of a graph's values, in running order."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs = tuple(Buffer(p.hint or f"in{k}", p.type) for k, p in enumerate(graph.params))
        self.buffers = dict(zip(graph.params, self.inputs, strict=True))
        self.elements: dict[Value, Element] = {}
        self.order: list[Element] = []
        self.known: set[Element] = set()
        self.loads: dict[tuple[Buffer, int], Load] = {}
        self.checks: list[Assert] = []
        self.sites: list[Site] = []

    def add(self, op: Op) -> None:
        """Add the results of an operation."""
        made = made_by(op, op.prim.define(op, [self._reader(a) for a in op.args]))
        for r, form in zip(op.results, made if isinstance(made, tuple) else (made,), strict=True):
            if isinstance(form, Check):
                element = self._reader(op.args[0])([Affine()] * r.type.rank)
                self._fails(op, form, [Affine()] * r.type.rank)
            elif isinstance(form, Relabel):
                element = self._reader(op.args[0])([Affine()] * op.args[0].type.rank)
            elif isinstance(form, Map):
                element = form.value([Affine()] * r.type.rank)
            else:
                raise _Unfit
            self._make(element)
            self.elements[r] = element

    def _fails(self, op: Op, form: Check, index: Index) -> None:
        """Add what must not hold, and what is told if it does."""
        self.sites.append(Site(op.where, op.prim.name, tuple([v for _, v in sorted(op.attrs.items())])))
        check = Assert(form.fails(index), form.report(index), len(self.sites))
        self._make(check.fails)
        self._make(check.report)
        self.checks.append(check)

    def _make(self, element: Element) -> None:
        """Add an element that is made here."""
        if element not in self.known:
            self._check(element)
            self.known.add(element)
            if isinstance(element, Apply):
                self.order.append(element)

    def _check(self, element: Element) -> None:
        """Refuse what is made of more than operations, numbers and what is known."""
        pending = [element]
        while pending:
            part = pending.pop()
            if isinstance(part, Apply):
                pending.extend(a for a in part.args if a not in self.known)
            elif not isinstance(part, Number | Load):
                raise _Unfit

    def _reader(self, value: Value) -> Callable[[Index], Element]:
        found = self.elements.get(value)
        return (lambda index: self._load(value, index)) if found is None else lambda index: found

    def _load(self, value: Value, index: Index) -> Load:
        """One element of an argument, which must be at a fixed place."""
        offset = 0
        for part, stride in linear(index, value.type.static_shape()):
            if not isinstance(part, Affine) or part.terms:
                raise _Unfit
            offset += part.constant * stride
        buffer = self.buffers[value]
        return self.loads.setdefault((buffer, offset), Load(buffer, Affine((), offset)))

    def program(self) -> Program:
        buffers = tuple(Buffer(f"out{k}", r.type) for k, r in enumerate(self.graph.results))
        values = [self.elements.get(r) or self._load(r, [Affine()] * r.type.rank) for r in self.graph.results]
        stores = tuple(zip(buffers, values, strict=True))
        pieces = tuple(tuple(self.order[k : k + PIECE]) for k in range(0, len(self.order), PIECE))
        read = [*values, *(e for check in self.checks for e in (check.fails, check.report))]
        slots = _slots(pieces, read, list(self.loads.values())) if len(pieces) > 1 else {}
        frame = Buffer("frame", Type("f64", (max(len(slots), 1),)))
        body = Lines(pieces, tuple(self.loads.values()), stores, frame, slots, tuple(self.checks))
        return Program(self.graph.name, self.inputs, buffers, (frame,) if slots else (), (body,), tuple(self.sites))


def _slots(
    pieces: Sequence[Sequence[Element]], results: Sequence[Element], loads: Sequence[Element]
) -> dict[Element, int]:
    """A place in the frame for what is read elsewhere than it is made."""
    slots: dict[Element, int] = {e: k for k, e in enumerate(loads)}
    home = {e: k for k, piece in enumerate(pieces) for e in piece}
    for k, piece in enumerate(pieces):
        for e in piece:
            pending = list(e.args) if isinstance(e, Apply) else []
            while pending:
                part = pending.pop()
                if part not in home:
                    pending.extend(part.args if isinstance(part, Apply) else ())
                elif home[part] != k:
                    slots.setdefault(part, len(slots))
    for e in results:
        if e in home:
            slots.setdefault(e, len(slots))
    return slots


__all__ = ["PIECE", "lines"]
