"""Distributions of matrices, Wishart's and those of correlations' factors, and of shares in [0, 1]."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..nn import functional as F
from ..tensor.face import functions as T
from ..tensor.face import linalg_functions as linalg
from ..tensor.face import older_names as matrices
from ..tensor.face import special_functions as special
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from ..tensor.value.promotion import common_shape
from . import constraints
from .discrete import one_of
from .distribution import Distribution, ExponentialFamily
from .gammas import Beta, Chi2
from .multivariate import _tril_of_precision
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, only_numbers, probs_to_logits


def _diagonal(m: Any) -> Any:
    return m.diagonal(dim1=-2, dim2=-1)


class ContinuousBernoulli(ExponentialFamily):
    """Numbers in [0, 1] of density in proportion to p**x (1 - p)**(1 - x).

    probs   p, in (0, 1)
    logits  the logarithm of p / (1 - p)
    lims    between these, where the formulas lose their digits, their Taylor series around 1/2 are taken

    Loaiza-Ganem and Cunningham, "The continuous Bernoulli" (2019).

    >>> import pullback as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.3)).mean
    tensor(0.4302)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    event_dims: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        one_of(type(self).__name__, probs, logits)
        given = probs if logits is None else logits
        (value,) = broadcast_all(given)
        if logits is None:
            if validate_args and not constraints.unit_interval.check(value).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(value)
        else:
            self.logits = value
        self._lims = lims
        super().__init__(Size() if only_numbers(given) else value.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._lims = self._lims

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The parameters."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return (self.probs if "probs" in vars(self) else self.logits).shape

    def _outside(self) -> Any:
        """Where the formulas hold."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Any:
        """The parameters there, and elsewhere one at which the formulas are finite."""
        return T.where(self._outside(), self.probs, self._lims[0] * T.ones_like(self.probs))

    def _log_of_constant(self) -> Any:
        """log(2 atanh(1 - 2p) / (1 - 2p)), by which the density is scaled."""
        p = self._cut()
        exact = (T.log1p(-p) - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5) ** 2
        return T.where(self._outside(), exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Any:
        """p / (2p - 1) + 1 / (2 atanh(1 - 2p))."""
        p, x = self._cut(), self.probs - 0.5
        exact = p / (2 * p - 1) + 1 / (T.log1p(-p) - p.log())
        return T.where(self._outside(), exact, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self) -> Any:
        """p (p - 1) / (1 - 2p)**2 + 1 / (2 atanh(1 - 2p))**2."""
        p, x = self._cut(), (self.probs - 0.5) ** 2
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (T.log1p(-p) - p.log()) ** 2
        return T.where(self._outside(), exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Any:
        """By the inverse of the distribution function."""
        return self.icdf(T.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._log_of_constant() - F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Any) -> Any:
        """The probabilities of what is at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut()
        exact = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        made = T.where(self._outside(), exact, value)
        nothing, all_ = T.zeros_like(value), T.ones_like(value)
        return T.where(value <= 0, nothing, T.where(value >= 1, all_, made))

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        p = self._cut()
        exact = (T.log1p(-p + value * (2 * p - 1)) - T.log1p(-p)) / (p.log() - T.log1p(-p))
        return T.where(self._outside(), exact, value)

    def entropy(self) -> Any:
        """The mean of the negative logarithms of densities."""
        first, second = T.log1p(-self.probs), self.probs.log()
        return self.mean * (first - second) - self._log_of_constant() - first


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices M of `dim` rows, of density in proportion to det(M)**(c - 1).

    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method"
    (2009); c is the `concentration`.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive}
    event_dims: ClassVar[dict[str, int]] = {"concentration": 0}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new.dim = self.dim

    def sample(self, sample_shape: Any = ()) -> Any:
        """Row by row: a direction, and a length whose square is of a beta distribution."""
        with no_grad():
            rows = T.arange(self.dim - 1, dtype=self.concentration.dtype)
            rows = T.cat([rows.new_zeros(1), rows])
            free = (self.concentration + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * rows
            lengths = Beta(rows + 0.5, free).sample(sample_shape).unsqueeze(-1)
            drawn = T.randn(self._extended_shape(sample_shape), dtype=lengths.dtype).tril(-1)
            directions = drawn / drawn.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            w = lengths.sqrt() * directions
            left = (1 - (w**2).sum(-1)).clamp(min=T.finfo(w.dtype).tiny).sqrt()
            return w + left.diag_embed()

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities of factors: those of matrices, and of the diagonal by which areas change."""
        if self._validate_args:
            self._validate_sample(value)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - T.arange(2, self.dim + 1)
        made = (order * _diagonal(value)[..., 1:].log()).sum(-1)
        free = self.dim - 1
        alpha = self.concentration + 0.5 * free
        constant = 0.5 * free * math.log(math.pi) + special.mvlgamma(alpha - 0.5, free) - special.lgamma(alpha) * free
        return made - constant


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of normal vectors, whose covariance one of three matrices says.

    covariance_matrix  symmetric and positive definite
    precision_matrix   its inverse
    scale_tril         the lower triangle whose product with its transpose it is
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    event_dims: ClassVar[dict[str, int]] = {
        "df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2, "_unbroadcasted_scale_tril": 2,
    }  # fmt: skip
    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        found = {name: m for name, m in given.items() if m is not None}
        if len(found) != 1:
            raise ValueError(f"Wishart: give exactly one of {', '.join(given)}, not {len(found)}")
        ((name, matrix),) = found.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        df = df if T.is_tensor(df) else T.tensor(float(df), dtype=matrix.dtype)
        n = matrix.shape[-2:]
        batch = Size(common_shape([df.shape, matrix.shape[:-2]]))
        self.df = df.expand(batch)
        self.__dict__[name] = matrix.expand(batch + n)
        if (df <= n[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n[-1] - 1}.")
        super().__init__(batch, n, validate_args=validate_args)
        made = {"scale_tril": lambda m: m, "covariance_matrix": linalg.cholesky, "precision_matrix": _tril_of_precision}
        self._unbroadcasted_scale_tril = made[name](matrix)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangle."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The lower triangle times its transpose."""
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        inverse = linalg.inv(self._unbroadcasted_scale_tril)
        return self._whole(inverse.mT @ inverse)

    def _df(self) -> Any:
        return self.df.reshape((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Any:
        """`df` times the covariance."""
        return self._df() * self.covariance_matrix

    @property
    def mode(self) -> Any:
        """The covariance times what `df` has more than rows and one; nan where that is nothing."""
        factor = self._df() - self._event_shape[-1] - 1
        return T.where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        """Of each element."""
        v = self.covariance_matrix
        of_each = _diagonal(v)
        return self._df() * (v**2 + of_each.unsqueeze(-1) * of_each.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """By Bartlett's factor: roots of chi-squared draws on the diagonal, and normal ones below.

        max_try_correction   PyTorch draws singular matrices again, so often; none is drawn again here
        """
        n = self._event_shape[-1]
        squares = Chi2(self.df.unsqueeze(-1) - T.arange(n, dtype=self.df.dtype)).rsample(sample_shape)
        roots = squares.sqrt().clamp(min=T.finfo(squares.dtype).eps)
        below = T.randn(Size(sample_shape) + self._batch_shape + Size((n * (n - 1) // 2,)), dtype=roots.dtype)
        rows, columns = T.tril_indices(n, n, -1)
        noise = T.zeros((*roots.shape, n), dtype=roots.dtype)
        noise[..., rows, columns] = below
        factor = self._unbroadcasted_scale_tril @ (noise + roots.diag_embed())
        return factor @ factor.mT

    def _log_of_roots(self) -> Any:
        """n log(2) / 2, and the logarithm of the determinant of the lower triangle."""
        return self._event_shape[-1] * math.log(2) / 2 + _diagonal(self._unbroadcasted_scale_tril).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        n = self._event_shape[-1]
        solved = matrices.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            (self.df - n - 1) / 2 * linalg.slogdet(value).logabsdet - _diagonal(solved).sum(-1) / 2
            - self.df * self._log_of_roots() - special.mvlgamma(self.df / 2, n)
        )  # fmt: skip

    def entropy(self) -> Any:
        """The mean of the negative logarithms of densities."""
        n = self._event_shape[-1]
        halves = self.df.unsqueeze(-1) / 2 - T.arange(n, dtype=self.df.dtype) / 2
        return (
            (n + 1) * self._log_of_roots() + special.mvlgamma(self.df / 2, n)
            - (self.df - n - 1) / 2 * special.digamma(halves).sum(-1) + self.df * n / 2
        )  # fmt: skip


__all__ = ["ContinuousBernoulli", "LKJCholesky", "Wishart"]
