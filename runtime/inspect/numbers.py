"""A graph and its inputs in, the values of its operations and their cotangents out, as short texts for a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...compiler.ir.graph import Builder, Graph, Op, Value, evaluate, replay
from ...compiler.ops.elementwise import add
from ...compiler.passes import adjoint
from ..derivatives.blame import MOST as LONGEST
from ..derivatives.blame import Step, Walk

FEW = 4
"""Numbers of an array that are spelled out; of others, their range is told."""

MOST, MOST_BYTES = 20_000, 2**28
"""Operations, and bytes of their values, beyond which no cotangents are looked for."""


def values_of(graph: Graph, inputs: Sequence[np.ndarray]) -> dict[Value, str]:
    """What each operation gave when it ran last, in regions too, in a few words."""
    found: dict[Value, str] = {}
    with np.errstate(all="ignore"):
        steps = Walk(every=True).graph(graph, inputs, [True] * len(graph.params))
        for each in itertools.islice(steps, LONGEST):
            made = zip(each.op.results, each.results, strict=True) if isinstance(each, Step) else ()
            found.update((v, shown(x)) for v, x in made if not v.type.is_tape)
    return found


def cotangents_of(graph: Graph, inputs: Sequence[np.ndarray]) -> dict[Value, str]:
    """The derivative of the sum of the results for each float value, in a few words.

    Numbers that are zero are added to the values, and it is the derivative for these.
    """
    values = [r for op in graph.body for r in op.results if r.type.is_float]
    floats = [r for r in graph.results if r.type.is_float]
    if not floats or not values or len(graph.body) > MOST or sum(map(_bytes, values)) > MOST_BYTES:
        return {}
    b = Builder(graph.name, [p.type for p in graph.params])
    moved = {v: b.param(v.type) for v in values}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value]:
        made = b.emit(op.prim, *args, regions=op.regions, **op.attrs)
        return [add(b, m, moved[r]) if r in moved else m for r, m in zip(op.results, made, strict=True)]

    env = replay(graph, b, b.params[: len(graph.params)], visit)
    results = [env[r] for r in floats]
    first = len(graph.params)
    back = adjoint(b.finish(results), range(first, first + len(values)))
    zeros = [np.zeros(v.type.static_shape(), v.type.numpy) for v in values]
    ones = [np.ones(r.type.static_shape(), r.type.numpy) for r in floats]
    try:
        made = evaluate(back, [*inputs, *zeros, *ones])[len(results) :]
    except (ArithmeticError, ValueError, TypeError, np.linalg.LinAlgError):
        return {}  # what is refused or raised there is no matter of looking at values
    return {v: shown(x) for v, x in zip(values, made, strict=True)}


def _bytes(value: Value) -> int:
    return math.prod(value.type.static_shape()) * value.type.numpy.itemsize


def told(values: Mapping[Value, str], op: Op) -> str:
    """The results of an operation in a few words."""
    return ", ".join(values[r] for r in op.results if r in values)


def shown(value: Any) -> str:
    """An array in a few words."""
    x = np.asarray(value)
    if x.ndim == 0:
        return f"{x:.6g}" if x.dtype.kind == "f" else str(x)
    if x.size <= FEW:
        return " ".join(f"{e:.4g}" for e in x.reshape(-1))
    if x.dtype.kind != "f":
        return f"{x.min()} .. {x.max()}"
    good = x[np.isfinite(x)]
    bad = x.size - good.size
    text = f"{good.min():.4g} .. {good.max():.4g}, mean {good.mean():.4g}" if good.size else ""
    return f"{text}{', ' if text and bad else ''}{f'{bad} not finite' if bad else ''}"


__all__ = ["cotangents_of", "shown", "told", "values_of"]
