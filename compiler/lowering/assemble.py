"""Roots into nests, nests into a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..ir.graph import Graph, Op, Value
from ..loops import Affine, Buffer, Check, Element, Index, Load, Map, Number, Product, Reduce, Scatter, along, element
from .fuse import Fusion, reachable
from .inplace import in_place
from .product import for_blas, in_rows, multiply
from .program import Accumulate, Assert, Multiply, Nest, Program, Site, Store, tested
from .rows import share
from .schedule import schedule
from .storage import touched
from .touched import touched_only


@dataclass(eq=False)
class _Group:
    """A nest while its roots are found."""

    extents: tuple[int, ...]
    folded: tuple[int, ...] | None
    depth: int
    stores: list[Store] = field(default_factory=list)
    folds: list[Accumulate] = field(default_factory=list)
    after: list[Store] = field(default_factory=list)
    asserts: list[Assert] = field(default_factory=list)
    call: Multiply | None = None
    #: what the stores have made, and where
    places: set[tuple[Buffer, Affine]] = field(default_factory=set)
    #: what is there once the folds are complete, and where
    complete: set[tuple[Buffer, Affine]] = field(default_factory=set)
    chain: bool | None = None

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that no fold folds."""
        return tuple(k for k in range(len(self.extents)) if k not in (self.folded or ()))


def assemble(graph: Graph, blas: bool, vector_bits: int) -> Program:
    """Lower `graph`: give roots their buffers and put them into nests."""
    return _Assembly(graph, blas).program(lambda nest: schedule(nest, vector_bits), vector_bits)


