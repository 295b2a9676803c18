"""What every distribution has: shapes of batches and events, checked parameters, draws and densities by name."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

from ..tensor.reverse.autograd import grad
from ..tensor.reverse.modes import enable_grad, no_grad
from ..tensor.value.core import Core
from ..tensor.value.dtypes import Size
from . import constraints
from .utils import lazy_property


class Distribution:
    """A family of probability distributions: `batch_shape` of them, each over values of shape `event_shape`.

    A subclass names its parameters and what they must satisfy in `arg_constraints`, and how many of the last
    dimensions of each belong to an event in `event_dims`; then parameters are checked, and `expand` works.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Any]]
    support: Any
    #: the parameters that expand with the batch, and the number of their dimensions that do not
    event_dims: ClassVar[dict[str, int]] = {}
    _validate_args = __debug__

    def sample_n(self, n: int) -> Any:
        """The older name of `sample((n,))`."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample((n,))  # type: ignore[attr-defined]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their parameters and values when they are not told."""
        if value not in (True, False):
            raise ValueError(f"validate_args is True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except (AttributeError, NotImplementedError):
            text = f"{type(self).__name__} has no arg_constraints, so its parameters are not checked"
            warnings.warn(text, stacklevel=4)
            return
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # made of another parameter, which is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"{type(self).__name__}: {name} must satisfy the constraint {constraint!r}, and does not"
                    f" (unchecked with validate_args=False):\n{value}")  # fmt: skip

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions for a larger batch, whose parameters share memory with these."""
        tells = next(c for c in type(self).__mro__ if "event_dims" in vars(c) or "_expand_into" in vars(c))
        if tells is Distribution:
            raise NotImplementedError(f"{type(self).__name__} does not tell how it expands: define expand")
        new = self._get_checked_instance(tells, _instance)
        batch_shape = Size(batch_shape)
        self._expand_into(new, batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        for name, dims in self.event_dims.items():
            value = self.__dict__.get(name)
            if value is not None:
                new.__dict__[name] = value.expand(batch_shape + value.shape[value.dim() - dims :])

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, without the dimensions of an event."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one of the distributions."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        """The means."""
        raise NotImplementedError(self._lacks("a mean"))

    @property
    def mode(self) -> Any:
        """The values of the highest densities."""
        raise NotImplementedError(self._lacks("a mode"))

    @property
    def variance(self) -> Any:
        """The variances."""
        raise NotImplementedError(self._lacks("a variance"))

    @property
    def stddev(self) -> Any:
        """The standard deviations."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without a gradient, of shape `sample_shape + batch_shape + event_shape`."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws that are functions of the parameters, with their gradient."""
        raise NotImplementedError(self._lacks("draws with a gradient"))

    def log_prob(self, value: Any) -> Any:
        """The logarithms of the densities at a value, of shape `value.shape` without the event's."""
        raise NotImplementedError(self._lacks("a density"))

    def cdf(self, value: Any) -> Any:
        """The probabilities of what is at most `value`."""
        raise NotImplementedError(self._lacks("a distribution function"))

    def icdf(self, value: Any) -> Any:
        """The values below which these probabilities lie."""
        raise NotImplementedError(self._lacks("an inverse of its distribution function"))

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along the first dimension."""
        raise NotImplementedError(self._lacks("a finite support"))

    def entropy(self) -> Any:
        """The entropies, in nats."""
        raise NotImplementedError(self._lacks("an entropy"))

    def perplexity(self) -> Any:
        """The exponentials of the entropies."""
        return self.entropy().exp()

    def _lacks(self, what: str) -> str:
        return f"{type(self).__name__} does not have {what}"

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of draws."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        """Raise if a value's shape does not fit the distribution, or its numbers lie outside of the support."""
        if not isinstance(value, Core):
            raise ValueError(f"the value must be a Tensor, not {type(value).__name__}")
        shape, events = tuple(value.shape), self._event_shape
        if shape[len(shape) - len(events) :] != tuple(events):
            raise ValueError(f"the value has shape {shape}, whose last dimensions must be the event's {tuple(events)}")
        for have, want in zip(reversed(shape), reversed(self._batch_shape + events), strict=False):
            if have != want and 1 not in (have, want):
                raise ValueError(
                    f"the value's shape {shape} does not broadcast with {tuple(self._batch_shape + events)},"
                    f" that of one draw of {type(self).__name__}")  # fmt: skip
        try:
            support = self.support
        except (AttributeError, NotImplementedError):
            warnings.warn(f"{type(self).__name__} has no support, so values are not checked", stacklevel=3)
            return
        if not support.check(value).all():
            raise ValueError(f"the value must lie within the support {support!r} of {self!r}, and does not:\n{value}")

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"{type(self).__name__} has an __init__ of its own, so it must define expand too")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        def shown(value: Any) -> str:
            return f"{value}" if isinstance(value, Core) and value.numel() == 1 else f"{getattr(value, 'shape', value)}"

        names = [name for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{n}: {shown(self.__dict__[n])}' for n in names)})"


class ExponentialFamily(Distribution):
    """Families whose density is exp(<natural parameters, statistics> - log normaliser + carrier)."""

    _mean_carrier_measure: Any = 0

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError(self._lacks("natural parameters"))

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError(self._lacks("a log normaliser"))

    def entropy(self) -> Any:
        """The entropies, of the log normaliser and its gradient (Nielsen and Nock, 2010, equation 2)."""
        with enable_grad():
            natural = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*natural)
            gradients = grad(normalizer.sum(), natural, create_graph=True)
        made = normalizer - self._mean_carrier_measure
        for p, g in zip(natural, gradients, strict=True):
            made = made - (p * g).reshape((*self._batch_shape, -1)).sum(-1)
        return made


LOG_2PI = math.log(2 * math.pi)

__all__ = ["Distribution", "ExponentialFamily"]
