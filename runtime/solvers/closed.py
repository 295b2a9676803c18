"""A function of the user's that takes traced values from outside, as a graph in which these are arguments.

    f = Closed("residual", lambda x: np.cos(x) - a * x, NUMBER)
    f.outside                what it takes from outside: the traced a
    f.traced([x], outside)   its results for others, as operations of the function being traced
    f.numeric([1.0], [2.0])  its results for numbers, by a kernel that is compiled at the first call

So a solver of SciPy's can call it on numbers, and an equation can hold it on traced values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.array import Array, here, value_of
from ...compiler.frontend.complexes import as_computed
from ...compiler.frontend.numpy.matrices.linalg import as_float
from ...compiler.frontend.numpy.reductions import traced
from ...compiler.frontend.promotion import conform
from ...compiler.frontend.region import Leaf
from ...compiler.ir.graph import Builder, Graph, inline
from ...compiler.ir.primitive import NotBatchable
from ...compiler.ir.types import Type
from ...compiler.locks import cached_property
from ...compiler.ops.source import number
from ...compiler.passes import adjoint, dead
from ...compiler.passes.batch import batched, widened
from ...compiler.passes.cleanup import expand
from ..compiled import kernels
from ..custom import freeze_sizes

FLOAT = np.dtype(np.float64)


def floats(*shape: int) -> Leaf:
    """The type of an array of floats."""
    return Leaf(Type("f64", shape), False)


def vector(x: Any) -> Array:
    """Numbers, an array or a list of traced numbers as floats of the function being traced."""
    made = as_float(traced(x)[1])
    freeze_sizes("a solver of SciPy's", [made])
    return made.astype(FLOAT)


class Closed:
    """A function of arrays of the types `takes` that returns arrays, each made a `vector`."""

    def __init__(self, name: str, function: Callable[..., Any], *takes: Leaf) -> None:
        now = here()

        def run(*given: Array) -> list[Array]:
            made = R.call(function, *given)
            return [vector(each) for each in (made if isinstance(made, Several) else (made,))]

        region = R.trace_region(now, name, takes, run)
        self.name, self.graph, self.count = name, region.graph, len(takes)
        extras = [value_of(now, x) if isinstance(x, Array) else now.array(x) for x in region.extras]
        self.outside = [Array(now, v) for v in extras]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the results."""
        return [r.type.static_shape() for r in self.graph.results]

    def traced(self, given: Sequence[Any], outside: Sequence[Any]) -> list[Array]:
        """The results as operations."""
        now = here()
        pairs = zip((*given, *outside), self.graph.params, strict=True)
        values = [conform(now, x, p.type.numpy, p.type.shape) for x, p in pairs]
        return [Array(now, v) for v in inline(self.graph, now.builder, values)]

    def on_traced(self, *given: Any) -> Array:
        """The first result as operations, with what is outside as it is."""
        return self.traced(given, self.outside)[0]

    def numeric(self, given: Sequence[Any], outside: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results for numbers."""
        return self.held(outside)(*given)

    def held(self, outside: Sequence[np.ndarray]) -> Callable[..., list[np.ndarray]]:
        """The function of numbers that has these from outside."""
        kinds = [(p.type.numpy, p.type.static_shape()) for p in self.graph.params]
        kept = [np.array(x, d).reshape(s) for x, (d, s) in zip(outside, kinds[self.count :], strict=True)]
        kept = [np.array(part) for x in kept for part in ((np.real(x), np.imag(x)) if x.dtype.kind == "c" else (x,))]
        run, kinds = self._kernel.run, kinds[: self.count]

        def called(*given: Any) -> list[np.ndarray]:
            return run([*[np.array(x, d).reshape(s) for x, (d, s) in zip(given, kinds, strict=True)], *kept])

        return called

    @cached_property
    def _kernel(self) -> kernels.Runnable:
        return kernels.make(as_computed(self.graph), self.name)

    @cached_property
    def gradient(self) -> Closed:
        """The gradient of a function of one argument, whose result is one number, as a function of the same kind."""
        joint = adjoint(self.graph, [0])
        seed = joint.params[-1]
        b = Builder(f"{self.name}_gradient", [p.type for p in joint.params[:-1]])
        one = number(b, 1, seed.type)
        results = inline(joint, b, [*b.params, one])
        return self.with_graph(dead(b.finish(results[-1:])))


    def lanes(self, size: int) -> Closed | None:
        """The function of `size` arguments at a time, if it can be; what it takes from outside they share."""
        params = self.graph.params
        flags = [k < self.count for k in range(len(params))]
        types = [p.type.with_shape((size, *p.type.shape)) if f else p.type for p, f in zip(params, flags, strict=True)]
        b = Builder(f"{self.name}_lanes", types)
        try:
            made, wide = batched(b, expand(self.graph), b.params, flags, size)
        except NotBatchable:
            return None
        whole = [v if f else widened(b, v, size) for v, f in zip(made, wide, strict=True)]
        return self.with_graph(dead(b.finish(whole)))

    def with_graph(self, graph: Graph) -> Closed:
        """Another graph of the same arguments, which takes the same from outside."""
        made = object.__new__(Closed)
        made.name, made.graph, made.count, made.outside = graph.name, graph, self.count, self.outside
        return made


class Several(tuple):
    """What a function returns that has several results."""


__all__ = ["FLOAT", "Closed", "Several", "floats", "vector"]
