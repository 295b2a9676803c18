"""Functions of Python and NumPy that ask no protocol, and are replaced while a function is traced.

`len(x)`, `np.zeros(n)` and `math.sin(x)` reach no method of a traced value. While such a trace runs each of them first
asks the meanings registered here; one that is not concerned says NOT_MINE, and in the end the original is called. So
in other threads, and for other arguments, they are what they were. Functions that were imported by name before
(`from math import sin`) are out of reach.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

from ...locks import lock

NOT_MINE: Any = object()
"""What a meaning returns for a call that it leaves to others."""

Meaning = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""(original, args, kwargs) -> the result, or NOT_MINE."""


class Patches:
    """Functions that are replaced together, while at least one trace has asked for it."""

    def __init__(self) -> None:
        self._meanings: dict[tuple[Any, str], list[Meaning]] = {}
        self._before: dict[tuple[Any, str], Callable[..., Any]] = {}
        self._asking: dict[tuple[Any, str], tuple[Any, Callable[..., Any]]] = {}
        self._lock = lock()
        self._running = 0

    def register(self, module: Any, name: str, meaning: Meaning) -> None:
        """Let `module.name` ask a meaning; names that this version of Python does not have are passed over."""
        if hasattr(module, name):
            self._meanings.setdefault((module, name), []).append(meaning)

    def _replacement(self, place: tuple[Any, str], original: Any, meanings: list[Meaning]) -> Callable[..., Any]:
        """What asks the meanings before `original`, made once: every trace wants all of them."""
        made = self._asking.get(place)
        if made is None or made[0] is not original:
            made = self._asking[place] = original, _dispatcher(original, meanings)
        return made[1]

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Replace the functions until every trace that has asked for it has ended."""
        with self._lock:
            self._running += 1
            if self._running == 1:
                for place, meanings in self._meanings.items():
                    original = self._before[place] = getattr(*place)
                    setattr(*place, self._replacement(place, original, meanings))
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if self._running == 0:
                    for (module, name), original in self._before.items():
                        setattr(module, name, original)
                    self._before.clear()


def _dispatcher(original: Any, meanings: list[Meaning]) -> Callable[..., Any]:
    """What asks the meanings first: a function, or in place of a class one that all ask after their instances."""

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        for meaning in meanings:
            made = meaning(original, args, kwargs)
            if made is not NOT_MINE:
                return made
        return original(*args, **kwargs)

    dispatch.__name__, dispatch.__doc__, dispatch.__module__ = original.__name__, original.__doc__, original.__module__
    dispatch.__wrapped__ = original  # type: ignore[attr-defined]
    return _standing_in(original, dispatch) if isinstance(original, type) else dispatch


def _standing_in(original: type, dispatch: Callable[..., Any]) -> type:
    class Standing(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return dispatch(*args, **kwargs)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, original)

    return Standing(original.__name__, (), {"__module__": original.__module__})


_STANDS_IN = _dispatcher(len, []).__code__


def caller() -> FrameType:
    """From where a replaced function was called, in a meaning of it: other patches may stand between."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def unpatched(function: Any) -> Any:
    """The original of a function that is replaced; any other as it is."""
    while isinstance(function, FunctionType) and function.__code__ is _STANDS_IN:
        function = function.__wrapped__  # type: ignore[attr-defined]
    return function


patched = Patches()
"""What means something else for traced values."""

register = patched.register

__all__ = ["NOT_MINE", "Meaning", "Patches", "caller", "patched", "register", "unpatched"]
