"""Distributions of single real numbers that have a location and a scale, or a rate."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..tensor.face import functions as T
from ..tensor.face import special_functions as special
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from . import constraints
from .distribution import LOG_2PI, Distribution, ExponentialFamily
from .gamma_draws import standard_gamma
from .utils import broadcast_all, only_numbers


def _uniform(like: Any, shape: Size) -> Any:
    """Numbers in (0, 1): neither end, whose logarithms are infinite."""
    tiny = T.finfo(like.dtype).tiny
    return T.rand(shape, dtype=like.dtype).clamp(min=tiny)


class _LocScale(Distribution):
    """Families that a shift and a factor carry into themselves."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(Size() if only_numbers(loc, scale) else self.loc.shape, validate_args=validate_args)

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    def _standard(self, value: Any) -> Any:
        """Where a value lies from the location, in scales."""
        if self._validate_args:
            self._validate_sample(value)
        return (value - self.loc) / self.scale


class Normal(_LocScale, ExponentialFamily):
    """Normal distributions of mean `loc` and standard deviation `scale`.

    >>> import pullback as torch
    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    @property
    def mean(self) -> Any:
        """The location."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The square of the scale."""
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without a gradient."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return T.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws whose gradient is that of a shift and a factor."""
        noise = T.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        z = self._standard(value)
        return -0.5 * z * z - self.scale.log() - 0.5 * LOG_2PI

    def cdf(self, value: Any) -> Any:
        """By the error function."""
        return 0.5 * (1 + T.erf(self._standard(value) * math.sqrt(0.5)))

    def icdf(self, value: Any) -> Any:
        """By the inverse of the error function."""
        return self.loc + self.scale * special.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """A half, and the logarithm of the scale times the root of 2 pi."""
        return 0.5 + 0.5 * LOG_2PI + self.scale.log()


class Laplace(_LocScale):
    """Laplace distributions: an exponential distribution on either side of `loc`."""

    @property
    def mean(self) -> Any:
        """The location."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Twice the square of the scale."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        """The scale times the root of 2."""
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """By the inverse of the distribution function."""
        u = _uniform(self.loc, self._extended_shape(sample_shape)) - 0.5
        eps = T.finfo(u.dtype).eps
        return self.loc - self.scale * u.sign() * T.log1p(-2 * u.abs().clamp(max=0.5 - eps / 4))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        return -T.log(2 * self.scale) - self._standard(value).abs()

    def cdf(self, value: Any) -> Any:
        """The probabilities of what is at most `value`."""
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * T.expm1(-z.abs())

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        u = value - 0.5
        return self.loc - self.scale * u.sign() * T.log1p(-2 * u.abs())

    def entropy(self) -> Any:
        """One, and the logarithm of twice the scale."""
        return 1 + T.log(2 * self.scale)


class Cauchy(_LocScale):
    """Cauchy distributions, which have neither mean nor variance."""

    @property
    def mean(self) -> Any:
        """There is none: nan."""
        return T.full(self._extended_shape(), math.nan, dtype=self.loc.dtype)

    @property
    def variance(self) -> Any:
        """Infinite."""
        return T.full(self._extended_shape(), math.inf, dtype=self.loc.dtype)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A standard draw, shifted and multiplied."""
        noise = T.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        return -math.log(math.pi) - self.scale.log() - self._standard(value).pow(2).log1p()

    def cdf(self, value: Any) -> Any:
        """By the arc tangent."""
        return T.atan(self._standard(value)) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """By the tangent."""
        return T.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        """The logarithm of 4 pi times the scale."""
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(Distribution):
    """Student's t distributions with `df` degrees of freedom."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    event_dims: ClassVar[dict[str, int]] = {"df": 0, "loc": 0, "scale": 0}
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The location, from more than one degree of freedom on."""
        return T.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Finite from more than two degrees of freedom on."""
        finite = self.scale.pow(2) * self.df / (self.df - 2).clamp(min=T.finfo(self.df.dtype).tiny)
        return T.where(self.df > 2, finite, T.where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A normal draw by the root of a chi-squared one."""
        shape = self._extended_shape(sample_shape)
        normal = T.randn(shape, dtype=self.df.dtype)
        chi2 = 2 * standard_gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * normal * T.rsqrt(chi2 / self.df)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        z, half = (value - self.loc) / self.scale, 0.5 * self.df
        factor = self.scale.log() + 0.5 * (math.pi * self.df).log() + half.lgamma() - (half + 0.5).lgamma()
        return -(half + 0.5) * (z * z / self.df).log1p() - factor

    def entropy(self) -> Any:
        """By the digamma and the beta function."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta


class Uniform(Distribution):
    """Uniform distributions on [low, high)."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }
    event_dims: ClassVar[dict[str, int]] = {"low": 0, "high": 0}
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(Size() if only_numbers(low, high) else self.low.shape, validate_args=validate_args)
        if self._validate_args and not T.lt(self.low, self.high).all():
            raise ValueError(f"Uniform is not defined where low >= high: low is {self.low}, high is {self.high}")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """There is none: nan."""
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        """The length by the root of 12."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Any:
        """A twelfth of the square of the length."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws from [0, 1), shifted and multiplied."""
        shape = self._extended_shape(sample_shape)
        return self.low + T.rand(shape, dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        """The probabilities of what is at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """The logarithm of the length."""
        return (self.high - self.low).log()
