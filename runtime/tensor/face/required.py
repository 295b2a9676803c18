"""What a function's arguments must be: PyTorch's TypeErrors where a number stands for a tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..value.core import Core


def check_tensors(name: str, **arguments: Any) -> None:
    """Raise TypeError unless all arguments are tensors."""
    for k, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Core):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {k}) must be Tensor, not {type(value).__name__}"
            )


def check_one_tensor(name: str, *values: Any) -> None:
    """Raise TypeError unless one of them is a tensor."""
    if not any(isinstance(v, Core) for v in values):
        given = ", ".join(type(v).__name__ for v in values)
        raise TypeError(f"{name}() received an invalid combination of arguments: expected a Tensor, got ({given})")


def check_list(name: str, tensors: Any, argument: str = "tensors") -> list[Any]:
    """The tensors of a sequence as a list; TypeError if it is none, or holds something else."""
    if isinstance(tensors, Core) or not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name}(): argument '{argument}' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for k, each in enumerate(tensors):
        if not isinstance(each, Core):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type(each).__name__}")
    return list(tensors)


def older_order(function: Callable[..., Any], count: int, names: tuple[str, ...], *given: Any) -> Any:
    """A call with numbers before the tensors that they scale, as PyTorch first had it: `x.add_(2, y)`.

    count   how many tensors the function takes
    names   what the numbers are, in their order
    """
    tensors, numbers = ([g for g in given if isinstance(g, Core) is wanted] for wanted in (True, False))
    name = function.__name__
    if len(tensors) != count or len(numbers) > len(names) or not isinstance(given[-1], Core):
        raise TypeError(f"{name}() takes {count} positional arguments but {len(given)} were given")
    options = dict(zip(names, numbers, strict=False))
    text = ", ".join(f"{n}={v}" for n, v in options.items())
    said = f"{name}: numbers before tensors are an old order of arguments; write {text} at the end"
    warnings.warn(said, stacklevel=3)
    return function(*tensors, **options)
