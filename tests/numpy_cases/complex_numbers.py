"""Complex numbers: elementary functions, what conjugates, Fourier transforms, matrices; made of real arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from tests.numpy_cases import Case, spread

X, Y = spread(6, seed=1), spread(6, low=0.3, high=2.1, seed=2)
U, V = spread(6, low=-0.7, high=0.8, seed=3), spread(6, low=0.2, high=0.9, seed=4)
A, B = spread(3, 4, seed=5), spread(3, 4, seed=6)
S, T = spread(3, 3, seed=7) + 2 * np.eye(3), spread(3, 3, seed=8)
BATCH = spread(2, 3, 3, seed=9) + 2 * np.eye(3), spread(2, 3, 3, seed=10)
POSITIVE = T @ T.T + np.eye(3)
TURNED = (S - S.T) * 0.3
CUBE = spread(2, 3, 4, seed=11)


def _of(function: Any) -> Any:
    """The function of x + iy."""
    return lambda x, y: function(x + 1j * y)


def _transform(name: str, kwargs: Any) -> Any:
    return lambda x: getattr(np.fft, name)(x, **kwargs)


def _ufunc(name: str, x: np.ndarray = X, y: np.ndarray = Y) -> Case:
    return Case(f"np.{name} of complex", _of(getattr(np, name)), (x, y), rtol=1e-11)


def _hermitian(function: Any) -> Any:
    """The function of a Hermitian matrix that a symmetric and another one make."""
    return lambda p, q: function(p + p.T + 1j * (q - q.T) + 4 * np.eye(3))


_ANY = "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh square reciprocal"
_ANY += " abs absolute conjugate conj negative positive real imag angle sign"
_UNIT = "arcsin arccos arctan arcsinh arccosh arctanh"
ELEMENTARY = [
    *(_ufunc(name) for name in _ANY.split()),
    *(_ufunc(name, U, V) for name in _UNIT.split()),
    Case("np.add of complex", lambda x, y: (x + 1j * y) + (y - 2j * x) + 1.5, (X, Y)),
    Case("np.multiply of complex", lambda x, y: (x + 1j * y) * (y - 2j * x) * x * 2j, (X, Y)),
    Case("np.true_divide of complex", lambda x, y: (x + 1j * y) / (y - 2j * x) / y / 2j, (X, Y)),
    Case("np.power of complex", lambda x, y: (x + 1j * y) ** (0.5 + 0.2j), (X, Y), rtol=1e-11),
    Case("np.power whole", lambda x, y: [(x + 1j * y) ** n for n in (-2, -1, 0, 1, 3, 7)], (X, Y), rtol=1e-11),
    Case("np.power of real", lambda x: np.power(x, 1.5 - 0.5j), (Y,), rtol=1e-11),
    Case("np.float_power of complex", lambda x, y: np.float_power(x + 1j * y, 2.5), (X, Y), f32=False, rtol=1e-11),
    Case("np.isnan of complex", lambda x, y: [np.isnan(x + 1j * y), np.isinf(x * 1j), np.isfinite(x + 1j)], (X, Y), 0),
    Case("np.equal of complex", lambda x, y: [(x + 1j * y) == (x + 1j * x), x + 0j != x], (X, Y), 0),
    Case("np.iscomplex", lambda x: [np.iscomplex(x + 1j), np.isreal(x + 0j), np.iscomplex(x)], (X,), 0),
    Case("np.rint of complex", _of(np.rint), (X, Y), 0),
    Case("np.round of complex", _of(lambda z: np.round(z, 1)), (X, Y), 0),
    Case("np.sinc of complex", _of(np.sinc), (X, Y), rtol=1e-11),
    Case("np.nan_to_num of complex", _of(lambda z: np.nan_to_num(z / 2)), (X, Y)),
    Case("np.angle degrees", _of(lambda z: np.angle(z, deg=True)), (X, Y)),
    Case("np.logical_and of complex", lambda x, y: np.logical_and(x + 1j * y, x + 0j), (X, Y), 0),
]
FOLDS = [
    Case("np.prod of complex", _of(np.prod), (X, Y), rtol=1e-11),
    Case("np.cumprod of complex", _of(np.cumprod), (X, Y), rtol=1e-11),
    Case("np.var of complex", _of(lambda z: np.var(z, axis=0, ddof=1)), (A, B)),
    Case("np.std of complex", _of(lambda z: np.std(z, axis=1, keepdims=True)), (A, B)),
    Case("np.mean of complex", _of(lambda z: z.mean(axis=1)), (A, B)),
    Case("np.vdot of complex", lambda x, y: np.vdot(x + 1j * y, y - 1j * x), (A, B)),
    Case("np.vecdot of complex", lambda x, y: np.vecdot(x + 1j * y, y), (A, B)),
    Case("np.linalg.vecdot of complex", lambda x, y: np.linalg.vecdot(x, y + 1j * x), (A, B)),
    Case("np.vecmat of complex", lambda x, y: np.vecmat(x[:, 0] + 1j * y[:, 0], x), (A, B)),
    Case("np.correlate of complex", lambda x, y: np.correlate(x + 1j * y, y[:3] + 2j, "full"), (X, Y)),
    Case("np.correlate longer", lambda x, y: np.correlate(y[:3] + 2j, x + 1j * y), (X, Y)),
    Case("np.convolve of complex", lambda x, y: np.convolve(x + 1j * y, y[:3], "same"), (X, Y)),
    Case("np.einsum of complex", lambda x, y: np.einsum("ij,kj->ik", x + 1j * y, x), (A, B)),
    Case("np.allclose of complex", lambda x, y: [np.allclose(x + 1j, x + 1j), np.isclose(x + 1j, x)], (X, Y), 0),
    Case("np.sort_complex", lambda x, y: np.sort_complex(np.round(x) + 1j * y), (X, Y), 0, f32=False),
    Case("np.sort of complex", _of(lambda z: np.sort(z, axis=0)), (A, B)),
    Case("np.argsort of complex", _of(np.argsort), (A, B), 0),
    Case("np.where of complex", lambda x, y: np.where(x > 0, x + 1j * y, y), (A, B)),
    Case("np.roots", lambda x: np.roots(x)[:1] + 0j, (np.array([1.0, -6.5, 11.0, -3.0]),), rtol=1e-9),
    Case("np.roots complex", lambda x: np.sort_complex(np.roots(x)), (np.array([2.0, 1.0, 3.0, 1.5]),), 0, rtol=1e-9),
    Case("np.poly of complex", lambda x, y: np.poly(x[:3] + 1j * y[:3]), (X, Y)),
]
FOURIER = [
    Case(f"np.fft.{name}", _transform(name, kwargs), (array,))
    for name, array, kwargs in (
        ("fft", X, {}), ("fft", A, {"n": 3, "axis": 0, "norm": "ortho"}), ("fft", A, {"n": 6}),
        ("ifft", X, {}), ("ifft", A, {"norm": "forward"}), ("rfft", X, {}), ("rfft", A, {"n": 5}),
        ("rfft", A, {"axis": 0, "norm": "ortho"}), ("ihfft", X, {}), ("fft2", A, {}), ("ifft2", CUBE, {}),
        ("fftn", CUBE, {}), ("fftn", CUBE, {"axes": (0, 2), "s": (3, 3)}), ("ifftn", CUBE, {"axes": (1,)}),
        ("rfft2", A, {}), ("rfftn", CUBE, {}), ("rfftn", CUBE, {"axes": (2, 0)}),
    )
] + [
    Case(f"np.fft.{name} of complex", _of(_transform(name, kwargs)), arrays)
    for name, arrays, kwargs in (
        ("fft", (X, Y), {}), ("fft", (A, B), {"axis": 0, "n": 5}), ("ifft", (X, Y), {}), ("irfft", (X, Y), {}),
        ("irfft", (A, B), {"n": 5, "axis": 0}), ("hfft", (X, Y), {}), ("hfft", (X, Y), {"n": 7}),
        ("fft2", (A, B), {}), ("ifft2", (A, B), {}), ("irfft2", (A, B), {}), ("irfftn", (A, B), {}),
        ("irfftn", (A, B), {"s": (3, 5), "axes": (0, 1)}), ("fftn", (A, B), {}), ("ifftn", (A, B), {}),
        ("fftshift", (A, B), {}), ("ifftshift", (A, B), {"axes": 1}),
    )
]  # fmt: skip
MATRICES = [
    Case("np.linalg.solve of complex", lambda s, t: np.linalg.solve(s + 1j * t, t[:, 0]), (S, T), rtol=1e-10),
    Case("np.linalg.solve real by complex", lambda s, t: np.linalg.solve(s, t + 1j * s), (S, T), rtol=1e-10),
    Case("np.linalg.inv of complex", _of(np.linalg.inv), BATCH, rtol=1e-10),
    Case("np.linalg.pinv of complex", _of(lambda z: np.linalg.pinv(z[:, :2])), (S, T), f32=False, rtol=1e-9),
    Case("np.linalg.det of complex", _of(np.linalg.det), BATCH, rtol=1e-10),
    Case("np.linalg.slogdet of complex", _of(lambda z: [*np.linalg.slogdet(z)]), BATCH, rtol=1e-10),
    Case("np.linalg.eig", lambda s: np.linalg.eig(s + 2j * np.eye(3)).eigenvalues, (POSITIVE,), rtol=1e-9),
    Case("np.linalg.eig projections", _of(lambda z: abs(np.linalg.eig(z)[1])), (S, T), rtol=1e-9, f32=False),
    Case("np.linalg.eigvals", lambda t: np.linalg.eigvals(t) + 0j, (TURNED + np.eye(3),), rtol=1e-9, f32=False),
    Case("np.linalg.eigvals of complex", _of(np.linalg.eigvals), (S, T), rtol=1e-9, f32=False),
    Case("np.linalg.eigh of complex", _hermitian(lambda h: np.abs(np.linalg.eigh(h)[1])), (S, T), rtol=1e-9, f32=False),
    Case("np.linalg.eigvalsh of complex", _hermitian(lambda h: np.linalg.eigvalsh(h, "U")), (S, T), rtol=1e-9),
    Case("np.linalg.cholesky of complex", _hermitian(lambda h: np.linalg.cholesky(h @ h.conj().T)), (S, T), rtol=1e-9),
    Case("np.linalg.svdvals of complex", _of(np.linalg.svdvals), (A, B), rtol=1e-9),
    Case("np.linalg.svd of complex", _of(lambda z: abs(np.linalg.svd(z, False)[0])), (A.T, B.T), rtol=1e-9, f32=False),
    Case("np.linalg.svd wide", _of(lambda z: abs(np.linalg.svd(z, False)[2])), (A, B), rtol=1e-9, f32=False),
    Case("np.linalg.svd full of complex", _of(lambda z: abs(np.linalg.svd(z)[2][:3])), (A, B), rtol=1e-9, f32=False),
    Case("np.linalg.qr of complex", _of(lambda z: [*np.linalg.qr(z)]), (A.T, B.T), rtol=1e-9, f32=False),
    Case("np.linalg.qr wide of complex", _of(lambda z: np.linalg.qr(z, "r")), (A, B), rtol=1e-9, f32=False),
    Case("np.linalg.qr complete of complex", _of(lambda z: np.linalg.qr(z, "complete").Q[:, :3]), (A.T, B.T), rtol=1e-9,
         f32=False),
    Case("np.linalg.lstsq of complex", _of(lambda z: [*np.linalg.lstsq(z, z[:, 0] ** 2)[:2]]), (A.T, B.T), rtol=1e-9,
         f32=False),
    Case("np.linalg.cond of complex", _of(lambda z: [np.linalg.cond(z), np.linalg.cond(z, 1)]), (S, T), rtol=1e-9),
    Case("np.linalg.matrix_rank of complex", _of(np.linalg.matrix_rank), (A, B), 0),
    Case("np.linalg.norm of complex", _of(np.linalg.norm), (A, B)),
    Case("np.linalg.norm orders", _of(lambda z: [np.linalg.norm(z, k) for k in (1, -np.inf, 2, "nuc")]), (A, B)),
    Case("np.linalg.vector_norm of complex", _of(lambda z: np.linalg.vector_norm(z, axis=1, ord=3)), (A, B)),
    Case("np.linalg.matrix_norm of complex", _of(np.linalg.matrix_norm), (A, B)),
    Case("np.linalg.matrix_power of complex", _of(lambda z: np.linalg.matrix_power(z, -2)), (S, T), rtol=1e-9),
]
SPECIAL = [
    Case("scipy.special.hankel1", lambda x: special.hankel1(0.5, x), (Y,), 1, f32=False, rtol=1e-10),
    Case("scipy.special.hankel2", lambda x: special.hankel2(2.0, x), (Y,), 1, f32=False, rtol=1e-10),
    Case("scipy.special.hankel1e", lambda x: special.hankel1e(1.0, x), (Y,), 1, f32=False, rtol=1e-10),
    Case("scipy.special.hankel2e", lambda x: special.hankel2e(1.0, x), (Y,), 1, f32=False, rtol=1e-10),
    Case("scipy.special.logsumexp of complex", _of(lambda z: [special.logsumexp(3 * z), special.logsumexp(z, 0)]),
         (A, B), f32=False),
    Case("scipy.special.logsumexp of complex weights", lambda x, y: special.logsumexp(x, 1, x + 1j * y, True), (A, B),
         f32=False),
    Case("scipy.special.logsumexp of complex sign", _of(lambda z: special.logsumexp(z, 0, return_sign=True)), (A, B),
         f32=False),
    Case("scipy.special.softmax of complex", _of(lambda z: special.softmax(z, 1)), (A, B), f32=False),
    Case("scipy.special.log_softmax of complex", _of(lambda z: special.log_softmax(3 * z, 1)), (A, B), f32=False),
    Case("scipy.special.loggamma of complex", _of(lambda z: special.loggamma(3 * z)), (X, Y), f32=False, rtol=1e-10),
    Case("scipy.special.gamma of complex", _of(special.gamma), (X, Y), f32=False, rtol=1e-10),
    Case("scipy.special.rgamma of complex", _of(lambda z: special.rgamma(2 * z)), (X, Y), f32=False, rtol=1e-10),
    Case("scipy.special.psi of complex", _of(lambda z: special.psi(z - 2)), (X, Y), f32=False, rtol=1e-10),
    Case("scipy.special.wofz", lambda x: special.wofz(x), (X,), f32=False, rtol=1e-10),
]

MASK = np.array([[True, False, True, False], [False, True, True, False], [True, True, False, True]])
ORDER = [
    Case("np.maximum of complex", _of(lambda z: [np.maximum(z, z * 1j), np.minimum(z, z.real - 1j)]), (X, Y)),
    Case("np.fmax of complex", lambda x, y: [np.fmax(x + 1j * y, y - 1j), np.fmin(x + 1j, x + 1j * y)], (X, Y)),
    Case("np.less of complex", lambda x, y: [f(x + 1j * y, np.round(x) - 1j * y) for f in
         (np.less, np.less_equal, np.greater, np.greater_equal)], (X, Y), 0),
    Case("np.logical_and of complex", lambda x, y: [f(x + 1j * y, np.round(x) - 0j) for f in
         (np.logical_and, np.logical_or, np.logical_xor)] + [np.logical_not(1j * np.round(x))], (X, Y), 0),
    Case("np.max of complex", _of(lambda z: [np.max(z, 0), z.min(1, keepdims=True), np.max(np.round(z))]), (A, B)),
    Case("np.max of some complex", _of(lambda z: np.max(z, 1, initial=-9j, where=MASK)), (A, B)),
    Case("np.maximum.reduce of complex", _of(lambda z: np.maximum.reduce(z, 1)), (A, B)),
    Case("np.nanmin of complex", _of(lambda z: np.nanmin(np.where(MASK, z, np.nan), 1)), (A, B)),
    Case("np.argmax of complex", _of(lambda z: [np.argmax(z), np.argmin(z, 1, keepdims=True)]), (A, B), 0),
    Case("np.nanargmax of complex", _of(lambda z: np.nanargmax(np.where(MASK, z, np.nan), 1)), (A, B), 0),
    Case("np.ptp of complex", _of(lambda z: np.ptp(z, 1)), (A, B)),
    Case("np.clip of complex", _of(lambda z: np.clip(z, -0.5 + 1j, 0.5 - 1j)), (A, B)),
    Case("np.median of complex", _of(lambda z: [np.median(z, 1), np.median(z, 0, keepdims=True)]), (A, B)),
    Case("np.nanmedian of complex", _of(lambda z: np.nanmedian(np.where(MASK, z, np.nan), 1)), (A, B)),
    Case("np.isin of complex", _of(lambda z: np.isin(np.round(z), [0j, 1, -1j, 1 + 1j])), (A, B), 0),
    Case("np.searchsorted of complex", _of(lambda z: np.searchsorted(np.sort(z[0]), z)), (A, B), 0),
    Case("np.interp of complex", _of(lambda z: np.interp([0.3, 4.2, 9.0], np.arange(6.0), z, right=2j)), (X, Y)),
    Case("np.cov of complex", _of(lambda z: [np.cov(z), np.cov(z, aweights=[1.0, 2.0, 0.5, 1.0])]), (A, B)),
    Case("np.corrcoef of complex", _of(np.corrcoef), (A, B), rtol=1e-10),
    Case("np.partition of complex", _of(lambda z: [np.partition(z, 1, 1)[:, 1], np.partition(z, -1, None)[-1]]),
         (A, B)),
    Case("np.argpartition of complex", _of(lambda z: np.argpartition(z, 2, 0)[2]), (A, B), 0),
    Case("np.histogram of complex weights", lambda x, y: [np.histogram(A, 5, weights=x + 1j * y)[0],
         np.histogram(A, [-1.0, 0.0, 0.7], weights=x + 1j * y, density=True)[0]], (A, B)),
    Case("np.unique of complex", _of(lambda z: np.unique(np.round(z), True, True, True)), (A, B), 0),
    Case("np.setxor1d of complex", _of(lambda z: [np.setxor1d(np.round(z), [1, 1j]), np.union1d(z[0], 1j),
         np.intersect1d(np.round(z), [0, 1]), np.setdiff1d(np.round(z), [1j])]), (A, B), 0),
    Case("np.nanvar of complex", _of(lambda z: np.nanvar(np.where(MASK, z, np.nan), 1, ddof=0.5)), (A, B)),
]

CASES = [*ELEMENTARY, *FOLDS, *ORDER, *FOURIER, *MATRICES, *SPECIAL]
