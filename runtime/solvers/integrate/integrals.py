"""Integrals by scipy.integrate with traced parameters and ends: quad and dblquad.

SciPy's QUADPACK finds the value and the parts that the range is cut into, on numbers. A sum by Gauss' rule over the
same parts, of the traced integrand, has the derivatives, to every order. Where the two do not agree, as at an end that
is singular, the first and the last part are cut further; and if they never do, the call is an error. Where the
integrand changes its formula (`changes`) the range is cut into pieces, whose ends move as parameters move them.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import Array
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ...control import fori_loop
from ...external import External
from ...rules import stop_gradient
from ..closed import Closed, floats, vector
from ..optimize.roots import tupled
from ..solution import default
from .changes import MOST, Changes, Cut, Range

POINTS = 21
"""Of Gauss' rule on each part."""

CUTS = 60
"""How often the first and the last part are halved, each."""

AGREE = 1e-10
"""The difference between the sum and QUADPACK's value that is let pass, relative to the parts, as is its own error."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(POINTS)


def _line(a: Any, b: Any) -> Range:
    return lambda u: a + (b - a) * u, lambda u: b - a, 1.0


def _ray(a: Any, sign: float) -> Range:
    """The range of QUADPACK's QAGI, from a on or up to a."""
    return lambda u: a + sign * (1.0 - u) / u, lambda u: 1.0 / (u * u), -sign


def quad(
    func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
    limit: int = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: int = 50,
    limlst: int = 50, complex_func: bool = False,
) -> Any:  # fmt: skip
    default("quad", full_output=(full_output, 0), weight=(weight, None), complex_func=(complex_func, False))
    if not callable(func):
        R.refuse("quad of a LowLevelCallable with traced arguments", "pass the function of Python that it was made of")
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    options = {name: given("scipy.integrate.quad", name, x) for name, x in options.items()}
    args, ends = tupled(args), [vector(x).reshape(()) for x in (a, b)]
    told = [] if points is None else [np.ravel(vector(points))]
    infinite = [float(np.sign(x)) if not isinstance(x, Array) and np.isinf(x) else 0.0 for x in (a, b)]
    both = infinite[0] and infinite[1]
    called = lambda x: R.call(func, x, *args)  # noqa: E731
    if both:
        f = Closed("quad", lambda x: vector(called(x)) + vector(called(-x)), floats())
    else:
        f = Closed("quad", called, floats())
    if int(np.prod(f.shapes[0], dtype=int)) != 1:
        R.unfit(f"quad: the integrand returns an array of shape {f.shapes[0]}", "let it return a number")
    sign = 1.0 if infinite[1] > infinite[0] or not any(infinite) else -1.0

    def ranged(a: Any, b: Any) -> Range:
        """Where the parts are, on numbers as on traced ends."""
        if both:
            return _ray(0.0, 1.0)
        return _ray(b if infinite[0] else a, sum(infinite)) if any(infinite) else _line(a, b)

    changes = Changes.of(f)

    def found(*numbers: Any) -> Any:
        a, b, outside = *numbers[:2], numbers[2 : 2 + len(f.outside)]
        run = f.held(outside)
        integrand = lambda x: float(run(x)[0].reshape(()))  # noqa: E731
        cuts = None if changes is None else changes.cut(ranged(a, b), f, outside)
        options["points"] = numbers[-1] if told else None
        return _parts(integrand, [0.0, np.inf] if both else [a, b], ranged(a, b), options, cuts)

    sides = [] if changes is None else changes.at_ends(ranged(*ends)[0], infinite)
    frozen = [stop_gradient(x) for x in (*ends, *f.outside, *sides, *told)]
    found.__name__ = "quad"
    size = (limit + 2 * CUTS + (changes is not None) * 2 * MOST) * POINTS
    gives = (np.float64, np.float64, *(f"f64[{size}]",) * 2, int)
    more = () if changes is None else (f"i64[{size}]", f"f64[{MOST + 2}]", f"i64[{MOST}]", int)
    made = map(stop_gradient, External(found, (*gives, *more), None, False, None)(*frozen))
    value, error, places, weights, count, *cut = made
    place, slope, _ = ranged(*ends)
    edges = None if changes is None else changes.moved(ranged(*ends), *cut[1:])

    def add(k: Any, total: Any) -> Any:
        u, weight = places[k], weights[k]
        if edges is not None:
            low, high = edges[cut[0][k]], edges[cut[0][k] + 1]
            u, weight = low + (high - low) * u, weight * (high - low)
        return total + weight * slope(u) * f.traced([place(u)], f.outside)[0].reshape(())

    total = sign * fori_loop(0, count, add, np.float64(0.0))
    value = sign * value if both else value
    return total + (value - stop_gradient(total)), error


