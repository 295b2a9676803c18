"""Roots by scipy.optimize with traced parameters: fsolve, root, newton, fixed_point, root_scalar and brackets.

Where f(x, a) = 0 the derivative of x is that of the implicit function, whichever solver has found it; where it began,
its brackets and its tolerances have none. A Jacobian of the user's is for the solver's steps alone: fsolve and root
take differences in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ..closed import Closed, floats, vector
from ..solution import Solved, default, solution
from .edges import Edges

TYPES = {"success": bool, "converged": bool}
"""The attributes of a result that are no counts."""


def tupled(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _numbers(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a solver, which are numbers of now."""
    return {key: given(name, key, value) for key, value in options.items()}


def solved_by(
    name: str, function: Any, x0: Any, args: Any, solve: Callable[..., Any], counts: tuple[str, ...],
    others: tuple[Any, ...] = (), wanted: Any = None,
) -> tuple[Any, Closed, dict[str, Any]]:  # fmt: skip
    """The root, the function and what is counted; `solve(functions, x0)` gives an object with SciPy's attributes."""
    start, args = vector(x0), tupled(args)
    start = wanted(start) if wanted else start
    leaf = floats(*start.type.static_shape())
    functions = [Closed(name, lambda x, each=each: R.call(each, x, *args), leaf) for each in (function, *others)]
    (shape,) = functions[0].shapes
    if shape != leaf.type.shape:
        fix = "let it return one number for each unknown"
        R.unfit(f"{name}: the function returns an array of shape {shape} for {leaf.type.shape}", fix)

    def run(numeric: Any, x: Any) -> tuple[Any, list[Any]]:
        made = solve(numeric, x)
        return np.reshape(made[0], shape), [TYPES.get(c, int)(n) for c, n in zip(counts, made[1:], strict=True)]

    gives = str(leaf.type) if shape else np.float64, [TYPES.get(c, int) for c in counts]
    x, told = solution(name, functions, lambda f, made, *_: f[0](made[0]), [start], gives, run)
    return x, functions[0], dict(zip(counts, told, strict=True))


# ---- systems


