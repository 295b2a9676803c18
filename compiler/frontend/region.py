"""Python functions as regions: closed graphs, and what these need from outside.

    region = trace_region("body", [Leaf(Type("f64"), weak=True)], lambda x: (structure, [x * w]))
    region.graph      body(%0: f64[], %w: f64[3]) -> f64[3]
    region.extras     what the parameters after the first stand for: ndarrays, and values of enclosing traces

A region is traced like a function, within the one that is being traced.  Trees of what goes in and comes out are
those of `tree`, but for bools, which are numbers here: they are carried by loops and chosen between like others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..ir.containers import apart, is_record
from ..ir.graph import Builder, Graph, Value
from ..ir.types import TRACED, Type
from ..ops import elementwise
from . import tracing, tree
from .array import Array, value_of
from .errors import TraceError, TraceValueError, message
from .operators import has_complex
from .promotion import lift
from .state.kept import holds_traced
from .state.outside import Outside
from .static_keys import static_value
from .trace import call_function
from .tracing import Tracing, running, user_line
from .tree import Signature


class Leaf(NamedTuple):
    """The type of a traced leaf, and whether it stands for a Python number."""

    type: Type
    weak: bool

    def __str__(self) -> str:
        if self.weak and not self.type.shape:
            kind = "complex" if self.type.is_complex else "float" if self.type.is_float else "int"
            return f"a Python {kind}"
        return f"{self.type.numpy}{list(self.type.shape)}" if self.type.shape else f"a scalar of {self.type.numpy}"


@dataclass(frozen=True)
class Region:
    """What a Python function does, as a graph.

    graph      its parameters are the leaves that the function was handed, and then the extras
    signature  of what it returns, whose traced leaves are the results
    leaves     their types
    extras     ndarrays and values of enclosing traces
    """

    graph: Graph
    signature: Signature
    leaves: tuple[Leaf, ...]
    extras: tuple[Any, ...]


def trace_region(
    now: Tracing, name: str, given: Sequence[Leaf], function: Callable[..., Any], like: Signature | None = None
) -> Region:
    """Trace `function` on stand-ins for `given`; what it returns is a tree, whose dicts are ordered as in `like`."""
    where = user_line()
    inner = Tracing(name, where, now.sizes)
    stand_ins = [Array(inner, inner.builder.param(t), weak, bool(t.shape)) for t, weak in given]
    with running(inner):
        with Outside(name, where, function).unchanged():
            returned = call_function(inner, function, tuple(stand_ins), {})
        found: list[Any] = []
        signature = flatten(returned, found, f"the result of {name}", like)
        leaves = tuple([leaf_of(x) for x in found])
        results = [lift(inner, x) for x in found]
    graph = inner.builder.finish(results)
    return Region(graph, signature, leaves, tuple([given for _, given in inner.extras]))


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the user in the region that is being traced: one that branches or loops is captured."""
    now = tracing.current()
    return function(*args, **kwargs) if now is None else call_function(now, function, args, kwargs)


def leaf_of(x: Any) -> Leaf:
    """The type of a leaf of any kind."""
    if isinstance(x, Array):
        return Leaf(x.value.type, x.weak and x.value.type.dtype != "bool")
    weak = isinstance(x, (int, float, complex)) and not isinstance(x, (bool, np.generic))
    array = np.asarray(x)
    return Leaf(Type(TRACED[array.dtype], array.shape), weak)


def arguments(now: Tracing, regions: Sequence[Region]) -> tuple[list[Value], list[list[int]]]:
    """The extras of several regions as values, each once; and for each region the numbers of its own."""
    found: dict[Value, int] = {}
    places = []
    for region in regions:
        values = [value_of(now, x) if isinstance(x, Array) else now.array(x) for x in region.extras]
        places.append([found.setdefault(v, len(found)) for v in values])
    return list(found), places


# ---- types that are to be the same


def joined(a: Leaf, b: Leaf) -> Leaf | None:
    """The type that serves for both: Python numbers become what they meet; None if there is none."""
    if a.type.shape != b.type.shape:
        return None
    if a.type.dtype == b.type.dtype:
        return Leaf(a.type, a.weak and b.weak)
    dtype = TRACED.get(np.result_type(*(_example(each) for each in (a, b))))
    strong = [each.type.dtype for each in (a, b) if not each.weak]
    if dtype is None or any(each != dtype for each in strong):
        return None
    return Leaf(a.type.with_dtype(dtype), not strong)


def _example(leaf: Leaf) -> Any:
    dtype = leaf.type.numpy
    return {"f": 0.0, "i": 0, "c": 0j}[dtype.kind] if leaf.weak else dtype


def converted(b: Builder, value: Value, to: Leaf) -> Value:
    """The value in another dtype."""
    return value if value.type.dtype == to.type.dtype else elementwise.cast(b, value, dtype=to.type.dtype)


# ---- trees


def flatten(x: Any, leaves: list[Any], what: str, like: Signature | None = None) -> Signature:
    """The signature of a tree, whose numbers and bools are appended to `leaves`."""
    try:
        return _flatten(x, leaves, like, 0)
    except tree.BadLeaf as error:
        path = error.path if len(error.path) <= 80 else error.path[:80] + "..."
        raise TraceError(message(f"{what}{path} {error.problem}", user_line(), error.fix)) from None


