"""Parts of arrays at positions known only when the program runs, read and written.

    read x, start...        the part
    update x, v, start...   x with v in its place
    bump x, v, start...     x with v added to it: the transpose of read

Which part: along each of `axes` one element at the start, where its width is -1 (the axis is dropped), or `width`
elements from the start on, `step` apart; along the other axes everything. So x[i, j], x[i], x[:, j], x[i:i+3] and
x[1:-1, ::2] are all this. A start is moved so far that the part lies inside; front ends check it before, where the user
expects an IndexError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..bounds import clipped
from ..ir.measure import OpenExtent, volume
from ..ir.primitive import ALWAYS, NotBatchable, Primitive
from ..ir.types import Type
from ..loops import (
    Affine,
    Apply,
    Component,
    Element,
    Map,
    Number,
    Scatter,
    element,
    guarded,
    scaled,
    shifted,
)
from ..loops import Read as Reader
from .gather import Start, gathered
from .source import number

DROPPED = -1
"""The width of an axis of which one element is meant."""

INDEX = Type("i64")

WHOLE = 2
"""How many times the part may be in the whole for the whole to be made anew where the part is at a fixed place."""


class _Part(Primitive):
    """A part of the first argument; `first` is the number of the argument that is the first start."""

    attributes: ClassVar = {"axes": "axes", "widths": "axes", "steps": "axes?"}
    first = 1
    takes = True

    def _part(self, x: Type, starts: Sequence[Type], attrs: Mapping[str, Any]) -> Type:
        """The type of the part; raises TypeError where there is no such part."""
        axes, widths, steps = attrs["axes"], attrs["widths"], _steps(attrs)
        if not len(axes) == len(widths) == len(steps) == len(starts) or list(axes) != sorted(set(axes)):
            wanted = f"an axis, a width and a step for each of {len(starts)} starts"
            raise TypeError(f"{self.name} wants {wanted}; got {dict(attrs)}")
        if axes and not 0 <= axes[0] <= axes[-1] < x.rank:
            raise TypeError(f"{self.name}: {x} has no axes {axes}")
        if any(s != INDEX for s in starts):
            raise TypeError(f"{self.name} wants i64[] starts, got {', '.join(map(str, starts))}")
        shape = list(x.shape)
        for axis, width, step in reversed(list(zip(axes, widths, steps, strict=True))):
            size = x.shape[axis]
            known = isinstance(size, int) and isinstance(width, int)  # of named sizes, front ends have asked
            if step == 0 or (known and (width < DROPPED or (width != 0 and _reach(width, step) >= size))):
                raise TypeError(f"{self.name}: {x} has no {width} elements {step} apart along axis {axis}")
            shape[axis : axis + 1] = [] if width == DROPPED else [width]
        return x.with_shape(shape)

    def where(self, x: np.ndarray, starts: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
        """NumPy's index of the part."""
        index: list[Any] = [slice(None)] * x.ndim
        for axis, width, step, start in zip(attrs["axes"], attrs["widths"], _steps(attrs), starts, strict=True):
            low, high = bounds(x.shape[axis], width, step)
            at = min(max(int(start), low), high)
            stop = at + width * step
            index[axis] = slice(at, None if stop < 0 else stop, step) if width > 0 else slice(0, 0)
            if width == DROPPED:
                index[axis] = at
        return tuple(index)

    def place(
        self, x: Type, starts: Sequence[Element], attrs: Mapping[str, Any], index: Sequence[Component]
    ) -> list[Component]:
        """Where in x the element of the part at `index` is."""
        parts = zip(attrs["widths"], _steps(attrs), starts, strict=True)
        at, inner = dict(zip(attrs["axes"], parts, strict=True)), iter(index)
        made: list[Component] = []
        for axis, size in enumerate(x.static_shape()):
            if axis not in at:
                made.append(next(inner))
                continue
            width, step, start = at[axis]
            by = None if width == DROPPED else scaled(next(inner), step)
            made.append(_moved(start, bounds(size, width, step), by))
        return made


