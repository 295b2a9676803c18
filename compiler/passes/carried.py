"""A traced graph with numbers that native code only stores becomes one of the wider numbers that carry them.

    %x: u8[3]                     %0: i32[3] = cast %x {dtype=i32}
    %1: u8[3] = add %x, %x   ->   %1: i32[3] = add %0, %0
                                  %2: u8[3] = cast %1 {dtype=u8}, and i32 again for what reads it

What is computed beyond the range of the narrow dtype loses its upper bits there, as it does in NumPy. i64 has the bits
of u64: sums, products and moves are the same, and what depends on order is said otherwise.

Floats of 16 bits are carried by f32 and rounded by each operation, sums and products of matrices at their end, as NumPy
and PyTorch do it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.graph import Builder, Graph, Op, Value, dtypes
from ..ir.types import CARRIED, CARRIER, FLOATING, HALVES, Type
from ..ops import bits, elementwise, ordering, reduce
from ..ops.casting import astype
from ..ops.contract import contract
from ..ops.convolve import correlate
from ..ops.elementwise import cast
from ..ops.external import external
from ..ops.index import scatter_add, scatter_max, scatter_min
from ..ops.library import Library
from ..ops.memory import bump
from ..ops.source import const
from ..ops.term import Term, Terms

SAME = {
    elementwise.select, elementwise.maximum, elementwise.minimum, elementwise.mod, elementwise.and_, elementwise.or_,
    elementwise.xor, elementwise.shr, scatter_max, scatter_min,
}  # fmt: skip
"""Results are in the range of the arguments."""

WIDER = {reduce.sum_, scatter_add, bump, contract, correlate}
"""Beside what is done element by element: results may be beyond it."""

ORDERED = {
    elementwise.lt, elementwise.le, elementwise.gt, elementwise.ge, elementwise.maximum, elementwise.minimum,
    reduce.max_, reduce.min_, reduce.argmax, ordering.sort, ordering.argsort, ordering.argpartition,
    ordering.searchsorted, scatter_max, scatter_min,
}  # fmt: skip
"""What asks which is the larger."""

UNSIGNED = {bits.gcd, bits.lcm}
"""What is wrong where u64 is read as i64."""

TOP = -(2**63)
"""The upper bit of i64: adding it takes the order of u64 to that of i64."""


class NotOfIntegers(Exception):
    """An operation that unsigned integers of 64 bits have no part in."""

    def __init__(self, op: Op) -> None:
        super().__init__(f"{op.prim.name} is not known for uint64")
        self.where = op.where


def without_carried(graph: Graph) -> Graph:
    """The graph with wider numbers in place of those that native code only stores, but for parameters and results."""
    if not _has_carried(graph):
        return graph
    b = Builder(graph.name)
    b.params = graph.params
    env = {p: b.emit(cast, p, dtype=CARRIER[p.type.dtype])[0] for p in graph.params if p.type.dtype in CARRIED}
    values = _rewrite(b, graph, {p: env.get(p, p) for p in graph.params})
    return b.finish([_to(b, v, r.type.dtype) for v, r in zip(values, graph.results, strict=True)])


def _has_carried(graph: Graph) -> bool:
    """By parameters and results, which arguments are among; this is asked of each graph."""
    return not dtypes(graph).isdisjoint(CARRIED)


def _to(b: Builder, value: Value, dtype: str) -> Value:
    return value if value.type.dtype == dtype else b.emit(cast, value, dtype=dtype)[0]


def _carrying(kind: Type) -> Type:
    return kind.with_dtype(CARRIER.get(kind.dtype, kind.dtype))


def _region(graph: Graph) -> Graph:
    """A region whose parameters and results are carried, too."""
    if not _has_carried(graph):
        return graph
    b, env = Builder(graph.name), {}
    for p in graph.params:
        env[p] = p if p.type.dtype not in CARRIED else Value(_carrying(p.type), p.hint)
    b.params = tuple(env.values())
    return b.finish(_rewrite(b, graph, env))


def _rewrite(b: Builder, graph: Graph, env: dict[Value, Value]) -> list[Value]:
    for op in graph.body:
        b.where = op.where
        args = tuple([env[a] for a in op.args])
        if any(v.type.dtype in CARRIED for v in (*op.args, *op.results)) or any(map(_has_carried, op.regions)):
            env.update(zip(op.results, _made(b, op, args), strict=True))
        else:
            env.update((r, r) for r in op.results)
            b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
    return [env[r] for r in graph.results]


def _made(b: Builder, op: Op, args: Sequence[Value]) -> Sequence[Value]:
    """The results of an operation, each in its carrier."""
    prim, m = op.prim, Terms(b)
    if prim is cast:
        return [_cast(b, args[0], op.args[0].type.dtype, op.attrs["dtype"])]
    if prim is const:
        value = op.attrs["value"]
        kind = op.attrs["type"]
        if kind.dtype in HALVES:
            value = float(astype(astype(np.array(value, float), kind.dtype), "f64"))
        value -= 2**64 if kind.dtype == "u64" and value >= 2**63 else 0
        return b.emit(const, type=_carrying(kind), value=value)
    if prim is external:
        made = b.emit(prim, *[_to(b, v, a.type.dtype) for v, a in zip(args, op.args, strict=True)], **op.attrs)
        return [_to(b, v, CARRIER.get(v.type.dtype, v.type.dtype)) for v in made]
    if any(a.type.dtype == "u64" for a in op.args):
        found = _of_largest(m, op, args)
        if found is not None:
            return found
    attrs = {key: _carrying(v) if isinstance(v, Type) else v for key, v in op.attrs.items()}
    made = b.emit(prim, *args, regions=[_region(g) for g in op.regions], **attrs)
    beyond = (prim.elementwise and prim not in SAME) or prim in WIDER or isinstance(prim, Library)
    return [_wrapped(b, v, r.type.dtype) if beyond else v for v, r in zip(made, op.results, strict=True)]


def _wrapped(b: Builder, value: Value, dtype: str) -> Value:
    """The number that another is in a narrower dtype."""
    if dtype not in CARRIED or dtype == "u64":
        return value
    return _to(b, _to(b, value, dtype), CARRIER[dtype])


def _cast(b: Builder, value: Value, source: str, target: str) -> Value:
    if source == "u64" and target in FLOATING:
        value = _to(b, value, source)
    made = _to(b, value, target)
    return _to(b, made, CARRIER.get(target, target))


def _of_largest(m: Terms, op: Op, args: Sequence[Value]) -> Sequence[Value] | None:
    """What an operation on u64 is on the i64 of the same bits, where it is another one."""
    if op.prim in UNSIGNED:
        raise NotOfIntegers(op)
    terms = [m(a) for a in args]
    if op.prim in OTHERWISE:
        return [OTHERWISE[op.prim](m, *terms).value]
    if op.prim not in ORDERED:
        return None
    turned = [m.xor(t, TOP).value if a.type.dtype == "u64" else t.value for t, a in zip(terms, op.args, strict=True)]
    made = m.b.emit(op.prim, *turned, **op.attrs)
    return [m.xor(m(v), TOP).value if r.type.dtype == "u64" else v for v, r in zip(made, op.results, strict=True)]


def _shifted(m: Terms, x: Term, by: Term) -> Term:
    """x >> by with zeros in front."""
    once = m.and_(m.shr(x, 1), 2**63 - 1)
    return m.select(m.eq(by, 0), x, m.select(m.lt(m.xor(by, TOP), 64 + TOP), m.shr(once, by - 1), 0))


def _quotient(m: Terms, x: Term, y: Term) -> Term:
    """x // y: by half of x, and whether the rest has y in it once more; divisors beyond 2**63 go once or not at all."""
    guess = m.floordiv(_shifted(m, x, m.number(1, x.value.type)), y)
    guess = guess + guess
    more = _once(m, m.ge(m.xor(x - guess * y, TOP), m.xor(y, TOP)))
    far = _once(m, m.ge(m.xor(x, TOP), m.xor(y, TOP)))
    return m.select(m.eq(y, 0), 0, m.select(m.lt(y, 0), far, guess + more))


def _once(m: Terms, p: Term) -> Term:
    return m(m.b.emit(cast, p.value, dtype="i64")[0])


def _rest(m: Terms, x: Term, y: Term) -> Term:
    return m.select(m.eq(y, 0), 0, x - _quotient(m, x, y) * y)


def _sign(m: Terms, x: Term) -> Term:
    return _once(m, m.ne(x, 0))


OTHERWISE: dict[Any, Callable[..., Term]] = {
    elementwise.floordiv: _quotient, elementwise.mod: _rest, elementwise.shr: _shifted, elementwise.sign: _sign,
    elementwise.abs_: lambda m, x: x,
}  # fmt: skip

__all__ = ["NotOfIntegers", "without_carried"]
