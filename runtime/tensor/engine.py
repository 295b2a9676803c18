"""How a recorded graph is run: compiled, or by its primitives' NumPy meanings where those give the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...compiler.backend.kernel import compile_graph
from ...compiler.ir.graph import Graph

EXACT = frozenset(
    {"add", "sub", "mul", "div", "neg", "abs", "sqrt", "floor", "ceil", "rint", "trunc", "cast"}
    | {"eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "not_", "shl", "shr", "select"}
    | {"spread", "reshape", "transpose", "slice", "pad", "concatenate", "take", "argmax"}
    | {"const", "iota", "random_bits"}
)
"""Primitives whose result is one correctly rounded or moved number, so that NumPy's bits are ours."""


class Kernel(Protocol):
    """Something that runs a graph on arrays."""

    def run(self, arrays: Sequence[np.ndarray], /) -> list[np.ndarray]: ...


def is_exact(graph: Graph) -> bool:
    """Whether NumPy computes the same bits as native code."""
    return all(op.prim.name in EXACT for op in graph.body)


class Interpreter:
    """Runs an exact graph op by op, which for one that runs once is quicker than compiling it."""

    __slots__ = ("graph",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def run(self, arrays: Sequence[np.ndarray], /) -> list[np.ndarray]:
        env = dict(zip(self.graph.params, arrays, strict=True))
        with np.errstate(all="ignore"):
            for op in self.graph.body:
                made = op.prim.evaluate([env[a] for a in op.args], op.attrs, op.regions)
                for r, array in zip(op.results, made, strict=True):
                    env[r] = np.asarray(array, r.type.numpy)
        return [env[r] for r in self.graph.results]


def kernel_for(graph: Graph, exact: bool) -> Kernel:
    """A kernel for a graph that may run only once."""
    return Interpreter(graph) if exact else compile_graph(graph)


__all__ = ["Interpreter", "Kernel", "compile_graph", "is_exact", "kernel_for"]
