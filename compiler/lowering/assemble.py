"""Roots into nests, nests into a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..ir.graph import Graph, Op, Value
from ..loops import Affine, Buffer, Check, Element, Load, Map, Number, Product, Reduce, Scatter, along, element
from .fuse import Fusion, reachable
from .product import for_blas, multiply
from .program import Accumulate, Assert, Multiply, Nest, Program, Site, Store


@dataclass(eq=False)
class _Group:
    """A nest while its roots are found."""

    extents: tuple[int, ...]
    folded: tuple[int, ...] | None
    depth: int
    stores: list[Store] = field(default_factory=list)
    folds: list[Accumulate] = field(default_factory=list)
    asserts: list[Assert] = field(default_factory=list)
    call: Multiply | None = None
    #: what the stores have made, and where
    places: set[tuple[Buffer, Affine]] = field(default_factory=set)


def assemble(graph: Graph, blas: bool, schedule: Callable[[Nest], Nest]) -> Program:
    """Lower `graph`: give roots their buffers and put them into nests."""
    return _Assembly(graph, blas).program(schedule)


class _Assembly:
    def __init__(self, graph: Graph, blas: bool) -> None:
        self.graph = graph
        self.fusion = Fusion(graph, for_blas if blas else lambda op: False)
        self.groups: list[_Group] = []
        self.made_in: dict[Buffer, _Group] = {}
        self.sites: list[Site] = []
        self.inputs = tuple(Buffer(p.hint or f"in{k}", p.type) for k, p in enumerate(graph.params))
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

    def program(self, schedule: Callable[[Nest], Nest]) -> Program:
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
            self._store(buffer, value.type.static_shape(), fusion.element(value, fusion.index(value)))
        groups = sorted(self.groups, key=lambda g: g.depth)
        read = _read_outside(groups)
        body = []
        for g in groups:
            if g.call:
                body.append(g.call)
            elif 0 not in g.extents:
                body.append(schedule(self._nest(g, read)))
        return Program(
            self.graph.name, self.inputs, self.results, tuple(self.scratch), tuple(body), tuple(self.sites)
        )

    def _nest(self, group: _Group, read: set[Buffer]) -> Nest:
        axes, folded = self.fusion.axes(group.extents), group.folded or ()
        kept = [a for k, a in enumerate(axes) if k not in folded]
        stores = tuple(
            s if s.buffer in read or s.buffer in self.results else replace(s, kept=False)
            for s in group.stores
        )
        order = (*kept, *(axes[k] for k in folded))
        return Nest(order, len(folded), stores, tuple(group.folds), tuple(group.asserts))

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
            made = form.value(fusion.index(value))
            self._store(self._buffer(value), value.type.static_shape(), made)

    def _after(self, buffer: Buffer) -> int:
        """The depth at which a buffer is complete."""
        return self.made_in[buffer].depth + 1 if buffer in self.made_in else 0

    def _call(self, call: Multiply, depth: int, out: Buffer) -> None:
        group = _Group((), None, depth, call=call)
        self.groups.append(group)
        self.made_in[out] = group

    def _store(self, buffer: Buffer, extents: tuple[int, ...], made: Element) -> None:
        axes = self.fusion.axes(extents)
        offset, _ = self.fusion.place([along(a) for a in axes], extents)
        group = self._group(extents, None, [made])
        group.stores.append(Store(buffer, offset, made))
        group.places.add((buffer, offset))
        self.made_in[buffer] = group

    def _reduce(self, op: Op, form: Reduce, value: Value) -> None:
        buffer, axes = self._buffer(value), self.fusion.axes(form.extents)
        if 0 in form.extents:
            empty = Number(0.0 if value.type.is_float else 0, value.type.dtype)
            self._store(buffer, value.type.static_shape(), empty)
            return
        index = [along(a) for a in axes]
        made = form.value(index)
        kept = [i for k, i in enumerate(index) if k not in form.axes]
        offset, _ = self.fusion.place(kept, value.type.static_shape())
        position = element(index[form.axes[0]]) if form.kind == "argmax" else None
        if not form.axes:
            self._store(buffer, form.extents, made)
            return
        group = self._group(form.extents, form.axes, [made])
        group.folds.append(Accumulate(form.kind, buffer, offset, made, position))
        self.made_in[buffer] = group

    def _scatter(self, op: Op, form: Scatter, value: Value) -> None:
        buffer, fusion = self._buffer(value), self.fusion
        base = fusion.element(op.args[0], fusion.index(value))
        self._store(buffer, value.type.static_shape(), base)
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
        made = fusion.element(op.args[0], index)
        self._store(buffer, value.type.static_shape(), made)
        facts = tuple(v for _, v in sorted(op.attrs.items()))
        self.sites.append(Site(op.where, op.prim.name, facts))
        check = Assert(form.fails(index), form.report(index), len(self.sites))
        self.made_in[buffer].asserts.append(check)

    # ---- depth and groups

    def _depth(self, made: list[Element]) -> int:
        loads = [e for e in reachable(made) if isinstance(e, Load)]
        return max((self._after(e.buffer) for e in loads), default=0)

    def _group(
        self, extents: tuple[int, ...], folded: tuple[int, ...] | None, made: list[Element]
    ) -> _Group:
        """The nest for a new root: one that is there, if all it reads is there when it runs."""
        loads = [e for e in reachable(made) if isinstance(e, Load) and e.buffer in self.made_in]
        joinable = self._joinable(extents, folded, loads)
        if joinable is not None:
            if folded is not None:
                joinable.folded = folded
            return joinable
        group = _Group(extents, folded, max((self._after(e.buffer) for e in loads), default=0))
        self.groups.append(group)
        return group

    def _joinable(self, extents, folded, loads) -> _Group | None:
        for group in reversed(self.groups):
            fits = group.extents == extents and group.call is None
            fits = fits and not any(s.add for s in group.stores)
            fits = fits and (folded is None or group.folded in (None, folded))
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
        for e in reachable(tops):
            if isinstance(e, Load) and (e.gathered or (e.buffer, e.offset) not in g.places):
                read.add(e.buffer)
        read |= {s.buffer for s in g.stores if s.add}
    return read
