"""Matrix equations by scipy.linalg with traced matrices: Sylvester's and Lyapunov's, roots, signs, logarithms.

SciPy solves on numbers. A complex matrix is a tuple of its two parts here, because rules of functions take real arrays.
The cotangent of a solution solves Sylvester's equation of the adjoint matrices, which is a call of the same kind, so
every order follows. Logarithms are made of roots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import unknown
from ....compiler.frontend.numpy.complex.complexes import ANY
from ....compiler.frontend.numpy.matrices.linalg import as_float, holds
from ....compiler.frontend.numpy.reductions import traced
from ....compiler.frontend.numpy.scipy.linalg.factors import expm
from ....compiler.frontend.patched.recoded import recode
from ....compiler.frontend.promotion import result_dtype
from ...control import while_loop
from ...custom import freeze_sizes
from ...external import External
from ...rules import custom_vjp
from ...vmap import vmap

Parts = tuple[Any, ...]
"""A real matrix alone, or the real and the imaginary part of a complex one; traced, or numbers."""


def parts(x: Any) -> Parts:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def whole(x: Parts) -> Any:
    return x[0] if len(x) == 1 else x[0] + 1j * x[1]


def adjoint(x: Any) -> Any:
    made = np.swapaxes(x, -1, -2)
    return np.conjugate(made) if x.dtype.kind == "c" else made


def matrix(x: Any) -> Any:
    """An argument in double precision."""
    made = as_float(traced(x)[1])
    freeze_sizes("a function of scipy.linalg", [made])
    return made.astype(np.result_type(made.dtype, np.float64))


def square(name: str, *matrices: Any) -> list[Any]:
    """Square matrices in double precision, with what stands before them of a batch."""
    made = [matrix(each) for each in matrices]
    for each in made:
        if each.ndim < 2 or each.shape[-2] != each.shape[-1]:
            R.unfit(f"{name} of an array of shape {each.shape}", "give it square matrices")
    return made


def narrowed(x: Any, *args: Any) -> Any:
    """A result in the precision of the arguments."""
    kind = result_dtype(*(traced(a)[1] for a in args))
    return x.astype(np.result_type(kind, np.complex64) if x.dtype.kind == "c" else kind) if kind.kind in "fc" else x


def alike(*matrices: Any) -> list[Parts]:
    """All with two parts, if one has them, and with one batch before them."""
    kind, lead = np.result_type(*(x.dtype for x in matrices)), np.broadcast_shapes(*(x.shape[:-2] for x in matrices))
    return [parts(np.broadcast_to(x, (*lead, *x.shape[-2:])).astype(kind)) for x in matrices]


# ---- functions of SciPy's on numbers


def numeric(function: Callable[..., Any]) -> Callable[..., Parts]:
    """The function of parts, matrix by matrix; its result is of the last one's shape."""

    def called(*matrices: Parts) -> Parts:
        given = [whole(each) for each in matrices]
        lead = given[0].shape[:-2]
        made = [np.asarray(function(*(x[at] for x in given))) for at in np.ndindex(lead)]
        found = np.array(made).reshape(lead + made[0].shape) if made else given[-1]
        return tuple(np.array(part, float) for part in parts(found))

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


def _sign(a: Any) -> Any:
    import scipy.linalg

    made: Any = scipy.linalg.signm(a)
    made = made if np.iscomplexobj(a) else np.real(made)
    if a.size and not np.abs(made @ made - np.eye(len(a))).max() < 1e-6:
        raise np.linalg.LinAlgError("signm of a matrix with an eigenvalue on the imaginary axis, or near it")
    return made


_solved = External(numeric(_sylvester), lambda a, b, q: q, None, False, None)
_rooted = External(numeric(_root), lambda a: a, None, False, None)
_signed = External(numeric(_sign), lambda a: a, None, False, None)

# ---- with derivatives


@custom_vjp
def sylvester(a: Parts, b: Parts, q: Parts) -> Any:
    """x with a x + x b = q; all of them real, or all complex."""
    return _solved(a, b, q)


def _sylvester_forth(a: Parts, b: Parts, q: Parts) -> Any:
    x = sylvester(a, b, q)
    return x, (a, b, x)


def _sylvester_back(saved: Any, ct: Any) -> Any:
    a, b, x = map(whole, saved)
    y = whole(sylvester(parts(adjoint(a)), parts(adjoint(b)), ct))
    return parts(-(y @ adjoint(x))), parts(-(adjoint(x) @ y)), parts(y)


@custom_vjp
def root(a: Parts) -> Any:
    """The principal x with x x = a."""
    return _rooted(a)


def _root_forth(a: Parts) -> Any:
    x = root(a)
    return x, x


def _root_back(x: Parts, ct: Any) -> Any:
    turned = parts(adjoint(whole(x)))
    return (sylvester(turned, turned, ct),)


@custom_vjp
def sign(a: Parts) -> Any:
    """The x with x x = 1 that commutes with a, and a root of a a with positive real parts is x a."""
    return _signed(a)


