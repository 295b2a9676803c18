"""Contractions as matrix products: which ones are called from the BLAS, and how their operands lie in memory.

A nest of its own reads its operands where they lie, in tiles that fill the registers.  One layout is too slow for
that: where neighbours of the right operand are folded, not kept, each vector would be gathered again for every tile
of rows.  There the operand is stored once in the other order, before the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...ir.graph import Builder, Graph, Op, Value, rewrite
from ...ir.measure import typical
from ...loops import Buffer
from ...ops.contract import contract, free, split
from ...ops.convolve import correlate
from ...ops.shape import inverse, transpose
from ..program import Matrix, Multiply

#: rows of the left operand from which the right one is worth storing in another order
ROWS = 8
#: products with a vector up to which they are summed one after the other
CHAIN = 1 << 15


def sizes(op: Op) -> tuple[int, int, int, int]:
    """(batch, m, n, k) of a contraction as a matrix product."""
    left, right, batch = split(op.attrs)
    a, b = (v.type.static_shape() for v in op.args)
    k = math.prod(a[i] for i in left)
    m = math.prod(a[i] for i in free(len(a), [*left, *(p for p, _ in batch)]))
    n = math.prod(b[j] for j in free(len(b), [*right, *(q for _, q in batch)]))
    return math.prod(a[p] for p, _ in batch), m, n, k


def called_from(least: int) -> Callable[[Op], bool]:
    """Whether a contraction is of a kind the BLAS has, lies as a matrix, and has at least so many bytes of operands.

    With 0 none is.
    """

    def large(op: Op) -> bool:
        if not least or op.prim is not contract or not op.args[0].type.is_float:
            return False
        batch, m, n, k = sizes(op)
        if m < 4 or n < 4 or batch == 0 or (m + n) * k * op.args[0].type.numpy.itemsize < least:
            return False
        return all(matrix(op, side) is not None for side in (0, 1))

    return large


def in_rows(graph: Graph, blas: Callable[[Op], bool]) -> tuple[Graph, set[Value]]:
    """The graph with right operands of products in an order that tiles can read, and what is to be stored for it."""
    stored: set[Value] = set()
    known: dict[tuple[Value, tuple[int, ...]], Value] = {}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> list[Value] | None:
        if op.prim is correlate and _has_rows(op):
            rank = op.args[1].type.rank
            order = (0, *range(2, rank), 1)
            if (args[1], order) not in known:
                known[args[1], order] = transpose(b, args[1], axes=order)
                stored.add(known[args[1], order])
            rows = transpose(b, known[args[1], order], axes=inverse(order))
            return [correlate(b, args[0], rows, **op.attrs)]
        if op.prim is not contract or blas(op) or not _folds_neighbours(op):
            return None
        left, right, batch = split(op.attrs)
        rank, shared = op.args[1].type.rank, [q for _, q in batch]
        order = (*shared, *right, *free(rank, [*shared, *right]))
        if (args[1], order) not in known:
            known[args[1], order] = transpose(b, args[1], axes=order)
            stored.add(known[args[1], order])
        n = len(batch)
        attrs = {"left": left, "right": tuple(range(n, n + len(right)))}
        if batch:
            attrs["batch"] = tuple((p, k) for k, (p, _) in enumerate(batch))
        return [contract(b, args[0], known[args[1], order], **attrs)]

    return rewrite(graph, visit), stored


def _has_rows(op: Op) -> bool:
    """Whether a correlation makes enough outputs to be the lanes of vectors: each element of x then serves them all."""
    shape = [typical(n) for n in op.results[0].type.static_shape()]
    return shape[2] >= ROWS and math.prod(shape) >= ROWS * shape[2]


def _folds_neighbours(op: Op) -> bool:
    _, m, n, _ = map(typical, sizes(op))
    return m >= ROWS and n >= 4 and _lies_folded(op, 1)


def _lies_folded(op: Op, side: int) -> bool:
    """Whether neighbours of an operand are folded."""
    wide = [axis for axis, extent in enumerate(op.args[side].type.static_shape()) if typical(extent) > 1]
    return bool(wide) and wide[-1] in split(op.attrs)[side]


def is_chain(op: Op) -> bool:
    """Whether a product sums one element after the other: columns are then the lanes, and not what is folded.

    Products with a vector are trees where the matrix's neighbours are folded, or where a chain would lose digits, and
    so are those of a few rows with an operand whose neighbours are folded.
    """
    _, m, n, k = map(typical, sizes(op))
    if n == 1:
        return m >= ROWS and k <= CHAIN and not _lies_folded(op, 0)
    return m >= ROWS or not _lies_folded(op, 1)


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
    """The call that makes a contraction that is large enough."""
    batch, m, n, k = sizes(op)
    lies = [matrix(op, 0), matrix(op, 1)]
    left = Matrix(buffers[op.args[0]], bool(lies[0]), m if lies[0] else k, m * k)
    right = Matrix(buffers[op.args[1]], bool(lies[1]), k if lies[1] else n, k * n)
    out = Matrix(buffers[op.results[0]], False, n, m * n)
    return Multiply(left, right, out, m, n, k, batch)
