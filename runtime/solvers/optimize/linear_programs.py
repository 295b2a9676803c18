"""Linear programs of traced costs, matrices and sides: from scipy.optimize.linprog to a vertex that has derivatives.

    linprog(c, A_ub=A, b_ub=b).x                 moves with A and b, as the rows that meet at the vertex do
    linprog(c, A_ub=A, b_ub=b).ineqlin.marginals moves with c and A

Where many vertices are as good the equations have no one solution, and derivatives are not finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ..closed import Closed, floats, vector
from ..solution import Solved, default
from .minima import sides_of_pairs
from .multipliers import Rows, constrained


def _matrix(name: str, A: Any, b: Any, n: int) -> tuple[Any, Any]:
    """Rows and their sides; none where neither is given."""
    if A is None and b is None:
        return vector(np.zeros((0, n))), vector(np.zeros(0))
    A = vector(np.zeros((0, n)) if A is None else A.toarray() if hasattr(A, "toarray") else A)
    b = np.reshape(vector(np.zeros(0) if b is None else b), (-1,))
    A = np.reshape(A, (1, -1)) if A.ndim == 1 else A
    if A.ndim != 2 or A.shape[1] != n or b.shape != A.shape[:1]:
        found = f"A_{name} has the shape {tuple(A.shape)} and b_{name} {tuple(b.shape)}"
        raise ValueError(f"linprog: {found}, expected (m, {n}) and (m,)")
    return A, b


def _pairs(bounds: Any, n: int) -> Any:
    """The bounds of each unknown: none are at least zero, one pair is for all."""
    if bounds is None:
        return [(0, None)] * n
    if not isinstance(bounds[0], (list, tuple)) and not getattr(bounds[0], "ndim", 0):
        return [tuple(bounds)] * n
    return [tuple(bounds[0])] * n if len(bounds) == 1 else bounds


def linprog(
    c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None, bounds: Any = (0, None),
    method: str = "highs", callback: Any = None, options: Any = None, x0: Any = None, integrality: Any = None,
) -> Any:  # fmt: skip
    import scipy.optimize

    default("linprog", callback=(callback, None), x0=(x0, None))
    if integrality is not None and np.any(integrality):
        R.refuse("linprog with integrality on traced parameters", "solve for whole numbers outside, and pass them in")
    told = {name: given("scipy.optimize.linprog", name, x) for name, x in (("method", method), ("options", options))}
    costs: Any = np.reshape(vector(c), (-1,))
    n = costs.type.static_shape()[0]
    (A, b), (E, e) = _matrix("ub", A_ub, b_ub, n), _matrix("eq", A_eq, b_eq, n)
    below, above = sides_of_pairs(_pairs(bounds, n), n)
    m, k = A.type.static_shape()[0], E.type.static_shape()[0]
    whole = np.concatenate([A, E], axis=0)
    value = Closed("linprog", lambda x: np.sum(costs * x), floats(n))
    rows = Rows(value, Closed("linprog_rows", lambda x: np.concatenate([whole @ x, x]), floats(n)), n)
    low, high = np.concatenate([np.full(m, -np.inf), e, below]), np.concatenate([b, e, above])

    def solve(f: Any, x: Any, low: Any, high: Any) -> Any:
        matrix, ends = rows.matrix(f, x), np.stack([low, high], axis=1)[m + k :]
        made: Any = scipy.optimize.linprog(
            f[1](x), matrix[:m], high[:m], matrix[m : m + k], high[m : m + k], bounds=ends, **told
        )
        x = np.full(n, np.nan) if made.x is None else np.asarray(made.x, float)
        return x, bool(made.success), int(made.status), int(made.nit)

    x, prices, success, status, nit = constrained(
        rows, vector(np.zeros(n)), low, high, (bool, int, int), solve, full=True
    )
    slack, con, at = b - A @ x, e - E @ x, prices[m + k :]
    return Solved(
        x=x, fun=np.sum(costs * x), slack=slack, con=con, success=success, status=status, nit=nit,
        ineqlin=Solved(residual=slack, marginals=prices[:m]), eqlin=Solved(residual=con, marginals=prices[m : m + k]),
        lower=Solved(residual=x - below, marginals=np.maximum(at, 0.0)),
        upper=Solved(residual=above - x, marginals=np.minimum(at, 0.0)),
    )  # fmt: skip


recode("scipy.optimize", {"linprog": linprog})

__all__ = ["linprog"]
