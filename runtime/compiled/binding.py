"""Arguments that are given by name, put where they belong."""

from __future__ import annotations

from typing import Any

from ...compiler.frontend import tree


class Binding:
    """A function's arguments by its signature and its names."""

    __slots__ = ()

    def _by_position(
        self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as they would be given by position, if the names are those of the next ones."""
        names = self._names[len(args) : len(args) + len(kwargs)]
        if len(names) == len(kwargs) and all(name in kwargs for name in names):
            return (*args, *[kwargs[name] for name in names]), {}
        return args, kwargs

    def _bind(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self._signature is None:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}; its signature is {self._signature}") from None
        return bound.args, bound.kwargs

    def bound_of(self: Any, args: tuple[tree.Signature, ...]) -> int:
        """How many of the arguments are bound: `self`, or the class where @classmethod stands above the transform."""
        if self.bound or not args or args[0][0] != "static":
            return self.bound
        owner = tree.static_value(args[0][1])
        held = [vars(each).get(self.__name__) for each in owner.__mro__] if isinstance(owner, type) else []
        return int(any(isinstance(each, classmethod) and each.__func__ is self for each in held))


__all__ = ["Binding"]
