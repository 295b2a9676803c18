"""Cases of scipy.linalg."""

from typing import Any

import numpy as np
from scipy import linalg

from tests.numpy_cases import Case, spread
from tests.numpy_cases.linalg import TALL, WIDE, B, P, S, V

L: Any = linalg
COLUMN = 20.0 * (np.arange(len(V)) == 0)



def _of_pair(name: str, function: Any, *args: Any, order: int = 1) -> Case:
    """The function of a complex matrix, of which both parts are given."""
    return Case(f"scipy.linalg.{name} of complex", lambda a, b: function(a + 1j * b), args or (S, S.T + 1), rtol=1e-9,
                order=order, f32=False)


def _hermitian(z: Any) -> Any:
    return z @ np.conjugate(z).T + np.eye(len(z))


def _complex_solutions() -> list[Case]:
    right = np.array([1 + 2j, -1j, 0.5, 2 - 1j])[: len(S)]
    return [
        _of_pair("solve", lambda z: L.solve(z, right)),
        _of_pair("solve her", lambda z: L.solve(_hermitian(z), right, assume_a="her", lower=True)),
        _of_pair("solve sym", lambda z: L.solve(z @ z.T, right, assume_a="sym")),
        _of_pair("solve_triangular", lambda z: L.solve_triangular(z, right)),
        _of_pair("solve_triangular T", lambda z: L.solve_triangular(z, right, trans="T", lower=True)),
        _of_pair("solve_triangular C", lambda z: L.solve_triangular(z, right, trans="C", unit_diagonal=True)),
        _of_pair("cho_factor", lambda z: np.triu(L.cho_factor(_hermitian(z))[0])),
        _of_pair("cho_solve", lambda z: L.cho_solve((L.cholesky(_hermitian(z), lower=True), True), right)),
        _of_pair("lu_factor", lambda z: L.lu_factor(z)[0]),
        *(_of_pair(f"lu_solve {k}", lambda z, k=k: L.lu_solve(L.lu_factor(z), right, trans=k)) for k in (0, 1, 2)),
        _of_pair("lu", lambda z: L.lu(z, permute_l=True)),
        _of_pair("eigh", lambda z: [L.eigh(_hermitian(z))[0], abs(L.eigh(_hermitian(z))[1])]),
        _of_pair("eigh two", lambda z: L.eigh(z + np.conjugate(z).T, _hermitian(z), eigvals_only=True)),
        _of_pair("eigvalsh", lambda z: L.eigvalsh(_hermitian(z), lower=False)),
        _of_pair("eigvals", lambda z: np.sort(abs(L.eigvals(z)))),
        _of_pair("eig", lambda z: [np.sort(abs(L.eig(z)[0])), np.sort(abs(L.eig(z)[1]), axis=None)[:2]]),
        _of_pair("solve_sylvester", lambda z: L.solve_sylvester(z + 9 * np.eye(len(z)), z.T, z), order=2),
        _of_pair("solve_continuous_lyapunov", lambda z: L.solve_continuous_lyapunov(z + 9 * np.eye(len(z)), z)),
        _of_pair("solve_discrete_lyapunov", lambda z: L.solve_discrete_lyapunov(z / 20, z.T)),
        _of_pair("solve_banded", lambda z: L.solve_banded((1, 2), z + 20 * (np.arange(4) == 2)[:, None], right),
                 spread(4, 4), spread(4, 4, seed=5)),
        _of_pair("cho_solve_banded",
                 lambda z: L.cho_solve_banded((z + np.array([[0], [20]]), False), right[: z.shape[1]]),
                 spread(2, 4), spread(2, 4, seed=5)),
        _of_pair("solveh_banded lower",
                 lambda z: L.solveh_banded(z + np.array([[20], [0]]), right[: z.shape[1]], lower=True),
                 spread(2, 4), spread(2, 4, seed=5)),
        _of_pair("solveh_banded", lambda z: L.solveh_banded(z + np.array([[0], [20]]), right[: z.shape[1]]),
                 spread(2, 4), spread(2, 4, seed=5)),
    ]  # fmt: skip


