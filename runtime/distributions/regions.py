"""What every constraint is, those that wait for an instance, and those made of other constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor.face import functions as T


class Constraint:
    """A region; `is_discrete` says whether it consists of points, `event_dim` how many dimensions one value has."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Which events of `value` lie within."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.removeprefix("_") + "()"


def _need_constraint(given: Any) -> None:
    if not isinstance(given, Constraint):
        raise AssertionError(f"a Constraint is needed, not {type(given).__name__}")


# ---- regions that are known only once there is an instance


class _Dependent(Constraint):
    """A region that other parameters decide, so that a class alone cannot say it."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the region consists of points, if that was said."""
        return self._said(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> int:
        """The number of dimensions of one value, if that was said."""
        return self._said(self._event_dim, "event_dim")

    def _said(self, value: Any, name: str) -> Any:
        if value is NotImplemented:
            raise NotImplementedError(f"{name} of this constraint depends on the instance")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        """The same, with more said about it."""
        is_discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        event_dim = self._event_dim if event_dim is NotImplemented else event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Any) -> Any:
        """Nothing can be checked without the instance."""
        raise ValueError("a constraint that depends on the instance cannot be checked without it")


class _DependentProperty(property, _Dependent):
    """A property that gives an instance's constraint, and is a dependent constraint where there is only the class."""

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:  # fmt: skip
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The property of this function, for use as a decorator with arguments."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint cannot be checked without an instance."""
    return isinstance(constraint, _Dependent)


# ---- regions made of others


class _IndependentConstraint(Constraint):
    """A constraint whose last batch dimensions count as dimensions of one value."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        _need_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims counts dimensions: {reinterpreted_batch_ndims!r}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """That of what it is made of."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The dimensions of the base, and those added."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        """Whether all parts of an event lie within."""
        held, dims = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if held.dim() < dims:
            need = self.base_constraint.event_dim + dims
            raise ValueError(f"expected at least {need} dimensions, got {value.dim()}")
        return held.reshape((*held.shape[: held.dim() - dims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-2]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What is within the region of every component, whose batch ends in a dimension more."""

    def __init__(self, base_constraint: Any) -> None:
        _need_constraint(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """That of the components."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """That of the components."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        """Whether all components allow the value."""
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Joined(Constraint):
    """Constraints of the parts of a tensor along one dimension."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        for part in cseq:
            if not isinstance(part, Constraint):
                raise AssertionError("cseq holds constraints and nothing else")
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether a part consists of points."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        """The largest of the parts."""
        return max(c.event_dim for c in self.cseq)

    def _need_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"there is no dimension {self.dim} in a value of {value.dim()}")


class _Cat(_Joined):
    """Constraints of pieces that lie one after the other, of the given lengths."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.lengths)} lengths for {len(self.cseq)} constraints")

    def check(self, value: Any) -> Any:
        """The checks of the pieces, one after the other."""
        self._need_dim(value)
        start, held = 0, []
        for part, length in zip(self.cseq, self.lengths, strict=True):
            held.append(part.check(value.narrow(self.dim, start, length)))
            start += length
        return T.cat(held, self.dim)


class _Stack(_Joined):
    """Constraints of slices, one for each place of the dimension."""

    def check(self, value: Any) -> Any:
        """The checks of the slices, stacked."""
        self._need_dim(value)
        return T.stack([c.check(value.select(self.dim, k)) for k, c in enumerate(self.cseq)], self.dim)
