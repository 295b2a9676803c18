"""Nested containers in, their leaves with the ways to them out; and what they hung on as text, and back.

    tree_flatten_with_path({"a": [1, 2]})[0]    [((MappingKey('a'), SequenceKey(0)), 1), ...]
    keystr(path)                                "['a'][0]"
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..pytrees import Asked, TreeSpec, is_namedtuple_class, tree_flatten, tree_unflatten

PROTOCOL = 1
"""The form of the texts."""


@dataclass(frozen=True)
class SequenceKey:
    """The place in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What stands there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What stands there."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What stands there."""
        return getattr(obj, self.name)


KeyEntry = Any
KeyPath = tuple[Any, ...]


def keys_of(spec: TreeSpec) -> list[Any]:
    """The ways to the children of a container."""
    if is_namedtuple_class(spec.type):
        return [GetAttrKey(name) for name in spec.type._fields]
    context = spec.context
    if isinstance(spec.type, type) and issubclass(spec.type, dict):
        keys = context if len(context) == spec.num_children else context[1]
        return [MappingKey(key) for key in keys]
    return [SequenceKey(k) for k in range(spec.num_children)]


def _paths(spec: TreeSpec, before: KeyPath) -> Iterable[KeyPath]:
    if spec.is_leaf():
        yield before
        return
    for key, child in zip(keys_of(spec), spec.children(), strict=True):
        yield from _paths(child, (*before, key))


def tree_flatten_with_path(tree: Any, is_leaf: Asked = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with the way to it, and what they hung on."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return list(zip(_paths(spec, ()), leaves, strict=True)), spec


def tree_leaves_with_path(tree: Any, is_leaf: Asked = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the way to it."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Asked = None) -> Any:
    """The containers with `func` of the way to each leaf and the leaf, and of what other trees have in its place."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    made = [func(path, leaf, *more) for (path, leaf), *more in zip(pairs, *others, strict=True)]
    return tree_unflatten(made, spec)


def keystr(kp: KeyPath) -> str:
    """A way as it is written in Python behind the tree's name."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands at the end of a way."""
    return functools.reduce(lambda held, key: key.get(held), kp, obj)


# ---- as text


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """What leaves hang on, as JSON."""
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"treespec_dumps(protocol=): expected {PROTOCOL}, got {protocol!r}")
    return json.dumps([PROTOCOL, _said(treespec)])


def _said(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    context = spec.context
    if is_namedtuple_class(spec.type):
        context = None
    name = f"{spec.type.__module__}.{spec.type.__qualname__}"
    return {"type": name, "context": json.dumps(context), "children_spec": [_said(c) for c in spec.children()]}


def treespec_loads(serialized: str) -> TreeSpec:
    """What leaves hang on, of JSON."""
    protocol, said = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"treespec_loads: the text has form {protocol!r}, expected {PROTOCOL}")
    return _heard(said)


def _heard(said: dict[str, Any]) -> TreeSpec:
    if said["type"] is None:
        return TreeSpec(None)
    module, _, name = said["type"].rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    context = cls if is_namedtuple_class(cls) else json.loads(said["context"])
    return TreeSpec(cls, context, map(_heard, said["children_spec"]))


def treespec_pprint(treespec: TreeSpec) -> str:
    """What leaves hang on, to be read."""
    return repr(treespec)


__all__ = [
    "GetAttrKey", "KeyEntry", "KeyPath", "MappingKey", "SequenceKey", "key_get", "keystr", "tree_flatten_with_path",
    "tree_leaves_with_path", "tree_map_with_path", "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip
