"""Matrix equations by scipy.linalg with traced matrices: Sylvester's and Lyapunov's, square roots, logarithms, bands.

SciPy solves on numbers. A complex matrix is a tuple of its two parts here, because rules of functions take real arrays.
The cotangent of a solution solves Sylvester's equation of the adjoint matrices, which is a call of the same kind, so
every order follows. Logarithms are made of roots, and banded systems are solved as full ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.array import unknown
from ...compiler.frontend.numpy.complex.complexes import ANY
from ...compiler.frontend.numpy.matrices.linalg import as_float, holds
from ...compiler.frontend.numpy.reductions import traced
from ...compiler.frontend.numpy.scipy.scipy_functions import given
from ...compiler.frontend.patched.recoded import recode
from ...compiler.frontend.promotion import result_dtype
from ..control import while_loop
from ..custom import freeze_sizes
from ..external import External
from ..rules import custom_vjp

Parts = tuple[Any, ...]
"""A real matrix alone, or the real and the imaginary part of a complex one; traced, or numbers."""


def _parts(x: Any) -> Parts:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def _whole(parts: Parts) -> Any:
    return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]


def _adjoint(x: Any) -> Any:
    return np.conjugate(x).T if x.dtype.kind == "c" else x.T


def _matrix(x: Any) -> Any:
    """An argument in double precision."""
    made = as_float(traced(x)[1])
    freeze_sizes("a function of scipy.linalg", [made])
    return made.astype(np.result_type(made.dtype, np.float64))


def _square(name: str, *matrices: Any) -> list[Any]:
    made = [_matrix(each) for each in matrices]
    for each in made:
        if each.ndim != 2 or each.shape[0] != each.shape[1]:
            R.refuse(f"{name} of an array of shape {each.shape}", "give it square matrices; pullback.vmap has batches")
    return made


def _narrowed(x: Any, *args: Any) -> Any:
    """A result in the precision of the arguments."""
    kind = result_dtype(*(traced(a)[1] for a in args))
    return x.astype(np.result_type(kind, np.complex64) if x.dtype.kind == "c" else kind) if kind.kind in "fc" else x


def _alike(*matrices: Any) -> list[Parts]:
    """All with two parts, if one has them."""
    kind = np.result_type(*(x.dtype for x in matrices))
    return [_parts(x.astype(kind)) for x in matrices]


# ---- functions of SciPy's on numbers


def _numeric(function: Callable[..., Any]) -> Callable[..., Parts]:
    """The function of parts."""

    def called(*matrices: Parts) -> Parts:
        return tuple(np.array(part, float) for part in _parts(np.asarray(function(*map(_whole, matrices)))))

    return called


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    import scipy.linalg

    return scipy.linalg.solve_sylvester(a, b, q)


def _root(a: Any) -> Any:
    import scipy.linalg

    made = np.asarray(scipy.linalg.sqrtm(a))
    if made.dtype.kind == "c" and a.dtype.kind != "c":
        fix = "call it with complex numbers: a + 0j"
        raise ValueError(f"a real matrix whose square root or logarithm is complex, in a traced function\n  fix: {fix}")
    return made.astype(np.result_type(a, float))


_solved = External(_numeric(_sylvester), lambda a, b, q: q, None, False, None)
_rooted = External(_numeric(_root), lambda a: a, None, False, None)

# ---- with derivatives


@custom_vjp
def sylvester(a: Parts, b: Parts, q: Parts) -> Any:
    """x with a x + x b = q; all of them real, or all complex."""
    return _solved(a, b, q)


def _sylvester_forth(a: Parts, b: Parts, q: Parts) -> Any:
    x = sylvester(a, b, q)
    return x, (a, b, x)


def _sylvester_back(saved: Any, ct: Any) -> Any:
    a, b, x = map(_whole, saved)
    y = _whole(sylvester(_parts(_adjoint(a)), _parts(_adjoint(b)), ct))
    return _parts(-(y @ _adjoint(x))), _parts(-(_adjoint(x) @ y)), _parts(y)


@custom_vjp
def root(a: Parts) -> Any:
    """The principal x with x x = a."""
    return _rooted(a)


def _root_forth(a: Parts) -> Any:
    x = root(a)
    return x, x


def _root_back(x: Parts, ct: Any) -> Any:
    adjoint = _parts(_adjoint(_whole(x)))
    return (sylvester(adjoint, adjoint, ct),)


sylvester.defvjp(_sylvester_forth, _sylvester_back)
root.defvjp(_root_forth, _root_back)

_NODES, _WEIGHTS = (v / 2 for v in np.polynomial.legendre.leggauss(16))
_NEAR, _ROOTS = 0.5, 64
"""So near the identity the 16th Pade approximant is exact, with its derivatives; so many roots lead there."""


def logarithm(a: Any) -> Any:
    """The principal x with exp(x) = a: of a root near the identity, as often as that has been rooted.

    Inverse scaling and squaring (Kenney and Laub, 1989; Higham, "Functions of Matrices", 2008, section 11.5), with the
    Pade approximant as partial fractions (Dieci, Morini and Papini, 1996). Its derivatives are those of its steps.
    """
    eye = np.eye(a.shape[0])

    def distance(parts: Parts) -> Any:
        return np.max(np.sum(abs(_whole(parts) - eye), axis=0), initial=0.0)

    parts, scale = while_loop(
        lambda now: (distance(now[0]) > _NEAR) & (now[1] < 2.0**_ROOTS),
        lambda now: (root(now[0]), 2.0 * now[1]),
        (_parts(a), 1.0),
    )
    holds(~(distance(parts) > _NEAR), "logm of a singular matrix")
    rest = _whole(parts) - eye
    fractions = np.linalg.solve(eye + (0.5 + _NODES)[:, None, None] * rest, rest)
    return scale * np.sum(_WEIGHTS[:, None, None] * fractions, axis=0)


# ---- SciPy's names


def _shown(name: str, disp: Any) -> None:
    if disp in (False, 0):
        raise unknown(f"scipy.linalg.{name}", " with disp=False")


def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    _shown("sqrtm", disp)
    return _narrowed(_whole(root(_parts(*_square("sqrtm", A)))), A)


def logm(A: Any, disp: Any = None) -> Any:
    """In double precision, whatever the matrix is."""
    _shown("logm", disp)
    return logarithm(*_square("logm", A))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return _narrowed(_whole(sylvester(*_alike(*_square("solve_sylvester", a, b), _matrix(q)))), a, b, q)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    x, y = _square("solve_continuous_lyapunov", a, q)
    return _narrowed(_whole(sylvester(*_alike(x, _adjoint(x), y))), a, q)


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """By Cayley's transform, which makes it a continuous one; in double precision."""
    x, y = _square("solve_discrete_lyapunov", a, q)
    eye = np.eye(x.shape[0])
    inverse = np.linalg.inv(x + eye)
    b = inverse @ (x - eye)
    return _whole(sylvester(*_alike(b, _adjoint(b), -2 * (inverse @ y @ _adjoint(inverse)))))