def bounds(size: int, width: int, step: int) -> tuple[int, int]:
    """The least and the greatest start of a part that lies inside; front ends have asked whether open extents fit."""
    far = 0 if width == DROPPED or width == 0 else (width - 1) * step
    last = size - 1 - (far if step > 0 else 0)
    return -far if step < 0 else 0, last if isinstance(last, OpenExtent) else max(last, 0)


def _reach(width: int, step: int) -> int:
    return (max(width, 1) - 1) * abs(step)


def _steps(attrs: Mapping[str, Any]) -> tuple[int, ...]:
    return attrs.get("steps") or (1,) * len(attrs["axes"])


def _kept(start: Any, low: Any, high: Any) -> Any:
    """A known start between bounds, if these are known."""
    is_open = any(isinstance(n, OpenExtent) for n in (start, low, high))
    return start if is_open else min(max(int(start), low), high)


def _moved(start: Element, within: tuple[int, int], by: Component | None) -> Component:
    """start + by, the start being kept within bounds."""
    low, high = within
    if isinstance(start, Number):
        at = Affine((), _kept(start.value, low, high))
        if by is None:
            return at
        return by + at if isinstance(by, Affine) else Apply("add", (element(at), by), "i64")
    kept: Element = clipped(start, high + 1)
    if low:
        kept = Apply("maximum", (kept, Number(low, "i64")), "i64")
    return kept if by is None else Apply("add", (kept, element(by)), "i64")


class Read(_Part):
    """The part of x at the starts."""

    again = ALWAYS

    def infer(self, types, attrs, regions):
        return (self._part(types[0], types[1:], attrs),)

    def evaluate(self, args, attrs, regions):
        return [np.ascontiguousarray(args[0][self.where(args[0], args[1:], attrs)]).reshape(self._shape(args, attrs))]

    def _shape(self, args, attrs):
        kinds = [Type("f64", a.shape) if k == 0 else INDEX for k, a in enumerate(args)]
        return self._part(kinds[0], kinds[1:], attrs).static_shape()

    def define(self, op, reads):
        x = op.args[0].type

        def value(index):
            return reads[0](self.place(x, [r(()) for r in reads[1:]], op.attrs, index))

        return Map(value, view=True)

    def pull_into(self, b, op, cotangents, running):
        (ct,), (x, *starts) = cotangents, op.args
        if ct is not None and running.active(x):
            running.put(x, bump(b, running.take(x), ct, *starts, **op.attrs))

    def batch(self, m):
        """A read at the starts that all lanes share, and a gather at the others, the lane itself among them."""
        attrs = m.op.attrs
        own = int(m.flags[0])
        parts = list(zip(attrs["axes"], m.args[1:], attrs["widths"], _steps(attrs), m.flags[1:], strict=True))
        shared = [(axis + own, start, width, step) for axis, start, width, step, wide in parts if not wide]
        axes, starts, widths, steps = zip(*shared, strict=True) if shared else ((), (), (), ())
        x = m.emit(self, m.args[0], *starts, axes=axes, widths=widths, steps=steps)[0] if axes else m.args[0]
        if not any(m.flags[1:]):
            return [x]
        gone = [axis for axis, width in zip(axes, widths, strict=True) if width == DROPPED]
        made = []
        for k, (axis, start, width, step, wide) in enumerate(parts):
            if wide:
                limits = bounds(m.op.args[0].type.shape[axis], width, step)
                at = axis + own - sum(a < axis + own for a in gone)
                made.append(Start(at, start, width, step, limits, m.affine(1 + k)))
        if own:
            made.insert(0, Start(0, m.lane(), DROPPED, 1, (0, m.size - 1), (1, 0)))
        return [gathered(m, x, made)]

    def samples(self, rng):
        x, i = rng.normal(size=(5, 4, 3)), np.int64
        made: list[tuple[list[Any], dict[str, Any]]] = [
            ([x, i(2), i(3)], {"axes": (0, 1), "widths": (-1, -1)}),
            ([x, i(9)], {"axes": (0,), "widths": (-1,)}),
            ([x, i(-4)], {"axes": (2,), "widths": (-1,)}),
            ([x, i(1), i(0), i(2)], {"axes": (0, 1, 2), "widths": (-1, -1, -1)}),
            ([x, i(3), i(1)], {"axes": (0, 1), "widths": (3, -1)}),
            ([x, i(1), i(3)], {"axes": (0, 1), "widths": (2, 4), "steps": (3, -1)}),
            ([x, i(1)], {"axes": (1,), "widths": (0,)}),
            ([x], {"axes": (), "widths": ()}),
        ]
        for d in ("f4", "i8", "?"):
            made += [([a.astype(d) if a.ndim else a for a in args], attrs) for args, attrs in made[:3]]
        return made


