"""Minima by scipy.optimize with traced parameters: minimize, minimize_scalar and least_squares.

SciPy's method is given the gradient, and finds the minimum on numbers. There the gradient is zero, or an unknown is at
its bound: this is the equation whose implicit function is differentiated, so a derivative is as near as the minimum is.
With constraints it is a system (`multipliers`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ..closed import Closed, floats, vector
from ..solution import Solved, default, solution
from .constrained import METHODS, least_within
from .edges import Edges
from .roots import tupled

WITHOUT = ("nelder-mead", "powell", "cobyla", "cobyqa")
"""Methods of minimize that take no gradient."""

NEAR = 1e-5
"""Farther than this from a bound, for its size, an unknown is free."""

CURVED = ("newton-cg", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")
"""Those that take second derivatives."""

LOSSES = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}
"""What least_squares may count in place of squares, as functions of a square in units of f_scale."""


def _bounds(bounds: Any, n: int) -> tuple[Any, Any]:
    """Lower and upper bounds, traced ones too; infinite where there is none."""
    if hasattr(bounds, "lb"):
        pairs = [bounds.lb, bounds.ub]
    else:
        pairs = [[each[k] for each in bounds] for k in (0, 1)]
    free = (-np.inf, np.inf)
    made = [vector([free[k] if x is None else x for x in side] if isinstance(side, list) else side)
            for k, side in enumerate(pairs)]  # fmt: skip
    return tuple([np.broadcast_to(x, (n,)) for x in made])


def _stationary(gradient: Any, x: Any, low: Any, high: Any) -> Any:
    """Zero at a minimum within bounds: the gradient, or how far x is from the bound that it is at.

    Methods that stay inside come near a bound, but never to it: an unknown is there if a step down would leave.
    """
    below, above = x - low, high - x
    at_low = (below <= NEAR * (1 + np.abs(x))) & (gradient >= below)
    at_high = (above <= NEAR * (1 + np.abs(x))) & (-gradient >= above)
    return np.where(at_low, below, np.where(at_high, -above, gradient))


def minimize(
    fun: Any, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    default("minimize", callback=(callback, None))
    name = str(method or "").lower()
    told = {name: given("scipy.optimize.minimize", name, x) for name, x in (("tol", tol), ("options", options))}
    args, start = tupled(args), vector(np.atleast_1d(vector(x0)))
    shape = start.type.static_shape()
    start, n = np.reshape(start, (-1,)), int(np.prod(shape))
    function = (lambda x, *args: R.call(fun, x, *args)[0]) if jac is True else fun
    value = Closed("minimize", lambda x: np.reshape(vector(R.call(function, x, *args)), ()), floats(n))
    slope = value.gradient
    sides = _bounds(bounds, n) if bounds is not None else ()

    def run(f: Any, x: Any, sides: Any, within: Any = ()) -> Any:
        more: dict[str, Any] = {} if name in WITHOUT else {"jac": lambda x: f[1](x)}
        if name in CURVED:
            more["hess"] = "2-point" if name != "newton-cg" else None
        if sides:
            more["bounds"] = scipy.optimize.Bounds(*sides)
        if within:
            more["constraints"] = within
        made: Any = scipy.optimize.minimize(lambda x: float(f[0](x)), x, method=method, **more, **told)
        counts = (made.get("nfev", 0), made.get("nit", 0), made.get("status", 0))
        return np.asarray(made.x, float), bool(made.success), *map(int, counts)

    if constraints and name not in METHODS:
        fix = f"leave method out, or name one that does: {', '.join(METHODS[1:])}"
        R.refuse(f"minimize by the method {method!r}, which takes no constraints,", fix)
    if constraints:
        x, *counts = least_within(value, start, constraints, sides, run)
    else:
        x, *counts = _free(value, start, sides, run)
    told_of = dict(zip(("success", "nfev", "nit", "status"), counts, strict=True))
    fun_at, jac_at = (f.on_traced(x) for f in (value, slope))
    return Solved(x=x, fun=fun_at, jac=jac_at, **told_of)


def _free(value: Closed, start: Any, sides: tuple[Any, ...], run: Any) -> tuple[Any, ...]:
    """Where a function is smallest, within bounds if there are any, and what else `run` tells."""
    slope = value.gradient
    edges = Edges.of(slope, rising=True)

    def solve(f: Any, x: Any, *sides: Any) -> Any:
        found = run(f, x, sides)
        return found if edges is None else (*found, *edges.found(f[1], f[2:], found[0]))

    def equation(f: Any, made: Any, _: Any, *sides: Any) -> Any:
        smooth = f[1](made[0]) if edges is None else edges.equation(f[1](made[0]), f[2:], made[0], made[5:])
        return _stationary(smooth, made[0], *sides) if sides else smooth

    gives = (str(start.type), bool, int, int, int)
    functions, held = [value, slope, *(edges.functions if edges else ())], edges.gives if edges else ()
    return tuple(solution("minimize", functions, equation, [start, *sides], gives, solve, held))


def least_of(name: str, value: Closed, start: Any, sides: tuple[Any, ...], solve: Any) -> Any:
    """Where a function of a vector is smallest, as `solve(functions, start, *sides)` finds it on numbers."""
    slope = value.gradient
    edges = Edges.of(slope, rising=True)

    def found(f: Any, x: Any, *sides: Any) -> Any:
        x = solve(f[:2], x, *sides)
        return (x,) if edges is None else (x, *edges.found(f[1], f[2:], x))

    def equation(f: Any, made: Any, _: Any, *sides: Any) -> Any:
        smooth = f[1](made[0]) if edges is None else edges.equation(f[1](made[0]), f[2:], made[0], made[1:])
        return _stationary(smooth, made[0], *sides) if sides else smooth

    functions, held = [value, slope, *(edges.functions if edges else ())], edges.gives if edges else ()
    return solution(name, functions, equation, [start, *sides], (str(start.type),), found, held)[0]


def sides_of_pairs(pairs: Any, n: int) -> tuple[Any, Any]:
    """Lower and upper bounds of pairs, or of an object of SciPy's."""
    return _bounds(pairs, n)