def _sign_forth(a: Parts) -> Any:
    x = sign(a)
    return x, (a, x)


def _sign_back(saved: Any, ct: Any) -> Any:
    """N dX + dX N = dA - X dA X for the root N (Higham, "Functions of Matrices", 2008, section 5.3)."""
    a, x = map(whole, saved)
    turned, outer = parts(adjoint(x @ a)), adjoint(x)
    y = whole(sylvester(turned, turned, ct))
    return (parts(y - outer @ y @ outer),)


sylvester.defvjp(_sylvester_forth, _sylvester_back)
root.defvjp(_root_forth, _root_back)
sign.defvjp(_sign_forth, _sign_back)

_NODES, _WEIGHTS = (v / 2 for v in np.polynomial.legendre.leggauss(16))
_NEAR, _ROOTS = 0.5, 64
"""So near the identity the 16th Pade approximant is exact, with its derivatives; so many roots lead there."""


def logarithm(a: Any) -> Any:
    """The principal x with exp(x) = a: of a root near the identity, as often as that has been rooted.

    Inverse scaling and squaring (Kenney and Laub, 1989; Higham, "Functions of Matrices", 2008, section 11.5), with the
    Pade approximant as partial fractions (Dieci, Morini and Papini, 1996). Its derivatives are those of its steps.
    """
    eye = np.eye(a.shape[0])

    def distance(x: Parts) -> Any:
        return np.max(np.sum(abs(whole(x) - eye), axis=0), initial=0.0)

    near, scale = while_loop(
        lambda now: (distance(now[0]) > _NEAR) & (now[1] < 2.0**_ROOTS),
        lambda now: (root(now[0]), 2.0 * now[1]),
        (parts(a), 1.0),
    )
    holds(~(distance(near) > _NEAR), "logm of a singular matrix")
    rest = whole(near) - eye
    fractions = np.linalg.solve(eye + (0.5 + _NODES)[:, None, None] * rest, rest)
    return scale * np.sum(_WEIGHTS[:, None, None] * fractions, axis=0)


# ---- SciPy's names


def _shown(name: str, disp: Any) -> None:
    if disp in (False, 0):
        raise unknown(f"scipy.linalg.{name}", " with disp=False")


def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    _shown("sqrtm", disp)
    return narrowed(whole(root(parts(*square("sqrtm", A)))), A)


def logm(A: Any, disp: Any = None) -> Any:
    """In double precision, whatever the matrix is."""
    _shown("logm", disp)
    (x,) = square("logm", A)
    if x.ndim == 2:
        return logarithm(x)
    each = parts(x.reshape((-1, *x.shape[-2:])))
    return whole(vmap(lambda a: parts(logarithm(whole(a))))(each)).reshape(x.shape)


def signm(A: Any, disp: Any = None) -> Any:
    _shown("signm", disp)
    return narrowed(whole(sign(parts(*square("signm", A)))), A)


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """The exponential of t times the logarithm, in double precision, where t is not known as a whole number."""
    if isinstance(t, (int, float, np.integer, np.floating)) and float(t).is_integer():
        return np.linalg.matrix_power(traced(A)[1], int(t))
    if np.ndim(t):
        raise unknown("scipy.linalg.fractional_matrix_power", f" with t of shape {np.shape(t)}")
    return expm(t * logm(A))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return narrowed(whole(sylvester(*alike(*square("solve_sylvester", a, b), matrix(q)))), a, b, q)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    x, y = square("solve_continuous_lyapunov", a, q)
    return narrowed(whole(sylvester(*alike(x, adjoint(x), y))), a, q)


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """By Cayley's transform, which makes it a continuous one; in double precision."""
    return stein(*square("solve_discrete_lyapunov", a, q))


def stein(a: Any, q: Any) -> Any:
    """x with x - a x a^H = q."""
    eye = np.eye(a.shape[-1])
    inverse = np.linalg.inv(a + eye)
    b = inverse @ (a - eye)
    made = whole(sylvester(*alike(b, adjoint(b), -2 * (inverse @ q @ adjoint(inverse)))))
    largest, asked = np.max(abs(made), initial=0.0), np.max(abs(q), initial=0.0)
    singular = np.finfo(float).eps * largest > asked  # rounding alone makes of a singular equation one like that
    holds(~singular, "A singular matrix detected: two eigenvalues of a have the product 1")
    return made


_MEANINGS = (
    sqrtm, logm, signm, fractional_matrix_power, solve_sylvester, solve_continuous_lyapunov, solve_discrete_lyapunov,
)
recode("scipy.linalg", {each.__name__: each for each in _MEANINGS})
ANY.update(_MEANINGS)

__all__ = [
    "Parts", "adjoint", "alike", "logarithm", "matrix", "narrowed", "numeric", "parts", "root", "sign", "stein",
    "sylvester", "whole",
]  # fmt: skip
