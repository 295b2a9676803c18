"""Gradients of formulas over terms, run by the reference executor and natively, which must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.types import Type
from pullback.compiler.ops import reduce
from pullback.compiler.ops.term import Terms
from pullback.compiler.passes import adjoint, value_and_grad
from tests.compare import assert_all_close

Formula = Callable[..., Any]


def loss(f: Formula, *sizes: tuple[int, ...]) -> Graph:
    """The graph of the sum of f(m, x, ...)."""
    b = Builder("loss", [Type("f64", s) for s in sizes], "xyz"[: len(sizes)])
    m = Terms(b)
    out = f(m, *map(m, b.params)).value
    return b.finish([reduce.sum_(b, out, axes=tuple(range(out.type.rank)))])


def both(graph: Graph, args: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of the reference executor, once native code agrees on them to rounding."""
    want = evaluate(graph, args)
    assert_all_close(compile_graph(graph).run(args), want, relative=1e-14, floors=[1e-300] * len(want))
    return want


def gradient(f: Formula, *args: Any) -> list[np.ndarray]:
    arrays = [np.asarray(a, float) for a in args]
    graph = value_and_grad(loss(f, *(a.shape for a in arrays)), range(len(arrays)))
    return both(graph, arrays)[1:]


def second_derivative(f: Formula, x: np.ndarray, *fixed: np.ndarray) -> np.ndarray:
    """The second derivative by the elements of x of a function of single elements."""
    args = [x, *fixed]
    joint = adjoint(value_and_grad(loss(f, *(a.shape for a in args)), [0]), [0])
    return both(joint, [*args, np.array(0.0), np.ones_like(x)])[-1]
