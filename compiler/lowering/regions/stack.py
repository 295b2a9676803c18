"""Tapes in memory: how a record is laid out, and how many bytes of records there can be at most.

Where every number of rounds on the way to a push is known, so is the size of the tape: it has its place among the
temporaries, and nothing is checked. Else a tape grows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import trunc

from ...ir.graph import Graph, Op, Value
from ...ir.measure import OpenExtent
from ...ir.types import Type
from ...ops.control import Carrying, scan
from ...ops.source import const
from ...ops.tape import push
from .steps import expanded

FIRST = 4096
"""Bytes that a tape which grows has at first."""

STATIC = 2**26
"""Bytes up to which a tape of known size has its place before the first push."""

WORD = 8

LINE = 64
"""Bytes from which an array begins with a line of the cache."""


def record(types: Sequence[Type]) -> tuple[list[int], int]:
    """Where the parts of a record lie in it, and how many bytes it takes."""
    offsets, at, whole = [], 0, WORD
    for type in types:
        size = type.numpy.itemsize
        length = size * math.prod(type.static_shape())
        if isinstance(length, OpenExtent) or length >= LINE:
            size = whole = LINE
        at = -(-at // size) * size
        offsets.append(at)
        at += length
    total = -(-at // whole) * whole
    return offsets, total if isinstance(total, OpenExtent) else max(total, WORD)


def most(graph: Graph, tape: Value, known: Mapping[Value, int]) -> int | None:
    """How many bytes are pushed to a tape of a region at most; None if that is not known.

    `known` has the numbers that are known of the values of the region.
    """
    return _pushed(graph, tape, known)[0]


def _pushed(graph: Graph, tape: Value | None, known: Mapping[Value, int]) -> tuple[int | None, Value | None]:
    """The bytes that are pushed, and what the tape is called at last; None if it ends before."""
    total: int | None = 0
    known = {**known, **_constants(graph)}
    for op in expanded(graph).body:
        if tape is None or tape not in op.args:
            continue
        at = op.args.index(tape)
        if not op.regions:
            size = record([v.type for v in op.args[1:]])[1] if op.prim is push else 0
            tape = op.results[0]
        elif isinstance(op.prim, Carrying):
            size = _in_rounds(op, at, known)
            tape = op.results[at - op.prim.first]
        else:
            size, tape = _in_branches(op, at, known)
        total = None if total is None or size is None else total + size
    return total, tape


def _in_rounds(op: Op, at: int, known: Mapping[Value, int]) -> int | None:
    """How many bytes a loop pushes in all its rounds to the tape that is argument `at`."""
    body, first = op.regions[0], op.prim.first  # type: ignore[attr-defined]
    rest = zip(body.params[1 + op.attrs["carries"] :], op.args[first + op.attrs["carries"] :], strict=True)
    size, _ = _pushed(body, body.params[1 + at - first], {p: known[a] for p, a in rest if a in known})
    if not size:
        return size
    return size * max(known[op.args[0]], 0) if op.prim is scan and op.args[0] in known else None


def _in_branches(op: Op, at: int, known: Mapping[Value, int]) -> tuple[int | None, Value | None]:
    """How many bytes a branch pushes at most, and what the tape is called after it."""
    sizes: list[int | None] = []
    result: Value | None = None
    for g in op.regions:
        inner = {p: known[a] for p, a in zip(g.params, op.args[1:], strict=True) if a in known}
        size, last = _pushed(g, g.params[at - 1], inner)
        result = op.results[g.results.index(last)] if last in g.results else result
        sizes.append(size)
    return greatest(sizes), result


def greatest(sizes: Sequence[int | None]) -> int | None:
    """The greatest of some sizes, if all are known."""
    known = [n for n in sizes if n is not None and not isinstance(n, OpenExtent)]
    return max(known, default=0) if len(known) == len(sizes) else None


def _constants(graph: Graph) -> dict[Value, int]:
    return {op.results[0]: trunc(op.attrs["value"]) for op in graph.body
            if op.prim is const and op.results[0].type == Type("i64")}


__all__ = ["FIRST", "STATIC", "WORD", "greatest", "most", "record"]
