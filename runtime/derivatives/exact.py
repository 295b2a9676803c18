"""The derivative of a graph along a direction in numbers of sixty digits: differences of what mpmath makes of it.

Of sixty digits a central difference over 1e-20 keeps some forty, so what it tells is exact where floats are concerned,
also of functions that have no meaning on complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ...compiler.ir.graph import Graph, Op
from ...compiler.ops import control
from ...compiler.ops import elementwise as E
from ...compiler.ops import shape as S
from ...compiler.ops.algebras import Numbers, Symbols
from ...compiler.ops.contract import contract
from ...compiler.ops.custom import checkpoint
from ...compiler.ops.elementwise import Elementwise
from ...compiler.ops.index import scatter_add, take
from ...compiler.ops.packs import pack, unpack
from ...compiler.ops.reduce import argmax, max_, min_, spread, sum_
from ...compiler.ops.scipy.special import Special
from ...compiler.ops.tape import new_tape, pop, push

DIGITS, STEP = 60, "1e-20"

_ARRANGED = {
    contract, sum_, spread, max_, min_, argmax, take, scatter_add, S.reshape, S.transpose, S.slice_, S.pad,
    S.concatenate, E.select, pack, unpack,
}
"""What NumPy does with numbers of any kind as it does with floats."""

_ENTERED = (control.call, checkpoint, control.cond, control.scan, control.loop)


class NotExact(Exception):
    """A primitive without a meaning on mpmath's numbers."""


def exact_differences(graph: Graph, inputs: Sequence[np.ndarray], tangents: Mapping[int, np.ndarray]) -> float:
    """(f(x + h t) - f(x - h t)) / 2h of the first result, rounded once; NaN where it is no real number."""
    from sympy.core.evalf import mp  # mpmath's context, which SymPy brings along

    with mp.workdps(DIGITS), np.errstate(all="ignore"):
        h = mp.mpf(STEP)

        def at(step: Any) -> Any:
            moved = list(inputs)
            for n, tangent in tangents.items():
                moved[n] = np.asarray(_numbers(mp, inputs[n]) + step * _numbers(mp, tangent))
            return _numbers(mp, _results(mp, graph, moved)[0]).item()

        return float((at(h) - at(-h)) / (2 * h))


def _results(mp: Any, graph: Graph, inputs: Sequence[Any]) -> list[np.ndarray]:
    env: dict[Any, Any] = dict(zip(graph.params, inputs, strict=True))
    for op in graph.body:
        for value, made in zip(op.results, _made(mp, op, [env[a] for a in op.args]), strict=True):
            if not value.type.is_tape:
                made = np.asarray(made) if value.type.is_float else np.asarray(made, value.type.numpy)
            env[value] = made
    return [env[r] for r in graph.results]


def _made(mp: Any, op: Op, args: list[np.ndarray]) -> Sequence[Any]:
    prim = op.prim
    if prim in _ENTERED:
        return _entered(mp, op, args)
    if prim is push or prim is new_tape:  # what is kept on it are arrays of any kind
        return prim.evaluate(args, op.attrs, op.regions)
    if prim is pop:
        below, record = cast("Any", args[0])
        return [below, *record]
    if not any(a.dtype.kind in "fO" for a in args):
        return prim.evaluate(args, op.attrs, op.regions)
    if prim is E.cast:
        (x,) = args
        if op.results[0].type.is_float:
            return [x]
        return prim.evaluate([x.astype(float)], op.attrs, op.regions)
    if isinstance(prim, Elementwise):
        return [exact_values(mp, prim, args)]
    if isinstance(prim, Special):
        return [_each_special(mp, op, prim, args)]
    if prim in _ARRANGED:
        return prim.evaluate([_numbers(mp, a) if a.dtype.kind == "f" else a for a in args], op.attrs, op.regions)
    raise NotExact(_named(op))


def _entered(mp: Any, op: Op, args: list[np.ndarray]) -> list[Any]:
    """A call, a branch or a loop."""
    prim, run = op.prim, partial(_results, mp)
    if prim is control.cond:
        return run(op.regions[0 if bool(args[0]) else 1], args[1:])
    if prim in (control.call, checkpoint):
        return run(op.regions[0], args)
    count, first = op.attrs["carries"], 1 if prim is control.scan else 0
    carried, rest = args[first : first + count], args[first + count :]
    if prim is control.scan:
        rounds = range(int(args[0]))
        for k in reversed(rounds) if op.attrs.get("backwards") else rounds:
            carried = run(op.regions[0], [np.int64(k), *carried, *rest])
        return carried
    k = 0
    while bool(run(op.regions[1], [*carried, *rest])[0]):
        carried = run(op.regions[0], [np.int64(k), *carried, *rest])
        k += 1
    return [*carried, np.int64(k)]


def _named(op: Op) -> str:
    return f"{op.prim.name} at {op.where}" if op.where else op.prim.name


def _numbers(mp: Any, x: np.ndarray) -> np.ndarray:
    """The same numbers as mpmath's."""
    if x.dtype.kind == "O":
        return x
    made = np.empty(x.shape, object)
    made[...] = np.frompyfunc(lambda v: mp.mpf(float(v)), 1, 1)(x)
    return made


def exact_values(mp: Any, prim: Elementwise, args: list[np.ndarray]) -> np.ndarray:
    """An elementwise primitive's formula, read over mpmath's numbers."""
    numbers = Numbers(mp)

    def one(*xs: Any) -> Any:
        if any(isinstance(x, mp.mpf) and not mp.isfinite(x) for x in xs):
            return _as_floats(mp, prim, xs)
        try:
            made = prim.formula(numbers, *xs)
        except (ZeroDivisionError, ValueError, OverflowError):
            return _as_floats(mp, prim, xs)
        return mp.nan if isinstance(made, mp.mpc) else made

    return _mapped(mp, one, args)


def _each_special(mp: Any, op: Op, prim: Special, args: list[np.ndarray]) -> np.ndarray:
    """A function of mathematics, as SymPy evaluates it to as many digits."""
    algebra = Symbols()
    if not algebra.knows(prim.name):
        raise NotExact(_named(op))
    symbols = [algebra.sympy.Dummy(real=True) for _ in args]
    expression = getattr(algebra, prim.name)(*symbols, **op.attrs)

    def one(*xs: Any) -> Any:
        value = expression.evalf(DIGITS, subs=dict(zip(symbols, xs, strict=True)))
        return value._to_mpmath(mp.prec) if value.is_Float or value.is_Rational else mp.nan

    return _mapped(mp, one, args)


def _mapped(mp: Any, one: Callable[..., Any], args: list[np.ndarray]) -> np.ndarray:
    wide = [_numbers(mp, a) if a.dtype.kind == "f" else a for a in args]
    made = np.empty(wide[0].shape, object)
    made[...] = np.frompyfunc(one, len(wide), 1)(*wide)
    return made


def _as_floats(mp: Any, prim: Elementwise, xs: Sequence[Any]) -> Any:
    """At poles and infinities what NumPy means."""
    made = np.asarray(prim.numpy(*[np.float64(float(x)) if isinstance(x, mp.mpf) else x for x in xs]))
    return bool(made) if made.dtype.kind == "b" else mp.mpf(float(made))


__all__ = ["NotExact", "exact_differences", "exact_values"]
