"""Functions from one region to another, with their inverses and the logarithms of their volumes.

    y = transform(x)
    transform.inv(y)                       x again
    transform.log_abs_det_jacobian(x, y)   log |dy / dx|, one number per event

Here are those of single numbers; those of vectors and matrices, and those made of others, have files of their own.
"""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from ..nn import functional as F
from ..tensor.face import functions as T
from . import constraints
from .array_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from .joined_transforms import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    identity_transform,
)
from .transform import Transform, _InverseTransform, _Plain, inside  # noqa: F401
from .utils import broadcast_all


class _Increasing(_Plain):
    """Transforms of single numbers, without parameters, that increase."""

    domain = constraints.real
    bijective = True
    sign: Any = 1  # pyright: ignore[reportIncompatibleMethodOverride]


class ExpTransform(_Increasing):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """What was given."""
        return x


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1 so that the inverse stays finite."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return inside(T.sigmoid(x))

    def _inverse(self, y: Any) -> Any:
        y = inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of y (1 - y)."""
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)); above 20 it is the identity."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return F.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return y + (-(-y).expm1()).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the sigmoid."""
        return -F.softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of 1 - y², of exponentials, which does not cancel where y is near 1."""
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


class AbsTransform(_Plain):
    """y = |x|; the inverse takes the positive value."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """y = x to the power of `exponent`, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        return self if cache_size == self._cache_size else PowerTransform(self.exponent, cache_size)

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of |exponent y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """The shape that a tensor of this shape and the exponent have in common."""
        return T.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _same(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, Number) and isinstance(b, Number) else bool(T.as_tensor(a == b).all())


class AffineTransform(Transform):
    """y = loc + scale x, of values with `event_dim` dimensions."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        if cache_size == self._cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    @property
    def event_dim(self) -> int:
        """The number of dimensions of one value."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Real numbers, or arrays of them."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        """That of the scale."""
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)  # pyright: ignore[reportOperatorIssue]
        return self.scale.sign()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of |scale|, summed over an event.

        A scale that is a tensor counts for each element it is broadcast to, where PyTorch counts it once.
        """
        if isinstance(self.scale, Number):
            made = T.full_like(x, math.log(abs(self.scale)))  # pyright: ignore[reportArgumentType]
        else:
            made = self.scale.abs().log().expand(x.shape)
        return made.flatten(-self._event_dim).sum(-1) if self._event_dim else made

    def forward_shape(self, shape: Any) -> Any:
        """The shape that a tensor of this shape, `loc` and `scale` have in common."""
        return T.broadcast_shapes(shape, *(getattr(v, "shape", ()) for v in (self.loc, self.scale)))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = the probability of what is at most x, in a distribution of single numbers."""

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = 1  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        if cache_size == self._cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip
