"""scipy.linalg's forms of matrices and bases of spaces on traced arguments: Schur's, Hessenberg's, LDL, RQ, `orth`.

Forms and bases that depend on LAPACK's choice have the derivative of what does not: a result that depends on the choice
is an error of the call (`ops.linalg.similarity`, `ops.linalg.complements`). A basis has as many vectors as a matrix of
full rank gives, as shapes do not depend on values. A function of a matrix is that of its eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....ops.complex import similarities
from .....ops.linalg import similarity, symmetric
from ....array import FUNCTIONS, Array, unknown
from ....patched.recoded import recode
from ...complex.complexes import ANY, imag, real
from ...complex.linalg import adjoint, paired, unpaired
from ...matrices.linalg import default_rtol, emitted, holds, is_finite, matrices
from ...products import matmul
from ...ufuncs import clip, elementwise
from ...ufuncs import where as chosen
from .functions import BY_PROTOCOL, of_triangle

# ---- forms


def _form(x: Array, prim: Any, of_complex: Any, text: str, **attributes: Any) -> list[Array]:
    """The results of a primitive or of its complex twin; the call fails where there are none."""
    if x.type.is_complex:
        made = emitted(of_complex, paired(x), **attributes)
        found = [unpaired(v) if v.ndim == x.ndim + 1 else v for v in made]
    else:
        found = list(emitted(prim, x, **attributes))
    if x.size:
        lost = elementwise(np.logical_and, elementwise(np.isnan, found[0][..., 0, 0]), is_finite(x))
        holds(elementwise(np.logical_not, lost), text)
    return found


def schur(
    a: Any, output: str = "real", lwork: Any = None, overwrite_a: bool = False, sort: Any = None,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    x = matrices("scipy.linalg.schur", a)
    if output in ("complex", "c"):
        x = x.astype(np.result_type(x.dtype, np.complex64))
    if callable(sort):
        raise unknown("scipy.linalg.schur", " with sort as a function: give it 'lhp', 'rhp', 'iuc' or 'ouc'")
    if sort not in (None, "lhp", "rhp", "iuc", "ouc"):
        raise ValueError("sort parameter must be 'None', 'lhp','rhp','iuc','ouc', or callable")
    text = "Schur form not found. Possibly ill-conditioned."
    t, z, count = _form(x, similarity.schur, similarities.schur, text, sort=sort or "none")
    return (t, z) if sort is None else (t, z, count.astype(np.int64))


def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    x = matrices("scipy.linalg.hessenberg", a)
    h, q = _form(x, similarity.hessenberg, similarities.hessenberg, "Hessenberg form not found")
    if x.shape[-1] <= 2:  # it is in the form as it is
        q = elementwise(np.add, elementwise(np.multiply, real(x), 0), np.eye(x.shape[-1])).astype(np.float64)
    return (h, q) if calc_q else h


def ldl(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The triangle's elements, and of Hermitian matrices the real parts of the diagonal."""
    x = of_triangle(matrices("scipy.linalg.ldl", A), not lower, is_hermitian=hermitian)
    text, how = "no LDL factors found", {"lower": int(lower), "hermitian": int(hermitian)}
    factor, d, moved = _form(x, symmetric.ldl, similarities.ldl, text, **how)
    order = FUNCTIONS[np.argmax](real(moved), -1)
    return factor, d, order


def _flipped(x: Array) -> Array:
    return x[..., ::-1, ::-1]


