"""Folds over axes – sum, max, min, argmax – and spread, the transpose of sum."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..ir.measure import typical
from ..ir.primitive import ALWAYS, Primitive
from ..loops import Map, Reduce
from .term import Terms


class Fold(Primitive):
    """A fold over `axes`, which disappear."""

    arity = 1
    attributes: ClassVar = {"axes": "axes"}

    def __init__(self, name, numpy):
        super().__init__(name)
        self.numpy = numpy

    def infer(self, types, attrs, regions):
        (t,), axes = types, attrs["axes"]
        if list(axes) != sorted(set(axes)) or any(not 0 <= a < t.rank for a in axes):
            raise TypeError(f"{self.name} of {t} over axes {axes}: they must be increasing axes of it")
        if t.dtype == "bool":
            raise TypeError(f"{self.name} takes numbers, got {t}; cast it first")
        if self.name != "sum" and any(t.shape[a] == 0 for a in axes):
            raise TypeError(f"{self.name} of {t} over an axis without elements")
        return (t.with_shape(n for a, n in enumerate(t.shape) if a not in axes),)

    def evaluate(self, args, attrs, regions):
        return [np.asarray(self.numpy(args[0], axis=attrs["axes"])).astype(args[0].dtype)]

    def define(self, op, reads):
        shape, axes = op.args[0].type.static_shape(), op.attrs["axes"]
        wide = [axis for axis, extent in enumerate(shape) if typical(extent) > 1]
        return Reduce(self.name, shape, axes, reads[0], chain=bool(wide) and wide[-1] not in axes)

    def batch(self, m):
        return m.emit(self, m.args[0], axes=tuple(a + 1 for a in m.op.attrs["axes"]))

    def samples(self, rng):
        x = rng.permutation(24).reshape(2, 3, 4) - 11.5
        return [
            ([x.astype(d)], {"axes": a})
            for d in ("f8", "f4", "i8", "i4")
            for a in ((0,), (2,), (0, 2), (0, 1, 2), ())
        ]


def spread_back(b, value, op):
    """`value`, of the folded shape, repeated along the axes that the fold `op` removed."""
    whole = op.args[0].type.shape
    kept = tuple(a for a in range(len(whole)) if a not in op.attrs["axes"])
    return spread(b, value, shape=whole, axes=kept)


class Spread(Primitive):
    """Repeat along new axes: axis i of the argument becomes axis `axes[i]` of `shape`."""

    arity = 1
    attributes: ClassVar = {"shape": "dimensions", "axes": "axes"}
    linear = exact = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        (t,), shape, axes = types, attrs["shape"], attrs["axes"]
        fits = len(axes) == t.rank and all(0 <= a < len(shape) for a in axes)
        if not fits or list(axes) != sorted(set(axes)):
            raise TypeError(f"spread cannot put the axes of {t} at {axes} of {shape}")
        if any(t.shape[i] != shape[a] for i, a in enumerate(axes)):
            raise TypeError(f"spread cannot make {shape} of {t} at axes {axes}")
        return (t.with_shape(shape),)

    def evaluate(self, args, attrs, regions):
        wide = [1] * len(attrs["shape"])
        for a in attrs["axes"]:
            wide[a] = attrs["shape"][a]
        return [np.broadcast_to(args[0].reshape(wide), attrs["shape"]).copy()]

    def define(self, op, reads):
        axes = op.attrs["axes"]
        return Map(lambda index: reads[0]([index[a] for a in axes]), view=True)

    def pull(self, b, op, cotangents):
        (ct,), axes = cotangents, op.attrs["axes"]
        rest = tuple(a for a in range(len(op.attrs["shape"])) if a not in axes)
        return [ct if ct is None or not rest else sum_(b, ct, axes=rest)]

    def batch(self, m):
        attrs = m.op.attrs
        return m.emit(self, m.args[0], shape=(m.size, *attrs["shape"]), axes=(0, *(a + 1 for a in attrs["axes"])))

    def samples(self, rng):
        x = rng.normal(size=(3, 4))
        return [
            ([x.astype(d)], {"shape": s, "axes": a})
            for d in ("f8", "f4", "i8", "?")
            for s, a in (((3, 2, 4), (0, 2)), ((3, 4, 2), (0, 1)), ((3, 4), (0, 1)))
        ]


class Sum(Fold):
    """The sum over `axes`; natively in 32 interleaved partial sums along the last one."""

    linear = True

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        return [ct and spread_back(b, ct, op)]


class Extremum(Fold):
    """The largest or smallest element; NaN if there is one.  Ties share the cotangent evenly, and so do NaNs."""

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        if ct is None:
            return [None]
        m, x = Terms(b), op.args[0]
        best = m.eq(m(x), m(spread_back(b, op.results[0], op)))
        best = m.or_(best, m.ne(m(x), m(x))) if x.type.is_float else best
        ties = sum_(b, m.select(best, m.number(1.0, x.type), 0).value, axes=op.attrs["axes"])
        share = spread_back(b, (m(ct) / m(ties)).value, op)
        return [m.select(best, m(share), 0).value]


class ArgMax(Primitive):
    """The first index of the largest element along `axis`, or of the first NaN."""

    arity = 1
    attributes: ClassVar = {"axis": "axis"}
    exact = True

    def infer(self, types, attrs, regions):
        (t,), axis = types, attrs["axis"]
        if not 0 <= axis < t.rank or t.shape[axis] == 0 or t.dtype == "bool":
            raise TypeError(f"argmax of {t} along axis {axis}: it must be a non-empty axis of numbers")
        return (t.with_dtype("i64").with_shape(n for a, n in enumerate(t.shape) if a != axis),)

    def evaluate(self, args, attrs, regions):
        return [np.argmax(args[0], axis=attrs["axis"]).astype(np.int64)]

    def define(self, op, reads):
        return Reduce("argmax", op.args[0].type.static_shape(), (op.attrs["axis"],), reads[0])

    def batch(self, m):
        return m.emit(self, m.args[0], axis=m.op.attrs["axis"] + 1)

    def pull(self, b, op, cotangents):
        return [None]

    def samples(self, rng):
        x = rng.integers(0, 5, (4, 37))
        nan = np.where(rng.random((4, 37)) < 0.1, np.nan, x)
        return [([x.astype(d)], {"axis": a}) for d in ("f4", "f8", "i8") for a in (0, 1)] + [
            ([nan], {"axis": 1})
        ]


spread = Spread("spread")
sum_, max_, min_ = Sum("sum", np.sum), Extremum("max", np.max), Extremum("min", np.min)
argmax = ArgMax("argmax")
