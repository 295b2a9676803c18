"""Contractions as matrix products: which ones are called from the BLAS, and how their operands lie in memory."""

from __future__ import annotations

import math

from ..ir.graph import Op, Value
from ..loops import Buffer
from ..ops.contract import free, split
from .program import Matrix, Multiply

#: multiplications below which a call costs more than it saves
SMALLEST = 8192


def sizes(op: Op) -> tuple[int, int, int, int]:
    """(batch, m, n, k) of a contraction as a matrix product."""
    left, right, batch = split(op.attrs)
    a, b = (v.type.static_shape() for v in op.args)
    k = math.prod(a[i] for i in left)
    m = math.prod(a[i] for i in free(len(a), [*left, *(p for p, _ in batch)]))
    n = math.prod(b[j] for j in free(len(b), [*right, *(q for _, q in batch)]))
    return math.prod(a[p] for p, _ in batch), m, n, k


def for_blas(op: Op) -> bool:
    """Whether a contraction is large enough for a call, of a kind the BLAS has, and lies as a matrix."""
    if op.prim.name != "contract" or not op.args[0].type.is_float:
        return False
    batch, m, n, k = sizes(op)
    if min(m, n) < 4 or m * n * k < SMALLEST or batch == 0:
        return False
    return all(matrix(op, side) is not None for side in (0, 1))


def matrix(op: Op, side: int) -> bool | None:
    """Whether operand `side` lies transposed; None if it does not lie as a batch of matrices at all.

    The left operand is m x k where it is not transposed, the right one k x n.
    """
    left, right, batch = split(op.attrs)
    value = op.args[side]
    rank = value.type.rank
    batch_axes = [pair[side] for pair in batch]
    folded = list((left, right)[side])
    rest = list(free(rank, [*batch_axes, *folded]))
    inner = list(range(len(batch), rank))
    if batch_axes != list(range(len(batch))):
        return None
    if inner == rest + folded:
        return side == 1
    return side == 0 if inner == folded + rest else None


def multiply(op: Op, buffers: dict[Value, Buffer]) -> Multiply:
    """The call that makes a contraction for which `for_blas` holds."""
    batch, m, n, k = sizes(op)
    lies = [matrix(op, 0), matrix(op, 1)]
    left = Matrix(buffers[op.args[0]], bool(lies[0]), m if lies[0] else k, m * k)
    right = Matrix(buffers[op.args[1]], bool(lies[1]), k if lies[1] else n, k * n)
    out = Matrix(buffers[op.results[0]], False, n, m * n)
    return Multiply(left, right, out, m, n, k, batch)
