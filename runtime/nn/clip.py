"""Gradients made smaller before a step: all by one factor if together they are too long, or element by element.

    total = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from math import inf
from types import GeneratorType
from typing import Any

from ..tensor.ops.arranging.creation import tensor
from ..tensor.ops.arranging.pieces import stack
from ..tensor.ops.folds.reductions import total
from ..tensor.reverse.modes import no_grad
from ..tensor.trace.fragments.fragments import Operation
from ..tensor.value.core import Core, apply


def _length(m: Any, *values: Any) -> Any:
    """The root of the sum of all squares."""
    every = None
    for x in values:
        squares = total(m, x * x, tuple(range(len(x.value.type.static_shape()))))
        every = squares if every is None else every + squares
    return m.sqrt(every)


LENGTH = Operation("total_norm", "", _length, "common")


def _listed(parameters: Any) -> list[Any]:
    """The parameters; a generator that is used up is told."""
    if isinstance(parameters, Core):
        return [parameters]
    found = list(parameters)
    if not found and isinstance(parameters, GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur", stacklevel=4)
    return found


def _norm_of(x: Any, p: float) -> Any:
    sizes = x.abs()
    if p in (inf, -inf):
        return sizes.max() if p > 0 else sizes.min()
    if p == 0:
        return (x != 0).sum().to(x.dtype)
    return sizes.sum() if p == 1 else (sizes**p).sum() ** (1 / p)


@no_grad()
def get_total_norm(
    tensors: Iterable[Any] | Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm of order `norm_type` of all tensors together, as one vector.

    Raises RuntimeError with `error_if_nonfinite` if it is infinite or NaN.
    """
    given, p = [tensors] if isinstance(tensors, Core) else list(tensors), float(norm_type)
    if not given:
        return tensor(0.0)
    found = apply(LENGTH, given) if p == 2 else _norm_of(stack([_norm_of(x, p) for x in given]), p)
    if error_if_nonfinite and not found.isfinite():
        raise RuntimeError(
            f"The total norm of order {p} for gradients from `parameters` is non-finite, so it cannot be clipped;"
            " set `error_if_nonfinite=False` to scale by it anyway"
        )
    return found


@no_grad()
def clip_grads_with_norm_(
    parameters: Iterable[Any] | Any, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Scale the gradients so that a known `total_norm` becomes at most `max_norm`."""
    found = [p.grad for p in _listed(parameters) if p.grad is not None]
    if found:
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for g in found:
            g.mul_(factor)


def clip_grad_norm_(
    parameters: Iterable[Any] | Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients of `parameters` to at most the norm `max_norm` together; returns what it was."""
    params = _listed(parameters)
    found = get_total_norm([p.grad for p in params if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(params, max_norm, found, foreach)
    return found


@no_grad()
def clip_grad_value_(parameters: Iterable[Any] | Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients of `parameters` to [-clip_value, clip_value]."""
    limit = float(clip_value)
    given: Iterable[Any] = [parameters] if isinstance(parameters, Core) else parameters
    for p in given:
        if p.grad is not None:
            p.grad.clamp_(min=-limit, max=limit)


__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
