"""Equations with SciPy's sparse matrices, A x = b for traced b or entries, by scipy.sparse.linalg on numbers.

The cotangent of b solves the equation of the transposed matrix, which is a call of the same kind, so every order
follows. Entries of a matrix that is made in the function may be traced; where they stand is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.scipy.sparse.entries import entries
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import concrete, making, recode
from ...external import External
from ...rules import custom_vjp
from ..closed import vector

Solver = Callable[[Any, np.ndarray], Any]
ITERATIVE = ("bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr", "tfqmr")


def _system(solver: Solver, matrix: Any) -> Any:
    """The solution as a function of b, and of whether the matrix is transposed."""
    if not concrete(matrix):
        return _of_entries(solver, matrix)

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


def _of_entries(solver: Solver, matrix: Any) -> Any:
    """Of a matrix of traced entries, whose cotangents are minus products of the solution and b's cotangent."""
    import scipy.sparse

    rows, columns, data, shape = entries(matrix)

    def solved(data: np.ndarray, b: np.ndarray, transposed: bool) -> np.ndarray:
        at = (columns, rows) if transposed else (rows, columns)
        return np.asarray(solver(scipy.sparse.csc_array((data, at), shape=shape), b), float)

    numbers = External(solved, lambda data, b, transposed: b, None, False, None)

    @custom_vjp
    def solution(data: Any, b: Any, transposed: Any) -> Any:
        return numbers(data, b, transposed)

    def forth(data: Any, b: Any, transposed: Any) -> Any:
        x = solution(data, b, transposed)
        return x, (data, x, transposed)

    def back(kept: Any, ct: Any) -> Any:
        data, x, transposed = kept
        turned = solution(data, ct, np.logical_not(transposed))
        pairs = turned[rows] * x[columns], turned[columns] * x[rows]
        slopes = np.where(transposed, pairs[1], pairs[0])
        return -(slopes if slopes.ndim == 1 else np.sum(slopes, axis=1)), turned, None

    solution.defvjp(forth, back)
    return lambda b, transposed: solution(vector(data), b, transposed)


def _right_side(name: str, matrix: Any, b: Any) -> Any:
    made = vector(b)
    if made.ndim not in (1, 2) or matrix.shape[0] != matrix.shape[1] or made.shape[0] != matrix.shape[0]:
        R.unfit(
            f"{name} of a matrix of shape {matrix.shape} and a right side of shape {made.shape}",
            "the matrix is square, with as many rows as the right side has",
        )
    return made


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    import scipy.sparse
    import scipy.sparse.linalg

    def solver(matrix: Any, b: np.ndarray) -> Any:
        return scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(matrix), b, permc_spec, use_umfpack)

    return _system(solver, A)(_right_side("scipy.sparse.linalg.spsolve", A, b), False)


def _iterative(name: str) -> Callable[..., Any]:
    def solve(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        """The solution, and 0: a solver that has not converged is an error."""
        import scipy.sparse.linalg

        full, kept = f"scipy.sparse.linalg.{name}", {k: given(name, k, v) for k, v in options.items()}
        if not hasattr(A, "T") or kept.keys() & {"M", "M1", "M2", "callback"}:
            R.refuse(f"{full} of a traced right side, with a preconditioner, a callback or an operator",
                     "give it a matrix alone, or solve under @pullback.implicit(residual)")

        def solver(matrix: Any, b: np.ndarray) -> np.ndarray:
            made, failed = getattr(scipy.sparse.linalg, name)(matrix, b, **kept)
            if failed:
                raise RuntimeError(f"{full} has not converged ({failed}): give it a looser rtol or a greater maxiter")
            return made

        return _system(solver, A)(_right_side(full, A, b), False), 0

    return solve


class Factors:
    """What `splu` gives in a traced function: it solves for known and traced right sides."""

    def __init__(self, matrix: Any, made: Any) -> None:
        self.matrix, self.shape, self.made = matrix, matrix.shape, made

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        import scipy.sparse.linalg

        if self.made is not None and concrete(rhs):
            return self.made.solve(rhs, trans)
        return scipy.sparse.linalg.spsolve(self.matrix if trans == "N" else self.matrix.T, rhs)

    def __getattr__(self, name: str) -> Any:
        if self.made is None:
            R.refuse(f"{name} of splu() of a matrix with traced entries", "solve with it, or use scipy.linalg.lu")
        return getattr(self.made, name)


@making
def splu(original: Any, A: Any, *given: Any, **options: Any) -> Any:
    return Factors(A, original(A, *given, **options) if concrete(A) else None)


@making
def factorized(original: Any, A: Any) -> Any:
    return Factors(A, None).solve


recode("scipy.sparse.linalg", {
    "spsolve": spsolve, "splu": splu, "factorized": factorized, **{name: _iterative(name) for name in ITERATIVE},
})  # fmt: skip

__all__ = ["spsolve"]