class _Assembly:
    def __init__(self, graph: Graph, blas: bool) -> None:
        large = for_blas if blas else lambda op: False
        self.graph, stored = in_rows(graph, large)
        self.fusion = Fusion(self.graph, large, stored)
        self.groups: list[_Group] = []
        self.made_in: dict[Buffer, _Group] = {}
        self.sites: list[Site] = []
        self.inputs = tuple(Buffer(p.hint or f"in{k}", p.type) for k, p in enumerate(self.graph.params))
        self.fusion.buffers.update(zip(graph.params, self.inputs, strict=True))
        self.results, self.copies = self._result_buffers()
        self.scratch: list[Buffer] = []

    def _result_buffers(self) -> tuple[tuple[Buffer, ...], list[tuple[Buffer, Value]]]:
        """A buffer for each result; a value that has one already is copied at the end."""
        buffers, copies = self.fusion.buffers, []
        made = []
        for k, r in enumerate(self.graph.results):
            buffer = Buffer(f"out{k}", r.type)
            made.append(buffer)
            root = r
            while root in self.fusion.relabelled:
                root = self.fusion.relabelled[root]
            if root in buffers:
                copies.append((buffer, r))
            else:
                buffers[root] = buffer
        return tuple(made), copies

    def program(self, schedule: Callable[[Nest], tuple[Nest, ...]], vector_bits: int) -> Program:
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
        groups = sorted(self.groups, key=lambda g: g.depth)
        read = _read_outside(groups)
        statements = [g.call or self._nest(g, read) for g in groups if g.call or 0 not in g.extents]
        statements = touched_only(statements, self.inputs, self.results)
        kept = set(self.results).union(*(tested(s) for s in statements if isinstance(s, Nest)))
        body, aliases = in_place(share(statements, kept, schedule, vector_bits), self.inputs, self.results)
        used = dict.fromkeys(b for statement in body for b in sorted(touched(statement), key=lambda b: b.name))
        scratch = tuple(b for b in used if b not in self.inputs and b not in self.results)
        return Program(self.graph.name, self.inputs, self.results, scratch, tuple(body), tuple(self.sites), aliases)

    def _nest(self, group: _Group, read: set[Buffer]) -> Nest:
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
            buffer = Buffer(f"t{len(self.scratch)}", value.type)
            self.scratch.append(buffer)
            self.fusion.buffers[value] = buffer
        return self.fusion.buffers[value]

    def _root(self, op: Op, value: Value) -> None:
        form, fusion = self.fusion.forms[value], self.fusion
        if isinstance(form, Product):
            call = multiply(op, fusion.buffers | {value: self._buffer(value)})
            after = [self._after(fusion.buffers[a]) for a in op.args]
            self._call(call, max(after, default=0), fusion.buffers[value])
        elif isinstance(form, Reduce):
            self._reduce(op, form, value)
        elif isinstance(form, Scatter):
            self._scatter(op, form, value)
        elif isinstance(form, Check):
            self._check(op, form, value)
        else:
            assert isinstance(form, Map)
            shape = value.type.static_shape()
            self._store(self._buffer(value), shape, form.value)

    def _after(self, buffer: Buffer) -> int:
        """The depth at which a buffer is complete."""
        return self.made_in[buffer].depth + 1 if buffer in self.made_in else 0

    def _call(self, call: Multiply, depth: int, out: Buffer) -> None:
        group = _Group((), None, depth, call=call)
        self.groups.append(group)
        self.made_in[out] = group

    def _copy(self, buffer: Buffer, value: Value) -> None:
        """Store a value as it is."""

        self._store(buffer, value.type.static_shape(), lambda index: self.fusion.element(value, index))

    def _store(self, buffer: Buffer, extents: tuple[int, ...], made: Callable[[Index], Element]) -> None:
        """Store the elements of a space: where the folds that they read are completed, or in a nest."""
        value = made([along(a) for a in self.fusion.axes(extents)])
        if not self._store_after(buffer, extents, value, made):
            self._in_nest(buffer, extents, value)

    def _in_nest(self, buffer: Buffer, extents: tuple[int, ...], value: Element) -> None:
        offset, _ = self.fusion.place([along(a) for a in self.fusion.axes(extents)], extents)
        group = self._group(extents, None, [value])
        group.stores.append(Store(buffer, offset, value))
        group.places.add((buffer, offset))
        self.made_in[buffer] = group

    def _store_after(
        self, buffer: Buffer, extents: tuple[int, ...], value: Element, made: Callable[[Index], Element]
    ) -> bool:
        """Store the element right after the folds that it reads, if one nest makes the last of them in this space."""
        loads = [e for e in reachable([value]) if isinstance(e, Load) and e.buffer in self.made_in]
        last = max((self.made_in[e.buffer] for e in loads), key=lambda g: g.depth, default=None)
        if last is None or not last.folds or last.asserts or any(s.add for s in last.stores) or 0 in extents:
            return False
        index = self._where_completed(last, extents, loads)
        if index is None:
            return False
        value = made(index)
        for e in reachable([value]):
            if not isinstance(e, Load) or e.buffer not in self.made_in:
                continue
            maker = self.made_in[e.buffer]
            if maker is last and (e.gathered or (e.buffer, e.offset) not in last.complete):
                return False
            if maker is not last and maker.depth >= last.depth:
                return False
        offset, _ = self.fusion.place(index, extents)
        last.after.append(Store(buffer, offset, value))
        last.complete.add((buffer, offset))
        self.made_in[buffer] = last
        return True

    def _where_completed(self, last: _Group, extents: tuple[int, ...], loads: list[Load]) -> list[Affine] | None:
        """The index into a space at the kept axes of a nest, matched by how the space reads what the nest completes."""
        space = self.fusion.axes(last.extents)
        kept = [space[k] for k in last.kept if last.extents[k] > 1]
        axes = self.fusion.axes(extents)
        if sorted(a.extent for a in axes if a.extent > 1) != sorted(a.extent for a in kept):
            return None
        read = next((e.offset for e in loads if self.made_in[e.buffer] is last), None)
        made = next((f.offset for f in last.folds if any(e.buffer is f.buffer for e in loads)), None)
        if read is None or made is None:
            return [along(a) for a in kept] if len(kept) == len(axes) else None
        at = {(made.factor(a), a.extent): a for a in kept}
        found = [at.get((read.factor(a), a.extent)) if a.extent > 1 else None for a in axes]
        if len({a for a in found if a is not None}) != len(kept):
            return None
        return [Affine() if a is None else along(a) for a in found]

    def _reduce(self, op: Op, form: Reduce, value: Value) -> None:
        buffer, axes = self._buffer(value), self.fusion.axes(form.extents)
        if 0 in form.extents:
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
        group = self._group(form.extents, form.axes, [made], chain)
        group.chain = chain if group.chain is None else group.chain
        group.folds.append(Accumulate(form.kind, buffer, offset, made, position))
        group.complete.add((buffer, offset))
        self.made_in[buffer] = group

    def _scatter(self, op: Op, form: Scatter, value: Value) -> None:
        buffer, fusion = self._buffer(value), self.fusion
        self._copy(buffer, op.args[0])
        if 0 in form.extents:
            return
        index = [along(a) for a in fusion.axes(form.extents)]
        offset, gathered = fusion.place(form.target(index), value.type.static_shape())
        store = Store(buffer, offset, form.value(index), gathered, add=True)
        needed = [store.value, *(e for e, _ in gathered)]
        depth = max(self._depth(needed), self.made_in[buffer].depth + 1)
        group = _Group(form.extents, None, depth, stores=[store])
        self.groups.append(group)
        self.made_in[buffer] = group

    def _check(self, op: Op, form: Check, value: Value) -> None:
        fusion = self.fusion
        buffer, index = self._buffer(value), fusion.index(value)
        self._in_nest(buffer, value.type.static_shape(), fusion.element(op.args[0], index))
        facts = tuple(v for _, v in sorted(op.attrs.items()))
        self.sites.append(Site(op.where, op.prim.name, facts))
        check = Assert(form.fails(index), form.report(index), len(self.sites))
        self.made_in[buffer].asserts.append(check)

    # ---- depth and groups

    def _depth(self, made: list[Element]) -> int:
        loads = [e for e in reachable(made) if isinstance(e, Load)]
        return max((self._after(e.buffer) for e in loads), default=0)

    def _group(
        self,
        extents: tuple[int, ...],
        folded: tuple[int, ...] | None,
        made: list[Element],
        chain: bool | None = None,
    ) -> _Group:
        """The nest for a new root: one that is there, if all it reads is there when it runs."""
        loads = [e for e in reachable(made) if isinstance(e, Load) and e.buffer in self.made_in]
        joinable = self._joinable(extents, folded, loads, chain)
        if joinable is not None:
            if folded is not None:
                joinable.folded = folded
            return joinable
        group = _Group(extents, folded, max((self._after(e.buffer) for e in loads), default=0))
        self.groups.append(group)
        return group

    def _joinable(self, extents, folded, loads, chain) -> _Group | None:
        for group in reversed(self.groups):
            fits = group.extents == extents and group.call is None
            fits = fits and not any(s.add for s in group.stores)
            fits = fits and (folded is None or group.folded in (None, folded))
            fits = fits and (chain is None or group.chain in (None, chain))
            if fits and all(self._ready(e, group) for e in loads):
                return group
        return None

    def _ready(self, load: Load, group: _Group) -> bool:
        """Whether what is loaded is complete before `group`, or made by it at the same place."""
        maker = self.made_in[load.buffer]
        if maker is not group:
            return maker.depth < group.depth
        if load.gathered:
            return False
        return (load.buffer, load.offset) in group.places


def _read_outside(groups: list[_Group]) -> set[Buffer]:
    """The buffers that some nest reads without having just stored the element itself."""
    read: set[Buffer] = set()
    for g in groups:
        if g.call:
            read |= {g.call.left.buffer, g.call.right.buffer}
        tops = [s.value for s in g.stores] + [f.value for f in g.folds]
        tops += [e for s in g.stores for e, _ in s.gathered]
        tops += [e for a in g.asserts for e in (a.fails, a.report)]
        for made, there in ((tops, g.places), ([s.value for s in g.after], g.complete)):
            for e in reachable(made):
                if isinstance(e, Load) and (e.gathered or (e.buffer, e.offset) not in there):
                    read.add(e.buffer)
        read |= {s.buffer for s in g.stores if s.add}
    return read
