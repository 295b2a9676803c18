"""Distributions of one of several classes, as its number or as a vector with a one, and of how often each comes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..nn import functional as F
from ..tensor.face import functions as T
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from . import constraints
from .discrete import Binomial, one_of
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits

NO_CLASS = -(2**63)
"""A number that no class has: none is ignored."""


class Categorical(Distribution):
    """Numbers of classes, of weights `probs` along the last dimension, or the logarithms of such, `logits`.

    >>> import pullback as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    event_dims: ClassVar[dict[str, int]] = {"probs": 1, "logits": 1}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(type(self).__name__, probs, logits)
        given = probs if logits is None else logits
        if given.dim() < 1:
            name = "probs" if logits is None else "logits"
            raise ValueError(f"{name} must have at least one dimension, of the classes")
        if logits is None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """From zero to the last class."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Any:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape

    @property
    def mean(self) -> Any:
        """Classes have none: nan."""
        return T.full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Any:
        """The likeliest class."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        """Classes have none: nan."""
        return T.full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of classes, as int64."""
        shape = self._extended_shape(sample_shape)
        count = Size(sample_shape).numel()
        with no_grad():
            probs = self.probs if self.probs.dim() <= 2 else self.probs.reshape(-1, self._num_events)
            drawn = T.multinomial(probs, count, True)
        return T.tensor(drawn._array().reshape(-1, count).T.reshape(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        logits = self.logits
        if logits.dim() <= 2 and value.shape == logits.shape[:-1]:
            return -F.nll_loss(logits, value.long(), ignore_index=NO_CLASS, reduction="none")
        value, logits = T.broadcast_tensors(value.long().unsqueeze(-1), logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """The mean of the negative logarithms; a class of probability zero adds nothing."""
        logits = self.logits.clamp(min=T.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All numbers of classes."""
        values = T.arange(self._num_events).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class _OfCategorical(Distribution):
    """Families over vectors that a `Categorical` of the same parameters serves."""

    _categorical: Any

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape


class OneHotCategorical(_OfCategorical):
    """Vectors with a one at the drawn class, and zeros."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._categorical = self._categorical.expand(batch_shape)

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Any:
        """A one at the likeliest class."""
        return self._hot(self.probs.argmax(dim=-1))

    @property
    def variance(self) -> Any:
        """Of each place."""
        return self.probs * (1 - self.probs)

    def _hot(self, classes: Any) -> Any:
        zeros = T.zeros(classes.shape + self.event_shape, dtype=self.probs.dtype)
        return zeros.scatter(-1, classes.unsqueeze(-1), 1.0)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors with a one."""
        with no_grad():
            return self._hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        """That of the classes."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All vectors with a one."""
        n = self.event_shape[0]
        values = T.eye(n, dtype=self._param.dtype).view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose draws have the gradient of the probabilities (Bengio, Leonard and Courville, 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A draw, with the probabilities' gradient."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OfCategorical):
    """How often each class comes in `total_count` draws."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("total_count of Multinomial is one int for all distributions of a batch")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts that add up to the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """The draws times the probabilities."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """Of each count."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, as floats."""
        shape = Size(sample_shape)
        with no_grad():
            drawn = self._categorical.sample((self.total_count, *shape)).movedim(0, -1)
            counts = T.zeros(self._extended_shape(shape), dtype=self.probs.dtype)
            return counts.scatter_add(-1, drawn, T.ones(drawn.shape, dtype=counts.dtype))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = T.broadcast_tensors(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Any:
        """By those of the counts of the single classes."""
        n = T.tensor(self.total_count)
        cat = self._categorical.entropy()
        counts = Binomial(self.total_count, probs=self.probs)
        values = counts.enumerate_support(expand=False)[1:]
        weights = (counts.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return n * cat - (n + 1).lgamma() + weights
