"""From a graph to a loop program: what gets memory, in what order it is made, on which vector axis.

Numbers alone become lines, arrays become nests (`assemble`), and graphs with loops and branches statements (`regions`),
among which array work stands in parts (`parts`). This floor knows forms and loops; it does not know LLVM.

    program = lower(graph, vector_bits=512)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.graph import Graph, Op
from ..ir.types import Size
from ..ops.contract import LARGEST
from ..ops.guard import guard
from ..ops.memory import bump, update
from ..ops.shape import concatenate
from ..passes.placed import is_one
from .nests.assemble import assemble
from .nests.lines import lines
from .program import Program
from .regions.programs import regions
from .regions.steps import is_call

MANY = 8
"""Elements of arrays that a graph writes one by one, from which it is taken for a list of statements, not of nests."""


def lower(graph: Graph, vector_bits: int = 256, called: int = LARGEST) -> Program:
    """The loop program of a graph; matrix products of at least `called` bytes of operands are calls, with 0 none."""
    for op in graph.body:
        for name, value in op.attrs.items() if op.attrs else ():
            if type(value) is not int and _has_size(value):
                raise TypeError(f"{op.prim.name}: {name}={value} has a symbolic size where a number is needed")
    if any(op.regions or is_call(op) or any(v.type.is_tape for v in op.results) for op in graph.body):
        return _retried(regions(graph, called, vector_bits))
    if sum(map(_written_alone, graph.body)) >= MANY:
        return _retried(regions(graph, called, vector_bits))
    return _retried(lines(graph) or assemble(graph, called, vector_bits))


def _written_alone(op: Op) -> int:
    """How many elements an operation writes to an array, or makes an array of, each for itself."""
    if op.prim in (update, bump):
        return op.args[0].type.rank > 0 and is_one(op.args[1])
    return len(op.args) if op.prim is concatenate and all(map(is_one, op.args)) else 0


def _retried(program: Program) -> Program:
    """A call whose guards fail is made again by another kernel, so no argument may have been written to."""
    guarded = any(site.kind == guard.name for site in program.sites)
    return replace(program, aliases=()) if guarded and program.aliases else program


def _has_size(attribute: Any) -> bool:
    return isinstance(attribute, Size) or (isinstance(attribute, tuple) and any(map(_has_size, attribute)))


__all__ = ["lower"]
