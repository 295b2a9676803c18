"""Expressions of one shape, and the one that stands for them all: what a person would write a loop for.

    sin(x0*x1), 2*sin(x2*x1), sin(x2*x3)     c * sin(a*b), with the columns c = 1, 2, 1; a = x0, x1, x2; b = x1, x2, x3

Expressions are of one shape where they differ in arguments and coefficients only, whatever order SymPy has put their
factors in. Each place in which they differ is a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from ....compiler.ops.expression import FUNCTIONS
from ..shared.library import codegen_module, sympy_module
from .functions import SPECIAL

FEWEST = 8
"""The fewest expressions that become one: from here on code over arrays compiles and runs faster than code for each."""

LARGEST = 64
"""The most arguments of an expression that is compared with others, so that comparing takes linear time."""


class TermShape(NamedTuple):
    """What expressions are compared by: `key` is a number for all of one but its arguments and coefficients."""

    key: int
    order: tuple[int, ...]  # of the arguments, which decides between factors that are alike
    size: int


class Member(NamedTuple):
    """An expression of a group: its number, and the coefficient and factor that it consists of."""

    number: int
    order: tuple[int, ...]
    coefficient: Any
    factor: Any


class Column(NamedTuple):
    """What stands for one place of the expressions, and what each of them has there."""

    symbol: Any
    parts: tuple[Any, ...]


class Group(NamedTuple):
    """Expressions of one shape, by their numbers."""

    template: Any
    columns: tuple[Column, ...]
    numbers: tuple[int, ...]


def groups_of(exprs: Sequence[Any], places: Mapping[Any, int], uses: Uses, sort: bool) -> list[Group]:
    """The groups that are worth it, in the order of their arguments if `sort` says that no other order matters.

    `places` has a number for each argument.
    """
    shapes, found = Shapes(places), dict[int, list[Member]]()
    for number, coefficient, factor in _many(exprs):
        shape = shapes.of(factor)
        if shape is not None:
            found.setdefault(shape.key, []).append(Member(number, shape.order, coefficient, factor))
    groups = []
    for members in found.values():
        if sort:
            members.sort(key=lambda member: member.order)
        for each in _runs(members):
            alone = len(each) >= FEWEST and uses.are_own([exprs[member.number] for member in each])
            group = _group(each, shapes) if alone else None
            if group is not None:
                groups.append(group)
    return groups


def _many(exprs: Sequence[Any]) -> list[tuple[int, Any, Any]]:
    """Number, coefficient and factor of the expressions of whose class and number of parts there are enough."""
    found: dict[Any, list[tuple[int, Any, Any]]] = {}
    for number, e in enumerate(exprs):
        if hasattr(e, "as_coeff_Mul") and not e.is_Matrix:
            coefficient, factor = e.as_coeff_Mul()
            found.setdefault((type(factor), len(factor.args)), []).append((number, coefficient, factor))
    return sorted(each for some in found.values() if len(some) >= FEWEST for each in some)


def _runs(members: list[Member]) -> list[list[Member]]:
    """Members whose arguments are evenly spaced, if these are most: a ring is a chain and one more."""
    first = longest = 0, 0
    before = None
    for k in range(1, len(members)):
        step = tuple(b - a for a, b in zip(members[k - 1].order, members[k].order, strict=True))
        first = (first[0], k) if step == before else (k - 1, k)
        before = step
        longest = max(longest, first, key=lambda run: run[1] - run[0])
    begin, end = longest[0], longest[1] + 1
    if 4 * (end - begin) < 3 * len(members):
        return [members]
    return [members[begin:end], members[:begin] + members[end:]]


class Uses:
    """How many expressions each function of a formula is a part of, so that none is computed twice for being in two."""

    def __init__(self, exprs: Sequence[Any]) -> None:
        self._count = _parents(exprs)

    def are_own(self, members: Sequence[Any]) -> bool:
        """Whether most of the functions in the members are in nothing else."""
        inside = _parents(members)
        elsewhere = sum(self._count.get(e, 0) > count for e, count in inside.items())
        return 2 * elsewhere <= len(inside)


def _parents(exprs: Sequence[Any]) -> dict[Any, int]:
    """Of each function in expressions the number of expressions that it is a part of, with itself where it is one."""
    found: dict[Any, int] = {}
    seen: set[Any] = set()
    stack = list(dict.fromkeys(exprs))
    for e in stack:
        if _is_costly(e):
            found[e] = 1
    while stack:
        e = stack.pop()
        if e in seen or not e.args:
            continue
        seen.add(e)
        for x in dict.fromkeys(e.args):
            if _is_costly(x):
                found[x] = found.get(x, 0) + 1
            stack.append(x)
    return found


def _is_costly(e: Any) -> bool:
    return e.is_Function or (e.is_Pow and not e.exp.is_Integer)


# ---- shapes


class Shapes:
    """The shapes of expressions over arguments, of which `places` has the numbers."""

    def __init__(self, places: Mapping[Any, int]) -> None:
        self.places = places
        self._found: dict[Any, TermShape | None] = {}
        self._numbers: dict[Any, int] = {}
        self._elementwise, self._commutative = _elementwise(), _commutative()

    def of(self, e: Any) -> TermShape | None:
        """None where it is too large, or has what is not computed element by element."""
        stack = [e]
        while stack:
            now = stack.pop()
            if now in self._found:
                continue
            kind = type(now)
            alone = kind not in self._elementwise or self.is_argument(now)
            inner = [] if alone else self._inner(now)
            waiting = [x for x in inner if x not in self._found]
            if not waiting:
                self._found[now] = self._alone(now) if alone else self._made(now, inner)
            elif len(stack) > LARGEST:
                return None
            else:
                stack += [now, *waiting]
        return self._found[e]

    def is_argument(self, e: Any) -> bool:
        return not e.is_Number and not e.is_Matrix and e in self.places

    def is_even(self, parts: Sequence[Any]) -> bool:
        """Whether parts are one, numbers, or arguments at even distances."""
        if len(set(parts)) == 1 or all(part.is_Number for part in parts):
            return True
        if not all(map(self.is_argument, parts)):
            return False
        return len({self.places[b] - self.places[a] for a, b in pairwise(parts)}) == 1

    def parts(self, e: Any) -> list[Any]:
        """The parts that may differ, factors of other shapes and then of other arguments one after the other."""
        inner = self._inner(e)
        return sorted(inner, key=self._of_known) if type(e) in self._commutative else inner

    def _inner(self, e: Any) -> list[Any]:
        """The parts that may differ: numbers only where their order doesn't matter; exponents have rules by value."""
        return list(e.args) if type(e) in self._commutative else [x for x in e.args if not x.is_Number]

    def _of_known(self, e: Any) -> TermShape:
        shape = self._found[e]
        assert shape is not None, "parts of an expression that has a shape"
        return shape

    def _alone(self, e: Any) -> TermShape | None:
        """The shape of what is not put together."""
        if self.is_argument(e):
            return self._shape("argument", (self.places[e],), 1)
        if e.is_Number:
            return self._shape("number", (), 1) if e.is_finite else None
        if e.is_Atom:
            return self._shape(e, (), 1) if e.is_number or e in (True, False) else None
        return None

    def _made(self, e: Any, inner: Sequence[Any]) -> TermShape | None:
        """The shape of a function of parts that have one."""
        shapes: list[Any] = [self._found[x] for x in inner]
        if None in shapes:
            return None
        size = 1 + sum([shape.size for shape in shapes])
        if size > LARGEST:
            return None
        if len(shapes) > 1 and type(e) in self._commutative:
            shapes.sort()
        fixed = tuple([x if x.is_Number else None for x in e.args]) if len(shapes) < len(e.args) else ()
        key = type(e), tuple([shape.key for shape in shapes]), fixed
        return self._shape(key, tuple([place for shape in shapes for place in shape.order]), size)

    def _shape(self, key: Any, order: tuple[int, ...], size: int) -> TermShape:
        return TermShape(self._numbers.setdefault(key, len(self._numbers)), order, size)


