"""Operations as expressions that are not told element by element: constants, choices, branches, loops and tapes.

A rule takes the reading, the operation and the elements of its arguments, and gives those of its results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....compiler.ir.graph import Op
from ....compiler.ir.types import Type
from ....compiler.ops import control, memory, tape
from ....compiler.ops.elementwise import cast, select
from ....compiler.ops.external import external
from ....compiler.ops.memory import DROPPED
from ....compiler.ops.require import require
from ....compiler.ops.scipy.called import called
from ....compiler.ops.scipy.hypergeometric import hypergeometric
from ....compiler.ops.source import const, iota
from ..shared.hypergeometric import read_out
from ..shared.library import sympy_module
from . import linear, ordered, spectral
from .cases import is_condition
from .elements import Formulas, NoExpression, SymbolicArray, choose, scalar, table
from .filled import either, written
from .named import results_of
from .recurrences import ended, looped, unrolled

WRITTEN_OUT = 32
"""The most rounds of a loop, and terms of a sum over an axis, that are written out."""


def static_shape(type: Type) -> tuple[int, ...]:
    if not all(isinstance(n, int) for n in type.shape):
        raise NoExpression(f"sympy() reads arrays of known sizes, and not {type}")
    return type.static_shape()


def told(op: Op) -> str:
    name = str(op.attrs["name"]) if op.prim is external else op.prim.name
    return name + (f" at {op.where}" if op.where else "")


def _constant(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    value = number_of(op.attrs["value"])
    return [SymbolicArray(static_shape(op.results[0].type), lambda *index: value)]


def _index(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    sympy = sympy_module()

    axis = op.attrs["axis"]
    return [SymbolicArray(static_shape(op.results[0].type), lambda *index: sympy.sympify(index[axis]))]


def _select(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    return [_chosen(reading.m, *args)]


def _chosen(m: Formulas, p: SymbolicArray, a: SymbolicArray, b: SymbolicArray) -> SymbolicArray:
    return SymbolicArray(a.shape, lambda *index: choose(m, p[index if p.shape else ()], a[index], b[index]))


def _cast(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    sympy = sympy_module()

    source, into = op.args[0].type, op.results[0].type
    (x,) = args
    if source.dtype == "bool":
        return [SymbolicArray(x.shape, lambda *index: sympy.Piecewise((1, x[index]), (0, True)))]
    if into.is_float or (not source.is_float and into.dtype != "bool"):
        return args
    if into.dtype != "bool":
        return [SymbolicArray(x.shape, lambda *index: _truncated(x[index]))]
    raise NoExpression(f"sympy() cannot read {told(op)}")


def _truncated(e: Any) -> Any:
    """A whole number beside a number, towards zero."""
    sympy = sympy_module()

    return e if e.is_integer else sympy.Piecewise((sympy.floor(e), e >= 0), (sympy.ceiling(e), True))


def _called(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    return reading.run(op.regions[0], args)


class Either(NamedTuple):
    """A tape that a branch may have written to: what it is where p holds, and elsewhere."""

    p: Any
    yes: Any
    no: Any


def _branch(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    """Both branches, element by element; the backward branch goes where the forward one went."""
    p = args[0][()]
    sides = []
    for holds, region in zip((True, False), op.regions, strict=True):
        given = [(x.yes if holds else x.no) if isinstance(x, Either) and x.p == p else x for x in args[1:]]
        sides.append(reading.run(region, given) if p != (not holds) else None)
    yes, no = sides
    if yes is None or no is None:
        return yes or no or []
    both = zip(yes, no, strict=True)
    return [_joined(reading.m, args[0], a, b) if isinstance(a, SymbolicArray) else Either(p, a, b) for a, b in both]


def _joined(m: Formulas, p: SymbolicArray, a: SymbolicArray, b: SymbolicArray) -> SymbolicArray:
    return either(m, p[()], a, b) or _chosen(m, p, a, b)


def _scan(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    count = op.attrs["carries"]
    n, carried, rest = args[0][()], args[1 : 1 + count], args[1 + count :]
    backwards = bool(op.attrs.get("backwards"))
    if n.is_Integer and n <= WRITTEN_OUT:
        made = unrolled(reading, op.regions[0], int(n), carried, rest, backwards)
        if made is not None:
            return made
    return looped(reading, op.regions[0], n, carried, rest, backwards)


def _loop(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    """A loop whose end can be told from the numbers at hand is written out; any other one is a recurrence."""
    sympy = sympy_module()

    count = op.attrs["carries"]
    carried, rest = list(args[:count]), list(args[count:])
    rounds = _rounds(reading, op, carried, rest)
    made = None if rounds is None else unrolled(reading, op.regions[0], rounds, carried, rest, False)
    if made is None:
        return ended(reading, op.regions[0], op.regions[1], carried, rest)
    return [*made, scalar(sympy.Integer(rounds))]


def _rounds(reading: Any, op: Op, carried: Sequence[Any], rest: Sequence[Any]) -> int | None:
    """How many rounds there are, if that depends on numbers alone and they are few: by rounds of names for the rest."""
    sympy = sympy_module()

    def opened(x: Any) -> Any:
        if not isinstance(x, SymbolicArray) or not x.explicit:
            return x
        values = np.empty(x.shape, object)
        for index in np.ndindex(*x.shape):
            known = x[index].is_number or is_condition(x[index])
            values[index] = x[index] if known else sympy.Dummy(real=True)
        return table(values)

    for rounds in range(WRITTEN_OUT + 1):
        carried = [opened(x) for x in carried]
        holds = reading.run(op.regions[1], [*carried, *rest])[0][()]
        if holds == False:  # noqa: E712
            return rounds
        if holds != True:  # noqa: E712
            return None
        carried = reading.run(op.regions[0], [scalar(sympy.Integer(rounds)), *carried, *rest])
    return None


def _named(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    """A function of SciPy's, element by element."""
    name, count, size = op.attrs["name"], len(op.results), static_shape(op.results[0].type)
    made: dict[Any, list[Any]] = {}

    def value(k: int, *index: Any) -> Any:
        if index not in made:
            made[index] = results_of(name, count, [x[index] for x in args])
        return made[index][k]

    return [SymbolicArray(size, partial(value, k)) for k in range(count)]


