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


class Rearranged:
    """A kernel that is called as the graph is, and takes and gives other arrays than that.

    source   the graph
    kernel   what runs
    """

    aliases: Mapping[int, int] = MappingProxyType({})

    def __init__(self, source: Graph, kernel: Kernel) -> None:
        self.source, self.kernel = source, kernel

    @cached_property
    def plain(self) -> Kernel:
        """A kernel that takes the arguments one by one, for those who call it by its address."""
        return compile_graph(self.source, self.kernel.title)

    def text(self, stage: str) -> str:
        """The kernel at a stage."""
        return self.kernel.text(stage)


class PackedKernel(Rearranged):
    """A kernel that runs on vectors; `walk` says how arguments and results of the graph lie in them."""

    def __init__(self, source: Graph, walk: PackedWalk, kernel: Kernel) -> None:
        super().__init__(source, kernel)
        self.walk = walk

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


def _apart(layout: PackedLayout, made: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """The values that lie in vectors, each by itself."""
    found = dict(zip(layout.rest, made[len(layout.groups) :], strict=True))
    for vector, group in zip(made, layout.groups, strict=False):
        for k, start, end in zip(group.numbers, group.starts, (*group.starts[1:], group.size), strict=True):
            found[k] = vector[start:end].reshape(shapes[k]).copy()
    return [found[k] for k in range(len(shapes))]


__all__ = ["PackedKernel", "Rearranged", "packed", "walk_of"]
