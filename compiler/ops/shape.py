"""Primitives that move or place elements.  All are linear, and come in pairs that pull into each other."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..bounds import clipped
from ..ir.primitive import ALWAYS, REGISTRY, Primitive
from ..ir.types import Type, count
from ..loops import Affine, Apply, Map, Number, Relabel, element, guarded, linear, scaled, shifted

SPARSE = 16
"""Elements for each that is put among them, from which they are zeros that are written first."""


class Reshape(Primitive):
    """The same elements in row-major order under another shape."""

    arity = 1
    attributes: ClassVar = {"shape": "dimensions"}
    linear = exact = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        (t,) = types
        if count(attrs["shape"]) != t.size:
            raise TypeError(f"reshape cannot make {attrs['shape']} of {t}: the sizes differ")
        return (t.with_shape(attrs["shape"]),)

    def evaluate(self, args, attrs, regions):
        return [args[0].reshape(attrs["shape"])]

    def define(self, op, reads):
        """A view where axes are only split or dropped, or of size one; else the elements relabelled."""
        source, shape = op.args[0].type.static_shape(), op.attrs["shape"]
        groups = _split_axes(source, shape)
        if groups is None:
            return Relabel()

        def value(index):
            inner = []
            for group in groups:
                parts = linear([index[a] for a in group], [shape[a] for a in group])
                inner.append(_sum([scaled(i, stride) for i, stride in parts]))
            return reads[0](inner)

        return Map(value, view=True)

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        return [ct if ct is None else reshape(b, ct, shape=op.args[0].type.shape)]

    def batch(self, m):
        return m.emit(self, m.args[0], shape=(m.size, *m.op.attrs["shape"]))

    def samples(self, rng):
        x = rng.normal(size=(6, 4))
        return [([x], {"shape": s}) for s in ((24,), (3, 2, 4), (6, 1, 4), (4, 6), (2, 3, 2, 2))]


def _split_axes(source, shape):
    """For each axis of `source` the axes of `shape` that it is split into, or None if some are joined."""
    groups, at = [], 0
    for n in source:
        group, size = [], 1
        while size != n and at < len(shape):
            group.append(at)
            size *= shape[at]
            at += 1
        if size != n:
            return None
        groups.append(group)
    return groups if all(n == 1 for n in shape[at:]) else None


def _sum(parts):
    if all(isinstance(p, Affine) for p in parts):
        total = Affine()
        for p in parts:
            total = total + p
        return total
    total = element(parts[0])
    for p in parts[1:]:
        total = Apply("add", (total, element(p)), "i64")
    return total


class Transpose(Primitive):
    """Axis k of the result is axis `axes[k]` of the argument."""

    arity = 1
    attributes: ClassVar = {"axes": "axes"}
    linear = exact = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        (t,), axes = types, attrs["axes"]
        if sorted(axes) != list(range(t.rank)):
            raise TypeError(f"transpose of {t} wants a permutation of its axes, got {axes}")
        return (t.with_shape(t.shape[a] for a in axes),)

    def evaluate(self, args, attrs, regions):
        return [np.transpose(args[0], attrs["axes"]).copy()]

    def define(self, op, reads):
        back = inverse(op.attrs["axes"])
        return Map(lambda index: reads[0]([index[a] for a in back]), view=True)

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        return [ct if ct is None else transpose(b, ct, axes=inverse(op.attrs["axes"]))]

    def batch(self, m):
        return m.emit(self, m.args[0], axes=(0, *(a + 1 for a in m.op.attrs["axes"])))

    def samples(self, rng):
        x = rng.normal(size=(2, 3, 4))
        return [([x.astype(d)], {"axes": a}) for d in ("f8", "i4") for a in ((2, 0, 1), (0, 2, 1))]


def inverse(axes):
    """The permutation that undoes `axes`."""
    back = [0] * len(axes)
    for k, a in enumerate(axes):
        back[a] = k
    return tuple(back)


class Slice(Primitive):
    """Element k of the result is element start + k * step of the argument, on every axis."""

    arity = 1
    attributes: ClassVar = {"start": "dimensions", "step": "dimensions", "shape": "dimensions"}
    linear = exact = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        (t,), (start, step, shape) = types, _place(attrs)
        if not len(start) == len(step) == len(shape) == t.rank:
            raise TypeError(f"slice of {t} wants start, step and shape for each axis, got {dict(attrs)}")
        _check_places(t.shape, start, step, shape)
        return (t.with_shape(shape),)

    def evaluate(self, args, attrs, regions):
        return [np.array(args[0][_slices(attrs, attrs["shape"])])]

    def define(self, op, reads):
        start, step, _ = _place(op.attrs)

        def value(index):
            return reads[0]([shifted(scaled(i, k), s) for i, s, k in zip(index, start, step, strict=True)])

        return Map(value, view=True)

    def pull(self, b, op, cotangents):
        (ct,), (start, step, _) = cotangents, _place(op.attrs)
        if ct is None:
            return [None]
        if is_sparse(op.args[0].type.shape, step, ct.type.shape):
            return [_put(b, ct, start, step, op.args[0].type)]
        return [pad(b, ct, start=start, step=step, shape=op.args[0].type.shape)]

    def batch(self, m):
        return m.emit(self, m.args[0], **_batched_place(m))

    def samples(self, rng):
        x = rng.normal(size=(7, 5))
        places = (((1, 0), (1, 1), (5, 5)), ((6, 1), (-2, 3), (4, 2)), ((0, 4), (1, -1), (7, 5)))
        return [([x], {"start": s, "step": k, "shape": n}) for s, k, n in places]


class Pad(Primitive):
    """Zeros of `shape` with the argument's element k at start + k * step, on every axis."""

    arity = 1
    attributes: ClassVar = {"start": "dimensions", "step": "dimensions", "shape": "dimensions"}
    linear = exact = guards = True
    cost = 4

    def infer(self, types, attrs, regions):
        (t,), (start, step, shape) = types, _place(attrs)
        if not len(start) == len(step) == len(shape) == t.rank:
            raise TypeError(f"pad of {t} wants start, step and shape for each axis, got {dict(attrs)}")
        _check_places(shape, start, step, t.shape)
        return (t.with_shape(shape),)

    def evaluate(self, args, attrs, regions):
        (x,) = args
        out = np.zeros(attrs["shape"], x.dtype)
        out[_slices(attrs, x.shape)] = x
        return [out]

    def define(self, op, reads):
        (start, step, _), source = _place(op.attrs), op.args[0].type
        sizes = source.static_shape()
        zero = Number(False if source.dtype == "bool" else 0, source.dtype)

        def value(index):
            ranges, inner, exact = [], [], []
            for i, s, k, n in zip(index, start, step, sizes, strict=True):
                away = shifted(i, -s)
                if abs(k) == 1:
                    away = scaled(away, k)
                else:
                    far = element(away)
                    exact.append(Apply("eq", (Apply("mod", (far, Number(k, "i64")), "i64"), Number(0, "i64")), "bool"))
                    away = Apply("floordiv", (far, Number(k, "i64")), "i64")
                ranges.append((away, 0, n))
                inner.append(away if isinstance(away, Affine) else clipped(away, n))
            if 0 in sizes:
                return zero
            found = guarded(ranges, lambda: reads[0](inner), zero)
            for condition in exact:
                found = Apply("select", (condition, found, zero), found.dtype)
            return found

        return Map(value)

    def pull(self, b, op, cotangents):
        (ct,), (start, step, _) = cotangents, _place(op.attrs)
        if ct is None:
            return [None]
        return [slice_(b, ct, start=start, step=step, shape=op.args[0].type.shape)]

    def batch(self, m):
        return m.emit(self, m.args[0], **_batched_place(m))

    def samples(self, rng):
        x = rng.normal(size=(3, 2))
        places = (((1, 0), (1, 1), (5, 4)), ((6, 1), (-2, 3), (8, 5)), ((0, 1), (1, -1), (3, 2)))
        return [([x], {"start": s, "step": k, "shape": n}) for s, k, n in places]