# ---- banded systems


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    low, up = given("scipy.linalg.solve_banded", "l_and_u", l_and_u)
    return _narrowed(np.linalg.solve(_full(ab, low, up), _matrix(b)), ab, b)


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    width = _matrix(ab).shape[0] - 1
    half = _full(ab, width, 0) if lower else _full(ab, 0, width)
    whole = half + _adjoint(half) - np.diag(np.real(np.diagonal(half)))
    return _narrowed(np.linalg.solve(whole, _matrix(b)), ab, b)


def _full(ab: Any, low: int, up: int) -> Any:
    """The matrix whose element i, j is ab[up + i - j, j]."""
    bands = _matrix(ab)
    if bands.shape[0] != low + up + 1:
        raise ValueError("invalid values for the number of lower and upper diagonals: l+u+1 must equal ab.shape[0]")
    i, j = np.indices((bands.shape[1],) * 2)
    row = up + i - j
    return np.where((row >= 0) & (row <= low + up), bands[np.clip(row, 0, low + up), j], 0.0)


_MEANINGS = (
    sqrtm, logm, solve_sylvester, solve_continuous_lyapunov, solve_discrete_lyapunov, solve_banded, solveh_banded
)
recode("scipy.linalg", {each.__name__: each for each in _MEANINGS})
ANY.update(_MEANINGS)

__all__ = ["logarithm", "root", "sylvester"]
