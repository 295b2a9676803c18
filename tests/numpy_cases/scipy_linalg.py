"""Cases of scipy.linalg."""

from typing import Any

import numpy as np
from scipy import linalg

from tests.numpy_cases import Case, spread
from tests.numpy_cases.linalg import TALL, WIDE, B, P, S, V

L: Any = linalg
COLUMN = 20.0 * (np.arange(len(V)) == 0)

CASES = [
    Case("scipy.linalg.solve", L.solve, (S, B)),
    Case("scipy.linalg.solve pos", lambda a, b: L.solve(a @ a.T, b, assume_a="pos", lower=True), (S, V)),
    Case("scipy.linalg.solve transposed", lambda a, b: L.solve(a, b, transposed=True), (S, V)),
    Case("scipy.linalg.inv", L.inv, (S,)),
    Case("scipy.linalg.det", L.det, (S,)),
    Case("scipy.linalg.solve_triangular", L.solve_triangular, (S, V)),
    Case("scipy.linalg.solve_triangular lower", lambda a, b: L.solve_triangular(a, b, "T", lower=True), (S, B)),
    Case("scipy.linalg.solve_triangular unit", lambda a, b: L.solve_triangular(a, b, unit_diagonal=True), (S, B)),
    Case("scipy.linalg.cholesky", L.cholesky, (P,)),
    Case("scipy.linalg.cholesky lower", lambda a: L.cholesky(a, lower=True), (P,)),
    Case("scipy.linalg.cho_factor", lambda a: np.triu(L.cho_factor(a)[0]), (P,)),
    Case("scipy.linalg.cho_solve", lambda a, b: L.cho_solve(L.cho_factor(a), b), (P, V)),
    Case("scipy.linalg.cho_solve lower", lambda a, b: L.cho_solve((L.cholesky(a, True), True), b), (P, B)),
    Case("scipy.linalg.lu_factor", lambda a: L.lu_factor(a)[0], (S,)),
    Case("scipy.linalg.lu_solve", lambda a, b: L.lu_solve(L.lu_factor(a), b), (S, V)),
    Case("scipy.linalg.lu_solve transposed", lambda a, b: L.lu_solve(L.lu_factor(a), b, trans=1), (S, B)),
    Case("scipy.linalg.lu", L.lu, (S[::-1].copy(),)),
    Case("scipy.linalg.lu tall", lambda a: L.lu(a, permute_l=True), (TALL,)),
    Case("scipy.linalg.pinv", L.pinv, (TALL,), f32=False),
    Case("scipy.linalg.lstsq", lambda a, b: [L.lstsq(a, b)[0], L.lstsq(a, b)[3]], (TALL, spread(5)), rtol=1e-11),
    Case("scipy.linalg.eigh", lambda a: L.eigh(a)[0], (P,), f32=False),
    Case("scipy.linalg.eigh two", lambda a, b: L.eigh(a + a.T, b)[0], (S, P), f32=False, rtol=1e-11),
    Case("scipy.linalg.eigh some", lambda a: L.eigh(a, eigvals_only=True, subset_by_index=[1, 2]), (P,), f32=False),
    Case("scipy.linalg.eigvalsh", lambda a: L.eigvalsh(a, lower=False), (P,), f32=False),
    Case("scipy.linalg.svd", lambda a: L.svd(a)[1], (WIDE,)),
    Case("scipy.linalg.svdvals", L.svdvals, (TALL,)),
    Case("scipy.linalg.qr", lambda a: L.qr(a, mode="economic")[1] ** 2, (TALL,)),
    Case("scipy.linalg.qr r", lambda a: L.qr(a, mode="r")[0] ** 2, (TALL,)),
    Case("scipy.linalg.expm", L.expm, (S / 3,)),
    Case("scipy.linalg.norm", lambda a: L.norm(a) + L.norm(a, 1), (TALL,)),
    Case("scipy.linalg.block_diag", lambda a, b: L.block_diag(a, b[0, 0], b), (S, WIDE)),
    Case("scipy.linalg.toeplitz", L.toeplitz, (V,)),
    Case("scipy.linalg.toeplitz both", lambda c, r: L.toeplitz(c, r), (V, spread(3, seed=8))),
    Case("scipy.linalg.circulant", L.circulant, (V,)),
    Case("scipy.linalg.hankel", lambda c, r: [L.hankel(c), L.hankel(c, r)], (V, spread(3, seed=8))),
    Case("scipy.linalg.sqrtm", L.sqrtm, (P,), f32=False, rtol=1e-11),
    Case("scipy.linalg.solve_sylvester", lambda a, b, q: L.solve_sylvester(a + 9 * np.eye(len(a)), b, q),
         (S, S[:2, :2].copy(), spread(len(S), 2, seed=7)), f32=False, rtol=1e-11),
    Case("scipy.linalg.solve_continuous_lyapunov", lambda a, q: L.solve_continuous_lyapunov(a + 9 * np.eye(len(a)), q),
         (S, P), f32=False, rtol=1e-11),
    Case("scipy.linalg.solve_discrete_lyapunov", lambda a, q: L.solve_discrete_lyapunov(a / 9, q), (S, P), f32=False,
         rtol=1e-11),
    Case("scipy.linalg.solve_banded", lambda ab, b: L.solve_banded((1, 2), ab + np.array([[0], [0], [5], [0]]), b),
         (spread(4, 5), spread(5, seed=2)), f32=False, rtol=1e-11),
    Case("scipy.linalg.solveh_banded", lambda ab, b: L.solveh_banded(ab + np.array([[0], [9]]), b),
         (spread(2, 5), spread(5, 2, seed=2)), f32=False, rtol=1e-11),
    Case("scipy.linalg.solveh_banded lower",
         lambda ab, b: L.solveh_banded(ab + np.array([[9], [0]]), b, lower=True),
         (spread(2, 5), spread(5, seed=2)), f32=False, rtol=1e-11),
    Case("scipy.linalg.polar", L.polar, (S,), rtol=1e-11, f32=False),
    Case("scipy.linalg.polar left", lambda a: L.polar(a, "left"), (TALL,), rtol=1e-11, f32=False),
    Case("scipy.linalg.solve_toeplitz", lambda c, b: L.solve_toeplitz(c + COLUMN, b), (V, V[::-1].copy()), rtol=1e-11,
         f32=False),
    Case("scipy.linalg.solve_toeplitz both", lambda c, r, b: L.solve_toeplitz((c + COLUMN, r), b),
         (V, V[::-1].copy(), B), rtol=1e-11, f32=False),
    Case("scipy.linalg.solve_circulant", lambda c, b: L.solve_circulant(c + COLUMN, b), (V, B), rtol=1e-11, f32=False),
    *(Case(f"scipy.linalg.{name} of complex", lambda a, b, name=name: getattr(L, name)(a + 1j * b),
           (S, S.T + 1), rtol=1e-9, f32=False)
      for name in ("inv", "det", "pinv", "svdvals", "polar", "norm")),
    Case("scipy.linalg.expm of complex", lambda a, b: L.expm((a + 1j * b) / 5), (S, S.T + 1), rtol=1e-9, f32=False),
    Case("scipy.linalg.qr of complex", lambda a, b: L.qr(a + 1j * b, mode="economic")[1], (TALL, TALL[::-1] ** 2),
         rtol=1e-9, f32=False),
    Case("scipy.linalg.lstsq of complex", lambda a, b: L.lstsq(a + 1j * b, b[:, 0])[0], (TALL, TALL[::-1] ** 2),
         rtol=1e-9, f32=False),
    Case("scipy.linalg.solve_toeplitz of complex", lambda c, b: L.solve_toeplitz(c + 1j * b + COLUMN, b),
         (V, V[::-1].copy()), rtol=1e-10, f32=False),
    Case("scipy.linalg.khatri_rao", L.khatri_rao, (TALL, S[:2, :3].copy())),
]
