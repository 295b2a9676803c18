"""Factors of complex matrices by NumPy's LAPACK: eigenvalues, which real ones have too, Cholesky's, determinants.

Complex values have an axis of two at the end.  The rule of eigenvectors is that of Giles (2008), for those of length 1
(Wan and Zhang, "Automatic differentiation for complex valued SVD", 2019, on the phase that is free).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.types import Type
from ..library import Library, each, near_one
from ..linalg import matrices as M
from ..linalg.solutions import solved

Complex = tuple[Any, Any]
"""The real and the imaginary part."""


def parts(z: np.ndarray, dtype: Any) -> np.ndarray:
    wanted = np.complex64 if dtype == np.float32 else np.complex128
    return np.ascontiguousarray(z, wanted)[..., None].view(dtype)


def numbers(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).view(np.complex64 if a.dtype == np.float32 else np.complex128)[..., 0]


def _eig(a: np.ndarray, is_complex: int) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = each(lambda x: tuple(np.linalg.eig(x)), numbers(a) if is_complex else a)
    return parts(values, a.dtype), parts(vectors, a.dtype)


def _types(a: Type, is_complex: int) -> tuple[Type, Type]:
    matrix = a.shape[:-1] if is_complex else a.shape
    return a.with_shape((*matrix[:-1], 2)), a.with_shape((*matrix, 2))


def _split(m: Any, x: Any) -> Complex:
    """The parts of a value whose last axis has two."""
    *shape, _ = M.shape_of(x)
    flat = M.reshaped(m, x, (*shape, 1, 2))
    return tuple(M.reshaped(m, M.block(m, flat, 0, k, 1, 1), tuple(shape)) for k in range(2))  # type: ignore[return-value]


def _joined(m: Any, z: Complex) -> Any:
    shape = M.shape_of(z[0])
    return M.reshaped(m, M.beside(m, *(M.reshaped(m, p, (*shape, 1, 1)) for p in z)), (*shape, 2))


def _adjoint(m: Any, z: Complex) -> Complex:
    return M.turned(m, z[0]), -M.turned(m, z[1])


def _product(m: Any, x: Complex, y: Complex) -> Complex:
    def real(a: Any, b: Any) -> Any:
        return M.product(m, a, b)

    return real(x[0], y[0]) - real(x[1], y[1]), real(x[0], y[1]) + real(x[1], y[0])


def _solved(m: Any, a: Complex, b: Complex) -> Complex:
    """By a real matrix of twice the size."""
    n, k = M.shape_of(a[0])[-1], M.shape_of(b[0])[-1]
    whole = M.above(m, M.beside(m, a[0], -a[1]), M.beside(m, a[1], a[0]))
    made = solved(m, whole, M.above(m, *b))
    return M.block(m, made, 0, 0, n, k), M.block(m, made, n, 0, n, k)


def _eig_pull(m: Any, inputs: Any, results: Any, cts: Any, is_complex: int) -> Any:
    """V^-H (diag(gw) + (V^H gV - V^H V diag(Re V^H gV)) / conj(E)) V^H, where E holds differences of eigenvalues."""
    w, v = (_split(m, r) for r in results)
    gw, gv = (None if ct is None else _split(m, ct) for ct in cts)
    adjoint = _adjoint(m, v)
    if gv is None:
        middle = tuple(M.diagonals(m, g) for g in gw)  # type: ignore[union-attr]
    else:
        middle = _turning(m, w, v, adjoint, gv)
        middle = middle if gw is None else tuple(p + M.diagonals(m, g) for p, g in zip(middle, gw, strict=True))
    made = _solved(m, adjoint, _product(m, middle, adjoint))  # type: ignore[arg-type]
    return [_joined(m, made) if is_complex else made[0]]


def _turning(m: Any, w: Complex, v: Complex, adjoint: Complex, gv: Complex) -> Any:
    """What the eigenvectors add: (V^H gV - V^H V diag(Re V^H gV)) / conj(E)."""
    n = M.shape_of(w[0])[-1]
    along = _product(m, adjoint, gv)
    free = M.rows(m, M.diagonal(m, along[0]), n)
    gram = _product(m, adjoint, v)
    along = along[0] - gram[0] * free, along[1] - gram[1] * free

    def apart(m: Any, i: Any, j: Any) -> Any:
        return m.ne(i, j)

    re = M.where(m, M.rows(m, w[0], n) - M.columns(m, w[0], n), apart, 1.0)
    im = M.where(m, M.rows(m, w[1], n) - M.columns(m, w[1], n), apart)
    size = re * re + im * im
    # divided by the conjugate: times E over its square
    middle = (along[0] * re - along[1] * im) / size, (along[0] * im + along[1] * re) / size
    return tuple(M.where(m, p, apart) for p in middle)


eig = Library(
    "eig", _types, _eig, _eig_pull, {"is_complex": "axis"}, some=True,
    samples=lambda rng: [([near_one(rng, 3, 3)], {"is_complex": 0}),
                         ([rng.normal(size=(2, 3, 3, 2))], {"is_complex": 1})],
)  # fmt: skip

# ---- Hermitian ones


def hermitian(rng: np.random.Generator, *shape: int) -> np.ndarray:
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return parts(z @ np.swapaxes(z, -1, -2).conj() + np.eye(shape[-1]), np.dtype(float))


def _sum(x: Complex, y: Complex) -> Complex:
    return x[0] + y[0], x[1] + y[1]


def _eigh(a: np.ndarray, upper: int) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = each(lambda x: tuple(np.linalg.eigh(x, "U" if upper else "L")), numbers(a))
    return values, parts(vectors, a.dtype)


def _eigh_pull(m: Any, inputs: Any, results: Any, cts: Any, upper: int) -> Any:
    """V (diag(gw) + (V^H gV - diag) / E) V^H, its Hermitian part: phases are free, so the diagonal is left out."""
    w, v = results[0], _split(m, results[1])
    adjoint, n = _adjoint(m, v), M.shape_of(w)[-1]
    middle = (M.diagonals(m, cts[0]), m.number(0.0, v[0].value.type)) if cts[0] is not None else None
    if cts[1] is not None:
        along = _product(m, adjoint, _split(m, cts[1]))
        gaps = M.where(m, M.rows(m, w, n) - M.columns(m, w, n), lambda m, i, j: m.ne(i, j), 1.0)
        turning = tuple(M.where(m, p / gaps, lambda m, i, j: m.ne(i, j)) for p in along)
        middle = turning if middle is None else _sum(middle, turning)  # type: ignore[arg-type]
    made = _product(m, _product(m, v, middle), adjoint)  # type: ignore[arg-type]
    whole = _sum(made, _adjoint(m, made))
    return [_joined(m, (0.5 * whole[0], 0.5 * whole[1]))]


eigh = Library(
    "complex_eigh", lambda a, upper: (a.with_shape(a.shape[:-2]), a), _eigh, _eigh_pull, {"upper": "axis"}, some=True,
    samples=lambda rng: [([hermitian(rng, 3, 3)], {"upper": 0}), ([hermitian(rng, 2, 4, 4)], {"upper": 1})],
)  # fmt: skip


def _cholesky(a: np.ndarray) -> np.ndarray:
    return parts(each(np.linalg.cholesky, numbers(a)), a.dtype)


def _cholesky_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    """The Hermitian part of L^-H P(L^H gL) L^-1, where P takes the lower triangle and half of the diagonal.

    Murray, "Differentiation of the Cholesky decomposition" (2016), with adjoints in place of transposes.
    """
    factor, ct = _split(m, results[0]), _split(m, cts[0])
    adjoint = _adjoint(m, factor)
    inner = _product(m, adjoint, ct)
    lower = tuple(0.5 * (M.lower(m, p) + M.lower(m, p, -1)) for p in inner)
    left = _solved(m, adjoint, lower)  # type: ignore[arg-type]
    made = _adjoint(m, _solved(m, adjoint, _adjoint(m, left)))
    whole = _sum(made, _adjoint(m, made))
    return [_joined(m, (0.5 * whole[0], 0.5 * whole[1]))]


cholesky = Library(
    "complex_cholesky", lambda a: a, _cholesky, _cholesky_pull,
    samples=lambda rng: [([hermitian(rng, 3, 3)], {}), ([hermitian(rng, 2, 4, 4)], {})],
)  # fmt: skip

# ---- singular values


def _svd(a: np.ndarray, full: int) -> tuple[np.ndarray, ...]:
    u, s, vh = each(lambda x: tuple(np.linalg.svd(x, full_matrices=bool(full))), numbers(a))
    return parts(u, a.dtype), s, parts(vh, a.dtype)


def _svd_types(a: Type, full: int) -> tuple[Type, ...]:
    *lead, rows, columns, _ = a.shape
    n = min(rows, columns)  # type: ignore[type-var]
    u, v = (rows, columns) if full else (n, n)
    return a.with_shape((*lead, rows, u, 2)), a.with_shape((*lead, n)), a.with_shape((*lead, v, columns, 2))


def _scaled_by(z: Complex, x: Any) -> Complex:
    return z[0] * x, z[1] * x


def _difference(x: Complex, y: Complex) -> Complex:
    return x[0] - y[0], x[1] - y[1]


def _zeros(m: Any, z: Complex) -> Complex:
    return M.zeros(m, z[0]), M.zeros(m, z[1])


def _svd_pull(m: Any, inputs: Any, results: Any, cts: Any, full: int) -> Any:
    """That of real matrices with adjoints, and on the diagonal half of what turns the phases of U, over S.

    Wan and Zhang (2019), for functions that do not depend on the phases that vectors have in common.
    """
    (u, s, vh), n = (_split(m, results[0]), results[1], _split(m, results[2])), M.shape_of(results[1])[-1]
    *_, rows, columns = M.shape_of(_split(m, inputs[0])[0])
    u, vh = (tuple(M.corner(m, p, *size) for p in z) for z, size in ((u, (rows, n)), (vh, (n, columns))))
    nothing = M.zeros(m, M.diagonals(m, s))
    middle: Complex = (nothing if cts[1] is None else M.diagonals(m, cts[1]), nothing)
    if cts[0] is None and cts[2] is None:
        return [_joined(m, _product(m, _product(m, u, middle), vh))]
    gu, gvh = (
        _zeros(m, value) if ct is None else tuple(M.corner(m, p, *M.shape_of(value[0])[-2:]) for p in _split(m, ct))
        for ct, value in ((cts[0], u), (cts[2], vh))
    )
    uh, v, gv = _adjoint(m, u), _adjoint(m, vh), _adjoint(m, gvh)  # type: ignore[arg-type]
    squares = s * s
    gaps = M.where(m, M.rows(m, squares, n) - M.columns(m, squares, n), lambda m, i, j: m.ne(i, j), 1.0)

    def skew(x: Complex) -> Complex:
        whole = _difference(x, _adjoint(m, x))
        return tuple(M.where(m, p / gaps, lambda m, i, j: m.ne(i, j)) for p in whole)  # type: ignore[return-value]

    turns = _product(m, uh, gu)  # type: ignore[arg-type]
    phases = M.diagonals(m, M.diagonal(m, turns[1]) / s)
    across, down = M.rows(m, s, n), M.columns(m, s, n)
    middle = _sum(middle, _scaled_by(skew(turns), across))
    middle = _sum(middle, _scaled_by(skew(_product(m, vh, gv)), down))
    made = _product(m, _product(m, u, (middle[0], middle[1] + phases)), vh)
    if rows > n:
        scaled = _scaled_by(gu, 1.0 / M.rows(m, s, rows))  # type: ignore[arg-type]
        made = _sum(made, _product(m, _difference(scaled, _product(m, u, _product(m, uh, scaled))), vh))
    if columns > n:
        scaled = _scaled_by(gvh, 1.0 / M.columns(m, s, columns))  # type: ignore[arg-type]
        made = _sum(made, _product(m, u, _difference(scaled, _product(m, _product(m, scaled, v), vh))))
    return [_joined(m, made)]


svd = Library(
    "complex_svd", _svd_types, _svd, _svd_pull, {"full": "axis"}, some=True,
    samples=lambda rng: [([rng.normal(size=shape)], {"full": 0}) for shape in ((3, 3, 2), (2, 4, 3, 2), (3, 4, 2))],
)  # fmt: skip

# ---- determinants


def _slogdet(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign, size = np.linalg.slogdet(numbers(a))
    return parts(np.asarray(sign), a.dtype), np.asarray(size)


def _slogdet_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    """(gl + i ga) A^-H, where ga is what the angle of the sign gets: the differential of both is tr(A^-1 dA)."""
    a, sign = _split(m, inputs[0]), _split(m, results[0])
    n = M.shape_of(a[0])[-1]
    along = cts[1] if cts[1] is not None else m.number(0.0, results[1].value.type)
    around = m.number(0.0, results[1].value.type)
    if cts[0] is not None:
        gs = _split(m, cts[0])
        around = gs[1] * sign[0] - gs[0] * sign[1]
    given = tuple(M.diagonals(m, M.columns(m, x, n)) for x in (along, around))
    return [_joined(m, _solved(m, _adjoint(m, a), given))]  # type: ignore[arg-type]


slogdet = Library(
    "complex_slogdet", lambda a: (a.with_shape((*a.shape[:-3], 2)), a.with_shape(a.shape[:-3])), _slogdet,
    _slogdet_pull, some=True,
    samples=lambda rng: [([hermitian(rng, 3, 3)], {}), ([rng.normal(size=(2, 4, 4, 2))], {})],
)  # fmt: skip

__all__ = ["cholesky", "eig", "eigh", "hermitian", "numbers", "parts", "slogdet", "svd"]
