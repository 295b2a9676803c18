"""The polar factors of traced matrices by scipy.linalg: a unitary one and a positive one, with their derivatives.

For A = U P the differential of U is U W + (1 - U U^H) dA P^-1, where the skew W solves W P + P W = U^H dA - dA^H U: an
equation of Sylvester's, which asks for no difference of singular values. So a matrix that is orthogonal, or nearly so,
has its derivative as any other of full rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend.numpy.complex.complexes import ANY
from ....compiler.frontend.numpy.matrices.linalg import matrices
from ....compiler.frontend.patched.recoded import recode
from ...rules import custom_vjp
from .matrices import Parts, adjoint, narrowed, parts, sylvester, whole


@custom_vjp
def unitary(a: Parts) -> Any:
    """U of a matrix with as many rows as columns, or more."""
    u, _, vh = np.linalg.svd(whole(a), full_matrices=False)
    return parts(u @ vh)


def _unitary_forth(a: Parts) -> Any:
    u = unitary(a)
    return u, (a, u)


def _unitary_back(saved: Any, ct: Any) -> Any:
    (a, u), g = map(whole, saved), whole(ct)
    p, inner = _hermitian_part(adjoint(u) @ a), adjoint(u) @ g
    turn = whole(sylvester(parts(p), parts(p), parts(inner)))
    made = u @ (turn - adjoint(turn))
    if a.shape[-2] > a.shape[-1]:
        rest = g - u @ inner
        made = made + adjoint(np.linalg.solve(p, adjoint(rest)))
    return (parts(made),)


unitary.defvjp(_unitary_forth, _unitary_back)


def _hermitian_part(x: Any) -> Any:
    return (x + adjoint(x)) / 2


def polar(a: Any, side: str = "right") -> Any:
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    x = matrices("scipy.linalg.polar", a, square=False)
    wide = x.astype(np.result_type(x.dtype, np.float64))
    if x.shape[-2] < x.shape[-1]:
        u = adjoint(whole(unitary(parts(adjoint(wide)))))
    else:
        u = whole(unitary(parts(wide)))
    p = adjoint(u) @ wide if side == "right" else wide @ adjoint(u)
    return narrowed(u, x), narrowed(_hermitian_part(p), x)


recode("scipy.linalg", {"polar": polar})
ANY.add(polar)

__all__ = ["polar", "unitary"]
