"""What a traced function returned: a tree of specifications, and the Python value made of it at each call.

Containers are made anew at each call, as the function would: dicts, lists and tuples by native code, their subclasses,
OrderedDicts, deques, dataclasses and the like in Python. What holds a traced value and cannot be made anew is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend.entries import specs
from ..ir.graph import Value
from ..ir.types import FLOATING, NAMES, TRACED, Type
from . import tracing, tree
from .array import Array, value_of
from .complexes import Parts
from .errors import TraceError, message
from .refusals import leaked
from .state.contents import PLAIN
from .state.kept import VIEWS, holds_traced
from .state.remade import copier, is_lasting, remade
from .tracing import Tracing


@dataclass(frozen=True)
class LeafResult:
    """An object of a registered type, made of an array."""

    index: int
    kind: type


class Unreturned:
    """What stands for an array within a function and cannot leave it; `unreturned` says why, and what to do."""

    __slots__ = ()

    def unreturned(self) -> tuple[str, str]:
        raise NotImplementedError


class Outputs:
    """What a function returned as specifications; the values are collected in `results`.

    Objects whose identities are in `outside` were there before it ran: they come back themselves.
    """

    def __init__(
        self, now: Tracing, signature: tree.Signature, results: list[Value], outside: Container[int] = ()
    ) -> None:
        self.now, self.results, self.outside = now, results, outside
        leaves = [n for _, n in tree.nodes(signature) if n[0] != "static"]
        floats = [n for n in leaves if tree.dtype_of(n) in FLOATING]
        self.kind = next((n[1] for n in leaves if n[0] == "leaf"), None)
        self.floats = bool(floats) and all(map(_is_python, floats))
        self.numbers = bool(leaves) and all(map(_is_python, leaves))

    def spec(self, x: Any, depth: int = 0) -> Any:
        if isinstance(x, Array):
            if not tracing.encloses(x.tracing):
                raise leaked(x)
            if x.type.is_complex:
                return self._parts(Array(self.now, value_of(self.now, x)))
            return self.leaf(value_of(self.now, x))
        if type(x) is np.ndarray and x.dtype.kind == "c" and x.dtype in TRACED:
            return self._parts(Array(self.now, self.now.array(x)))
        if type(x) is np.ndarray and x.dtype in NAMES:
            return self.leaf(self.now.array(x))
        if isinstance(x, PLAIN):
            return specs.ConstantResult(x)
        if id(x) in self.outside and not holds_traced(x):
            return specs.ConstantResult(x)
        if isinstance(x, dict) and any(not isinstance(k, PLAIN) and holds_traced(k) for k in x):
            fix = "return the keys as a list beside the values"
            raise TraceError(message(f"{self.now.name!r} returned a dict with a traced key", self.now.where, fix))
        if type(x) is dict:
            keys, items = tuple(x), self._items(x.values(), depth)
            return specs.DictResult(keys, items) if all(type(k) is str for k in keys) else _odd(keys, items)
        if type(x) is list:
            return specs.ListResult(self._items(x, depth))
        if type(x) is tuple:
            return specs.TupleResult(self._items(x, depth))
        if isinstance(x, np.ndarray) or (hasattr(type(x), "__array__") and not isinstance(x, np.generic)):
            if isinstance(x, Unreturned):
                why, fix = x.unreturned()
                verdict = f"{self.now.name!r} returned what has no size: {why}"
                raise TraceError(message(verdict, self.now.where, fix))
            fix = "return NumPy arrays of bool, int32, int64, float32 or float64, or numbers"
            kind = f"an array of dtype {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
            raise TraceError(message(f"{self.now.name!r} returned {kind}", self.now.where, fix))
        made = remade(x)
        if made is not None:
            return specs.MadeResult(made.make, self._items(made.parts, depth))
        return self._constant(x)

    def _parts(self, x: Array) -> Any:
        """Complex numbers come back as what Python makes of their parts."""
        return specs.MadeResult(Parts, tuple([self.leaf(each.value) for each in x.parts]))

    def _constant(self, x: Any) -> Any:
        """What has nothing traced in it comes back as it is; an object made by the function as a copy at each call."""
        what = f"{self.now.name!r} returned a {type(x).__name__}"
        if hasattr(type(x), "__next__") or isinstance(x, VIEWS):
            fix = "return list(...) of it"
            raise TraceError(message(f"{what}, which only the first call would return full", self.now.where, fix))
        if holds_traced(dict(vars(x)) if isinstance(x, type) else x):
            fix = "return numbers and arrays in dicts, lists, tuples, dataclasses or classes known to pullback.register"
            raise TraceError(message(f"{what} with a traced value in it", self.now.where, fix))
        return specs.ConstantResult(x) if is_lasting(x) else specs.MadeResult(copier(x), ())

    def _items(self, items: Iterable[Any], depth: int) -> tuple[Any, ...]:
        if depth >= tree.MAX_DEPTH:
            verdict = f"{self.now.name!r} returned more than {tree.MAX_DEPTH} nested containers, or one within itself"
            raise TraceError(message(verdict, self.now.where, "return a flatter one"))
        return tuple([self.spec(each, depth + 1) for each in items])

    def leaf(self, value: Value) -> Any:
        self.results.append(value)
        type = value.type if self.now.sizes is None else value.type.at(self.now.sizes.numbers)
        return result_leaf(len(self.results) - 1, type, self.kind, self.floats, self.numbers)


def _is_python(node: tree.Signature) -> bool:
    return node[0] in ("float", "int") or (node[0] == "traced" and node[1])


def result_leaf(index: int, type: Type, kind: Any, floats: bool, numbers: bool) -> Any:
    """As what a result comes back: what went in decides."""
    if kind is not None:
        return LeafResult(index, kind)
    if type.shape:
        return specs.ArrayResult(index, type.dtype, type.static_shape())
    if type.dtype == "f64" and floats:
        return specs.FloatResult(index)
    if numbers and type.dtype == "i64":
        return specs.IntResult(index)
    if numbers and type.dtype == "bool":
        return specs.BoolResult(index)
    return specs.ScalarResult(index, type.dtype)


def _odd(keys: tuple[Any, ...], items: tuple[Any, ...]) -> specs.MadeResult:
    """A dict whose keys are not strings."""
    return specs.MadeResult(lambda *values: dict(zip(keys, values, strict=True)), items)


def items_of(result: Any) -> tuple[Any, ...] | None:
    """The parts of a container of results; None for a leaf."""
    return getattr(result, "items", None)


def map_result(result: Any, change: Callable[[Any], Any]) -> Any:
    """The same containers with every leaf changed."""
    items = items_of(result)
    if items is None:
        return change(result)
    made = tuple([map_result(each, change) for each in items])
    if isinstance(result, specs.DictResult):
        return specs.DictResult(result.keys, made)
    if isinstance(result, specs.MadeResult):
        return specs.MadeResult(result.make, made)
    return type(result)(made)


def assemble(result: Any, leaf: Callable[[Any], Any]) -> Any:
    """The Python value that a result stands for, its leaves made by `leaf`."""
    if isinstance(result, specs.ConstantResult):
        return result.value
    items = items_of(result)
    if items is None:
        return leaf(result)
    made = [assemble(each, leaf) for each in items]
    if isinstance(result, specs.DictResult):
        return dict(zip(result.keys, made, strict=True))
    if isinstance(result, specs.MadeResult):
        return result.make(*made)
    return made if isinstance(result, specs.ListResult) else tuple(made)


def from_arrays(result: Any, arrays: Sequence[np.ndarray]) -> Any:
    """The Python value of a result whose arrays have been computed."""

    def leaf(spec: Any) -> Any:
        array = arrays[spec.index]
        if isinstance(spec, specs.ArrayResult):
            return array
        if isinstance(spec, LeafResult):
            return tree.MADE_OF[spec.kind][1](array)
        return array[()] if isinstance(spec, specs.ScalarResult) else array.item()

    return assemble(result, leaf)


def from_values(result: Any, now: Tracing, values: Sequence[Value]) -> Any:
    """The same inside a trace: Python numbers are weak."""
    weak = (specs.FloatResult, specs.IntResult)
    return assemble(result, lambda spec: Array(now, values[spec.index], isinstance(spec, weak)))


__all__ = [
    "LeafResult", "Outputs", "Unreturned", "assemble", "from_arrays", "from_values", "items_of", "map_result",
    "result_leaf",
]
