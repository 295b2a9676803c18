"""Walking graphs: a graph goes in, and another one comes out of what a visit makes of each operation; or its values.

A graph is a list of operations in running order, closed over its parameters. Nothing in it changes: a pass reads a
graph and builds another.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from .primitive import Builder, Graph, Op, Primitive, Value, Where
from .types import Size, Type


def primitives(graph: Graph) -> set[Primitive]:
    """What the operations of a graph are, those in regions aside."""
    return {op.prim for op in graph.body}


def extents(graph: Graph) -> set[Any]:
    """The dimensions of a graph's values, those in regions among them."""
    found = {d for p in graph.params for d in p.type.shape}
    found.update([d for op in graph.body for r in op.results for d in r.type.shape])
    for op in graph.body:
        found.update(*map(extents, op.regions))
    return found


def dtypes(graph: Graph) -> set[str]:
    """The dtypes of a graph's values, those in regions among them; results alone are among none."""
    found = {p.type.dtype for p in graph.params}
    found.update([r.type.dtype for op in graph.body for r in op.results])
    for op in graph.body:
        if op.regions:
            found.update(*map(dtypes, op.regions))
    return found


Visit = Callable[[Builder, Op, tuple[Value, ...]], "Sequence[Value] | None"]


class Renamed(dict[Value, Value]):
    """What values became; those that are not in it stayed themselves."""

    __slots__ = ()

    def __missing__(self, value: Value) -> Value:
        return value


def replay(
    graph: Graph, b: Builder, args: Iterable[Value], visit: Visit | None = None, share: bool = True,
    only: Container[Primitive] | None = None,
) -> Renamed:
    """Copy `graph` into `b` on other arguments, letting `visit(b, op, args)` replace any operation.

    Returns what each value of `graph` became.  An operation whose arguments stay themselves is shared, and one on
    other arguments defines the same values, so that what reads them can be shared too; unless the graph may be
    copied into `b` a second time, where it would define its results twice. With `only`, operations are visited that
    are one of these or have regions.
    """
    env = Renamed((p, a) for p, a in zip(graph.params, args, strict=True) if p is not a)
    if visit is None and not share:
        return _copied(graph, b, env)
    outer, append, get = b.where, b.body.append, env.get
    for op in graph.body:
        new = old = op.args
        if env:
            new = tuple([get(a, a) for a in old])
        out = None
        if visit is not None and (only is None or op.prim in only or op.regions):
            b.where = op.where or outer
            out = visit(b, op, new)
        if out is not None:
            if out is not op.results:
                env.update([(r, o) for r, o in zip(op.results, out, strict=True) if r is not o])
        elif share:
            append(op if new == old else Op(op.prim, new, op.attrs, op.regions, op.results, op.where or outer))
        else:
            results = tuple([Value(r.type, r.hint) for r in op.results])
            append(Op(op.prim, new, op.attrs, op.regions, results, op.where or outer))
            env.update(zip(op.results, results, strict=True))
    b.where = outer
    return env


def _copied(graph: Graph, b: Builder, env: Renamed) -> Renamed:
    """The operations of `graph` once more, with results of their own."""
    outer, append, get = b.where, b.body.append, env.get
    for op in graph.body:
        old = op.results
        if len(old) == 1:
            result = env[old[0]] = Value(old[0].type, old[0].hint)
            results: tuple[Value, ...] = (result,)
        else:
            results = tuple([Value(r.type, r.hint) for r in old])
            env.update(zip(old, results, strict=True))
        append(Op(op.prim, tuple([get(a, a) for a in op.args]), op.attrs, op.regions, results, op.where or outer))
    return env


def rewrite(graph: Graph, visit: Visit, only: Container[Primitive] | None = None) -> Graph:
    """The graph that `replay` makes of `graph` on its own parameters: itself where nothing is replaced."""
    b = Builder(graph.name)
    b.params = graph.params
    env = replay(graph, b, graph.params, visit, only=only)
    if not env and len(b.body) == len(graph.body) and all(map(is_, b.body, graph.body)):
        return graph
    return b.finish([env[r] for r in graph.results])


