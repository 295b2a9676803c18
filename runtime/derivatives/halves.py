"""A derivative cut in two: what is done once, at a point, and what is done for each tangent.

    halves = halves_of(derived, primals, tangents)
    value, aux, saved = halves.at(leaves)         the value, and the fewest bytes that the rest needs
    halves.along(tangents, saved)                 the derivative along a direction

What is saved is a minimum cut of the graph of both, as between the sweeps of a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.frontend import tree
from ...compiler.frontend.results import from_arrays, items_of, map_result
from ...compiler.ir.graph import Graph, Value
from ...compiler.passes import dead
from ...compiler.passes.cut import smallest_cut
from ...compiler.passes.pipeline import optimize
from ..compiled import kernels
from ..compiled.compiled import MISS, Compiled, Core
from ..compiled.signatures import is_native, native_spec
from .derived import Derived


class GraphParts(NamedTuple):
    """What a derivative is cut into: of the primals, and of tangents and what is saved."""

    first: Graph
    second: Graph


def parts_of(graph: Graph, moving: range, given: Sequence[int], wanted: Sequence[int]) -> GraphParts | None:
    """The parts of a graph; None where a tape goes from one to the other.

    moving   the numbers of the parameters that are tangents
    given    the results that depend on none of them
    wanted   the results along them
    """
    late: set[Value] = {graph.params[k] for k in moving}
    for op in graph.body:
        if not late.isdisjoint(op.args):
            late.update(op.results)
    results = [graph.results[k] for k in wanted]
    if any(graph.results[k] in late for k in given):
        return None
    try:
        saved = smallest_cut(graph, (), late, results)
    except AssertionError:
        return None
    tangents = [graph.params[k] for k in moving]
    second = _closed(graph, [*tangents, *saved], results)
    if second is None or any(v.type.is_tape for v in saved):
        return None
    primals = tuple([p for k, p in enumerate(graph.params) if k not in moving])
    early = tuple([op for op in graph.body if late.isdisjoint(op.results) and late.isdisjoint(op.args)])
    first = Graph(graph.name, primals, early, (*[graph.results[k] for k in given], *saved))
    return GraphParts(dead(first), second)


def _closed(graph: Graph, params: Sequence[Value], results: Sequence[Value]) -> Graph | None:
    """What makes results of these values; None if they do not suffice."""
    known, needed, body = set(params), set(results), []
    for op in reversed(graph.body):
        if any(r in needed and r not in known for r in op.results):
            body.append(op)
            needed.update(op.args)
    made = known.union(*[op.results for op in body])
    return Graph(graph.name, tuple(params), tuple(reversed(body)), tuple(results)) if needed <= made else None


class Halves:
    """The two parts, compiled; see `halves_of`."""

    def __init__(self, form: Compiled, parts: GraphParts, results: tuple[Any, Any, Any], node: Any, first: int) -> None:
        value, along, aux = results
        self.form, self.node, self.moving = form, node, range(first, first + tree.count(node))
        given = _numbers((value, aux))
        self._value = _renumbered(value, given), _renumbered(aux, given)
        self._along = _renumbered(along, _numbers((along,)))
        self._given = len(given)
        self._first = kernels.make(parts.first, parts.first.name)
        self._second = kernels.make(parts.second, parts.second.name)
        self._types = [v.type for v in parts.second.params]
        self._core: Core | None = None
        self._spec = native_spec(node)
        self._enter()

    def _enter(self) -> None:
        """Put a native entry before the second part: it takes the tangents, and then what is saved."""
        if self._spec is None or not is_native(self._along) or not kernels.has_entries(self._second):
            return
        core = Core(self._second)
        rest = [specs.ArraySpec(t.dtype, t.static_shape()) for t in self._types[len(self.moving) :]]
        kernels.install_entry(core, self._second, 0, (self._spec, *rest), self._along)
        self._core = core

    def at(self, leaves: Sequence[Any]) -> tuple[Any, Any, list[np.ndarray]]:
        """The value, what the function returns beside it, and what is saved."""
        arrays = [x for k, x in enumerate(self.form.arrays([*leaves])) if k not in self.moving]
        made = self._first.run(arrays)
        value, aux = (from_arrays(each, made) for each in self._value)
        return value, aux, made[self._given :]

    def along(self, tangents: Any, saved: Sequence[np.ndarray]) -> Any:
        """The derivative along a direction; MISS where that is not like the primals."""
        if self._core is not None and (made := self._core(tangents, *saved)) is not MISS:
            return made
        leaves: list[Any] = []
        if tree.flatten(tree.opened(tangents), leaves) != self.node:
            return MISS
        given = [np.asarray(x, t.numpy) for x, t in zip([*leaves, *saved], self._types, strict=True)]
        return from_arrays(self._along, self._second.run(given))


def _numbers(results: Sequence[Any]) -> dict[int, int]:
    """The graph's results that are used, by the order of their first use."""
    found: dict[int, int] = {}
    pending = list(reversed(results))
    while pending:
        each = pending.pop()
        items = items_of(each)
        if items is not None:
            pending.extend(reversed(items))
        elif not isinstance(each, specs.ConstantResult):
            found.setdefault(each.index, len(found))
    return found


def _renumbered(result: Any, numbers: dict[int, int]) -> Any:
    def leaf(each: Any) -> Any:
        return each if isinstance(each, specs.ConstantResult) else replace(each, index=numbers[each.index])

    return map_result(result, leaf)


def halves_of(derived: Derived, primals: tuple[Any, ...], tangents: Any) -> tuple[Halves, list[Any]] | None:
    """The parts of a function of primals and tangents that returns (value, derivative), and the leaves of this call.

    None where it cannot be cut: it was traced for the numbers of a call, or loops hand a tape from one to the other.
    """
    signature, leaves = derived.flatten((*primals, tangents), {})
    form = derived.compiled(signature, enters=False, leaves=leaves)
    if form.variants is not None or form.asks:
        return None
    if form.parts is None:
        form.parts = _made(form, derived.has_aux)
    return (form.parts, leaves) if isinstance(form.parts, Halves) else None


def _made(form: Compiled, has_aux: bool) -> Halves | bool:
    *args, _ = form.traced.signature[1]
    first, node = sum(map(tree.count, args[:-1])), args[-1]
    whole = items_of(form.result)
    assert whole is not None, "a value and a derivative are returned"
    (both, aux) = whole if has_aux else (form.result, specs.ConstantResult(None))
    value, along = both.items
    moving = range(first, first + tree.count(node))
    given, wanted = [*_numbers((value, aux))], [*_numbers((along,))]
    parts = parts_of(optimize(form.graph), moving, given, wanted)
    return False if parts is None else Halves(form, parts, (value, along, aux), node, first)


__all__ = ["GraphParts", "Halves", "halves_of", "parts_of"]