def minimize_scalar(
    fun: Any, bracket: Any = None, bounds: Any = None, args: Any = (), method: Any = None, tol: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    names = ("bracket", "method", "tol", "options")
    values = (bracket, method, tol, options)
    told = {n: given("scipy.optimize.minimize_scalar", n, x) for n, x in zip(names, values, strict=True)}
    args, ends = tupled(args), [] if bounds is None else [vector(x).reshape(()) for x in bounds]
    value = Closed("minimize_scalar", lambda x: np.reshape(vector(R.call(fun, x, *args)), ()), floats())
    edges = Edges.of(value.gradient, rising=True)

    def solve(f: Any, *ends: Any) -> Any:
        more = {"bounds": ends} if ends else {}
        made: Any = scipy.optimize.minimize_scalar(lambda x: float(f[0](x)), **more, **told)
        found = np.float64(made.x), bool(made.success), int(made.nfev), int(made.nit)
        return found if edges is None else (*found, *edges.found(f[1], f[2:], made.x))

    def equation(f: Any, made: Any, *ends: Any) -> Any:
        smooth = f[1](made[0]) if edges is None else edges.equation(f[1](made[0]), f[2:], made[0], made[4:])
        return _stationary(smooth, made[0], *ends) if ends else smooth

    functions, held = [value, value.gradient, *(edges.functions if edges else ())], edges.gives if edges else ()
    x, success, nfev, nit = solution(
        "minimize_scalar", functions, equation, ends, (np.float64, bool, int, int), solve, held
    )
    return Solved(x=x, fun=value.traced([x], value.outside)[0], success=success, nfev=nfev, nit=nit)


def least_squares(
    fun: Any, x0: Any, jac: Any = "2-point", bounds: Any = (-np.inf, np.inf), method: str = "trf", ftol: Any = 1e-8,
    xtol: Any = 1e-8, gtol: Any = 1e-8, x_scale: Any = None, loss: Any = "linear", f_scale: Any = 1.0,
    max_nfev: Any = None, args: Any = (), kwargs: Any = None, **more: Any,
) -> Any:  # fmt: skip
    import scipy.optimize

    default("least_squares", **{name: (x, None) for name, x in more.items()})
    if loss not in LOSSES:
        fix = f"name one of {', '.join(LOSSES)}, or minimise the sum of the losses by scipy.optimize.minimize"
        R.refuse(f"least_squares with loss={loss!r:.40} on traced parameters", fix)
    names = ("method", "ftol", "xtol", "gtol", "x_scale", "max_nfev", "loss", "f_scale")
    values = (method, ftol, xtol, gtol, x_scale, max_nfev, loss, f_scale)
    told = {n: given("scipy.optimize.least_squares", n, x) for n, x in zip(names, values, strict=True)}
    args, kwargs, start = tupled(args), kwargs or {}, vector(np.atleast_1d(vector(x0)))
    n = start.type.static_shape()[0]
    rows = Closed("least_squares", lambda x: np.atleast_1d(vector(R.call(fun, x, *args, **kwargs))), floats(n))
    sides = sides_of(bounds, n)

    def solve(f: Any, x: Any, *sides: Any) -> Any:
        made = scipy.optimize.least_squares(f[0], x, bounds=sides, **told)
        return np.asarray(made.x, float), bool(made.success), int(made.nfev), int(made.status)

    cost = lambda rows: 0.5 * f_scale**2 * np.sum(LOSSES[loss]((rows / f_scale) ** 2))  # noqa: E731
    x, made, *told_of = smallest_rows(rows, [start, *sides], (bool, int, int), solve, cost)
    return Solved(x=x, cost=cost(made), fun=made,
                  **dict(zip(("success", "nfev", "status"), told_of, strict=True)))  # fmt: skip


def sides_of(bounds: Any, n: int) -> tuple[Any, Any]:
    """The bounds of least_squares: a pair, or an object of SciPy's."""
    return _bounds(bounds if hasattr(bounds, "lb") else _Sides(bounds), n)


def _squares(rows: Any) -> Any:
    return 0.5 * np.sum(rows**2)


def smallest_rows(
    rows: Closed, starts: list[Any], kinds: tuple[Any, ...], solve: Any, cost: Any = _squares
) -> tuple[Any, ...]:
    """Where the cost of the rows is smallest, the rows there, and what else `solve` tells, of `kinds`."""
    leaf = floats(*starts[0].type.static_shape())
    half = Closed(rows.name, lambda x: cost(rows.on_traced(x)), leaf)

    def equation(f: Any, made: Any, _: Any, *sides: Any) -> Any:
        return _stationary(f[1](made[0]), made[0], *sides) if sides else f[1](made[0])

    x, *told = solution(rows.name, [rows, half.gradient], equation, starts, (str(leaf.type), *kinds), solve)
    return x, rows.traced([x], rows.outside)[0], *told


class _Sides:
    """A pair of bounds as an object like SciPy's Bounds."""

    def __init__(self, pair: Any) -> None:
        self.lb, self.ub = pair


recode("scipy.optimize", {
    "minimize": minimize, "minimize_scalar": minimize_scalar, "least_squares": least_squares,
})  # fmt: skip

__all__ = ["least_of", "least_squares", "minimize", "minimize_scalar", "sides_of", "sides_of_pairs", "smallest_rows"]