class _Write(_Part):
    """The first argument with its part changed by the second."""

    first = 2
    adds: ClassVar[bool]
    cost = 2

    def infer(self, types, attrs, regions):
        x, v, *starts = types
        part = self._part(x, starts, attrs)
        if part != v or (self.adds and x.dtype == "bool"):
            raise TypeError(f"{self.name} of {x} wants {part}, got {v}")
        return (x,)

    def evaluate(self, args, attrs, regions):
        out = args[0].copy()
        at = self.where(args[0], args[2:], attrs)
        out[at] = out[at] + args[1] if self.adds else args[1]
        return [out]

    def define(self, op, reads):
        x, v = op.args[0].type, op.args[1].type

        def target(index):
            return self.place(x, [r(()) for r in reads[2:]], op.attrs, index)

        large = WHOLE * volume(v.static_shape()) >= volume(x.static_shape())
        near = large and all(step == 1 for step in _steps(op.attrs))
        whole = (lambda index: self._element(op, reads, index)) if near else None
        return Scatter(v.static_shape(), target, reads[1], fold="sum" if self.adds else "", distinct=True, whole=whole)

    def _element(self, op: Any, reads: Sequence[Reader], index: Sequence[Component]) -> Element:
        """The element of the result at `index`, which lies in the part or not."""
        outside, ranges, inner = reads[0](index), [], list(index)
        for axis, width, start in reversed(list(zip(op.attrs["axes"], op.attrs["widths"], reads[2:], strict=True))):
            low, high = bounds(op.args[0].type.static_shape()[axis], width, 1)
            given = start(())
            assert isinstance(given, Number)
            at = _kept(given.value, low, high)
            ranges.append((index[axis], at, at + (1 if width == DROPPED else width)))
            inner[axis : axis + 1] = [] if width == DROPPED else [shifted(index[axis], -at)]

        def inside() -> Element:
            v = reads[1](inner)
            return Apply("add", (outside, v), outside.dtype) if self.adds else v

        return guarded(ranges[::-1], inside, outside)

    def batch(self, m):
        if any(m.flags[2:]):
            raise NotBatchable(f"{self.name} at starts that differ from lane to lane")
        attrs = m.op.attrs
        axes = tuple(a + 1 for a in attrs["axes"])
        return m.emit(self, m.wide(0), m.wide(1), *m.args[2:], axes=axes, widths=attrs["widths"], steps=_steps(attrs))

    def samples(self, rng):
        made = []
        for (x, *starts), attrs in read.samples(rng):
            if not (self.adds and x.dtype == np.bool_):
                part = read.evaluate([x, *starts], attrs, ())[0]
                made.append(([x, rng.normal(size=part.shape).astype(x.dtype), *starts], attrs))
        return made


class Update(_Write):
    """x with v in place of its part at the starts."""

    adds = False

    def pull_into(self, b, op, cotangents, running):
        (ct,), (x, v, *starts) = cotangents, op.args
        if ct is None:
            return
        if running.active(v):
            running.give(v, read(b, ct, *starts, **op.attrs))
        if running.active(x):
            running.give(x, update(b, ct, number(b, 0, v.type), *starts, **op.attrs))


class Bump(_Write):
    """x with v added to its part at the starts."""

    adds = True

    def pull_into(self, b, op, cotangents, running):
        (ct,), (x, v, *starts) = cotangents, op.args
        if ct is None:
            return
        if running.active(v):
            running.give(v, read(b, ct, *starts, **op.attrs))
        running.give(x, ct)


read = Read("read")
update, bump = Update("update"), Bump("bump")

__all__ = ["DROPPED", "bounds", "bump", "read", "update"]
