"""Numbers that know how they were computed from sizes: what is made with them once serves all sizes that go the same
way.

    sizes = SymSizes()
    n = sizes.symbol(40)                 the first size, 40 in this example
    steps = n // 8 if n > 16 else n      5, noted: it is n // 8, and n > 16 must hold

A `SymInt` computes as its number does, and remembers the expression. A comparison is decided by the numbers and noted
as a guard; whatever needs a plain number (an index, a range, text) gets it, and the guard is that it stays so. So a
program that is given SymInts does what it would do with the numbers, and for every size at which the guards hold it
would do the same with other numbers: those of the expressions (`formulas`). This is concolic execution (Godefroid,
Klarlund, Sen: DART, PLDI 2005); the names are those of PyTorch's symbolic shapes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor")
} | {"min": min, "max": max}
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
VALUE = "value"
"""The guard that a number stays what it is."""

GUARDS = COMPARED | {VALUE: lambda x, _: x}
OF_ONE: dict[str, Callable[[Any, Any], Any]] = {
    "neg": lambda x, _: -x, "abs": lambda x, _: abs(x), "trunc": lambda x, _: math.trunc(x),
    "floor": lambda x, _: math.floor(x), "ceil": lambda x, _: math.ceil(x), "round": lambda x, _: round(x),
    "bit_length": lambda x, _: x.bit_length(),
}  # fmt: skip
NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "lshift": 0, "rshift": 0}
"""Whole numbers that change nothing on the right."""


class Node(NamedTuple):
    """An operation on two nodes; a size has its place, and a constant its number, as `a`."""

    op: str
    a: Any
    b: Any


SIZE, CONSTANT = "size", "constant"


class SymSizes:
    """Sizes in an example, what has been computed from them, and what has been decided by it.

    nodes    in the order in which they have been made, operands first
    guards   comparisons of two nodes, and how they have come out; numbers that must stay what they are
    hashed   nodes that a table has been asked for, and their numbers: it finds equal ones and no others
    tables   whether one may be asked: where some are older than the sizes, they would find, or keep, the example's
    """

    def __init__(self, tables: bool = True) -> None:
        self.tables = tables
        self.nodes: list[Node] = []
        self.guards: dict[tuple[str, int, int], Any] = {}
        self.hashed: dict[int, Any] = {}
        self.count = 0
        self._numbers: dict[tuple[str, Any, Any], int] = {}

    def symbol(self, example: Any) -> Any:
        """The next size, or a float that changes with the sizes, as 1 / n does."""
        self.count += 1
        return (SymInt if type(example) is int else SymFloat)(self, self.node(SIZE, self.count - 1, 0), example)

    def node(self, op: str, a: Any, b: Any) -> int:
        """The number of a node, which is new only if there is no equal one."""
        key = op, a, b
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.nodes)
            self.nodes.append(Node(op, a, b))
        return found

    def operand(self, x: Any) -> tuple[int, Any] | None:
        """The node and the number of an operand; None for what is no number."""
        kind = type(x)
        if kind is SymInt or kind is SymFloat:
            if x.sizes is self:
                return x.node, x.number
            x = x.number
        elif kind is not int:
            if not isinstance(x, (int, float, np.integer, np.floating)):
                return None
            x = x.item() if isinstance(x, np.generic) else int(x) if kind is bool else x
        return self.node(CONSTANT, x, repr(x) if type(x) is float else 0), x  # 0, 0.0 and -0.0 are equal

    def made(self, op: str, a: tuple[int, Any], b: tuple[int, Any]) -> SymNumber:
        """What an operation makes of two operands."""
        try:
            value = (COMPUTED.get(op) or OF_ONE[op])(a[1], b[1])
        except (ArithmeticError, ValueError):  # which decides something, too
            self.guards.update({(VALUE, node, node): number for node, number in (a, b)})
            raise
        return (SymInt if type(value) is int else SymFloat)(self, self.node(op, a[0], b[0]), value)

    def undo(self, guards: int) -> None:
        """Forget all guards but the first so many: what they decided has come to nothing."""
        while len(self.guards) > guards:
            self.guards.popitem()


class SymNumber:
    """A number of an example, and the node that computes it."""

    __slots__ = ("node", "sizes", "number")
    __array_ufunc__ = None  # NumPy's numbers leave operations to it

    def __init__(self, sizes: SymSizes, node: int, value: Any) -> None:
        self.sizes, self.node, self.number = sizes, node, value

    def plain(self) -> Any:
        """The number, which is the same from now on at all sizes."""
        self.sizes.guards[VALUE, self.node, self.node] = self.number
        return self.number

    def made(self, op: str) -> Any:
        """What an operation makes of it."""
        operand = self.node, self.number
        return self.sizes.made(op, operand, operand)

    def __bool__(self) -> bool:
        return self != 0

    def __neg__(self) -> Any:
        return self.made("neg")

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.made("abs")

    def __trunc__(self) -> Any:
        return self.made("trunc")

    def __floor__(self) -> Any:
        return self.made("floor")

    def __ceil__(self) -> Any:
        return self.made("ceil")

    def __round__(self, digits: int | None = None) -> Any:
        return self.made("round") if digits is None else round(self.plain(), digits)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other  # type: ignore[operator]

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __int__(self) -> int:
        return int(self.plain())

    def __float__(self) -> float:
        return float(self.plain())

    def __repr__(self) -> str:
        return f"<{self.number}>"

    def __str__(self) -> str:
        return str(self.plain())

    def __format__(self, spec: str) -> str:
        return format(self.plain(), spec)

    def __hash__(self) -> int:
        if not self.sizes.tables:
            raise TypeError("a table would find what was made for the example")
        self.sizes.hashed[self.node] = self.number
        return hash(self.number)


class SymInt(SymNumber):
    """A whole number; for `isinstance` it is an int, for what is written in C it is none and must ask for it."""

    __slots__ = ()
    __class__ = property(lambda self: int)  # type: ignore[assignment]
    __hash__ = SymNumber.__hash__

    def __index__(self) -> int:
        return self.plain()

    def bit_length(self) -> Any:
        """As int's."""
        return self.made("bit_length")


