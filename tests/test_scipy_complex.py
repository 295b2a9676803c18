"""Every public function of scipy.linalg with complex matrices: SciPy's values, or the declared refusal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import linalg, special

import pullback as pb
from pullback.compiler.frontend.errors import TraceError

_rng = np.random.default_rng(3)


def _drawn(*shape: int) -> np.ndarray:
    return _rng.normal(size=shape) + 1j * _rng.normal(size=shape)


A, B, TALL, V, W = _drawn(3, 3) + 3 * np.eye(3), _drawn(3, 3), _drawn(4, 3), _drawn(3), _drawn(3)
H = A @ A.conj().T + np.eye(3)
BANDS, CENTRE = _drawn(3, 3) + np.array([[0], [6], [0]]), np.array([[0.0], [9.0]])
SQUARE = (A,)

GIVEN: dict[str, tuple[Any, ...]] = {
    "block_diag": (A, B[:1], V),
    "cdf2rdf": (V, A),
    "cho_factor": (H,),
    "cho_solve": ((H, False), V),
    "cho_solve_banded": ((_drawn(2, 3), False), V),
    "cholesky": (H,),
    "cholesky_banded": (CENTRE + 0.1 * _drawn(2, 3),),
    "circulant": (V,),
    "clarkson_woodruff_transform": (TALL, 2, 0),
    "companion": (V,),
    "convolution_matrix": (V, 4),
    "cossin": (linalg.qr(_drawn(4, 4))[0], 2, 2),
    "diagsvd": (V, 3, 3),
    "eig_banded": (CENTRE + 0.1 * _drawn(2, 3),),
    "eigvals_banded": (CENTRE + 0.1 * _drawn(2, 3),),
    "eigh": (H,),
    "eigh_tridiagonal": (V, W[:2]),
    "eigvalsh": (H,),
    "eigvalsh_tridiagonal": (V, W[:2]),
    "expm_frechet": (A, B),
    "fiedler": (V,),
    "fiedler_companion": (V,),
    "fractional_matrix_power": (A, 0.3),
    "funm": (A, np.cos),
    "hankel": (V, W),
    "khatri_rao": (A, B),
    "leslie": (V, W[:2]),
    "lstsq": (TALL, TALL[:, 0] * 2),
    "lu_solve": ((A, np.array([1, 2, 2], np.int32)), V),
    "matmul_toeplitz": ((V, W), V),
    "ordqz": (A, B),
    "orthogonal_procrustes": (TALL, TALL[::-1] * 1j),
    "pinvh": (H,),
    "pinv": (TALL,),
    "qr": (TALL,),
    "qr_delete": (*linalg.qr(TALL), 1),
    "qr_insert": (*linalg.qr(TALL), W, 1),
    "qr_multiply": (TALL, _drawn(3, 4)),
    "qr_update": (*linalg.qr(TALL), _drawn(4), V),
    "qz": (A, B),
    "rsf2csf": (np.triu(A), B),
    "solve": (A, V),
    "solve_banded": ((1, 1), BANDS, V),
    "solve_circulant": (V, W),
    "solve_continuous_are": (A, B, H, H),
    "solve_continuous_lyapunov": (A, B),
    "solve_discrete_are": (A, B, H, H),
    "solve_discrete_lyapunov": (A / 5, B),
    "solve_lyapunov": (A, B),
    "solve_sylvester": (A, B + 5 * np.eye(3), B),
    "solve_toeplitz": (V + np.array([9, 0, 0]), W),
    "solve_triangular": (A, V),
    "solveh_banded": (CENTRE + 0.1 * _drawn(2, 3), V),
    "subspace_angles": (TALL[:, :2], TALL[::-1, :2] * 1j),
    "svd": (TALL,),
    "toeplitz": (V, W),
}
"""What each function is called with, if not with a square matrix."""

_WITHOUT = """
    dft find_best_blas_type get_blas_funcs get_lapack_funcs hadamard helmert hilbert invhilbert invpascal pascal"""
WITHOUT = set(_WITHOUT.split())
"""What takes no matrices."""

PHASES = {"eigh", "svd", "qr", "eig", "orth"}
"""Of whose vectors only the sizes are determined."""

FUNCTIONS = [
    n for n in sorted(linalg.__all__)
    if n not in WITHOUT and callable(getattr(linalg, n)) and not isinstance(getattr(linalg, n), type)
]  # fmt: skip
_KNOWN = """
    block_diag cho_factor cho_solve cho_solve_banded cholesky circulant companion convolution_matrix coshm cosm det eig
    eigh eigvals fiedler matmul_toeplitz orthogonal_procrustes
    eigvalsh expm expm_frechet fractional_matrix_power funm hankel hessenberg inv khatri_rao ldl logm lstsq lu
    lu_factor lu_solve norm null_space orth pinv pinvh polar qr rq schur signm sinhm sinm solve solve_banded
    solve_circulant solve_continuous_are solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov
    solve_lyapunov solve_sylvester solve_toeplitz solve_triangular solveh_banded sqrtm subspace_angles svd svdvals
    tanhm tanm toeplitz"""
KNOWN = set(_KNOWN.split())
"""What has SciPy's values; all else is refused."""