def _matrix_functions() -> list[Case]:
    names = "sinm cosm tanm sinhm coshm tanhm"
    return [
        *(Case(f"scipy.linalg.{name}", getattr(L, name), (S / 5,), rtol=1e-10, f32=False) for name in names.split()),
        *(_of_pair(name, lambda z, name=name: getattr(L, name)(z / 5)) for name in names.split()),
        Case("scipy.linalg.logm", L.logm, (P,), rtol=1e-10, f32=False),
        Case("scipy.linalg.logm turning", lambda a: L.logm(a + 9 * np.eye(len(a))), (S,), rtol=1e-10, f32=False),
        _of_pair("logm", L.logm, order=2),
        _of_pair("sqrtm", L.sqrtm, order=2),
        Case("scipy.linalg.expm_frechet", L.expm_frechet, (S / 3, S.T / 2), rtol=1e-10, f32=False),
        Case("scipy.linalg.companion", L.companion, (V + 3,)),
        Case("scipy.linalg.eig", lambda a: abs(L.eig(a)[1] * L.eig(a)[0]), (P,), rtol=1e-9, f32=False),
        Case("scipy.linalg.eigvals", lambda a: np.sort(abs(L.eigvals(a))), (P,), rtol=1e-10, f32=False),
    ]


BLOCK = np.array([[1.0, 2.0, 0.3, -0.2], [-0.7, 1.5, 0.4, 0.1], [0.2, -0.1, 4.0, 0.6], [0.1, 0.3, -0.2, 7.0]])
"""Two eigenvalues are complex, and none near another."""


def _swapped(z: Any) -> Any:
    return np.conjugate(np.swapaxes(z, -1, -2))


def _shadow(z: Any) -> Any:
    """The projector onto what the columns span."""
    return z @ _swapped(z)


def _of_middle(z: Any) -> Any:
    t, z = L.schur(z, output="complex")
    return [np.abs(t), np.abs(z), z @ np.triu(t) @ t @ _swapped(z)]


def _forms() -> list[Case]:
    both = BLOCK, BLOCK.T / 3 + 1
    many = np.diag([1.0, 4.0, 9.0, 16.0]) + spread(2, 4, 4)
    return [
        Case("scipy.linalg.schur", lambda a: [abs(x) for x in L.schur(a)], (BLOCK,), rtol=1e-10, f32=False),
        Case("scipy.linalg.schur batch", lambda a: abs(L.schur(a)[0]), (many,), rtol=1e-10, f32=False),
        Case("scipy.linalg.schur sort", lambda a: L.schur(a - 3 * np.eye(4), sort="lhp")[0] ** 2, (BLOCK,), rtol=1e-10,
             f32=False),
        Case("scipy.linalg.schur complex", _of_middle, (BLOCK,), rtol=1e-10, f32=False),
        _of_pair("schur", _of_middle, *both, order=2),
        Case("scipy.linalg.hessenberg", lambda a: L.hessenberg(a, calc_q=True), (BLOCK,), rtol=1e-10, f32=False),
        Case("scipy.linalg.hessenberg batch", lambda a: L.hessenberg(a), (many,), rtol=1e-10, f32=False),
        _of_pair("hessenberg", lambda z: L.hessenberg(z, calc_q=True), *both, order=2),
        _of_pair("hessenberg small", lambda z: L.hessenberg(z[:2, :2], calc_q=True), *both),
        *(Case("scipy.linalg.ldl", lambda a, k=k: L.ldl(a, lower=k), (BLOCK[::-1].copy(),), rtol=1e-10, f32=False)
          for k in (True, False)),
        Case("scipy.linalg.ldl batch", lambda a: tuple(L.ldl(a)), (many[:, ::-1].copy(),), rtol=1e-10, f32=False),
        *(_of_pair("ldl", lambda z, k=k, h=h: L.ldl(z[::-1] * (1 - np.eye(4) * h) + np.eye(4) * h, k, h), *both,
                   order=2) for k in (True, False) for h in (True, False)),
        *(Case(f"scipy.linalg.rq {mode}", lambda a, mode=mode: L.rq(a, mode=mode), (x,), rtol=1e-10, f32=False)
          for mode in ("full", "r", "economic") for x in (S, TALL)),
        Case("scipy.linalg.rq wide", lambda a: [L.rq(a)[0], _shadow(_swapped(L.rq(a)[1][:2]))], (WIDE,), rtol=1e-10,
             f32=False),
        _of_pair("rq", lambda z: L.rq(z, mode="economic"), order=2),
        Case("scipy.linalg.funm", lambda a: L.funm(a, np.sin), (BLOCK,), rtol=1e-10, f32=False),
        Case("scipy.linalg.funm given", lambda a, t: L.funm(a, lambda x: np.exp(t * x)), (BLOCK / 5, np.float64(0.7)),
             rtol=1e-10, f32=False),
        _of_pair("funm", lambda z: L.funm(z, np.exp), BLOCK / 5, BLOCK.T / 9, order=2),
    ]  # fmt: skip


