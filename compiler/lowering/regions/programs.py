"""Graphs with loops and branches as programs: numbers in registers, arrays in place, tapes in the arena.

    kernel newton(x: f64[], a: f64[]) -> (out0: f64[])
      x_1 = x[0]
      a_1 = a[0]
      carry r: f64 = x_1
      while (abs(((r * r) - a_1)) > 1e-12) for k
        r = (r - (((r * r) - a_1) / (2.0 * r)))
      r_1 = r
      out0[0] = r_1

Regions become nested statements. A number that others are made of needs none: it is made where it is read.
"""

from __future__ import annotations

from ...ir.graph import Graph, Value
from ...loops import Affine, Buffer, Load
from ..program import Program
from .body import Statements
from .state import Known, Making
from .steps import expanded, is_array


def regions(graph: Graph, called: int, vector_bits: int) -> Program:
    """The program of a graph whose operations may hold regions."""
    for v in (*graph.params, *graph.results):
        if v.type.is_tape:
            raise TypeError(f"@{graph.name}: a tape cannot come from outside a kernel, nor leave it")
    graph, made = expanded(graph), Making(called, vector_bits)
    inputs = tuple(Buffer(made.name(p.hint or f"in{k}"), p.type) for k, p in enumerate(graph.params))
    results = tuple(Buffer(made.name(f"out{k}"), r.type) for k, r in enumerate(graph.results))
    env: dict[Value, Known] = dict(zip(graph.params, inputs, strict=True))
    body = Statements(made, graph, env, {})
    for p, buffer in zip(graph.params, inputs, strict=True):
        if not is_array(p.type):
            env[p] = body.let(Load(buffer, Affine()), p.hint)
    body.run()
    body.bring(dict(enumerate(results)))
    return Program(graph.name, inputs, results, tuple(made.scratch), tuple(body.out), tuple(made.sites))


__all__ = ["regions"]