def _parts(
    f: Callable[[float], float], ends: list[Any], mapped: Range, options: dict[str, Any],
    cuts: Callable[[np.ndarray], tuple[list[Cut], list[float]]] | None,
) -> Any:  # fmt: skip
    """QUADPACK's value and error, and nodes and weights that make the same sum, for each piece between cuts in [0, 1].

    Without cuts the range is one piece; with them which piece a node is in, the ends of the pieces, which gap is zero
    at each cut, and how many there are, too.
    """
    place, slope, _ = mapped
    value, error, edges = _adapted(f, ends, options)
    at = lambda u: slope(u) * f(place(u))  # noqa: E731
    along = [_spread(a, b) for a, b in itertools.pairwise(edges)]
    found, smooth = ([], []) if cuts is None else cuts(np.concatenate(along))
    if found or smooth:
        inner = [0.0, *[c for c, _ in found], 1.0]
        pieces = [_piece(at, a, b, place, options, smooth) for a, b in itertools.pairwise(inner)]
        back = -1.0 if ends[0] > ends[1] and np.any(np.isinf(ends)) else 1.0
        value = back * sum(piece[2] for piece in pieces)  # QUADPACK sees less of a kink within its range
    else:
        inner, pieces = [0.0, 1.0], [_agreed(at, value, error, edges)]
    room = options["limit"] + 2 * CUTS + (cuts is not None) * 2 * MOST
    nodes, weights = (np.concatenate([piece[k] for piece in pieces]) for k in (0, 1))
    if nodes.size > room * POINTS:
        raise ValueError(f"quad: more than {room} parts are needed for a derivative: split the range")
    padded = [np.pad(c, (0, room * POINTS - nodes.size)) for c in (nodes, weights)]
    made = (np.float64(value), np.float64(error), *padded, nodes.size)
    if cuts is None:
        return made
    owner = np.repeat(np.arange(len(pieces)), [piece[0].size for piece in pieces])
    which = np.array([k for _, k in found], np.int64)
    return (
        *made, np.pad(owner, (0, room * POINTS - nodes.size)), np.pad(inner, (0, MOST + 2 - len(inner)), mode="edge"),
        np.pad(which, (0, MOST - which.size)), which.size,
    )  # fmt: skip


def _adapted(f: Callable[[float], float], ends: list[Any], options: dict[str, Any]) -> tuple[float, float, list[float]]:
    """QUADPACK's value and error, and the ends of its parts in [0, 1]."""
    import scipy.integrate

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        value, error, told, *_ = scipy.integrate.quad(f, *ends, **options, full_output=1)
    for each in said:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    low, high = (told[name][: told["last"]] for name in ("alist", "blist"))
    if np.all(np.isfinite(ends)) and ends[0] != ends[1]:
        low, high = ((x - ends[0]) / (ends[1] - ends[0]) for x in (low, high))
    order = np.argsort(np.minimum(low, high))
    edges = [*np.minimum(low, high)[order], np.maximum(low, high)[order[-1]]] if order.size else [0.0, 1.0]
    return value, error, edges


def _spread(a: float, b: float) -> np.ndarray:
    return a + (b - a) * (_NODES + 1) / 2


def _piece(
    at: Callable[[float], float], a: float, b: float, place: Callable[[Any], Any], options: dict[str, Any],
    smooth: list[float],
) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
    """Nodes and weights in [0, 1] for the piece from a to b, which has parts of its own."""
    within = [(c - a) / (b - a) for c in smooth]
    if options["points"] is not None:
        within += [(p - place(a)) / (place(b) - place(a)) for p in options["points"]]
    within = [p for p in within if 0 < p < 1]
    own = {**options, "points": within or None, "limit": options["limit"] + len(within)}
    along = lambda t: (b - a) * at(a + (b - a) * t)  # noqa: E731
    value, error, edges = _adapted(along, [0.0, 1.0], own)
    return _agreed(along, value, error, edges)


