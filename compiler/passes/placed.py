"""A concatenation of many parts goes in, and an array into which each part is put at its place comes out.

    concatenate(x0, ..., x299)        update(... update(zeros, x0, 0) ..., x299, 299)

An element of a concatenation is looked for among all of its parts, one test within the other: that joins few parts to
what reads them, and takes a square of the time, and a stack as deep, where there are many.
"""

from __future__ import annotations

from typing import Any

from ..ir.graph import Builder, Graph, Op, Value, rewrite
from ..ops.memory import update
from ..ops.shape import concatenate
from ..ops.source import measure, number
from .cleanup import inside

MANY = 40
"""Parts from which they are put in place. Measured, joined and put: 24 rows of three 2.7 and 3.0 µs, 64 of them 10 and
2.8; 32 parts of 50 elements 19 and 6.4, but 43 and 380 ms to compile, 64 of them 68 and 19 µs, 71 and 153 ms."""


def placed(graph: Graph) -> Graph:
    """The graph with concatenations of many parts as writes, in regions too."""
    return rewrite(graph, _visit) if _has_many(graph) else graph


def _has_many(graph: Graph) -> bool:
    return any(_is_many(op) or any(map(_has_many, op.regions)) for op in graph.body)


def _is_many(op: Op) -> bool:
    """Single numbers aside, which an array is filled with one after the other as it is."""
    return op.prim is concatenate and len(op.args) >= MANY and not all(is_one(part) for part in op.args)


def is_one(part: Value) -> bool:
    """Whether an array is told to have one element."""
    size = part.type.size
    return type(size) is int and size == 1


def _visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Any:
    if not _is_many(op):
        return inside(b, op, args, placed)
    axis, type = op.attrs["axis"], op.results[0].type
    made, at = number(b, 0, type), 0
    for part in args:
        width = part.type.shape[axis]
        if width != 0:
            made = update(b, made, part, measure(b, at), axes=(axis,), widths=(width,))
        at = width + at
    return (made,)


__all__ = ["MANY", "is_one", "placed"]
