"""Numbers that know how they were computed from sizes: what is made with them once serves all sizes that go the same
way.

    sizes = SymSizes()
    n = sizes.symint(40)                 the first size, 40 in this example
    steps = n // 8 if n > 16 else n      5, noted: it is n // 8, and n > 16 must hold
    formulas = Formulas(sizes, [steps])
    formulas.at([60])                    (7,)
    formulas.at([10])                    None: the way goes elsewhere

A `SymInt` computes as its number does, and remembers the expression. A comparison is decided by the numbers and noted
as a guard; whatever needs a plain number (an index, a range, text) gets it, and the guard is that it stays so. So a
program that is given SymInts does what it would do with the numbers, and for every size at which the guards hold it
would do the same with other numbers: those of the expressions. This is concolic execution (Godefroid, Klarlund, Sen:
DART, PLDI 2005); the names are those of PyTorch's symbolic shapes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor")
} | {"min": min}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
OF_ONE: dict[str, Callable[[Any, Any], Any]] = {
    "neg": lambda x, _: -x, "abs": lambda x, _: abs(x), "trunc": lambda x, _: math.trunc(x),
    "floor": lambda x, _: math.floor(x), "ceil": lambda x, _: math.ceil(x), "round": lambda x, _: round(x),
    "bit_length": lambda x, _: x.bit_length(),
}  # fmt: skip
NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "pow": 1, "lshift": 0, "rshift": 0}
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
    guards   comparisons of two nodes, and how they have come out
    hashed   nodes that a table has been asked for, and their numbers: it finds equal ones and no others
    fixed    nodes whose numbers are the same from now on at all sizes
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.guards: dict[tuple[str, int, int], bool] = {}
        self.hashed: dict[int, int] = {}
        self.fixed: set[int] = set()
        self.count = 0
        self._numbers: dict[tuple[str, Any, Any], int] = {}

    def symint(self, example: int) -> SymInt:
        """The next size."""
        self.count += 1
        return SymInt(self, self.node(SIZE, self.count - 1, 0), example)

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
                return x.node, x.value
            x = x.value
        elif kind is not int:
            if not isinstance(x, (int, float, np.integer, np.floating)):
                return None
            x = x.item() if isinstance(x, np.generic) else int(x) if kind is bool else x
        return self.node(CONSTANT, x, repr(x) if type(x) is float else 0), x  # 0, 0.0 and -0.0 are equal

    def made(self, op: str, a: tuple[int, Any], b: tuple[int, Any]) -> SymNumber:
        """What an operation makes of two operands."""
        value = (COMPUTED.get(op) or OF_ONE[op])(a[1], b[1])
        return (SymInt if type(value) is int else SymFloat)(self, self.node(op, a[0], b[0]), value)

    def settled(self, x: Any) -> Any:
        """A number, plain if it is computed from what is fixed alone."""
        if type(x) is int or not self.fixed:
            return x
        missing, pending = {x.node}, [x.node]
        while pending:
            at = pending.pop()
            op, a, b = self.nodes[at]
            if op == SIZE and at not in self.fixed:
                return x
            if op not in (SIZE, CONSTANT) and at not in self.fixed:
                more = {a, b} - missing
                missing |= more
                pending += more
        return x.value

    def undo(self, guards: int) -> None:
        """Forget all guards but the first so many: what they decided has come to nothing."""
        while len(self.guards) > guards:
            self.guards.popitem()


class Formulas:
    """Numbers as formulas of sizes, and the guards under which they are those.

    Tables that have been asked for one of the numbers have found equal ones and no others. So numbers that differ must
    differ, and differ from the `constants` that tables have been asked for, too.
    """

    def __init__(self, sizes: SymSizes, results: Iterable[Any], constants: Iterable[int] = ()) -> None:
        self._nodes, self._count = sizes.nodes, sizes.count
        self._places: dict[int, int] = {}
        self._begin: list[Any] = [0] * sizes.count  # the sizes, and the constants
        self._steps: list[tuple[Callable[[Any, Any], Any], int, int, bool | None]] = []
        wanted = [operand[0] for x in results if (operand := sizes.operand(x))]
        for k, (op, a, _) in enumerate(self._nodes):
            if op == SIZE:
                self._places[k] = a
            elif op == CONSTANT:
                self._places[k] = len(self._begin)
                self._begin.append(a)
        for (relation, a, b), holds in sizes.guards.items():
            self._steps.append((COMPARED[relation], self._place(a), self._place(b), holds))
        self._apart = [self._place(node) for node in {n: node for node, n in sizes.hashed.items()}.values()]
        self._constants = {n for n in constants if type(n) is int} - {*sizes.hashed.values()}
        self._results = [self._place(node) for node in wanted]

    def _place(self, node: int) -> int:
        """Where the value of a node lies, with steps that make it if there are none yet."""
        missing: set[int] = set()
        pending = [node]
        while pending:
            at = pending.pop()
            if at not in self._places and at not in missing:
                missing.add(at)
                pending += self._nodes[at][1:]
        for at in sorted(missing):
            op, a, b = self._nodes[at]
            self._places[at] = len(self._places)
            self._steps.append((COMPUTED.get(op) or OF_ONE[op], self._places[a], self._places[b], None))
        return self._places[node]

    def at(self, sizes: Iterable[int]) -> tuple[Any, ...] | None:
        """The numbers at some sizes; None where a guard does not hold."""
        values = self._begin.copy()
        values[: self._count] = sizes
        try:
            for compute, a, b, want in self._steps:
                made = compute(values[a], values[b])
                if want is None:
                    values.append(made)
                elif made is not want:
                    return None
        except (ArithmeticError, ValueError):  # the numbers are none for which it would be computed
            return None
        apart = {values[k] for k in self._apart}
        if len(apart) != len(self._apart) or not apart.isdisjoint(self._constants):
            return None
        return tuple([values[k] for k in self._results])


class SymNumber:
    """A number of an example, and the node that computes it."""

    __slots__ = ("node", "sizes", "value")
    __array_ufunc__ = None  # NumPy's numbers leave operations to it

    def __init__(self, sizes: SymSizes, node: int, value: Any) -> None:
        self.sizes, self.node, self.value = sizes, node, value

    def plain(self) -> Any:
        """The number, which is the same from now on at all sizes."""
        assert self == self.value  # which notes it
        self.sizes.fixed.add(self.node)
        return self.value

    def made(self, op: str) -> Any:
        """What an operation makes of it."""
        operand = self.node, self.value
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
        return f"<{self.value}>"

    def __str__(self) -> str:
        return str(self.plain())

    def __format__(self, spec: str) -> str:
        return format(self.plain(), spec)

    def __hash__(self) -> int:
        return hash(self.plain())


class SymInt(SymNumber):
    """A whole number; for `isinstance` it is an int, for what is written in C it is none and must ask for it."""

    __slots__ = ()
    __class__ = property(lambda self: int)  # type: ignore[assignment]

    def __index__(self) -> int:
        return self.plain()

    def __hash__(self) -> int:
        self.sizes.hashed[self.node] = self.value
        return hash(self.value)

    def bit_length(self) -> Any:
        """As int's."""
        return self.made("bit_length")


