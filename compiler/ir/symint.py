"""Numbers that know how they were computed from sizes: what is made with them once serves all sizes that go the same
way.

    sizes = SymSizes()
    n = sizes.symint(40)                 the first size, 40 in this example
    steps = n // 8 if n > 16 else n      5, noted: it is n // 8, and n > 16 must hold
    at = sizes.function([steps])
    at(60)                               (7,)
    at(10)                               None: the way goes elsewhere

A `SymInt` computes as its number does, and remembers the expression. A comparison is decided by the numbers and noted
as a guard; whatever needs a plain number (an index, a range, text) gets it, and the guard is that it stays so. So a
program that is given SymInts does what it would do with the numbers, and for every size at which the guards hold it
would do the same with other numbers: those of the expressions. This is concolic execution (Godefroid, Klarlund, Sen:
DART, PLDI 2005); the names are those of PyTorch's symbolic shapes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Operand = int | str
"""A node by its number, or a plain number as Python writes it."""

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^",
}  # fmt: skip
NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "pow": 1, "lshift": 0, "rshift": 0}
"""Whole numbers that change nothing on the right."""

COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
PREFIX: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "abs": abs, "float": float, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
    "round": round, "bit_length": int.bit_length,
}  # fmt: skip


class SymSizes:
    """Sizes in an example, what has been computed from them, and what has been decided by it."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, Operand, Operand]] = []
        self.guards: dict[tuple[str, Operand, Operand], bool] = {}
        self.count = 0
        self._numbers: dict[tuple[str, Operand, Operand], int] = {}
        self._hashed: dict[int, int] = {}

    def symint(self, example: int) -> SymInt:
        """The next size."""
        self.count += 1
        return SymInt(self, self._node("size", self.count - 1, ""), example)

    def _node(self, op: str, a: Operand, b: Operand) -> int:
        key = op, a, b
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def made(self, op: str, a: Any, b: Any, value: Any) -> Any:
        """A number that an operation has made."""
        return (SymInt if type(value) is int else SymFloat)(self, self._node(op, self._operand(a), self._operand(b)), value)

    def decided(self, relation: str, a: Any, b: Any, holds: bool) -> bool:
        """Note how a comparison has come out."""
        x, y = self._operand(a), self._operand(b)
        if x != y:
            self.guards[relation, x, y] = holds
        return holds

    def hashed(self, number: SymInt) -> int:
        """Note that a table has been asked for a number, which finds equal ones and no others."""
        self._hashed[number.node] = number.value
        return hash(number.value)

    def _operand(self, x: Any) -> Operand:
        if isinstance(x, SymNumber) and x.sizes is self:
            return x.node
        return repr(plain(x)) if math.isfinite(plain(x)) else f"float({str(plain(x))!r})"

    def undo(self, guards: int) -> None:
        """Forget all guards but the first so many: what they decided has come to nothing."""
        while len(self.guards) > guards:
            self.guards.popitem()

    def function(self, results: Iterable[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """A function of the sizes: the results at them, or None where a guard does not hold."""
        wanted = [self._operand(x) for x in results]
        groups: dict[int, list[int]] = {}
        for node, value in self._hashed.items():
            groups.setdefault(value, []).append(node)
        firsts = [nodes[0] for nodes in groups.values()]
        lines, written = [f"def at({', '.join(f's{k}' for k in range(self.count))}):"], [False] * len(self.nodes)

        def need(*operands: Operand) -> None:
            pending = [x for x in operands if isinstance(x, int)]
            while pending:
                node = pending[-1]
                op, a, b = self.nodes[node]
                missing = [x for x in (a, b) if isinstance(x, int) and not written[x]] if op != "size" else []
                if missing and not written[node]:
                    pending += missing
                    continue
                pending.pop()
                if not written[node]:
                    written[node] = True
                    lines.append(f" {name(node)} = {self._text(op, a, b, name)}")

        def name(x: Operand) -> str:
            return f"t{x}" if isinstance(x, int) else x

        for (relation, a, b), holds in self.guards.items():
            need(a, b)
            test = f"{name(a)} {COMPARED[relation]} {name(b)}"
            lines.append(f" if not ({test}): return None" if holds else f" if {test}: return None")
        if len(firsts) > 1:  # those that were found to differ differ
            need(*firsts)
            lines.append(f" if len({{{', '.join(map(name, firsts))}}}) != {len(firsts)}: return None")
        need(*wanted)
        lines.append(f" return ({''.join(name(x) + ', ' for x in wanted)})")
        scope: dict[str, Any] = dict(PREFIX)
        exec("\n".join(lines), scope)  # numbers, and names made here: nothing of it comes from outside
        return scope["at"]

    def _text(self, op: str, a: Operand, b: Operand, name: Callable[[Operand], str]) -> str:
        if op == "size":
            return f"s{a}"
        return f"{name(a)} {INFIX[op]} {name(b)}" if op in INFIX else f"{op}({name(a)})"


class SymNumber:
    """A number of an example, and the node that computes it."""

    __slots__ = ("node", "sizes", "value")
    __array_ufunc__ = None  # NumPy's numbers leave operations to it

    def __init__(self, sizes: SymSizes, node: int, value: Any) -> None:
        self.sizes, self.node, self.value = sizes, node, value

    def plain(self) -> Any:
        """The number, which is the same from now on at all sizes."""
        self.sizes.decided("eq", self, self.value, True)
        return self.value

    def made(self, op: str) -> Any:
        """What an operation makes of it."""
        value = PREFIX[op](self.value)
        return self.sizes.made(op, self, 0, value)

    def __bool__(self) -> bool:
        return self.sizes.decided("ne", self, 0, self.value != 0)

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
        return self.sizes.hashed(self)

    def bit_length(self) -> Any:
        """As int's."""
        return self.made("bit_length")


class SymFloat(SymNumber):
    """A float."""

    __slots__ = ()
    __class__ = property(lambda self: float)  # type: ignore[assignment]
    __hash__ = SymNumber.__hash__


def plain(x: Any) -> Any:
    """The number of the example."""
    if isinstance(x, SymNumber):
        return x.value
    return x.item() if isinstance(x, np.generic) else x


def rough(x: Any) -> Any:
    """The number of the example, for a choice of speed alone; it serves all numbers of as many binary digits."""
    if type(x) is not SymInt:
        return x
    x.sizes.decided("eq", x.bit_length(), x.value.bit_length(), True)
    return x.value


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating))


def _operator(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    compute = getattr(operator, op)

    def forward(self: SymNumber, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        if type(other) is int and type(self) is SymInt:
            if other == NEUTRAL.get(op):
                return self
            if other == 0 and op == "mul":
                return 0
        return self.sizes.made(op, self, other, compute(self.value, plain(other)))

    def reflected(self: SymNumber, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        if op in ("add", "mul"):
            return forward(self, other)
        return self.sizes.made(op, other, self, compute(plain(other), self.value))

    return forward, reflected


def _comparison(relation: str) -> Callable[[Any, Any], Any]:
    compare = getattr(operator, relation)

    def compared(self: SymNumber, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return self.sizes.decided(relation, self, other, compare(self.value, plain(other)))

    return compared


for _op in INFIX:
    _forward, _reflected = _operator(_op)
    setattr(SymNumber, f"__{_op.rstrip('_')}__", _forward)
    setattr(SymNumber, f"__r{_op.rstrip('_')}__", _reflected)
for _relation in COMPARED:
    setattr(SymNumber, f"__{_relation}__", _comparison(_relation))


__all__ = ["SymFloat", "SymInt", "SymSizes", "plain", "rough"]
