"""How functions of ours are copied and pickled: as functions of Python are.

Copies are the object itself. A pickle holds the name under which a module has it, or what it was made of: the user's
function and the transform, from which it is made again and compiled again where it is called. Which of the two, only
the pickler knows: pickle goes by names, cloudpickle by value where the other process could not find the name, as for
what stands in `__main__`, in a notebook or in a function. Picklers decide that for functions of Python and for classes
alone, and so each of ours has a function of Python at hand that is decided upon in its place:

    module.slope._handle        stands under this name for `module.slope`; called, it tells what that was made of
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary, ref

from .sources import Sources

NAMES = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "bound")
"""What a function takes over from the one that it was made of, and may be given anew."""

DOTTED = 4
"""The first protocol whose names may go through an object that is being pickled."""


class ByName:
    """Copies are the object itself, and a pickle is a name, or what `__init__` was given: `_made_of`."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        spelled, refused = global_name(self), _refusal(self)
        if spelled is None or (refused is None and self.__module__ == "__main__" and not _has_own_name(self)):
            return _blank, (type(self),), {"": refused, **self.__getstate__()}
        if protocol < DOTTED:
            return spelled
        handle = self._handle
        handle.__module__, handle.__qualname__ = self.__module__, f"{spelled}._handle"
        state = self.__getstate__()
        for each in state.values():
            if isinstance(each, Sources):
                each.module = self.__module__  # what is by value here is so as a whole
        handle.__kwdefaults__ = {"state": state}
        return _found, (type(self), handle)

    @property
    def _handle(self) -> FunctionType:
        """What picklers decide upon in the place of this function, if it has a name."""
        handle = vars(self).get("_held")
        if handle is None:
            handle = _hold(self, FunctionType(_tell.__code__, globals()))
        return handle

    def __getstate__(self: Any) -> dict[str, Any]:
        given = self._made_of
        return {"sources": Sources(given), "given": given, "attributes": _attributes(self)}

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        state["sources"].give_to(state["given"])
        self.__init__(*state["given"])
        self.__dict__.update(state["attributes"])

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class Around(ByName):
    """A function of Python around compiled ones, with the name of the function that it is about."""

    __call__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        made_of(self, function, *given)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def made_of(function: Any, *given: Any) -> None:
    """Note at the end of `__init__` what it was given."""
    function._made_of = given
    function._before = dict(vars(function))


def _attributes(function: Any) -> dict[str, Any]:
    """The attributes that were set since the function was made, its names among them."""
    before = function._before
    return {
        name: value
        for name, value in vars(function).items()
        if before.get(name, NAMES) is not value and (name in NAMES or not name.startswith("_"))
    }


# ---- by name


def global_name(function: Any) -> str | None:
    """The name in its module that leads to this very object."""
    if _has_own_name(function):
        return function.__qualname__
    module = sys.modules.get(function.__module__ or "")
    return next((name for name, value in tuple(vars(module).items()) if value is function), None) if module else None


def _has_own_name(function: Any) -> bool:
    """Whether it is a decorated function, and not one that happens to be bound to a name: in `__main__` that may be
    done where other processes, which import it, do not come."""
    return _leads_to(function.__module__, getattr(function, "__qualname__", ""), function)


def _leads_to(module: str | None, spelled: str, function: Any) -> bool:
    found: Any = sys.modules.get(module or "")
    for part in spelled.split("."):
        found = getattr(found, part, None)
    return found is function


def name_in(namespace: Mapping[str, Any], within: type | None = None) -> None:
    """Let the functions that a module or class of ours has from others be found here, if no name leads to them there.

    What picklers write of a function is its module and its name in it.
    """
    if isinstance(namespace, dict) and all(namespace is not each for each in _tables):
        _tables.append(namespace)
    module, path = (namespace["__name__"], "") if within is None else (within.__module__, f"{within.__qualname__}.")
    for name, value in tuple(namespace.items()):
        home: Any = getattr(value, "__module__", None) if callable(value) and not isinstance(value, type) else None
        ours = isinstance(home, str) and home.startswith(_PACKAGE) and hasattr(value, "__qualname__")
        if ours and not name.startswith("_") and not _leads_to(home, value.__qualname__, value):
            value.__module__, value.__qualname__ = module, path + name


def name_tables() -> None:
    """The same for the same modules again: recorded functions have taken the names of others."""
    for namespace in _tables:
        name_in(namespace)


_PACKAGE = __name__.rpartition(".compiled.")[0]
_tables: list[dict[str, Any]] = []

# ---- by name or by value


def _tell(*, state: Any) -> Any:
    return state


def _hold(function: Any, handle: FunctionType) -> FunctionType:
    function._held, _owners[handle] = handle, ref(function)
    return handle


_owners: WeakKeyDictionary[FunctionType, Callable[[], Any]] = WeakKeyDictionary()


def _found(cls: Any, handle: FunctionType) -> Any:
    """The function that has this handle; where the handle came by value, one made of what it tells.

    A function may name itself: then this is called within a handle that has no state yet, and once more at its end.
    """
    owner = _owners.get(handle)
    function: Any = owner() if owner is not None else None
    if function is None:
        function = cls.__new__(cls)
        _hold(function, handle)
    if handle.__kwdefaults__ and not hasattr(function, "_made_of"):
        function.__setstate__(handle.__kwdefaults__["state"])
    return function


# ---- by value


def _blank(cls: Any) -> Any:
    return cls.__new__(cls)


def _refusal(function: Any) -> FunctionType | None:
    """For a function that pickle will refuse to find: what it will name in its error, and others take along."""
    inner = function._made_of[0]
    while isinstance(inner, functools.partial):
        inner = inner.func
    if not isinstance(inner, FunctionType) or _leads_to(inner.__module__, inner.__qualname__, inner):
        return None
    made = FunctionType((lambda: None).__code__, {})
    made.__module__ = inner.__module__
    made.__qualname__ = (
        f"{inner.__name__}, to which no name of the module {inner.__module__} leads: pickle finds functions by their"
        " names; define it at the top of a module, or use cloudpickle, which takes functions by value"
    )
    return made


__all__ = ["Around", "ByName", "global_name", "made_of", "name_in", "name_tables"]
