"""Whose memory a value may take over: the rule of writing in place.

A step that changes an array does so where the array lies, and its result takes the memory over, if

- the region owns the array: it was made here, or is a carry or was handed over; not a parameter that others may read;
- nobody reads the array later, under any name: a view of it is read later only if it is a copy;
- it is passed once, and no view of it beside it.

Else the array is copied, once, before. A view that would stand in the way is made a copy instead: it is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.graph import Graph, Op, Value
from ...ir.measure import volume
from ...loops import Scatter
from ...ops.control import Carrying
from ...ops.elementwise import Elementwise
from .steps import Step, forms, is_array, probe


class Takeover:
    """Who takes over what in a region.

    taken    results, and the arguments whose memory they take over
    handed   (operation, number of an argument) where the regions of an operation may overwrite an argument
    still    results of loops that are an argument as it was, because the loop hands it on unchanged
    copied   views that are copies
    """

    def __init__(self, graph: Graph, steps: Sequence[Step], owned: set[Value]) -> None:
        self.graph, self.steps, self.parameters = graph, steps, owned
        self.copied: set[Value] = set()
        while self._blocked():
            pass

    def _blocked(self) -> bool:
        """Decide, until a view is found to stand in the way: then it is a copy, and all is decided anew."""
        self.taken: dict[Value, Value] = {}
        self.still: dict[Value, Value] = {}
        self.handed: set[tuple[Op, int]] = set()
        self.owned = set(self.parameters)
        self.root: dict[Value, Value] = {}
        self.views: dict[Value, list[Value]] = {}
        before = len(self.copied)
        self.last: dict[Value, int] = {}
        for k, step in enumerate(self.steps):
            self.last.update(dict.fromkeys(step.args(), k))
        self.last.update(dict.fromkeys(self.graph.results, len(self.steps)))
        for k, step in enumerate(self.steps):
            self._step(k, step)
            if len(self.copied) > before:
                return True
        return False

    def may_take(self, k: int, a: Value) -> bool:
        """Whether step k may overwrite an array."""
        root = self.root.get(a, a)
        if root not in self.owned or a not in self.owned or self.last[a] != k:
            return False
        alive = [v for v in self.views.get(root, ()) if v is not a and self.last.get(v, -1) >= k]
        if alive and sum(_size(v) for v in alive) < _size(a):
            self.copied.update(alive)
            return False
        return not alive

    def _step(self, k: int, step: Step) -> None:
        op = step.op
        if step.kind == "array":
            self._array(k, step)
        elif step.kind == "region":
            self._region(k, op)
        elif step.kind == "view":
            self._view(k, op)
        elif step.kind in ("external", "fill"):
            self.owned.update(op.results)
        elif step.kind in ("element", "put"):
            self._take(k, op, op.args[0], op.results[0])
            self.owned.add(op.results[0])

    def _take(self, k: int, op: Op, a: Value, result: Value) -> bool:
        """Let a result take over an argument if it may."""
        if op.args.count(a) != 1 or not self.may_take(k, a):
            return False
        self.taken[result] = a
        self.root[result] = self.root.get(a, a)
        self.owned.add(self.root[result])
        return True

    def _view(self, k: int, op: Op) -> None:
        (r,) = op.results
        whole = r.type.size == op.args[0].type.size
        if r in self.copied or (whole and self._take(k, op, op.args[0], r)):
            self.owned.add(r)
            return
        self._see(r, op.args[0])

    def _see(self, view: Value, of: Value) -> None:
        root = self.root.get(of, of)
        self.root[view] = root
        self.views.setdefault(root, []).append(view)

    def _region(self, k: int, op: Op) -> None:
        if not isinstance(op.prim, Carrying):
            for j, a in enumerate(op.args):
                if is_array(a.type) and op.args.count(a) == 1 and self.may_take(k, a):
                    self.handed.add((op, j))
            self.owned.update(r for r in op.results if is_array(r.type))
            return
        body = op.regions[0]
        for r, a, p, out in zip(op.results, op.prim.carries(op), body.params[1:], body.results, strict=False):
            if not is_array(a.type):
                continue
            if out is p:
                self.still[r] = a
                self._see(r, a)
                continue
            self._take(k, op, a, r)
            self.owned.add(r)

    def _array(self, k: int, step: Step) -> None:
        """An array that is only written to keeps its memory through all writes; a carry is made where it was."""
        outside, made = set(step.args()), set(step.results())
        source: dict[Value, Value] = {}
        for op in step.ops:
            for r in op.results:
                if is_array(r.type):
                    self.owned.add(r)
            if op.args and is_array(op.args[0].type) and _scatters(op):
                source[op.results[0]] = source.get(op.args[0], op.args[0])
        for r, a in source.items():
            if self.last.get(r, -1) > k and a in outside and self.may_take(k, a) and a not in self.taken.values():
                self.taken[r] = a
                self.root[r] = self.root.get(a, a)
        for a, r in zip(self.graph.params[1:], self.graph.results, strict=False):
            fits = r in made and a in outside and is_array(a.type) and a.type == r.type
            if fits and r not in self.taken and a not in self.taken.values() and self.may_take(k, a):
                self.taken[r] = a
                self.root[r] = self.root.get(a, a)


def _scatters(op: Op) -> bool:
    """Whether an operation changes elements of its first argument."""
    return not isinstance(op.prim, Elementwise) and isinstance(forms(op, list(map(probe, op.args)))[0], Scatter)


def _size(value: Value) -> int:
    return volume(value.type.static_shape())


__all__ = ["Takeover"]
