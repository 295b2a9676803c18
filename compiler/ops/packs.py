"""Many values of one dtype as one vector, and a vector as many values: one operation instead of two for each of them.

    pack x, y, z                                  the elements of x, then those of y, then those of z
    unpack v {types=(f64[], f64[2], f64[])}       the values that lie in v one after the other

Each is the other's pullback. A list of 20,000 numbers that becomes an array is one operation to all that trace and
differentiate; `expand` writes it as reshapes and a concatenation, or as slices, before anything is lowered.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..ir.primitive import Primitive
from ..ir.types import Type
from .shape import concatenate, reshape, slice_
from .source import number

MANY = 64
"""Values of one dtype from which they are put together: fewer are as fast as they are."""


def _vector(types):
    """The type of what holds values of these types one after the other."""
    dtypes = {t.dtype for t in types}
    if len(dtypes) != 1 or not all(isinstance(t.size, int) and not t.is_complex and not t.is_tape for t in types):
        raise TypeError(f"values that lie in one vector have one real dtype and known sizes, got {list(types)}")
    return Type(types[0].dtype, (sum(t.size for t in types),))


def _starts(types):
    """Where each value begins, and its number of elements."""
    at = 0
    for t in types:
        yield at, t.size
        at += t.size


class Pack(Primitive):
    """The elements of all arguments, each in row-major order, one argument after the other."""

    exact = True

    def infer(self, types, attrs, regions):
        return (_vector(types),)

    def evaluate(self, args, attrs, regions):
        return [np.concatenate([np.ravel(a) for a in args])]

    def expand(self, b, op, args):
        shaped = [a if a.type.rank == 1 else reshape(b, a, shape=(a.type.size,)) for a in args]
        return [concatenate(b, *shaped, axis=0)]

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        return [None] * len(op.args) if ct is None else b.emit(unpack, ct, types=tuple([a.type for a in op.args]))

    def batch(self, m):
        sizes = [a.type.size for a in m.op.args]
        shaped = [reshape(m.b, m.wide(k), shape=(m.size, n)) for k, n in enumerate(sizes)]
        return m.emit(concatenate, *shaped, axis=1)

    def samples(self, rng):
        x, y, z = rng.normal(size=()), rng.normal(size=(2, 3)), rng.normal(size=(0,))
        return [([x, y, x], {}), ([y], {}), ([x, z, y, z], {}), ([np.int64(3), np.arange(2)], {})]


class Unpack(Primitive):
    """The values that lie in a vector one after the other."""

    arity = 1
    attributes: ClassVar = {"types": "types"}
    linear = exact = True

    def infer(self, types, attrs, regions):
        (held,), made = types, attrs["types"]
        if not made or _vector(made) != held:
            raise TypeError(f"unpack of {held} wants types that fill it, got {list(made)}")
        return made

    def evaluate(self, args, attrs, regions):
        types = attrs["types"]
        return [args[0][at : at + n].reshape(t.shape) for (at, n), t in zip(_starts(types), types, strict=True)]

    def expand(self, b, op, args):
        made = []
        for (at, n), t in zip(_starts(op.attrs["types"]), op.attrs["types"], strict=True):
            part = slice_(b, args[0], start=(at,), step=(1,), shape=(n,))
            made.append(part if t.rank == 1 else reshape(b, part, shape=t.shape))
        return made

    def pull(self, b, op, cotangents):
        if all(ct is None for ct in cotangents):
            return [None]
        given = zip(op.results, cotangents, strict=True)
        return [pack(b, *[number(b, 0, r.type) if ct is None else ct for r, ct in given])]

    def batch(self, m):
        made = []
        for (at, n), t in zip(_starts(m.op.attrs["types"]), m.op.attrs["types"], strict=True):
            part = slice_(m.b, m.args[0], start=(0, at), step=(1, 1), shape=(m.size, n))
            made.append(reshape(m.b, part, shape=(m.size, *t.shape)))
        return made

    def samples(self, rng):
        x = rng.normal(size=(7,))
        types = (Type("f64"), Type("f64", (2, 3)))
        return [([x], {"types": types}), ([x[:0]], {"types": (Type("f64", (0, 2)),)})]


pack, unpack = Pack("pack"), Unpack("unpack")

__all__ = ["MANY", "Pack", "Unpack", "pack", "unpack"]
