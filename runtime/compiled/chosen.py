"""Which arguments a transform differentiates: `argnums`, and the places that it means in a call.

    argnums=0                   the first positional argument; -1 is the last
    argnums="scale"             the parameter of that name, however it is passed
    argnums=(0, "scale")        several: what is made for them is a tuple

Within a class numbers count from the one after `self`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.static_keys import static_value

Argnums = int | str | tuple[int | str, ...]
EVERY: Any = ...
"""In place of argnums: all arguments of a call."""


def checked(title: str, argnums: Any) -> Argnums:
    """Numbers and names of arguments; TypeError for anything else, ValueError for one that is there twice."""
    if is_place(argnums):
        return argnums if isinstance(argnums, str) else int(argnums)
    if isinstance(argnums, (tuple, list)) and argnums and all(map(is_place, argnums)):
        places = tuple([k if isinstance(k, str) else int(k) for k in argnums])
        for k in places:
            if places.count(k) > 1:
                raise ValueError(f"{title}: argnums has {k!r} twice, expected every argument once")
        return places
    raise TypeError(
        f"{title}: argnums is {argnums!r}, expected an int or a tuple of ints; the name of a parameter does, too"
    )


def is_place(x: Any) -> bool:
    return isinstance(x, (int, np.integer, str)) and not isinstance(x, bool)


def each_of(argnums: Argnums) -> tuple[int | str, ...]:
    return argnums if isinstance(argnums, tuple) else (argnums,)


def places(
    title: str, argnums: Argnums, bound: int, count: int, known: Sequence[str], names: Sequence[str]
) -> list[int | str]:
    """Where the chosen arguments are in a call: their positions, or the names of those that are passed by name.

    title   the transform and its function, for errors
    bound   how many arguments come before the first that is counted
    count   how many positional arguments the call has, whose names are `known`
    names   of its keyword arguments

    TypeError where the call has no such argument, ValueError where two of `argnums` mean the same.
    """
    found: list[int | str] = []
    for k in each_of(argnums):
        place = _place(k, bound, count, known, names)
        if place is None:
            given = f"{count - bound} positional arguments"
            if isinstance(k, str):
                said = ", ".join([*known[bound:count], *names]) or "none"
                raise TypeError(f"{title}: argnums has {k!r}, but the arguments passed are {said}")
            raise TypeError(f"{title}: argnums has {k}, but there are {given}")
        if place in found:
            raise ValueError(f"{title}: argnums is {argnums!r}, where two mean the same argument")
        found.append(place)
    return found


def _place(k: int | str, bound: int, count: int, known: Sequence[str], names: Sequence[str]) -> int | str | None:
    if isinstance(k, str):
        if k in names:
            return k
        return next((at for at, name in enumerate(known[:count]) if name == k), None)
    at = k + bound if k >= 0 else k + count
    return at if 0 <= at < count else None


Put = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]
"""From what the chosen arguments are to be, the arguments and keyword arguments of the call."""


def split(argnums: Argnums, found: Sequence[int | str], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Put]:
    """The chosen arguments of a call, one or a tuple of them, and the call with others in their places."""
    values = [args[k] if isinstance(k, int) else kwargs[k] for k in found]
    single = not isinstance(argnums, tuple)

    def put(x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given, named = list(args), dict(kwargs)
        for k, value in zip(found, (x,) if single else x, strict=True):
            if isinstance(k, int):
                given[k] = value
            else:
                named[k] = value
        return tuple(given), named

    return values[0] if single else tuple(values), put


class Place(NamedTuple):
    """An argument: its name, its signature, and the numbers of its leaves among the graph's parameters."""

    name: str
    node: tree.Signature
    leaves: range


def places_in(signature: tree.Signature, owner: Any, argnums: Argnums) -> list[Place]:
    """The arguments that `argnums` means in a call of this signature."""
    *args, (_, names, named) = signature[1]
    first = static_value(args[0][1]) if args and args[0][0] == "static" else None
    known = [*owner.argument_names(len(args)), *names]
    nodes, found = [*args, *named], []
    for k in owner.places_of(argnums, first, len(args), names):
        at = k if isinstance(k, int) else len(args) + names.index(k)
        start = sum(map(tree.count, nodes[:at]))
        found.append(Place(known[at], nodes[at], range(start, start + tree.count(nodes[at]))))
    return found


__all__ = ["EVERY", "Argnums", "Place", "checked", "each_of", "places", "places_in", "split"]
