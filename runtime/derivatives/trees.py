"""Containers of numbers and arrays as users walk them: leaf by leaf, or as one vector.

    leaves, structure = tree_flatten({"w": w, "b": [b, None]})      [w, b]
    tree_map(lambda p, g: p - 0.1 * g, params, slopes)
    vector, back = ravel(params)                                    for SciPy's optimisers

None holds no leaf. What is a container is what it is for the transforms, and dataclasses, SimpleNamespaces, classes of
attrs and Mappings as well: see `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.array import Array
from ...compiler.ir.containers import apart
from ..compiled.byname import ByName, made_of

LEAF, NOTHING = "*", "None"


class TreeStructure:
    """Containers without their leaves; equal where classes, keys and nesting are. `tree_unflatten` fills them."""

    __slots__ = ("_node", "num_leaves")

    def __init__(self, node: Any, num_leaves: int) -> None:
        self._node, self.num_leaves = node, num_leaves

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeStructure) and self._node == other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<tree of {self.num_leaves} leaves: {_text(self._node)}>"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The containers with these leaves; ValueError if they are not as many."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(f"tree_unflatten: {len(given)} leaves for a tree of {self.num_leaves}")
        return _filled(self._node, iter(given))


def _text(node: Any) -> str:
    if isinstance(node, str):
        return node
    structure, parts = node
    return f"{structure.__name__}({', '.join(k + ' ' + _text(p) for k, p in zip(structure.paths, parts, strict=True))})"


def _filled(node: Any, leaves: Any) -> Any:
    if isinstance(node, str):
        return next(leaves) if node is LEAF else None
    return node[0](*[_filled(each, leaves) for each in node[1]])


def _walked(x: Any, found: list[Any], is_leaf: Callable[[Any], bool] | None, depth: int) -> Any:
    if is_leaf is not None and is_leaf(x):
        found.append(x)
        return LEAF
    if x is None:
        return NOTHING
    parts = None if isinstance(x, np.ndarray) else apart(x)
    if parts is None:
        found.append(x)
        return LEAF
    if depth >= tree.MAX_DEPTH:
        raise ValueError(f"a tree nests more than {tree.MAX_DEPTH} containers, or contains itself")
    return (parts[0], tuple([_walked(each, found, is_leaf, depth + 1) for each in parts[1]]))


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeStructure]:
    """The leaves of nested containers, in their order, and the structure around them.

    is_leaf   a function that says of a container that it is to be a leaf

    >>> leaves, structure = tree_flatten({"w": 1.0, "more": (2.0, None)})
    >>> leaves, tree_unflatten(structure, [3.0, 4.0])
    ([1.0, 2.0], {'w': 3.0, 'more': (4.0, None)})
    """
    leaves: list[Any] = []
    node = _walked(tree, leaves, is_leaf, 0)
    return leaves, TreeStructure(node, len(leaves))


def tree_unflatten(structure: TreeStructure, leaves: Iterable[Any]) -> Any:
    """The containers of a structure from `tree_flatten` with other leaves; ValueError if they are not as many."""
    if not isinstance(structure, TreeStructure):
        given = type(structure).__name__
        raise TypeError(f"tree_unflatten takes a structure of tree_flatten and then leaves, got {given} first")
    return structure.unflatten(leaves)


def tree_map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`function` of every leaf, and of those in the same places of further trees; containers are those of the first.

    ValueError where another tree is not like the first, with the place. Where the first has None, others may have
    anything.

    >>> tree_map(lambda p, g: p - 0.5 * g, {"w": 1.0, "k": None}, {"w": 2.0, "k": None})
    {'w': 0.0, 'k': None}
    """
    leaves, structure = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for k, each in enumerate(rest):
        found: list[Any] = []
        _alongside(structure._node, each, found, f"tree {k + 2}")
        columns.append(found)
    return structure.unflatten([function(*each) for each in zip(*columns, strict=True)])


