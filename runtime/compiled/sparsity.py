"""The pattern of a compiled function's Jacobian, and how it is shown.

    print(jit(lambda x: x[1:] * x[:-1]).sparsity(np.ones(4)))

    3 x 4, 6 entries
    ██
     ██
      ██
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.errors import message
from ...compiler.frontend.results import items_of
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph
from ...compiler.passes import dead
from ...compiler.passes.sparsity import Dense, sparsity
from .chosen import places_in
from .compiled import Content
from .signatures import place_of

WIDE, HIGH = 72, 36
"""Characters of a picture; larger patterns are shown in less detail."""

SHADES = " ░▒▓█"


class Pattern:
    """Where a Jacobian can have entries: a row for each element of the results, a column for each of the arguments.

    matrix       a SciPy csr_array of bools
    shape, nnz   its shape, and the number of its entries

    `print` shows a picture: a block is one entry, or a part of the matrix, the darker the fuller it is.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.shape, self.nnz = matrix, matrix.shape, int(matrix.nnz)

    def __repr__(self) -> str:
        return f"<pattern of {self.shape[0]} x {self.shape[1]}, {self.nnz} entries>"

    def __str__(self) -> str:
        return "\n".join([f"{self.shape[0]} x {self.shape[1]}, {self.nnz} entries", *self._picture()])

    def _picture(self) -> list[str]:
        rows, columns = self.shape
        if not rows or not columns:
            return []
        high, wide = min(rows, HIGH), min(columns, WIDE)
        entries = self.matrix.tocoo()
        filled = np.zeros((high, wide))
        np.add.at(filled, (entries.row * high // rows, entries.col * wide // columns), 1)
        part = np.outer(np.bincount(np.arange(rows) * high // rows), np.bincount(np.arange(columns) * wide // columns))
        shade = np.ceil(filled / part * (len(SHADES) - 1)).astype(int)
        return ["".join(SHADES[k] for k in row).rstrip() for row in shade]


class Found(NamedTuple):
    """What the pattern of a function is for one signature.

    matrix           a csr_array of bools
    result, given    the specifications of what the rows and the columns belong to
    rows, columns    how many elements each leaf of these has
    hidden, content  what the function reads, and what that was
    """

    matrix: Any
    result: Any
    given: list[tree.Signature]
    rows: list[int]
    columns: list[int]
    hidden: Any
    content: tuple[Any, list[Content]]

    @property
    def steady(self) -> bool:
        """Whether the function reads nothing but modules and their functions, which stay what they are."""
        lasting = (types.ModuleType, types.BuiltinFunctionType, np.ufunc, type)
        return all(isinstance(each.read(), lasting) for each in self.hidden.sources)

    def holds(self) -> bool:
        """Whether what the function reads beside its arguments is what it was, but for floats."""
        key, arrays = self.hidden.read()
        kept = self.content[1]
        if key != self.content[0] or len(arrays) != len(kept):
            return False
        return all(_is_float(array) or each.holds(array) for each, array in zip(kept, arrays, strict=True))


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.kind == "f"


def known_integers(leaves: Sequence[Any]) -> dict[int, np.ndarray]:
    """The whole numbers and truth values among the leaves of a call, which may choose elements."""
    arrays = {k: np.asarray(x) for k, x in enumerate(leaves)}
    return {k: x for k, x in arrays.items() if x.dtype.kind in "iub"}


def pattern_of(
    owner: Any, argnums: Any, signature: tree.Signature, leaves: list[Any], head: bool = False, slopes: bool = False,
    given: Callable[[tuple[int, int]], Any] = lambda shape: None,
) -> Found:
    """The pattern of a function under its plan, for the arguments `argnums`.

    head    it is that of the first of two results
    slopes  the results are like arguments, and what is static in these is in them, too
    given   the pattern of such a shape, if it need not be found
    """
    hidden = owner._scan(signature)
    key, arrays = hidden.read()
    content = (key, [Content(each) for each in arrays])
    traced = owner._trace(signature, hidden, values=leaves)
    title = f"{owner.plan.name} of {owner.__name__}"
    graph, result = owner.plan.derive(traced, owner)
    result = result.items[0] if head else result
    rows = _leaves(result)
    if slopes:
        rows = [leaf for leaf in rows if hasattr(leaf, "index")]
    places = places_in(traced.signature, owner, argnums)
    for unknown in filter(None, [tree.unregistered(place.node, place.name) for place in places]):
        verdict = f"sparse {title} needs floats; argument {unknown[0]} is {unknown[1]}"
        raise TypeError(message(verdict, place_of(owner.__wrapped__), unknown[2]))
    _check_floats(title, owner, graph, rows)
    graph = dead(Graph(graph.name, graph.params, graph.body, tuple([graph.results[leaf.index] for leaf in rows])))
    wrt = [k for place in places for k in place.leaves]
    high, wide = ([v.type.static_size() for v in values] for values in (graph.results, [graph.params[k] for k in wrt]))
    matrix = given((sum(high), sum(wide)))
    if matrix is None:
        matrix = _searched(title, owner, traced, graph, wrt, leaves)
    return Found(matrix, result, [place.node for place in places], high, wide, hidden, content)


def _check_floats(title: str, owner: Any, graph: Graph, rows: Sequence[Any]) -> None:
    for leaf in rows:
        t = graph.results[leaf.index].type if hasattr(leaf, "index") else None
        if t is None or not t.is_float:
            said = repr(leaf.value) if t is None else f"an array of {t.numpy}" if t.shape else f"a scalar of {t.numpy}"
            fix = "return floats: y.astype(float), or leave it out"
            verdict = f"sparse {title} needs floats; it returned {said}"
            raise TypeError(message(verdict, place_of(owner.__wrapped__), fix))


def _searched(
    title: str, owner: Any, traced: Trace, graph: Graph, wrt: Sequence[int], leaves: Sequence[Any]
) -> Any:
    """The pattern by the graph; TypeError where it holds for this call only, ValueError where it is too large."""
    if traced.frozen:
        what = traced.frozen[0].what
        fix = "give the pattern that holds for all calls: pattern=..."
        raise TypeError(message(f"the pattern of {title} depends on values: {what}", place_of(owner.__wrapped__), fix))
    known = known_integers(leaves)
    known |= {len(leaves) + k: np.asarray(x) for k, x in enumerate(traced.extras) if np.asarray(x).dtype.kind in "iub"}
    try:
        return sparsity(graph, wrt, {k: v for k, v in known.items() if k not in wrt})
    except Dense:
        fix = "leave out sparse=True, or give the pattern: pattern=..."
        verdict = f"the pattern of {title} has more entries than can be held"
        raise ValueError(message(verdict, place_of(owner.__wrapped__), fix)) from None


def _leaves(result: Any) -> list[Any]:
    items = items_of(result)
    if items is not None:
        return [leaf for each in items for leaf in _leaves(each)]
    return [] if getattr(result, "value", 0) is None else [result]


__all__ = ["Found", "Pattern", "known_integers", "pattern_of"]
