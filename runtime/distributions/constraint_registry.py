"""From a constraint to a transform of unconstrained numbers into it.

    biject_to(constraints.simplex)        one value for each point of the region
    transform_to(constraints.simplex)     every point has a value; simpler, and perhaps several values for one point
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Number
from typing import Any

from . import constraints, transforms


class ConstraintRegistry:
    """Transforms by the class of the constraint; more are added with `register`."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Say by what function a transform is made for a constraint of this class; also as a decorator."""
        if factory is None:
            return partial(self.register, constraint)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"register is for constraints and classes of them, not {constraint!r}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform is registered for {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Any], Any]:
    """Register a function with both."""

    def keep(factory: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return keep


@_both(constraints.real)
def _to_real(constraint: Any) -> Any:
    return transforms.identity_transform


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_above(constraint: Any) -> Any:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_both(constraints.less_than)
def _to_below(constraint: Any) -> Any:
    flip = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), flip])


@_both(constraints.interval, constraints.half_open_interval)
def _to_between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, Number) for bound in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _onto_simplex(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _to_simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _to_lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _to_positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


def _register_joined(registry: ConstraintRegistry) -> None:
    """The transforms of constraints that are made of others, which the same registry answers for."""

    registry.register(constraints.independent, partial(_independent, registry))
    registry.register(constraints.cat, partial(_cat, registry))
    registry.register(constraints.stack, partial(_stack, registry))


def _independent(registry: ConstraintRegistry, constraint: Any) -> Any:
    base = registry(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _cat(registry: ConstraintRegistry, constraint: Any) -> Any:
    parts = [registry(part) for part in constraint.cseq]
    return transforms.CatTransform(parts, constraint.dim, constraint.lengths)


def _stack(registry: ConstraintRegistry, constraint: Any) -> Any:
    return transforms.StackTransform([registry(part) for part in constraint.cseq], constraint.dim)


_register_joined(biject_to)
_register_joined(transform_to)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
