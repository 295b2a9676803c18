"""Gathers and their transpose: elements at indices known only when the program runs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..bounds import clipped
from ..ir.primitive import ALWAYS, Effect, Primitive
from ..ir.types import Type
from ..loops import Apply, Check, Map, Number, Scatter, element
from .elementwise import add, maximum, minimum, mul
from .reduce import spread
from .shape import inverse, reshape, transpose
from .source import number
from .term import Terms


class Take(Primitive):
    """Rows of x along `axis` at integer indices; an index outside is moved to the nearest row.

    Front ends put `check_indices` before it where the user expects an IndexError.
    """

    arity = 2
    attributes: ClassVar = {"axis": "axis"}
    exact = True

    def infer(self, types, attrs, regions):
        x, indices = types
        axis = attrs["axis"]
        if not 0 <= axis < x.rank or indices.dtype != "i64":
            raise TypeError(f"take from {x} along axis {axis} wants i64 indices, got {indices}")
        if x.shape[axis] == 0 and 0 not in indices.shape:
            raise TypeError(f"take along axis {axis} of {x}, which has no elements")
        return (x.with_shape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])),)

    def evaluate(self, args, attrs, regions):
        return [np.take(args[0], args[1], axis=attrs["axis"], mode="clip")]

    def define(self, op, reads):
        axis, rank = op.attrs["axis"], op.args[1].type.rank
        size = op.args[0].type.shape[axis]

        def value(index):
            at = clipped(reads[1](index[axis : axis + rank]), size)
            return reads[0]([*index[:axis], at, *index[axis + rank :]])

        return Map(value)

    def pull(self, b, op, cotangents):
        (ct,), (x, indices) = cotangents, op.args
        if ct is None:
            return [None, None]
        zeros = number(b, 0, x.type)
        return [scatter_add(b, zeros, indices, ct, axis=op.attrs["axis"]), None]

    def batch(self, m):
        axis, rank = m.op.attrs["axis"], m.op.args[1].type.rank
        if not m.flags[1]:
            return m.emit(self, m.args[0], m.args[1], axis=axis + 1)
        if not m.flags[0]:
            (made,) = m.emit(self, m.args[0], m.args[1], axis=axis)
            return _to_front(m, made, axis)
        x, indices = _joined(m, axis)
        (made,) = m.emit(self, x, indices, axis=0)
        return m.emit(transpose, made, axes=_placed(made.type.rank, axis, rank))

    def samples(self, rng):
        x = rng.normal(size=(4, 5, 3))
        return [
            ([x.astype(d), rng.integers(0, x.shape[a], s)], {"axis": a})
            for d in ("f8", "f4", "i8")
            for a, s in ((0, (2, 3)), (1, (6,)), (2, ()), (1, (2, 0)))
        ]


class Scattered(Primitive):
    """x with rows folded into it at integer indices along `axis`: NumPy's `add.at`, `maximum.at` and `minimum.at`."""

    arity = 3
    fold: ClassVar[str]
    ufunc: ClassVar[np.ufunc]
    attributes: ClassVar = {"axis": "axis"}

    def infer(self, types, attrs, regions):
        x, indices, rows = types
        if take.infer([x, indices], attrs, regions)[0] != rows:
            raise TypeError(f"{self.name} into {x} at {indices} along axis {attrs['axis']} cannot put {rows}")
        return (x,)

    def evaluate(self, args, attrs, regions):
        x, indices, rows = args
        axis = attrs["axis"]
        out = np.moveaxis(x.copy(), axis, 0)
        last = tuple(range(axis, axis + indices.ndim))
        rows = np.moveaxis(rows, last, tuple(range(indices.ndim)))
        if indices.size:
            self.ufunc.at(out, np.clip(indices, 0, x.shape[axis] - 1), rows)
        return [np.ascontiguousarray(np.moveaxis(out, 0, axis))]

    def define(self, op, reads):
        axis, rank = op.attrs["axis"], op.args[1].type.rank
        size = op.args[0].type.shape[axis]

        def target(index):
            at = clipped(reads[1](index[axis : axis + rank]), size)
            return [*index[:axis], at, *index[axis + rank :]]

        return Scatter(op.args[2].type.static_shape(), target, reads[2], self.fold)

    def batch(self, m):
        axis, rank = m.op.attrs["axis"], m.op.args[1].type.rank
        if not m.flags[1]:
            return m.emit(self, m.wide(0), m.args[1], m.wide(2), axis=axis + 1)
        x, indices = _joined(m, axis)
        rows = m.wide(2)
        (rows,) = m.emit(transpose, rows, axes=inverse(_placed(rows.type.rank, axis, rank)))
        (made,) = m.emit(self, x, indices, rows, axis=0)
        shape = m.op.args[0].type.shape
        whole = (m.size, shape[axis], *shape[:axis], *shape[axis + 1 :])
        (made,) = m.emit(reshape, made, shape=whole)
        return m.emit(transpose, made, axes=_placed(made.type.rank, axis, 1))

    def samples(self, rng):
        made = []
        for (x, indices), attrs in take.samples(rng):
            rows = take.evaluate([x, indices], attrs, ())[0]
            rows = self._apart(rng, rows) if x.dtype.kind == "f" else rows * 2 + 1
            made.append(([x, indices, rows.astype(x.dtype)], attrs))
        return made


    def _apart(self, rng, rows):
        """Rows of which no two elements are equal, where the largest would have no derivative."""
        return (rng.permutation(rows.size).reshape(rows.shape) + 0.5) / max(rows.size, 1) * 4 - 2


