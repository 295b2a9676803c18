"""A traced graph with complex values becomes one of real values: two in the place of each.

    %z: c128[3] = complex %x, %y           %0: f64[3] = reshape %x
    %1: c128[1,3] = reshape %z      ->     %1: f64[1,3] = reshape %y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.graph import Builder, Graph, Op, Value
from ..ir.types import PARTS
from ..ops.complex.pairs import Complex, Pair
from ..ops.control import Carrying, Region
from ..ops.term import Terms


class NotOfComplex(Exception):
    """An operation that complex values have no part in."""

    def __init__(self, op: Op) -> None:
        types = ", ".join(str(a.type) for a in op.args)
        super().__init__(f"{op.prim.name} of {types} is not known for complex numbers")
        self.where = op.where


def split_complex(graph: Graph) -> Graph:
    """The graph with a real and an imaginary part in place of each complex value, parameters and results included."""
    b = Builder(graph.name)
    m = Complex(Terms(b))
    env: dict[Value, Any] = {}
    for p in graph.params:
        env[p] = _param(m, p)
    for op in graph.body:
        b.where = op.where
        args = [env[a] for a in op.args]
        if op.regions:
            env.update(zip(op.results, _region(m, op, args), strict=True))
        elif any(v.type.is_complex for v in (*op.args, *op.results)):
            if op.prim.on_pairs is None:
                raise NotOfComplex(op)
            env.update(zip(op.results, op.prim.on_pairs(m, op, args), strict=True))
        else:
            env.update((r, r) for r in op.results)
            b.append(op if tuple(args) == op.args else Op(op.prim, tuple(args), op.attrs, (), op.results, op.where))
    return b.finish(_flat([env[r] for r in graph.results]))


def _param(m: Complex, p: Value) -> Any:
    """A parameter, or two."""
    if not p.type.is_complex:
        m.b.params += (p,)
        return p
    part = p.type.with_dtype(PARTS[p.type.dtype])
    re, im = (m.b.param(part, f"{p.hint}_{name}" if p.hint else "") for name in ("real", "imag"))
    return Pair(m, m.real(re), m.real(im))


def _flat(values: Sequence[Any]) -> list[Value]:
    """The values, the parts of pairs one after the other."""
    return [part for v in values for part in ((v.re.value, v.im.value) if isinstance(v, Pair) else (v,))]


def _region(m: Complex, op: Op, args: Sequence[Any]) -> list[Any]:
    """An operation that holds graphs, on the parts; its results as they were."""
    if any(v.type.is_complex for v in (*op.args, *op.results)) and not isinstance(op.prim, Region):
        raise NotOfComplex(op)
    regions, attrs = [split_complex(g) for g in op.regions], dict(op.attrs)
    if isinstance(op.prim, Carrying):
        attrs["carries"] += sum(a.type.is_complex for a in op.prim.carries(op))
    made = iter(m.b.emit(op.prim, *_flat(args), regions=regions, **attrs))
    results: list[Any] = []
    for r in op.results:
        value = next(made)
        results.append(Pair(m, m.real(value), m.real(next(made))) if r.type.is_complex else value)
    return results


__all__ = ["NotOfComplex", "split_complex"]
