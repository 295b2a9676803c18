"""Nested data as JSON text and tensors by name, and back. Nothing is looked up by a name that a file gives.

    {"model": {"weight": tensor(...)}, "epoch": 3, "betas": (0.9, 0.99)}

    ["dict", [["model", ["dict", [["weight", ["tensor", "model.weight", 0]]]]], ["epoch", 3],
              ["betas", ["tuple", [0.9, 0.99]]]]]
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from typing import Any

import numpy as np

from ..nn.parameter import Parameter
from ..tensor.value.core import Core
from ..tensor.value.dtypes import ALL, DType, Size, device

LEVELS = 100
"""How deeply data may be nested."""

MAPPINGS: dict[str, type] = {"dict": dict, "odict": OrderedDict, "counter": Counter}
SEQUENCES: dict[str, type] = {"list": list, "tuple": tuple, "size": Size}
PLAIN, GRADIENT, PARAMETER = range(3)
"""What a tensor is: neither, a leaf that requires a gradient, or a Parameter."""


class Writer:
    """Collects the tensors of nested data while it turns the rest into JSON's values."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.names: dict[int, str] = {}

    def text(self, value: Any) -> str:
        return json.dumps(self.node(value, "", 0), separators=(",", ":"))

    def node(self, value: Any, path: str, level: int) -> Any:
        if level > LEVELS:
            raise ValueError(f"save: data nested more than {LEVELS} levels deep, at {path[:80]}...")
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, float):
            return float(value)
        if isinstance(value, Core):
            return self.tensor(value, path)
        for tag, kind in MAPPINGS.items():  # a module's state_dict is a kind of OrderedDict
            if type(value) is kind or (kind is OrderedDict and isinstance(value, OrderedDict)):
                return [tag, [self.pair(k, v, path, level) for k, v in value.items()]]
        for tag, kind in SEQUENCES.items():
            if type(value) is kind:
                return [tag, [self.node(v, f"{path}.{k}" if path else str(k), level + 1) for k, v in enumerate(value)]]
        if isinstance(value, DType):
            return ["dtype", value.code]
        if isinstance(value, device):
            return ["device", str(value)]
        raise TypeError(refusal(value, path))

    def pair(self, key: Any, value: Any, path: str, level: int) -> list[Any]:
        if not (key is None or type(key) in (bool, int, float, str)):
            where = f" at {path}" if path else ""
            raise TypeError(f"save: a dict's key must be a number or a string, got {type(key).__name__}{where}")
        return [key, self.node(value, f"{path}.{key}" if path else str(key), level + 1)]

    def tensor(self, value: Any, path: str) -> list[Any]:
        """A tensor is written once, however often it occurs."""
        name = self.names.get(id(value))
        if name is None:
            stem = path if path and path.isprintable() and path != "__metadata__" else "tensor"
            name, count = stem, len(self.arrays)
            while name in self.arrays:
                name, count = f"{stem}#{count}", count + 1
            self.names[id(value)] = name
            self.arrays[name] = value.detach()._array()
        kind = PARAMETER if isinstance(value, Parameter) else GRADIENT if value.requires_grad else PLAIN
        return ["tensor", name, kind, bool(value.requires_grad)]


def refusal(value: Any, path: str) -> str:
    where, kind = f"at {path}" if path else "given", type(value).__name__
    if isinstance(value, np.ndarray):
        return f"save: NumPy array {where}; make a tensor of it with from_numpy()"
    if isinstance(value, np.generic):
        return f"save: NumPy's number {kind} {where}; make a Python number of it with .item()"
    if hasattr(value, "state_dict"):
        return f"save: {kind} {where} is an object; save its state_dict()"
    return f"save: {kind} {where}; only tensors, numbers, strings, None, dicts, lists and tuples of these can be saved"


class Damaged(Exception):
    """What is wrong with a file's structure."""


class Reader:
    """Nested data from JSON's values and tensors by name; anything else than a Writer's output is Damaged."""

    def __init__(self, tensors: dict[str, Any]) -> None:
        self.tensors = tensors
        self.made: dict[tuple[str, int], Any] = {}

    def value(self, text: str) -> Any:
        try:
            return self.node(json.loads(text), 0)
        except (ValueError, RecursionError) as error:
            raise Damaged(f"its structure is no JSON that can be read ({error})") from None

    def node(self, node: Any, level: int) -> Any:
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if level > LEVELS:
            raise Damaged(f"its structure is nested more than {LEVELS} levels deep")
        if not isinstance(node, list) or len(node) < 2 or not isinstance(node[0], str):
            raise Damaged("its structure has a part that is no value")
        tag, *rest = node
        if tag == "tensor":
            return self.tensor(rest)
        if len(rest) == 1 and tag in SEQUENCES and isinstance(rest[0], list):
            items = [self.node(item, level + 1) for item in rest[0]]
            if tag == "size" and not all(type(n) is int for n in items):
                raise Damaged("it has a Size of something else than ints")
            return SEQUENCES[tag](items)
        if len(rest) == 1 and tag in MAPPINGS and isinstance(rest[0], list):
            return MAPPINGS[tag](dict(self.pair(pair, level) for pair in rest[0]))
        if rest == ["cpu"] and tag == "device":
            return device("cpu")
        if tag == "dtype" and len(rest) == 1 and isinstance(rest[0], str) and rest[0] in ALL:
            return ALL[rest[0]]
        raise Damaged(f"its structure has an unknown part {tag[:40]!r}")

    def pair(self, pair: Any, level: int) -> tuple[Any, Any]:
        if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], (list, dict)):
            raise Damaged("its structure has a dict whose items are no pairs of a key and a value")
        return pair[0], self.node(pair[1], level + 1)

    def tensor(self, rest: list[Any]) -> Any:
        if len(rest) != 3 or not isinstance(rest[0], str) or rest[1] not in (PLAIN, GRADIENT, PARAMETER):
            raise Damaged("its structure has a tensor without name and kind")
        name, kind, requires = rest
        if name not in self.tensors:
            raise Damaged(f"its structure names a tensor {name[:80]!r} that is not there")
        if (name, kind) not in self.made:
            found = self.tensors[name]
            if (kind == GRADIENT or requires) and not found.is_floating_point():
                raise Damaged(f"it has a tensor {name[:80]!r} of whole numbers that requires a gradient")
            if kind == PARAMETER:
                found = Parameter(found, requires_grad=bool(requires))
            elif kind == GRADIENT:
                found.requires_grad_()
            self.made[name, kind] = found
        return self.made[name, kind]
