"""Distributions of what transforms make of draws."""

from __future__ import annotations

from typing import Any, ClassVar

from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from . import constraints
from .composed import Independent
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of `transforms[-1](...(transforms[0](x)))` where x is a draw of the base.

    The base's batch is expanded where the transforms make one larger, and its last dimensions count as an event where
    a transform takes them together.

    >>> import pullback as torch
    >>> from pullback.distributions import Normal, TransformedDistribution
    >>> from pullback.distributions.transforms import ExpTransform
    >>> TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()]).log_prob(torch.tensor(1.0))
    tensor(-0.9189)

    Raises
    ------
    ValueError
        if there is something else among the transforms, or the base has fewer dimensions than they take
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms is a Transform or a list of them, not {transforms!r}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        taken, given = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < taken:
            raise ValueError(f"the transforms take {taken} dimensions, but the base distribution has shape {shape}")
        made = Size(whole.forward_shape(shape))
        needed = Size(whole.inverse_shape(made))
        if needed != shape:
            base_distribution = base_distribution.expand(needed[: len(needed) - events])
        if taken > events:
            base_distribution = Independent(base_distribution, taken - events)
        self.base_dist = base_distribution
        split = len(made) - max(given, events + given - taken)
        super().__init__(made[:split], made[split:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same for a larger batch."""
        return super().expand(batch_shape, self._get_checked_instance(TransformedDistribution, _instance))

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(Size(shape[: len(shape) - len(self.base_dist.event_shape)]))
        new.transforms = self.transforms

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """What the last transform gives, taken together for all of an event."""
        if not self.transforms:
            return self.base_dist.support
        made = self.transforms[-1].codomain
        more = len(self.event_shape) - made.event_dim
        return constraints.independent(made, more) if more > 0 else made

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether draws have a gradient."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws of the base, transformed, without a gradient."""
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws of the base, transformed, with the gradients of both."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: Any) -> Any:
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value: Any) -> Any:
        """The base's at the value transformed back, less the logarithms of how volumes grow on the way."""
        if self._validate_args:
            self._validate_sample(value)
        dims, grown = len(self.event_shape), []
        for t in reversed(self.transforms):
            x = t.inv(value)
            dims += t.domain.event_dim - t.codomain.event_dim
            grown.append(sum_rightmost(t.log_abs_det_jacobian(x, value), dims - t.domain.event_dim))
            value = x
        made = sum_rightmost(self.base_dist.log_prob(value), dims - len(self.base_dist.event_shape))
        for one in grown:
            made = made - one
        return made

    def cdf(self, value: Any) -> Any:
        """The base's at the value transformed back; from above where a transform decreases."""
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        """The base's, transformed."""
        return self._transformed(self.base_dist.icdf(self._turned(value)))

    def _turned(self, p: Any) -> Any:
        """Probabilities from below as those from above, where the transforms decrease, and the other way."""
        sign = ComposeTransform(self.transforms).sign
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5


__all__ = ["TransformedDistribution"]
