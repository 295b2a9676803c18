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

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from threading import local
from types import FunctionType, GetSetDescriptorType, TracebackType
from typing import Any

from ..calls.apart import apart, count, modes
from ..value.core import Core


class _Off(local):
    depth = 0
    wholly = 0


_off = _Off()


class DisableTorchFunctionSubclass:
    """A block in which no class is asked."""

    def __enter__(self) -> None:
        _off.depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _off.depth -= 1


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which neither classes nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        _off.wholly += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _off.wholly -= 1
        super().__exit__(kind, error, at)


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
    if getattr(found, "__module__", "").partition(".")[0] == "torch":  # PyTorch's own tensors answer for its functions
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
    """What the innermost mode gives, or the first class that answers, subclasses before their bases; NotImplemented if
    nobody is there to be asked."""
    moded = bool(modes.stack) and not _off.wholly
    chosen = _chosen(args, kwargs) if not _off.depth else []
    if not (chosen or moded):
        return NotImplemented
    types, func = tuple(map(type, chosen)), _method(func)
    if moded:
        mode = modes.pop()
        try:
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            modes.push(mode)
        if result is not NotImplemented:
            return result
        chosen, types = [mode, *chosen], (type(mode), *types)
    for x in chosen[moded:]:
        result = x.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(func, "__name__", func)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned NotImplemented:"
        f" {', '.join(t.__name__ for t in types)}"
    )


def _chosen(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    chosen: list[Any] = []
    for x in _leaves((*args, *kwargs.values())):
        cls = type(x)
        if answers(cls) and cls not in map(type, chosen):
            place = next((k for k, other in enumerate(chosen) if issubclass(cls, type(other))), len(chosen))
            chosen.insert(place, x)
    return chosen


# ---- what subclasses answer for that is no call

DUNDER = {
    "__bool__", "__complex__", "__contains__", "__deepcopy__", "__float__", "__format__", "__index__", "__int__",
    "__len__", "__repr__", "__array__", "__dir__", "__dlpack_device__",
}  # fmt: skip
"""Python's own methods that are asked for."""


def _heard(name: str, found: Any) -> Any:
    """A property or a plain method of tensors as a subclass has it that answers for functions."""
    if not isinstance(found, FunctionType):

        def get(self: Any) -> Any:
            result = asked(found.__get__, (self,), {})
            return found.__get__(self) if result is NotImplemented else result

        def put(self: Any, value: Any) -> None:
            if asked(found.__set__, (self, value), {}) is NotImplemented:
                found.__set__(self, value)

        def drop(self: Any) -> None:
            found.__delete__(self)

        writes, drops = (getattr(found, name, default) for name, default in (("fset", True), ("fdel", None)))
        return property(get, put if writes else None, drop if drops else None, doc=found.__doc__)

    @wraps(found)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = asked(found, (self, *args), kwargs)
        return found(self, *args, **kwargs) if result is NotImplemented else result

    return method


def _is_read(name: str, found: Any) -> bool:
    """Whether it is a property, or a method that is not recorded as a whole."""
    plain = isinstance(found, FunctionType) and not hasattr(found, "__wrapped__")
    known = plain or isinstance(found, property | GetSetDescriptorType)
    return known and (not name.startswith("_") or name in DUNDER)


def _of_class(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`super().__new__(cls, data)` in the `__new__` of a subclass: what `Tensor(data)` gives, of that class."""
    made: Any = Core.__new__(cls)
    if (args or kwargs) and any(map(_makes_itself, cls.__mro__[: cls.__mro__.index(_plain[0])])):
        _plain[0].__init__(made, *args, **kwargs)  # type: ignore[misc]
    return made


def _makes_itself(cls: type) -> bool:
    return "__new__" in vars(cls) and not cls.__module__.startswith(_HOUSE)


def _listens(cls: type, **options: Any) -> None:
    """Let a new subclass that says itself what it answers be asked for properties, and for methods that are not
    recorded."""
    super(_plain[0], cls).__init_subclass__(**options)
    if _makes_itself(cls):  # else making a tensor would cost a call more
        _plain[0].__new__ = _of_class  # type: ignore[method-assign]
    own = cls.__dict__.get("__torch_function__")
    if own is None or not answers(cls) or cls.__module__.startswith(_HOUSE):
        return
    for base in reversed(_plain[0].__mro__[:-1]):
        for name, found in vars(base).items():
            if _is_read(name, found) and getattr(cls, name, None) is getattr(_plain[0], name):
                setattr(cls, name, _heard(name, getattr(_plain[0], name)))


# ---- what modes answer for that is no call

_listening = [False]


def listen() -> None:
    """Let modes hear reads of plain tensors from now on: what a program calls `Tensor.item` must stay one thing."""
    if _listening[0]:
        return
    _listening[0], cls, seen = True, _plain[0], set[str]()
    for base in cls.__mro__[:-1]:
        for name, found in [*vars(base).items()]:
            if name not in seen and _is_read(name, found):
                setattr(cls, name, _heard_outside(found))
            seen.add(name)


def _is_asked() -> bool:
    """Whether a mode is to be asked for a read: not where this library reads."""
    if not count[0] or not modes.stack or _off.wholly:
        return False
    return not sys._getframe(2).f_globals.get("__name__", "").startswith(_HOUSE)


def _heard_outside(found: Any) -> Any:
    """A property or a plain method of tensors that asks modes where others than this library call it."""
    if not isinstance(found, FunctionType):

        def get(self: Any) -> Any:
            result = asked(made.__get__, (self,), {}) if _is_asked() else NotImplemented
            return found.__get__(self) if result is NotImplemented else result

        def put(self: Any, value: Any) -> None:
            if not _is_asked() or asked(made.__set__, (self, value), {}) is NotImplemented:
                found.__set__(self, value)

        def drop(self: Any) -> None:
            found.__delete__(self)

        writes, drops = (getattr(found, name, default) for name, default in (("fset", True), ("fdel", None)))
        made = property(get, put if writes else None, drop if drops else None, doc=found.__doc__)
        return made

    @wraps(found)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = asked(method, (self, *args), kwargs) if _is_asked() else NotImplemented
        return found(self, *args, **kwargs) if result is NotImplemented else result

    del method.__wrapped__  # by which recorded methods are known
    return method


_HOUSE = __name__.partition(".runtime.")[0] + ".runtime."


def overridable(cls: type) -> None:
    """Let subclasses of a class answer for functions."""
    _plain[0] = cls
    cls.__torch_function__ = classmethod(default)  # type: ignore[attr-defined]
    cls.__init_subclass__ = classmethod(_listens)  # type: ignore[assignment]
    apart.asked, apart.answers = asked, answers


__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "answers", "asked", "converted", "disabled", "is_enabled",
    "listen", "overridable",
]  # fmt: skip
