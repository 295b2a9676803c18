"""How a recorded graph is run: compiled, or by its primitives' NumPy meanings where those give the same bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from ....compiler.ir.graph import Graph
from ....compiler.ops.library import Library
from ....compiler.settings import settings
from .background import maker
from .fragments.families import kernel_of
from .fragments.outlines import is_opaque


class Kernel(Protocol):
    """Something that runs a graph on arrays."""

    def run(self, arrays: Sequence[np.ndarray], /) -> list[np.ndarray]: ...


def is_exact(graph: Graph) -> bool:
    """Whether NumPy computes the same bits as native code."""
    return all(op.prim.exact or isinstance(op.prim, Library) for op in graph.body)


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
                    env[r] = array if r.type.is_tape else np.asarray(array, r.type.numpy, order="C")
        return [env[r] for r in self.graph.results]


def kernel_for(graph: Graph, exact: bool) -> Kernel:
    """A kernel for a graph that may run only once."""
    return Interpreter(graph) if exact or settings.reference else kernel_of(graph)


OFTEN, SMALL = 16, 20_000
"""A graph that runs so often by itself is called natively; an exact one only if it has no more elements for each of its
operations."""


class Alone:
    """A graph of `size` elements that runs by itself.

    quick   a native function of a list of arrays, once that is worth it; where it returns no list, `run` knows why
    job     what makes that, once it was asked for
    """

    __slots__ = ("graph", "exact", "size", "quick", "kernel", "runs", "job")

    def __init__(self, graph: Graph, exact: bool, size: int) -> None:
        self.graph, self.exact, self.size = graph, exact, size
        self.quick: Callable[[list[np.ndarray]], Any] | None = None
        self.kernel: Any = None
        self.runs, self.job = 0, None

    def run(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The results for arrays of the parameters' kinds."""
        kernel: Any = self.kernel
        if kernel is None:
            kernel = self.kernel = kernel_for(self.graph, self.exact)
        self.runs += 1
        if self.runs == OFTEN:
            if not isinstance(kernel, Interpreter):
                self.quick = kernel.runner()
            elif not settings.reference and self._is_better_compiled():
                self._ask()
        elif self.runs % OFTEN == 0 and self.job is not None and self.quick is None and not self.job.missed(OFTEN):
            self._ask()
        return kernel.run(arrays)

    def _ask(self) -> None:
        if settings.background:
            self.job = maker.ask(self._compile, OFTEN)
        else:
            self._compile()

    def _is_better_compiled(self) -> bool:
        return not is_opaque(self.graph) and self.size <= SMALL * len(self.graph.body)

    def _compile(self) -> None:
        """Go on in native code; if there is an error in the compiler, as before."""
        with suppress(Exception):
            self.quick = kernel_of(self.graph).runner()


__all__ = ["Alone", "Interpreter", "Kernel", "is_exact", "kernel_for"]
