"""Reverse mode: from a graph to the graph of its pullback.

The adjoint of a graph is a graph, made of the same primitives, so it can be differentiated again.  A missing
cotangent is None, never an array of zeros.

A value that is used only where a mask holds gets a cotangent that is zero elsewhere, even where its local
derivative is infinite or NaN: the mask travels with the cotangent, and the local derivative is taken at a safe
argument outside it.  Multiplying a zero by an infinity is thereby avoided at every order, which a rule "zero
times anything is zero" would not do: its own derivative with respect to the cotangent would be wrong at zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..ir.graph import Builder, Graph, Op, Value, Where
from ..ir.types import Type
from ..ops.control import call
from ..ops.elementwise import Elementwise, add, cast, ne, or_, select
from ..ops.source import number
from .cleanup import dead


class Cotangent(NamedTuple):
    """A cotangent and, unless None, where it can differ from zero."""

    value: Value
    mask: Value | None


def adjoint(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The joint graph of `graph` and its pullback with respect to the parameters numbered `wrt`.

    Its parameters are those of `graph` and a cotangent for each float result; its results are those of
    `graph` and a cotangent for each of `wrt` (zeros where nothing depends on it).
    """
    b = _continued(graph, "_adjoint")
    seeds = [(r, b.param(r.type, "ct")) for r in graph.results if r.type.is_float]
    sources = [b.params[k] for k in wrt]
    return dead(b.finish([*graph.results, *_filled(b, graph, sources, seeds)]))


def value_and_grad(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The results of `graph` and the gradient of the first, a float scalar, for each parameter in `wrt`."""
    first = graph.results[0].type
    if not first.is_float or first.shape:
        raise TypeError(f"@{graph.name} returns {first}; a gradient needs a float scalar")
    b = _continued(graph, "_grad")
    b.where = _last_line(graph)
    seeds = [(graph.results[0], number(b, 1.0, first))]
    sources = [b.params[k] for k in wrt]
    return dead(b.finish([*graph.results, *_filled(b, graph, sources, seeds)]))


def _continued(graph: Graph, suffix: str) -> Builder:
    """A builder that holds all of `graph`, and shares its values."""
    b = Builder(graph.name + suffix)
    b.params, b.body = graph.params, list(graph.body)
    return b


def _last_line(graph: Graph) -> Where | None:
    """Where the graph's last operation was written: the line of what has no line of its own."""
    return graph.body[-1].where if graph.body else None


def _filled(b: Builder, graph: Graph, sources: list[Value], seeds: list[tuple[Value, Value]]) -> list[Value]:
    made = pull_back(b, sources, seeds)
    b.where = _last_line(graph)
    return [number(b, 0, s.type) if c is None else c for s, c in zip(sources, made, strict=True)]


def pull_back(
    b: Builder, sources: Sequence[Value], seeds: Iterable[tuple[Value, Value]]
) -> list[Value | None]:
    """Emit the pullback of what `b` holds so far: from pairs (result, its cotangent) to the sources' cotangents."""
    body = list(b.body)
    active = _active(body, sources)
    found: dict[Value, Cotangent] = {}

    def give(value: Value, ct: Value | None, mask: Value | None) -> None:
        if ct is None or value not in active:
            return
        have = found.get(value)
        if have is None:
            found[value] = Cotangent(ct, mask)
            return
        if have.mask is None or mask is None:
            mask = None
        elif have.mask is not mask:
            mask = or_(b, have.mask, mask)
        found[value] = Cotangent(add(b, have.value, ct), mask)

    for value, ct in seeds:
        give(value, ct, None)
    wanted = set(sources)
    for op in reversed(body):
        cts = [(found.get if r in wanted else found.pop)(r, None) for r in op.results]
        if any(cts):
            b.where = op.where
            for argument, ct, mask in _pull(b, op, cts, active):
                give(argument, ct, mask)
    b.where = None
    return [found[s].value if s in found else None for s in sources]


def _active(body: Iterable[Op], sources: Iterable[Value]) -> set[Value]:
    """The float values that depend on a float source."""
    active = {s for s in sources if s.type.is_float}
    for op in body:
        if any(a in active for a in op.args):
            active.update(r for r in op.results if r.type.is_float)
    return active


def _pull(b, op, cts, active):
    """(argument, cotangent, mask) for every argument of `op`."""
    if op.prim is call:
        pulled = _pull_call(b, op, [c and c.value for c in cts], active)
        return [(a, ct, None) for a, ct in zip(op.args, pulled, strict=True)]
    mask = cts[0].mask if len(cts) == 1 and cts[0] else None
    local = op if mask is None or op.prim.bounded else _guard(b, op, mask)
    pulled = op.prim.pull(b, local, [c and c.value for c in cts])
    return zip(op.args, pulled, _masks(b, op, mask), strict=True)


def _guard(b: Builder, op: Op, mask: Value) -> Op:
    """`op` with safe arguments, and the results they have, wherever `mask` does not hold."""
    if not isinstance(op.prim, Elementwise):  # a mask of the result says nothing about arguments of other elements
        return op
    prim = op.prim
    safe = [np.array(prim.safe, a.type.numpy) for a in op.args]
    results = prim.evaluate(safe, op.attrs, ())

    def keep(value, other):
        return select(b, mask, value, number(b, np.asarray(other).item(), value.type))

    return Op(
        prim,
        tuple(keep(a, s) for a, s in zip(op.args, safe, strict=True)),
        op.attrs,
        op.regions,
        tuple(keep(r, s) for r, s in zip(op.results, results, strict=True)),
        op.where,
    )


def _masks(b: Builder, op: Op, mask: Value | None) -> Sequence[Value | None]:
    """Where the arguments' cotangents can differ from zero, as far as it is known."""
    if mask is None:
        if not op.prim.hides:
            return [None] * len(op.args)
        mask = number(b, True, Type("bool", op.results[0].type.shape))
    if op.prim.linear:
        as_float = cast(b, mask, dtype=op.results[0].type.dtype)
        (pulled, *rest) = op.prim.pull(b, op, [as_float])
        if pulled is None:
            return [None] * len(op.args)
        return [ne(b, pulled, number(b, 0, pulled.type)), *([None] * len(rest))]
    return op.prim.masks(b, op, mask)


def _pull_call(b, op, cts, active):
    """A call pulls back into a call of the region's adjoint."""
    (region,) = op.regions
    wrt = [k for k, a in enumerate(op.args) if a in active]
    joint = adjoint(region, wrt)
    back = Graph(joint.name, joint.params, joint.body, joint.results[len(region.results) :])
    floats = [(r, c) for r, c in zip(op.results, cts, strict=True) if r.type.is_float]
    given = [number(b, 0, r.type) if c is None else c for r, c in floats]
    made = dict(zip(wrt, b.emit(call, *op.args, *given, regions=(back,)), strict=True))
    return [made.get(k) for k in range(len(op.args))]


__all__ = ["adjoint", "pull_back", "value_and_grad"]