def _spaces() -> list[Case]:
    others = TALL[::-1, :2] ** 2
    return [
        Case("scipy.linalg.orth", lambda a: abs(L.orth(a)), (TALL,), rtol=1e-10, f32=False),
        _of_pair("orth", lambda z: _shadow(L.orth(z)), TALL, TALL[::-1] ** 2, order=2),
        Case("scipy.linalg.null_space", lambda a: _shadow(L.null_space(a)), (TALL[:, :2].T.copy(),), rtol=1e-10),
        Case("scipy.linalg.null_space one", lambda a: abs(L.null_space(a[:, :3].T)), (S,), rtol=1e-10, f32=False),
        Case("scipy.linalg.null_space batch", lambda a: _shadow(L.null_space(a)), (spread(2, 2, 4),), rtol=1e-10),
        _of_pair("null_space", lambda z: _shadow(L.null_space(z)), TALL.T.copy(), TALL.T[::-1] ** 2, order=2),
        Case("scipy.linalg.subspace_angles", L.subspace_angles, (TALL[:, :2].copy(), others), rtol=1e-10, f32=False),
        Case("scipy.linalg.subspace_angles two sizes", L.subspace_angles, (TALL, others[:, :1].copy()), rtol=1e-10,
             f32=False),
        _of_pair("subspace_angles", lambda z: L.subspace_angles(z[:, :2], z[:, 2:]), spread(5, 4), spread(5, 4, seed=3),
                 order=2),
        Case("np.linalg.svd projector", lambda a: _shadow(np.linalg.svd(a)[0][:, 3:]), (TALL,), rtol=1e-10),
        Case("np.linalg.qr projector", lambda a: _shadow(np.linalg.qr(a, "complete")[0][:, 3:]), (TALL,), rtol=1e-10),
    ]


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
    *(Case(f"scipy.linalg.solve_banded {low} {up}",
           lambda ab, b, low=low, up=up: L.solve_banded((low, up), ab + 9 * (np.arange(len(ab)) == up)[:, None], b),
           (spread(low + up + 1, 5), spread(5, 2, seed=2)), f32=False, rtol=1e-11)
      for low, up in ((0, 0), (0, 2), (2, 0), (3, 1), (6, 5))),
    *(Case(f"scipy.linalg.cho_solve_banded {lower}",
           lambda cb, b, lower=lower: L.cho_solve_banded(
               (cb + 7 * (np.arange(3) == (0 if lower else 2))[:, None], lower), b),
           (spread(3, 5), spread(5, seed=2)), f32=False, rtol=1e-11) for lower in (False, True)),
    *(Case(f"scipy.linalg.cholesky_banded {lower} {width}",
           lambda ab, lower=lower, width=width: L.cholesky_banded(
               ab + 9 * (np.arange(width + 1) == (0 if lower else width))[:, None], lower=lower),
           (spread(width + 1, n),), f32=False, rtol=1e-11)
      for lower in (False, True) for width, n in ((0, 4), (2, 5), (4, 3))),
    Case("scipy.linalg.pinvh", lambda a: L.pinvh(a + a.T), (S,), rtol=1e-10, f32=False),
    Case("scipy.linalg.pinvh upper", lambda a: L.pinvh(a + 9 * np.eye(len(a)), lower=False), (S,), rtol=1e-10,
         f32=False),
    Case("scipy.linalg.eigh_tridiagonal", lambda d, e: [L.eigh_tridiagonal(d, e)[0], L.eigh_tridiagonal(d, e)[1] ** 2],
         (V * np.arange(1, len(V) + 1), 0.3 + V[1:] ** 2), rtol=1e-10, f32=False),
    Case("scipy.linalg.eigh_tridiagonal of some",
         lambda d, e: L.eigh_tridiagonal(d, e, select="i", select_range=(1, 2))[1] ** 2,
         (V * np.arange(1, len(V) + 1), 0.3 + V[1:] ** 2), rtol=1e-10, f32=False),
    Case("scipy.linalg.eigvalsh_tridiagonal", L.eigvalsh_tridiagonal, (V * np.arange(1, len(V) + 1), 0.3 + V[1:] ** 2),
         rtol=1e-10, f32=False),
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
    *_complex_solutions(),
    *_matrix_functions(),
    *_forms(),
    *_spaces(),
    Case("scipy.linalg.khatri_rao", L.khatri_rao, (TALL, S[:2, :3].copy())),
]
