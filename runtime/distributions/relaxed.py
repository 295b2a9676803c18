"""Relaxations of chances and of classes: draws between the values, which have a gradient."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..nn import functional as F
from ..tensor.face import functions as T
from ..tensor.value.dtypes import Size
from . import constraints
from .classes import Categorical
from .discrete import _Binary
from .distribution import Distribution
from .transformed import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs


class LogitRelaxedBernoulli(_Binary):
    """What the logarithm of the odds of a relaxed chance is: logistic noise, and `logits`, over the temperature."""

    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        new = self._get_checked_instance(LogitRelaxedBernoulli, _instance)
        new.temperature = self.temperature
        return super().expand(batch_shape, new)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws that are functions of the parameters."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        noise = clamp_probs(T.rand(shape, dtype=probs.dtype))
        return (noise.log() - (-noise).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        z = logits - value * self.temperature
        return self.temperature.log() + z - 2 * F.softplus(z)


class RelaxedBernoulli(TransformedDistribution):
    """Relaxed chances: numbers in (0, 1) that are near 0 or 1 where the temperature is low."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Any:
        """How far draws stay from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The chances."""
        return self.base_dist.probs


class ExpRelaxedCategorical(Distribution):
    """The logarithms of relaxed classes: Gumbel noise and `logits`, over the temperature, less their logsumexp."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(ExpRelaxedCategorical, _instance))

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws that are functions of the parameters."""
        shape = self._extended_shape(sample_shape)
        noise = -(-clamp_probs(T.rand(shape, dtype=self.logits.dtype)).log()).log()
        return F.log_softmax((self.logits + noise) / self.temperature, dim=-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities over the simplex's logarithms."""
        if self._validate_args:
            self._validate_sample(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        factor = math.lgamma(k) + (k - 1) * T.log(self.temperature)
        return F.log_softmax(logits - value * self.temperature, dim=-1).sum(-1) + factor


class RelaxedOneHotCategorical(TransformedDistribution):
    """Relaxed classes: probabilities that are near those of one class where the temperature is low."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self) -> Any:
        """How far draws stay from a single class."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs


__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]
