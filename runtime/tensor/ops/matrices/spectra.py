"""Eigenvalues and singular values, and the vectors that belong to them.

The signs of vectors are LAPACK's choice; gradients that depend on them mean nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .....compiler.ops.complex.complex_matrices import eig as general
from .....compiler.ops.complex.pairs import Pair, joined, split
from .....compiler.ops.linalg import spectra as V
from ...calls.asking import check_values
from ...reverse.modes import mode
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply, apply_all, requires, wrap
from ...value.dtypes import ALL
from ...value.found import returned
from ..arranging.creation import tensor
from ..arranging.shapes import shape_of
from ..elementwise.complexes import adjoint
from .solving import LinAlgError, check_matrices, check_rank, check_square, results


def several(name: str, node: str, prim: Any, *names: str) -> Operation:
    """The operation that gives the results of a primitive, whose attributes have these names."""

    def emit(m: Any, x: Any, *values: Any) -> Any:
        return results(m, prim, x, **dict(zip(names, values, strict=True)))

    return Operation(name, node, emit)


def results_of(kind: Any, operation: Operation, A: Core, *attributes: Any) -> Any:
    cells, node = apply_all(operation, (A,), attributes)
    return kind(*(wrap(c, node, k) if c.kind.is_float else wrap(c) for k, c in enumerate(cells)))


EIGH = several("linalg_eigh", "LinalgEighBackward0", V.eigh, "upper")
eigh_result = returned("linalg_eigh", "eigenvalues", "eigenvectors")


def eigh(A: Core, UPLO: str = "L") -> Any:
    """The eigenvalues, the least first, and eigenvectors of symmetric matrices, of which one triangle is read."""
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: UPLO must be either 'L' or 'U', got {UPLO!r}")
    check_rank("linalg.eigh", A)
    if not A._kind_of().is_float:
        raise NotImplementedError(f"linalg.eigh: expected a floating-point tensor, got {A._kind_of()}")
    return results_of(eigh_result, EIGH, check_square("linalg.eigh", A), int(UPLO.upper() == "U"))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, the least first."""
    return eigh(A, UPLO).eigenvalues


def _eig(m: Any, x: Any) -> Any:
    is_complex = isinstance(x, Pair)
    made = m.b.emit(general, joined(x) if is_complex else x.value, is_complex=int(is_complex))
    return tuple(split(m, v) for v in made)


EIG = Operation("linalg_eig", "LinalgEigBackward0", _eig, of_complex=True)
eig_result = returned("linalg_eig", "eigenvalues", "eigenvectors")


def eig(A: Core, name: str = "linalg.eig") -> Any:
    """The eigenvalues and eigenvectors of square matrices, complex ones."""
    check_square(name, A)

    def test(array: np.ndarray) -> None:
        if not np.isfinite(array).all():
            raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")

    check_values(A, test)
    return results_of(eig_result, EIG, A)


def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex ones."""
    return eig(A, "linalg.eigvals").eigenvalues


SVD = several("linalg_svd", "LinalgSvdBackward0", V.svd, "full")
WITH_VECTORS = Operation("linalg_svdvals", "LinalgSvdBackward0", lambda m, x: results(m, V.svd, x, full=0)[1])
"""The vectors are what the gradient needs."""
SVDVALS = Operation("linalg_svdvals", "LinalgSvdBackward0", lambda m, x: m.singular_values(x))
svd_result, old_svd_result = returned("linalg_svd", "U", "S", "Vh"), returned("svd", "U", "S", "V")


def _check_finite(array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        raise LinAlgError("linalg.svd: there are no singular values, because the matrix is not finite everywhere")


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(f"linalg.svd: keyword argument `driver=` is only supported on CUDA inputs, got {driver!r}")


def svd(A: Core, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vh with A = U S Vh, the largest singular values first."""
    _check_driver(driver)
    check_values(check_matrices("linalg.svd", A), _check_finite)
    return results_of(svd_result, SVD, A, int(full_matrices))


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, the largest first."""
    _check_driver(driver)
    check_values(check_matrices("linalg.svd", A), _check_finite)
    return apply(WITH_VECTORS if mode.enabled and requires(A) else SVDVALS, (A,))


def old_svd(input: Core, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with A = U S V'; with `some` U and V have as many columns as there are singular values."""
    u, s, vh = svd(input, not some)
    if not compute_uv:
        *lead, rows, columns = shape_of(input)
        dtype = ALL[input._kind_of().dtype]
        u, v = (tensor(np.zeros((*lead, n, n)), dtype=dtype) for n in (rows, columns))
        return old_svd_result(u, s, v)
    return old_svd_result(u, s, adjoint(vh))


old_svd.__name__ = old_svd.__qualname__ = "svd"
