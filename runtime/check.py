"""Gradients compared with numbers: the complex step where the primitives allow it, else central differences.

The reference is the graph of the function itself, in float64, under NumPy: neither the adjoint nor generated code takes
part in it. Elements are compared one by one; where one side is NaN or infinite, so must be the other.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..compiler.frontend import tree
from ..compiler.ir.graph import Graph
from ..compiler.settings import settings
from .compiled.chosen import Argnums, checked
from .compiled.derive import Gradient, Jit, has_floats, inner, value_of
from .compiled.eager import with_tensors
from .compiled.function import Function
from .compiled.tracebacks import boundary
from .compiled.variants import unguarded
from .derivatives.blame import first_fault, forward, kinks
from .derivatives.exact import NotExact, exact_differences
from .derivatives.numeric import NotHolomorphic, central_differences, complex_step, each_element, magnitude


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
        kinks = f"; a kink: {', '.join(self.kinks)}" if self.kinks else ""
        if not self.elements:
            return f"the gradient agrees with {_the(self.method)} along a direction{kinks}"
        worst = f"the worst, {self.where}, within {self.worst:.1e}"
        return f"{self.elements} elements agree with {_the(self.method)}; {worst}{kinks}"


METHODS: dict[str, Callable[..., float]] = {
    "complex step": complex_step, "central differences": central_differences, "mpmath": exact_differences,
}
"""What a gradient is compared with.  Each takes a graph, its inputs and a direction."""


class _How(NamedTuple):
    """What `check` was told."""

    rtol: float | None
    atol: float | None
    elements: int
    method: str | None


def _the(method: str | None) -> str:
    return "mpmath" if method == "mpmath" else f"the {method}"


@boundary
def check(
    function: Callable[..., Any],
    *args: Any,
    argnums: Argnums | None = None,
    has_aux: bool = False,
    order: int = 1,
    rtol: float | None = None,
    atol: float | None = None,
    elements: int = 256,
    method: str | None = None,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Report:
    """Compare the gradient of a function, for all arguments of floats, with numbers; AssertionError if they differ.

    The reverse sweep is compared element by element with complex steps or differences, and along a direction with the
    forward one; `elements=0` compares all of them along that direction only, which takes a few evaluations. The error
    tells the first operation whose own derivative is at fault, with its line, and kinks.

    argnums    the arguments it is for: a number or a name, or a tuple of them; all of floats, if not given
    has_aux    the function returns (value, aux), and the value is compared
    order      2 compares the gradient of the gradient too, along a fixed direction
    static_argnums, static_argnames
               arguments whose values decide how the program looks; see `grad`
    rtol atol  an element may differ by atol + rtol * the larger of the two
    elements   of larger arrays, this many elements are compared, and the rest along one direction
    method     "complex step", "central differences" or "mpmath": differences of the same graph in numbers of 60 digits,
               which are exact, so that `ulps` is the gradient's own error; slow, and not for linear algebra or Fourier
               transforms. None takes the first, or the second where that cannot be

    A sparse Jacobian or Hessian is compared at this point with numbers for the function that it is of, so that an entry
    which a pattern that was given misses is an error, wherever it is not zero. It has its own argnums, has_aux and
    static arguments.

    >>> print(check(lambda x: x ** 3, 2.0))
    1 elements agree with the complex step; the worst, x, within 0.0e+00
    """
    if order not in (1, 2):
        raise ValueError(f"check: order is {order}, expected 1 or 2")
    if method not in (None, *METHODS):
        raise ValueError(f"check: method is {method!r}, expected None or one of {', '.join(map(repr, METHODS))}")
    how = _How(rtol, atol, elements, method)
    if hasattr(type(function), "__pullback_dense__"):
        return _checked_sparse(function, args, how)
    function = value_of(function) if has_aux else function
    function, args, argnums = _without_statics(function, args, argnums, static_argnums, static_argnames)
    with_tensors("check", function, (), args)
    places = _places(function, args, argnums)
    rng = np.random.default_rng(7)
    scalar, _ = _scalar(function, args, rng)
    slope = Function(scalar, Gradient("grad", places, has_aux=False, with_value=False))
    if order == 1:
        return _checked(scalar, args, places, slope(*args), how)
    along = _random_like(rng, _interpreted(slope, args))
    along_and_slope = _named(lambda *a: (inner(first := slope(*a), along), first), function)
    second, first = Function(along_and_slope, Gradient("grad", places, has_aux=True, with_value=False))(*args)
    return _joined([
        _checked(scalar, args, places, first, how),
        _checked(value_of(along_and_slope), args, places, second, how),
    ])


def _checked_sparse(sparse: Any, args: tuple[Any, ...], how: _How) -> Report:
    """Compare the transposed product of a sparse derivative and a fixed cotangent with numbers."""
    function, argnums, statics, matrix, shapes = sparse.__pullback_dense__(args)
    function, args, argnums = _without_statics(function, args, argnums, *statics)
    places = _places(function, args, argnums)
    scalar, cotangent = _scalar(function, args, np.random.default_rng(7))
    leaves: list[Any] = []
    tree.flatten(tree.opened(cotangent), leaves)
    product = matrix.T @ np.concatenate([np.ravel(x) for x in leaves])
    parts = np.split(product, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    made = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    try:
        return _checked(scalar, args, places, made, how)
    except AssertionError as error:
        said = f"this is a column of a sparse matrix of {matrix.nnz} entries, whose pattern may miss one there"
        raise AssertionError(f"{error}\n  {said}") from None


def _without_statics(
    function: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums | None, numbers: Any, names: Any
) -> tuple[Callable[..., Any], tuple[Any, ...], Argnums | None]:
    """A function of the arguments that are not static, these arguments, and their numbers among them."""
    owner = Function(function, Jit("check"), numbers, names)
    static = [k for k in range(len(args)) if k in owner._static]
    if not static:
        return function, args, argnums
    own = [k for k in range(len(args)) if k not in static]

    def fixed(*given: Any) -> Any:
        whole = list(args)
        for k, x in zip(own, given, strict=True):
            whole[k] = x
        return function(*whole)

    known = [n if n.isidentifier() else f"argument_{k}" for k, n in enumerate(owner.argument_names(len(args)))]  # x[1]
    _named(fixed, function)
    fixed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(known[k], inspect.Parameter.POSITIONAL_ONLY) for k in own])
    if argnums is None:
        return fixed, tuple([args[k] for k in own]), None
    found = owner.places_of(checked("check", argnums), args[0], len(args), ())
    for k in found:
        if k in static:
            raise ValueError(f"check of {owner.__name__}: argument {k} is differentiated and static: choose one")
    chosen = tuple([own.index(k) for k in found if isinstance(k, int)])
    return fixed, tuple([args[k] for k in own]), chosen if isinstance(argnums, (tuple, list)) else chosen[0]


def _joined(reports: list[Report]) -> Report:
    """One report of several, with what was the worst in any."""
    worst = max(reports, key=lambda each: each.worst)
    kinks = tuple(dict.fromkeys(kink for each in reports for kink in each.kinks))
    ulps, elements = max(each.ulps for each in reports), sum(each.elements for each in reports)
    return replace(worst, elements=elements, ulps=ulps, kinks=kinks)


def _checked(
    scalar: Callable[..., Any], args: tuple[Any, ...], places: tuple[int, ...], made: Any, how: _How
) -> Report:
    """Compare the gradient of a function that returns a scalar with numbers, given that gradient."""
    leaves: list[Any] = []
    names = Function(scalar, Jit()).argument_names(len(args))
    signatures = [(tree.flatten(tree.opened(args[k]), leaves), names[k]) for k in places]
    labels = [path for each in signatures for path, node in tree.nodes(*each) if node[0] != "static"]
    slopes: list[Any] = []
    tree.flatten(tree.opened(made), slopes)
    graph, inputs, wrt = _traced(scalar, args, places)
    method, rule = (how.method, METHODS[how.method]) if how.method else _numeric(graph, inputs, wrt)
    creased = kinks(graph, inputs, wrt)
    try:
        reference = [each_element(rule, graph, inputs, n, how.elements) for n in wrt]
        report = _compare(method, labels, slopes, reference, how)
        by: dict[str, Callable[[list[np.ndarray]], float]] = {"pushforward": partial(forward, graph, inputs, wrt)}
        if any(np.ma.is_masked(each) for each in reference):  # what was left out is seen along the direction
            by[method] = lambda tangents: rule(graph, inputs, dict(zip(wrt, tangents, strict=True)))
        _along(by, [inputs[n] for n in wrt], slopes, how.rtol)
    except (NotExact, NotHolomorphic) as error:
        raise NotImplementedError(f"check: {_the(method)} has no meaning for {error}: leave method out") from None
    except AssertionError as error:
        fault = first_fault(graph, inputs, wrt)
        notes = [f"the first operation at fault: {fault}"] if fault else []
        notes += [f"the point is a kink: {each}" for each in creased]
        raise AssertionError("\n  ".join([str(error), *notes])) from None
    return replace(report, kinks=creased)


def _along(
    by: dict[str, Callable[[list[np.ndarray]], float]], at: list[np.ndarray], made: list[Any], rtol: float | None
) -> None:
    """Compare what the gradient gives along a direction with what others give."""
    rng = np.random.default_rng(3)
    tangents = [rng.uniform(0.25, 1.0, x.shape) * rng.choice([-1.0, 1.0], x.shape) * magnitude(x) for x in at]
    terms = [np.asarray(g, float) * t for g, t in zip(made, tangents, strict=True)]
    by_reverse, scale = float(sum(np.sum(x) for x in terms)), sum(np.sum(np.abs(x)) for x in terms)
    for method, slope in by.items():
        close = (1e-5, 1e-7) if method.startswith("central") else (1e-7, 1e-10)
        relative = max(rtol or 0.0, *[COARSE.get(np.asarray(g).dtype, close)[0] for g in made])
        other = slope(tangents)
        finite = math.isfinite(by_reverse)
        if finite != math.isfinite(other) or (finite and abs(by_reverse - other) > relative * scale + close[1]):
            raise AssertionError(f"along a direction {_the(method)} gives {other!r}, the gradient {by_reverse!r}")


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


def _scalar(
    function: Callable[..., Any], args: tuple[Any, ...], rng: np.random.Generator
) -> tuple[Callable[..., Any], Any]:
    """The function, or its inner product with a fixed cotangent if it returns more than a scalar; and the cotangent."""
    out = _interpreted(Function(function, Jit()), args)
    if isinstance(out, (float, np.floating)) or not has_floats(out):
        return function, 1.0
    cotangent = _random_like(rng, out)
    return _named(lambda *a: inner(function(*a), cotangent), function), cotangent


def _interpreted(function: Function, args: tuple[Any, ...]) -> Any:
    """What a function gives that is called once, for which compiling takes longer than running its graph."""
    with settings.override(reference=True):
        return function(*args)


def _random_like(rng: np.random.Generator, x: Any) -> Any:
    leaves: list[Any] = []
    signature = tree.flatten(tree.opened(x), leaves)
    made = [rng.uniform(0.5, 1.5, np.shape(v)).astype(np.asarray(v).dtype) for v in leaves]
    return tree.rebuild(signature, iter([v if v.shape else v.item() for v in made]))


def _numeric(graph: Graph, inputs: list[np.ndarray], wrt: list[int]) -> tuple[str, Callable[..., float]]:
    """The complex step, or central differences for a graph that has no meaning on complex numbers."""
    try:
        complex_step(graph, inputs, {n: np.zeros(inputs[n].shape) for n in wrt})
    except NotHolomorphic:
        return "central differences", central_differences
    return "complex step", complex_step


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


COARSE = {np.dtype(np.float16): (5e-2, 1e-2), np.dtype(np.float32): (1e-3, 1e-5)}
"""How far a gradient in a dtype of few digits may be off, relatively and absolutely."""


def _compare(
    method: str, labels: list[str], made: list[Any], reference: list[Any], how: _How
) -> Report:
    count, worst, where, ulps = 0, 0.0, labels[0] if labels else "", 0.0
    for label, got, want in zip(labels, made, reference, strict=True):
        got = np.asarray(got)
        close = COARSE.get(got.dtype) or ((1e-5, 1e-7) if method.startswith("central") else (1e-7, 1e-10))
        relative = close[0] if how.rtol is None else how.rtol
        absolute = close[1] if how.atol is None else how.atol
        for place in np.ndindex(got.shape):
            if np.ma.is_masked(want[place]):
                continue
            a, b = float(got[place]), float(want[place])
            name = label + (f"[{', '.join(map(str, place))}]" if place else "")
            if not (math.isfinite(a) and math.isfinite(b)):
                if a != b and not (math.isnan(a) and math.isnan(b)):
                    raise AssertionError(f"the gradient for {name} is {a}, {_the(method)} gives {b}")
            elif abs(a - b) > absolute + relative * max(abs(a), abs(b)):
                apart = f"{abs(a - b):.3e} apart"
                raise AssertionError(f"the gradient for {name} is {a!r}, {_the(method)} gives {b!r}: {apart}")
            else:
                away = abs(a - b) / max(abs(a), abs(b), 1e-300)
                worst, where = (away, name) if away > worst else (worst, where)
                ulps = max(ulps, float(abs(a - b) / np.spacing(got.dtype.type(max(abs(a), abs(b))))))
            count += 1
    return Report(method, count, worst, where, ulps)


__all__ = ["Report", "check"]
