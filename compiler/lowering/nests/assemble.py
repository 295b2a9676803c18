"""Roots into nests, nests into a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count

from ...ir.graph import Graph, Op, Value
from ...ir.measure import OpenExtent, is_empty, is_wide
from ...ir.types import Type
from ...loops import (
    COMBINED,
    Affine,
    Apply,
    Buffer,
    Check,
    Element,
    Index,
    Load,
    Map,
    Number,
    Product,
    Reduce,
    Scatter,
    along,
    element,
)
from ..access import Statement
from ..inplace import in_place
from ..program import Accumulate, Assert, Multiply, Nest, Program, Rows, Site, Store, tested
from ..regions.touched import touched_only
from ..storage import touched
from .fuse import Fusion
from .groups import Group, Groups, loaded, loads_of, read_outside, same_gathered
from .inside import reachable
from .peel import peeled
from .product import called_from, in_rows, multiply
from .rows import share
from .schedule import schedule
from .straight import written_out


def assemble(graph: Graph, called: int, vector_bits: int) -> Program:
    """Lower `graph`: give roots their buffers and put them into nests."""
    inputs = [Buffer(p.hint or f"in{k}", p.type) for k, p in enumerate(graph.params)]
    results = [Buffer(f"out{k}", r.type) for k, r in enumerate(graph.results)]
    made = Assembly(graph, called, inputs, results)
    is_open = any(isinstance(n, OpenExtent) for value in (*graph.params, *graph.results) for n in value.type.shape)
    settled, aliases = in_place(made.statements(vector_bits), () if is_open else inputs, results)
    body = list(peeled(settled, lambda nest: schedule(nest, vector_bits)))
    scratch = scratch_of(body, {*inputs, *results})
    return Program(graph.name, tuple(inputs), tuple(results), scratch, tuple(body), tuple(made.sites), aliases)


def scratch_of(body: Iterable[Statement], known: set[Buffer]) -> tuple[Buffer, ...]:
    """The buffers that statements use besides those that are known, in order of use."""
    used = dict.fromkeys(b for statement in body for b in sorted(touched(statement), key=lambda b: b.name))
    return tuple(b for b in used if b not in known)


def numbered() -> Callable[[str], str]:
    """Names with numbers, each used once."""
    numbers = count()
    return lambda name: f"{name}{next(numbers)}"


class Assembly:
    """The statements that make the results of a graph.

    results  where the results lie; where one is to lie in the memory of a parameter that is `inputs` too, it does if
             it is that parameter, changed in place, and else has a buffer of its own
    names    gives a name that begins like the one it is asked for
    """

    def __init__(
        self,
        graph: Graph,
        called: int,
        inputs: Sequence[Buffer | Element],
        places: Sequence[Buffer],
        names: Callable[[str], str] | None = None,
    ) -> None:
        large = called_from(called)
        self.graph, stored = in_rows(graph, large)
        self.inputs = [b for b in inputs if isinstance(b, Buffer)]
        self.names = names or numbered()
        owned = [p for p, b in zip(self.graph.params, inputs, strict=True) if b in places]
        self.fusion = Fusion(self.graph, large, stored, owned)
        for p, known in zip(self.graph.params, inputs, strict=True):
            if isinstance(known, Buffer):
                self.fusion.buffers[p] = known
            else:
                self.fusion.numbers[p] = known
        self.groups = Groups()
        self.sites: list[Site] = []
        self.copies: list[tuple[Buffer, Value]] = []
        self.results = [self._place(r, b) for r, b in zip(self.graph.results, places, strict=True)]
        self._take_over()

    def _place(self, value: Value, wanted: Buffer) -> Buffer:
        """The buffer for a result; a value that has one already is copied at the end."""
        fusion, root = self.fusion, value
        while root in fusion.relabelled:
            root = fusion.relabelled[root]
        first = root
        while first in fusion.taken:
            first = fusion.taken[first]
        changed = first is not root and fusion.buffers.get(first) is wanted
        place = wanted if changed or wanted not in self.inputs else Buffer(self.names(wanted.name), wanted.type)
        if root in fusion.buffers:
            self.copies.append((place, value))
        else:
            fusion.buffers[root] = place
        return place

    def _take_over(self) -> None:
        """Give every new version of an array that is made in place the buffer of the old one, last versions first."""
        fusion = self.fusion
        for new in reversed([r for op in self.graph.body for r in op.results if r in fusion.taken]):
            old, buffer = fusion.taken[new], fusion.buffers.get(new)
            have = fusion.buffers.get(old)
            if buffer is not None and have is not None and buffer is not have:
                del fusion.taken[new]
                continue
            if buffer is None:
                buffer = have or self._buffer(old)
            fusion.buffers[old] = fusion.buffers[new] = buffer
            self.groups.changing[buffer] = 0

    def statements(self, vector_bits: int, small: bool = False) -> list[Nest | Rows | Multiply]:
        """The statements in running order; without loops where they are few and `small` ones may be."""
        fusion = self.fusion
        roots = set(fusion.roots)
        for op in self.graph.body:
            for r in op.results:
                if r in roots:
                    self._root(op, r)
                elif r in fusion.relabelled:
                    fusion.buffers[r] = fusion.buffers[op.args[0]]
                else:
                    fusion.element(r, fusion.index(r))
        for buffer, value in self.copies:
            self._copy(buffer, value)
        fusion.close()
        groups = sorted(self.groups.all, key=lambda g: g.depth)
        read = read_outside(groups)
        statements = [g.call or self._nest(g, read) for g in groups if g.call or not is_empty(g.extents)]
        statements = touched_only(statements, self.inputs, self.results)
        kept = {*self.inputs, *self.results}.union(*(tested(s) for s in statements if isinstance(s, Nest)))
        straight = written_out(statements, kept) if small else None
        if straight is not None:
            return [straight]
        return share(statements, kept, lambda nest: schedule(nest, vector_bits), vector_bits)

    def _nest(self, group: Group, read: set[Buffer]) -> Nest:
        axes, folded = self.fusion.axes(group.extents), group.folded or ()
        order = (*(axes[k] for k in group.kept), *(axes[k] for k in folded))
        read = read | set(self.results)
        stores, after = (
            tuple(s if s.buffer in read else replace(s, kept=False) for s in made)
            for made in (group.stores, group.after)
        )
        folds = tuple(f if f.buffer in read else replace(f, kept=False) for f in group.folds)
        return Nest(order, len(folded), stores, folds, after, tuple(group.asserts), chain=group.chain)

    # ---- one root

    def _buffer(self, value: Value) -> Buffer:
        if value not in self.fusion.buffers:
            self.fusion.buffers[value] = self._scratch(value.type)
        return self.fusion.buffers[value]

    def _scratch(self, type: Type) -> Buffer:
        return Buffer(self.names("t"), type)

    def _root(self, op: Op, value: Value) -> None:
        form, fusion = self.fusion.forms[value], self.fusion
        if isinstance(form, Product):
            call = multiply(op, fusion.buffers | {value: self._buffer(value)})
            after = [self.groups.after(fusion.buffers[a]) for a in op.args]
            self._call(call, max(after, default=0), fusion.buffers[value])
            self.groups.reads(self.groups.made_in[fusion.buffers[value]], [fusion.buffers[a] for a in op.args])
        elif isinstance(form, Reduce):
            self._reduce(op, form, value)
        elif isinstance(form, Scatter):
            self._scatter(op, form, value)
        elif isinstance(form, Check):
            self._check(op, form, value)
        else:
            assert isinstance(form, Map)
            shape = value.type.static_shape()
            self._store(self._buffer(value), shape, form.value, early=value in fusion.early)

    def _call(self, call: Multiply, depth: int, out: Buffer) -> None:
        self.groups.made_in[out] = self.groups.add(Group((), None, depth, call=call))

    def _copy(self, buffer: Buffer, value: Value) -> None:
        """Store a value as it is."""

        self._store(buffer, value.type.static_shape(), lambda index: self.fusion.element(value, index))

    def _store(
        self, buffer: Buffer, extents: tuple[int, ...], made: Callable[[Index], Element], early: bool = False
    ) -> None:
        """Store the elements of a space: where the folds that they read are completed, or in a nest."""
        value = made([along(a) for a in self.fusion.axes(extents)])
        if not self._store_after(buffer, extents, value, made):
            self._in_nest(buffer, extents, value, early)

    def _in_nest(self, buffer: Buffer, extents: tuple[int, ...], value: Element, early: bool = False) -> None:
        offset, _ = self.fusion.place([along(a) for a in self.fusion.axes(extents)], extents)
        group = self.groups.find(extents, None, [value], early=early)
        self.groups.reads(group, loaded([value]))
        group.stores.append(Store(buffer, offset, value))
        group.places.add((buffer, offset))
        self.groups.made_in[buffer] = group

    def _store_after(
        self, buffer: Buffer, extents: tuple[int, ...], value: Element, made: Callable[[Index], Element]
    ) -> bool:
        """Store the element right after the folds that it reads, if one nest makes the last of them in this space."""
        loads = [e for e in reachable([value]) if isinstance(e, Load) and e.buffer in self.groups.made_in]
        last = max((self.groups.made_in[e.buffer] for e in loads), key=lambda g: g.depth, default=None)
        if last is None or not last.folds or last.asserts or is_empty(extents):
            return False
        if any(s.fold or s.over for s in last.stores):
            return False
        index = self._where_completed(last, extents, loads)
        if index is None:
            return False
        value = made(index)
        for e in reachable([value]):
            if not isinstance(e, Load) or e.buffer not in self.groups.made_in:
                continue
            maker = self.groups.made_in[e.buffer]
            if maker is last and (e.gathered or (e.buffer, e.offset) not in last.complete):
                return False
            if maker is not last and maker.depth >= last.depth:
                return False
        offset, _ = self.fusion.place(index, extents)
        self.groups.reads(last, loaded([value]))
        last.after.append(Store(buffer, offset, value))
        last.complete.add((buffer, offset))
        self.groups.made_in[buffer] = last
        return True

    def _where_completed(self, last: Group, extents: tuple[int, ...], loads: list[Load]) -> list[Affine] | None:
        """The index into a space at the kept axes of a nest, matched by how the space reads what the nest completes."""
        space = self.fusion.axes(last.extents)
        kept = [space[k] for k in last.kept if is_wide(last.extents[k])]
        axes = self.fusion.axes(extents)
        wide = [a.extent for a in axes if is_wide(a.extent)]
        if Counter(wide) != Counter([a.extent for a in kept]):
            return None
        places = {each.buffer: each.offset for each in (*last.folds, *last.after)}
        read = next((e for e in loads if e.buffer in places), None)
        if read is None:
            return [along(a) for a in kept] if len(kept) == len(axes) else None
        at = {(places[read.buffer].factor(a), a.extent): a for a in kept}
        found = [at.get((read.offset.factor(a), a.extent)) if is_wide(a.extent) else None for a in axes]
        if len({a for a in found if a is not None}) != len(kept):
            return None
        return [Affine() if a is None else along(a) for a in found]

    def _reduce(self, op: Op, form: Reduce, value: Value) -> None:
        buffer, axes = self._buffer(value), self.fusion.axes(form.extents)
        if form.kind != "sum" and any(form.extents[axis] <= 0 for axis in form.axes):  # which open extents note
            raise ValueError(f"{form.kind} over an axis without elements")
        if is_empty(form.extents):
            empty = Number(0.0 if value.type.is_float else 0, value.type.dtype)
            self._store(buffer, value.type.static_shape(), lambda index: empty)
            return
        index = [along(a) for a in axes]
        made = form.value(index)
        kept = [i for k, i in enumerate(index) if k not in form.axes]
        offset, _ = self.fusion.place(kept, value.type.static_shape())
        position = element(index[form.axes[0]]) if form.kind == "argmax" else None
        if not form.axes:
            self._store(buffer, form.extents, form.value)
            return
        chain = form.chain if form.kind == "sum" and value.type.is_float else None
        group = self.groups.find(form.extents, form.axes, [made], chain)
        self.groups.reads(group, loaded([made]))
        group.chain = chain if group.chain is None else group.chain
        group.folds.append(Accumulate(form.kind, buffer, offset, made, position))
        group.complete.add((buffer, offset))
        self.groups.made_in[buffer] = group

    def _scatter(self, op: Op, form: Scatter, value: Value) -> None:
        """Add to, or write over, parts of the buffer of the old version, or of a copy of it."""
        buffer, fusion = self._buffer(value), self.fusion
        if value not in fusion.taken:
            self._copy(buffer, op.args[0])
        if is_empty(form.extents):
            return
        index = [along(a) for a in fusion.axes(form.extents)]
        offset, gathered = fusion.place(form.target(index), value.type.static_shape())
        made = form.value(index)
        if not all(e.offset == offset and same_gathered(e.gathered, gathered) for e in loads_of(buffer, [made])):
            made = self._stored_apart(form, made)
        gathered = tuple((self._set_aside(form, value, k, e), stride) for k, (e, stride) in enumerate(gathered))
        if form.distinct and form.fold:
            made = Apply(COMBINED[form.fold], (Load(buffer, offset, gathered), made), made.dtype)
        store = Store(buffer, offset, made, gathered, "" if form.distinct else form.fold, over=form.distinct)
        self._put(form.extents, store)

    def _put(self, extents: tuple[int, ...], store: Store) -> None:
        """A nest of its own for a store to a buffer that has been filled, after all that reads what it held."""
        buffer = store.buffer
        needed = [store.value, *(e for e, _ in store.gathered)]
        depth = max(self.groups.depth(needed), self.groups.after(buffer), self.groups.changing.get(buffer, 0))
        group = self.groups.add(Group(extents, None, depth, stores=[store]))
        self.groups.reads(group, loaded(needed))
        self.groups.made_in[buffer] = group

    def _set_aside(self, form: Scatter, value: Value, k: int, e: Element) -> Element:
        """The k-th traced index of a scatter, stored if it is read from a buffer that the turns change.

        Places that are distinct begin at one number, which every turn reads; others have one for each turn.
        """
        if not loads_of(self._buffer(value), [e]):
            return e
        fusion, extents = self.fusion, () if form.distinct else form.extents
        apart, shape = self._scratch(Type(e.dtype, extents)), value.type.static_shape()
        self._store(apart, extents, lambda index: fusion.place(form.target(index), shape)[1][k][0] if index else e)
        offset, _ = fusion.place([along(a) for a in fusion.axes(extents)], extents)
        return Load(apart, offset)

    def _stored_apart(self, form: Scatter, made: Element) -> Element:
        """The value of a scatter from a buffer of its own."""
        apart = self._scratch(Type(made.dtype, form.extents))
        self._store(apart, form.extents, form.value)
        offset, _ = self.fusion.place([along(a) for a in self.fusion.axes(form.extents)], form.extents)
        return Load(apart, offset)

    def _check(self, op: Op, form: Check, value: Value) -> None:
        fusion = self.fusion
        buffer, index = self._buffer(value), fusion.index(value)
        self._in_nest(buffer, value.type.static_shape(), fusion.element(op.args[0], index))
        facts = tuple(v for _, v in sorted(op.attrs.items()))
        self.sites.append(Site(op.where, op.prim.name, facts))
        check = Assert(form.fails(index), form.report(index), len(self.sites))
        self.groups.reads(self.groups.made_in[buffer], loaded([check.fails, check.report]))
        self.groups.made_in[buffer].asserts.append(check)
