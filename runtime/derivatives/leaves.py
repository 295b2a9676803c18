"""Trees of floats: the leaves of what is differentiated, and of what a function returns.

    given = floats("jacrev of f", ["p"], {"w": w, "k": 3, "name": "fit"})
    given.leaves == [w]                        ints, texts and None in it are static
    given.like([z]) == {"w": z, "k": None, "name": "fit"}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.errors import message
from ...compiler.frontend.static_keys import is_still, static_key
from ...compiler.ir.graph import Where
from ...compiler.ir.types import FLOATING, STORED

NONE = ("static", static_key(None))


class Floats(NamedTuple):
    """A tree of floats: its signature, its leaves, and the paths to them."""

    signature: tree.Signature
    leaves: list[Any]
    paths: list[str]

    def like(self, values: Sequence[Any]) -> Any:
        """The tree with other leaves."""
        return tree.rebuild(self.signature, iter(values))

    @property
    def size(self) -> int:
        """How many elements all leaves have."""
        return sum(map(size_of, self.leaves))


def floats(
    title: str, where: Where | None, names: Sequence[str], given: Any, result: bool = False, real: bool = False
) -> Floats:
    """The leaves of arguments called `names`, or of a result, if they are floats; TypeError for one that is not.

    `given` is the argument, or a tuple of as many as there are names.
    """
    leaves: list[Any] = []
    what = "the result" if result else "argument "
    name = "" if result or len(names) != 1 else names[0]
    try:
        signature = tree.flatten(tree.opened(given), leaves)
    except tree.BadLeaf as error:
        raise TypeError(f"{title}: {what}{name}{error.path} {error.problem}; {error.fix}") from None
    alone = result or len(names) == 1
    parts = [(signature, name)] if alone else [*zip(signature[1], names, strict=True)]
    nodes = [each for inner, name in parts for each in tree.nodes(inner, name)]
    for unknown in filter(None, [tree.unregistered(*each) for each in parts]):
        raise TypeError(message(f"{title} needs floats; {what}{unknown[0]} is {unknown[1]}", where, unknown[2]))
    for path, node in nodes:
        if node[0] == "static" and node != NONE and (result or len(nodes) == 1):
            way = "return" if result else "pass"
            fix = f"{way} float(...)" if is_still(node[1]) else f"{way} np.asarray(...) of it, of a dtype of floats"
            said = "a Python int" if is_still(node[1]) else tree.spelled(node)
            raise TypeError(message(f"{title} needs floats; {what}{path} is {said}", where, fix))
        if node[0] == "leaf" or (node[0] != "static" and tree.dtype_of(node) not in FLOATING):
            said = f"a {node[1].__name__}" if node[0] == "leaf" else tree.spelled(node)
            way = "return" if result else "pass"
            is_int = node[0] == "int" or tree.spelled(node) == "a Python int"
            fix = f"{way} float(...)" if is_int else f"{way} np.asarray(...) of it, of a dtype of floats"
            raise TypeError(message(f"{title} needs floats; {what}{path} is {said}", where, fix))
    if (result or real) and tree.has_parts(signature):
        fix = "give it real and imaginary parts: np.stack([z.real, z.imag])"
        raise TypeError(message(f"{title}: {what}{name} is complex", where, fix))
    paths = [path for path, node in nodes if node[0] != "static"]
    if not paths:
        raise TypeError(message(f"{title} needs floats; {what}{name} is {given!r:.60}", where))
    return Floats(without_numbers(signature), leaves, paths)


def without_numbers(node: tree.Signature) -> tree.Signature:
    """The signature with None in the places of ints that are static, which have no slope."""
    if node[0] in ("list", "tuple"):
        return (node[0], tuple(map(without_numbers, node[1])))
    if node[0] in ("dict", "named"):
        return (node[0], node[1], tuple(map(without_numbers, node[2])))
    return NONE if node[0] == "static" and is_still(node[1]) else node


def leaf(given: Any, k: int) -> Any:
    """Leaf k of a tree."""
    leaves: list[Any] = []
    tree.flatten(tree.opened(given), leaves)
    return leaves[k]


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a leaf, traced or not."""
    return x.shape if isinstance(x, Array) else np.shape(x)


def size_of(x: Any) -> int:
    """How many elements a leaf has; a size that is known by a name becomes a number here."""
    return int(np.prod(shape_of(x), dtype=int))


def dtype_of(x: Any) -> np.dtype:
    return STORED[x.type.dtype] if isinstance(x, Array) else np.asarray(x).dtype


__all__ = ["Floats", "dtype_of", "floats", "leaf", "shape_of", "size_of", "without_numbers"]
