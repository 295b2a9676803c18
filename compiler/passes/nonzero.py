"""A value goes in, and the lanes along one of its axes come out in which it may not be zero, with what is in them.

    cast(eq(iota, 2))               one lane, 2, of ones
    pad(%x, start=(3, 0))           the lanes from 3, with %x in them
    contract(%seeds, %x)            rows of %x, where the seeds are vectors of a basis

It is told by what made the value; small values that depend on nothing are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..ir.graph import Builder, Op, Value
from ..ir.primitive import Effect
from ..ops import shape as S
from ..ops.contract import contract, split
from ..ops.reduce import spread

SMALL = 4_096
"""Elements up to which values that depend on nothing are looked at: vectors of a basis and their parts."""


class Occupied(NamedTuple):
    """Lanes of a leaf that need not be zero: `count` of them from `start`, with `inner` in them; None stands for 1."""

    start: int
    count: int
    inner: Value | None


class Nonzero:
    """What made the values of a graph, and what has become of some."""

    def __init__(self, made: Mapping[Value, Op], became: Mapping[Value, Value]) -> None:
        self.made, self.became = made, became
        self.known: dict[Value, np.ndarray | None] = {}

    def parts(self, leaf: Value, axis: int, b: Builder) -> list[Occupied]:
        """The lanes along an axis in which a leaf is not known to be zero."""
        leaf = self.became.get(leaf, leaf)
        sizes = leaf.type.static_shape()
        whole = [Occupied(0, sizes[axis], leaf)]
        array = self._constant(leaf)
        if array is not None:
            return _of_constant(b, leaf, array, axis)
        op = self.made.get(leaf)
        if op is None:
            return whole
        if op.prim is spread and axis in op.attrs["axes"]:
            return [self._repeated(op, axis, part, b) for part in self.parts(
                op.args[0], op.attrs["axes"].index(axis), b)]  # fmt: skip
        if op.prim is S.pad and op.attrs["step"][axis] == 1:
            (inner,) = op.args
            count = inner.type.static_shape()[axis]
            same = inner.type.shape == (*sizes[:axis], count, *sizes[axis + 1 :])
            if same and _is_still(op, axis):
                return [Occupied(op.attrs["start"][axis], count, inner)]
        if op.prim is contract:
            found = self._of_selection(op, axis, b)
            return whole if found is None else found
        return whole

    def _repeated(self, op: Op, axis: int, part: Occupied, b: Builder) -> Occupied:
        """Lanes of what a spread repeats, as those of its result."""
        if part.inner is None:
            return part
        shape, axes = op.attrs["shape"], op.attrs["axes"]
        rows = (*shape[:axis], part.count, *shape[axis + 1 :])
        return part._replace(inner=spread(b, part.inner, axes=axes, shape=rows))

    def _constant(self, value: Value) -> np.ndarray | None:
        """The elements of a small value that depends on no parameter."""
        waiting = [value]  # a chain of operations can be longer than Python's stack
        while waiting:
            top = waiting[-1]
            op = self.made.get(top)
            small = all(isinstance(n, int) for n in top.type.shape) and top.type.static_size() <= SMALL
            if op is None or not small or op.regions or op.effect is not Effect.PURE or len(op.results) != 1:
                self.known[top] = None
            elif top not in self.known and all(self.known.get(a, True) is not None for a in op.args):
                left = [a for a in op.args if a not in self.known]
                if left:
                    waiting.append(left[0])
                    continue
                given = [made for a in op.args if (made := self.known[a]) is not None]
                with np.errstate(all="ignore"):
                    (made,) = op.prim.evaluate(given, op.attrs, ())
                self.known[top] = np.asarray(made, top.type.numpy)
            else:
                self.known.setdefault(top, None)
            waiting.pop()
        return self.known[value]

    def _of_selection(self, op: Op, axis: int, b: Builder) -> list[Occupied] | None:
        """The rows that a contraction with vectors of a basis only takes from its other operand; None where it adds."""
        left, right, batch = split(op.attrs)
        for side, (ours, theirs) in enumerate(((left, right), (right, left))):
            array, other = self._constant(op.args[side]), op.args[1 - side]
            if array is None or array.ndim != 2 or len(ours) != 1 or batch:
                continue
            if axis != (0 if side == 0 else op.results[0].type.rank - 1):
                continue
            rows = array if ours[0] == 1 else array.T
            used = np.flatnonzero(rows.any(axis=1))
            if not len(used):
                return []
            count, start, column = len(used), int(used[0]), int(np.argmax(rows[used[0]]))
            unit = np.zeros_like(rows)
            if column + count > rows.shape[1] or start + count > len(rows):
                continue
            unit[np.arange(start, start + count), np.arange(column, column + count)] = 1
            if np.array_equal(unit, rows):
                return [Occupied(start, count, _taken(b, other, theirs[0], column, count, axis))]
        return None


def _is_still(op: Op, axis: int) -> bool:
    """Whether elements stay where they are along all other axes: turned around, they have the same shape."""
    places = zip(op.attrs["start"], op.attrs["step"], strict=True)
    return all(k == axis or place == (0, 1) for k, place in enumerate(places))


def _of_constant(b: Builder, leaf: Value, array: np.ndarray, axis: int) -> list[Occupied]:
    """The lanes of an array that are not zero, each by itself unless these are most of them."""
    lanes = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    used = np.flatnonzero(lanes.any(axis=1))
    if 2 * len(used) > len(lanes) > 2:
        return [Occupied(0, len(lanes), leaf)]
    return [Occupied(int(k), 1, None if (lanes[k] == 1).all() else _rows(b, leaf, axis, int(k), 1)) for k in used]


def _rows(b: Builder, x: Value, axis: int, start: int, count: int) -> Value:
    """`count` rows of `x` along an axis."""
    rank = x.type.rank
    shape = tuple([count if a == axis else n for a, n in enumerate(x.type.shape)])
    return S.slice_(b, x, shape=shape, start=tuple([start if a == axis else 0 for a in range(rank)]), step=(1,) * rank)


def _taken(b: Builder, x: Value, axis: int, start: int, count: int, to: int) -> Value:
    """Rows of `x` along an axis, which comes to the front or to the end."""
    others = [a for a in range(x.type.rank) if a != axis]
    return S.transpose(b, _rows(b, x, axis, start, count), axes=(axis, *others) if to == 0 else (*others, axis))


__all__ = ["Nonzero", "Occupied"]
