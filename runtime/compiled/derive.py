"""Transforms as plans: from the trace of a function to the graph and the result of its transform."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.frontend import tree
from ...compiler.frontend.complexes import Parts
from ...compiler.frontend.errors import message
from ...compiler.frontend.results import LeafResult, items_of, map_result
from ...compiler.frontend.static_keys import is_still, static_value
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Builder, Graph, Where, inline
from ...compiler.ir.types import FLOATING, Type
from ...compiler.ops.elementwise import neg
from ...compiler.ops.source import number
from ...compiler.passes import dead, value_and_grad
from ..limits import limit
from .chosen import Argnums, places_in
from .function import Function
from .variants import refuse_unseen


class NotScalar(TypeError):
    """A function has no gradient because it returns something else than one float."""


@dataclass(frozen=True)
class Jit:
    """The function itself, compiled; it `opens` what it is about: see `chosen`."""

    name: str = "jit"
    max_memory: int | None = None
    opens: Any = None

    def derive(self, traced: Trace, owner: Function) -> tuple[Graph, Any]:
        return traced.graph, traced.result


@dataclass(frozen=True)
class Gradient:
    """The gradient for the arguments numbered `argnums`, with or without the value, that keeps `max_memory` bytes."""

    name: str
    argnums: Argnums
    has_aux: bool
    with_value: bool
    max_memory: int | None = None
    holomorphic: bool = False

    @property
    def opens(self) -> Argnums:
        return self.argnums

    def derive(self, traced: Trace, owner: Function) -> tuple[Graph, Any]:
        nodes, wrt = [], []
        for place in places_in(traced.signature, owner, self.argnums):
            nodes.append(self._checked(owner, *place))
            wrt += place.leaves
        graph, value, aux = _value_first(traced, owner, self.has_aux, self.holomorphic)
        index = iter(range(len(graph.results), len(graph.results) + len(wrt)))
        grads = [like(node, index) for node in nodes]
        if traced.frozen:
            refuse_unseen(graph, wrt, traced.frozen)
        joint = value_and_grad(graph, wrt, self.max_memory or limit())
        if self.holomorphic:
            joint = _conjugated(joint, nodes, len(graph.results))
        made = specs.TupleResult(tuple(grads)) if isinstance(self.argnums, tuple) else grads[0]
        if self.with_value:
            head = specs.TupleResult((value, aux)) if self.has_aux else value
            result: Any = specs.TupleResult((head, made))
        else:
            result = specs.TupleResult((made, aux)) if self.has_aux else made
        return _selected(joint, result)

    def differentiated(self, traced: Trace, owner: Function) -> Sequence[int] | None:
        """The parameters whose slopes are all that is returned beside the value."""
        if self.has_aux or self.holomorphic:
            return None
        return [leaf for place in places_in(traced.signature, owner, self.argnums) for leaf in place.leaves]

    def _checked(self, owner: Function, name: str, node: tree.Signature, _: range) -> tree.Signature:
        """The argument, if all its leaves that are no static ones are floats, or complex where that is asked for."""
        if self.holomorphic and None in _imaginary(node):
            verdict = f"{self.name} of {owner.__name__} with holomorphic=True: argument {name} has real numbers"
            raise TypeError(f"{verdict}: pass z + 0j, or leave holomorphic out")
        if (unknown := tree.unregistered(node, name)) is not None:
            path, said, fix = unknown
            raise TypeError(f"{self.name} of {owner.__name__} needs floats; argument {path} is {said}: {fix}")
        leaves = list(tree.nodes(node, name))
        if (table := next((each for each in leaves if tree.is_table_node(each[1])), None)) is not None:
            path, said = table[0], tree.spelled(table[1])
            raise TypeError(
                f"{self.name} of {owner.__name__} needs floats; argument {path} is {said}: pass np.asarray(...) of it"
            )
        if all(n[0] == "static" for _, n in leaves):
            path, said = (leaves[0][0], tree.spelled(leaves[0][1])) if leaves else (name, "empty")
            raise TypeError(f"{self.name} of {owner.__name__} needs floats; argument {path} is {said}: pass floats")
        for path, n in leaves:
            if n[0] != "static" and tree.dtype_of(n) not in FLOATING:
                way = "pass float(...)" if n[0] == "int" else f"pass {path}.astype(float)"
                raise TypeError(
                    f"{self.name} of {owner.__name__} needs floats; argument {path} is {tree.spelled(n)}: {way}"
                )
        return node


def _imaginary(node: tree.Signature) -> list[bool | None]:
    """For each traced leaf whether it is an imaginary part; None for one that is of no complex number."""
    if node[0] == "named" and node[1] is Parts:
        return [False, True]
    if node[0] in tree.CONTAINERS:
        return [each for inner in node[-1] for each in _imaginary(inner)]
    return [] if node[0] == "static" else [None]


def _conjugated(joint: Graph, nodes: Sequence[tree.Signature], first: int) -> Graph:
    """The graph whose results from `first` on, gradients of a real part, are the derivatives of a holomorphic function.

    With f = u + iv, the gradient of u is u_x + i u_y, and f' is u_x - i u_y, as u_y = -v_x (Cauchy and Riemann).
    """
    b = Builder(joint.name, [p.type for p in joint.params], [p.hint for p in joint.params])
    results = inline(joint, b, b.params)
    for k, turned in enumerate([each for node in nodes for each in _imaginary(node)]):
        if turned:
            results[first + k] = neg(b, results[first + k])
    return b.finish(results)


def like(node: tree.Signature, index: Any) -> Any:
    """A result of an argument's structure, dtype and kind, whose leaves have the numbers that `index` gives."""
    kind = node[0]
    if kind == "dict" and all(type(k) is str for k in node[1]):
        return specs.DictResult(node[1], tuple([like(n, index) for n in node[2]]))
    if kind == "dict":
        keys = node[1]
        made = tuple([like(n, index) for n in node[2]])
        return specs.MadeResult(lambda *values: dict(zip(keys, values, strict=True)), made)
    if kind in ("list", "tuple"):
        make = specs.ListResult if kind == "list" else specs.TupleResult
        return make(tuple([like(n, index) for n in node[1]]))
    if kind == "named":
        return specs.MadeResult(node[1], tuple([like(n, index) for n in node[2]]))
    if kind == "static":
        return specs.ConstantResult(None if is_still(node[1]) else static_value(node[1]))
    k = next(index)
    if kind == "float" or (kind == "traced" and node[1]):
        return specs.FloatResult(k)
    if kind == "leaf":
        return LeafResult(k, node[1])
    if kind == "scalar":
        return specs.ScalarResult(k, node[1])
    shape = tuple([n if isinstance(n, int) else 0 for n in tree.shape_of(node)])  # names: the enclosing trace knows
    return specs.ArrayResult(k, tree.dtype_of(node), shape)


