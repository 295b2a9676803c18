"""Algebra that changes no bit: a table of pairs `before == after`, and rules for moving elements.

Every rule holds for all floats, signed zeros and NaN included, and never costs more than what it replaces; a
test runs both sides of each on special values.  `x + 0 -> x` is not here: it turns -0 into 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.graph import Builder, Graph, Op, Value, rewrite
from ..ir.primitive import Primitive
from ..ir.symint import SymNumber
from ..ops import contract as C
from ..ops import elementwise as E
from ..ops import shape as S
from ..ops.reduce import max_, min_, spread, sum_
from ..ops.source import const, number
from .cleanup import inside
from .pieces import of_part, of_slices


class Pattern:
    """A variable (prim None), a number, or a primitive applied to patterns."""

    __slots__ = ("prim", "args")

    def __init__(self, prim: Any, *args: Any) -> None:
        self.prim, self.args = prim, args

    def __add__(self, other: Any) -> Pattern:
        return Pattern(E.add, self, other)

    def __sub__(self, other: Any) -> Pattern:
        return Pattern(E.sub, self, other)

    def __mul__(self, other: Any) -> Pattern:
        return Pattern(E.mul, self, other)

    def __truediv__(self, other: Any) -> Pattern:
        return Pattern(E.div, self, other)

    def __neg__(self) -> Pattern:
        return Pattern(E.neg, self)

    def __rmul__(self, other: float) -> Pattern:
        return Pattern(E.mul, other, self)


def _select(p: Any, a: Any, b: Any) -> Pattern:
    return Pattern(E.select, p, a, b)


#: name, before, after; a variable that stands twice must be the same value
RULES: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("x * 1 = x", lambda x: x * 1, lambda x: x),
    ("1 * x = x", lambda x: 1 * x, lambda x: x),
    ("x / 1 = x", lambda x: x / 1, lambda x: x),
    ("x - 0 = x", lambda x: x - 0, lambda x: x),
    ("-(-x) = x", lambda x: -(-x), lambda x: x),  # noqa: B002 - a double negation is meant
    ("x * -1 = -x", lambda x: x * -1, lambda x: -x),
    ("-1 * x = -x", lambda x: -1 * x, lambda x: -x),
    ("x + -y = x - y", lambda x, y: x + -y, lambda x, y: x - y),
    ("-x + y = y - x", lambda x, y: -x + y, lambda x, y: y - x),
    ("x - -y = x + y", lambda x, y: x - -y, lambda x, y: x + y),
    ("-x * -y = x * y", lambda x, y: -x * -y, lambda x, y: x * y),
    ("-x / -y = x / y", lambda x, y: -x / -y, lambda x, y: x / y),
    ("not not p = p", lambda p: Pattern(E.not_, Pattern(E.not_, p)), lambda p: p),
    ("select(p, x, x) = x", lambda p, x: _select(p, x, x), lambda p, x: x),
    (
        "select(p, select(p, x, y), z) = select(p, x, z)",
        lambda p, x, y, z: _select(p, _select(p, x, y), z),
        lambda p, x, y, z: _select(p, x, z),
    ),
    (
        "select(p, x, select(p, y, z)) = select(p, x, z)",
        lambda p, x, y, z: _select(p, x, _select(p, y, z)),
        lambda p, x, y, z: _select(p, x, z),
    ),
    (
        "select(not p, x, y) = select(p, y, x)",
        lambda p, x, y: _select(Pattern(E.not_, p), x, y),
        lambda p, x, y: _select(p, y, x),
    ),
]


def sides(rule: tuple[str, Callable[..., Any], Callable[..., Any]]) -> tuple[Any, Any]:
    """The two patterns of a rule, over variables named as its parameters."""
    _, before, after = rule
    code = before.__code__
    names = [Pattern(None, n) for n in code.co_varnames[: code.co_argcount]]
    return before(*names), after(*names)


_BY_PRIM: dict[Any, list[tuple[Any, Any]]] = {}
for _rule in RULES:
    _before, _after = sides(_rule)
    _BY_PRIM.setdefault(_before.prim, []).append((_before, _after))

Definitions = dict[Value, Op]


def match(made: Definitions, value: Value, pattern: Any, bound: dict[str, Value]) -> bool:
    """Whether `value` was made as `pattern` says; binds the variables."""
    if not isinstance(pattern, Pattern):
        op = made.get(value)
        return op is not None and op.prim is const and _same_number(op.attrs["value"], pattern)
    if pattern.prim is None:
        return bound.setdefault(pattern.args[0], value) is value
    op = made.get(value)
    if op is None or op.prim is not pattern.prim:
        return False
    return all(match(made, a, p, bound) for a, p in zip(op.args, pattern.args, strict=True))


def _same_number(value: float, wanted: float) -> bool:
    return value == wanted and not isinstance(value, bool) and np.signbit(value) == np.signbit(wanted)


def build(b: Builder, pattern: Any, bound: dict[str, Value], like: Value) -> Value:
    """Emit `pattern` with its variables as bound."""
    if not isinstance(pattern, Pattern):
        return number(b, pattern, like.type)
    if pattern.prim is None:
        return bound[pattern.args[0]]
    return pattern.prim(b, *(build(b, a, bound, like) for a in pattern.args))


# ---- folding, and rules for moving elements: each takes (b, op, args, made) and gives a value or None

def _fold(b, op, args, made):
    """Arithmetic on constants, where NumPy's bits are the machine's."""
    if not op.prim.folds:
        return None
    sources = [made[a] for a in args]
    if any(isinstance(s.attrs["value"], SymNumber) for s in sources):
        return None
    given = [np.array(s.attrs["value"], s.results[0].type.numpy) for s in sources]
    with np.errstate(all="ignore"):
        (result,) = op.prim.evaluate(given, op.attrs, ())
    return number(b, np.asarray(result).item(), op.results[0].type)


def _same_type(b, op, args, made):
    """Moving nothing, and casts that change nothing."""
    if op.prim is S.transpose:
        return args[0] if list(op.attrs["axes"]) == sorted(op.attrs["axes"]) else None
    same = args[0].type == op.results[0].type
    if op.prim in (S.slice_, S.pad):
        same = same and all(k == 1 for k in op.attrs["step"])
    return args[0] if same else None


def _of_constant(b, op, args, made):
    """Moving equal elements gives equal elements."""
    source = made.get(args[0])
    if source is None or source.prim is not const:
        return None
    return number(b, source.attrs["value"], op.results[0].type)


def _twice(b, op, args, made):
    """Moving elements twice the same way is moving them once."""
    inner = made.get(args[0])
    if inner is None or inner.prim is not op.prim:
        return None
    (x,) = inner.args
    if op.prim is S.reshape:
        return S.reshape(b, x, shape=op.attrs["shape"])
    if op.prim is S.transpose:
        return S.transpose(b, x, axes=tuple(inner.attrs["axes"][a] for a in op.attrs["axes"]))
    axes = tuple(op.attrs["axes"][a] for a in inner.attrs["axes"])
    return spread(b, x, shape=op.attrs["shape"], axes=axes)


def _of_packed(b, op, args, made):
    """Single numbers that are put together and transposed are put together in another order."""
    shaped = made.get(args[0])
    packed = made.get(shaped.args[0]) if shaped is not None and shaped.prim is S.reshape else None
    if packed is None or packed.prim is not S.concatenate or len(packed.args) > PACKED:
        return None
    if any(part.type.shape != (1,) for part in packed.args):
        return None
    order = np.arange(len(packed.args)).reshape(args[0].type.shape).transpose(op.attrs["axes"])
    parts = [packed.args[k] for k in order.ravel()]
    return S.reshape(b, S.concatenate(b, *parts, axis=0), shape=op.results[0].type.shape)


PACKED = 1024
"""Numbers up to which they are put together twice where both orders are read."""


def _contract_of_transpose(b, op, args, made):
    """A contraction names its axes, so it reads a transposed operand where it lies, if free axes keep their order."""
    left, right, batch = C.split(op.attrs)
    ours = [left, right]
    theirs = [[p for p, _ in batch], [q for _, q in batch]]
    new = list(args)
    for side in (0, 1):
        inner = made.get(args[side])
        if inner is None or inner.prim is not S.transpose:
            continue
        axes = inner.attrs["axes"]
        used = [*theirs[side], *ours[side]]
        kept = [axes[a] for a in C.free(len(axes), used)]
        if kept == sorted(kept):
            new[side] = inner.args[0]
            ours[side] = tuple(axes[a] for a in ours[side])
            theirs[side] = [axes[a] for a in theirs[side]]
    if new == list(args):
        return None
    attrs = {"left": tuple(ours[0]), "right": tuple(ours[1])}
    if batch:
        attrs["batch"] = tuple(zip(*theirs, strict=True))
    return C.contract(b, *new, **attrs)


def _by_number(b, op, args, made):
    """A product with a number is elementwise."""
    for number_, x in (args, args[::-1]):
        if not number_.type.shape:
            source = made.get(number_)
            if source is None or source.prim is not const:
                every = spread(b, number_, shape=x.type.shape, axes=())
            elif _same_number(source.attrs["value"], 1):
                return x
            else:
                every = number(b, source.attrs["value"], x.type)
            return E.mul(b, every, x) if number_ is args[0] else E.mul(b, x, every)
    return None


def _reciprocal(b, op, args, made):
    """Division by a power of two is multiplication by another, exact as long as both are ordinary numbers."""
    divisor = made.get(args[1])
    if divisor is None or divisor.prim is not const or not op.results[0].type.is_float:
        return None
    value = divisor.attrs["value"]
    if isinstance(value, SymNumber):  # the bits are the same, and asking would make a way of each number
        return None
    mantissa, exponent = math.frexp(value)
    if abs(mantissa) != 0.5 or abs(exponent) > 100 or value == 1:
        return None
    return E.mul(b, args[0], number(b, 1 / value, op.results[0].type))


def _neutral(b, op, args, made):
    """A condition and True, or a condition or False."""
    for x, other in (args, args[::-1]):
        source = made.get(other)
        if source is not None and source.prim is const and source.attrs["value"] is (op.prim is E.and_):
            return x
    return None


def _no_axes(b, op, args, made):
    """A fold over no axes."""
    return args[0] if not op.attrs["axes"] else None


MOVES: dict[Primitive, tuple[Callable[..., Value | None], ...]] = {
    S.transpose: (_same_type, _of_constant, _twice, _of_packed),
    S.reshape: (_same_type, _of_constant, _twice),
    spread: (_same_type, _of_constant, _twice),
    S.slice_: (_same_type, _of_constant, of_part),
    S.concatenate: (of_slices,),
    S.pad: (_same_type,),
    E.cast: (_same_type,),
    E.div: (_reciprocal,),
    E.and_: (_neutral,),
    E.or_: (_neutral,),
    C.contract: (_by_number, _contract_of_transpose),
    sum_: (_no_axes,),
    max_: (_no_axes,),
    min_: (_no_axes,),
}


def algebra(graph: Graph) -> Graph:
    """Apply the table until nothing matches, reading each operation once."""
    made: Definitions = {op.results[0]: op for op in graph.body if not op.args}

    def emitted(b: Builder, start: int, out: Value) -> tuple[Value]:
        made.update((op.results[0], op) for op in b.body[start:])
        return (out,)

    get = made.get

    def visit(b, op, args):
        if op.regions:
            return inside(b, op, args, algebra)
        if len(op.results) != 1:
            return None
        prim, start = op.prim, len(b.body)
        arguments = tuple([source and source.prim for source in map(get, args)])
        moves = MOVES.get(prim, ())
        if arguments and arguments.count(const) == len(arguments):
            moves = (_fold, *moves)
        for rule in moves:
            new = rule(b, op, args, made)
            if new is not None:
                return emitted(b, start, new)
        out = op.results[0]
        if args != op.args:
            op = Op(prim, args, op.attrs, (), op.results, b.where)
        b.append(op)
        made[out] = op
        for before, after in _possible(prim, arguments):
            bound: dict[str, Value] = {}
            if match(made, out, before, bound):
                return emitted(b, start, build(b, after, bound, out))
        return op.results

    return rewrite(graph, visit)


_found: dict[Any, list[tuple[Any, Any]]] = {}


def _possible(prim: Any, arguments: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The rules for a primitive on what these primitives made (None for parameters)."""
    found = _found.get((prim, arguments))
    if found is None:
        rules = _BY_PRIM.get(prim, ())
        found = [each for each in rules if all(map(_may_be, arguments, each[0].args))]
        _found[prim, arguments] = found
    return found


def _may_be(made_by: Any, pattern: Any) -> bool:
    if not isinstance(pattern, Pattern):
        return made_by is const
    return pattern.prim is None or pattern.prim is made_by
