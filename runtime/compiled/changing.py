"""Numbers that a function reads and that have changed: from then on they are inputs of its kernel.

    K = 0.5                      the first call is compiled for 0.5
    K = 0.25                     the second trace differs in constants alone: a kernel that takes them
    K = 0.125                    a third trace, and the same kernel

Each value is traced, so what else depends on it is never missed; but it costs a trace and no compilation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Builder, Graph, Op, Value, replay
from ...compiler.ir.text import show
from ...compiler.ops.reduce import spread
from ...compiler.ops.source import const
from .compiled import Compiled


def like_before(
    traced: Trace, before: Compiled | None, variants: Mapping[Any, Compiled]
) -> tuple[Trace, Compiled | None]:
    """A trace, with constants as inputs where these alone differ from what was compiled before, which comes with it.

    That is `before`, if there is such a one, or the variant that was met last.
    """
    before = before or max(variants.values(), key=lambda each: each.met, default=None)
    if before is None or traced.frozen or before.traced.frozen:
        return traced, before
    places = before.traced.opened
    made = _opened(traced, places)
    found = None if made is None else _differing(before.traced.graph, made.graph)
    if made is None or found is None:
        return traced, None
    if found:
        kept = [k for k in range(len(traced.graph.body)) if k not in places]
        first = sum(1 for k in places if traced.graph.body[k].results[0].type.shape)  # what repeats inputs comes first
        made = _opened(traced, tuple(sorted({*places, *[kept[k - first] for k in found]})))
        assert made is not None
    return made, before


def _opened(traced: Trace, places: tuple[int, ...]) -> Trace | None:
    """The trace with constants as inputs, after its extra arrays; None where other operations stand there."""
    graph = traced.graph
    constants = [graph.body[k] if k < len(graph.body) else None for k in places]
    if not places:
        return traced
    b, numbers, values = Builder(graph.name), [], dict[Value, Value]()
    b.params = graph.params
    for op in constants:
        if op is None or op.prim is not const or not op.results[0].type.is_float:
            return None
        numbers.append(np.asarray(op.attrs["value"], op.results[0].type.numpy))
        values[op.results[0]] = b.param(op.results[0].type.with_shape(()))
    for result, given in values.items():
        if result.type.shape:
            values[result] = spread(b, given, shape=result.type.shape, axes=())

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> list[Value] | None:
        return [values[op.results[0]]] if op.results[0] in values else None

    env = replay(graph, b, graph.params, visit)
    made, extras = b.finish([env[r] for r in graph.results]), (*traced.extras, *numbers)
    return replace(traced, graph=made, extras=extras, opened=places)


def _differing(old: Graph, new: Graph) -> list[int] | None:
    """Which operations are constants of floats that differ, by number; None where the graphs differ otherwise."""
    if len(old.body) != len(new.body) or [p.type for p in old.params] != [p.type for p in new.params]:
        return None
    names, found = dict(zip(old.params, new.params, strict=True)), list[int]()
    for k, (x, y) in enumerate(zip(old.body, new.body, strict=True)):
        same = x.prim is y.prim and [names[a] for a in x.args] == list(y.args)
        if not same or [r.type for r in x.results] != [r.type for r in y.results]:
            return None
        if repr(x.attrs) != repr(y.attrs):
            if x.prim is not const or not x.results[0].type.is_float:
                return None
            found.append(k)
        if [*map(show, x.regions)] != [*map(show, y.regions)]:
            return None
        names.update(zip(x.results, y.results, strict=True))
    return found if [names[r] for r in old.results] == list(new.results) else None


__all__ = ["like_before"]
