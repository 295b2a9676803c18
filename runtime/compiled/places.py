"""The dimensions of a function's arguments: where they are, and what the user says of them.

    @jit(sizes={"x": ("n", 3), "params['w']": (None, "n")})
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import Signature
from typing import Any

from ...compiler.frontend import tree
from ...compiler.frontend.trace import leaves_of
from ...compiler.ir.measure import LEAST
from ...compiler.ir.types import Dim, Size
from ...compiler.late_classes import late_dataclass

Rule = str | Mapping[str, tuple[Any, ...]]
"""What the argument `sizes` of a transform can be."""


@late_dataclass(frozen=True)
class Place:
    """One dimension of one argument."""

    path: str
    axis: int
    rank: int
    number: int

    @property
    def label(self) -> str:
        return f"{self.path}.shape[{self.axis}]"


def places_of(signature: tree.Signature, names: Sequence[str]) -> Iterator[Place]:
    for path, node in leaves_of(signature, names):
        shape = tree.shape_of(node)
        for axis, n in enumerate(shape):
            yield Place(path, axis, len(shape), n)


def outline(signature: tree.Signature) -> tree.Signature:
    """A signature without the sizes that can be named."""
    kind = signature[0]
    if kind in ("array", "leaf"):
        return (*signature[:-1], tuple([n if n < LEAST else None for n in signature[-1]]))
    if kind in tree.CONTAINERS:
        return (*signature[:-1], tuple([outline(each) for each in signature[-1]]))
    return signature


def in_units(sizes: Mapping[str, int], units: Mapping[str, int]) -> dict[str, int] | None:
    """How many units each size has, if they are whole numbers and not small."""
    found = {name: n // units[name] for name, n in sizes.items()}
    fits = all(found[name] * units[name] == n and found[name] >= LEAST for name, n in sizes.items())
    return found if fits else None


def shapes_of(
    signature: tree.Signature, names: Sequence[str | None], units: Mapping[str, int]
) -> list[tuple[Dim, ...]]:
    """The shapes of the traced leaves with names for some dimensions."""
    name = iter(names)

    def dim(n: int) -> Dim:
        named = next(name) if n >= LEAST else None
        return n if named is None else Size.named(named) * units[named]

    return [tuple([dim(n) for n in tree.shape_of(node)]) for _, node in tree.nodes(signature) if node[0] != "static"]


# ---- what the user says


def given_names(rule: Rule, places: list[Place]) -> dict[str, str]:
    """The names that the user has given, by label; sizes that do not fit raise TypeError."""
    if isinstance(rule, str):
        return {}
    known: dict[str, Place] = {}
    found: dict[str, str] = {}
    for path in rule.keys() - {place.path for place in places}:
        _refuse_unknown(path, rule[path], places)
    for place in places:
        wanted = rule.get(place.path)
        if wanted is None:
            continue
        if len(wanted) != place.rank:
            raise TypeError(
                f"argument {place.path} has {place.rank} axes, but sizes says {wanted!r}: pass one of that rank"
            )
        each = wanted[place.axis]
        if isinstance(each, str):
            found[place.label] = each
            other = known.setdefault(each, place)
            if other.number != place.number:
                raise TypeError(
                    f"{place.label} is {place.number}, but sizes says that it is {each}, "
                    f"which is {other.number} in {other.label}: pass arrays that agree"
                )
        elif each is not None and each != place.number:
            raise TypeError(f"{place.label} is {place.number}, but sizes says {each}: pass an array of that size")
    return found


def _refuse_unknown(path: str, wanted: tuple[Any, ...], places: list[Place]) -> None:
    """Refuse an argument of which nothing has this path, unless it has no arrays in this call at all."""
    argument, others = root(path), list(dict.fromkeys([place.path for place in places]))
    if any(root(other) == argument for other in others):
        raise TypeError(
            f"sizes has {path!r} as {wanted!r}, but no array stands there: there are {', '.join(others)}"
        )


def root(path: str) -> str:
    """The argument of a path: p of p['w'][0]."""
    return re.match(r"\w*", path)[0]  # type: ignore[index]


def checked_names(rule: Rule, signature: Signature | None) -> Rule:
    """The argument `sizes` of a transform, if all that it names are arguments of the function; ValueError otherwise."""
    if signature is None or isinstance(rule, str):
        return rule
    parameters = signature.parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return rule
    for path in rule:
        if root(path) not in parameters:
            near = get_close_matches(root(path), parameters, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"sizes has {path!r}, but the signature is {signature}{hint}")
    return rule


def checked_rule(rule: Any) -> Rule:
    """The argument `sizes` of a transform, or TypeError."""
    if rule in ("auto", "static"):
        return rule
    if not isinstance(rule, Mapping) or not all(isinstance(k, str) for k in rule):
        raise TypeError(f"sizes is {rule!r}, expected 'auto', 'static' or a dict such as {{'x': ('n', 3)}}")
    for path, shape in rule.items():
        fits = isinstance(shape, tuple) and all(s is None or type(s) is int or isinstance(s, str) for s in shape)
        if not fits:
            raise TypeError(f"sizes[{path!r}] is {shape!r}, expected names, numbers and None: ('n', 3, None)")
        for each in shape:
            if isinstance(each, str):
                Size.named(each)
    return dict(rule)


def listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in numbers.items())