def _flatten(x: Any, leaves: list[Any], like: Signature | None, depth: int) -> Signature:
    kind: Any = type(x)
    if kind is bool:
        leaves.append(np.bool_(x))
        return ("scalar", "bool")
    if kind is dict:
        keys = tuple(x)
        if like is not None and like[0] == "dict" and len(like[1]) == len(keys) and set(like[1]) == set(keys):
            keys = like[1]
        parts = [(f"[{k!r}]", x[k]) for k in keys]
        return ("dict", keys, _parts(parts, leaves, like, depth))
    if kind in (list, tuple):
        return (kind.__name__, _parts([(f"[{k}]", each) for k, each in enumerate(x)], leaves, like, depth))
    found = apart(x) if _is_tree(x) else None
    if found is not None:
        structure, held = found
        return ("named", structure, _parts(list(zip(structure.paths, held, strict=True)), leaves, like, depth))
    if has_complex((x,)):  # a single leaf here: what is carried may start as a real number
        leaves.append(x)
        return ("array", TRACED[np.asarray(x).dtype] if not isinstance(x, Array) else x.type.dtype, np.shape(x))
    made = tree.flatten(x, leaves)
    if made[0] == "static" and holds_traced(x):
        raise tree.BadLeaf(f"is a {kind.__name__} with a traced value in it", "use dicts, lists and tuples")
    return made


def _is_tree(x: Any) -> bool:
    """Whether an object is a container here: a record is one if something in it is traced."""
    return tree.is_container(x) or (is_record(x) and holds_traced(x))


def _parts(
    parts: Sequence[tuple[str, Any]], leaves: list[Any], like: Signature | None, depth: int
) -> tuple[Signature, ...]:
    if depth >= tree.MAX_DEPTH:
        raise tree.BadLeaf(f"nests more than {tree.MAX_DEPTH} containers, or contains itself", "use a flatter one")
    theirs: Any = like[-1] if like is not None and like[0] in tree.CONTAINERS else ()
    made = []
    for k, (place, each) in enumerate(parts):
        try:
            made.append(_flatten(each, leaves, theirs[k] if k < len(theirs) else None, depth + 1))
        except tree.BadLeaf as error:
            error.path = place + error.path
            raise
    return tuple(made)


def difference(a: Signature, b: Signature, path: str) -> tuple[str, str, str] | None:
    """Where two trees differ in structure, and what is there in each; None if they do not."""
    if a[0] not in tree.CONTAINERS and b[0] not in tree.CONTAINERS:
        if a[0] == "static" or b[0] == "static":
            return None if a == b else (path, _said(a), _said(b))
        return None
    if a[0] != b[0] or len(a[-1]) != len(b[-1]) or (a[0] in ("dict", "named") and a[1] != b[1]):
        return path, _said(a), _said(b)
    for place, ours, theirs in zip(_places(a), a[-1], b[-1], strict=True):
        found = difference(ours, theirs, path + place)
        if found is not None:
            return found
    return None


def _places(node: Signature) -> Iterator[str]:
    if node[0] == "dict":
        return map("[{!r}]".format, node[1])
    if node[0] == "named":
        return iter(tree.paths_of(node[1]))
    return map("[{}]".format, range(len(node[1])))


def _said(node: Signature) -> str:
    if node[0] == "static":
        return repr(static_value(node[1]))
    if node[0] == "dict":
        return f"a dict with keys {', '.join(map(repr, node[1]))}" if node[1] else "an empty dict"
    if node[0] == "named":
        return f"a {node[1].__name__}"
    return f"a {node[0]} of {len(node[1])}" if node[0] in tree.CONTAINERS else "a number or an array"


def mapped(x: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with every leaf changed."""
    if type(x) is dict:
        return {k: mapped(v, change) for k, v in x.items()}
    if type(x) in (list, tuple):
        return type(x)([mapped(each, change) for each in x])
    found = apart(x) if _is_tree(x) else None
    if found is not None:
        return found[0](*[mapped(each, change) for each in found[1]])
    return change(x)


def arrays_of(x: Any) -> list[Array]:
    """The traced arrays in a tree."""
    found: list[Array] = []
    mapped(x, lambda leaf: found.append(leaf) if isinstance(leaf, Array) else None)
    return found


def numbers(x: Any, like: Signature) -> list[Any]:
    """The traced leaves of a tree as they are; its dicts are ordered as in `like`."""
    if like[0] == "dict":
        return [leaf for k, node in zip(like[1], like[2], strict=True) for leaf in numbers(x[k], node)]
    if like[0] in tree.CONTAINERS:
        held = x if type(x) in (list, tuple) else tree.container(x)[1]
        return [leaf for each, node in zip(held, like[-1], strict=True) for leaf in numbers(each, node)]
    return [] if like[0] == "static" else [x]


def paths(signature: Signature) -> list[str]:
    """The paths of the traced leaves."""
    return [path for path, node in tree.nodes(signature) if node[0] != "static"]


def rebuild(signature: Signature, arrays: Sequence[Any]) -> Any:
    """The tree with other leaves."""
    return tree.rebuild(signature, iter(arrays))


def at(path: str) -> str:
    """A path within a sentence."""
    return f" at {path}" if path else ""


def refuse(verdict: str, fix: str, error: type[TraceError] = TraceError, /, **facts: object) -> NoReturn:
    """Raise a located error."""
    raise error(message(verdict, user_line(), fix, **facts))


def unfit(verdict: str, fix: str, /, **facts: object) -> NoReturn:
    """Raise a located error that is a ValueError: of shapes or numbers that NumPy or SciPy would not take either."""
    refuse(verdict, fix, TraceValueError, **facts)


__all__ = [
    "Leaf", "Region", "arguments", "arrays_of", "at", "call", "converted", "difference", "flatten", "joined", "leaf_of",
    "mapped", "numbers", "paths", "rebuild", "refuse", "trace_region", "unfit",
]
