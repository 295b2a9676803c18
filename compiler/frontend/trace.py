"""Tracing: one run of a Python function on stand-ins gives its graph.

    trace(loss, signature) -> Trace(graph, result, extras)

The graph's parameters are the traced leaves of the arguments, in order, and then the extras: arrays that the function
met beside its arguments, and values of enclosing traces. The result is a tree of specifications whose leaves say
which of the graph's results they are, and as what they come back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend.entries import specs
from ..ir.graph import Graph, Value, Where
from ..ir.types import NAMES, Dim, Type
from . import tracing, tree
from .array import Array, leaked, value_of
from .errors import TraceError, message
from .frozen import check_unchanged, no_draws
from .made import measuring
from .sizes import Sizes
from .tracing import Tracing, running


@dataclass(frozen=True)
class NamedResult:
    """A namedtuple of this type."""

    make: Callable[..., Any]
    items: tuple[Any, ...]


@dataclass(frozen=True)
class LeafResult:
    """An object of a registered type, made of an array."""

    index: int
    kind: type


@dataclass(frozen=True)
class Trace:
    """A traced function.

    graph      its operations; parameters are the traced leaves of `signature`, then `extras`
    signature  of the arguments: ("tuple", (positional ..., keywords))
    result     what it returns, with numbers of the graph's results as leaves
    extras     arrays, and values of enclosing traces, that it met beside its arguments
    weak       which of the graph's results stand for Python numbers
    """

    graph: Graph
    signature: tree.Signature
    result: Any
    extras: tuple[Any, ...]

    @property
    def inputs(self) -> int:
        """How many parameters are arguments."""
        return len(self.graph.params) - len(self.extras)

    @property
    def open(self) -> bool:
        """Whether it uses values of an enclosing trace."""
        return any(isinstance(each, Array) for each in self.extras)


def trace(
    function: Callable[..., Any],
    signature: tree.Signature,
    names: Sequence[str],
    name: str,
    where: Where | None = None,
    generators: Sequence[Any] = (),
    sizes: Sizes | None = None,
    shapes: Sequence[tuple[Dim, ...]] | None = None,
) -> Trace:
    """Run `function` on stand-ins; `signature` is that of (arguments ..., keywords) called `names`.

    `generators` are sources of random numbers that it may draw from, which is refused. `sizes` are those that are
    known by name in `shapes`, the shapes of the traced leaves; the signature and the result have numbers all the same.
    """
    outer = tracing.current()
    if sizes is not None:
        sizes.line = tracing.user_line
    now = Tracing(name, where, sizes if outer is None else outer.sizes)
    params = _params(now, signature, names, shapes)
    stand_ins = [Array(now, v, weak, bool(v.type.shape)) for v, weak in params]
    given = tree.rebuild(signature, iter(stand_ins))
    with running(now):
        with no_draws(name, where, list(generators)), nullcontext() if sizes is None else measuring():
            returned = _call(now, function, given[:-1], dict(given[-1]))
        check_unchanged(name, names, signature, stand_ins, given, where)
        results: list[Value] = []
        result = _Outputs(now, signature, results).spec(returned)
    now.builder.where = None
    graph = now.builder.finish(results)
    return Trace(graph, signature, result, tuple(given for _, given in now.extras))


def _call(now: Tracing, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function; where NumPy has replaced an error of ours by a vaguer one, ours is raised."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        where, refusal = now.refusal or (None, None)
        if refusal is None or error is refusal or where != tracing.raised_at(error):
            raise
        raise refusal from None


def _params(
    now: Tracing, signature: tree.Signature, names: Sequence[str], shapes: Sequence[tuple[Dim, ...]] | None
) -> Iterator[tuple[Value, bool]]:
    """A parameter for every traced leaf, named after its path."""
    for k, (path, node) in enumerate(leaves_of(signature, names)):
        hint = re.sub(r"\W+", "_", path).strip("_")
        shape = tree.shape_of(node) if shapes is None else shapes[k]
        value = now.builder.param(Type(tree.dtype_of(node), shape), hint)
        yield value, node[0] in ("float", "int") or (node[0] == "traced" and node[1])


def leaves_of(signature: tree.Signature, names: Sequence[str]) -> list[tuple[str, tree.Signature]]:
    """The traced leaves of the arguments with their paths."""
    return [(p, n) for p, n in paths(signature, names) if n[0] != "static"]


def paths(signature: tree.Signature, names: Sequence[str]) -> Iterator[tuple[str, tree.Signature]]:
    """Every leaf of the arguments with its path, such as params['w'][0]."""
    *args, kwargs = signature[1]
    for name, each in zip(names, args, strict=False):
        yield from tree.nodes(each, name)
    for name, each in zip(kwargs[1], kwargs[2], strict=True):
        yield from tree.nodes(each, name)


class _Outputs:
    """What a function returned as specifications; the values are collected in `results`."""

    def __init__(self, now: Tracing, signature: tree.Signature, results: list[Value]) -> None:
        self.now, self.results = now, results
        leaves = [n for _, n in tree.nodes(signature) if n[0] != "static"]
        floats = [n for n in leaves if tree.dtype_of(n) in ("f32", "f64")]
        self.kind = next((n[1] for n in leaves if n[0] == "leaf"), None)
        self.floats = bool(floats) and all(map(_is_python, floats))
        self.numbers = bool(leaves) and all(map(_is_python, leaves))

    def spec(self, x: Any, depth: int = 0) -> Any:
        if isinstance(x, Array):
            if not tracing.encloses(x.tracing):
                raise leaked(x)
            return self.leaf(value_of(self.now, x))
        if type(x) is np.ndarray and x.dtype in NAMES:
            return self.leaf(self.now.array(x))
        if type(x) is dict:
            keys, items = tuple(x), self._items(x.values(), depth)
            return specs.DictResult(keys, items) if all(type(k) is str for k in keys) else _odd(keys, items)
        if type(x) is list:
            return specs.ListResult(self._items(x, depth))
        if type(x) is tuple:
            return specs.TupleResult(self._items(x, depth))
        if isinstance(x, tuple) and hasattr(type(x), "_fields"):
            return NamedResult(type(x), self._items(x, depth))
        if isinstance(x, np.ndarray) or (hasattr(x, "__array__") and not isinstance(x, np.generic)):
            fix = "return NumPy arrays of bool, int32, int64, float32 or float64, or numbers"
            kind = f"an array of dtype {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
            raise TraceError(message(f"{self.now.name!r} returned {kind}", self.now.where, fix))
        return specs.ConstantResult(x)

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


def _odd(keys: tuple[Any, ...], items: tuple[Any, ...]) -> NamedResult:
    """A dict whose keys are not strings."""
    return NamedResult(lambda *values: dict(zip(keys, values, strict=True)), items)


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
    if isinstance(result, NamedResult):
        return NamedResult(result.make, made)
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
    if isinstance(result, NamedResult):
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
