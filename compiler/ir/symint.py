"""Numbers that know how they were computed from sizes: what is made with them once serves all sizes that go the same
way.

    sizes = SymSizes()
    n = sizes.symbol(40)                 the first size, 40 in this example
    steps = n // 8 if n > 16 else n      5, noted: it is n // 8, and n > 16 must hold
    formulas = Formulas()
    formulas.add(sizes, [steps], "code")
    formulas.at([60])                    (7,), "code"
    formulas.at([10])                    None: no way is known

A `SymInt` computes as its number does, and remembers the expression. A comparison is decided by the numbers and noted
as a guard; whatever needs a plain number (an index, a range, text) gets it, and the guard is that it stays so. So a
program that is given SymInts does what it would do with the numbers, and for every size at which the guards hold it
would do the same with other numbers: those of the expressions. This is concolic execution (Godefroid, Klarlund, Sen:
DART, PLDI 2005); the names are those of PyTorch's symbolic shapes.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor")
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
    guards   comparisons of two nodes, and how they have come out; numbers that must stay what they are
    hashed   nodes that a table has been asked for, and their numbers: it finds equal ones and no others
    """

    def __init__(self) -> None:
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

    def undo(self, guards: int) -> None:
        """Forget all guards but the first so many: what they decided has come to nothing."""
        while len(self.guards) > guards:
            self.guards.popitem()


Step = tuple[Callable[[Any, Any], Any], int, int]
"""A number from two others, by their places among the values."""


class Branch:
    """A guard of a decision tree, or an end of it.

    steps      what is computed before the guard
    guard      what decides; None where no way goes on
    following  where ways have gone on, by what has come out
    ends       the ways that end here
    other      a branch for ways that have asked for something else here: a table finds what is equal by chance
    """

    __slots__ = ("steps", "guard", "following", "ends", "other")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.guard: Step | None = None
        self.following: dict[Any, Branch] = {}
        self.ends: list[End] = []
        self.other: Branch | None = None

    def at(self, steps: list[Step], guard: Step) -> Branch:
        """This branch, or the other one that has this guard."""
        branch = self
        while branch.guard is not None and (branch.guard, branch.steps) != (guard, steps):
            branch.other = branch.other or Branch()
            branch = branch.other
        branch.steps, branch.guard = steps, guard
        return branch


class End(NamedTuple):
    """A way: what is computed at its end, where the results lie, and what they are for.

    Tables that have been asked for a number on the way have found equal ones and no others. So the numbers at `apart`
    must differ, and be none of the `constants`.
    """

    steps: list[Step]
    results: list[int]
    apart: list[int]
    constants: set[int]
    made: Any


class Formulas:
    """Numbers as formulas of sizes, by the way that a computation goes at these: a decision tree over its guards.

    Two ways are the same up to the first comparison that comes out another way, so one walk through the tree tells
    which of them is gone at some sizes, if it has been gone before.
    """

    def __init__(self) -> None:
        self.root, self.count = Branch(), 0

    def add(self, sizes: SymSizes, results: Iterable[Any], made: Any, constants: Iterable[Any] = ()) -> None:
        """A way that has been gone, what it computes and what for; `constants` may be in tables with its sizes."""
        places = _Places(sizes)
        at = self.root
        for (relation, a, b), came in sizes.guards.items():
            guard = GUARDS[relation], places.of(a), places.of(b)
            at = at.at(places.taken(), guard)
            at = at.following.setdefault(came, Branch())
        found = [places.of(operand[0]) for x in results if (operand := sizes.operand(x))]
        apart = [places.of(node) for node in {n: node for node, n in sizes.hashed.items()}.values()]
        others = {n for n in constants if type(n) is int} - {*sizes.hashed.values()}
        at.ends = [End(places.taken(), found, apart, others, made), *at.ends]
        self.count += 1

    def at(self, sizes: Iterable[int]) -> tuple[tuple[Any, ...], Any] | None:
        """The numbers at some sizes, and what they are for; None where no way is known."""
        pending = [(self.root, list(sizes))]
        while pending:
            at, values = pending.pop()
            try:
                while True:
                    for end in at.ends:
                        found = _ended(end, values)
                        if found is not None:
                            return found, end.made
                    if at.other is not None:
                        pending.append((at.other, values.copy()))
                    if at.guard is None:
                        break
                    for compute, a, b in at.steps:
                        values.append(compute(values[a], values[b]))
                    compute, a, b = at.guard
                    at = at.following[compute(values[a], values[b])]
            except (KeyError, ArithmeticError, ValueError):  # of numbers that go another way some are not computed
                continue
        return None


def _ended(end: End, values: list[Any]) -> tuple[Any, ...] | None:
    values = values.copy()
    for compute, a, b in end.steps:
        values.append(compute(values[a], values[b]))
    apart = {values[k] for k in end.apart}
    if len(apart) != len(end.apart) or not apart.isdisjoint(end.constants):
        return None
    return tuple([values[k] for k in end.results])


class _Places:
    """Where the values of nodes lie: after the sizes, in the order in which they are asked for."""

    def __init__(self, sizes: SymSizes) -> None:
        self._nodes, self._steps = sizes.nodes, list[Step]()
        self._places = {k: node.a for k, node in enumerate(sizes.nodes) if node.op == SIZE}
        self._count = sizes.count

    def of(self, node: int) -> int:
        """The place of a node's value, with steps that make it if there are none yet."""
        missing: set[int] = set()
        pending = [node]
        while pending:
            at = pending.pop()
            if at not in self._places and at not in missing:
                missing.add(at)
                op, a, b = self._nodes[at]
                pending += () if op == CONSTANT else (a, b)
        for at in sorted(missing):  # operands first
            op, a, b = self._nodes[at]
            if op == CONSTANT:
                self._steps.append((_constant(type(a), repr(a)), 0, 0))
            else:
                self._steps.append((COMPUTED.get(op) or OF_ONE[op], self._places[a], self._places[b]))
            self._places[at] = self._count
            self._count += 1
        return self._places[node]

    def taken(self) -> list[Step]:
        """The steps since the last time."""
        taken, self._steps = self._steps, []
        return taken


@functools.lru_cache(4096)
def _constant(kind: type, text: str) -> Callable[[Any, Any], Any]:
    number = kind(text)
    return lambda *_: number


class SymNumber:
    """A number of an example, and the node that computes it."""

    __slots__ = ("node", "sizes", "value")
    __array_ufunc__ = None  # NumPy's numbers leave operations to it

    def __init__(self, sizes: SymSizes, node: int, value: Any) -> None:
        self.sizes, self.node, self.value = sizes, node, value

    def plain(self) -> Any:
        """The number, which is the same from now on at all sizes."""
        self.sizes.guards[VALUE, self.node, self.node] = self.value
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
        self.sizes.hashed[self.node] = self.value
        return hash(self.value)


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
    return x.value


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
            assert first is not None and second is not None
            return x.sizes.made(op, first, second)
    return COMPUTED[op](a, b)


def example(x: Any) -> Any:
    """The number of the example, where any would do."""
    return x.value if isinstance(x, SymNumber) else x


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


for _op in COMPUTED.keys() - {"min", "max"}:
    _forward, _reflected = _operator(_op)
    setattr(SymNumber, f"__{_op.rstrip('_')}__", _forward)
    setattr(SymNumber, f"__r{_op.rstrip('_')}__", _reflected)
for _relation in COMPARED:
    setattr(SymNumber, f"__{_relation}__", _comparison(_relation))


__all__ = ["Formulas", "SymFloat", "SymInt", "SymNumber", "SymSizes", "example", "larger", "rough", "smaller"]
