"""What an optimiser does to one parameter, as an operation; to a complex one it does so to both parts.

    formula("sgd", _sgd)        (parameter, gradient, *remembered, *numbers, *choices) -> (parameter, *remembered)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...compiler.ops.complex.pairs import Pair
from ..tensor.trace.fragments.fragments import Operation


def formula(name: str, emit: Callable[..., Any]) -> Operation:
    """The operation; complex elements are pairs of real ones, as PyTorch's optimisers see them."""

    @wraps(emit)
    def both(m: Any, *given: Any) -> Any:
        if not any(isinstance(g, Pair) for g in given):
            return emit(m, *given)
        first, second = (
            emit(m.real, *[getattr(g, part) if isinstance(g, Pair) else g for g in given]) for part in ("re", "im")
        )
        if not isinstance(first, tuple):
            return Pair(m, first, second)
        return tuple([Pair(m, x, y) for x, y in zip(first, second, strict=True)])

    return Operation(name, "", both, of_complex=False)


def in_each_part(number: float, like: Any) -> Any:
    """A number for the elements of a tensor like this one, which in complex ones is that of both parts."""
    return complex(number, number) if like.is_complex() else number


__all__ = ["formula", "in_each_part"]
