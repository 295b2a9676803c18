"""Tensors that are no single array, and classes that answer for functions: calls in, what answers for them out.

    apart.answer    (function's name, arguments, keywords) -> the result; NotImplemented where there is no such tensor
    apart.asked     (function, arguments, keywords) -> the same of classes that define `__torch_function__`

Nobody is asked before the first such tensor is made, or where all arguments are of classes that answer for nothing, so
programs without any pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
    """Whether the class of an argument, or of what a list holds, answers for functions."""
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
    if apart.answers(cls):
        return True
    _silent.add(cls)
    return False


__all__ = ["apart", "strange"]
