"""`__torch_function__`: a function and its arguments in, what the class of an argument answers for it out.

Classes that define it are asked by every function that is recorded as a whole: subclasses of Tensor, and classes that
have nothing to do with it. A subclass of Tensor that does not define it has results of its own class.

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            print(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import local
from types import TracebackType
from typing import Any

from ..calls.apart import apart
from ..value.core import Core


class _Off(local):
    depth = 0


_off = _Off()


class DisableTorchFunctionSubclass:
    """A block in which no class is asked."""

    def __enter__(self) -> None:
        _off.depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _off.depth -= 1


def is_enabled() -> bool:
    """Whether classes are asked."""
    return not _off.depth


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a class has for `__torch_function__` that is not to be asked."""
    return NotImplemented


def answers(cls: type) -> bool:
    """Whether objects of a class answer for functions."""
    found = getattr(cls, "__torch_function__", None)
    if found is None or found is disabled or cls is _plain[0]:
        return False
    return not getattr(cls, "_apart", False)


_plain: list[type] = [Core]


def converted(result: Any, cls: type, given: Iterable[Any]) -> Any:
    """A result with its tensors of a class; those that were arguments become others on the same memory."""
    if type(result) is _plain[0]:
        if any(result is x for x in given):
            return result.as_subclass(cls)  # type: ignore[attr-defined]
        result.__class__ = cls
        return result
    if isinstance(result, tuple | list) and any(isinstance(x, Core) for x in result):
        made = [converted(x, cls, given) for x in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def default(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a subclass of Tensor answers by itself: what the function gives, as its own class."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    kwargs = kwargs or {}
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
    if cls is _plain[0] or not issubclass(cls, _plain[0]):
        return result
    return converted(result, cls, _leaves((*args, *kwargs.values())))


def _leaves(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for v in values:
        found += v if isinstance(v, tuple | list) else [v]
    return found


def _method(func: Any) -> Any:
    """The method for which an operator stands, by which classes know it: `Tensor.add` of `+`."""
    name = func.__name__
    if name in ("getitem", "setitem"):
        return getattr(_plain[0], f"__{name}__")
    inner = getattr(func, "__wrapped__", None)
    code = getattr(inner, "__code__", None)
    if code is None or code.co_name != "method":  # as those of `operators.operator` are
        return func
    return getattr(_plain[0], name, func)


def asked(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first class that answers gives, subclasses before their bases; NotImplemented if none does."""
    if _off.depth:
        return NotImplemented
    chosen: list[Any] = []
    for x in _leaves((*args, *kwargs.values())):
        cls = type(x)
        if answers(cls) and cls not in map(type, chosen):
            place = next((k for k, other in enumerate(chosen) if issubclass(cls, type(other))), len(chosen))
            chosen.insert(place, x)
    if not chosen:
        return NotImplemented
    types, func = tuple(map(type, chosen)), _method(func)
    for x in chosen:
        result = x.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(func, "__name__", func)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned NotImplemented:"
        f" {', '.join(t.__name__ for t in types)}"
    )


def overridable(cls: type) -> None:
    """Let subclasses of a class answer for functions."""
    _plain[0] = cls
    cls.__torch_function__ = classmethod(default)  # type: ignore[attr-defined]
    apart.asked, apart.answers = asked, answers


__all__ = ["DisableTorchFunctionSubclass", "answers", "asked", "converted", "disabled", "is_enabled", "overridable"]
