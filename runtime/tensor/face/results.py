"""The argument `out`: a tensor that takes the result of a function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..calls.naming import renamed
from ..ops.elementwise.elementary import cast_to
from ..reverse.modes import mode
from ..value.cells import is_alike
from ..value.core import Core, requires
from ..value.dtypes import ALL
from ..value.promotion import c_name
from ..value.writing import check_apart, check_normal, moved, overwrite
from .inplace import LEVELS


def written(*functions: Callable[..., Any]) -> tuple[Any, ...]:
    """The functions, taking `out` as well; the result is written there and `out` returned."""
    return tuple(map(_written, functions))


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__.rstrip("_")

    @wraps(function)
    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = renamed(function, kwargs)
        if out is None:
            return function(*args, **kwargs)
        if name in MADE and isinstance(out, Core):
            kwargs.setdefault("dtype", ALL[out._kind_of().dtype])
        if isinstance(out, (tuple, list)) and name != "nonzero":
            made = function(*args, **kwargs)
            for wanted in out:
                _check_apart(args, wanted, False)
            for mine, wanted in zip(made, out, strict=True):
                _check_same(mine, wanted)
                deliver(mine, wanted)
            return type(made)(*out) if hasattr(made, "_fields") else tuple(out)
        if not isinstance(out, Core):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if mode.enabled:
            _check_history(name, [*args, *kwargs.values()], out)
        made = function(*args, **kwargs)
        _check_apart(args, out, is_alike(made._kind_of(), out._kind_of()))
        if name in EXACT:
            _check_same(made, out)
        return deliver(made, out)

    return with_out


MADE = {"empty", "eye", "full", "linspace", "logspace", "ones", "zeros"}
"""Functions that make tensors, of the dtype of `out` if none is given."""

EXACT = {"gather", "index_select", "masked_select", "take"}
"""Functions whose `out` must have the dtype of the result."""


def _check_apart(args: Any, out: Any, same: bool) -> None:
    """What is read must not lie where results are written, unless each element does in its own place."""
    for a in args:
        for x in a if isinstance(a, (tuple, list)) else [a]:
            if isinstance(x, Core):
                check_apart(out, x, same=same)
                if x is out and not same:
                    raise RuntimeError(
                        "unsupported operation: the input tensor and the written-to tensor refer to a single memory"
                        " location. Please clone() the tensor before performing the operation."
                    )


def _check_same(made: Any, out: Any) -> None:
    have, wanted = made._kind_of().dtype, out._kind_of().dtype
    if have != wanted:
        raise RuntimeError(f"Expected out tensor to have dtype {c_name(have)}, but got {c_name(wanted)} instead")


def _check_history(name: str, args: list[Any], out: Core) -> None:
    tensors = [t for a in args for t in (a if isinstance(a, (tuple, list)) else [a]) if isinstance(t, Core)]
    for what, given in (("one of the arguments requires grad", tensors), ("it requires grad", [out])):
        if any(map(requires, given)):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but {what}."
            )


def deliver(made: Any, out: Any) -> Any:
    """Write a result into `out`, which takes its shape."""
    check_normal(out)
    have, kind = out._kind_of(), made._kind_of()
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
    out._cell, out._storage, out._path, out._base, out._serial = made._read(), None, (), None, 0
    moved(out)
    return out


__all__ = ["deliver", "written"]
