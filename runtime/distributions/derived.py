"""Families made of another by a transform: logarithms, absolute values, powers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..tensor.face import functions as T
from ..tensor.face import special_functions as special
from . import constraints
from .continuous import Normal, Uniform
from .gammas import Exponential, Gamma
from .halves import HalfCauchy, HalfNormal
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform
from .utils import broadcast_all, euler_constant, only_numbers


class LogNormal(TransformedDistribution):
    """Distributions of numbers whose logarithms are normal, with mean `loc` and standard deviation `scale`.

    >>> import pullback as torch
    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(LogNormal, _instance))

    @property
    def loc(self) -> Any:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """Half the variance of the logarithm adds to its mean."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        """The variance of the logarithm is taken off its mean."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """The square of the mean, times exp(scale²) - 1."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        """That of the logarithm, and its mean."""
        return self.base_dist.entropy() + self.loc


class InverseGamma(TransformedDistribution):
    """Distributions of numbers whose reciprocals have gamma distributions: of variances, as a prior."""

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        turned = PowerTransform(T.tensor(-1.0, dtype=base.rate.dtype))
        super().__init__(base, turned, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Any:
        """That of the reciprocal."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """That of the reciprocal."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        """Infinite up to a concentration of one."""
        finite = self.rate / (self.concentration - 1)
        return T.where(self.concentration > 1, finite, math.inf)

    @property
    def mode(self) -> Any:
        """The value of the highest density."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """Infinite up to a concentration of two."""
        finite = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return T.where(self.concentration > 2, finite, math.inf)

    def entropy(self) -> Any:
        """By the digamma function."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


# ---- extremes and lifetimes


class Gumbel(TransformedDistribution):
    """Gumbel distributions: of the largest of many numbers."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        kind = T.finfo(self.loc.dtype)
        low, high = kind.tiny, 1 - kind.eps  # the ends of (0, 1) have infinite logarithms
        if not only_numbers(loc, scale):
            low, high = T.full_like(self.loc, low), T.full_like(self.loc, high)
        log = ExpTransform().inv
        steps = [log, AffineTransform(0, -T.ones_like(self.scale)), log, AffineTransform(self.loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Gumbel, _instance))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities, without the way back, which overflows."""
        if self._validate_args:
            self._validate_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    @property
    def mean(self) -> Any:
        """Euler's constant times the scale, from the location."""
        return self.loc + self.scale * euler_constant()

    @property
    def mode(self) -> Any:
        """The location."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The scale times pi over the root of 6."""
        return self.scale * (math.pi / math.sqrt(6))

    @property
    def variance(self) -> Any:
        """The square of the standard deviation."""
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        """The logarithm of the scale, one, and Euler's constant."""
        return self.scale.log() + (1 + euler_constant())


class Pareto(TransformedDistribution):
    """Pareto distributions: numbers from `scale` on, whose logarithms are exponential of rate `alpha`."""

    arg_constraints: ClassVar[dict[str, Any]] = {"alpha": constraints.positive, "scale": constraints.positive}
    event_dims: ClassVar[dict[str, int]] = {"alpha": 0, "scale": 0}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(alpha if only_numbers(scale, alpha) else self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Pareto, _instance))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From the scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        """Infinite up to an alpha of 1."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Any:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Any:
        """Infinite up to an alpha of 2."""
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self) -> Any:
        """The logarithm of scale / alpha, and 1 + 1 / alpha."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """Weibull distributions: times until something fails at a rate that is a power of the time."""

    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    event_dims: ClassVar[dict[str, int]] = {"scale": 0, "concentration": 0, "concentration_reciprocal": 0}

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(T.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Weibull, _instance))

    def _moment(self, n: int) -> Any:
        """That of a scale of 1."""
        return special.lgamma(1 + n * self.concentration_reciprocal).exp()

    @property
    def mean(self) -> Any:
        """The scale times the gamma function of 1 + 1 / concentration."""
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Any:
        """Zero for a concentration up to 1."""
        return self.scale * (1 - self.concentration_reciprocal).clamp(min=0).pow(self.concentration_reciprocal)

    @property
    def variance(self) -> Any:
        """The second moment, less the square of the first."""
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def entropy(self) -> Any:
        """Of the logarithm of scale / concentration, and Euler's constant."""
        more = 1 + euler_constant() * (1 - self.concentration_reciprocal)
        return (self.scale * self.concentration_reciprocal).log() + more


# ---- shares of one


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy distributions: much like Beta distributions, with a distribution function of powers."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]
    event_dims: ClassVar[dict[str, int]] = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        inner, outer = (PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1))
        low, high = T.zeros_like(self.concentration0), T.ones_like(self.concentration0)
        base = Uniform(low, high, validate_args=validate_args)
        super().__init__(base, [inner, AffineTransform(1.0, -1.0), outer], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Kumaraswamy, _instance))

    def _moment(self, n: int) -> Any:
        """b B(1 + n / a, b), of the gamma function's logarithms."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return (special.lgamma(a) + special.lgamma(b) - special.lgamma(a + b)).exp() * b

    @property
    def mean(self) -> Any:
        """The first moment."""
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """Where both concentrations are at least 1 and not both 1; nan elsewhere."""
        a, b = self.concentration1, self.concentration0
        made = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return T.where((a >= 1) & (b >= 1), made, math.nan)

    @property
    def variance(self) -> Any:
        """The second moment, less the square of the first."""
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Any:
        """Of the logarithms of the concentrations, and a harmonic number."""
        a, b = self.concentration1, self.concentration0
        harmonic = special.digamma(b + 1) + euler_constant()
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class LogisticNormal(TransformedDistribution):
    """Distributions of n + 1 probabilities, made of n normal numbers by the breaking of a stick."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Any:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale


__all__ = [
    "Gumbel", "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "LogNormal", "LogisticNormal", "Pareto",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "Weibull",
]  # fmt: skip