@cache
def _elementwise() -> frozenset[type]:
    """The classes of what is computed element by element."""
    sympy, codegen = sympy_module(), codegen_module()
    from sympy.functions.elementary.piecewise import ExprCondPair

    places = [sympy, codegen.cfunctions, codegen.numpy_nodes, codegen.scipy_nodes]
    found = [getattr(place, name) for name in (*FUNCTIONS, *SPECIAL) for place in places if hasattr(place, name)]
    return frozenset([*found, sympy.Add, sympy.Mul, sympy.Pow, sympy.Piecewise, ExprCondPair])


@cache
def _commutative() -> frozenset[type]:
    """The classes whose parts have the order that SymPy gives them."""
    sympy = sympy_module()

    return frozenset([sympy.Add, sympy.Mul, sympy.Max, sympy.Min, sympy.And, sympy.Or, sympy.Xor])


# ---- one expression for all


def _group(members: Sequence[Member], shapes: Shapes) -> Group | None:
    """None where little of the expressions is their own."""
    sympy = sympy_module()
    columns: dict[tuple[Any, ...], Any] = {}

    def column(parts: tuple[Any, ...]) -> Any:
        return columns.setdefault(parts, sympy.Dummy(f"c{len(columns)}"))

    factors = [member.factor for member in members]
    template = _template(factors, shapes, column)
    if not columns or (template in columns.values() and not shapes.is_argument(factors[0])):
        return None
    coefficients = tuple(member.coefficient for member in members)
    if any(c != 1 for c in coefficients):
        factor = coefficients[0] if len(set(coefficients)) == 1 else column(coefficients)
        template = sympy.Mul(factor, template, evaluate=False)
    made = tuple(Column(symbol, parts) for parts, symbol in columns.items())
    if not _parents([template]) and not all(shapes.is_even(column.parts) for column in made):
        return None  # to put the arguments together would be as much work as all the rest
    return Group(template, made, tuple(member.number for member in members))


def _template(parts: Sequence[Any], shapes: Shapes, column: Callable[..., Any]) -> Any:
    """One part for those that stand at one place of the expressions. They are small, so this may recurse."""
    first, distinct = parts[0], len(set(parts))
    if distinct == 1 and not first.free_symbols:
        return first
    if distinct == 1 or first.is_Number or shapes.is_argument(first) or 2 * distinct <= len(parts):
        return column(tuple(parts))  # what few share is computed once for each of them, not once for each
    inner = [shapes.parts(x) for x in parts]
    made = [_template(each, shapes, column) for each in zip(*inner, strict=True)]
    if type(first) in _commutative():
        return first.func(*made, evaluate=False)
    of = iter(made)
    return first.func(*[x if x.is_Number else next(of) for x in first.args])


__all__ = ["Column", "Group", "Uses", "groups_of"]