def is_sparse(shape, step, part):
    """Whether elements so far apart are better put into zeros than looked for at each of them, by a division."""
    static = all(isinstance(n, int) for n in (*shape, *step, *part))
    return static and math.prod(shape) >= SPARSE * max(1, math.prod(part)) and any(abs(k) > 1 for k in step)


def _put(b, x, start, step, type):
    """Zeros with the elements of x at these places."""
    zeros, one = b.emit(REGISTRY["const"], value=0.0, type=type)[0], Type("i64")
    starts = [b.emit(REGISTRY["const"], value=int(s), type=one)[0] for s in start]
    attrs = {"axes": tuple(range(type.rank)), "widths": x.type.shape, "steps": step}
    return b.emit(REGISTRY["update"], zeros, x, *starts, **attrs)[0]


def _place(attrs):
    return attrs["start"], attrs["step"], attrs["shape"]


def _batched_place(m):
    """The attributes with the axis of the lanes in front."""
    start, step, shape = _place(m.op.attrs)
    return {"start": (0, *start), "step": (1, *step), "shape": (m.size, *shape)}


_WHOLE = {int, bool}


def _check_places(outer, start, step, inner):
    """Every start + k * step must lie within `outer`, for k below `inner`."""
    for size, s, k, n in zip(outer, start, step, inner, strict=True):
        if k == 0:
            raise TypeError("a step cannot be 0")
        if not {type(size), type(s), type(k), type(n)} <= _WHOLE:
            continue
        if n > 0 and not (0 <= s < size and 0 <= s + (n - 1) * k < size):
            raise TypeError(f"places {s} + {k} * (0..{n - 1}) leave an axis of {size}")


