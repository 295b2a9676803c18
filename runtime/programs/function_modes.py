"""`TorchFunctionMode`: what is asked for every function of tensors within a block, whatever its arguments are.

    class Count(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

Asked are functions and methods of tensors, those that make and draw them, functions that initialise parameters, and
reads: properties, `item`, `float(x)`. What this library reads itself is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self

from ..tensor.calls.apart import modes
from ..tensor.face.overriding import listen


class TorchFunctionMode:
    """A context manager whose `__torch_function__(func, types, args, kwargs)` is called in place of each function.

    Within it the mode is not asked, unless it enters itself again.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ != __name__:  # programs without a mode of their own read tensors as ever
            listen()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__(self, func, types, args, kwargs)")

    def __enter__(self) -> Self:
        modes.push(self)
        return self

    def __exit__(self, *_: Any) -> None:
        modes.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator: the function's body runs within the block."""

        @wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inner


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that does what happens without it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode"]
