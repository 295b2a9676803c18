"""Tuples, lists and dicts of tensors, as lists of their tensors and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """What hangs on the tree, in order."""
    if isinstance(tree, (tuple, list)):
        return [leaf for each in tree for leaf in leaves(each)]
    if isinstance(tree, dict):
        return [leaf for each in tree.values() for leaf in leaves(each)]
    return [] if tree is None else [tree]


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with `function` of each leaf."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[mapped(function, each) for each in tree])
    if isinstance(tree, (tuple, list)):
        return type(tree)([mapped(function, each) for each in tree])
    if isinstance(tree, dict):
        return type(tree)((key, mapped(function, each)) for key, each in tree.items())
    return None if tree is None else function(tree)


def rebuilt(tree: Any, values: Iterable[Any]) -> Any:
    """The tree with other leaves, given in order."""
    rest = iter(values)
    return mapped(lambda _: next(rest), tree)
