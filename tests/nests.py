"""A notation for graphs with regions, and a complex step through the reference executor.

    m = Nest(builder)
    (s,) = m.scan(4, lambda m, i, c, r: [c[0] + m.at(r[0], i)], [m.f64(0.0)], [x])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.compiler.ir.graph import Builder, Graph
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.control import cond, loop, scan
from pullback.compiler.ops.memory import bump, read, update
from pullback.compiler.ops.reduce import sum_
from pullback.compiler.ops.source import number
from pullback.compiler.ops.term import Term, Terms

F64, I64, BOOL = Type("f64"), Type("i64"), Type("bool")
Some = Sequence[Any]
Body = Callable[..., Some]


class Nest(Terms):
    """The algebra of a builder, with parts of arrays and regions."""

    def f64(self, value: float, *shape: int) -> Term:
        return self(number(self.b, value, Type("f64", shape)))

    def i64(self, value: int) -> Term:
        return self(number(self.b, value, I64))

    def at(self, x: Term, *index: Any) -> Term:
        """x[index], for terms and numbers."""
        return self(read(self.b, x.value, *self._starts(index), **_part(index)))

    def put(self, x: Term, v: Any, *index: Any, adds: bool = False) -> Term:
        """x after x[index] = v, or += v."""
        part = self.at(x, *index).value.type
        v = v if isinstance(v, Term) else self(number(self.b, v, part))
        return self((bump if adds else update)(self.b, x.value, v.value, *self._starts(index), **_part(index)))

    def total(self, x: Term) -> Term:
        return self(sum_(self.b, x.value, axes=tuple(range(x.value.type.rank))))

    def scan(self, n: Any, f: Body, carries: Some, rest: Some = (), backwards: bool = False) -> list[Term]:
        """f(m, i, carries, rest) -> carries."""
        region = self._body("body", f, carries, rest)
        args = [n if isinstance(n, Term) else self.i64(n), *carries, *rest]
        attrs = {"backwards": True} if backwards else {}
        return self._made(scan, args, (region,), carries=len(carries), **attrs)

    def loop(self, test: Callable[..., Term], f: Body, carries: Some, rest: Some = ()) -> list[Term]:
        """f(m, k, carries, rest) -> carries while test(m, carries, rest); the last result is the count."""
        c = len(carries)
        until = region_of("test", _types([*carries, *rest]), lambda m, *xs: [test(m, xs[:c], xs[c:])])
        return self._made(loop, [*carries, *rest], (self._body("body", f, carries, rest), until), carries=c)

    def cond(self, p: Term, yes: Body, no: Body, args: Some) -> list[Term]:
        """yes(m, *args) where p holds, else no(m, *args)."""
        types = _types(args)
        regions = (region_of("yes", types, yes), region_of("no", types, no))
        return self._made(cond, [p, *args], regions)

    def _body(self, name: str, f: Body, carries: Some, rest: Some) -> Graph:
        c = len(carries)
        return region_of(name, [I64, *_types([*carries, *rest])], lambda m, i, *xs: f(m, i, xs[:c], xs[c:]))

    def _made(self, prim: Any, args: Some, regions: tuple[Graph, ...], **attrs: Any) -> list[Term]:
        return [self(v) for v in self.b.emit(prim, *(a.value for a in args), regions=regions, **attrs)]

    def _starts(self, index: Some) -> list[Any]:
        return [i.value if isinstance(i, Term) else number(self.b, i, I64) for i in index]


def _part(index: Some) -> dict[str, Any]:
    return {"axes": tuple(range(len(index))), "widths": (-1,) * len(index)}


def _types(terms: Some) -> list[Type]:
    return [t.value.type for t in terms]


def region_of(name: str, types: Sequence[Type], f: Callable[..., Some]) -> Graph:
    """The graph of f(m, *parameters) -> results."""
    b = Builder(name, types)
    m = Nest(b)
    return b.finish([t.value for t in f(m, *(m(p) for p in b.params))])


def nest(name: str, *shapes: tuple[int, ...]) -> Callable[[Callable[..., Term]], Graph]:
    """Make a graph with one result of a function of a Nest and f64 parameters of these shapes."""
    return lambda f: region_of(name, [Type("f64", s) for s in shapes], lambda m, *xs: [f(m, *xs)])


# ---- a complex step

TINY = 1e-30


def slope(graph: Graph, args: Sequence[np.ndarray], k: int, direction: Any, result: int = 0) -> Any:
    """The derivative of a result along a direction of the argument numbered k, to rounding errors."""
    given: list[Any] = [np.asarray(a) for a in args]
    given[k] = given[k] + 1j * TINY * np.asarray(direction)
    return np.imag(run(graph, given)[result]) / TINY


def run(graph: Graph, args: Sequence[Any]) -> list[Any]:
    """What `evaluate` does, with complex numbers for floats."""
    env = dict(zip(graph.params, args, strict=True))
    with np.errstate(all="ignore"):
        for op in graph.body:
            env.update(zip(op.results, _RUN.get(op.prim.name, _plain)(op, [env[a] for a in op.args]), strict=True))
    return [env[r] for r in graph.results]


def _plain(op: Any, args: list[Any]) -> Any:
    if op.prim.name == "cast" and op.attrs["dtype"] in ("f64", "f32"):
        return args
    if not any(v.type.is_float or v.type.is_tape for v in op.results):
        args = [np.real(a) for a in args]
    return op.prim.evaluate(args, op.attrs, op.regions)


def _scan(op: Any, args: list[Any]) -> Any:
    c, n = op.attrs["carries"], int(args[0])
    carried, rest = args[1 : 1 + c], args[1 + c :]
    for i in reversed(range(n)) if op.attrs.get("backwards") else range(n):
        carried = run(op.regions[0], [np.int64(i), *carried, *rest])
    return carried


def _loop(op: Any, args: list[Any]) -> Any:
    c, k = op.attrs["carries"], 0
    carried, rest = args[:c], args[c:]
    while bool(run(op.regions[1], [*carried, *rest])[0]):
        carried, k = run(op.regions[0], [np.int64(k), *carried, *rest]), k + 1
    return [*carried, np.int64(k)]


def _cond(op: Any, args: list[Any]) -> Any:
    return run(op.regions[0 if args[0] else 1], args[1:])


def _write(op: Any, args: list[Any]) -> Any:
    wide = np.result_type(args[0], args[1])
    return op.prim.evaluate([np.asarray(args[0]).astype(wide), *args[1:]], op.attrs, op.regions)


def _pop(op: Any, args: list[Any]) -> Any:
    below, record = args[0]
    return [below, *record]


_RUN: dict[str, Callable[[Any, list[Any]], Any]] = {
    "scan": _scan, "loop": _loop, "cond": _cond, "update": _write, "bump": _write, "pop": _pop,
}

__all__ = ["BOOL", "F64", "I64", "Nest", "nest", "region_of", "run", "slope"]
