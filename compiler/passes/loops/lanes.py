"""Which values of a graph have lanes: one axis along which elements never meet, but in sums.

`want` goes from a value to what it is made of, `run` from values to what is made of them; a loop is a fixed point of
both. Where lanes meet otherwise, or cannot be followed, it is `Refused`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir.graph import Op, Value
from ...ir.primitive import Effect, Primitive
from ...ops.contract import contract, free, split
from ...ops.control import scan
from ...ops.elementwise import Elementwise, add, cast, ne, or_, select
from ...ops.memory import DROPPED, bump, read, update
from ...ops.reduce import Fold, spread, sum_
from ...ops.source import basis, const, iota
from ...ops.tape import new_tape, pop, push


class Refused(Exception):
    """Lanes meet, or cannot be followed."""


@dataclass
class Follow:
    """Which values of one list of operations have lanes, and along which axis.

    axis    the axis of the lanes; None for what is the same for all lanes, or joins them
    whole   arrays that are handed in whole, because only parts are read of them
    sums    values that join the lanes, and how they of several blocks are joined: by add, or by or_
    inner   what is known of the regions of an operation
    """

    lanes: int
    makers: dict[Value, Op]
    readers: dict[Value, list[Op]]
    axis: dict[Value, int | None] = field(default_factory=dict)
    sums: dict[Value, Primitive] = field(default_factory=dict)
    ops: dict[Op, None] = field(default_factory=dict)
    inner: dict[Op, list[Follow]] = field(default_factory=dict)

    @staticmethod
    def of(body: Iterable[Op], lanes: int) -> Follow:
        makers, readers = {}, {}
        for op in body:
            makers.update((r, op) for r in op.results)
            for a in dict.fromkeys(op.args):
                readers.setdefault(a, []).append(op)
        return Follow(lanes, makers, readers)

    def want(self, value: Value, axis: int) -> None:
        """Let a value have its lanes along an axis, and so what it is made of."""
        pending = [(value, axis)]
        while pending:
            v, a = pending.pop()
            if self.axis.get(v) is not None:
                if self.axis[v] != a:
                    raise Refused
                continue
            if v in self.sums or (not v.type.is_tape and v.type.shape[a : a + 1] != (self.lanes,)):
                raise Refused
            self.axis[v] = a
            op = self.makers.get(v)
            if op is None:
                continue
            pending += self._sources(op, a)
            self.ops[op] = None

    def _sources(self, op: Op, axis: int) -> list[tuple[Value, int]]:
        """What must have lanes so that the one result of an operation has."""
        if op.prim is const or op.prim is new_tape or (op.prim in (iota, basis) and op.attrs["axis"] != axis):
            return []
        if op.prim is spread and axis not in op.attrs["axes"] and not self._depends(op.args[0]):
            return []
        if op.prim is spread and axis in op.attrs["axes"]:
            return [(op.args[0], op.attrs["axes"].index(axis))]
        if isinstance(op.prim, Elementwise) or op.prim in (select, cast):
            return [(a, axis) for a in op.args]
        if op.prim is read and not any(map(self._depends, op.args[1:])):
            gone = _dropped(op)
            source = [k for k in range(op.args[0].type.rank) if k not in gone][axis]
            if source not in op.attrs["axes"]:
                return [(op.args[0], source)]
        raise Refused

    def run(self, body: Iterable[Op]) -> None:
        """Follow the lanes through operations."""
        for op in body:
            if any(self.axis.get(a) is not None for a in op.args):
                self.through(op)

    def through(self, op: Op) -> None:
        """Follow the lanes through one operation."""
        if op.effect is not Effect.PURE or any(a in self.sums for a in op.args):
            raise Refused
        if op.prim is scan:
            self._scan(op)
        elif op.prim is push:
            for v in op.args[1:]:
                self._array(v)
            self.axis[op.args[0]] = self.axis[op.results[0]] = 0
        elif op.prim is pop:
            self.axis[op.results[0]] = 0
            for v in op.results[1:]:
                self.axis[v] = self._only(v)
        else:
            self._result(op)
        self.ops[op] = None

    def _array(self, v: Value) -> None:
        if self.axis.get(v) is None:
            if not v.type.shape:
                return
            self.want(v, self._only(v) or 0)

    def _only(self, v: Value) -> int | None:
        """The axis of a popped value that can be that of the lanes; None for a number."""
        fitting = [k for k, n in enumerate(v.type.shape) if n == self.lanes]
        if not v.type.shape or len(fitting) == 1:
            return fitting[0] if fitting else None
        raise Refused

    def _result(self, op: Op) -> None:
        """Where the lanes of the one result stand."""
        have = [self.axis.get(a) for a in op.args]
        (r,) = op.results
        if isinstance(op.prim, Elementwise) or op.prim in (select, cast):
            axis = next(a for a in have if a is not None)
            for a in op.args:
                self.want(a, axis)
            self.axis[r] = axis
        elif op.prim in (update, bump):
            self._written(op, have)
        elif op.prim is contract:
            self._contracted(op, have)
        else:
            self._from_one(op, r, have[0])

    def _from_one(self, op: Op, r: Value, axis: int | None) -> None:
        """The same where only the first argument has lanes."""
        if axis is None:
            raise Refused
        if isinstance(op.prim, Fold):
            axes = op.attrs["axes"]
            if axis not in axes:
                self.axis[r] = axis - sum(a < axis for a in axes)
            elif op.prim is sum_:
                self.sums[r] = add
            else:
                raise Refused
        elif op.prim is spread:
            self.axis[r] = op.attrs["axes"][axis]
        elif op.prim is read and axis not in op.attrs["axes"] and not any(map(self._depends, op.args[1:])):
            self.axis[r] = axis - sum(a < axis for a in _dropped(op))
        else:
            raise Refused

    def _written(self, op: Op, have: list[int | None]) -> None:
        axis = have[0]
        if axis is None:
            fitting = [k for k, n in enumerate(op.args[0].type.shape) if n == self.lanes and k not in op.attrs["axes"]]
            if len(fitting) != 1:
                raise Refused
            (axis,) = fitting
        if axis in op.attrs["axes"] or any(map(self._depends, op.args[2:])):
            raise Refused
        self.want(op.args[0], axis)
        self.want(op.args[1], axis - sum(a < axis for a in _dropped(op)))
        self.axis[op.results[0]] = axis

    def _contracted(self, op: Op, have: list[int | None]) -> None:
        """Lanes are a free axis of one side."""
        left, right, batch = split(op.attrs)
        if batch or (have[0] is not None) == (have[1] is not None):
            raise Refused
        side = 0 if have[0] is not None else 1
        folded = (left, right)[side]
        if have[side] in folded:
            raise Refused
        mine = free(op.args[side].type.rank, folded).index(have[side])
        before = op.args[0].type.rank - len(left) if side else 0
        self.axis[op.results[0]] = mine + before

    # ---- loops

    def _scan(self, op: Op) -> None:
        """A loop: what its carries and the rest are, by a fixed point."""
        (body,), count = op.regions, op.attrs["carries"]
        given = dict(zip(body.params[1:], op.args[1:], strict=True))
        if self.axis.get(op.args[0]) is not None:
            raise Refused
        start = {p: self.axis.get(a) for p, a in given.items()}
        while True:
            inner = Follow.of(body.body, self.lanes)
            inner.axis = {p: a for p, a in start.items() if a is not None}
            inner.run(body.body)
            for p, r in zip(body.params[1 : 1 + count], body.results, strict=True):
                if r in inner.sums or inner._joins(p, r) is not None:
                    continue
                there, here = inner.axis.get(r), inner.axis.get(p)
                if there is not None:
                    inner.want(p, there)
                elif here is not None:
                    inner.want(r, here)
            now = {p: inner.axis.get(p) for p in given}
            if now == start:
                break
            start = now
        self.inner[op] = [inner]
        for p, a in given.items():
            axis = inner.axis.get(p)
            if axis is not None:
                self.want(a, axis)
            elif self.axis.get(a) is not None:
                raise Refused
        for k, (p, r) in enumerate(zip(body.params[1 : 1 + count], op.results, strict=True)):
            inside = body.results[k]
            if inner.axis.get(p) is not None:
                self.axis[r] = inner.axis[p]
            elif (how := inner._joins(p, inside)) is not None:
                self.sums[r] = how
            elif inside in inner.sums or inner._depends(inside):
                raise Refused

    def _joins(self, p: Value, r: Value) -> Primitive | None:
        """How a carry joins lanes, if that is all it does: it adds up sums, or tells whether one was not zero."""
        how = None
        while r is not p:
            op = self.makers.get(r)
            if op is None or op.prim not in (add, or_) or how not in (None, op.prim) or self.axis.get(r) is not None:
                return None
            joined = [a for a in op.args if self._is_sum(a, op.prim)]
            rest = [a for a in op.args if a not in joined]
            if len(joined) != 1 or len(rest) != 1:
                return None
            how, (r,) = op.prim, rest
        return how if len(self.readers.get(p, ())) == 1 else None

    def _is_sum(self, value: Value, how: Primitive) -> bool:
        """Whether a value is a sum over lanes, or for or_ whether such a one is not zero."""
        if how is add:
            return value in self.sums
        op = self.makers.get(value)
        if op is None or op.prim is not ne or op.args[0] not in self.sums:
            return False
        zero = self.makers.get(op.args[1])
        return zero is not None and zero.prim is const and zero.attrs["value"] == 0

    def _depends(self, value: Value) -> bool:
        """Whether a value has lanes, or is made of sums over them."""
        pending, seen = [value], set()
        while pending:
            v = pending.pop()
            if v in self.sums or self.axis.get(v) is not None:
                return True
            op = self.makers.get(v)
            if op is not None and op not in seen:
                seen.add(op)
                pending += op.args
        return False


def _dropped(op: Op) -> list[int]:
    """The axes that a read or an update drops."""
    return [a for a, w in zip(op.attrs["axes"], op.attrs["widths"], strict=True) if w == DROPPED]


__all__ = ["Follow", "Refused"]
