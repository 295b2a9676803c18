"""Minima and roots by scipy.optimize's other names, with traced parameters: fmin and its kin, golden, global searches.

Each is SciPy's function on numbers; what holds at its result is the equation of `minima` or of `roots`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ..closed import Closed, floats, vector
from ..solution import Solved
from .minima import least_of, minimize, sides_of_pairs
from .roots import solved_by, tupled

SLOPED = ("fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_ncg", "fmin_tnc")
"""Minimisers that take the gradient."""

ONE = ("golden", "brent", "fminbound")
"""Those of one unknown that is a number."""

OBJECTS = ("basinhopping", "differential_evolution", "dual_annealing", "shgo", "direct")
"""Those that return a result with attributes."""

OTHERS = ("fmin", "fmin_powell", "brute")
ROOTS = ("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "newton_krylov")
LEFT_OUT = {
    "fprime", "fhess", "fhess_p", "messages", "approx_grad", "callback", "full_output", "retall", "disp", "iprint",
    "verbose", "workers",
}  # fmt: skip


def _signatures() -> dict[str, inspect.Signature]:
    import scipy.optimize

    return {name: inspect.signature(getattr(scipy.optimize, name)) for name in (*SLOPED, *ONE, *OBJECTS, *OTHERS)}


_SIGNATURES = _signatures()


def _minimiser(name: str) -> Callable[..., Any]:
    def meaning(*args: Any, **kwargs: Any) -> Any:
        own = _SIGNATURES[name].bind(*args, **kwargs).arguments
        function, more = own.pop(next(iter(_SIGNATURES[name].parameters))), tupled(own.pop("args", ()))
        _without_more(name, own.get("full_output") or own.get("retall"))
        pairs = own.pop("bounds", own.pop("ranges", None))
        pairs = [(own.pop("x1"), own.pop("x2"))] if name == "fminbound" else pairs
        begin = own.pop("x0", None)
        told = {k: given(f"scipy.optimize.{name}", k, x) for k, x in own.items() if k not in LEFT_OUT}
        n = 1 if name in ONE else len(pairs) if begin is None else int(np.prod(np.shape(begin)))
        start = vector(np.zeros(n)) if begin is None else np.reshape(vector(begin), (-1,))
        sides = () if pairs is None else sides_of_pairs(pairs, n)
        single = (lambda x: x[0]) if name in ONE else (lambda x: x)
        called = lambda x: np.reshape(vector(R.call(function, single(x), *more)), ())  # noqa: E731
        value = Closed(name, called, floats(n))

        def solve(f: Any, x: Any, *sides: Any) -> Any:
            return np.reshape(np.asarray(_found(name, f, x, sides, begin is not None, told), float), (n,))

        x = least_of(name, value, start, sides, solve)
        at = value.traced([x], value.outside)[0]
        if name in OBJECTS:
            return Solved(x=x, fun=at)
        if name == "fmin_l_bfgs_b":
            return x, at, Solved()
        if name == "fmin_tnc":
            return x, Solved(), Solved()
        return x[0] if name in ONE else x

    meaning.__name__ = name
    return meaning


def _found(name: str, f: Any, x: Any, sides: Any, begins: bool, told: dict[str, Any]) -> Any:
    """SciPy's minimum, on numbers."""
    import scipy.optimize

    solve, pairs = getattr(scipy.optimize, name), list(zip(*sides, strict=True))
    value = lambda x: float(f[0](np.reshape(x, (-1,))))  # noqa: E731
    more: dict[str, Any] = dict(told)
    if begins:
        more["x0"] = x
    if name in SLOPED:
        more["fprime"] = f[1]
    if name == "fminbound":
        more.update(zip(("x1", "x2"), pairs[0], strict=True))
    elif sides:
        more["ranges" if name == "brute" else "bounds"] = pairs
    if "disp" in _SIGNATURES[name].parameters and name != "fmin_l_bfgs_b":
        more["disp"] = False
    made: Any = solve(value, **more)
    return made.x if name in OBJECTS else made[0] if name in ("fmin_l_bfgs_b", "fmin_tnc") else made


def fmin_slsqp(
    func: Any, x0: Any, eqcons: Any = (), f_eqcons: Any = None, ieqcons: Any = (), f_ieqcons: Any = None,
    bounds: Any = (), fprime: Any = None, fprime_eqcons: Any = None, fprime_ieqcons: Any = None, args: Any = (),
    iter: int = 100, acc: float = 1e-6, iprint: int = 1, disp: Any = None, full_output: Any = 0,
    epsilon: float = 1.5e-8, callback: Any = None,
) -> Any:  # fmt: skip
    _without_more("fmin_slsqp", full_output)
    equal = [f_eqcons] if f_eqcons is not None else [*eqcons]
    least = [f_ieqcons] if f_ieqcons is not None else [*ieqcons]
    within = [{"type": "eq", "fun": each, "args": args} for each in equal]
    within += [{"type": "ineq", "fun": each, "args": args} for each in least]
    pairs, options = (bounds if len(bounds) else None), {"maxiter": iter}
    return minimize(func, x0, args, "SLSQP", bounds=pairs, constraints=within, tol=acc, options=options).x


def fmin_cobyla(
    func: Any, x0: Any, cons: Any, args: Any = (), consargs: Any = None, rhobeg: float = 1.0, rhoend: float = 1e-4,
    maxfun: int = 1000, disp: Any = None, catol: float = 2e-4, *, callback: Any = None,
) -> Any:  # fmt: skip
    given_to = args if consargs is None else consargs
    several = [*cons] if isinstance(cons, (list, tuple)) else [cons]
    within = [{"type": "ineq", "fun": each, "args": given_to} for each in several]
    options = {"rhobeg": rhobeg, "tol": rhoend, "maxiter": maxfun, "catol": catol}
    return minimize(func, x0, args, "COBYLA", constraints=within, options=options).x


def _without_more(name: str, more: Any) -> None:
    if more:
        R.refuse(f"{name} with full_output on traced parameters", "use scipy.optimize.minimize, or leave it out")


def _root(name: str) -> Callable[..., Any]:
    def meaning(F: Any, xin: Any, *args: Any, **kwargs: Any) -> Any:
        import scipy.optimize

        told = {key: given(f"scipy.optimize.{name}", key, x) for key, x in kwargs.items() if key not in LEFT_OUT}
        solve = lambda f, x: (getattr(scipy.optimize, name)(f[0], x, *args, **told),)  # noqa: E731
        return solved_by(name, F, xin, (), solve, ())[0]

    meaning.__name__ = name
    return meaning


recode("scipy.optimize", {name: _minimiser(name) for name in _SIGNATURES})
recode("scipy.optimize", {name: _root(name) for name in ROOTS})
recode("scipy.optimize", {"fmin_slsqp": fmin_slsqp, "fmin_cobyla": fmin_cobyla})

__all__ = ["OBJECTS", "ONE", "OTHERS", "ROOTS", "SLOPED", "fmin_cobyla", "fmin_slsqp"]
