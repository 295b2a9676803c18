"""Whether operations on tensors that require gradients are kept for backward; a choice of each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class _Mode(threading.local):
    enabled = True


mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether what is computed now can be differentiated later."""
    return mode.enabled


class _Switch:
    """A context manager and a decorator that sets the mode and puts the old one back."""

    value: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(mode.enabled)
        mode.enabled = self.value
        return self

    def __exit__(self, *_: Any) -> None:
        mode.enabled = self._before.pop()

    def _fresh(self) -> _Switch:
        return type(self)()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        if isgeneratorfunction(function):
            raise TypeError(
                f"{type(self).__name__} cannot decorate the generator {function.__name__};"
                " use `with` inside it"
            )

        @wraps(function)
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            with self._fresh():
                return function(*args, **kwargs)

        return inner


class no_grad(_Switch):
    """`with no_grad():` or `@no_grad()` (or `@no_grad`): nothing is kept for backward."""

    value = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        _Switch.__init__(made)
        return made(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__()


class enable_grad(no_grad):
    """`with enable_grad():` or `@enable_grad()`: keep for backward, inside a no_grad too."""

    value = True


class set_grad_enabled(_Switch):
    """Set the mode at once; as a context manager, put the old one back at its end."""

    def __init__(self, mode_: bool) -> None:
        super().__init__()
        self.value = bool(mode_)
        self._outer = mode.enabled
        mode.enabled = self.value

    def __enter__(self) -> Self:
        self._before.append(self._outer)
        mode.enabled = self.value
        return self

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        mode.enabled = self._outer
        return super().__call__(function)

    def _fresh(self) -> _Switch:
        return set_grad_enabled(self.value)


__all__ = ["enable_grad", "is_grad_enabled", "mode", "no_grad", "set_grad_enabled"]
