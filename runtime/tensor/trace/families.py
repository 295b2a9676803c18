"""Kernels of operations that come with other sizes each time: one piece of code for all of them.

The first size of an operation is compiled for itself. For a second one the graph is lowered with names for the sizes
that have changed (`backend.shared`): one code is told them, which computes the same bits, and what further sizes cost
is no compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Sequence
from itertools import count
from math import isfinite
from typing import TYPE_CHECKING, Any

from ....compiler.backend import process
from ....compiler.backend.kernel import Kernel, compile_graph
from ....compiler.ir.graph import Graph, Op, Value
from ....compiler.ir.types import Type
from ....compiler.later import later
from ....compiler.locks import lock
from ....compiler.ops.external import external
from ....compiler.ops.library import Library

if TYPE_CHECKING:
    from ....compiler.backend import shared as sharing
else:
    sharing = later(__package__, "....compiler.backend.shared")

KEPT = 1024
"""Families that are kept; the oldest goes first."""

FORMS = 8192
"""Bodies that are known by number."""

SEEN = 8
"""Earlier sizes by which it is seen which numbers of a graph change together."""


class Family:
    """Graphs that are alike but for sizes, and the code that they share.

    seen    the numbers of earlier graphs, the newest first
    forms   which of the numbers are sizes, the newest first
    """

    def __init__(self, title: str, numbers: Sequence[int]) -> None:
        self.seen, self.shared = [numbers], sharing.Shared(title, optimised=False)
        self.forms: list[Form] = []
        self.lock = lock()

    def known(self, numbers: Sequence[int], wanted: sharing.Wanted) -> Kernel | None:
        """A kernel for a graph of these numbers, if lowering it has been gone through."""
        for form in self.forms:
            sizes = form.sizes(numbers)
            made = None if sizes is None else self.shared.known(sizes, form.key, wanted)
            if made is not None:
                return made
        return None

    def learned(self, graph: Graph, numbers: Sequence[int]) -> Kernel | None:
        """The same where it has not: go through it now. None for what cannot share code."""
        if numbers in self.seen and not self.forms:
            return None
        if not self.lock.acquire(blocking=False):  # another thread compiles, which takes longer than to do so here
            return None
        try:
            with process.uncollected():
                form = Form([numbers, *[seen for seen in self.seen if seen != numbers]])
                form = next((f for f in self.forms if f.key == form.key), form)
                self.forms = [form, *[f for f in self.forms if f is not form]][:SEEN]
                self.seen = [numbers, *self.seen[: SEEN - 1]]
                sizes = form.sizes(numbers)
                assert sizes is not None
                return self.shared.learned(graph, sizes, functools.partial(form.at, graph), form.key)
        finally:
            self.lock.release()


class Form:
    """Which numbers of a graph are sizes: those that have changed, and numbers that have always been equal are one."""

    def __init__(self, seen: Sequence[Sequence[int]]) -> None:
        columns: list[tuple[Any, ...]]
        columns = [(type(column[0]), *column) for column in zip(*seen, strict=True)]  # 1 equals 1.0
        places: dict[tuple[Any, ...], int] = {}
        for column in sorted({*columns}, key=lambda c: (len({*c[1:]}) == 1, columns.index(c))):
            places[column] = len(places)
        self._of = [places[c] for c in columns]
        self._constants = [c[1] for c in places if len({*c[1:]}) == 1]
        self._first = [columns.index(c) for c in places if len({*c[1:]}) > 1]
        self.key = (*self._of, *self._constants)

    def sizes(self, numbers: Sequence[int]) -> list[int] | None:
        """The sizes by which a graph of these numbers is one of the form, if it is."""
        found = [numbers[k] for k in self._first]
        pool = [*found, *self._constants]
        return found if [pool[k] for k in self._of] == numbers else None

    def at(self, graph: Graph, sizes: Sequence[int]) -> Graph:
        """The graph with other sizes."""
        pool = [*sizes, *self._constants]
        return _renumbered(graph, iter([pool[k] for k in self._of]))


_families: dict[Any, Family] = {}
_lock = lock()


def kernel_of(graph: Graph) -> Kernel:
    """A compiled graph, with the code of its family if that has some."""
    if is_opaque(graph):
        return compile_graph(graph)
    numbers: list[int] = []
    family = family_of((graph.name, outline(graph, numbers)), graph.name, numbers)
    if family is None:
        return compile_graph(graph)
    wanted = sharing.Wanted([p.type for p in graph.params], [r.type for r in graph.results], lambda: graph)
    return family.known(numbers, wanted) or family.learned(graph, numbers) or compile_graph(graph)


def family_of(key: Hashable, title: str, numbers: Sequence[int]) -> Family | None:
    """The family with this outline; None if these numbers are the first of it."""
    with _lock:
        family = _families.get(key)
        if family is None:
            while len(_families) >= KEPT:
                _families.pop(next(iter(_families)))
            _families[key] = Family(title, numbers)
    return family


_forms: dict[Hashable, int] = {}
_numbers = count()


def body_of(graph: Graph) -> tuple[int | None, list[int]]:
    """Which of all graphs' bodies, numbers aside, a graph has, and the numbers; None if it is opaque."""
    if is_opaque(graph):
        return None, []
    numbers: list[int] = []
    key = outline(graph, numbers)
    form = _forms.get(key)
    if form is None:
        if len(_forms) >= FORMS:
            _forms.clear()  # no number is given again
        form = _forms[key] = next(_numbers)
    return form, numbers[sum([len(p.type.shape) for p in graph.params]) :]


