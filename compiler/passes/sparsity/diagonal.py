"""Diagonals of a Jacobian: the derivatives of one value for elements of the parameters that lie as a view's do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.graph import Builder, Value
from ...ops import elementwise as E
from ...ops import shape as S
from ...ops.source import number

MOST = 32
"""Diagonals of one value."""


class Irregular(Exception):
    """The Jacobian does not consist of few diagonals."""


class Diagonal(NamedTuple):
    """Derivatives of a value for elements of the parameters, which are numbered one parameter after the other.

    start, steps  element i of the value depends on number start + steps . i
    low           the first index for which there are entries; so many as `entries` has follow along each axis
    entries       the derivatives; None if all are one
    shape         theirs
    masked        whether zeros among them may hide what is not finite
    """

    start: int
    steps: tuple[int, ...]
    low: tuple[int, ...]
    entries: Value | None
    shape: tuple[int, ...]
    masked: bool = False

    def places(self, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the columns of the entries, in their order, for a value of this shape."""
        index = np.indices(self.shape, np.int64).reshape(len(self.shape), math.prod(self.shape))
        rows, columns = np.zeros(index.shape[1], np.int64), np.full(index.shape[1], self.start, np.int64)
        for axis, (low, step) in enumerate(zip(self.low, self.steps, strict=True)):
            rows = rows * shape[axis] + index[axis] + low
            columns += step * (index[axis] + low)
        return rows, columns


class Diagonals:
    """The diagonals of the values of a graph that is emitted into `b`, and the constants among them."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.known: dict[Value, list[Diagonal]] = {}
        self.numbers: dict[Value, Any] = {}
        self._parts: dict[tuple[Value, tuple[int, ...], tuple[int, ...]], Value] = {}

    def merged(self, value: Value, found: Iterable[Diagonal]) -> list[Diagonal]:
        """Each view once: where two diagonals have the same, they are added."""
        made: dict[tuple[int, tuple[int, ...]], Diagonal] = {}
        for each in found:
            if 0 in each.shape:
                continue
            key = (each.start, tuple([s if n > 1 else 0 for s, n in zip(each.steps, extents(value), strict=True)]))
            other = made.get(key)
            made[key] = each if other is None else self._sum(value, other, each)
            if len(made) > MOST:
                raise Irregular
        return list(made.values())

    def _sum(self, value: Value, x: Diagonal, y: Diagonal) -> Diagonal:
        low = tuple(map(min, x.low, y.low))
        ends = [max(a + m, c + n) for a, m, c, n in zip(x.low, x.shape, y.low, y.shape, strict=True)]
        shape = tuple([end - a for end, a in zip(ends, low, strict=True)])
        parts = [self.within(value, each, low, shape) for each in (x, y)]
        return Diagonal(x.start, x.steps, low, E.add(self.b, *parts), shape, x.masked or y.masked)

    def entries(self, value: Value, d: Diagonal) -> Value:
        """The derivatives of a diagonal of `value`, ones as well."""
        return number(self.b, 1, value.type.with_shape(d.shape)) if d.entries is None else d.entries

    def within(self, value: Value, d: Diagonal, low: tuple[int, ...], shape: tuple[int, ...]) -> Value:
        """The derivatives with zeros around them, as far as a box reaches."""
        made = self.entries(value, d)
        if (d.low, d.shape) == (low, shape):
            return made
        start = tuple([a - b for a, b in zip(d.low, low, strict=True)])
        return S.pad(self.b, made, start=start, step=(1,) * len(low), shape=shape)

    def whole(self, value: Value, d: Diagonal) -> Diagonal:
        """The diagonal with derivatives for every index."""
        low, shape = (0,) * len(d.low), extents(value)
        if (d.low, d.shape) == (low, shape):
            return d
        return d._replace(low=low, shape=shape, entries=self.within(value, d, low, shape))

    def part(self, value: Value, low: tuple[int, ...], shape: tuple[int, ...]) -> Value:
        """A box of a value."""
        if shape == extents(value):
            return value
        key = (value, low, shape)
        if key not in self._parts:
            self._parts[key] = S.slice_(self.b, value, start=low, step=(1,) * len(low), shape=shape)
        return self._parts[key]


def extents(value: Value) -> tuple[int, ...]:
    """The extents of a value along its axes."""
    return value.type.static_shape()


__all__ = ["Diagonal", "Diagonals", "Irregular", "extents"]
