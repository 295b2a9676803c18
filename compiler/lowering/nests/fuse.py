"""Which values get memory, and which are made inside the nests that read them.

A value is a *root* if it gets a buffer: parameters, results, folds, products, scatters, and what is read so
often that storing it costs less than making it again.  Every other value is an expression inside its readers'
nests.  Roots with the same iteration space and the same depth share a nest; the depth of a root is the number of
nests that must have finished before it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import Any

from ...ir.graph import Graph, Op, Value
from ...ir.measure import volume
from ...loops import (
    Affine,
    Apply,
    Axis,
    Buffer,
    Check,
    Element,
    Form,
    Index,
    Load,
    Map,
    Number,
    Product,
    Reduce,
    Relabel,
    Scatter,
    along,
    element,
    linear,
    scaled,
)
from ...ops.index import take
from ..offsets import parted, walked
from ..origins import made_by
from ..regions.versions import versions
from .families import Families
from .product import is_chain
from .running import running_sums

FEW = 8  # elements of a reshaped value for each that is looked up, from which it is not stored
MEMORY = 2  # cost of storing or loading one element
MAX_DEPTH = 24  # operations that follow one another inside one expression before one of them is stored
GUARDED = 4  # operations for which one counts that guards its elements: below a guard all is made for itself
MAX_SIZE = 256  # operations made inside one expression before one of them is stored: what looks at all is then linear

AXIS_NAMES = "ijklmnpqrstuvxyz"


class Fusion:
    """The forms of a graph's values, which of them are roots, and their elements."""

    def __init__(
        self, graph: Graph, blas: Callable[[Op], bool], stored: set[Value], owned: Iterable[Value] = ()
    ) -> None:
        self.graph, self.blas = graph, blas
        self.producer: dict[Value, tuple[Op, int]] = {}
        self.forms: dict[Value, Form] = {}
        self.buffers: dict[Value, Buffer] = {}
        self.numbers: dict[Value, Element] = {}
        self.relabelled: dict[Value, Value] = {}
        self.elements: dict[Any, Element] = {}
        self._axes: dict[tuple[int, ...], tuple[Axis, ...]] = {}
        for op in graph.body:
            made = op.prim.define(op, [self.reader(a) for a in op.args])
            forms = made if isinstance(made, tuple) else (made,)
            for k, (r, form) in enumerate(zip(op.results, forms, strict=True)):
                self.producer[r] = (op, k)
                self.forms[r] = made_by(op, self._simpler(op, form))
        self.families, self.early = Families(graph), set[Value]()
        self._look_up_relabelled()
        made = versions(graph, self.forms, owned)
        #: new versions of arrays that lie where the old ones did
        self.taken = made.taken
        self.roots = self._choose_roots(stored | made.stored)

    def _look_up_relabelled(self) -> None:
        """What is reshaped only to be looked up at few places is read through quotients and remainders of the index."""
        read: dict[Value, int] = {}
        for op in self.graph.body:
            for k, a in enumerate(op.args):
                few = op.prim is take and k == 0
                read[a] = read.get(a, 0) + (volume(op.results[0].type.static_shape()) if few else 10**18)
        for r in self.graph.results:
            read[r] = 10**18
        for value, form in self.forms.items():
            source = self.producer[value][0].args[0] if isinstance(form, Relabel) else None
            if source in self.forms and FEW * read.get(value, 0) <= volume(value.type.static_shape()):
                self.forms[value] = Map(self._looked_up(value, source), view=True)

    def _looked_up(self, value: Value, source: Value) -> Callable[[Index], Element]:
        shape, read = value.type.static_shape(), self.reader(source)

        def at(index: Index) -> Element:
            flat: Element = Number(0, "i64")
            for part, stride in linear(index, shape):
                flat = Apply("add", (flat, element(scaled(part, stride))), "i64")
            inner = []
            for extent in reversed(source.type.static_shape()):
                inner.append(Apply("mod", (flat, Number(extent, "i64")), "i64"))
                flat = Apply("floordiv", (flat, Number(extent, "i64")), "i64")
            return read(inner[::-1])

        return at

    def _simpler(self, op: Op, form: Form) -> Form:
        """A product as a sum, and a change of much of an array as an array made anew, where that is better."""
        if isinstance(form, Scatter) and form.whole is not None and all(map(self._is_number, op.args[2:])):
            return Map(form.whole)
        return self._as_reduce(op, form) if isinstance(form, Product) else form

    def _is_number(self, value: Value) -> bool:
        form = self.forms.get(value)
        if not isinstance(form, Map) or self.producer[value][0].args or value.type.shape:
            return False
        return isinstance(form.value(()), Number)

    def _as_reduce(self, op: Op, form: Product) -> Form:
        """A product that no library is called for is a sum over products of elements."""
        if self.blas(op):
            return form
        a, b = (v.type.static_shape() for v in op.args)
        used = [[p for p, _ in form.batch], [q for _, q in form.batch]]
        for i, j in form.pairs:
            used[0].append(i)
            used[1].append(j)
        rest = [[k for k in range(len(s)) if k not in u] for s, u in zip((a, b), used, strict=True)]
        n, m = len(form.batch), len(rest[0])
        at = [[*range(n), *range(n, n + m)], [*range(n), *range(n + m, n + m + len(rest[1]))]]
        folded = range(n + m + len(rest[1]), n + m + len(rest[1]) + len(form.pairs))
        order = [[*u[:n], *r, *u[n:]] for u, r in zip(used, rest, strict=True)]
        reads = [self.reader(v) for v in op.args]
        dtype = op.args[0].type.dtype

        def value(index: Index) -> Element:
            sides = []
            for read, places, mine in zip(reads, order, at, strict=True):
                at_axis = dict(zip(places, [*mine, *folded], strict=True))
                sides.append(read([index[at_axis[k]] for k in range(len(places))]))
            return Apply("mul", tuple(sides), dtype)

        extents = [a[p] for p in used[0][:n]] + [a[k] for k in rest[0]] + [b[k] for k in rest[1]]
        extents += [a[i] for i, _ in form.pairs]
        if not form.pairs:
            return Map(value)
        return Reduce("sum", tuple(extents), tuple(folded), value, chain=is_chain(op))

    # ---- elements

    def reader(self, value: Value) -> Callable[[Index], Element]:
        """How a consumer reads one element of `value`."""
        return partial(self.element, value)

    def element(self, value: Value, index: Index) -> Element:
        """The element of `value` at `index`: a load if it is a root, else its expression."""
        key = (value, tuple(index))
        found = self.elements.get(key)
        if found is None:
            if value in self.buffers:
                found = self._load(value, index)
            elif value in self.numbers:
                found = self.numbers[value]
            else:
                form = self.forms[value]
                assert isinstance(form, Map), form
                found = form.value(index)
            self.elements[key] = found
        return found

    def _load(self, value: Value, index: Index) -> Load:
        offset, gathered = self.place(index, value.type.static_shape())
        return Load(self.buffers[value], offset, gathered)

    @staticmethod
    def place(index: Index, shape: Sequence[int]) -> tuple[Affine, tuple[tuple[Element, int], ...]]:
        """Where an index lies in a row-major array: an affine offset and the gathered rest."""
        offset, gathered = Affine(), []
        for part, stride in linear(index, shape):
            if isinstance(part, Affine):
                offset = offset + walked(part) * stride
                continue
            known, rest = parted(part)
            offset = offset + walked(known) * stride
            gathered += [(e, factor * stride) for e, factor in rest]
        return offset, tuple(gathered)

    def axes(self, extents: tuple[int, ...]) -> tuple[Axis, ...]:
        """The axes of a space: the same objects wherever the space is the same."""
        if extents not in self._axes:
            names = [AXIS_NAMES[k] if k < len(AXIS_NAMES) else f"a{k}" for k in range(len(extents))]
            self._axes[extents] = tuple(map(Axis, names, extents))
        return self._axes[extents]

    def index(self, value: Value) -> list[Affine]:
        """The index of `value` at the axes of its own space."""
        return [along(a) for a in self.axes(value.type.static_shape())]

    def close(self) -> None:
        """Let go of how elements are made, once all are: what makes them knows the whole, which would stay in a circle
        until somebody looks for such."""
        self.forms.clear()

    # ---- roots

    def _choose_roots(self, wanted: set[Value]) -> list[Value]:
        """Roots in running order, `wanted` ones among them; everything else is made where it is read."""
        level = self._levels()
        stored = self._must_store() | wanted | running_sums(self.graph, self.forms, level)
        readers: dict[Value, dict[Any, int]] = {}
        cost = self._costs()
        for op in reversed(self.graph.body):
            for r in op.results:
                form, sites = self.forms[r], readers.get(r, {})
                made_here = r not in stored and isinstance(form, Map) and not form.view
                if made_here and self._better_stored(r, sites, cost[r]):
                    stored.add(r)
                elif made_here and self.families.better_early(op, r, sites, level):
                    stored.add(r)
                    self.early.add(r)
                if r in stored or not isinstance(form, Map):
                    sites = {self._site(r, form, level): self._evaluations(r, form)}
                for a in op.args:
                    into = readers.setdefault(a, {})
                    for site, n in sites.items():
                        into[site] = max(into.get(site, 0), n)
        self._bound(stored)
        return [r for op in self.graph.body for r in op.results if r in stored]

    def _must_store(self) -> set[Value]:
        stored = {r for r in self.graph.results if r in self.forms}
        for value, form in self.forms.items():
            op, _ = self.producer[value]
            if isinstance(form, Reduce | Product | Scatter | Check):
                stored.add(value)
            if isinstance(form, Relabel):
                source = op.args[0]
                self.relabelled[value] = source
            if isinstance(form, Product | Relabel):
                stored.update(a for a in op.args if a in self.forms)
        return stored - set(self.relabelled)

    def _levels(self) -> dict[Value, int]:
        """How many folds, at least, must be finished before a value can be made."""
        level: dict[Value, int] = dict.fromkeys(self.graph.params, 0)
        for op in self.graph.body:
            base = max([level[a] for a in op.args], default=0)
            for r in op.results:
                level[r] = base + (not isinstance(self.forms[r], Map | Relabel))
        return level

    def _costs(self) -> dict[Value, int]:
        """What one element costs when everything since the last fold is made again."""
        cost: dict[Value, int] = dict.fromkeys(self.graph.params, 0)
        for op in self.graph.body:
            base = sum([cost[a] for a in op.args])
            for r in op.results:
                form = self.forms[r]
                own = 0 if isinstance(form, Map) and form.view else op.prim.cost
                cost[r] = min(base + own, 10**6) if isinstance(form, Map) else 0
        return cost

    def _site(self, value: Value, form: Form, level: dict[Value, int]) -> Any:
        """The nest that will make a root, as far as it is known now."""
        op, _ = self.producer[value]
        if isinstance(form, Reduce):
            return (form.extents, form.axes, max(level[a] for a in op.args))
        if isinstance(form, Map):
            return (value.type.shape, (), level[value])
        return value

    def _evaluations(self, value: Value, form: Form) -> int:
        if isinstance(form, Reduce | Scatter):
            return volume(form.extents)
        return volume(value.type.static_shape())

    def _better_stored(self, value: Value, sites: dict[Any, int], cost: int) -> bool:
        own = volume(value.type.static_shape())
        spaces = {(s[0], s[2]) for s in sites if isinstance(s, tuple)}
        evaluations = sum(sites.values())
        if len(spaces) <= 1 and len(sites) <= 2 and evaluations <= own * len(sites):
            return False
        return cost * evaluations > (cost + MEMORY) * own + MEMORY * evaluations

    def _bound(self, stored: set[Value]) -> None:
        """Store a value where the expression that makes it would otherwise nest too deep, or be made of too much."""
        depth: dict[Value, int] = {}
        most: dict[Value, int] = {}  # operations inside, where those that are read twice count as often
        for op in self.graph.body:
            inner = [a for a in op.args if a in depth]
            base = max([depth[a] for a in inner], default=0)
            size = sum([most[a] for a in inner])
            if size >= MAX_SIZE:
                size = self._inside(inner, depth)
            for r in op.results:
                if r in stored or r in self.relabelled:
                    continue
                deeper = base + (GUARDED if op.prim.guards else 1)
                if deeper > MAX_DEPTH or size >= MAX_SIZE:
                    stored.add(r)
                    continue
                depth[r], most[r] = deeper, size + 1

    def _inside(self, values: Sequence[Value], made: Container[Value]) -> int:
        """How many operations make these values, of those whose results are `made` where they are read."""
        found, pending = set(values), [*values]
        while pending:
            op, _ = self.producer[pending.pop()]
            more = [a for a in op.args if a in made and a not in found]
            found.update(more)
            pending += more
        return len(found)


__all__ = ["Fusion"]
