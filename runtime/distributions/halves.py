"""Distributions of absolute values."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..tensor.face import functions as T
from . import constraints
from .continuous import Cauchy, Normal
from .transformed import TransformedDistribution
from .transforms import AbsTransform


class _Half(TransformedDistribution):
    """Absolute values of what is distributed alike on either side of zero: twice the density."""

    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True  # type: ignore[assignment]
    whole: Any

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self.whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(_Half, _instance))

    @property
    def scale(self) -> Any:
        """The scale of the base."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        """Zero."""
        return T.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        """The base's, and log 2; minus infinity below zero."""
        if self._validate_args:
            self._validate_sample(value)
        value = T.as_tensor(value, dtype=self.scale.dtype)
        return T.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        """The base's above a half, twice."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """The base's, less log 2."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """Distributions of the absolute values of normal numbers of mean zero."""

    whole = Normal

    @property
    def mean(self) -> Any:
        """The scale times the root of 2 / pi."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """The base's, less the square of the mean."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """Distributions of the absolute values of Cauchy numbers about zero, whose mean is infinite."""

    whole = Cauchy

    @property
    def mean(self) -> Any:
        """Infinite."""
        return T.full(self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def variance(self) -> Any:
        """Infinite."""
        return self.mean