def _value_first(
    traced: Trace, owner: Function, has_aux: bool, holomorphic: bool = False
) -> tuple[Graph, Any, Any]:
    """The graph with the value, or its real part, as its first result; the specifications of the value and the rest."""
    value, aux, graph = traced.result, None, traced.graph
    name, where = owner.__name__, owner_line(owner)
    if has_aux:
        items = items_of(value)
        if not isinstance(value, specs.TupleResult) or items is None or len(items) != 2:
            raise TypeError(message(f"{name} must return (value, aux) because of has_aux=True", where))
        value, aux = items
    if isinstance(value, specs.ConstantResult) and isinstance(value.value, (int, float, np.number)):
        return _constant_first(graph, float(value.value), aux)
    index = getattr(value, "index", None)
    if holomorphic:
        if not (isinstance(value, specs.MadeResult) and value.make is Parts):
            said = "a real number" if index is not None else "several values"
            fix = "leave holomorphic out"
            raise NotScalar(message(f"holomorphic=True needs a complex scalar; {name} returned {said}", where, fix))
        real: Any = value.items[0]
        index = real.index
    if index is None:
        if isinstance(value, specs.MadeResult) and value.make is Parts:
            fix = "take np.real(z), np.imag(z) or np.abs(z); holomorphic=True gives the derivative of a holomorphic f"
            raise NotScalar(message(f"a gradient needs a float scalar; {name} returned complex numbers", where, fix))
        what = "several values" if items_of(value) else repr(getattr(value, "value", value))
        fix = "return one float; with further results use has_aux=True"
        raise NotScalar(message(f"a gradient needs a float scalar; {name} returned {what}", where, fix))
    t = graph.results[index].type
    if t.shape or not t.is_float:
        fix = "reduce it, for example with np.sum; or use vjp" if t.shape else "return a float: y.astype(float)"
        said = f"an array of {t.numpy}, shape {t.shape}" if t.shape else f"a scalar of {t.numpy}"
        verdict = f"a gradient needs a float scalar; {name} returned {said}"
        raise NotScalar(message(verdict, _line_of(graph, index) or where, fix))
    return graph, value, aux


