"""Several operations as one, which is run in one go once that is worth it.

    linear      t, view, addmm, view          4 kernels and 3 values that nobody else reads
    composed    x, w, b -> view(addmm(...))   1 kernel
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....compiler.ir.graph import Builder, Value, replay
from .....compiler.passes import common, dead
from ...value.cells import Kind
from ..engine import Alone, Interpreter
from .fragments import Fragment, Operation

Part = tuple[Fragment, tuple[int, ...]]
"""A fragment and the numbers of what it reads: inputs first, then results of the parts before."""


class InTurn(Interpreter):
    """Runs the parts one after the other."""

    __slots__ = ("parts", "results")

    def __init__(self, graph: Any, parts: Sequence[Part], results: Sequence[int]) -> None:
        super().__init__(graph)
        self.parts, self.results = parts, results

    def run(self, arrays: Sequence[np.ndarray], /) -> list[np.ndarray]:
        values = list(arrays)
        for fragment, reads in self.parts:
            values += fragment.run([values[r] for r in reads])
        return [values[r] for r in self.results]


def compose(name: str, inputs: Sequence[Kind], parts: Sequence[Part], results: Sequence[int]) -> Fragment:
    """The fragment that gives some of what `parts` make of the inputs."""
    b = Builder(name, [k.type for k in inputs])
    values: list[Value] = list(b.params)
    kinds = list(inputs)
    for fragment, reads in parts:
        env = replay(fragment.graph, b, [values[r] for r in reads], share=False)  # it may stand twice
        values += [env[r] for r in fragment.graph.results]
        kinds += fragment.results
    graph = dead(common(b.finish([values[r] for r in results])))
    operation = Operation(name, "", parts[-1][0].operation.emit)
    made = Fragment(graph, [None] * len(inputs), operation, (), (tuple(inputs), tuple([kinds[r] for r in results])))
    made.alone = Alone(graph, made.exact, made.alone.size)
    made.alone.kernel = InTurn(graph, parts, results)
    return made


__all__ = ["Part", "compose"]
