"""What primitives of matrices are of complex ones, as formulas over pairs: `m.solve(a, b, turned=0)`.

Solutions, inverses and exponentials are those of real matrices of twice the size, [[X, -Y], [Y, X]] for X + iY. Factors
are NumPy's, of values whose last axis holds both parts; the rules of LU and QR are those of real matrices with adjoints
in place of transposes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.types import Type
from ..custom import refused
from ..library import Library
from ..linalg import factor as F
from ..linalg import matrices as M
from ..linalg.solutions import solved
from . import complex_matrices as C
from .complex_matrices import hermitian, numbers, parts
from .pair import Pair
from .pair_formulas import FORMULAS
from .pairs import Complex, joined, split

# ---- by real matrices of twice the size


def _embedded(m: Any, z: Pair) -> Any:
    r = m.real
    return M.above(r, M.beside(r, z.re, -z.im), M.beside(r, z.im, z.re))


def _left(m: Any, x: Any) -> Pair:
    """The matrix that an embedded one, or the left half of one, stands for."""
    *_, rows, columns = M.shape_of(x)
    return Pair(m, *(M.block(m.real, x, k * (rows // 2), 0, rows // 2, columns // 2) for k in range(2)))


def _solve(m: Any, a: Pair, b: Pair, turned: int = 0) -> Pair:
    """X with A X = B, or with A^H X = B where it is `turned`."""
    n, k = M.shape_of(b)[-2:]
    made = solved(m.real, _embedded(m, a), M.above(m.real, b.re, b.im), bool(turned))
    return Pair(m, *(M.block(m.real, made, j * n, 0, n, k) for j in range(2)))


def _triangular(m: Any, a: Pair, b: Pair, upper: int, turned: int) -> Pair:
    return _solve(m, (M.upper if upper else M.lower)(m, a), b, turned)


def _pinv(m: Any, a: Pair, atol: Any, rtol: Any) -> Pair:
    """Singular values are those of the real matrix, twice each."""
    bounds = (t.re if isinstance(t, Pair) else t for t in (atol, rtol))
    return _left(m, m.real.pinv(_embedded(m, a), *bounds))


# ---- factors


def _of(prim: Library, *are_pairs: bool) -> Callable[..., Any]:
    """The results of a primitive of values whose last axis has both parts, some of which are such values too."""

    def formula(m: Any, z: Pair, **attributes: Any) -> Any:
        made = m.b.emit(prim, joined(z), **attributes)
        terms = [split(m, v) if is_pair else m.real(v) for v, is_pair in zip(made, are_pairs, strict=True)]
        return terms[0] if len(terms) == 1 else tuple(terms)

    return formula


def over_pairs(pull: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that is written for real matrices, read over pairs."""

    def pulled(m: Any, inputs: Any, results: Any, cts: Any, **attributes: Any) -> Any:
        c = Complex(m)
        given = [[split(c, x.value) if x.value.type.is_float else x for x in some] for some in (inputs, results)]
        slopes = [ct and (split(c, ct.value) if ct.value.type.is_float else ct) for ct in cts]
        return [made and m(joined(c.pair(made))) for made in pull(c, *given, slopes, **attributes)]

    return pulled


def _matrix(a: Type) -> Type:
    return a.with_shape(a.shape[:-1])


def _with_parts(types: tuple[Type, ...]) -> tuple[Type, ...]:
    return tuple(t.with_shape((*t.shape, 2)) if t.is_float else t for t in types)


def _computed(function: Callable[..., Any]) -> Callable[..., Any]:
    def each(a: np.ndarray) -> Any:
        return tuple(parts(x, a.dtype) if np.iscomplexobj(x) else x for x in function(numbers(a)))

    return each


def _samples(rng: np.random.Generator, **attributes: Any) -> Any:
    return [([rng.normal(size=shape)], attributes) for shape in ((3, 3, 2), (4, 3, 2), (2, 3, 4, 2))]


lu_factor = Library(
    "complex_lu_factor", lambda a: _with_parts(F.lu_types(_matrix(a))), _computed(F.lu), over_pairs(F.lu_pull),
    samples=_samples,
)  # fmt: skip


def _qr(a: np.ndarray, mode: str) -> tuple[np.ndarray, ...]:
    return tuple(parts(x, a.dtype) for x in np.linalg.qr(numbers(a), mode))  # type: ignore[call-overload]


qr = Library(
    "complex_qr", lambda a, mode: _with_parts(F.qr_types(_matrix(a), mode)), _qr, over_pairs(F.qr_pull),
    {"mode": "word"}, samples=lambda rng: _samples(rng, mode="reduced"),
)  # fmt: skip


def _geqrf_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    return [m(refused(m.b, type=inputs[0].value.type, text="the derivative of geqrf is not implemented"))]


geqrf = Library(
    "complex_geqrf", lambda a: _with_parts(F.geqrf_types(_matrix(a))), _computed(F.packed_qr), _geqrf_pull,
    samples=_samples,
)  # fmt: skip

cholesky_info = Library(
    "complex_cholesky_info", lambda a: a.with_shape(a.shape[:-3]).with_dtype("i32"), lambda a: F.minor(numbers(a)),
    samples=lambda rng: [([hermitian(rng, 3, 3)], {})],
)  # fmt: skip


def _det(m: Any, z: Pair) -> Pair:
    sign, size = FORMULAS["slogdet"](m, z)
    return sign * m.pair(m.real.exp(size))


FORMULAS.update(
    {
        "solve": _solve,
        "triangular": _triangular,
        "inverse": lambda m, z: _left(m, m.real.inverse(_embedded(m, z))),
        "singular": lambda m, z: m.real.singular(_embedded(m, z)),
        "matrix_exp": lambda m, z: _left(m, m.real.matrix_exp(_embedded(m, z))),
        "pinv": _pinv,
        "slogdet": _of(C.slogdet, True, False),
        "det": _det,
        "cholesky": _of(C.cholesky, True),
        "cholesky_info": _of(cholesky_info, False),
        "eigh": _of(C.eigh, False, True),
        "svd": _of(C.svd, True, False, True),
        "singular_values": lambda m, z: FORMULAS["svd"](m, z, full=0)[1],
        "lu_factor": _of(lu_factor, True, False, False),
        "qr": _of(qr, True, True),
        "geqrf": _of(geqrf, True, True),
    }
)

__all__ = ["cholesky_info", "geqrf", "lu_factor", "over_pairs", "qr"]
