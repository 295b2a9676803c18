"""Parts of an array at starts that differ from lane to lane: how `read` takes an axis of lanes.

Where the starts move evenly from lane to lane, all lanes together are a slice; else they are looked up by `take`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.primitive import NotBatchable
from ..ir.types import Type, count
from .elementwise import add, maximum, minimum, mul
from .index import take
from .reduce import spread
from .shape import reshape, slice_, transpose
from .source import iota, number

INDEX = Type("i64")


@dataclass(frozen=True)
class Start:
    """Where parts begin along one axis, lane by lane.

    limits    the least and the greatest start of a part that lies inside
    affine    (factor, constant) where it is factor * lane + constant, if that is known
    """

    axis: int
    value: Any
    width: int
    step: int
    limits: tuple[int, int]
    affine: tuple[int, int] | None

    def even(self, lanes: int) -> tuple[int, int] | None:
        """(factor, constant) if the parts of all lanes lie inside, so that none is moved."""
        if self.affine is None:
            return None
        factor, first = self.affine
        last = first + factor * (lanes - 1)
        low, high = self.limits
        return self.affine if factor and low <= min(first, last) and max(first, last) <= high else None


def gathered(m: Any, x: Any, starts: Sequence[Start]) -> Any:
    """The parts of x, an array that all lanes share, with the lanes in front."""
    if len(starts) == 1 and starts[0].width >= 0:
        return _windows(m, x, starts[0])
    if any(s.width >= 0 for s in starts):
        raise NotBatchable("windows along several axes at starts that differ from lane to lane")
    axes = [s.axis for s in starts]
    rest = [k for k in range(x.type.rank) if k not in axes]
    sizes = [x.type.shape[a] for a in axes]
    if axes != [*range(len(axes))]:
        (x,) = m.emit(transpose, x, axes=(*axes, *rest))
    if len(axes) > 1:
        (x,) = m.emit(reshape, x, shape=(count(sizes), *x.type.shape[len(axes) :]))
    even = [s.even(m.size) for s in starts]
    factor = first = 0
    flat, stride = None, 1
    for s, size, at in zip(reversed(starts), reversed(sizes), reversed(even), strict=True):
        if at is not None:
            factor, first = factor + at[0] * stride, first + at[1] * stride
        part = _scaled(m, _kept(m, s), stride)
        flat = part if flat is None else m.emit(add, flat, part)[0]
        stride *= size
    if (factor, first) == (1, 0) and None not in even and x.type.shape[0] == m.size:
        return x
    if None not in even and factor:
        rest_shape = x.type.shape[1:]
        zeros, ones = (0,) * len(rest_shape), (1,) * len(rest_shape)
        return m.emit(slice_, x, start=(first, *zeros), step=(factor, *ones), shape=(m.size, *rest_shape))[0]
    return m.emit(take, x, flat, axis=0)[0]


def _windows(m: Any, x: Any, s: Start) -> Any:
    """Windows along one axis."""
    shape = (m.size, s.width)
    (first,) = m.emit(spread, _kept(m, s), shape=shape, axes=(0,))
    (inside,) = m.emit(iota, type=Type("i64", shape), axis=1)
    (at,) = m.emit(add, first, _scaled(m, inside, s.step))
    (made,) = m.emit(take, x, at, axis=s.axis)
    rank = made.type.rank
    return m.emit(transpose, made, axes=(s.axis, *(k for k in range(rank) if k != s.axis)))[0]


def _kept(m: Any, s: Start) -> Any:
    """The starts, moved so far that the parts lie inside."""
    if s.even(m.size) is not None:
        return s.value
    low, high = (number(m.b, each, s.value.type) for each in s.limits)
    return m.emit(minimum, m.emit(maximum, s.value, low)[0], high)[0]


def _scaled(m: Any, value: Any, by: int) -> Any:
    return value if by == 1 else m.emit(mul, value, number(m.b, by, value.type))[0]


__all__ = ["Start", "gathered"]
