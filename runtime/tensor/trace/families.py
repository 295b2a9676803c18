"""Kernels of operations that come with other sizes each time: one piece of code for all of them.

The first size of an operation is compiled for itself. For the second the loops of both are compared, and where they
differ in numbers only, one code is told them (`backend.shared`). It computes the same bits, and what further sizes cost
is no compilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....compiler.backend import process
from ....compiler.backend.kernel import Kernel, compile_graph
from ....compiler.ir.graph import Graph
from ....compiler.later import later
from ....compiler.locks import lock
from ....compiler.ops.external import external
from ....compiler.ops.library import Library

if TYPE_CHECKING:
    from ....compiler.backend import shared as sharing
    from ....compiler.passes import pipeline
else:
    sharing = later(__package__, "....compiler.backend.shared")
    pipeline = later(__package__, "....compiler.passes.pipeline")

KEPT = 1024
"""Families that are kept; the oldest goes first."""

COMPARED, PATIENCE = 4, 32
"""A graph is compared with so many that have code of their own; after so many without success, none is."""


class Family:
    """Graphs that are alike but for sizes, and the code that they share.

    Loops have other forms at other sizes (what is left over by vectors, what is worth a second thread), so a family has
    several pieces of code, each found when two sizes of the same form have come.
    """

    def __init__(self, graph: Graph) -> None:
        self.alone, self.shared = [graph], sharing.Shared(graph.name, PATIENCE)
        self.lock = lock()

    def kernel(self, graph: Graph) -> Kernel:
        if not self.lock.acquire(blocking=False):  # another thread compiles, which takes longer than to do so here
            return compile_graph(graph)
        try:
            with process.uncollected():
                graph = pipeline.optimize(graph)
                made = self.shared.kernel(graph, lambda: map(pipeline.optimize, self.alone))
        finally:
            self.lock.release()
        if not isinstance(made, sharing.Sized):
            self.alone = [graph, *self.alone[: COMPARED - 1]]
        return made


_families: dict[Any, Family] = {}
_lock = lock()


def kernel_of(graph: Graph) -> Kernel:
    """A compiled graph, with the code of its family if that has some."""
    if is_opaque(graph):
        return compile_graph(graph)
    key = _outline(graph)
    with _lock:
        family = _families.get(key)
        if family is None:
            while len(_families) >= KEPT:
                _families.pop(next(iter(_families)))
            _families[key] = Family(graph)
    return compile_graph(graph) if family is None else family.kernel(graph)


def is_opaque(graph: Graph) -> bool:
    """Whether it calls what is no native code of ours."""
    return any(op.prim is external or isinstance(op.prim, Library) for op in graph.body)


def _outline(graph: Graph) -> tuple[Any, ...]:
    """What graphs have in common that differ in sizes only; code is told no floats."""
    places = {p: k for k, p in enumerate(graph.params)}
    ops = []
    for op in graph.body:
        floats = [v for v in op.attrs.values() if type(v) is float] if op.attrs else ()
        ops.append((op.prim, tuple([places[a] for a in op.args]), len(op.regions), *floats))
        for r in op.results:
            places[r] = len(places)
    types = tuple([(v.type.dtype, len(v.type.shape)) for v in places])
    return graph.name, types, tuple(ops), tuple([places[r] for r in graph.results])


__all__ = ["is_opaque", "kernel_of"]
