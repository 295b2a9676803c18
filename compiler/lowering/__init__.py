"""From a graph to a loop program: what gets memory, in what order it is made, on which vector axis.

This floor knows forms and loops; it does not know which primitives there are, nor LLVM.

    program = lower(graph, vector_bits=512)
"""

from __future__ import annotations

from ..ir.graph import Graph
from .assemble import assemble
from .program import Program
from .schedule import schedule


def lower(graph: Graph, vector_bits: int = 256, blas: bool = True) -> Program:
    """The loop program of a graph without regions; `blas` allows calls for large matrix products."""
    return assemble(graph, blas, lambda nest: schedule(nest, vector_bits))


__all__ = ["lower"]
