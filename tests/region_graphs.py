"""Graphs with loops and branches, written by functions of a builder; and what is asked of their programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pullback.compiler.backend.kernel import Kernel, compile_graph
from pullback.compiler.ir.graph import Builder, Graph, Value, evaluate
from pullback.compiler.ir.primitive import Primitive
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests.roots import inside
from pullback.compiler.lowering.program import Copy, Loop
from pullback.compiler.ops import elementwise as e
from pullback.compiler.ops.control import scan
from pullback.compiler.ops.memory import read, update
from pullback.compiler.ops.source import number
from pullback.compiler.settings import settings

F, N, B = Type("f64"), Type("i64"), Type("bool")
V, M = Type("f64", (4,)), Type("f64", (3, 4))
Body = Callable[..., Sequence[Value]]
X, Y = np.arange(4.0), np.arange(12.0).reshape(3, 4)


def region(types: Sequence[Type], body: Body) -> Graph:
    """A graph made by a function of a builder and parameters."""
    b = Builder("region", types)
    return b.finish(body(b, *b.params))


def scanned(
    b: Builder, n: int | Value, body: Body, carries: Sequence[Value], *rest: Value, **attrs: bool
) -> list[Value]:
    """The carries after n rounds."""
    count = number(b, n, N) if isinstance(n, int) else n
    inner = region([N, *(v.type for v in (*carries, *rest))], body)
    return list(b.emit(scan, count, *carries, *rest, regions=(inner,), carries=len(carries), **attrs))


def at(b: Builder, a: Value, *starts: Value | int) -> Value:
    """a[starts]."""
    where = [number(b, s, N) if isinstance(s, int) else s for s in starts]
    return read(b, a, *where, axes=tuple(range(len(where))), widths=(-1,) * len(where))


def put(b: Builder, a: Value, v: Value, *starts: Value | int, prim: Primitive = update) -> Value:
    """a with v at the starts."""
    where = [number(b, s, N) if isinstance(s, int) else s for s in starts]
    return prim(b, a, v, *where, axes=tuple(range(len(where))), widths=(-1,) * len(where))


def twice(b: Builder, x: Value) -> Value:
    """x + x."""
    return e.add(b, x, x)


def run(graph: Graph, *args: float | np.ndarray) -> Kernel:
    """Check a graph against the reference at both levels of code; the kernel."""
    verify(graph)
    given = [np.asarray(a, p.type.numpy) for a, p in zip(args, graph.params, strict=True)]
    want = evaluate(graph, given)
    for level in (0, 2):
        with settings.override(level=level):
            kernel = compile_graph(graph)
        for _ in range(2):
            for got, wanted in zip(kernel.run([a.copy() for a in given]), want, strict=True):
                assert np.array_equal(got, wanted, equal_nan=wanted.dtype.kind == "f"), kernel.text("loops")
    return kernel


def copies(graph: Graph) -> tuple[int, int]:
    """How many copies a program makes, and how many of them in loops."""
    body = lower(graph).body
    found = [s for s in inside(body) if isinstance(s, Copy)]
    loops = [t for s in body if isinstance(s, Loop) for t in inside((*s.test, *s.body)) if isinstance(t, Copy)]
    return len(found), len(loops)
