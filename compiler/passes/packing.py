"""Many small parameters and results become parts of one vector of each dtype, so that kernels take and give few arrays.

    packed(graph, together(params), together(results))
    graph @f(%a: f64[], %b: f64[], ...)          becomes     graph @f(%0: f64[n])  { %a = element 0 of %0; ... }

Parts are sliced out where they are needed; what puts consecutive ones together reads the vector itself. `apart` gives
a graph of packed parameters its old ones back, for passes and plans that know parameters by their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..ir.graph import Builder, Graph, Op, Value
from ..ir.types import Type
from ..ops.memory import update
from ..ops.packs import MANY, pack, unpack
from ..ops.shape import concatenate, reshape, slice_
from ..ops.source import const, number
from .cleanup import dead, expand

SMALL = 64
"""Elements of a value up to which it is copied into the vector."""

CHOSEN = 16
"""Parts up to which they are concatenated: an element of the result is looked for among all of them."""


class PackedGroup(NamedTuple):
    """Values that lie in one vector of a dtype, by their numbers, and where each begins."""

    dtype: str
    numbers: tuple[int, ...]
    starts: tuple[int, ...]
    size: int


class PackedLayout(NamedTuple):
    """How values are put together: a vector for each group, and the values that stay by themselves after them."""

    groups: tuple[PackedGroup, ...]
    rest: tuple[int, ...]


def together(values: Sequence[Value]) -> PackedLayout:
    """Which of these values are put together."""
    found: dict[str, list[int]] = {}
    sizes: dict[Type, Any] = {}  # there are few types of many values
    for k, value in enumerate(values):
        size = sizes.get(value.type)
        if size is None:
            size = sizes[value.type] = 0 if value.type.is_tape else value.type.size
        if isinstance(size, int) and 0 < size <= SMALL:
            found.setdefault(value.type.dtype, []).append(k)
    groups = []
    for dtype, numbers in found.items():
        if len(numbers) >= MANY:
            starts, size = [], 0
            for k in numbers:
                starts.append(size)
                size += sizes[values[k].type]
            groups.append(PackedGroup(dtype, tuple(numbers), tuple(starts), size))
    within = {k for group in groups for k in group.numbers}
    return PackedLayout(tuple(groups), tuple([k for k in range(len(values)) if k not in within]))


def packed(graph: Graph, params: PackedLayout, results: PackedLayout) -> Graph:
    """The graph on packed parameters, with packed results."""
    return dead(_Packing(graph, params).finish(results))


def apart(graph: Graph, layout: PackedLayout, params: Sequence[Value]) -> Graph:
    """The graph of packed parameters on `params`; its parameters beyond the layout's follow as they are."""
    more = graph.params[len(layout.groups) + len(layout.rest) :]
    b = Builder(graph.name)
    b.params = (*params, *more)
    used = {a for op in graph.body for a in op.args} | set(graph.results)
    env = {p: params[k] for p, k in zip(graph.params[len(layout.groups) :], layout.rest, strict=False)}
    for vector, group in zip(graph.params, layout.groups, strict=False):
        if vector in used:
            env[vector] = pack(b, *[params[k] for k in group.numbers])
    for op in graph.body:
        args = tuple([env.get(a, a) for a in op.args])
        b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
    return b.finish([env.get(r, r) for r in graph.results])


def unpacked(graph: Graph) -> Graph:
    """The graph with slices, reshapes and concatenations for what is packed and unpacked."""
    return expand(graph, keep=lambda prim: prim is not pack and prim is not unpack)


def _shaped(b: Builder, value: Value, shape: Sequence[Any]) -> Value:
    return value if value.type.shape == tuple(shape) else reshape(b, value, shape=tuple(shape))


class _Run(NamedTuple):
    """Elements of a vector, from a start on; of one that is None, `size` times a number."""

    base: Value | None
    start: Any
    size: int

    def joined(self, other: _Run) -> _Run | None:
        """This and what follows it, if that is a run."""
        if self.base is not other.base:
            return None
        if self.base is None:
            same = type(self.start) is type(other.start) and repr(self.start) == repr(other.start)
        else:
            same = self.start + self.size == other.start
        return _Run(self.base, self.start, self.size + other.size) if same else None


