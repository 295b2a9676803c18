"""`torch.overrides`: classes that answer for functions of tensors by `__torch_function__`.

Functions of Tensors ask by themselves (`tensor.face.overriding`). Programs may ask and hand on in functions of their
own, as PyTorch's Python functions do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..tensor.face.overriding import answers, is_enabled
from ..tensor.face.tensor import Tensor
from ..tensor.value.core import Core


def _answers(x: Any) -> bool:
    return is_enabled() and answers(type(x))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of an argument answers by `__torch_function__`."""
    return any(map(_answers, relevant_args))


def has_torch_function_unary(x: Any) -> bool:
    """Whether the class of an argument answers by `__torch_function__`."""
    return _answers(x)


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Whether the class of an argument answers by `__torch_function__`."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the first class that answers, subclasses before their bases, returns for the function."""
    asked: list[Any] = []
    for x in relevant_args:
        if _answers(x) and type(x) not in map(type, asked):
            before = next((k for k, other in enumerate(asked) if issubclass(type(x), type(other))), len(asked))
            asked.insert(before, x)
    types = tuple(map(type, asked))
    for x in asked:
        result = x.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for {name!r} on types that implement __torch_function__: {list(types)}")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """A decorator of functions which asks the classes of those arguments that `dispatcher` chooses."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a Tensor or has `__torch_function__`."""
    return isinstance(inp, Core) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is one of those that the class Tensor has."""
    name = getattr(func, "__name__", None)
    return name == "__get__" or (isinstance(name, str) and getattr(Tensor, name, None) is func)


__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like", "is_tensor_method_or_property", "wrap_torch_function",
]  # fmt: skip
