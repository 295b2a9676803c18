"""The argument `out`: a tensor that takes the result of a function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from .core import Core, requires
from .elementary import cast_to
from .inplace import LEVELS
from .modes import mode
from .promotion import c_name
from .writing import overwrite


def written(*functions: Callable[..., Any]) -> tuple[Any, ...]:
    """The functions, taking `out` as well; the result is written there and `out` returned."""
    return tuple(map(_written, functions))


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__.rstrip("_")

    @wraps(function)
    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            return function(*args, **kwargs)
        if not isinstance(out, Core):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if mode.enabled:
            _check_history(name, [*args, *kwargs.values()], out)
        return deliver(function(*args, **kwargs), out)

    return with_out


def _check_history(name: str, args: list[Any], out: Core) -> None:
    tensors = [t for a in args for t in (a if isinstance(a, (tuple, list)) else [a]) if isinstance(t, Core)]
    for what, given in (("one of the arguments requires grad", tensors), ("it requires grad", [out])):
        if any(map(requires, given)):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but {what}."
            )


def deliver(made: Any, out: Any) -> Any:
    """Write a result into `out`, which takes its shape."""
    have, kind = out._read().kind, made._read().kind
    if LEVELS[kind.dtype] > LEVELS[have.dtype]:
        raise RuntimeError(
            f"result type {c_name(kind.dtype)} can't be cast to the desired output type {c_name(have.dtype)}"
        )
    if kind.dtype != have.dtype:
        made = cast_to(made, have.dtype)
    if have.shape == kind.shape:
        return overwrite(out, made)
    if have.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(have.shape)}, which does not"
            f" match the required output shape {list(kind.shape)}. This behavior is deprecated, and in a future"
            " release outputs will not be resized unless they have zero elements.",
            stacklevel=3,
        )
    out._cell, out._storage, out._path, out._base = made._read(), None, (), None
    out._written += 1
    return out


__all__ = ["deliver", "written"]
