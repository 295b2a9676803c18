"""SciPy's solvers with derivatives of ours: for numbers in, numbers out, where the unknowns may be in containers.

    minimize(loss, {"w": w, "b": 0.0}, args=(x, y), method="trust-ncg").x["w"]

Each is SciPy's function of that name with `jac`, `hess` or `hessp` and sparsity filled in, and containers made vectors
(`ravel`). All else is handed on: methods, tolerances, bounds, options. Within traced functions SciPy's own names are
what is differentiated; here nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiled.tracebacks import boundary
from ..derivatives.jacobians import hessian, jacobian
from ..derivatives.products import hvp
from ..derivatives.trees import Unravel, ravel, tree_map
from ..transforms import jit, value_and_grad

PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov")
"""Methods of `minimize` that take products with the Hessian, and those that take the Hessian."""
HESSIANS = ("dogleg", "trust-exact")
IMPLICIT = ("Radau", "BDF", "LSODA")
"""Methods of `solve_ivp` that take a Jacobian."""


class _Unknowns:
    """The unknowns as a vector, and functions of containers as functions of that vector."""

    def __init__(self, title: str, given: Any) -> None:
        self.plain = isinstance(given, (np.ndarray, float, int, list)) and np.asarray(given).dtype != object
        start: Any = np.atleast_1d(np.asarray(given, dtype=float)) if self.plain else given
        self.vector: Any
        self.back: Any
        if self.plain and start.ndim == 1:
            self.vector, self.back = start, None
        else:
            self.vector, self.back = ravel(start)
        if not self.vector.size:
            raise ValueError(f"{title}: x0 has no elements")

    def of(self, function: Callable[..., Any], at: int = 0) -> Callable[..., Any]:
        """The function of the vector, which is its argument number `at`."""
        back = self.back
        if back is None:
            return function

        def of_vector(*args: Any) -> Any:
            return function(*args[:at], back(args[at]), *args[at + 1 :])

        of_vector.__name__ = getattr(function, "__name__", "function")
        return of_vector

    def like(self, vector: Any) -> Any:
        return vector if self.back is None or np.shape(vector) != self.vector.shape else self.back(vector)


def _vector(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the floats of its result as one vector."""

    def made(*args: Any) -> Any:
        result = function(*args)
        return result if getattr(result, "ndim", 0) == 1 else ravel(result)[0]

    made.__name__ = getattr(function, "__name__", "function")
    return made


@boundary
def minimize(
    fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), method: str | None = None, *,
    constraints: Any = (), sparse: bool = False, **options: Any,
) -> Any:
    """`scipy.optimize.minimize` with the gradient, and the Hessian or products with it where the method takes them.

    fun           a function of x and `args` that returns a float scalar
    x0            where to start: an array, or containers of arrays and floats; `x` and `jac` of the result are like it
    constraints   as SciPy's: their Jacobians are filled in, and Hessians for trust-constr
    sparse        trust-constr gets SciPy's sparse matrices; see `hessian`
    options       SciPy's further arguments: bounds, tol, callback, options

    TypeError and ValueError are SciPy's. Jacobians that are given in constraints stay.

    >>> round(minimize(lambda p: (p["a"] - 1.0) ** 2 + p["b"] ** 4, {"a": 0.0, "b": 1.0}).x["a"], 6)
    1.0
    """
    from scipy import optimize

    unknowns = _Unknowns("minimize", x0)
    f = unknowns.of(fun)
    named, second = (method or "").lower(), dict[str, Any]()
    if named in PRODUCTS:
        second["hessp"] = _last(hvp(f))
    elif named in HESSIANS or (named == "trust-constr" and sparse):
        second["hess"] = hessian(f, sparse=sparse)
    elif named == "trust-constr":
        second["hessp"] = _last(hvp(f))
    bound = [_constraint(each, unknowns, sparse) for each in _several(constraints)]
    found = optimize.minimize(
        value_and_grad(f), unknowns.vector, args=args, method=method, jac=True, constraints=bound,
        **{**second, **options},
    )
    found.x = unknowns.like(found.x)
    if "jac" in found:
        found.jac = unknowns.like(found.jac)
    return found


