"""Families of angles, and of what exceeds a threshold."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..tensor.face import functions as T
from ..tensor.face import special_functions as special
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import Size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, only_numbers


class VonMises(Distribution):
    """Angles around `loc`, the closer the greater the concentration: the normal distribution of a circle."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    event_dims: ClassVar[dict[str, int]] = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The location, which is that of the circle."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """One less the mean cosine."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        c = self.concentration
        return c * T.cos(value - self.loc) - math.log(2 * math.pi) - c - special.i0e(c).log()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without a gradient, by rejection from a wrapped Cauchy distribution (Best and Fisher, 1979)."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            c = self.concentration.double().expand(shape)
            tau = 1 + (1 + 4 * c * c).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * c)
            r = T.where(c < 1e-5, 1 / c + c, (1 + rho * rho) / (2 * rho))
            made, done = T.zeros_like(c), T.zeros(shape, dtype=T.bool)
            while not bool(done.all()):
                u = T.rand((3, *shape), dtype=c.dtype)
                z = T.cos(math.pi * u[0])
                f = ((1 + r * z) / (r + z)).clamp(-1, 1)
                g = c * (r - f)
                taken = (g * (2 - g) - u[1] > 0) | ((g / u[1]).log() + 1 - g >= 0)
                made = T.where(taken, (u[2] - 0.5).sign() * f.acos(), made)  # anew where it was done, as PyTorch
                done = done | taken
            turned = (made + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`: tails are exponential at concentration 0, heavy above, bounded below."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0, "concentration": 0}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        batch = Size() if only_numbers(loc, scale, concentration) else self.loc.shape
        super().__init__(batch, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From the threshold up, to where a negative concentration ends it."""
        k = self.concentration
        safe = T.where(k < 0, k, -T.ones_like(k))
        return constraints.interval(self.loc, T.where(k < 0, self.loc - self.scale / safe, math.inf))

    def _thin(self) -> tuple[Any, Any]:
        """Where the tail is exponential, and a concentration by which one may divide."""
        zero = T.isclose(self.concentration, T.zeros_like(self.concentration))
        return zero, T.where(zero, T.ones_like(self.concentration), self.concentration)

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities."""
        if self._validate_args:
            self._validate_sample(value)
        zero, k = self._thin()
        y = (value - self.loc) / self.scale
        return T.where(zero, -y, -(1 + 1 / k) * T.log1p(k * y)) - self.scale.log()

    def log_survival_function(self, value: Any) -> Any:
        """The logarithms of the probabilities of what is greater."""
        if self._validate_args:
            self._validate_sample(value)
        zero, k = self._thin()
        y = (value - self.loc) / self.scale
        return T.where(zero, -y, -T.log1p(k * y) / k)

    def log_cdf(self, value: Any) -> Any:
        """The logarithms of the probabilities of what is at most `value`."""
        return T.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Any) -> Any:
        """The probabilities of what is at most `value`."""
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        zero, k = self._thin()
        rest = T.log1p(-T.as_tensor(value, dtype=self.loc.dtype))
        return self.loc + self.scale * T.where(zero, -rest, T.expm1(-k * rest) / k)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """By the inverse of the distribution function."""
        return self.icdf(T.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    @property
    def mean(self) -> Any:
        """Finite below a concentration of one, from which on PyTorch has NaN."""
        k = self.concentration
        return T.where(k < 1, self.loc + self.scale / (1 - T.where(k < 1, k, T.zeros_like(k))), math.nan)

    @property
    def variance(self) -> Any:
        """Finite below a concentration of a half, from which on PyTorch has NaN."""
        k = T.where(self.concentration < 0.5, self.concentration, T.zeros_like(self.concentration))
        made = self.scale.square() / ((1 - k).square() * (1 - 2 * k))
        return T.where(self.concentration < 0.5, made, math.nan)

    @property
    def mode(self) -> Any:
        """The threshold."""
        return self.loc

    def entropy(self) -> Any:
        """One, the concentration, and the logarithm of the scale."""
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
