"""Distributions of distributions: batches taken as events, and mixtures."""

from __future__ import annotations

from typing import Any, ClassVar

from ..tensor.face import functions as T
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from . import constraints
from .classes import Categorical
from .distribution import Distribution
from .utils import sum_rightmost


class Independent(Distribution):
    """The last dimensions of another distribution's batch taken as dimensions of one event.

    >>> import pullback as torch
    >>> diagonal = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3), torch.ones(3)), 1)
    >>> diagonal.batch_shape, diagonal.event_shape
    (torch.Size([]), torch.Size([3]))
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        have = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > have:
            raise ValueError(f"reinterpreted_batch_ndims is {reinterpreted_batch_ndims} of {have} dimensions")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[: len(shape) - events], shape[len(shape) - events :], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new.base_dist = self.base_dist.expand(batch_shape + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether draws have a gradient."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether the values can be listed: not those of several dimensions."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """That of each, taken together."""
        made = self.base_dist.support
        return constraints.independent(made, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else made

    @property
    def mean(self) -> Any:
        """The means."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """The modes."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """The variances."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws of all."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws of all, with their gradient."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The sums of the logarithms of the densities."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The sums of the entropies."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The values, where nothing is reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("the values of events of several dimensions are too many to be listed")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """Mixtures of the last dimension of one distribution's batch, each component as likely as a `Categorical` says."""

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(f"mixture_distribution must be a Categorical, not {type(mixture_distribution).__name__}")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"component_distribution must be a Distribution, not {type(component_distribution).__name__}"
            )
        mixed, parts = mixture_distribution.batch_shape, component_distribution.batch_shape
        for have, want in zip(reversed(mixed), reversed(parts[:-1]), strict=False):
            if 1 not in (have, want) and have != want:
                raise ValueError(f"the batch of mixture_distribution, {mixed}, does not fit the components' {parts}")
        count = mixture_distribution.logits.shape[-1]
        if not parts or count != parts[-1]:
            raise ValueError(f"mixture_distribution has {count} components, component_distribution a batch of {parts}")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component = count
        super().__init__(parts[:-1], component_distribution.event_shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._num_component = self._num_component
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)

    @property
    def mixture_distribution(self) -> Any:
        """How likely each component is."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> Any:
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def _at(self) -> int:
        """Where the components lie in a value with one more dimension."""
        return -1 - len(self._event_shape)

    def _weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * len(self._event_shape))

    @property
    def mean(self) -> Any:
        """The weighted means."""
        return (self._weights() * self._component_distribution.mean).sum(self._at)

    @property
    def variance(self) -> Any:
        """The weighted variances, and the variance of the means (the law of total variance)."""
        weights, parts = self._weights(), self._component_distribution
        within = (weights * parts.variance).sum(self._at)
        return within + (weights * (parts.mean - self.mean.unsqueeze(self._at)).pow(2)).sum(self._at)

    def _padded(self, value: Any) -> Any:
        return value.unsqueeze(self._at)

    def cdf(self, value: Any) -> Any:
        """The weighted probabilities."""
        parts = self._component_distribution.cdf(self._padded(value))
        return (parts * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the weighted densities."""
        if self._validate_args:
            self._validate_sample(value)
        parts = self._component_distribution.log_prob(self._padded(value))
        return (parts + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws of the drawn components."""
        with no_grad():
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            at, events = len(chosen.shape), tuple(self._event_shape)
            index = chosen.reshape(chosen.shape + (1,) * (1 + len(events)))
            index = index.expand((*chosen.shape, 1, *events))
            return T.gather(drawn, at, index).squeeze(at)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