def _alongside(node: Any, x: Any, found: list[Any], place: str) -> None:
    """What a tree has where another has leaves."""
    if isinstance(node, str):
        found += [x] if node is LEAF else []
        return
    structure, parts = node
    held = None if isinstance(x, np.ndarray) else apart(x)
    if held is None or held[0] != structure:
        said = type(x).__name__ if held is None else f"{held[0].__name__} of {', '.join(held[0].paths) or 'nothing'}"
        expected = f"{structure.__name__} of {', '.join(structure.paths) or 'nothing'}"
        raise ValueError(f"tree_map: {place} is a {said}, where the first tree has a {expected}")
    for part, each, path in zip(parts, held[1], structure.paths, strict=True):
        _alongside(part, each, found, place + path)


class Unravel(ByName):
    """From a vector of `ravel` the tree; pickles hold the tree that it was made of."""

    def __init__(self, given: Any) -> None:
        self._leaves, self._structure = tree_flatten(given)
        self._places = [k for k, x in enumerate(self._leaves) if _is_number(x)]
        numbers = [self._leaves[k] for k in self._places]
        self._shapes = [x.shape if isinstance(x, Array) else np.shape(x) for x in numbers]
        self._kinds = [type(x) if type(x) is float else x.dtype for x in numbers]
        self.size = int(sum(int(np.prod(shape, dtype=int)) for shape in self._shapes))
        made_of(self, given)

    def __call__(self, vector: Any) -> Any:
        """The tree whose numbers are those of `vector`; ValueError where it has another length."""
        shape = vector.shape if isinstance(vector, Array) else np.shape(vector)
        if shape != (self.size,):
            raise ValueError(f"the vector has shape {shape}, expected ({self.size},), that of ravel")
        vector = vector if isinstance(vector, Array) else np.asarray(vector)
        leaves, at = list(self._leaves), 0
        for k, shape, kind in zip(self._places, self._shapes, self._kinds, strict=True):
            size = int(np.prod(shape, dtype=int))
            part, at = np.reshape(vector[at : at + size], shape), at + size
            if kind is float:
                leaves[k] = part if isinstance(part, Array) else float(part)
            else:
                leaves[k] = part.astype(kind) if part.dtype != kind else part
                if not isinstance(part, Array):
                    leaves[k] = leaves[k].copy() if shape else leaves[k][()]
        return self._structure.unflatten(leaves)


def _is_number(x: Any) -> bool:
    """Whether a leaf is part of the vector: what is differentiated."""
    if isinstance(x, (np.ndarray, np.generic, Array)):
        return x.dtype.kind == "f"
    return type(x) is float


def ravel(input: Any) -> Any:
    """All floats of nested containers as one vector, and the function that makes the containers of such a vector.

    Arrays are taken row by row, in the order of `tree_flatten`; the vector has the widest of their dtypes. Ints, texts
    and the like come back as they were. Works within transforms: `grad(lambda v: loss(back(v)))(vector)`. TypeError
    where there are no floats. A Tensor gives a Tensor of one dimension, as in PyTorch.

    >>> vector, back = ravel({"w": np.array([[1.0, 2.0]]), "b": 3.0, "name": "fit"})
    >>> vector, back(2 * vector)
    (array([1., 2., 3.]), {'w': array([[2., 4.]]), 'b': 6.0, 'name': 'fit'})
    """
    if type(input) in tree.MADE_OF:
        return input.ravel()
    back = Unravel(input)
    numbers = [np.ravel(back._leaves[k]) for k in back._places]
    if not numbers:
        unknown = tree.unregistered(tree.flatten(tree.opened(input), []), "the argument")
        said = f"{input!r:.60}" if unknown is None else f"{unknown[0]}, {unknown[1]}: {unknown[2]}"
        raise TypeError(f"ravel needs floats, got {said}")
    return np.concatenate(numbers), back


__all__ = ["TreeStructure", "ravel", "tree_flatten", "tree_map", "tree_unflatten"]