class _Packing:
    """A graph while its parameters are put together; `runs` knows of values what they are parts of."""

    def __init__(self, graph: Graph, layout: PackedLayout) -> None:
        self.graph, self.b = graph, Builder(graph.name)
        self.env: dict[Value, Value] = {}
        self.runs: dict[Value, _Run] = {}
        self.made: dict[tuple[Value, int, int], Value] = {}
        self.flat: dict[Value, Value] = {}
        vectors = []
        for group in layout.groups:
            vectors.append(Value(Type(group.dtype, (group.size,))))
            for k, start in zip(group.numbers, group.starts, strict=True):
                param = graph.params[k]
                self.runs[param] = _Run(vectors[-1], start, math.prod(param.type.static_shape()))
        self.b.params = (*vectors, *[graph.params[k] for k in layout.rest])

    def finish(self, results: PackedLayout) -> Graph:
        """The graph, with its results put together."""
        b = self.b
        for op in self.graph.body:
            b.where = op.where
            if op.prim is unpack:
                self._unpack(op)
                continue
            run = self._run_of(op)
            if run is not None:
                self.runs[op.results[0]] = run
                continue
            if op.prim is pack:
                parts = self._parts(op.args)
                self.env[op.results[0]] = pack(b, *[self._part(part, op.results[0].type.dtype) for part in parts])
                continue
            args = tuple([self.find(a) for a in op.args])
            b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
        b.where = None
        given = self.graph.results
        joined = [self._joined([given[k] for k in group.numbers], group.dtype) for group in results.groups]
        return b.finish([*joined, *[self.find(given[k]) for k in results.rest]])

    def _run_of(self, op: Op) -> _Run | None:
        """What the result of an operation is a part of, if it only moves whole runs of elements."""
        if op.prim is reshape:
            return self.runs.get(op.args[0])
        if op.prim is const and op.attrs["value"] == op.attrs["value"]:
            size = op.results[0].type.size
            return _Run(None, op.attrs["value"], size) if isinstance(size, int) and size else None
        if op.prim is slice_ and (start := _first(op)) is not None:
            size, whole = math.prod(op.results[0].type.static_shape()), self.runs.get(op.args[0])
            if whole is None:
                return _Run(self._flat(self.find(op.args[0])), start, size)
            return _Run(whole.base, whole.start + start if whole.base else whole.start, size)
        joins = op.prim is pack or (op.prim is concatenate and _consecutive(op))
        if joins and all(a in self.runs for a in op.args):
            parts = _merged([self.runs[a] for a in op.args])
            return parts[0] if len(parts) == 1 else None
        return None

    def _unpack(self, op: Op) -> None:
        """The results of an operation that takes a vector apart are parts of it, or of what it is a part of."""
        whole, at = self.runs.get(op.args[0]) or _Run(self._flat(self.find(op.args[0])), 0, 0), 0
        for value in op.results:
            size = value.type.static_size()
            self.runs[value] = _Run(whole.base, whole.start + at if whole.base else whole.start, size)
            at += size

    def _flat(self, value: Value) -> Value:
        """A value as a vector."""
        if value not in self.flat:
            self.flat[value] = _shaped(self.b, value, (value.type.size,))
        return self.flat[value]

    def find(self, value: Value) -> Value:
        """What stands for a value; a part of a vector is sliced where it is first asked for."""
        found = self.env.get(value)
        if found is None:
            run = self.runs.get(value)
            found = value if run is None else self._sliced(run, value.type)
            if run is not None:
                self.env[value] = found
        return found

    def _sliced(self, run: _Run, type: Type) -> Value:
        if run.base is None:
            return number(self.b, run.start, type)
        key = (run.base, run.start, run.size)
        if key not in self.made:
            whole = run.base.type.shape == (run.size,)
            at = {"start": (run.start,), "step": (1,), "shape": (run.size,)}
            self.made[key] = run.base if whole else slice_(self.b, run.base, **at)
        return _shaped(self.b, self.made[key], type.shape)

    def _parts(self, values: Iterable[Value]) -> list[_Run]:
        """Values one after the other, consecutive parts of a vector as one."""
        return _merged([self.runs.get(v) or _Run(v, None, v.type.static_size()) for v in values])

    def _joined(self, values: Iterable[Value], dtype: str) -> Value:
        """Values one after the other as a vector; consecutive parts of one are one part."""
        parts = self._parts(values)
        b, total = self.b, sum(part.size for part in parts)
        if len(parts) <= CHOSEN:
            made = [self._part(part, dtype) for part in parts]
            return made[0] if len(made) == 1 else concatenate(b, *made, axis=0)
        whole, at = number(b, False if dtype == "bool" else 0, Type(dtype, (total,))), 0
        for part in parts:
            (start,) = b.emit(const, value=at, type=Type("i64"))
            whole = update(b, whole, self._part(part, dtype), start, axes=(0,), widths=(part.size,))
            at += part.size
        return whole

    def _part(self, part: _Run, dtype: str) -> Value:
        type = Type(dtype, (part.size,))
        if part.base is not None and part.start is None:
            return _shaped(self.b, self.find(part.base), type.shape)
        return self._sliced(part, type)


def _first(op: Op) -> int | None:
    """Where a slice begins in the memory of its operand; None if it is no run of it, or empty."""
    held, shape = op.args[0].type, op.attrs["shape"]
    if set(op.attrs["step"]) != {1} or held.is_tape or not isinstance(held.size, int) or not math.prod(shape):
        return None
    sizes = held.static_shape()
    leading = next((a for a, n in enumerate(shape) if n != 1), len(shape))
    if tuple(shape[leading + 1 :]) != tuple(sizes[leading + 1 :]):
        return None
    at = 0
    for start, size in zip(op.attrs["start"], sizes, strict=True):
        at = at * size + start
    return at


def _consecutive(op: Op) -> bool:
    """Whether the operands of a concatenation lie one after the other in its result."""
    return all(n == 1 for n in op.results[0].type.shape[: op.attrs["axis"]])


def _merged(runs: Sequence[_Run]) -> list[_Run]:
    """Runs one after the other, put together where one goes on where the other ends."""
    made = [runs[0]]
    for run in runs[1:]:
        both = None if made[-1].start is None or run.start is None else made[-1].joined(run)
        if both is None:
            made.append(run)
        else:
            made[-1] = both
    return made


__all__ = ["PackedGroup", "PackedLayout", "apart", "packed", "together", "unpacked"]