def fsolve(
    func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, col_deriv: Any = 0,
    xtol: float = 1.49012e-8, maxfev: int = 0, band: Any = None, epsfcn: Any = None, factor: Any = 100,
    diag: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    if full_output:
        R.refuse("fsolve with full_output on traced parameters", "use scipy.optimize.root, whose result has success")
    told = _numbers("scipy.optimize.fsolve", {
        "xtol": xtol, "maxfev": maxfev, "band": band, "epsfcn": epsfcn, "factor": factor, "diag": diag,
    })  # fmt: skip
    solve = lambda f, x: (scipy.optimize.fsolve(f[0], x, **told),)  # noqa: E731
    return solved_by("fsolve", func, x0, args, solve, (), wanted=np.ravel)[0]


def root(
    fun: Any, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: Any = None, callback: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    default("root", callback=(callback, None))
    told = {"method": method, **_numbers("scipy.optimize.root", {"tol": tol, "options": options})}

    def solve(f: Any, x: Any) -> tuple[Any, ...]:
        made: Any = scipy.optimize.root(f[0], x, **told)
        return made.x, made.success, made.get("status", 0), made.get("nfev", 0)

    function = (lambda x, *args: R.call(fun, x, *args)[0]) if jac is True else fun
    shaped = np.ravel if method in ("hybr", "lm") else None
    x, closed, told_of = solved_by("root", function, x0, args, solve, ("success", "status", "nfev"), wanted=shaped)
    return Solved(x=x, **told_of, fun=closed.traced([x], closed.outside)[0])


def fixed_point(
    func: Any, x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500, method: str = "del2"
) -> Any:
    import scipy.optimize

    told = _numbers("scipy.optimize.fixed_point", {"xtol": xtol, "maxiter": maxiter, "method": method})
    solve = lambda f, x: (scipy.optimize.fixed_point(lambda x: f[0](x) + x, x, **told),)  # noqa: E731
    return solved_by("fixed_point", lambda x, *args: vector(R.call(func, x, *args)) - x, x0, args, solve, ())[0]


# ---- one unknown


def _bracketing(name: str) -> Callable[..., Any]:
    def meaning(
        f: Any, a: Any, b: Any, args: Any = (), xtol: float = 2e-12, rtol: float = 4 * np.finfo(float).eps,
        maxiter: int = 100, full_output: bool = False, disp: bool = True, **more: Any,
    ) -> Any:  # fmt: skip
        options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "full_output": full_output, "disp": disp, **more}
        made = _scalar(name, f, args, [a, b], options)
        return (made.root, made) if full_output else made.root

    meaning.__name__ = name
    return meaning


def newton(
    func: Any, x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8, maxiter: int = 50,
    fprime2: Any = None, x1: Any = None, rtol: float = 0.0, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    import scipy.optimize

    options = {"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp}
    slopes = {name: f for name, f in (("fprime", fprime), ("fprime2", fprime2)) if f is not None}
    if not vector(x0).shape:
        starts = [x0] if x1 is None else [x0, x1]
        made = _scalar("newton", func, args, starts, {**options, "full_output": full_output}, slopes)
        return (made.root, made) if full_output else made.root
    default("newton", full_output=(full_output, False), x1=(x1, None))
    told = _numbers("scipy.optimize.newton", options)
    del told["disp"]

    def solve(f: Any, x: Any) -> tuple[Any, ...]:
        return (scipy.optimize.newton(f[0], x, **dict(zip(slopes, f[1:], strict=True)), **told),)

    return solved_by("newton", func, x0, args, solve, (), tuple(slopes.values()))[0]


def _scalar(
    name: str, function: Any, args: Any, starts: list[Any], options: dict[str, Any],
    slopes: dict[str, Any] | None = None,
) -> Solved:  # fmt: skip
    """The result of one of the solvers for one number, which starts from one or two."""
    import scipy.optimize

    told, slopes = _numbers(f"scipy.optimize.{name}", options), slopes or {}
    told["full_output"] = True
    counts = ("converged", "iterations", "function_calls")

    def solve(f: Any, x: Any) -> tuple[Any, ...]:
        derived = dict(zip(slopes, map(_number, f[1:]), strict=True))
        ends = {"x0": x[0], "x1": x[1] if len(x) > 1 else None} if name == "newton" else {"a": x[0], "b": x[1]}
        found, made = getattr(scipy.optimize, name)(_number(f[0]), **ends, **derived, **told)
        return (found, *(getattr(made, each) for each in counts))

    return _one(name, function, args, starts, solve, counts, tuple(slopes.values()))


def _number(f: Any) -> Callable[[Any], float]:
    return lambda x: float(f(x))


def _one(
    name: str, function: Any, args: Any, starts: list[Any], solve: Any, counts: tuple[str, ...], slopes: tuple[Any, ...]
) -> Solved:
    """A root of one number, found from `starts`."""
    args, begin = tupled(args), np.stack([vector(x).reshape(()) for x in starts])
    functions = [Closed(name, lambda x, each=each: R.call(each, x, *args), floats()) for each in (function, *slopes)]
    scalars = [f for f in functions if int(np.prod(f.shapes[0], dtype=int)) != 1]
    if scalars:
        R.unfit(f"{name}: the function returns an array of shape {scalars[0].shapes[0]}", "let it return a number")
    kinds = [TYPES.get(c, int) for c in counts]

    edges, count = Edges.of(functions[0], rising=False), len(functions)
    more = () if edges is None else tuple(edges.functions)

    def run(numeric: Any, x: Any) -> tuple[Any, ...]:
        found, *told = solve(numeric[:count], x)
        made = np.float64(found), [kind(n) for kind, n in zip(kinds, told, strict=True)]
        return made if edges is None else (*made, *edges.found(numeric[0], numeric[count:], found))

    def equation(f: Any, made: Any, *_: Any) -> Any:
        value = np.reshape(f[0](made[0]), ())
        return value if edges is None else edges.equation(value, f[count:], made[0], made[2:])

    held = () if edges is None else edges.gives
    x, told = solution(name, [*functions, *more], equation, [begin], (np.float64, kinds), run, held)
    return Solved(root=x, **dict(zip(counts, told, strict=True)))


def root_scalar(
    f: Any, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None, fprime2: Any = None,
    x0: Any = None, x1: Any = None, xtol: Any = None, rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    told = _numbers("scipy.optimize.root_scalar", {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options})
    function, slopes = f, {}
    if fprime is True or fprime2 is True:
        function = lambda x, *args: R.call(f, x, *args)[0]  # noqa: E731
    for k, (name, each) in enumerate((("fprime", fprime), ("fprime2", fprime2)), 1):
        if each is True:
            slopes[name] = lambda x, *args, k=k: R.call(f, x, *args)[k]
        elif each:
            slopes[name] = each
    points = {"bracket": bracket, "x0": x0, "x1": x1}
    starts = [x for each in points.values() if each is not None for x in (each if each is bracket else [each])]
    counts = ("converged", "iterations", "function_calls")

    def solve(numeric: Any, x: Any) -> tuple[Any, ...]:
        left, derived = iter(x), dict(zip(slopes, map(_number, numeric[1:]), strict=True))
        begin = {
            name: [next(left) for _ in bracket] if name == "bracket" else next(left)
            for name, each in points.items()
            if each is not None
        }
        made = scipy.optimize.root_scalar(_number(numeric[0]), method=method, **begin, **derived, **told)
        return (made.root, *(getattr(made, each) for each in counts))

    return _one("root_scalar", function, args, starts, solve, counts, tuple(slopes.values()))


BRACKETING = ("brentq", "brenth", "bisect", "ridder", "toms748")

recode("scipy.optimize", {
    "fsolve": fsolve, "root": root, "fixed_point": fixed_point, "newton": newton, "root_scalar": root_scalar,
    **{name: _bracketing(name) for name in BRACKETING},
})  # fmt: skip

__all__ = ["fixed_point", "fsolve", "newton", "root", "root_scalar", "solved_by", "tupled"]
