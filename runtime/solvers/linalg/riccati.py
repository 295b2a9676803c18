"""Riccati's algebraic equations by scipy.linalg with traced matrices: the solutions that control is designed by.

SciPy solves on numbers. With the feedback K and the closed loop C = A - B K the solution is X of the linear equation
Q + K^H R K + C^H X + X C = 0, or X = Q + K^H R K + C^H X C for discrete time, in which K is stationary: so its
differential is that of a Lyapunov equation of C with K held (Kao and Hennequin, "Automatic differentiation of
Sylvester, Lyapunov, and algebraic Riccati equations", 2020), and every order follows. Forms with E and S are made
into those without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend.numpy.complex.complexes import ANY
from ....compiler.frontend.numpy.matrices.linalg import emitted
from ....compiler.frontend.patched.recoded import recode
from ....compiler.ops.require import require
from ...external import External
from ...rules import custom_vjp
from .matrices import Parts, adjoint, alike, matrix, numeric, parts, stein, sylvester, whole

# ---- with derivatives


def _by_scipy(name: str) -> External:
    def solved(a: Any, b: Any, r: Any, q: Any) -> Any:
        import scipy.linalg

        q, r = ((each + each.conj().T) / 2 for each in (q, r))
        return getattr(scipy.linalg, name)(a, b, q, r)

    return External(numeric(solved), lambda a, b, r, q: q, None, False, None)


_continuous, _discrete = (_by_scipy(f"solve_{kind}_are") for kind in ("continuous", "discrete"))


@custom_vjp
def continuous(a: Parts, b: Parts, r: Parts, q: Parts) -> Any:
    """x with a^H x + x a - x b r^-1 b^H x + q = 0; all of them real, or all complex."""
    return _continuous(a, b, r, q)


@custom_vjp
def discrete(a: Parts, b: Parts, r: Parts, q: Parts) -> Any:
    """x with a^H x a - x - a^H x b (r + b^H x b)^-1 b^H x a + q = 0; all of them real, or all complex."""
    return _discrete(a, b, r, q)


def _forth(function: Callable[..., Any]) -> Callable[..., Any]:
    def forth(a: Parts, b: Parts, r: Parts, q: Parts) -> Any:
        x = function(a, b, r, q)
        return x, (a, b, r, x)

    return forth


def _hermitian(ct: Parts) -> Any:
    g = whole(ct)
    return (g + adjoint(g)) / 2


def _cotangents(feedback: Any, slope: Any, closed: Any) -> Any:
    """Of a, b, r and q, from those of the equation and of the closed loop."""
    of_r = feedback @ slope @ adjoint(feedback)
    return tuple(map(parts, (closed, -(closed @ adjoint(feedback)), of_r, slope)))


def _continuous_back(saved: Any, ct: Any) -> Any:
    a, b, r, x = map(whole, saved)
    feedback = np.linalg.solve(r, adjoint(b) @ x)
    loop = a - b @ feedback
    slope = whole(sylvester(parts(loop), parts(adjoint(loop)), parts(-_hermitian(ct))))
    return _cotangents(feedback, slope, 2 * (x @ slope))


def _discrete_back(saved: Any, ct: Any) -> Any:
    a, b, r, x = map(whole, saved)
    feedback = np.linalg.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
    loop = a - b @ feedback
    slope = stein(loop, _hermitian(ct))
    return _cotangents(feedback, slope, 2 * (x @ loop @ slope))


continuous.defvjp(_forth(continuous), _continuous_back)
discrete.defvjp(_forth(discrete), _discrete_back)

# ---- SciPy's names


def _fits(condition: bool, text: str) -> None:
    if not condition:
        raise ValueError(text)


def _is_hermitian(name: str, x: Any) -> None:
    def size(each: Any) -> Any:
        return np.max(np.sum(abs(each), axis=-2), initial=0.0)

    near = size(x - adjoint(x)) <= 100 * np.finfo(float).eps * size(x)
    emitted(require, near, error="ValueError", text=f"Matrix {name} should be symmetric/hermitian.")


def _solution(function: Callable[..., Any], a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Any:
    a, b, q, r = (np.atleast_2d(matrix(each)) for each in (a, b, q, r))
    for name, x in (("a", a), ("q", q), ("r", r)):
        _fits(x.shape[-2] == x.shape[-1], f"Matrix {name} should be square.")
    _fits(b.shape[-2] == a.shape[-1], "Matrix a and b should have the same number of rows.")
    _fits(q.shape[-1] == a.shape[-1], "Matrix a and q should have the same shape.")
    _fits(r.shape[-1] == b.shape[-1], "Matrix b and r should have the same number of cols.")
    _is_hermitian("q", q)
    _is_hermitian("r", r)
    if s is not None:
        s = np.atleast_2d(matrix(s))
        _fits(s.shape[-2:] == b.shape[-2:], "Matrix b and s should have the same shape.")
    if e is not None:
        e = np.atleast_2d(matrix(e))
        _fits(e.shape[-1] == e.shape[-2], "Matrix e should be square.")
        _fits(e.shape[-1] == a.shape[-1], "Matrix a and e should have the same shape.")
        inverse = np.linalg.inv(e)
        a, q = a @ inverse, adjoint(inverse) @ q @ inverse
        s = None if s is None else adjoint(inverse) @ s
    if s is not None:
        known = np.linalg.solve(r, adjoint(s))
        a, q = a - b @ known, q - s @ known
    return whole(function(*alike(a, b, r, q)))


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    return _solution(continuous, a, b, q, r, e, s)


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    return _solution(discrete, a, b, q, r, e, s)


_MEANINGS = (solve_continuous_are, solve_discrete_are)
recode("scipy.linalg", {each.__name__: each for each in _MEANINGS})
ANY.update(_MEANINGS)

__all__ = ["continuous", "discrete"]