def rq(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True
) -> Any:
    """QR of the adjoint with its rows and columns in reverse order."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    x = matrices("scipy.linalg.rq", a, square=False)
    q, r = BY_PROTOCOL.qr(adjoint(_flipped(x)), "reduced" if mode == "economic" else "complete")
    found = _flipped(adjoint(r))
    return found if mode == "r" else (found, _flipped(adjoint(q)))


# ---- spaces


def _of_full_rank(name: str, s: Any, x: Array, rcond: Any) -> None:
    if s.size:
        bound = elementwise(np.multiply, s[..., :1], default_rtol(x) if rcond is None else rcond)
        text = f"scipy.linalg.{name} of a matrix of less than full rank, of which a traced function cannot give as "
        text += "many vectors as values tell; take the rank you know from np.linalg.svd"
        holds(elementwise(np.greater, s, bound), text)


def orth(A: Any, rcond: Any = None) -> Array:
    x = matrices("scipy.linalg.orth", A, square=False)
    u, s, _ = BY_PROTOCOL.svd(x, full_matrices=False)
    _of_full_rank("orth", s, x, rcond)
    return u


def null_space(
    A: Any, rcond: Any = None, *, overwrite_a: bool = False, check_finite: bool = True, lapack_driver: str = "gesdd"
) -> Array:
    """What np.linalg.svd has beyond the singular values."""
    x = matrices("scipy.linalg.null_space", A, square=False)
    n = min(x.shape[-2:])
    _, s, vh = BY_PROTOCOL.svd(x)
    _of_full_rank("null_space", s, x, rcond)
    return adjoint(vh[..., n:, :])


def _basis(x: Array) -> Array:
    """Of the space of the columns: any basis will do, where they are more than the rows that of all."""
    _of_full_rank("subspace_angles", BY_PROTOCOL.svdvals(x), x, None)
    rows = x.shape[-2]
    if x.shape[-1] < rows:
        return BY_PROTOCOL.qr(x)[0]
    return elementwise(np.add, elementwise(np.multiply, x[..., :rows], 0), np.eye(rows, dtype=x.dtype))


def subspace_angles(A: Any, B: Any) -> Array:
    """Small angles by their sines, large ones by their cosines (Knyazev and Argentati, 2002)."""
    x, y = (matrices("scipy.linalg.subspace_angles", each, square=False) for each in (A, B))
    if x.shape[-2] != y.shape[-2]:
        text = f"A and B must have the same number of rows, got {x.shape[-2]} and {y.shape[-2]}"
        raise ValueError(text)
    p, q = _basis(x), _basis(y)
    if p.shape[-1] < q.shape[-1]:
        p, q = q, p
    cosines = matmul(adjoint(p), q)
    rest = elementwise(np.subtract, q, matmul(p, cosines))
    cos, sin = (clip(BY_PROTOCOL.svdvals(each), -1.0, 1.0) for each in (cosines, rest))
    cos = cos[..., ::-1]
    small = elementwise(np.greater_equal, elementwise(np.square, cos), 0.5)
    by_sine = elementwise(np.arcsin, chosen(small, sin, 0.0))
    return chosen(small, by_sine, elementwise(np.arccos, chosen(small, 0.0, cos)))


# ---- functions


def funm(A: Any, func: Callable[..., Any], disp: Any = True) -> Array:
    """V f(w) V^-1: of matrices with eigenvalues that are not equal, as have derivatives."""
    if disp in (False, 0):
        raise unknown("scipy.linalg.funm", " with disp=False")
    x = matrices("scipy.linalg.funm", A)
    if x.ndim != 2:
        raise ValueError("expected square array_like input")
    w, v = BY_PROTOCOL.eig(x)
    scaled = elementwise(np.multiply, v, func(w))
    made = BY_PROTOCOL.solve(v.T, scaled.T).T
    if x.type.is_complex:
        return made
    bound = 1e6 * np.finfo(np.float64).eps if x.dtype == np.float64 else 1e3 * np.finfo(np.float32).eps
    small = elementwise(np.less_equal, elementwise(np.absolute, imag(made)), bound)
    text = "scipy.linalg.funm: a real matrix whose function is complex, in a traced function; call it with a + 0j"
    holds(small, text)
    return real(made)


MEANINGS = (schur, hessenberg, ldl, rq, orth, null_space, subspace_angles, funm)
recode("scipy.linalg", {each.__name__: each for each in MEANINGS})
ANY.update(MEANINGS)
