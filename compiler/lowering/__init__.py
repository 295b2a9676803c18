"""From a graph to a loop program: what gets memory, in what order it is made, on which vector axis.

This floor knows forms and loops; it does not know which primitives there are, nor LLVM.

    program = lower(graph, vector_bits=512)
"""

from __future__ import annotations

from typing import Any

from ..ir.graph import Graph
from ..ir.types import Size
from .assemble import assemble
from .lines import lines
from .program import Program


def lower(graph: Graph, vector_bits: int = 256, blas: bool = True) -> Program:
    """The loop program of a graph without regions; `blas` allows calls for large matrix products."""
    for op in graph.body:
        for name, value in op.attrs.items():
            if _has_size(value):
                raise TypeError(f"{op.prim.name}: {name}={value} has a symbolic size where a number is needed")
    return lines(graph) or assemble(graph, blas, vector_bits)


def _has_size(attribute: Any) -> bool:
    return isinstance(attribute, Size) or (isinstance(attribute, tuple) and any(map(_has_size, attribute)))


__all__ = ["lower"]
