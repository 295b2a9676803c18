"""Kernels of graphs of many small arguments and results: one vector of each dtype goes in and out instead of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ...compiler.backend.entries.walked import PackedWalk
from ...compiler.backend.kernel import Kernel, compile_graph
from ...compiler.ir.graph import Graph
from ...compiler.locks import cached_property
from ...compiler.passes.packing import PackedLayout, packed, together


def walk_of(graph: Graph) -> PackedWalk | None:
    """How the arguments and results of a graph are put together; None if they stay as they are."""
    made = PackedWalk(together(graph.params), together(graph.results))
    return made if made.params.groups or made.results.groups else None


class PackedKernel:
    """A kernel that is called as the graph is, and runs on vectors.

    source   the graph
    walk     how its arguments and results lie in them
    kernel   what runs
    """

    aliases: Mapping[int, int] = MappingProxyType({})

    def __init__(self, source: Graph, walk: PackedWalk, kernel: Kernel) -> None:
        self.source, self.walk, self.kernel = source, walk, kernel

    @cached_property
    def plain(self) -> Kernel:
        """A kernel that takes the arguments one by one, for those who call it by its address."""
        return compile_graph(self.source, self.kernel.title)

    def run(
        self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> list[np.ndarray]:
        """The results; `into` has arrays for some of them."""
        params, results = self.walk
        given = [np.concatenate([arrays[k].ravel() for k in group.numbers]) for group in params.groups]
        made = self.kernel.run([*given, *[arrays[k] for k in params.rest]])
        found = _apart(results, made, [r.type.static_shape() for r in self.source.results])
        for k, array in into.items():
            array[...] = found[k]
            found[k] = array
        return found

    def text(self, stage: str) -> str:
        """The kernel at a stage."""
        return self.kernel.text(stage)


def _apart(layout: PackedLayout, made: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """The values that lie in vectors, each by itself."""
    found = dict(zip(layout.rest, made[len(layout.groups) :], strict=True))
    for vector, group in zip(made, layout.groups, strict=False):
        for k, start, end in zip(group.numbers, group.starts, (*group.starts[1:], group.size), strict=True):
            found[k] = vector[start:end].reshape(shapes[k]).copy()
    return [found[k] for k in range(len(shapes))]


__all__ = ["PackedKernel", "packed", "walk_of"]
