"""Kernels of operations that come with other sizes each time: one piece of code for all of them.

The first size of an operation is compiled for itself. For a second one the graph is lowered with names for the sizes
that have changed (`backend.shared`): one code is told them, which computes the same bits, and what further sizes cost
is no compilation. What was learned of a family is kept on disk, so that later processes compile for none.
"""

from __future__ import annotations

import atexit
import functools
import json
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any

from ....compiler.backend import cache, process, store
from ....compiler.backend.kernel import Kernel, compile_graph, written_for
from ....compiler.ir.graph import Graph, Op, Value
from ....compiler.ir.key import text_of
from ....compiler.ir.primitive import Primitive
from ....compiler.ir.types import Type
from ....compiler.later import later
from ....compiler.locks import cached_property, lock
from ....compiler.ops.external import external
from ....compiler.ops.library import Library
from .background import maker

if TYPE_CHECKING:
    from ....compiler.backend import shared as sharing
else:
    sharing = later(__package__, "....compiler.backend.shared")

KEPT = 1024
"""Families that are kept; the oldest goes first."""

BODIES = 8192
"""Bodies that are known."""

SHARE = 4
"""One part in so many of what a family has learned may be new before all of it is written to disk again."""

SEEN = 8
"""Earlier sizes by which it is seen which numbers of a graph change together."""


class Family:
    """Graphs that are alike but for sizes, and the code that they share; `key` is what they have in common.

    seen     the numbers of earlier graphs, the newest first
    forms    which of the numbers are sizes, the newest first
    unsaved  how many ways were learned that are not on disk
    """

    def __init__(self, title: str, numbers: Sequence[int], key: Hashable) -> None:
        self.seen, self.shared = [numbers], sharing.Shared(title, optimised=False)
        self.forms: list[Form] = []
        self.lock = lock()
        self.unsaved = 0
        self._folder, self._place = store.folder(), _place(title, key)
        self._restore()

    def _restore(self) -> None:
        """Know what earlier processes have learned."""
        found = store.read(self._place) if self._place else None
        if found is not None:
            kept = json.loads(found.objects)
            count = len(self.seen[0])
            self.seen = kept["seen"]
            self.forms = [Form(key[:count], key[count:]) for key in kept["forms"]]
            self.shared.restore(kept, [form.key for form in self.forms])

    def save(self) -> None:
        """Keep what was learned for later processes."""
        if self.unsaved and self._place and cache.enabled() and self._folder == store.folder():
            kept = {"seen": self.seen, **self.shared.kept([form.key for form in self.forms])}
            store.write(self._place, json.dumps(kept).encode())
        self.unsaved = 0

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
                form = Form.of([numbers, *[seen for seen in self.seen if seen != numbers]])
                form = next((f for f in self.forms if f.key == form.key), form)
                self.forms = [form, *[f for f in self.forms if f is not form]][:SEEN]
                self.seen = [numbers, *self.seen[: SEEN - 1]]
                sizes = form.sizes(numbers)
                assert sizes is not None
                made = self.shared.learned(graph, sizes, functools.partial(form.at, graph), form.key)
                self.unsaved += made is not None
                if self.unsaved * SHARE > self.shared.ways:  # so that a way is not written again for each other one
                    self.save()
                return made
        finally:
            self.lock.release()


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
    """The family with this outline; None if these numbers are the first of it, and nothing of it is on disk."""
    with _lock:
        family = _families.get(key)
        if family is not None:
            return family
        while len(_families) >= KEPT:
            _families.pop(next(iter(_families)))
        family = _families[key] = Family(title, numbers, key)
    return family if family.forms else None


@atexit.register
def _save() -> None:
    """Keep what has not been kept, once nothing more is learned."""
    maker.stop()
    for family in _families.values():
        family.save()


class Body:
    """What a graph is but for its numbers; there is one object for each."""

    def __init__(self, outline: tuple[Any, ...]) -> None:
        self.outline = outline

    @cached_property
    def text(self) -> str:
        """What tells it from others in any process."""
        return _text(self.outline)


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


def _place(title: str, key: Hashable) -> str | None:
    """Where it is kept what graphs of this outline have taught; None where nothing is."""
    if cache.enabled():
        with suppress(TypeError):  # it means something in this process only
            return cache.key_of("family", title, _text(key), *map(str, written_for()))
    return None


def _text(part: Any) -> str:
    """A part of an outline as text that no other one has, in any process."""
    if type(part) is tuple:
        return f"({','.join(map(_text, part))})"
    if type(part) is Body:
        return part.text
    if isinstance(part, Primitive):
        if part.opaque:
            raise TypeError(f"{part.name} means something in this process only")
        return part.name
    return part.__name__ if isinstance(part, type) else "None" if part is None else text_of(part)


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
