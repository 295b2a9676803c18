"""Slices of different lengths go in; out come reads of one length, at places that may differ from round to round.

    slice %x {start=(3,), shape=(5,)}      slice (pad %x with 8 zeros) {start=(3,), shape=(8,)}
    slice %x {start=(4,), shape=(4,)}      slice (pad %x with 8 zeros) {start=(4,), shape=(8,)}
"""

from __future__ import annotations

from ...ir.graph import Builder, Graph, Op, Value
from ...ops.shape import pad, slice_
from .repeats import ROUNDS


def axis_of(op: Op) -> int | None:
    """The axis along which a slice takes neighbours, forwards or backwards, and leaves some out.

    It may be a single place along all others but this one, the longest.
    """
    if op.prim is not slice_:
        return None
    before, after, steps = op.args[0].type.shape, op.results[0].type.shape, op.attrs["step"]
    axes = [k for k, (n, m) in enumerate(zip(before, after, strict=True)) if n != m]
    if len(axes) > 1:
        axes = [k for k in axes if after[k] != 1]
    if len(axes) != 1 or not after[axes[0]]:
        return None
    plain = all(step == 1 or after[k] == 1 or (k == axes[0] and step == -1) for k, step in enumerate(steps))
    return axes[0] if plain else None


class Windows:
    """Reads of one length from arrays.

    starts    by array and axis: those of the slices that are taken of it
    longest   the length of the longest of them
    padded    arrays with zeros behind them, or before, by how many
    """

    def __init__(self, b: Builder, graph: Graph) -> None:
        self.b = b
        self.given = set(graph.params)
        self.starts: dict[tuple[Value, int], set[int]] = {}
        self.longest: dict[tuple[Value, int], int] = {}
        self.padded: dict[tuple[Value, int, int, bool], Value] = {}
        for op in graph.body:
            axis = axis_of(op)
            if axis is not None:
                key, length = (op.args[0], axis), op.results[0].type.static_shape()[axis]
                self.starts.setdefault(key, set()).add(op.attrs["start"][axis])
                self.longest[key] = max(length, self.longest.get(key, 0))

    def most(self, x: Value, axis: int) -> bool:
        """Whether slices of an array can have its length: few are taken of what was computed, or one is most of it."""
        if len(self.starts[x, axis]) >= ROUNDS:  # they get the length of what they meet
            return False
        return x not in self.given or 2 * self.longest[x, axis] >= x.type.static_shape()[axis]

    def window(self, op: Op, axis: int, x: Value, length: int) -> Value:
        """This many elements from where a slice begins; x is what it is of, in its own length or another one."""
        start, step, size = op.attrs["start"], op.attrs["step"][axis], x.type.static_shape()[axis]
        shape = tuple([length if k == axis else n for k, n in enumerate(op.results[0].type.static_shape())])
        first = start[axis]
        if len(self.starts[op.args[0], axis]) >= ROUNDS:
            x = self._padded(x, axis, length, step > 0)
            first += 0 if step > 0 else length
            return self._cut(x, axis, first, op, shape)
        there = min(length, size - first if step > 0 else first + 1)
        cut = self._cut(x, axis, first, op, tuple([there if k == axis else n for k, n in enumerate(shape)]))
        return cut if there == length else self._zeros(cut, axis, 0, length)

    def moved(self, x: Value, by: int) -> Value:
        """A vector moved to the end by a number of places; zeros come in, and what leaves it is gone."""
        length = x.type.static_shape()[0]
        x = self._zeros(x, 0, length, 2 * length)
        return slice_(self.b, x, start=(length - by,), step=(1,), shape=(length,))

    def _cut(self, x: Value, axis: int, first: int, op: Op, shape: tuple[int, ...]) -> Value:
        start = tuple([first if k == axis else n for k, n in enumerate(op.attrs["start"])])
        if x.type.shape == shape and not any(start) and op.attrs["step"][axis] == 1:
            return x
        return slice_(self.b, x, start=start, step=op.attrs["step"], shape=shape)

    def _padded(self, x: Value, axis: int, by: int, behind: bool) -> Value:
        key = x, axis, by, behind
        if key not in self.padded:
            size = x.type.static_shape()[axis]
            self.padded[key] = self._zeros(x, axis, 0 if behind else by, size + by)
        return self.padded[key]

    def _zeros(self, x: Value, axis: int, before: int, length: int) -> Value:
        """An array with zeros before and behind it, in this length."""
        shape = tuple([length if k == axis else n for k, n in enumerate(x.type.static_shape())])
        start = tuple([before if k == axis else 0 for k in range(len(shape))])
        return pad(self.b, x, start=start, step=(1,) * len(shape), shape=shape)


__all__ = ["Windows", "axis_of"]