def _hypergeometric(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    (x,) = args
    return [SymbolicArray(x.shape, lambda *index: read_out(**op.attrs, x=x[index]))]


def _push(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    return [(args[0], tuple(args[1:]))]


def _pop(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    if isinstance(args[0], Either):
        raise NoExpression(f"sympy() cannot read a gradient of branches within branches: {told(op)}")
    below, record = args[0]
    return [below, *record]


def _read(reading: Any, op: Op, args: list[Any]) -> Sequence[Any]:
    x, starts = args[0], [s[()] for s in args[1:]]
    if (x.explicit and not x.base) or any(width != DROPPED for width in op.attrs["widths"]):
        return [reading.defined(op, args)]
    at = dict(zip(op.attrs["axes"], starts, strict=True))

    def element(*index: Any) -> Any:
        rest = iter(index)
        return x[[at[a] if a in at else next(rest) for a in range(len(x.shape))]]

    return [SymbolicArray(static_shape(op.results[0].type), element)]


def _write(reading: Any, op: Op, args: list[Any], add: bool = False) -> Sequence[Any]:
    x, v, *starts = args
    return [written(reading, x, v, starts, op.attrs, add) or reading.defined(op, args)]


RULES: dict[Any, Callable[[Any, Op, list[Any]], Sequence[Any]]] = {
    const: _constant,
    iota: _index,
    select: _select,
    cast: _cast,
    require: lambda reading, op, args: args[:1],
    called: _named,
    hypergeometric: _hypergeometric,
    control.call: _called,
    control.cond: _branch,
    control.scan: _scan,
    control.loop: _loop,
    memory.read: _read,
    memory.update: _write,
    memory.bump: partial(_write, add=True),
    tape.new_tape: lambda reading, op, args: [None],
    tape.push: _push,
    tape.pop: _pop,
    **linear.RULES,
    **ordered.RULES,
    **spectral.RULES,
}


def number_of(value: Any) -> Any:
    """Whole numbers and short fractions are exact, others have the digits of a float."""
    sympy = sympy_module()

    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if abs(value) == np.finfo(np.float64).max:  # where floats end, but not numbers
        value = math.copysign(math.inf, value)
    if isinstance(value, int) or (math.isfinite(value) and value == int(value)):
        return sympy.Integer(int(value))
    if not math.isfinite(value):
        return sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo
    near = Fraction(value).limit_denominator(1024)
    if float(near) == value:
        return sympy.Rational(near.numerator, near.denominator)
    return _multiple(value) or sympy.Float(value, 15 if float(f"{value:.15g}") == value else 17)


def _multiple(value: float) -> Any:
    """A small rational times a constant of mathematics, where that is the float or one beside it."""
    sympy = sympy_module()
    roots = [sympy.sqrt(sympy.pi), sympy.sqrt(2), sympy.sqrt(2 * sympy.pi), sympy.sqrt(3)]
    for constant in (sympy.pi, sympy.log(2), sympy.log(10), sympy.E, sympy.EulerGamma, *roots):
        for each in (constant, 1 / constant):
            ratio = Fraction(value / float(each)).limit_denominator(64)
            near = ratio and float(sympy.N(each * ratio.numerator / ratio.denominator, 30))
            if ratio and abs(near - value) <= math.ulp(value):  # 1/sqrt(2) of floats is not the nearest one
                return each * sympy.Rational(ratio.numerator, ratio.denominator)
    return None


__all__ = ["RULES", "WRITTEN_OUT", "number_of", "static_shape", "told"]