def _constant_first(graph: Graph, value: float, aux: Any) -> tuple[Graph, Any, Any]:
    """A function whose value is a number that depends on nothing."""
    b = Builder(graph.name, [p.type for p in graph.params], [p.hint for p in graph.params])
    results = inline(graph, b, b.params)
    made = b.finish([number(b, value, Type("f64")), *results])
    moved = aux and map_result(aux, lambda leaf: _renumbered(leaf, lambda k: k + 1))
    return made, specs.FloatResult(0), moved


def _line_of(graph: Graph, index: int) -> Where | None:
    value = graph.results[index]
    return next((op.where for op in graph.body if value in op.results), None)


def owner_line(owner: Function) -> Where | None:
    """Where the function under a transform is defined."""
    code = getattr(owner.__wrapped__, "__code__", None)
    return code and Where(code.co_filename, code.co_firstlineno)


def _renumbered(leaf: Any, change: Any) -> Any:
    if isinstance(leaf, specs.ConstantResult):
        return leaf
    fields = {k: getattr(leaf, k) for k in leaf.__dataclass_fields__}
    return type(leaf)(**{**fields, "index": change(fields["index"])})


def _indices(result: Any) -> list[int]:
    items = items_of(result)
    if items is not None:
        return [k for each in items for k in _indices(each)]
    return [] if isinstance(result, specs.ConstantResult) else [result.index]


def _selected(graph: Graph, result: Any) -> tuple[Graph, Any]:
    """Only the results that are asked for, numbered anew."""
    used: Sequence[int] = sorted(set(_indices(result)))
    place = {k: n for n, k in enumerate(used)}
    kept = dead(Graph(graph.name, graph.params, graph.body, tuple([graph.results[k] for k in used])))
    return kept, map_result(result, lambda leaf: _renumbered(leaf, place.__getitem__))


@functools.lru_cache(maxsize=256)
def value_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that returns (value, aux), the one that returns the value."""
    name = getattr(function, "__name__", type(function).__name__)

    @functools.wraps(function, updated=())
    def value(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if not (isinstance(made, tuple) and len(made) == 2):
            raise TypeError(f"{name} must return (value, aux) because of has_aux=True")
        return made[0]

    value.__name__ = name
    return value


# ---- trees of numbers


def inner(x: Any, y: Any) -> Any:
    """The sum of products of all elements of two like trees."""
    ours, theirs = [], []
    here, there = tree.flatten(tree.opened(x), ours), tree.flatten(tree.opened(y), theirs)
    if _shape(here) != _shape(there):
        raise TypeError(_unlike(_parts(here), _parts(there)))
    terms = [np.vdot(a, b) if np.ndim(a) else a * b for a, b in zip(ours, theirs, strict=True)]
    return functools.reduce(lambda a, b: a + b, terms)


def _shape(node: tree.Signature) -> Any:
    """The structure and sizes of a tree, without its dtypes and what is static in it."""
    if node[0] in ("list", "tuple"):
        return (node[0], *map(_shape, node[1]))
    if node[0] in ("dict", "named"):
        return (node[0], node[1], *map(_shape, node[2]))
    return "static" if node[0] == "static" else tree.shape_of(node)


def _parts(node: tree.Signature) -> dict[str, Any]:
    """The shapes of the numbers in a tree, by their paths."""
    return {path: tree.shape_of(each) for path, each in tree.nodes(node) if each[0] != "static"}


def _unlike(wanted: dict[str, Any], given: dict[str, Any]) -> str:
    """Where a vector differs from what it is multiplied with."""
    for path in [*wanted, *given]:
        if wanted.get(path) != given.get(path):
            got = f"has shape {given[path]}" if path in given else "has nothing"
            place = f" at {path}" if path else ""
            want = f"an array of shape {wanted[path]}" if path in wanted else "nothing"
            return f"the vector {got}{place}, where {want} is expected: pass one of the same structure and sizes"
    return "the vector has containers of other kinds than what it is multiplied with: pass one of the same structure"


def has_floats(x: Any) -> bool:
    """Whether all numbers in a tree that is differentiated are floats, and there is one."""
    nodes = [n for _, n in tree.nodes(tree.flatten(tree.opened(x), [])) if n[0] != "static"]
    return bool(nodes) and all(tree.dtype_of(n) in FLOATING for n in nodes)


__all__ = ["Gradient", "Jit", "NotScalar", "has_floats", "inner", "like", "owner_line", "value_of"]
