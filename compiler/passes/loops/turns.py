"""Products that are transposed are made the other way round.

    %p: f32[64,10] = contract %x, %g {left=(0,), right=(0,)}        %p: f32[10,64] = contract %g, %x {left=(0,), ...
    %s: f32[64,10] = add %p, %q                                becomes  %s: f32[10,64] = add %p, %q
    %t: f32[10,64] = transpose %s {axes=(1, 0)}

The gradient of a layer's weight is such a product, and over the steps of a recurrence a sum of them.  Both orders of
the operands give the same bits where both are wide: each element is summed in order of the folded axis.
"""

from __future__ import annotations

import math
from collections import Counter

from ...ir.graph import Builder, Graph, Op, Value, rewrite
from ...ops.contract import contract, free, split
from ...ops.elementwise import add
from ...ops.shape import transpose
from ..cleanup import inside

WIDE = 8
"""Rows and columns from which the elements of a product are summed one after the other, whichever are the rows."""


def turned(graph: Graph) -> Graph:
    """The graph without the transposes of products and of sums of products that nothing else reads."""
    made = _turning(graph)

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if op.regions:
            return inside(b, op, args, turned)
        if op.prim is transpose and op.args[0] in made:
            return args
        if op.results[0] not in made:
            return None
        if op.prim is add:
            return (add(b, *args),)
        left, right, batch = split(op.attrs)
        attrs = {"left": right, "right": left}
        if batch:
            attrs["batch"] = tuple((q, p) for p, q in batch)
        return (contract(b, args[1], args[0], **attrs),)

    return rewrite(graph, visit) if made or any(op.regions for op in graph.body) else graph


def _turning(graph: Graph) -> set[Value]:
    """The values that are better made transposed: all they are made of can be, and nothing else reads it."""
    uses = Counter(a for op in graph.body for a in op.args)
    uses.update(graph.results)
    ways: dict[Value, tuple[int, ...]] = {}
    made: dict[Value, Op] = {}
    for op in graph.body:
        if op.prim is contract:
            way = _way(op)
        elif op.prim is add:
            first, second = (ways.get(a) if uses[a] == op.args.count(a) else None for a in op.args)
            way = first if first == second else None
        else:
            continue
        if way is not None:
            ways[op.results[0]], made[op.results[0]] = way, op
    wanted: set[Value] = set()
    pending = [
        op.args[0]
        for op in graph.body
        if op.prim is transpose and uses[op.args[0]] == 1 and ways.get(op.args[0]) == op.attrs["axes"]
    ]
    while pending:
        value = pending.pop()
        wanted.add(value)
        if made[value].prim is add:
            pending += set(made[value].args) - wanted
    return wanted


def _way(op: Op) -> tuple[int, ...] | None:
    """The order of a product's axes if its operands are exchanged; None if its bits might be others."""
    left, right, batch = split(op.attrs)
    if not op.results[0].type.is_float or any(not isinstance(n, int) for v in op.args for n in v.type.shape):
        return None
    a, b = (v.type.static_shape() for v in op.args)
    rows = free(len(a), [*(p for p, _ in batch), *left])
    columns = free(len(b), [*(q for _, q in batch), *right])
    if math.prod(a[k] for k in rows) < WIDE or math.prod(b[k] for k in columns) < WIDE:
        return None
    n, m = len(batch), len(rows)
    return (*range(n), *range(n + m, n + m + len(columns)), *range(n, n + m))


__all__ = ["turned"]
