"""Sums of products over shared axes: every matrix product, inner product and einsum of two operands."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..ir.primitive import Primitive
from ..loops import Product
from . import shape

LARGEST = 1 << 22
"""Bytes of operands from which nests of loops fall behind packed blocks where vectors have 512 bits."""


class Contract(Primitive):
    """Multiply a and b and sum over the axes `left` of a paired with `right` of b.

    `batch` pairs (axis of a, axis of b) are kept together.  The result's axes are: batch, the free axes of a,
    the free axes of b, each in order.
    """

    arity = 2
    attributes: ClassVar = {"left": "axes", "right": "axes", "batch": "pairs?"}
    bounded = False

    def infer(self, types, attrs, regions):
        a, b = types
        left, right, batch = split(attrs)
        used_a = [*(p for p, _ in batch), *left]
        used_b = [*(q for _, q in batch), *right]
        legal = len(left) == len(right) and len(set(used_a)) == len(used_a)
        legal = legal and len(set(used_b)) == len(used_b) and a.dtype == b.dtype != "bool"
        legal = legal and all(0 <= i < a.rank for i in used_a) and all(0 <= i < b.rank for i in used_b)
        if not legal or any(a.shape[i] != b.shape[j] for i, j in zip(used_a, used_b, strict=True)):
            raise TypeError(f"contract cannot pair axes {left} of {a} with {right} of {b} (batch {batch})")
        kept = [a.shape[p] for p, _ in batch] + [a.shape[i] for i in free(a.rank, used_a)]
        return (a.with_shape((*kept, *(b.shape[i] for i in free(b.rank, used_b)))),)

    def evaluate(self, args, attrs, regions):
        a, b = args
        left, right, batch = split(attrs)
        name = iter(range(a.ndim + b.ndim))
        of_a, of_b = [-1] * a.ndim, [-1] * b.ndim
        for i, j in [*batch, *zip(left, right, strict=True)]:
            of_a[i] = of_b[j] = next(name)
        of_a = [next(name) if n < 0 else n for n in of_a]
        of_b = [next(name) if n < 0 else n for n in of_b]
        out = [of_a[i] for i, _ in batch]
        out += [of_a[i] for i in free(a.ndim, [*(p for p, _ in batch), *left])]
        out += [of_b[i] for i in free(b.ndim, [*(q for _, q in batch), *right])]
        return [np.einsum(a, of_a, b, of_b, out, optimize=True)]

    def define(self, op, reads):
        left, right, batch = split(op.attrs)
        return Product(batch, tuple(zip(left, right, strict=True)))

    def pull(self, b, op, cotangents):
        (ct,), (x, y) = cotangents, op.args
        if ct is None:
            return [None, None]
        left, right, batch = split(op.attrs)
        n, free_x = len(batch), free(x.type.rank, [*(p for p, _ in batch), *left])
        free_y = free(y.type.rank, [*(q for _, q in batch), *right])
        at_x = tuple(range(n, n + len(free_x)))
        at_y = tuple(range(n + len(free_x), n + len(free_x) + len(free_y)))
        of_x, of_y = tuple(p for p, _ in batch), tuple(q for _, q in batch)
        back_x = _side(b, (ct, at_y, at_x), (y, free_y, right), of_x, of_y, free_x, left)
        back_y = _side(b, (ct, at_x, at_y), (x, free_x, left), of_y, of_x, free_y, right)
        return [back_x, back_y]

    def batch(self, m):
        """The lanes are a batch where both sides have them, else free axes of one, which belong in front."""
        left, right, batch = split(m.op.attrs)
        of_a, of_b = m.flags
        attrs = {"left": tuple(i + of_a for i in left), "right": tuple(j + of_b for j in right)}
        moved = tuple((p + of_a, q + of_b) for p, q in batch)
        both = ((0, 0), *moved) if of_a and of_b else moved
        made = m.emit(self, *m.args, **attrs, **({"batch": both} if both else {}))
        rank = made[0].type.rank
        at = len(batch) if of_a else len(batch) + m.op.args[0].type.rank - len(batch) - len(left)
        if (of_a and of_b) or at == 0:
            return made
        return m.emit(shape.transpose, made[0], axes=(at, *(k for k in range(rank) if k != at)))

    def samples(self, rng):
        made = []
        for sa, sb, attrs in (
            ((3, 4), (4, 5), {"left": (1,), "right": (0,)}),
            ((4,), (4,), {"left": (0,), "right": (0,)}),
            ((3,), (2,), {"left": (), "right": ()}),
            ((2, 3, 4), (2, 4, 5), {"left": (2,), "right": (1,), "batch": ((0, 0),)}),
            ((4, 3, 2), (2, 5, 4), {"left": (0, 2), "right": (2, 0)}),
            ((3, 0), (0, 2), {"left": (1,), "right": (0,)}),
        ):
            for d in ("f8", "f4", "i4", "i8"):
                a, b = rng.normal(size=sa) * 3, rng.normal(size=sb) * 3
                made.append(([a.astype(d), b.astype(d)], attrs))
        return made


def split(attrs):
    """(left, right, batch); batch may be left out where there is none."""
    return attrs["left"], attrs["right"], attrs.get("batch", ())


def free(rank, used):
    """The axes below `rank` that are not used, in order."""
    return tuple(a for a in range(rank) if a not in used)


def _side(b, ct, other, batch, other_batch, mine, folded):
    """The cotangent of one operand, whose free axes are `mine` and folded axes `folded`.

    `ct` and `other` are (value, axes to fold, axes that stay); those that stay of `other` pair with `folded`.
    They are multiplied in the order that leaves the axes where they belong, if there is one.
    """
    (c, c_folds, _), (o, o_folds, o_stay) = ct, other
    n = len(batch)
    paired = [f for _, f in sorted(zip(o_stay, folded, strict=True))]
    first = [*batch, *mine, *paired]
    swapped = [*batch, *paired, *mine]
    if first != sorted(first) and swapped == sorted(swapped):
        return _contract(b, o, c, o_folds, c_folds, tuple(zip(other_batch, range(n), strict=True)))
    made = _contract(b, c, o, c_folds, o_folds, tuple(zip(range(n), other_batch, strict=True)))
    axes = shape.inverse(tuple(first))
    return made if first == sorted(first) else shape.transpose(b, made, axes=axes)


def _contract(b, x, y, left, right, batch):
    attrs = {"left": tuple(left), "right": tuple(right)}
    if batch:
        attrs["batch"] = batch
    return contract(b, x, y, **attrs)


contract = Contract("contract")