def inline(graph: Graph, b: Builder, args: Iterable[Value]) -> list[Value]:
    """Copy the operations of `graph` into `b` and return its results there."""
    env = replay(graph, b, args, share=False)
    return [env[r] for r in graph.results]


def moved(graph: Graph, b: Builder, args: Iterable[Value]) -> list[Value]:
    """Put the operations of a graph that nobody needs any more into `b`, and return its results there."""
    env, where = {p: a for p, a in zip(graph.params, args, strict=True) if p is not a}, b.where
    append, reads, get = b.body.append, env.keys(), env.get
    for op in graph.body:
        if op.where is None or not reads.isdisjoint(op.args):
            given = tuple([get(a, a) for a in op.args])
            op = Op(op.prim, given, op.attrs, op.regions, op.results, op.where or where)
        append(op)
    return [get(r, r) for r in graph.results]


def evaluate(graph: Graph, args: Sequence[Any]) -> list[np.ndarray]:
    """Run a graph by its primitives' NumPy meanings: the reference for everything else."""
    if len(args) != len(graph.params):
        raise TypeError(f"@{graph.name} takes {len(graph.params)} arguments, got {len(args)}")
    env: dict[Value, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for k, (p, a) in enumerate(zip(graph.params, args, strict=True)):
        if p.type.is_tape:
            env[p] = a
            continue
        a = np.asarray(a)
        if a.dtype != p.type.numpy or not _fits(p.type.shape, a.shape, sizes):
            name = p.hint or f"number {k}"
            raise TypeError(f"@{graph.name}: argument {name} is {a.dtype}{list(a.shape)}, not {p.type}")
        env[p] = a
    _check_sums(graph, args, sizes)
    with np.errstate(all="ignore"):
        for op in graph.body:
            attrs = sized(op.attrs, sizes) if sizes else op.attrs
            out = op.prim.evaluate([env[a] for a in op.args], attrs, op.regions)
            for r, o in zip(op.results, out, strict=True):
                env[r] = o if r.type.is_tape else np.asarray(o, r.type.numpy)
    return [env[r] for r in graph.results]


def _fits(shape: tuple[Any, ...], actual: tuple[int, ...], sizes: dict[str, int]) -> bool:
    """Whether `actual` is an instance of `shape`; learns the sizes that stand alone in it."""
    if len(shape) != len(actual):
        return False
    for d, n in zip(shape, actual, strict=True):
        if isinstance(d, Size) and len(d.terms) == 1 and len(d.terms[0][0]) == 1:
            (((name,), factor),) = d.terms
            if factor == 1 and sizes.setdefault(name, n) != n:
                return False
        elif isinstance(d, int) and d != n:
            return False
    return True


def _check_sums(graph: Graph, args: Sequence[Any], sizes: Mapping[str, int]) -> None:
    """Sizes such as n+1 must be what the named ones make them."""
    for p, a in zip(graph.params, args, strict=True) if sizes else ():
        if p.type.at(sizes).shape != np.shape(a):
            raise TypeError(f"@{graph.name}: argument {p.hint} is {list(np.shape(a))}, not {p.type} at {dict(sizes)}")


def sized(attrs: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """The attributes with every named size replaced by its number."""

    def at(x: Any) -> Any:
        if isinstance(x, Size):
            return x.at(sizes)
        if isinstance(x, tuple):
            return tuple(map(at, x))
        return x.at(sizes) if isinstance(x, Type) else x

    return {k: at(v) for k, v in attrs.items()}


__all__ = [
    "Builder", "Graph", "Op", "Renamed", "Value", "Visit", "Where", "dtypes", "evaluate", "extents", "inline",
    "moved", "primitives", "replay", "rewrite", "sized",
]
