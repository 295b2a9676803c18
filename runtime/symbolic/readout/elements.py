"""Arrays of expressions: what an element is at indices that are whole numbers or expressions themselves.

    x = parameter(IndexedBase("x"), (3,))      x[1] is x[1], x[k + 1] is x[k + 1]
    y = SymbolicArray((3,), lambda i: x[i] ** 2)

Up to `EXPLICIT` elements are made at once, so that their number does not add to the depth of a reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from ....compiler.loops import Affine, Apply, Component, Element, Guarded, Number, Position, Variable
from ....compiler.ops import elementwise as E
from ....compiler.ops.algebras import COMPARISONS, Symbols
from ..shared.library import sympy_module
from ..shared.parts import found
from ..shared.work import an_element
from .cases import assumed, compared, either, is_condition

EXPLICIT = 64
"""The most elements of an array that are read out one by one; of larger ones a formula of the indices."""


BY_CASES = 8
"""The most elements that are told apart by cases of the index where one is asked for."""


BY_FORMULA: ContextVar[bool] = ContextVar("BY_FORMULA", default=False)
"""Whether an element at an index that is not known is asked for only if a formula tells it."""


class NoExpression(TypeError):
    """A graph that no expression can be read off."""


class Undecided(Exception):
    """A condition on an index that was to be told where it runs from and to, and is not."""


class SymbolicArray:
    """The elements of an array of this shape: `value` makes the one at an index, each only once."""

    def __init__(self, shape: tuple[int, ...], value: Callable[..., Any], base: bool = False) -> None:
        self.shape, self.value, self.base = shape, value, base
        self.made: dict[tuple[Any, ...], Any] = {}
        if self.explicit and not base:
            for index in np.ndindex(*shape):
                self[index]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def explicit(self) -> bool:
        return self.size <= EXPLICIT

    def __getitem__(self, index: Sequence[Any]) -> Any:
        key = tuple([int(i) if getattr(i, "is_Integer", True) else i for i in index])
        if key not in self.made:
            axis = next((a for a, i in enumerate(key) if not isinstance(i, int) and by_cases(i)), None)
            if axis is not None:
                cases = [(self[(*key[:axis], i, *key[axis + 1 :])], p) for i, p in by_cases(key[axis])]
                self.made[key] = sympy_module().Piecewise(*cases)
                return self.made[key]
            choice: Any = getattr(key[0], "chosen", None) if len(key) == 1 and self.explicit else None
            if choice is not None and (chosen := choice(self.all())) is not None:
                self.made[key] = chosen
                return chosen
            whole = all(isinstance(i, int) for i in key)
            made = self.value(*key) if whole or self.base or not self.explicit else self._at(key)
            an_element()
            self.made[key] = made
        return self.made[key]

    def _at(self, key: tuple[Any, ...]) -> Any:
        """An element of few, at an index that is not known: by its formula, if there is one that is not too deep."""
        if self.size <= BY_CASES:
            return self._chosen(key)
        try:
            return self.value(*key)
        except (NoExpression, NotImplementedError, TypeError, LookupError, RecursionError):
            return self._chosen(key)

    def _chosen(self, key: tuple[Any, ...]) -> Any:
        """One of few elements, by conditions on the index."""
        sympy = sympy_module()

        if self.size > BY_CASES and BY_FORMULA.get():
            raise NoExpression("sympy() has no formula for the elements of an array")
        axis = next(a for a, i in enumerate(key) if not isinstance(i, int))
        parts = [self[(*key[:axis], n, *key[axis + 1 :])] for n in range(self.shape[axis])]
        if all(p == parts[0] for p in parts):
            return parts[0]
        cases = [(p, sympy.Eq(key[axis], n)) for n, p in enumerate(parts[:-1])]
        return sympy.Piecewise(*cases, (parts[-1], True))

    def all(self) -> list[Any]:
        return [self[index] for index in np.ndindex(*self.shape)]


def by_cases(i: Any) -> list[tuple[Any, Any]]:
    """A whole number that is told by the cases of one Piecewise, as these; nothing for others."""
    sympy = sympy_module()

    places = found(i, sympy.Piecewise) if i.args else []
    if len(places) != 1:
        return []
    (cases,) = places
    made = [(i.xreplace({cases: value}), p) for value, p in cases.args]
    return made if all(value.is_Integer for value, _ in made) else []


def scalar(e: Any) -> SymbolicArray:
    return SymbolicArray((), lambda: e)


def parameter(base: Any, shape: tuple[int, ...]) -> SymbolicArray:
    """The elements of an array that has a name."""
    return SymbolicArray(shape, lambda *index: base[index], base=True)


def table(values: np.ndarray) -> SymbolicArray:
    """Elements that are at hand, as an array of objects."""
    return SymbolicArray(values.shape, lambda *index: values[index])


# ---- the language of `compiler.loops`


class Known(Variable):
    """An element, or a component of an index, that is an expression."""

    __slots__ = ("expr",)

    def __init__(self, expr: Any, dtype: str, low: int | None = None, high: int | None = None) -> None:
        super().__init__("expression", dtype, low, high)
        self.expr = expr


class Formulas(Symbols):
    """SymPy's expressions; of the indices of sums and loops the least and the greatest value is known."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: dict[Any, tuple[int, int]] = {}
        #: indices of which each condition must be decided by where they run
        self.strict: set[Any] = set()
        self._reach: dict[tuple[Any, tuple[int, int]], tuple[Any, Any]] = {}
        self._assumed: dict[tuple[Any, bool], dict[Any, Any]] = {}
        for name in COMPARISONS:
            setattr(self, name, partial(compared, partial(self._related, getattr(self, name))))
        for name in ("minimum", "maximum"):
            setattr(self, name, partial(self._extreme, getattr(self, name), name == "minimum"))

    def _related(self, relation: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
        """A relation, which the least and the greatest values of indices may decide."""
        if getattr(y, "is_Integer", False) and x.free_symbols and x.free_symbols <= self.ranges.keys():
            low, high = self.range_of(x)
            if low is not None and high is not None:
                ends = [relation(sympy_module().Integer(n), y) for n in (low, high)]
                inside = low <= int(y) <= high
                if ends[0] == ends[1] and (not inside or relation(y, y) == ends[0]):
                    return ends[0]
        self._asks(x, y)
        return relation(x, y)

    def _asks(self, *sides: Any) -> None:
        """What asks about an index alone is undecided."""
        asked = set().union(*[x.free_symbols for x in sides])
        if asked & self.strict and asked <= self.ranges.keys():
            raise Undecided

    def _extreme(self, made: Callable[[Any, Any], Any], least: bool, x: Any, y: Any) -> Any:
        """The less (or greater) of two, which the least and the greatest values of indices may decide."""
        asked = {*getattr(x, "free_symbols", ()), *getattr(y, "free_symbols", ())}
        if not asked or not asked <= self.ranges.keys():
            return made(x, y)
        (low, high), (lowest, highest) = map(self._ends, (x, y))
        if high <= lowest or highest <= low:
            return x if (high <= lowest) == least else y
        self._asks(x, y)
        return made(x, y)

    def _ends(self, e: Any) -> tuple[float, float]:
        """The least and the greatest value of a number or of what is made of indices, as far as they are known."""
        low, high = self.range_of(e) if e.free_symbols else (int(e), int(e))
        return -math.inf if low is None else low, math.inf if high is None else high

    def assumed(self, e: Any, p: Any, holds: bool) -> Any:
        """An expression where it is known whether a condition holds."""
        return assumed(e, p, holds, self._assumed.setdefault((p, holds), {}))

    def range_of(self, e: Any) -> tuple[int | None, int | None]:
        """The least and the greatest value of a whole number that is linear in one such index, or says them itself."""
        if hasattr(e, "ends"):
            return e.ends
        (*_, index) = e.free_symbols or (None,)
        if len(e.free_symbols) != 1 or index not in self.ranges or not (e.is_Symbol or e.is_Add or e.is_Mul):
            return None, None
        key = e, self.ranges[index]
        if key not in self._reach:
            ends = [int(e.subs(index, end)) for end in self.ranges[index]] if e.diff(index).is_Integer else []
            self._reach[key] = min(ends, default=None), max(ends, default=None)
        return self._reach[key]


def known(e: Any, dtype: str, m: Formulas) -> Element:
    """An expression as an element; whole numbers may be places."""
    if dtype[0] != "i":
        return Known(e, dtype)
    return Number(int(e), dtype) if e.is_Integer else Known(e, dtype, *m.range_of(e))


def choose(m: Formulas, p: Any, a: Any, b: Any) -> Any:
    """What holds where p does, and elsewhere: a condition where both are such."""
    sympy = sympy_module()

    if p in (sympy.true, sympy.false):
        return a if p == sympy.true else b
    if is_condition(a) and is_condition(b):
        return either(p, a, b)
    a, b = m.assumed(a, p, True), m.assumed(b, p, False)
    return a if a == b else m.select(p, a, b)


ARITHMETIC = {
    each.name: each
    for each in (
        E.add, E.sub, E.mul, E.div, E.neg, E.floordiv, E.mod, E.minimum, E.maximum, E.eq, E.ne, E.lt, E.le, E.gt, E.ge,
        E.and_, E.or_, E.not_, E.abs_,
    )
}  # fmt: skip
"""What indices are computed by."""


def component(i: Any, size: int) -> Component:
    """An index below `size`, as `define` takes it."""
    if isinstance(i, int) or i.is_Integer:
        return Affine((), int(i))
    return Known(i, "i64", 0, size - 1)


def expression(e: Any, m: Formulas) -> Any:
    """A component or an element as an expression; by a loop, since formulas may be deep."""
    sympy = sympy_module()

    if isinstance(e, Affine):
        return sympy.Integer(e.constant)
    if isinstance(e, Known):
        return e.expr
    if isinstance(e, Number):
        return (sympy.true if e.value else sympy.false) if e.dtype == "bool" else sympy.sympify(e.value)
    if isinstance(e, Position):
        return sympy.Integer(e.index.constant)
    if isinstance(e, Guarded):
        inside = all(low <= index.constant < high for index, low, high in e.ranges)
        return expression(e.inside if inside else e.outside, m)
    if isinstance(e, Apply):
        args = [expression(a, m) for a in e.args]
        if len(args) == 3:
            return choose(m, *args)
        if len(args) == 1 and e.dtype == e.args[0].dtype and e.spelling not in ARITHMETIC:
            return args[0]
        if e.spelling in ARITHMETIC:
            return ARITHMETIC[e.spelling].formula(m, *args)
    raise NoExpression("sympy() cannot read an index that is computed like this")


def reads(args: Sequence[SymbolicArray], dtypes: Sequence[str], m: Formulas) -> list[Callable[[Any], Element]]:
    """How `define` reads the arguments of an operation."""

    def reader(x: SymbolicArray, dtype: str) -> Callable[[Any], Element]:
        return lambda index: known(x[[expression(i, m) for i in index]], dtype, m)

    return [reader(x, d) for x, d in zip(args, dtypes, strict=True)]


__all__ = [
    "BY_CASES",
    "BY_FORMULA",
    "EXPLICIT",
    "Formulas",
    "NoExpression",
    "SymbolicArray",
    "Undecided",
    "by_cases",
    "choose",
    "component",
    "expression",
    "parameter",
    "reads",
    "scalar",
    "table",
]  # fmt: skip
