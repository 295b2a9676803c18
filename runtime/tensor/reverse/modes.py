"""Whether operations on tensors that require gradients are kept for backward; a choice of each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, Self, TypeVar

from ..trace.opened import set_irregular
from ..trace.tape import tapes

P = ParamSpec("P")
R = TypeVar("R")


ENABLED, INFERENCE = 1, 2
BITS = ENABLED | INFERENCE
"""Bits of a tape's mode, and both; calls are recognised only where no other than the first is set."""


class _Mode(threading.local):
    """The choices of one thread.

    enabled    what is computed is kept for backward
    inference  what is computed will never be
    packers    functions that take over saved values, the innermost last
    packing_error   why there must be none, if so
    task       the nodes of the backward that is running
    """

    packing_error: str | None = None
    task: Any = ()

    def __init__(self) -> None:
        self.packers: list[Callable[..., Any]] = []

    def __reduce__(self) -> str:
        return "mode"

    @property
    def enabled(self) -> bool:
        return bool(tapes.tape.mode & ENABLED)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        tape = tapes.tape
        tape.mode = tape.mode | ENABLED if value else tape.mode & ~ENABLED

    @property
    def inference(self) -> bool:
        return bool(tapes.tape.mode & INFERENCE)

    @inference.setter
    def inference(self, value: bool) -> None:
        tape = tapes.tape
        tape.mode = tape.mode | INFERENCE if value else tape.mode & ~INFERENCE


class _Watch:
    """What all threads look at, so that what is rarely in use costs little.

    anomaly, check_nan   whether nodes note where they were made, and backward looks for NaN
    packers              how many functions take over saved values, in all threads
    inference            whether there has been an inference mode
    duals                whether tensors have had tangents
    lanes                whether tensors have stood for single examples of a batch
    lenient              whether what was saved may be written over
    """

    check_nan = True
    inference = False
    duals = False
    lanes = False

    def __init__(self) -> None:
        self._anomaly, self._packers, self._lenient = False, 0, False

    @property
    def anomaly(self) -> bool:
        return self._anomaly

    @anomaly.setter
    def anomaly(self, value: bool) -> None:
        self._anomaly = value
        set_irregular("anomaly", value)

    @property
    def packers(self) -> int:
        return self._packers

    @packers.setter
    def packers(self, value: int) -> None:
        self._packers = value
        set_irregular("packers", value > 0)

    @property
    def lenient(self) -> bool:
        return self._lenient

    @lenient.setter
    def lenient(self, value: bool) -> None:
        self._lenient = value
        set_irregular("lenient", value)


mode, watch = _Mode(), _Watch()


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
            return _in_steps(function, self._fresh)  # type: ignore[return-value]

        @wraps(function)
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            tape = tapes.tape
            before = tape.mode
            tape.mode = self._set(before)
            try:
                return function(*args, **kwargs)
            finally:  # without a call of Python code, at which a signal could come before the mode is what it was
                tape.mode = (tape.mode & ~BITS) | (before & BITS)

        return inner

    def _set(self, bits: int) -> int:
        """The bits of a tape's mode, with this one among them."""
        return bits | ENABLED if self.value else bits & ~ENABLED


def _in_steps(function: Callable[..., Any], switch: Callable[[], Any]) -> Callable[..., Any]:
    """A generator function whose body runs in a mode, while what is between its steps does not."""

    @wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        steps = function(*args, **kwargs)
        send, value = steps.send, None
        while True:
            try:
                with switch():
                    made = send(value)
            except StopIteration as end:
                return end.value
            try:
                send, value = steps.send, (yield made)
            except GeneratorExit:
                with switch():
                    steps.close()
                raise
            except BaseException as error:
                send, value = steps.throw, error

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


class inference_mode(_Switch):
    """`with inference_mode():` nothing is kept for backward, and what is computed can never be part of one."""

    value = False

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if not callable(mode):
            return made
        _Switch.__init__(made)
        made.inference = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.inference = bool(mode)
        self._outer: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(mode.enabled)
        self._outer.append(mode.inference)
        mode.enabled, mode.inference = not self.inference, self.inference
        watch.inference |= self.inference
        return self

    def __exit__(self, *_: Any) -> None:
        mode.enabled, mode.inference = self._before.pop(), self._outer.pop()

    def _set(self, bits: int) -> int:
        watch.inference |= self.inference
        return (bits & ~BITS) | (INFERENCE if self.inference else ENABLED)

    def _fresh(self) -> _Switch:
        return inference_mode(self.inference)


def is_inference_mode_enabled() -> bool:
    """Whether what is computed now can never be differentiated."""
    return mode.inference


__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "mode",
    "no_grad",
    "set_grad_enabled",
    "watch",
]
