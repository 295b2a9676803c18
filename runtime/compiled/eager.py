"""A call whose arguments have Tensors among them: what these make of it, or MISS where it is a call of arrays."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ...compiler.frontend import tracing, tree
from .compiled import MISS


def called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], into: Any) -> Any:
    """The result, by the type of the first such leaf."""
    call = tree.follower((args, kwargs))
    return MISS if call is None else call(function, args, kwargs, into)


def with_tensors(
    name: str, function: Any, args: Any, given: Any, out: Any = None, options: tuple[Any, bool] = (0, False),
    kwargs: Any = MappingProxyType({}),
) -> Any:
    """A transform `name` at `args`, where the leaves of `given`, which it differentiates, are Tensors.

    `options` are what it differentiates and whether the function returns something beside its value.
    """
    call = None
    if tree.CALLS and tracing.current() is None and tree.follower(given) is not None:
        call = next(iter(tree.DIRECTIONS.values()))
    return MISS if call is None else call(name, function, args, given, out, options, kwargs)


__all__ = ["called", "with_tensors"]