def _as(kind: type, x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_as(kind, each) for each in x)
    return x.astype(kind) if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x


def _flat(x: Any) -> list[Any]:
    return [leaf for each in x for leaf in _flat(each)] if isinstance(x, (tuple, list)) else [np.asarray(x)]


def _comparable(name: str, made: Any) -> list[Any]:
    if name == "cho_factor":
        made = np.triu(made[0])
    return [np.abs(x) for x in _flat(made)] if name in PHASES else _flat(made)


def _of_arrays(function: Any, args: Any) -> Any:
    """The function of its arrays alone, what else it takes as it is."""
    leaves = [x for x in _flat(args) if x.dtype.kind == "c"]

    def rebuilt(x: Any, arrays: Any) -> Any:
        if isinstance(x, tuple):
            return tuple([rebuilt(each, arrays) for each in x])
        return next(arrays) if isinstance(x, np.ndarray) and x.dtype.kind == "c" else x

    return lambda *arrays: function(*rebuilt(args, iter(arrays))), leaves


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_matrices(name: str, kind: Any) -> None:
    function, arrays = _of_arrays(getattr(linalg, name), _as(kind, GIVEN.get(name, SQUARE)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = function(*arrays)
        except Exception as error:
            want = error
        if name not in KNOWN or isinstance(want, Exception):
            with pytest.raises((TraceError, type(want)) if isinstance(want, Exception) else TraceError) as raised:
                pb.jit(function)(*arrays)
            assert "fix:" in str(raised.value) or isinstance(want, Exception)
            return
        made = pb.jit(function)(*arrays)
    tolerance = 1e-9 if kind is np.complex128 else 2e-4
    for got, true in zip(_comparable(name, made), _comparable(name, want), strict=True):
        assert got.dtype == true.dtype
        np.testing.assert_allclose(got, true, rtol=tolerance, atol=tolerance)


def test_the_faddeeva_function() -> None:
    z = np.array([0.5 + 1j, -2 + 0.3j, 3 - 0.2j, 1e-3 + 5j])
    np.testing.assert_allclose(pb.jit(lambda z: special.wofz(z))(z), special.wofz(z), rtol=1e-15)
    first = pb.grad(lambda z: special.wofz(z), holomorphic=True)
    for at in z:
        slope = -2 * at * special.wofz(at) + 2j / np.sqrt(np.pi)
        np.testing.assert_allclose(first(at), slope, rtol=1e-14)
        second = -2 * special.wofz(at) - 2 * at * slope
        np.testing.assert_allclose(pb.grad(first, holomorphic=True)(at), second, rtol=1e-13)


@pytest.mark.parametrize(
    ("function", "matrix", "kind", "text"),
    [
        (linalg.qz, A, TraceError, r"scipy.linalg.qz"),
        (linalg.bandwidth, A, TraceError, r"scipy.linalg.bandwidth\(\)"),
        (linalg.logm, -np.eye(2), ValueError, r"logarithm is complex.*a \+ 0j"),
        (linalg.sqrtm, -np.eye(2), ValueError, r"square root or logarithm is complex.*a \+ 0j"),
        (linalg.logm, np.diag([1.0, 0.0]), np.linalg.LinAlgError, "logm of a singular matrix"),
        (linalg.signm, np.array([[0.0, 1.0], [-1.0, 0.0]]), np.linalg.LinAlgError, "signm .*imaginary axis"),
        (lambda a: linalg.solve_continuous_are(a, a, a, H), A, ValueError, "Matrix q should be symmetric"),
        (lambda a: linalg.solve_discrete_are(a, a, H, a), A, ValueError, "Matrix r should be symmetric"),
        (lambda a: linalg.solve_discrete_are(a, a[:2], H, H), A, ValueError, "same number of rows"),
        (lambda a: linalg.fractional_matrix_power(a, np.ones(2)), A, TraceError, r"t of shape \(2,\)"),
        (linalg.logm, A[:2], TraceError, "logm of an array of shape"),
        (lambda a: linalg.solve(a, V, transposed=True), A, TraceError, "transposed=True"),
        (lambda a: linalg.companion(a[0] * 0), A, ValueError, "must not be zero"),
        (lambda a: linalg.eig(a, left=True), A, TraceError, "scipy.linalg.eig with left=True"),
    ],
)
def test_refusals(function: Any, matrix: np.ndarray, kind: type[Exception], text: str) -> None:
    with warnings.catch_warnings(), pytest.raises(kind, match=f"(?s){text}"):
        warnings.simplefilter("ignore")
        pb.jit(lambda a: function(a))(matrix)