def is_opaque(graph: Graph) -> bool:
    """Whether it calls what is no native code of ours."""
    return any(op.prim is external or isinstance(op.prim, Library) for op in graph.body)


# ---- graphs without their numbers


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
        attrs = tuple([_outlined(v, numbers) for v in op.attrs.values()]) if op.attrs else ()
        regions = tuple([outline(r, numbers) for r in op.regions]) if op.regions else ()
        ops.append((op.prim, tuple([places[a] for a in op.args]), attrs, regions, named(op.results)))
    return params, tuple(ops), tuple([places[r] for r in graph.results])


def _outlined(attribute: Any, numbers: list[int]) -> Any:
    kind = type(attribute)
    if kind is int:
        numbers.append(attribute)
        return int
    if kind is tuple:
        return tuple([_outlined(each, numbers) for each in attribute])
    if kind is Type:
        numbers.extend(attribute.shape)
        return attribute.dtype, len(attribute.shape)
    if kind is float and _may_change(attribute):
        numbers.append(attribute)
        return float
    return kind, repr(attribute) if kind is float else attribute  # 0.0 equals -0.0


def _may_change(number: float) -> bool:
    """Whether a float may be one of those that change with sizes, as 1 / n does."""
    return isfinite(number) and number != 0


def _renumbered(graph: Graph, numbers: Iterator[Any]) -> Graph:
    """The graph with other numbers, in the order in which `outline` has found its own."""
    env: dict[Value, Value] = {}

    def moved(values: Sequence[Value]) -> tuple[Value, ...]:
        for v in values:
            env[v] = Value(_attribute(v.type, numbers), v.hint)
        return tuple([env[v] for v in values])

    params = moved(graph.params)
    body = []
    for op in graph.body:
        attrs = {name: _attribute(v, numbers) for name, v in op.attrs.items()} if op.attrs else op.attrs
        regions = tuple([_renumbered(r, numbers) for r in op.regions])
        args = tuple([env[a] for a in op.args])
        body.append(Op(op.prim, args, attrs, regions, moved(op.results), op.where))
    return Graph(graph.name, params, tuple(body), tuple([env[r] for r in graph.results]))


def _attribute(attribute: Any, numbers: Iterator[Any]) -> Any:
    kind = type(attribute)
    if kind is int or (kind is float and _may_change(attribute)):
        return next(numbers)
    if kind is tuple:
        return tuple([_attribute(each, numbers) for each in attribute])
    if kind is Type:
        return attribute.with_shape([next(numbers) for _ in attribute.shape])
    return attribute


__all__ = ["Family", "body_of", "family_of", "is_opaque", "kernel_of", "outline"]
