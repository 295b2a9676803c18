"""Matrix equations by scipy.linalg with traced matrices: Sylvester's and Lyapunov's, square roots, banded systems.

SciPy solves on numbers; the cotangent of a solution solves Sylvester's equation of the transposed matrices, which is a
call of the same kind, so every order follows. Banded systems are solved as full ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.numpy.scipy.scipy_functions import given
from ...compiler.frontend.patched.recoded import recode
from ..external import External
from ..rules import custom_vjp
from .closed import vector


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    import scipy.linalg

    return np.asarray(scipy.linalg.solve_sylvester(a, b, q), float)


def _root(a: Any) -> Any:
    import scipy.linalg

    made = np.asarray(scipy.linalg.sqrtm(a))
    if made.dtype.kind == "c":
        raise ValueError("sqrtm of a matrix whose square root is complex, which is not supported in traced functions")
    return np.asarray(made, float)


_solved = External(_sylvester, lambda a, b, q: q, None, False, None)
_rooted = External(_root, lambda a: a, None, False, None)


@custom_vjp
def sylvester(a: Any, b: Any, q: Any) -> Any:
    """x with a x + x b = q."""
    return _solved(a, b, q)


def _sylvester_back(saved: Any, ct: Any) -> Any:
    a, b, x = saved
    y = sylvester(a.T, b.T, ct)
    return -(y @ x.T), -(x.T @ y), y


def _sylvester_forth(a: Any, b: Any, q: Any) -> Any:
    x = sylvester(a, b, q)
    return x, (a, b, x)


@custom_vjp
def root(a: Any) -> Any:
    """The principal x with x x = a."""
    return _rooted(a)


def _root_forth(a: Any) -> Any:
    x = root(a)
    return x, x


sylvester.defvjp(_sylvester_forth, _sylvester_back)
root.defvjp(_root_forth, lambda x, ct: (sylvester(x.T, x.T, ct),))


def _square(name: str, *matrices: Any) -> list[Any]:
    made = [vector(each) for each in matrices]
    for each in made:
        if each.ndim != 2 or each.shape[0] != each.shape[1]:
            R.refuse(f"{name} of an array of shape {each.shape}", "give it square matrices; pullback.vmap has batches")
    return made


def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    return root(*_square("sqrtm", A))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return sylvester(*_square("solve_sylvester", a, b), vector(q))


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    a, q = _square("solve_continuous_lyapunov", a, q)
    return sylvester(a, a.T, q)


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """By Cayley's transform, which makes it a continuous one."""
    a, q = _square("solve_discrete_lyapunov", a, q)
    eye = np.eye(a.shape[0])
    inverse = np.linalg.inv(a + eye)
    b = inverse @ (a - eye)
    return sylvester(b, b.T, -2 * (inverse @ q @ inverse.T))


# ---- banded systems


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    low, up = given("scipy.linalg.solve_banded", "l_and_u", l_and_u)
    return np.linalg.solve(_full(ab, low, up), vector(b))


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    width = vector(ab).shape[0] - 1
    half = _full(ab, width, 0) if lower else _full(ab, 0, width)
    return np.linalg.solve(half + half.T - np.diag(np.diagonal(half)), vector(b))


def _full(ab: Any, low: int, up: int) -> Any:
    """The matrix whose element i, j is ab[up + i - j, j]."""
    bands = vector(ab)
    if bands.shape[0] != low + up + 1:
        raise ValueError("invalid values for the number of lower and upper diagonals: l+u+1 must equal ab.shape[0]")
    i, j = np.indices((bands.shape[1],) * 2)
    row = up + i - j
    return np.where((row >= 0) & (row <= low + up), bands[np.clip(row, 0, low + up), j], 0.0)


recode("scipy.linalg", {
    each.__name__: each
    for each in (
        sqrtm, solve_sylvester, solve_continuous_lyapunov, solve_discrete_lyapunov, solve_banded, solveh_banded
    )
})  # fmt: skip

__all__ = ["root", "sylvester"]
