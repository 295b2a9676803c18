"""Sums of folds that follow one another: each is added as soon as it is complete.

    s = ((p0 + p1) + p2) + ...        gradients of a weight that is used in every step of an unrolled recurrence

Added up at the end, all products would have to be kept and read again; so a running sum goes from nest to nest, and
stays in the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...ir.graph import Graph, Value
from ...loops import Form, Product, Reduce
from ...ops.elementwise import add

MANY = 3
"""Folds from which a sum of them is kept as it grows."""


def running_sums(graph: Graph, forms: Mapping[Value, Form], level: Mapping[Value, int]) -> set[Value]:
    """The sums that are worth storing: of so many folds, of which the last is made later than the others."""
    uses = Counter(a for op in graph.body for a in op.args)
    terms: dict[Value, int] = {}
    found: set[Value] = set()
    for op in graph.body:
        (value, *more) = op.results
        if more:
            continue
        if isinstance(forms[value], Reduce | Product):
            terms[value] = 1
        elif op.prim is add and value.type.shape:
            first, second = op.args
            if all(uses[a] == 1 and a in terms for a in op.args) and 1 in (terms[first], terms[second]):
                terms[value] = terms[first] + terms[second]
                if terms[value] >= MANY and level[first] != level[second]:
                    found.add(value)
    return found


__all__ = ["running_sums"]
