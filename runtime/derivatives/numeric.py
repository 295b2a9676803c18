"""The derivative of a graph along a direction, or for one element of an input, by numbers: a complex step, or central
differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...compiler.ir.graph import Graph, Op
from ...compiler.ir.primitive import Primitive
from ...compiler.ops import elementary as F
from ...compiler.ops import elementwise as E
from ...compiler.ops import shape as S
from ...compiler.ops.contract import contract
from ...compiler.ops.convolve import correlate
from ...compiler.ops.index import check_indices, scatter_add, take
from ...compiler.ops.packs import pack, unpack
from ...compiler.ops.reduce import argmax, max_, min_, spread, sum_
from ..compiled.kernels import Reference

STEP = 1e-30
"""Of the complex step: squares of it vanish beside 1."""


class NotHolomorphic(Exception):
    """A primitive without a meaning on complex numbers."""


Tangents = Mapping[int, np.ndarray]
"""A direction: how inputs move, by their number; others stay."""


def each_element(
    rule: Callable[..., float], graph: Graph, inputs: list[np.ndarray], n: int, elements: int
) -> np.ndarray:
    """The derivative for every element of input `n`, or for some of them, spread evenly; others are masked."""
    size = inputs[n].size
    chosen = np.unique(np.linspace(0, size - 1, min(size, elements)).astype(int)) if size else []
    made = np.ma.masked_all(inputs[n].shape)
    flat, scale = made.reshape(-1), magnitude(inputs[n]).reshape(-1)
    for k in chosen:
        alone = np.zeros(size)
        alone[k] = scale[k]
        flat[k] = rule(graph, inputs, {n: alone.reshape(inputs[n].shape)}) / scale[k]
    return flat.reshape(inputs[n].shape)


def magnitude(x: np.ndarray) -> np.ndarray:
    """How far elements are moved in a direction whose coordinates are about 1: by their size, but by 1 at least."""
    return np.where(np.isfinite(x), np.maximum(1.0, np.abs(x)), 1.0)


def complex_step(graph: Graph, inputs: list[np.ndarray], tangents: Tangents) -> float:
    env: dict[Any, np.ndarray] = dict(zip(graph.params, inputs, strict=True))
    for n, tangent in tangents.items():
        moved = inputs[n].astype(complex)
        moved.imag = STEP * tangent
        env[graph.params[n]] = moved
    with np.errstate(all="ignore"):
        for op in graph.body:
            env.update(zip(op.results, _complex(op, [env[a] for a in op.args]), strict=True))
    value = env[graph.results[0]]
    return math.nan if np.isnan(np.real(value)) else float(np.imag(value) / STEP)


_HOLOMORPHIC = {
    E.add, E.sub, E.mul, E.div, E.neg, F.exp, F.exp2, F.expm1, F.log1p, F.sin, F.cos, F.tan, F.arctan, F.sinh, F.cosh,
    F.tanh, contract, correlate, sum_, spread, S.reshape, S.transpose, S.slice_, S.pad, S.concatenate, scatter_add,
    pack, unpack,
}
_REAL = {
    E.eq, E.ne, E.lt, E.le, E.gt, E.ge, E.floor, E.ceil, E.rint, E.trunc, E.sign, E.floordiv, argmax, check_indices,
}


def _where_real(x: np.ndarray, made: np.ndarray) -> np.ndarray:
    return np.where(np.real(x) < 0, np.nan, made)


def _arctan2(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The angle of the real parts, and that from there to the point."""
    a, b = np.real(y), np.real(x)
    return np.arctan2(a, b) + np.arctan((y * b - x * a) / (x * b + y * a))


_SPECIAL: dict[Primitive, Callable[..., np.ndarray]] = {
    F.log: lambda x: _where_real(x, np.log(x)),
    F.log2: lambda x: _where_real(x, np.log2(x)),
    F.log10: lambda x: _where_real(x, np.log10(x)),
    E.sqrt: lambda x: _where_real(x, np.sqrt(x)),
    F.cbrt: lambda x: np.where(np.real(x) < 0, -1, 1) * np.where(np.real(x) < 0, -x, x) ** (1 / 3),
    F.arcsin: lambda x: np.where(np.abs(np.real(x)) > 1, np.nan, np.arcsin(x)),
    F.arctan2: _arctan2,
    F.arccos: lambda x: np.where(np.abs(np.real(x)) > 1, np.nan, np.arccos(x)),
    E.abs_: lambda x: np.where(np.real(x) < 0, -x, x),
    E.maximum: lambda x, y: np.where(np.real(x) >= np.real(y), x, y),
    E.minimum: lambda x, y: np.where(np.real(x) <= np.real(y), x, y),
    E.mod: lambda x, y: x - np.floor(np.real(x) / np.real(y)) * y,
    E.select: np.where,
    F.sech2: lambda x: 1 / np.cosh(x) ** 2,
    F.sigmoid: lambda x: 1 / (1 + np.exp(-x)),
    F.softplus: lambda x: np.where(np.real(x) > 0, x, 0) + np.log1p(np.exp(np.where(np.real(x) > 0, -x, x))),
    F.gauss: lambda x: np.exp(-x * x),
}


def _complex(op: Op, args: list[np.ndarray]) -> Sequence[np.ndarray]:
    """A primitive on complex numbers whose imaginary parts are infinitesimal."""
    prim = op.prim
    if not any(np.iscomplexobj(a) for a in args):
        return prim.evaluate(args, op.attrs, op.regions)
    if prim in _HOLOMORPHIC:
        return prim.evaluate([a.astype(complex) if a.dtype.kind == "f" else a for a in args], op.attrs, op.regions)
    if prim in _SPECIAL:
        return [_SPECIAL[prim](*args)]
    if prim in _REAL:
        return prim.evaluate([np.real(a) for a in args], op.attrs, op.regions)
    if prim is take:
        return [np.take(args[0], np.real(args[1]), axis=op.attrs["axis"], mode="clip")]
    if prim is E.cast:
        whole = op.results[0].type.is_float
        return [args[0]] if whole else prim.evaluate([np.real(args[0])], op.attrs, op.regions)
    if prim in (max_, min_):
        best = prim.evaluate([np.real(args[0])], op.attrs, op.regions)[0]
        at = np.real(args[0]) == np.expand_dims(best, op.attrs["axes"])
        return [np.sum(np.where(at, args[0], 0), op.attrs["axes"]) / np.sum(at, op.attrs["axes"])]
    raise NotHolomorphic(prim.name)


def central_differences(graph: Graph, inputs: list[np.ndarray], tangents: Tangents) -> float:
    """Differences over h, h/2, h/4, h/8 extrapolated three times (Richardson)."""
    run = Reference(graph).run

    def at(h: float) -> float:
        moved = [x + h * tangents[n] if n in tangents else x for n, x in enumerate(inputs)]
        return float(run(moved)[0])

    h = 1e-2
    row = [(at(h / 2**j) - at(-h / 2**j)) / (2 * h / 2**j) for j in range(4)]
    for power in (4, 16, 64):
        row = [(power * b - a) / (power - 1) for a, b in itertools.pairwise(row)]
    return row[0]


__all__ = ["NotHolomorphic", "central_differences", "complex_step", "each_element", "magnitude"]