def _agreed(
    at: Callable[[float], float], value: float, error: float, edges: list[float]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Nodes and weights of Gauss' rule on parts, of which the first and last are cut until it is right; the value."""

    def gauss(a: float, b: float) -> tuple[np.ndarray, np.ndarray, float]:
        u, w = _spread(a, b), _WEIGHTS * (b - a) / 2
        return u, w, sum(each * at(v) for v, each in zip(u, w, strict=True))

    made = [gauss(a, b) for a, b in itertools.pairwise(edges)]
    for _ in range(CUTS):
        sums = np.array([part[2] for part in made])
        if abs(abs(sums.sum()) - abs(value)) <= max(AGREE * np.abs(sums).sum(), error):
            break
        first, last = edges[1] - edges[0], edges[-1] - edges[-2]
        edges = [edges[0], edges[0] + first / 8, *edges[1:-1], edges[-1] - last / 8, edges[-1]]
        made = [gauss(*edges[:2]), gauss(*edges[1:3]), *made[1:-1], gauss(*edges[-3:-1]), gauss(*edges[-2:])]
    else:
        raise ValueError(
            f"the sums of quad do not come near QUADPACK's value {value!r}, so it has no derivative here: "
            "split the range at what is singular within it, or take that out by a change of the variable"
        )
    nodes, weights = (np.concatenate([part[k] for part in made]) for k in (0, 1))
    return nodes, weights, value


def dblquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8
) -> Any:
    end = lambda g, x: R.call(g, x) if callable(g) else g  # noqa: E731
    args = tupled(args)

    def along(x: Any) -> Any:
        inner = lambda y: R.call(func, y, x, *args)  # noqa: E731
        return quad(inner, end(gfun, x), end(hfun, x), epsabs=epsabs, epsrel=epsrel)[0]

    return quad(along, a, b, epsabs=epsabs, epsrel=epsrel)


def tplquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (), epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8,
) -> Any:  # fmt: skip
    end = lambda g, *at: R.call(g, *at) if callable(g) else g  # noqa: E731
    args = tupled(args)

    def along(x: Any) -> Any:
        low = lambda y: end(qfun, x, y)  # noqa: E731
        high = lambda y: end(rfun, x, y)  # noqa: E731
        inner = lambda z, y: R.call(func, z, y, x, *args)  # noqa: E731
        return dblquad(inner, end(gfun, x), end(hfun, x), low, high, (), epsabs, epsrel)[0]

    return quad(along, a, b, epsabs=epsabs, epsrel=epsrel)


def nquad(func: Any, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    """The first range is the innermost; one may be a function of the variables outside of it."""
    default("nquad", full_output=(full_output, False))
    args, depth = () if args is None else tupled(args), len(ranges)
    each = opts if isinstance(opts, (list, tuple)) else [{} if opts is None else opts] * depth

    return _over(depth - 1, (), func, ranges, each, args)


def _over(level: int, outer: tuple[Any, ...], func: Any, ranges: Any, options: Any, args: tuple[Any, ...]) -> Any:
    """The integral over the ranges up to this one."""
    span, more = (
        R.call(each[level], *outer, *args) if callable(each[level]) else each[level] for each in (ranges, options)
    )

    def inner(x: Any) -> Any:
        if level == 0:
            return R.call(func, x, *outer, *args)
        return _over(level - 1, (x, *outer), func, ranges, options, args)[0]

    return quad(inner, span[0], span[1], **more)


def quad_vec(f: Any, a: Any, b: Any, *given_: Any, args: Any = (), full_output: bool = False, **options: Any) -> Any:
    """An integral for each element: of the weighted sums that pick them, each with parts of its own."""
    default("quad_vec", full_output=(full_output, False))
    args = tupled(args)
    middle = a if not isinstance(a, Array) and np.isfinite(a) else b
    shape = np.shape(R.call(f, middle if isinstance(middle, Array) or np.isfinite(middle) else 0.0, *args))
    if not shape:
        return quad(f, a, b, args)

    def element(k: int) -> Any:
        return quad(lambda x: np.reshape(R.call(f, x, *args), (-1,))[k], a, b, epsabs=1e-12, epsrel=1e-10)

    made = [element(k) for k in range(int(np.prod(shape)))]
    error = np.sqrt(sum(each[1] ** 2 for each in made))
    return np.reshape(np.stack([each[0] for each in made]), shape), error


recode("scipy.integrate", {"quad": quad, "dblquad": dblquad, "tplquad": tplquad, "nquad": nquad, "quad_vec": quad_vec})

__all__ = ["dblquad", "nquad", "quad", "quad_vec", "tplquad"]