class SymFloat(SymNumber):
    """A float."""

    __slots__ = ()
    __class__ = property(lambda self: float)  # type: ignore[assignment]
    __hash__ = SymNumber.__hash__


def rough(x: Any, most: int) -> Any:
    """A number for a choice of speed alone: the example's serves all of as many binary digits, and all above `most`."""
    if type(x) is not SymInt:
        return x
    digits = smaller(x, most).bit_length()
    assert digits == min(x.value, most).bit_length()  # which notes it
    return x.value


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, which decides nothing yet."""
    for x in (a, b):
        if isinstance(x, SymNumber):
            first, second = x.sizes.operand(a), x.sizes.operand(b)
            assert first is not None and second is not None
            return x.sizes.made("min", first, second)
    return min(a, b)


def _operator(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    neutral, either = NEUTRAL.get(op), op in ("add", "mul")

    def forward(self: SymNumber, other: Any) -> Any:
        if type(other) is int and type(self) is SymInt:
            if other == neutral:
                return self
            if other == 0 and op == "mul":
                return 0
        operand = self.sizes.operand(other)
        return NotImplemented if operand is None else self.sizes.made(op, (self.node, self.value), operand)

    def reflected(self: SymNumber, other: Any) -> Any:
        if either:
            return forward(self, other)
        operand = self.sizes.operand(other)
        return NotImplemented if operand is None else self.sizes.made(op, operand, (self.node, self.value))

    return forward, reflected


def _comparison(relation: str) -> Callable[[Any, Any], Any]:
    compare = COMPARED[relation]

    def compared(self: SymNumber, other: Any) -> Any:
        operand = self.sizes.operand(other)
        if operand is None:
            return NotImplemented
        holds = compare(self.value, operand[1])
        if operand[0] != self.node:
            self.sizes.guards[relation, self.node, operand[0]] = holds
        return holds

    return compared


for _op in COMPUTED.keys() - {"min"}:
    _forward, _reflected = _operator(_op)
    setattr(SymNumber, f"__{_op.rstrip('_')}__", _forward)
    setattr(SymNumber, f"__r{_op.rstrip('_')}__", _reflected)
for _relation in COMPARED:
    setattr(SymNumber, f"__{_relation}__", _comparison(_relation))


__all__ = ["Formulas", "SymFloat", "SymInt", "SymSizes", "rough", "smaller"]
