"""Distributions made of gamma draws: of waiting times, of variances and of probabilities."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..tensor.face import functions as T
from ..tensor.face import special_functions as special
from ..tensor.value.dtypes import Size
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gamma_draws import dirichlet, over_rate, standard_gamma
from .utils import broadcast_all, only_numbers


class Exponential(ExponentialFamily):
    """Exponential distributions: how long to wait for an event of this rate."""

    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.positive}
    support = constraints.nonnegative
    event_dims: ClassVar[dict[str, int]] = {"rate": 0}
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if only_numbers(rate) else self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """One by the rate."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """Zero."""
        return T.zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        """One by the rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """One by the square of the rate."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A draw of rate 1 by the rate."""
        return T.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        """The probabilities of what is at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return -T.expm1(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        return -T.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """One less the logarithm of the rate."""
        return 1 - self.rate.log()


class Gamma(ExponentialFamily):
    """Gamma distributions: sums of `concentration` waiting times of this rate."""

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    event_dims: ClassVar[dict[str, int]] = {"concentration": 0, "rate": 0}
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        batch = Size() if only_numbers(concentration, rate) else self.concentration.shape
        super().__init__(batch, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The concentration by the rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """Zero for concentrations up to one."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """The mean by the rate."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A draw of rate 1 by the rate."""
        shape = self._extended_shape(sample_shape)
        return over_rate(standard_gamma(self.concentration.expand(shape)), self.rate.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        value = T.as_tensor(value, dtype=self.rate.dtype)
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration, self.rate
        return special.xlogy(a, b) + special.xlogy(a - 1, value) - b * value - a.lgamma()

    def cdf(self, value: Any) -> Any:
        """The regularised incomplete gamma function."""
        if self._validate_args:
            self._validate_sample(value)
        return special.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        """By the digamma function."""
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """Chi-squared distributions: sums of the squares of `df` standard normal numbers."""

    arg_constraints: ClassVar[dict[str, Any]] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """Dirichlet distributions of probabilities that add up to one, along the last dimension."""

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    event_dims: ClassVar[dict[str, int]] = {"concentration": 1}
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("concentration must have at least one dimension, along which probabilities add up")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The shares of the concentrations."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """Where concentrations are above one; the first corner where all are below, as PyTorch chooses."""
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        top = T.zeros_like(mode).scatter(-1, mode.argmax(-1, keepdim=True), 1.0)
        return T.where((self.concentration < 1).all(dim=-1, keepdim=True), top, mode)

    @property
    def variance(self) -> Any:
        """Of each probability."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Gamma draws by their sum."""
        return dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return special.xlogy(a - 1.0, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        """By the digamma function."""
        a, total = self.concentration, self.concentration.sum(-1)
        return (
            a.lgamma().sum(-1) - total.lgamma() - (a.shape[-1] - total) * total.digamma()
            - ((a - 1.0) * a.digamma()).sum(-1)
        )  # fmt: skip


class Beta(ExponentialFamily):
    """Beta distributions of one probability, with `concentration1` for it and `concentration0` against it."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        both = T.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._dirichlet = self._dirichlet.expand(batch_shape)

    @property
    def concentration1(self) -> Any:
        """The concentration for it."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """The concentration against it."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        """The share of the first concentration."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """Where both concentrations are above one."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Any:
        """The product of the concentrations by what scales it."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The first of two gamma draws by their sum."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(T.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        """By the digamma function."""
        return self._dirichlet.entropy()


class FisherSnedecor(Distribution):
    """F distributions: of the ratio of two chi-squared numbers, each by its degrees of freedom."""

    arg_constraints: ClassVar[dict[str, Any]] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    event_dims: ClassVar[dict[str, int]] = {"df1": 0, "df2": 0}
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(Size() if only_numbers(df1, df2) else self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """Finite from more than two degrees of freedom below on."""
        df2 = T.where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        """From more than two degrees of freedom above on."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return T.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Any:
        """Finite from more than four degrees of freedom below on."""
        df1, df2 = self.df1, T.where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """One gamma draw by another."""
        shape = self._extended_shape(sample_shape)
        above = standard_gamma((self.df1 / 2).expand(shape)) / self.df1
        below = standard_gamma((self.df2 / 2).expand(shape)) / self.df2
        tiny = T.finfo(self.df2.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        made = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return made + a * ratio.log() + (a - 1) * value.log() - (a + b) * T.log1p(ratio * value)
