"""The constraints of vectors and matrices: what is checked is a whole row, or a whole matrix."""

from __future__ import annotations

from typing import Any

from ..tensor.face import functions as T
from ..tensor.face import linalg_functions as linalg
from .regions import Constraint

# ---- vectors


class _OneHot(Constraint):
    """Zeros but for a one."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Numbers from 0 on that sum to 1, but for rounding."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts, of which there are at most so many in all."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ---- matrices


def _all(held: Any) -> Any:
    """Whether all elements of each matrix hold."""
    return held.all(-1).all(-1)


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return _all(value.tril() == value)


class _LowerCholesky(_LowerTriangular):
    """Lower triangles with positive diagonals."""

    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlations: their rows have length 1, but for rounding."""

    def check(self, value: Any) -> Any:
        tolerance = T.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = linalg.vector_norm(value.detach(), dim=-1)
        return super().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        held = value.shape[-2] == value.shape[-1]
        return T.full(value.shape[:-2], held, dtype=T.bool)


class _Symmetric(_Square):
    """Matrices that are their transpose, but for rounding."""

    def check(self, value: Any) -> Any:
        held = super().check(value)
        return _all(T.isclose(value, value.mT, atol=1e-6)) if held.all() else held


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        held = super().check(value)
        return (linalg.eigvalsh(value) >= 0).all(-1) if held.all() else held


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value: Any) -> Any:
        held = super().check(value)
        return linalg.cholesky_ex(value).info == 0 if held.all() else held