def _last(product: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy hands the vector over before further arguments, and at first one of small integers."""
    return lambda x, p, *args: product(x, *args, np.asarray(p, float))


def _several(constraints: Any) -> Sequence[Any]:
    return constraints if isinstance(constraints, (list, tuple)) else (constraints,)


def _constraint(given: Any, unknowns: _Unknowns, sparse: bool) -> Any:
    """A constraint with its derivatives, where it has none."""
    from scipy import optimize

    if isinstance(given, dict):
        if "jac" in given:
            return given
        f = _vector(unknowns.of(given["fun"]))
        return {**given, "fun": jit(f), "jac": jacobian(f)}
    if not isinstance(given, optimize.NonlinearConstraint) or callable(given.jac):
        return given
    f = _vector(unknowns.of(given.fun))
    along = hessian(lambda x, weights: np.dot(f(x), weights), sparse=sparse)
    slope: Any = jacobian(f, sparse=sparse)
    return optimize.NonlinearConstraint(
        jit(f), given.lb, given.ub, jac=slope, hess=along, keep_feasible=given.keep_feasible
    )


@boundary
def root(
    fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), method: str = "hybr", **options: Any
) -> Any:
    """`scipy.optimize.root` with the Jacobian for the methods that take one (hybr, lm).

    fun   a function of x and `args` that returns as many floats as x has, in any containers
    x0    where to start: an array or containers; `x` of the result is like it

    >>> root(lambda p: (p["a"] ** 2 - 2.0, p["a"] - p["b"]), {"a": 1.0, "b": 0.0}).x["b"].__round__(6)
    1.414214
    """
    from scipy import optimize

    unknowns = _Unknowns("root", x0)
    f = _vector(unknowns.of(fun))
    slope = {"jac": jacobian(f)} if method in ("hybr", "lm") else {}
    found = optimize.root(jit(f), unknowns.vector, args=args, method=method, **slope, **options)
    found.x = unknowns.like(found.x)
    return found


@boundary
def least_squares(
    fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, sparse: bool = False, **options: Any
) -> Any:
    """`scipy.optimize.least_squares` with the Jacobian of the residuals.

    fun      a function of x and `args` that returns residuals: floats in any containers
    x0       where to start: an array or containers; `x` and `grad` of the result are like it
    sparse   the Jacobian is a sparse matrix (methods trf and dogbox); see `jacobian`

    >>> fit = least_squares(lambda p, t, y: p["a"] * np.exp(p["k"] * t) - y, {"a": 1.0, "k": 0.0},
    ...                     args=(np.arange(3.0), 2.0 * np.exp(0.5 * np.arange(3.0))))
    >>> round(fit.x["k"], 6)
    0.5
    """
    from scipy import optimize

    unknowns = _Unknowns("least_squares", x0)
    f = _vector(unknowns.of(fun))
    slope: Any = jacobian(f, sparse=sparse)
    found = optimize.least_squares(jit(f), unknowns.vector, jac=slope, args=args, **options)
    found.x, found.grad = unknowns.like(found.x), unknowns.like(found.grad)
    return found


@boundary
def solve_ivp(
    fun: Callable[..., Any], t_span: tuple[float, float], y0: Any, method: str = "RK45", *,
    args: tuple[Any, ...] = (), sparse: bool = False, **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp` with the right-hand side compiled, and its Jacobian for Radau, BDF and LSODA.

    fun      a function of t, y and `args` that returns what y changes by: containers like y
    y0       the state at first: an array or containers; `y` of the result is like it, with an axis for the times last
    sparse   the Jacobian is a sparse matrix (Radau and BDF); see `jacobian`

    Where nothing but the state at the end is wanted, and that is differentiated, `scipy.integrate.solve_ivp` itself
    within a traced function does it.

    >>> solve_ivp(lambda t, s: {"x": s["v"], "v": -s["x"]}, (0.0, 1.0), {"x": 1.0, "v": 0.0}).y["x"].shape[0] > 1
    True
    """
    from scipy import integrate

    unknowns = _Unknowns("solve_ivp", y0)
    f = _vector(unknowns.of(fun, at=1))
    if method in IMPLICIT and "jac" not in options:
        options["jac"] = jacobian(f, argnums=1, sparse=sparse and method != "LSODA")
    run = jit(f)
    found = integrate.solve_ivp(
        lambda t, y, *more: run(float(t), y, *more), t_span, unknowns.vector, method, args=args or None, **options
    )
    if unknowns.back is not None:
        found.y = _columns(unknowns.back, found.y)
    return found


def _columns(back: Unravel, states: np.ndarray) -> Any:
    """The containers of all columns, one after the other along a last axis."""
    each = [back(column) for column in states.T]
    return tree_map(lambda *xs: np.stack([np.asarray(x) for x in xs], axis=-1), each[0], *each[1:])


__all__ = ["least_squares", "minimize", "root", "solve_ivp"]
