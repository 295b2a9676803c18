"""Arguments that are given by name, put where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...compiler.frontend import tree
from .chosen import EVERY, Argnums, places


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

    def argument_names(self: Any, count: int) -> list[str]:
        """The names of the first positional arguments."""
        parameters = self._signature.parameters.values() if self._signature else ()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
        return [names[k] if k < len(names) else f"{rest}[{k - len(names)}]" for k in range(count)]

    def bound_of(self: Any, first: Any) -> int:
        """How many of the arguments are bound: `self`, or the class where @classmethod stands above the transform.

        `first` is the first argument, if it is one that is not traced.
        """
        if self.bound or not isinstance(first, type):
            return self.bound
        held = [vars(each).get(self.__name__) for each in first.__mro__]
        return int(any(isinstance(each, classmethod) and each.__func__ is self for each in held))

    def _opened(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with those that the transform is about taken apart, whatever containers they are."""
        argnums = self.plan.opens
        if argnums is EVERY:
            return tuple(map(tree.opened, args)), {name: tree.opened(x) for name, x in kwargs.items()}
        given, named = list(args), dict(kwargs)
        for k in self.places_of(argnums, args[0] if args else None, len(args), tuple(kwargs)):
            if isinstance(k, int):
                given[k] = tree.opened(given[k])
            else:
                named[k] = tree.opened(named[k])
        return tuple(given), named

    def places_of(self: Any, argnums: Argnums, first: Any, count: int, names: Sequence[str]) -> list[int | str]:
        """Where the arguments that a transform differentiates are in a call."""
        title = f"{self.plan.name} of {self.__name__}"
        return places(title, argnums, self.bound_of(first), count, self.argument_names(count), names)


__all__ = ["Binding"]
