"""Distributions of counts and of classes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..nn import functional as F
from ..tensor.face import functions as T
from ..tensor.face import special_functions as special
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gamma_draws import standard_gamma
from .utils import broadcast_all, lazy_property, logits_to_probs, only_numbers, probs_to_logits


def one_of(name: str, probs: Any, logits: Any) -> None:
    """Raise unless just one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: give either probs or logits, not {'neither' if probs is None else 'both'}")


class _Binary(Distribution):
    """Families of one chance, given as `probs` or as the logarithm of the odds, `logits`."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    event_dims: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(type(self).__name__, probs, logits)
        given = probs if logits is None else logits
        (made,) = broadcast_all(given)
        if logits is None:
            self.probs = made
        else:
            self.logits = made
        super().__init__(Size() if only_numbers(given) else made.shape, validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The chances."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Any:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape


class Bernoulli(_Binary, ExponentialFamily):
    """Bernoulli distributions: one with a chance of `probs`, else zero.

    >>> import pullback as torch
    >>> torch.distributions.Bernoulli(probs=0.25).log_prob(torch.tensor(1.0))
    tensor(-1.3863)
    """

    support = constraints.boolean
    has_enumerate_support = True

    @property
    def mean(self) -> Any:
        """The chance."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The likelier one; nan where there is none."""
        return T.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Any:
        """The product of both chances."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Zeros and ones."""
        with no_grad():
            return T.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        """The mean of the losses of both values."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        """Zero and one."""
        values = T.arange(2, dtype=self._param.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Geometric(_Binary):
    """Geometric distributions: how many trials fail before one succeeds."""

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(f"Geometric: probs must be positive, not {self.probs}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(Geometric, _instance))

    @property
    def mean(self) -> Any:
        """One by the chance, less one."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """Zero."""
        return T.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """The mean by the chance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """By the inverse of the distribution function."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = T.rand(shape, dtype=self.probs.dtype).clamp(min=T.finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1) & (value == 0)
        return value * (-probs.masked_fill(sure, 0)).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """That of one trial by its chance."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class _Counted(_Binary):
    """Families of a chance and a number of trials."""

    total_count: Any

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of(type(self).__name__, probs, logits)
        given = probs if logits is None else logits
        self.total_count, made = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(made)
        if logits is None:
            self.probs = made
        else:
            self.logits = made
        Distribution.__init__(self, made.shape, validate_args=validate_args)


class Binomial(_Counted):
    """Binomial distributions: how many of `total_count` trials succeed."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.nonnegative_integer, **_Binary.arg_constraints,
    }  # fmt: skip
    event_dims: ClassVar[dict[str, int]] = {"total_count": 0, "probs": 0, "logits": 0}
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """From no success to all."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """The trials times the chance."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The likeliest count."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """The mean times the chance of failure."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, as floats."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return T.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits + n * F.logsigmoid(-logits)

    def entropy(self) -> Any:
        """By its definition, where all numbers of trials are the same."""
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("the entropy of binomial distributions of different total_count")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """From no success to all."""
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("the values of binomial distributions of different total_count")
        values = T.arange(1 + total, dtype=self._param.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class NegativeBinomial(_Counted):
    """Negative binomial distributions: how many trials succeed before `total_count` have failed."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer
    event_dims: ClassVar[dict[str, int]] = {"total_count": 0, "probs": 0, "logits": 0}

    @property
    def mean(self) -> Any:
        """The failures times the odds."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        """The likeliest count."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        """The mean by the chance of failure."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts of a rate drawn from a gamma distribution."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return T.poisson(standard_gamma(self.total_count.expand(shape)) * self.logits.exp())

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        ways = ways.masked_fill(n + value == 0.0, 0.0)
        return ways + n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)


class Poisson(ExponentialFamily):
    """Poisson distributions: how many events of this rate happen in a unit of time."""

    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    event_dims: ClassVar[dict[str, int]] = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if only_numbers(rate) else self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The rate."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The rate, rounded down."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """The rate."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, as floats."""
        with no_grad():
            return T.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return special.xlogy(value, rate) - rate - (value + 1).lgamma()