class SymFloat(SymNumber):
    """A float."""

    __slots__ = ()
    __class__ = property(lambda self: float)  # type: ignore[assignment]
    __hash__ = SymNumber.__hash__

    def hex(self) -> Any:
        """What tells it from others."""
        return self


def rough(x: Any, most: int) -> Any:
    """A number for a choice of speed alone: the example's serves those of about its size, and all above `most`."""
    if type(x) is not SymInt:
        return x
    about = smaller(x, most).bit_length() // 2
    about.plain()
    return x.number


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, which decides nothing."""
    return _of_two("min", a, b)


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, which decides nothing."""
    return _of_two("max", a, b)


def _of_two(op: str, a: Any, b: Any) -> Any:
    for x in (a, b):
        if isinstance(x, SymNumber):
            first, second = x.sizes.operand(a), x.sizes.operand(b)
            if first is not None and second is not None and type(first[1]) is type(second[1]):
                return x.sizes.made(op, first, second)
    return COMPUTED[op](a, b)


def real(x: Any) -> Any:
    """float(x), which decides nothing."""
    return x * 1.0 if isinstance(x, SymNumber) else float(x)  # type: ignore[operator]


def whole(x: Any) -> Any:
    """int(x), which decides nothing."""
    return math.trunc(x) if isinstance(x, SymNumber) else int(x)


def as_index(x: Any) -> Any:
    """operator.index(x), which decides nothing."""
    return x if type(x) is SymInt else operator.index(x)


def bounds_of(k: slice, n: Any) -> tuple[Any, Any, Any]:
    """k.indices(n), which decides where the bounds lie only as far as it must."""
    given = k.start, k.stop, k.step
    if not any(type(x) is SymInt for x in (*given, n)):
        return k.indices(n)
    start, stop, step = given
    step = 1 if step is None else step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (-1, n - 1) if step < 0 else (0, n)
    first, last = (high, low) if step < 0 else (low, high)
    bounds = [x if x is None or x >= 0 else larger(x + n, low) for x in (start, stop)]
    start, stop = (end if x is None else smaller(x, high) for x, end in zip(bounds, (first, last), strict=True))
    return start, stop, step


def by_node(x: Any) -> Any:
    """A key for a table that knows these sizes only: nodes for numbers, also in tuples and types."""
    if isinstance(x, SymNumber):
        return type(x), x.node
    if type(x) is tuple:
        return tuple([by_node(each) for each in x])
    shape = getattr(x, "shape", None)
    return (x.dtype, by_node(shape)) if type(shape) is tuple else x


def example(x: Any) -> Any:
    """The number of the example, where any would do."""
    return x.number if isinstance(x, SymNumber) else x


def _operator(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    neutral, either = NEUTRAL.get(op), op in ("add", "mul")

    def forward(self: SymNumber, other: Any) -> Any:
        if type(other) is int and type(self) is SymInt:
            if other == neutral:
                return self
            if other == 0 and op == "mul":
                return 0
        operand = self.sizes.operand(other)
        return NotImplemented if operand is None else self.sizes.made(op, (self.node, self.number), operand)

    def reflected(self: SymNumber, other: Any) -> Any:
        if either:
            return forward(self, other)
        operand = self.sizes.operand(other)
        return NotImplemented if operand is None else self.sizes.made(op, operand, (self.node, self.number))

    return forward, reflected


def _comparison(relation: str) -> Callable[[Any, Any], Any]:
    compare = COMPARED[relation]

    def compared(self: SymNumber, other: Any) -> Any:
        operand = self.sizes.operand(other)
        if operand is None:
            return NotImplemented
        holds = compare(self.number, operand[1])
        if operand[0] != self.node:
            self.sizes.guards[relation, self.node, operand[0]] = holds
        return holds

    return compared


for _op in COMPUTED.keys() - {"min", "max"}:
    _forward, _reflected = _operator(_op)
    setattr(SymNumber, f"__{_op.rstrip('_')}__", _forward)
    setattr(SymNumber, f"__r{_op.rstrip('_')}__", _reflected)
for _relation in COMPARED:
    setattr(SymNumber, f"__{_relation}__", _comparison(_relation))


__all__ = [
    "SymFloat", "SymInt", "SymNumber", "SymSizes", "as_index", "bounds_of", "by_node", "example", "larger", "real",
    "rough", "smaller", "whole",
]  # fmt: skip
