"""Minima by scipy.optimize within constraints on traced parameters: minimize with constraints=.

SciPy's method finds the minimum on numbers, with derivatives that are exact; the equations of `multipliers`
differentiate it. A Bounds or a constraint that is made in a function may have traced sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.patched.recoded import recode
from ..closed import Closed, floats, vector
from .multipliers import Rows, constrained
from .roots import tupled

METHODS = ("", "slsqp", "trust-constr", "cobyla", "cobyqa")
"""Methods of minimize that take constraints; without a name SciPy takes SLSQP."""


class Constraint(NamedTuple):
    """Rows that are between two sides, and how SciPy is told of them."""

    rows: Closed
    low: Any
    high: Any
    kind: str


def _side(x: Any, count: int) -> Any:
    """One side of rows, each of which it may name."""
    made = vector(x)
    if made.ndim > 1 or (made.ndim == 1 and made.shape[0] not in (1, count)):
        raise ValueError(f"minimize: a constraint of {count} rows has a side of the shape {tuple(made.shape)}")
    return np.broadcast_to(made, (count,))


def _constraint(each: Any, n: int) -> Constraint:
    """A dict, a LinearConstraint or a NonlinearConstraint, whose derivatives are ours."""
    import scipy.optimize

    linear: Any = scipy.optimize.LinearConstraint
    if isinstance(each, linear):
        A = vector(each.A.toarray() if hasattr(each.A, "toarray") else each.A)
        function, kind, low, high = (lambda x: A @ x), "linear", each.lb, each.ub
    elif isinstance(each, scipy.optimize.NonlinearConstraint):
        function, kind, low, high = each.fun, "", each.lb, each.ub
    elif isinstance(each, dict):
        kind = _named(each)
        args = tupled(each.get("args", ()))
        function = lambda x: R.call(each["fun"], x, *args)  # noqa: E731
        low, high = 0.0, 0.0 if kind == "eq" else np.inf
    else:
        raise TypeError(
            f"minimize: a constraint of class {type(each).__name__}, expected a dict with 'type' and 'fun', a "
            "LinearConstraint or a NonlinearConstraint"
        )
    rows = Closed("minimize_rows", lambda x: np.reshape(vector(R.call(function, x)), (-1,)), floats(n))
    count = rows.shapes[0][0]
    return Constraint(rows, _side(low, count), _side(high, count), kind)


def _named(each: dict[str, Any]) -> str:
    for key in ("type", "fun"):
        if key not in each:
            raise KeyError(f"minimize: a constraint has no {key!r}, which is 'eq' or 'ineq', or a function of x")
    kind = str(each["type"]).lower()
    if kind not in ("eq", "ineq"):
        raise ValueError(f"minimize: a constraint's type is {each['type']!r}, expected 'eq' or 'ineq'")
    return kind


def _jacobian(rows: Rows, f: Any, at: slice) -> Callable[[Any], np.ndarray]:
    unit = np.eye(rows.size - rows.kinks)[at]
    return lambda x: np.array([f[3](x, row) for row in unit]).reshape(len(unit), rows.n)


def _told(each: Constraint, rows: Rows, f: Any, low: Any, high: Any, at: slice) -> Any:
    """A constraint as the one of SciPy's that it was, on numbers."""
    from scipy import optimize as them

    theirs: Any = them
    value, slope = lambda x: f[2](x)[at], _jacobian(rows, f, at)
    if each.kind in ("eq", "ineq"):
        return {"type": each.kind, "fun": value, "jac": slope}
    if each.kind == "linear":
        return theirs.LinearConstraint(slope(np.zeros(rows.n)), low[at], high[at])
    return theirs.NonlinearConstraint(value, low[at], high[at], jac=slope)


def least_within(
    value: Closed, start: Any, constraints: Any, bounds: tuple[Any, ...], solve: Callable[..., Any]
) -> tuple[Any, ...]:
    """Where a function is smallest within constraints and bounds, and what else `solve` tells.

    solve   solve(functions, x, bounds, constraints) -> x, success, nfev, nit, status, on numbers
    """
    n = start.type.static_shape()[0]
    many = constraints if isinstance(constraints, Sequence) else [constraints]
    all_of = [_constraint(each, n) for each in many]
    def joined(x: Any) -> Any:
        return np.concatenate([*[each.rows.on_traced(x) for each in all_of], *([x] if bounds else [])])

    rows = Rows(value, Closed("minimize_rows", joined, floats(n)), n)
    ends = np.cumsum([0, *[each.rows.shapes[0][0] for each in all_of]])
    parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    low = np.concatenate([*[each.low for each in all_of], *bounds[:1]])
    high = np.concatenate([*[each.high for each in all_of], *bounds[1:]])

    def run(f: Any, x: Any, low: Any, high: Any) -> Any:
        told = [_told(each, rows, f, low, high, at) for each, at in zip(all_of, parts, strict=True)]
        return solve(f, x, (low[ends[-1]:], high[ends[-1]:]) if bounds else (), told)

    x, _, *counts = constrained(rows, start, low, high, (bool, int, int, int), run)
    return x, *counts


# ---- what constraints are made of


def _bounds(self: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
    self.lb, self.ub = np.broadcast_arrays(np.atleast_1d(vector(lb)), np.atleast_1d(vector(ub)))
    self.keep_feasible = np.broadcast_to(np.atleast_1d(keep_feasible).astype(bool), self.lb.shape)


def _linear(self: Any, A: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
    self.A = A if hasattr(A, "toarray") else np.atleast_2d(vector(A))
    if self.A.ndim != 2:
        raise ValueError("`A` must have exactly two dimensions.")
    count = int(self.A.shape[0])
    self.lb, self.ub = _side(lb, count), _side(ub, count)
    self.keep_feasible = np.broadcast_to(np.atleast_1d(keep_feasible).astype(bool), (count,))


recode("scipy.optimize", {"Bounds.__init__": _bounds, "LinearConstraint.__init__": _linear})

__all__ = ["METHODS", "least_within"]
