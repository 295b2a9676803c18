"""Arrays that a function meets beside its arguments, for a module: a graph that takes them goes in, one that makes the
regular ones comes out.

    made_inside(graph, arrays)   the graph without those parameters, and the arrays that it still takes
    with_arrays(graph, own, all) the graph with parameters for all of them
    as_reached(graph)            its operations in an order that depends on nothing but what they compute

In a trace with open sizes `np.arange(n)` is an operation; where n is a number it is an array of NumPy's that the trace
takes as one more input. So that both can be the same graph, arrays whose elements are all equal or go up in equal steps
become operations. That freezes what is in them, which a module does with every array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...compiler.ir.graph import Builder, Graph, Op, Value, replay
from ...compiler.ir.primitive import Effect
from ...compiler.ir.types import Type, type_of
from ...compiler.ops.elementwise import add, cast, mul
from ...compiler.ops.shape import reshape
from ...compiler.ops.source import iota, number


def made_inside(graph: Graph, arrays: Sequence[np.ndarray]) -> tuple[Graph, tuple[np.ndarray, ...]]:
    """The last parameters of the graph stand for `arrays`."""
    b, args, kept = Builder(graph.name), list[Value](), list[np.ndarray]()
    first = len(graph.params) - len(arrays)
    b.extend(graph.params[:first])
    args += graph.params[:first]
    for given, param in zip(arrays, graph.params[first:], strict=True):
        made = _made(b, given, param.type)
        if made is not None:
            args.append(made)
        else:
            b.extend([param])
            args.append(param)
            kept.append(given)
    if len(kept) == len(arrays):
        return graph, tuple(kept)
    env = replay(graph, b, args)
    return b.finish([env[r] for r in graph.results]), tuple(kept)


def with_arrays(graph: Graph, own: Sequence[np.ndarray], all: Sequence[np.ndarray]) -> Graph:
    """The graph, whose last parameters stand for `own`, with a parameter for each one of `all`."""
    first = len(graph.params) - len(own)
    taken = {content(each): param for each, param in zip(own, graph.params[first:], strict=True)}
    b = Builder(graph.name)
    b.extend(graph.params[:first])
    b.extend([taken.get(content(each)) or Value(type_of(each)) for each in all])
    b.body.extend(graph.body)
    return b.finish(graph.results)


def content(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    """What equal arrays share, and no others."""
    return array.dtype.str, array.shape, array.tobytes()


def _made(b: Builder, array: np.ndarray, type: Type) -> Value | None:
    """The array by operations; None if its elements follow no rule."""
    flat = array.ravel()
    first = flat[0].item() if flat.size else 0
    places = type.dtype == "i64" and type.rank == 1 and not first
    equal = np.full_like(flat, first).tobytes() == flat.tobytes()
    if equal and (flat.size > 1 or not places):
        return number(b, first, type)
    if flat.dtype.kind == "b" or flat.size not in array.shape:
        return None
    step = 1
    if flat.size > 1:
        with np.errstate(all="ignore"):  # steps may overflow: then they are not equal
            step = np.diff(flat[:2])[0].item()
            line = np.arange(flat.size).astype(flat.dtype) * flat.dtype.type(step) + flat[:1]
        if line.tobytes() != flat.tobytes():
            return None
    (made,) = b.emit(iota, type=Type("i64", (flat.size,)), axis=0)
    kind = Type(type.dtype, (flat.size,))
    if kind.dtype != "i64":
        (made,) = b.emit(cast, made, dtype=kind.dtype)
    if step != 1:
        (made,) = b.emit(mul, made, number(b, step, kind))
    if first != 0:
        (made,) = b.emit(add, made, number(b, first, kind))
    return made if type.rank == 1 else b.emit(reshape, made, shape=type.shape)[0]


def as_reached(graph: Graph) -> Graph:
    """The graph with each operation where it is first needed, by one with an effect or by a result."""
    b, made = Builder(graph.name), {r: op for op in graph.body for r in op.results}
    b.params = graph.params
    done = set[Op]()
    first = [op for op in graph.body if op.effect is not Effect.PURE]
    needed = [(op, False) for op in reversed([*first, *map(made.get, graph.results)])]
    while needed:
        op, ready = needed.pop()
        if op is None or op in done:
            continue
        if ready:
            done.add(op)
            b.append(op)
        else:
            needed.append((op, True))
            needed.extend((made.get(a), False) for a in reversed(op.args))
    return b.finish(graph.results)


__all__ = ["as_reached", "content", "made_inside", "with_arrays"]