def _slices(attrs, shape):
    out = []
    for s, k, n in zip(attrs["start"], attrs["step"], shape, strict=True):
        end = s + n * k
        out.append(slice(s, end if end >= 0 else None, k) if n else slice(0, 0))
    return tuple(out)


class Concatenate(Primitive):
    """The arguments one after the other along `axis`."""

    attributes: ClassVar = {"axis": "axis"}
    exact = guards = True
    cost = 4

    def infer(self, types, attrs, regions):
        axis = attrs["axis"]
        first = types[0] if types else None
        if first is None or not 0 <= axis < first.rank:
            raise TypeError(f"concatenate wants arrays that have axis {axis}, got {list(types)}")
        for t in types:
            same = [m == n or a == axis for a, (m, n) in enumerate(zip(t.shape, first.shape, strict=False))]
            if t.dtype != first.dtype or t.rank != first.rank or not all(same):
                raise TypeError(f"concatenate along axis {axis} cannot join {', '.join(map(str, types))}")
        total = sum(t.shape[axis] for t in types)
        return (first.with_shape(total if a == axis else n for a, n in enumerate(first.shape)),)

    def evaluate(self, args, attrs, regions):
        return [np.concatenate(args, axis=attrs["axis"])]

    def define(self, op, reads):
        axis = op.attrs["axis"]
        parts = [(r, n) for r, a in zip(reads, op.args, strict=True) if (n := a.type.shape[axis])]
        dtype = op.results[0].type.dtype

        def value(index):
            found, end = Number(False if dtype == "bool" else 0, dtype), op.results[0].type.shape[axis]
            for read, n in reversed(parts):
                begin = end - n
                here = shifted(index[axis], -begin)
                inner = here if isinstance(here, Affine) else clipped(here, n)
                place = [*index[:axis], inner, *index[axis + 1 :]]
                found = guarded([(here, 0, n)], lambda r=read, p=place: r(p), found)
                end = begin
            return found

        return Map(value)

    def pull(self, b, op, cotangents):
        (ct,), axis, out, at = cotangents, op.attrs["axis"], [], 0
        for a in op.args:
            shape = a.type.shape
            start = tuple(at if k == axis else 0 for k in range(len(shape)))
            at += shape[axis]
            out.append(ct and slice_(b, ct, start=start, step=(1,) * len(shape), shape=shape))
        return out

    def batch(self, m):
        return m.emit(self, *map(m.wide, range(len(m.args))), axis=m.op.attrs["axis"] + 1)

    def samples(self, rng):
        x, y, z = rng.normal(size=(2, 3)), rng.normal(size=(2, 1)), rng.normal(size=(2, 0))
        return [([x, y, x], {"axis": 1}), ([x, x], {"axis": 0}), ([x, z, y], {"axis": 1})]


reshape, transpose = Reshape("reshape"), Transpose("transpose")
slice_, pad, concatenate = Slice("slice"), Pad("pad"), Concatenate("concatenate")

