"""Gradients compared with numbers: the complex step where the primitives allow it, else central differences.

The reference is the graph of the function itself, in float64, under NumPy: neither the adjoint nor generated code takes
part in it. Elements are compared one by one; where one side is NaN or infinite, so must be the other.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.frontend import tree
from ..compiler.ir.graph import Graph, Op
from ..compiler.ir.primitive import Primitive
from ..compiler.ops import elementary as F
from ..compiler.ops import elementwise as E
from ..compiler.ops import shape as S
from ..compiler.ops.contract import contract
from ..compiler.ops.convolve import correlate
from ..compiler.ops.index import check_indices, scatter_add, take
from ..compiler.ops.reduce import argmax, max_, min_, spread, sum_
from ..compiler.settings import settings
from .compiled.chosen import Argnums, checked
from .compiled.derive import Gradient, Jit, has_floats, inner, value_of
from .compiled.eager import with_tensors
from .compiled.function import Function
from .compiled.kernels import Reference
from .compiled.variants import unguarded
from .derivatives.blame import first_fault, forward, kinks

STEP = 1e-30
"""Of the complex step: squares of it vanish beside 1."""


@dataclass(frozen=True)
class Report:
    """What was compared, and how far apart the worst element was.

    worst   the largest relative difference, and `ulps` the largest in units of the last place
    kinks   the operations at which the point is a kink, where what is compared is equal or a maximum is tied: there
            the gradient is one of several, and numbers may agree or not
    """

    method: str
    elements: int
    worst: float
    where: str
    ulps: float = 0.0
    kinks: tuple[str, ...] = ()

    def __str__(self) -> str:
        worst = f"the worst, {self.where}, within {self.worst:.1e}"
        kinks = f"; a kink: {', '.join(self.kinks)}" if self.kinks else ""
        return f"{self.elements} elements agree with the {self.method}; {worst}{kinks}"


class _NoComplex(Exception):
    """A primitive without a meaning on complex numbers."""


def check(
    function: Callable[..., Any],
    *args: Any,
    argnums: Argnums | None = None,
    has_aux: bool = False,
    order: int = 1,
    rtol: float | None = None,
    atol: float | None = None,
    elements: int = 256,
) -> Report:
    """Compare the gradient of a function, for all arguments of floats, with numbers; AssertionError if they differ.

    The reverse sweep is compared element by element with complex steps or differences, and along a direction with the
    forward one. The error tells the first operation whose own derivative is at fault, with its line, and kinks.

    argnums    the arguments it is for: a number or a name, or a tuple of them; all of floats, if not given
    has_aux    the function returns (value, aux), and the value is compared
    order      2 compares the gradient of the gradient, along a fixed direction
    rtol atol  an element may differ by atol + rtol * the larger of the two
    elements   of larger arrays, this many elements are compared

    >>> print(check(lambda x: x ** 3, 2.0))
    1 elements agree with the complex step; the worst, x, within 0.0e+00
    """
    if order not in (1, 2):
        raise ValueError(f"check: order is {order}, expected 1 or 2")
    function = value_of(function) if has_aux else function
    with_tensors("check", function, (), args)
    places = _places(function, args, argnums)
    rng = np.random.default_rng(7)
    scalar = _scalar(function, args, rng)
    if order == 2:
        first = Function(scalar, Gradient("grad", places, False, False))
        along = _random_like(rng, _interpreted(first, args))
        scalar = _named(lambda *a: inner(first(*a), along), function)
    return _checked(scalar, args, places, rtol, atol, elements)


def _checked(
    scalar: Callable[..., Any],
    args: tuple[Any, ...],
    places: tuple[int, ...],
    rtol: float | None,
    atol: float | None,
    elements: int,
) -> Report:
    """Compare the gradient of a function that returns a scalar."""
    slope = Function(scalar, Gradient("grad", places, False, False))
    leaves: list[Any] = []
    names = Function(scalar, Jit()).argument_names(len(args))
    signatures = [(tree.flatten(tree.opened(args[k]), leaves), names[k]) for k in places]
    labels = [path for each in signatures for path, node in tree.nodes(*each) if node[0] != "static"]
    made: list[Any] = []
    tree.flatten(tree.opened(slope(*args)), made)
    graph, inputs, wrt = _traced(scalar, args, places)
    method, reference = _reference(graph, inputs, wrt, elements)
    creased = kinks(graph, inputs, wrt)
    try:
        report = _compare(method, labels, made, reference, rtol, atol)
        _along(graph, inputs, wrt, made, rtol)
    except AssertionError as error:
        fault = first_fault(graph, inputs, wrt)
        notes = [f"the first operation at fault: {fault}"] if fault else []
        notes += [f"the point is a kink: {each}" for each in creased]
        raise AssertionError("\n  ".join([str(error), *notes])) from None
    return replace(report, kinks=creased)


def _along(
    graph: Graph, inputs: list[np.ndarray], wrt: list[int], made: list[Any], rtol: float | None
) -> None:
    """Compare the pushforward with the gradient, along a direction."""
    rng = np.random.default_rng(3)
    tangents = [rng.uniform(0.5, 1.5, inputs[n].shape) for n in wrt]
    terms = [np.asarray(g, float) * t for g, t in zip(made, tangents, strict=True)]
    by_reverse, scale = sum(np.sum(x) for x in terms), sum(np.sum(np.abs(x)) for x in terms)
    by_forward = forward(graph, inputs, wrt, tangents)
    coarse = any(np.asarray(g).dtype == np.float32 for g in made)
    relative = max(rtol or 0.0, 1e-3 if coarse else 1e-7)
    apart = abs(by_reverse - by_forward)
    if math.isfinite(apart) and apart > relative * scale + 1e-10:
        raise AssertionError(f"along a direction the pushforward gives {by_forward!r}, the gradient {by_reverse!r}")


def _places(function: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums | None) -> tuple[int, ...]:
    """The positions of the arguments that are differentiated."""
    if argnums is not None:
        owner = Function(function, Jit("check"))
        found = owner.places_of(checked("check", argnums), args[0] if args else None, len(args), ())
        return tuple([k for k in found if isinstance(k, int)])
    places = tuple(k for k, each in enumerate(args) if has_floats(each))
    if not places:
        raise TypeError("check needs an argument with floats")
    return places


def _named(made: Any, function: Any) -> Any:
    made.__name__ = getattr(function, "__name__", "function")
    with contextlib.suppress(TypeError, ValueError):
        made.__signature__ = inspect.signature(function)
    return made


def _scalar(function: Callable[..., Any], args: tuple[Any, ...], rng: np.random.Generator) -> Callable[..., Any]:
    """The function, or its inner product with a fixed cotangent if it returns more than a scalar."""
    out = _interpreted(Function(function, Jit()), args)
    if isinstance(out, (float, np.floating)) or not has_floats(out):
        return function
    cotangent = _random_like(rng, out)
    return _named(lambda *a: inner(function(*a), cotangent), function)


def _interpreted(function: Function, args: tuple[Any, ...]) -> Any:
    """What a function gives that is called once, for which compiling takes longer than running its graph."""
    with settings.override(reference=True):
        return function(*args)


def _random_like(rng: np.random.Generator, x: Any) -> Any:
    leaves: list[Any] = []
    signature = tree.flatten(tree.opened(x), leaves)
    made = [rng.uniform(0.5, 1.5, np.shape(v)).astype(np.asarray(v).dtype) for v in leaves]
    return tree.rebuild(signature, iter([v if v.shape else v.item() for v in made]))


def _reference(
    graph: Graph, inputs: list[np.ndarray], wrt: list[int], elements: int
) -> tuple[str, list[np.ndarray]]:
    """The gradient by numbers, leaf by leaf; elements that were left out are masked."""
    try:
        return "complex step", [_each(_complex_step, graph, inputs, n, elements) for n in wrt]
    except _NoComplex:
        return "central differences", [_each(_central, graph, inputs, n, elements) for n in wrt]


def _traced(
    scalar: Callable[..., Any], args: tuple[Any, ...], places: tuple[int, ...]
) -> tuple[Graph, list[np.ndarray], list[int]]:
    """The graph of the function in float64, its inputs, and the numbers of those that are differentiated."""
    wide = tuple(_in_f64(each) if k in places else each for k, each in enumerate(args))
    owner = Function(scalar, Jit(opens=places))
    signature, leaves = owner.flatten(wide, {})
    traced = owner._trace(signature, values=leaves)
    inputs = [np.asarray(v) for v in [*leaves, *map(tree.canonical, traced.extras)]]
    counts = [tree.count(node) for node in signature[1][:-1]]
    wrt = [n for k in places for n in range(sum(counts[:k]), sum(counts[: k + 1]))]
    return unguarded(traced.graph), inputs, wrt


def _in_f64(x: Any) -> Any:
    leaves: list[Any] = []
    signature = tree.flatten(tree.opened(x), leaves)
    return tree.rebuild(signature, iter([v if isinstance(v, float) else np.asarray(v, np.float64) for v in leaves]))


def _each(rule: Callable[..., float], graph: Graph, inputs: list[np.ndarray], n: int, elements: int) -> np.ndarray:
    """The derivative for every element of input `n`, or for some of them, spread evenly; others are masked."""
    size = inputs[n].size
    chosen = np.unique(np.linspace(0, size - 1, min(size, elements)).astype(int)) if size else []
    made = np.ma.masked_all(inputs[n].shape)
    flat = made.reshape(-1)
    for k in chosen:
        flat[k] = rule(graph, inputs, n, int(k))
    return flat.reshape(inputs[n].shape)


def _complex_step(graph: Graph, inputs: list[np.ndarray], n: int, k: int) -> float:
    moved = inputs[n].astype(complex)
    moved.reshape(-1)[k] += 1j * STEP
    env: dict[Any, np.ndarray] = dict(zip(graph.params, inputs, strict=True))
    env[graph.params[n]] = moved
    with np.errstate(all="ignore"):
        for op in graph.body:
            env.update(zip(op.results, _complex(op, [env[a] for a in op.args]), strict=True))
    value = env[graph.results[0]]
    return math.nan if np.isnan(np.real(value)) else float(np.imag(value) / STEP)


_HOLOMORPHIC = {
    E.add, E.sub, E.mul, E.div, E.neg, F.exp, F.exp2, F.expm1, F.log1p, F.sin, F.cos, F.tan, F.arctan, F.sinh, F.cosh,
    F.tanh, contract, correlate, sum_, spread, S.reshape, S.transpose, S.slice_, S.pad, S.concatenate, scatter_add,
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
    raise _NoComplex(prim.name)


def _central(graph: Graph, inputs: list[np.ndarray], n: int, k: int) -> float:
    """Differences over h, h/2, h/4 extrapolated twice (Richardson)."""
    run = Reference(graph).run

    def at(h: float) -> float:
        moved = inputs[n].copy()
        moved.reshape(-1)[k] += h
        return float(run([*inputs[:n], moved, *inputs[n + 1 :]])[0])

    h = 1e-2 * max(1.0, abs(float(inputs[n].reshape(-1)[k])))
    row = [(at(h / 2**j) - at(-h / 2**j)) / (2 * h / 2**j) for j in range(4)]
    for power in (4, 16, 64):
        row = [(power * b - a) / (power - 1) for a, b in itertools.pairwise(row)]
    return row[0]


def _compare(
    method: str, labels: list[str], made: list[Any], reference: list[Any], rtol: float | None, atol: float | None
) -> Report:
    count, worst, where, ulps = 0, 0.0, labels[0] if labels else "", 0.0
    for label, got, want in zip(labels, made, reference, strict=True):
        got = np.asarray(got)
        coarse = got.dtype == np.float32
        relative = rtol if rtol is not None else 1e-3 if coarse else 1e-5 if method.startswith("central") else 1e-7
        absolute = atol if atol is not None else 1e-5 if coarse else 1e-7 if method.startswith("central") else 1e-10
        for place in np.ndindex(got.shape):
            if np.ma.is_masked(want[place]):
                continue
            a, b = float(got[place]), float(want[place])
            name = label + (f"[{', '.join(map(str, place))}]" if place else "")
            if not (math.isfinite(a) and math.isfinite(b)):
                if a != b and not (math.isnan(a) and math.isnan(b)):
                    raise AssertionError(f"the gradient for {name} is {a}, the {method} gives {b}")
            elif abs(a - b) > absolute + relative * max(abs(a), abs(b)):
                apart = f"{abs(a - b):.3e} apart"
                raise AssertionError(f"the gradient for {name} is {a!r}, the {method} gives {b!r}: {apart}")
            else:
                away = abs(a - b) / max(abs(a), abs(b), 1e-300)
                worst, where = (away, name) if away > worst else (worst, where)
                ulps = max(ulps, float(abs(a - b) / np.spacing(got.dtype.type(max(abs(a), abs(b))))))
            count += 1
    return Report(method, count, worst, where, ulps)


__all__ = ["Report", "check"]
