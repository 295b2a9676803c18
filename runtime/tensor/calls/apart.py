"""Tensors that are no single array, and classes that answer for functions: calls in, what answers for them out.

    apart.answer    (function's name, arguments, keywords) -> the result; NotImplemented where there is no such tensor
    apart.asked     (function, arguments, keywords) -> the same of classes that define `__torch_function__`
    asking(f)       a function that is not recorded as a whole, which asks as those do that are
    modes.push(m)   from now on, in this thread, m is asked first

Nobody is asked before the first such tensor is made, or where all arguments are of classes that answer for nothing, so
programs without any pay nothing. While a mode is there, calls are not recognised natively.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import local
from typing import Any

from ..trace.tape import tapes

ASKED = 16
"""The bit of a tape's mode where all calls are to be asked for."""


class _Modes(local):
    """What is asked for every function of a thread, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []

    def push(self, mode: Any) -> None:
        """Ask `mode` first."""
        count[0] += 1
        self.stack.append(mode)
        tapes.tape.mode |= ASKED

    def pop(self) -> Any:
        """Ask the innermost no more."""
        mode = self.stack.pop()
        count[0] -= 1
        if not self.stack:
            tapes.tape.mode &= ~ASKED
        return mode


count = [0]
"""How many modes there are, in all threads."""
modes = _Modes()


class _Apart:
    on = False
    answer: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
    asked: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    answers: Callable[[type], bool]

    def called(self, recorded: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What answers for a call of a recorded function."""
        if self.on and (made := self.answer(recorded.function.__name__, args, kwargs)) is not NotImplemented:
            return made
        return self.asked(recorded.native or recorded.slow, args, kwargs) if strange(args, kwargs) else NotImplemented


apart = _Apart()
_silent: set[type] = set()
"""Classes that answer for nothing, as far as they have been met."""


def strange(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the class of an argument, or of what a list holds, answers for functions, or a mode does."""
    if count[0] and modes.stack:
        return True
    if not kwargs and _silent.issuperset(map(type, args)):
        return False
    for a in (*args, *kwargs.values()):
        if type(a) is list or type(a) is tuple:
            if not _silent.issuperset(map(type, a)) and any(map(_speaks, a)):
                return True
        elif _speaks(a):
            return True
    return False


def _speaks(x: Any) -> bool:
    cls = type(x)
    if cls in _silent:
        return False
    if cls is list or cls is tuple:  # within another: it says nothing of those to come
        return any(map(_speaks, x))
    if apart.answers(cls):
        return True
    _silent.add(cls)
    return False


def asking(function: Any) -> Any:
    """The function, which asks the modes and the classes of its arguments first."""

    @wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        if strange(args, kwargs) and (made := apart.asked(inner, args, kwargs)) is not NotImplemented:
            return made
        return function(*args, **kwargs)

    return inner


__all__ = ["apart", "asking", "count", "modes", "strange"]
