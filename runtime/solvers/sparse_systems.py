"""Equations with SciPy's sparse matrices, A x = b for a traced b: by scipy.sparse.linalg's functions, on numbers.

The matrix is one of now. The cotangent of b solves the equation of the transposed matrix, which is a call of the same
kind, so every order follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.numpy.scipy.scipy_functions import given
from ...compiler.frontend.patched.recoded import recode
from ..external import External
from ..rules import custom_vjp
from .closed import vector

Solver = Callable[[Any, np.ndarray], Any]
ITERATIVE = ("bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr", "tfqmr")


def _system(solver: Solver, matrix: Any) -> Any:
    """The solution as a function of b, and of whether the matrix is transposed."""

    def solved(b: np.ndarray, transposed: bool) -> np.ndarray:
        return np.asarray(solver(matrix.T if transposed else matrix, b), float)

    numbers = External(solved, lambda b, transposed: b, None, False, None)

    @custom_vjp
    def solution(b: Any, transposed: Any) -> Any:
        return numbers(b, transposed)

    def forth(b: Any, transposed: Any) -> Any:
        return solution(b, transposed), transposed

    def back(transposed: Any, ct: Any) -> Any:
        return solution(ct, np.logical_not(transposed)), None

    solution.defvjp(forth, back)
    return solution


def _right_side(name: str, matrix: Any, b: Any) -> Any:
    made = vector(b)
    if made.ndim not in (1, 2) or matrix.shape[0] != matrix.shape[1] or made.shape[0] != matrix.shape[0]:
        R.refuse(
            f"{name} of a matrix of shape {matrix.shape} and a right side of shape {made.shape}",
            "the matrix is square, with as many rows as the right side has",
        )
    return made


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    import scipy.sparse
    import scipy.sparse.linalg

    A = given("scipy.sparse.linalg.spsolve", "A", A)

    def solver(matrix: Any, b: np.ndarray) -> Any:
        return scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(matrix), b, permc_spec, use_umfpack)

    return _system(solver, A)(_right_side("scipy.sparse.linalg.spsolve", A, b), False)


def _iterative(name: str) -> Callable[..., Any]:
    def solve(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        """The solution, and 0: a solver that has not converged is an error."""
        import scipy.sparse.linalg

        full, kept = f"scipy.sparse.linalg.{name}", {k: given(name, k, v) for k, v in options.items()}
        if not hasattr(given(full, "A", A), "T") or kept.keys() & {"M", "M1", "M2", "callback"}:
            R.refuse(f"{full} of a traced right side, with a preconditioner, a callback or an operator",
                     "give it a matrix alone, or solve under @pullback.implicit(residual)")

        def solver(matrix: Any, b: np.ndarray) -> np.ndarray:
            made, failed = getattr(scipy.sparse.linalg, name)(matrix, b, **kept)
            if failed:
                raise RuntimeError(f"{full} has not converged ({failed}): give it a looser rtol or a greater maxiter")
            return made

        return _system(solver, A)(_right_side(full, A, b), False), 0

    return solve


recode("scipy.sparse.linalg", {"spsolve": spsolve, **{name: _iterative(name) for name in ITERATIVE}})

__all__ = ["spsolve"]
