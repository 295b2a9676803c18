"""Tracing: one run of a Python function on stand-ins gives its graph.

    trace(loss, signature) -> Trace(graph, result, extras)

The graph's parameters are the traced leaves of the arguments, in order, then the extras: arrays met beside them, and
values of enclosing traces. The result's leaves say which of the graph's results they are, and as what they come back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..backend.entries import specs
from ..ir.graph import Graph, Value, Where
from ..ir.types import NAMES, Dim, Type
from ..ops.require import Warned, untold
from . import tracing, tree
from .array import Array, leaked, value_of
from .athand import Execute, Frozen, at_hand
from .capture import needs_walk, walk
from .errors import NeedsValues, TooManyOperations, TraceError, message
from .frozen import check_unchanged, no_draws, unless_drawn
from .patches import patched
from .replaced import replaced
from .sizes import FrozenSize, Sizes, freeze_all
from .tracing import Tracing, running

SHORT = 300
"""The most operations of a function with named sizes that loops."""


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
    frozen     what it was made for: numbers that decided how it ran
    notes      what is worth telling of how it was traced
    """

    graph: Graph
    signature: tree.Signature
    result: Any
    extras: tuple[Any, ...]
    frozen: tuple[Frozen, ...] = ()
    notes: tuple[str, ...] = ()

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
    values: tuple[Sequence[Any], Execute] | None = None,
) -> Trace:
    """Run `function` on stand-ins; `signature` is that of (arguments ..., keywords) called `names`.

    `generators` are sources of random numbers that it may draw from, which is refused. `sizes` are those that are
    known by name in `shapes`, the shapes of the traced leaves; the signature and the result have numbers all the same.
    `values` are the leaves of one call, and what runs an operation on them: they are asked where the function needs a
    number, and the trace is for that.
    """
    given = Given(function, signature, names, name, where, generators, sizes, shapes)
    if not needs_walk(function):
        return _traced(given, run, values)
    if sizes is not None:
        return _with_sizes(given)
    try:
        return _traced(given, walk, None)
    except NeedsValues as refusal:
        made = _on_values(given, values, refusal)
        why = str(refusal).partition("\n")[0]
        return replace(made, notes=(f"traced on the values of the call: {why}", *made.notes))


def _on_values(given: Given, values: tuple[Sequence[Any], Execute] | None, refusal: NeedsValues) -> Trace:
    """What has no regions is walked with the values of the call; what cannot be walked at all is run."""
    errors: list[TraceError] = [refusal]
    for runs in (walk, run) if values is not None else (run,):
        try:
            return _traced(given, runs, values)
        except TooManyOperations:
            raise
        except TraceError as another:
            errors.append(another)
    raise errors[values is not None and not isinstance(errors[1], NeedsValues)] from errors[-1]


class Given(NamedTuple):
    """What `trace` is given, but for the values of the call."""

    function: Callable[..., Any]
    signature: tree.Signature
    names: Sequence[str]
    name: str
    where: Where | None
    generators: Sequence[Any]
    sizes: Sizes | None
    shapes: Sequence[tuple[Dim, ...]] | None


def _with_sizes(given: Given) -> Trace:
    """Sizes keep their names in short functions that no traced value decides in; loops count with numbers."""
    assert given.sizes is not None
    try:
        return _traced(given, _shortly, None)
    except FrozenSize:
        raise
    except TraceError as error:
        freeze_all(given.sizes, str(error).partition("\n")[0])


def _shortly(now: Tracing, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the function if that takes no more operations than a loop may have when it is unrolled."""
    now.most = SHORT
    return run(now, function, args, kwargs)


@unless_drawn
def _traced(given: Given, runs: Callable[..., Any], values: tuple[Sequence[Any], Execute] | None) -> Trace:
    """One run, by walking the function or by calling it."""
    function, signature, names, name, where, generators, sizes, shapes = given
    outer = tracing.current()
    if sizes is not None:
        sizes.line = tracing.user_line
    now = Tracing(name, where, sizes if outer is None else outer.sizes)
    params = _params(now, signature, names, shapes)
    stand_ins = [Array(now, v, weak, bool(v.type.shape)) for v, weak in params]
    now.athand = athand = at_hand(now, outer, values)
    arguments = tree.rebuild(signature, iter(stand_ins))
    with running(now):
        names_of_sizes = nullcontext() if sizes is None else patched()
        numbers = replaced(function) if athand is not None and runs is run else nullcontext()
        with no_draws(name, where, list(generators)), names_of_sizes, numbers:
            returned = runs(now, function, arguments[:-1], dict(arguments[-1]))
        check_unchanged(name, names, signature, stand_ins, arguments, where)
        results: list[Value] = []
        result = _Outputs(now, signature, results).spec(returned)
    now.builder.where = None
    graph = now.builder.finish(results)
    extras = tuple(given for _, given in now.extras)
    now.athand = None
    apart = values is not None and not any(isinstance(each, Array) for each in (*values[0], *extras))
    return Trace(graph, signature, result, extras, athand.finish(apart) if athand else (), tuple(now.notes))


def call_function(now: Tracing, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Walk the function if it branches, loops or stores items; else run it."""
    return (walk if needs_walk(function) else run)(now, function, args, kwargs)


def run(now: Tracing, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function; where NumPy has replaced an error of ours by a vaguer one, ours is raised."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        if now.athand is not None:  # what has been emitted so far may have failed before
            now.athand.advance()
        where, refusal = now.refusal or (None, None)
        if refusal is None or isinstance(error, (TraceError, Warned)) or where != tracing.raised_at(error):
            if now.athand is not None and not isinstance(error, TraceError) and not tracing.is_own(error):
                untold(error)  # its text may have been made of stand-ins
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
