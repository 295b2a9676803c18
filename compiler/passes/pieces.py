"""A slice of what was put together of parts goes in, and a slice of the one part that it lies in comes out.

    slice(concatenate(x, y))        a slice of x, where it ends before y begins
    slice(pad(x))                   a slice of x, or zeros where no element of x is
    concatenate(slices of x)        x, where they are all of it in order (`of_slices`)

So what is not read of several results is not made, and is not differentiated: the columns of a factor that complete a
basis, where only the first are used; the other rows of a stacked state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from ..ir.graph import Builder, Graph, Op, Value, rewrite
from ..ops.packs import pack
from ..ops.shape import concatenate, pad, slice_
from ..ops.source import number
from .cleanup import dead
from .packing import unpacked


def pieces(graph: Graph) -> Graph:
    """The graph with slices of concatenations as slices of their parts, and without what nobody reads then.

    It runs before functions of libraries become calls that may fail. Loops and branches are left alone.
    """
    packed = {op.results[0] for op in graph.body if op.prim is pack}
    if packed and any(op.prim is slice_ and op.args[0] in packed for op in graph.body):
        graph = unpacked(graph)
    if not any(op.prim is concatenate for op in graph.body):
        return graph
    made: dict[Value, Op] = {}

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> tuple[Value] | None:
        if op.prim is slice_ and (found := of_part(b, op, args, made)) is not None:
            return (found,)
        if op.prim is concatenate:
            made[op.results[0]] = op if args == op.args else Op(op.prim, args, op.attrs, (), op.results, op.where)
        return None

    return dead(rewrite(graph, visit))


def of_part(b: Builder, op: Op, args: tuple[Value, ...], made: Mapping[Value, Op]) -> Value | None:
    """What a slice is of the one part it lies in; None if it is of several."""
    source = made.get(args[0])
    if source is None or source.prim not in (concatenate, pad):
        return None
    return _joined(b, op, source) if source.prim is concatenate else _padded(b, op, source)


def _span(op: Op, axis: int) -> tuple[int, int] | None:
    """The first element that a slice takes along an axis, and the one after the last; None where sizes are names."""
    start, step, count = (op.attrs[name][axis] for name in ("start", "step", "shape"))
    if not (isinstance(start, int) and isinstance(step, int) and isinstance(count, int)) or not count:
        return None
    last = start + (count - 1) * step
    return min(start, last), max(start, last) + 1


def _joined(b: Builder, op: Op, source: Op) -> Value | None:
    axis = source.attrs["axis"]
    span = _span(op, axis)
    if span is None:
        return None
    begins = _begins.get(source)
    if begins is None:
        begins = _begins[source] = _found(source, axis)
    k = bisect_right(begins, span[0]) - 1
    if k + 1 >= len(begins) or span[1] > begins[k + 1]:  # of several parts, or behind one whose size has a name
        return None
    return _sliced(b, op, source.args[k], {axis: begins[k]})


_begins: WeakKeyDictionary[Op, list[int]] = WeakKeyDictionary()
"""Of concatenations: where each part begins, and where the last ends, up to the first part whose size has a name."""


def _found(source: Op, axis: int) -> list[int]:
    begins = [0]
    for part in source.args:
        size = part.type.shape[axis]
        if not isinstance(size, int):
            break
        begins.append(begins[-1] + size)
    return begins


def of_slices(b: Builder, op: Op, args: tuple[Value, ...], made: Mapping[Value, Op]) -> Value | None:
    """The value whose slices, from the first on, are put together again; None if anything else is."""
    axis, at = op.attrs["axis"], 0
    first = made.get(args[0])
    if first is None or first.prim is not slice_ or first.args[0].type != op.results[0].type:
        return None
    for arg in args:
        cut = made.get(arg)
        if cut is None or cut.prim is not slice_ or cut.args != first.args or any(s != 1 for s in cut.attrs["step"]):
            return None
        if any(start != (at if k == axis else 0) for k, start in enumerate(cut.attrs["start"])):
            return None
        at += cut.attrs["shape"][axis]
    return first.args[0]


def _padded(b: Builder, op: Op, source: Op) -> Value | None:
    (inner,), moved = source.args, {}
    for axis, size in enumerate(inner.type.shape):
        start, step, span = source.attrs["start"][axis], source.attrs["step"][axis], _span(op, axis)
        if size == source.attrs["shape"][axis] and (start, step) == (0, 1):
            continue
        if span is None or not isinstance(start, int) or not isinstance(size, int) or step < 1:
            return None
        if span[1] <= start or span[0] > start + (size - 1) * step:
            return number(b, 0, op.results[0].type)
        if step > 1 or span[0] < start or span[1] > start + size:
            return None
        moved[axis] = start
    return _sliced(b, op, inner, moved)


def _sliced(b: Builder, op: Op, part: Value, moved: Mapping[int, int]) -> Value:
    """The slice, of a part that begins at these places."""
    start = tuple([s - moved.get(axis, 0) for axis, s in enumerate(op.attrs["start"])])
    if part.type == op.results[0].type and all(s == 1 for s in op.attrs["step"]):
        return part
    return slice_(b, part, start=start, step=op.attrs["step"], shape=op.attrs["shape"])


__all__ = ["of_part", "of_slices", "pieces"]
