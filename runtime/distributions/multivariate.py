"""Normal distributions of vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from ..tensor.face import functions as T
from ..tensor.face import linalg_functions as linalg
from ..tensor.value.dtypes import Size
from ..tensor.value.promotion import common_shape
from . import constraints
from .distribution import LOG_2PI, Distribution
from .utils import lazy_property


def _diagonal(m: Any) -> Any:
    return m.diagonal(dim1=-2, dim2=-1)


def _solved(scale_tril: Any, vectors: Any) -> Any:
    """The vectors that these lower triangles carry into `vectors`, whose batches may differ."""
    shape = common_shape([scale_tril.shape[:-1], vectors.shape])
    return linalg.solve_triangular(scale_tril, vectors.expand(shape).unsqueeze(-1), upper=False).squeeze(-1)


def _tril_of_precision(precision: Any) -> Any:
    """The lower triangle of a matrix's inverse, by that of the matrix turned round: the inverse itself is not made."""
    turned = linalg.cholesky(T.flip(precision, (-2, -1)))
    upper = T.flip(turned, (-2, -1)).mT
    eye = T.eye(precision.shape[-1], dtype=precision.dtype)
    return linalg.solve_triangular(upper, eye.expand(precision.shape), upper=False)


class MultivariateNormal(Distribution):
    """Normal distributions of vectors of mean `loc`, and one of three matrices that say the same.

    covariance_matrix  symmetric and positive definite
    precision_matrix   its inverse
    scale_tril         the lower triangle whose product with its transpose it is; densities are made of this one

    >>> import pullback as torch
    >>> m = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> m.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    event_dims: ClassVar[dict[str, int]] = {
        "loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2, "_unbroadcasted_scale_tril": 2,
    }  # fmt: skip
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must have at least one dimension, of the vectors")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        matrices = {name: m for name, m in given.items() if m is not None}
        if len(matrices) != 1:
            raise ValueError(f"MultivariateNormal: give exactly one of {', '.join(given)}, not {len(matrices)}")
        ((name, matrix),) = matrices.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must have at least two dimensions, not {matrix.dim()}")
        batch = Size(common_shape([matrix.shape[:-2], loc.shape[:-1]]))
        n = loc.shape[-1:]
        self.__dict__[name] = matrix.expand(batch + n + n)
        self.loc = loc.expand(batch + n)
        super().__init__(batch, n, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _tril_of_precision(matrix)

    def _whole(self, matrix: Any) -> Any:
        n = tuple(self._event_shape)
        return matrix.expand(tuple(self._batch_shape) + n + n)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangle."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The lower triangle times its transpose."""
        tril = self._unbroadcasted_scale_tril
        return self._whole(tril @ tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        inverse = linalg.inv(self._unbroadcasted_scale_tril)
        return self._whole(inverse.mT @ inverse)

    @property
    def mean(self) -> Any:
        """The location."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Of each coordinate."""
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The location and the triangle times a standard draw."""
        noise = T.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        tril = self._unbroadcasted_scale_tril
        distance = _solved(tril, value - self.loc).pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * LOG_2PI + distance) - _diagonal(tril).log().sum(-1)

    def entropy(self) -> Any:
        """By the determinant of the covariance."""
        made = 0.5 * self._event_shape[0] * (1.0 + LOG_2PI) + _diagonal(self._unbroadcasted_scale_tril).log().sum(-1)
        return made.expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """Normal distributions of vectors of covariance `cov_factor @ cov_factor.T + diag(cov_diag)`.

    With a factor of few columns the densities cost what they cost of matrices of that many rows: the inverse by
    Woodbury's identity, the determinant by its lemma.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    event_dims: ClassVar[dict[str, int]] = {
        "loc": 1, "cov_factor": 2, "cov_diag": 1, "_unbroadcasted_cov_factor": 2, "_unbroadcasted_cov_diag": 1,
    }  # fmt: skip
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must have at least one dimension, of the vectors")
        n = loc.shape[-1:]
        if cov_factor.dim() < 2 or cov_factor.shape[-2:-1] != n:
            raise ValueError(f"cov_factor must be matrices of {n[0]} rows, not of shape {tuple(cov_factor.shape)}")
        if cov_diag.shape[-1:] != n:
            raise ValueError(f"cov_diag must be vectors of {n[0]} numbers, not of shape {tuple(cov_diag.shape)}")
        batch = Size(common_shape([loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]]))
        self.loc, self.cov_diag = loc.expand(batch + n), cov_diag.expand(batch + n)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        super().__init__(batch, n, validate_args=validate_args)

    def _capacitance(self) -> tuple[Any, Any]:
        """W^T D^-1, and the lower triangle of 1 + W^T D^-1 W."""
        factor = self._unbroadcasted_cov_factor
        weighed = factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        inner = weighed @ factor
        return weighed, linalg.cholesky(inner + T.eye(inner.shape[-1], dtype=inner.dtype))

    @property
    def mean(self) -> Any:
        """The location."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """Of each coordinate."""
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The factor times its transpose, and the diagonal."""
        return self.cov_factor @ self.cov_factor.mT + T.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangle of the covariance."""
        return linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, by Woodbury's identity."""
        weighed, tril = self._capacitance()
        part = linalg.solve_triangular(tril, weighed, upper=False)
        made = T.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - part.mT @ part
        n = tuple(self._event_shape)
        return made.expand(tuple(self._batch_shape) + n + n)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The location, the factor times a draw, and a draw for each coordinate."""
        shape = self._extended_shape(sample_shape)
        few = T.randn(shape[:-1] + self.cov_factor.shape[-1:], dtype=self.loc.dtype)
        each = T.randn(shape, dtype=self.loc.dtype)
        shared = (self._unbroadcasted_cov_factor @ few.unsqueeze(-1)).squeeze(-1)
        return self.loc + shared + self._unbroadcasted_cov_diag.sqrt() * each

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        weighed, tril = self._capacitance()
        gap = value - self.loc
        part = _solved(tril, (weighed @ gap.unsqueeze(-1)).squeeze(-1))
        distance = (gap.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - part.pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * LOG_2PI + self._logdet(tril) + distance)

    def _logdet(self, tril: Any) -> Any:
        return 2 * _diagonal(tril).log().sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def entropy(self) -> Any:
        """By the determinant of the covariance."""
        made = 0.5 * (self._event_shape[0] * (1.0 + LOG_2PI) + self._logdet(self._capacitance()[1]))
        return made.expand(self._batch_shape)