class ScatterAdd(Scattered):
    """x with rows added to it at integer indices along `axis`: the transpose of take."""

    fold, ufunc = "sum", np.add

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        return [ct, None, ct and take(b, ct, op.args[1], axis=op.attrs["axis"])]


class ScatterMax(Scattered):
    """x with rows put in where they are larger; what is equal to the result shares its gradient, as in `max`."""

    fold, ufunc = "max", np.maximum

    def pull(self, b, op, cotangents):
        (ct,), (x, indices, rows), (made,) = cotangents, op.args, op.results
        if ct is None:
            return [None, None, None]
        m, axis, one = Terms(b), op.attrs["axis"], number(b, 1.0, x.type)
        equal = [_equal(m, x, made), _equal(m, rows, take(b, made, indices, axis=axis))]
        ones = [m.select(e, m(number(b, 1.0, v.type)), 0).value for e, v in zip(equal, (x, rows), strict=True)]
        many = scatter_add(b, ones[0], indices, ones[1], axis=axis)
        share = m(ct) / m.maximum(m(many), m(one))
        shared = m(take(b, share.value, indices, axis=axis))
        return [m.select(equal[0], share, 0).value, None, m.select(equal[1], shared, 0).value]


class ScatterMin(ScatterMax):
    """x with rows put in where they are smaller; what is equal to the result shares its gradient, as in `min`."""

    fold, ufunc = "min", np.minimum


class CheckIndices(Primitive):
    """The indices themselves, if all are in 0 .. size-1; else IndexError with index, axis and size.

    `wrapped` says that size has been added to negative ones; the error tells the index as it was.
    """

    arity = 1
    attributes: ClassVar = {"axis": "axis", "size": "dimension", "wrapped": "number?"}
    effect = Effect.MAY_FAIL
    again = ALWAYS

    def infer(self, types, attrs, regions):
        (t,) = types
        negative = isinstance(attrs["size"], int) and attrs["size"] < 0
        if t.dtype != "i64" or negative or attrs["axis"] < 0:
            raise TypeError(f"check_indices takes i64 indices, an axis and a size, got {t}, {dict(attrs)}")
        return (t,)

    def evaluate(self, args, attrs, regions):
        (indices,) = args
        wrong = indices[(indices < 0) | (indices >= attrs["size"])]
        if wrong.size:
            index = int(wrong.flat[0])
            index -= attrs["size"] if attrs.get("wrapped") and index < 0 else 0
            raise self.error(index, attrs["axis"], attrs["size"])
        return [indices]

    @staticmethod
    def error(index, axis, size, wrapped=False):
        """What a bad index raises, here and in native code; the facts are the attributes in order of names."""
        return IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")

    def define(self, op, reads):
        size = Number(op.attrs["size"], "i64")

        def fails(index):
            i = reads[0](index)
            below = Apply("lt", (i, Number(0, "i64")), "bool")
            return Apply("or_", (below, Apply("ge", (i, size), "bool")), "bool")

        def report(index):
            i = element(reads[0](index))
            if not op.attrs.get("wrapped"):
                return i
            below = Apply("lt", (i, Number(0, "i64")), "bool")
            return Apply("select", (below, Apply("sub", (i, size), "i64"), i), "i64")

        return Check(fails, report)

    def pull(self, b, op, cotangents):
        return [None]

    def batch(self, m):
        return m.emit(self, m.args[0], **m.op.attrs)

    def samples(self, rng):
        indices = rng.integers(0, 7, (3, 4))
        return [([indices], {"axis": 0, "size": 7}), ([indices], {"axis": 0, "size": 7, "wrapped": True})]


def _equal(m, x, made):
    """Where x is the result; a result that is NaN is any that is."""
    x, made = m(x), m(made)
    return m.or_(m.eq(x, made), m.ne(x, x)) if x.value.type.is_float else m.eq(x, made)


def _to_front(m, value, at):
    """`value` with the axis `at`, that of the lanes, in front."""
    rank = value.type.rank
    return [value] if at == 0 else m.emit(transpose, value, axes=(at, *(k for k in range(rank) if k != at)))


def _joined(m, axis):
    """x of all lanes with `axis` in front, one lane after the other, and indices that say which lane's they are."""
    x, indices = m.wide(0), m.wide(1)
    rank, size = x.type.rank, x.type.shape[axis + 1]
    order = (0, axis + 1, *(k for k in range(1, rank) if k != axis + 1))
    (x,) = m.emit(transpose, x, axes=order)
    (x,) = m.emit(reshape, x, shape=(m.size * size, *x.type.shape[2:]))
    (kept,) = m.emit(minimum, indices, m.constant(max(size - 1, 0), indices.type))
    (kept,) = m.emit(maximum, kept, m.constant(0, indices.type))
    (first,) = m.emit(mul, m.lane(), m.constant(size, Type("i64", (m.size,))))
    (first,) = m.emit(spread, first, shape=indices.type.shape, axes=(0,))
    return x, m.emit(add, kept, first)[0]


def _placed(rank, axis, indices):
    """The permutation that puts the axes of indices, which stand behind the lanes, where `axis` was."""
    rest = range(1 + indices, rank)
    return (0, *rest[:axis], *range(1, 1 + indices), *rest[axis:])


take, scatter_add = Take("take"), ScatterAdd("scatter_add")
scatter_max, scatter_min = ScatterMax("scatter_max"), ScatterMin("scatter_min")
check_indices = CheckIndices("check_indices")
