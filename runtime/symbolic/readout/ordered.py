"""Elements in order and where they stand, as expressions: sorts, searches and places of extremes of few elements.

    order_statistic()(1, x, y, z)      the second smallest of three, which is x if y < x < z
    order_place()(1, x, y, z)          where among them it stands: 0 then

The least and the greatest are Min and Max. Both are piecewise: an order statistic has the derivative of the element
that it is, and a place has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ....compiler.ir.graph import Op
from ....compiler.ops import ordering
from ....compiler.ops.expression import Plan
from ..shared.library import sympy_module
from .elements import BY_CASES, EXPLICIT, NoExpression, SymbolicArray


def _are_numbers(xs: Sequence[Any]) -> bool:
    return all(x.is_number and x.is_comparable for x in xs)


def _at(k: Any, n: int) -> int | None:
    """A rank, if it is known and there."""
    return int(k) if k.is_Integer and 0 <= k < n else None


@cache
def order_statistic() -> Any:
    """The class of values by their rank, made when SymPy is there."""
    sympy = sympy_module()

    class OrderStatistic(sympy.Function):
        """The element of rank k, from 0 on, among those after it."""

        @classmethod
        def eval(cls, k: Any, *xs: Any) -> Any:
            at = _at(k, len(xs))
            if at is None:
                return None
            if at in (0, len(xs) - 1):
                return (sympy.Max if at else sympy.Min)(*xs)
            return sorted(xs)[at] if _are_numbers(xs) else None

        def _eval_is_real(self) -> Any:
            return True if all(x.is_real for x in self.args[1:]) else None

        def _eval_evalf(self, prec: int) -> Any:
            return self.func(self.args[0], *[x._evalf(prec) for x in self.args[1:]])

        def _eval_derivative(self, s: Any) -> Any:
            place = order_place()(*self.args)
            slopes = [(x.diff(s), j) for j, x in enumerate(self.args[1:])]
            return sympy.Add(*[sympy.Piecewise((d, sympy.Eq(place, j)), (0, True)) for d, j in slopes if d != 0])

        def _latex(self, printer: Any, exp: Any = None) -> str:
            return _latex(self, printer, r"\operatorname{sorted}", exp)

    return OrderStatistic


@cache
def order_place() -> Any:
    """The class of places by rank: equal elements as they stand."""
    sympy = sympy_module()

    class OrderPlace(sympy.Function):
        """Where the element of rank k stands among those after it, both from 0 on."""

        is_integer = True
        is_nonnegative = True

        @property
        def ends(self) -> tuple[int, int]:
            """The least and the greatest value."""
            return 0, len(self.args) - 2

        def chosen(self, xs: Sequence[Any]) -> Any:
            """The element that stands there, if these are the elements; None for others."""
            return order_statistic()(*self.args) if tuple(xs) == self.args[1:] else None

        @classmethod
        def eval(cls, k: Any, *xs: Any) -> Any:
            at = _at(k, len(xs))
            if at is None or not (len(xs) == 1 or _are_numbers(xs)):
                return None
            return sympy.Integer(sorted(range(len(xs)), key=lambda j: (xs[j], j))[at])

        def _eval_evalf(self, prec: int) -> Any:
            return self.func(self.args[0], *[x._evalf(prec) for x in self.args[1:]])

        def _eval_derivative(self, s: Any) -> Any:
            return sympy.S.Zero

        def _latex(self, printer: Any, exp: Any = None) -> str:
            return _latex(self, printer, r"\operatorname{argsort}", exp)

    return OrderPlace


def _latex(e: Any, printer: Any, name: str, exp: Any) -> str:
    k, *xs = map(printer._print, e.args)
    made = rf"{name}\left({', '.join(xs)}\right)_{{{k}}}"
    return made if exp is None else rf"\left({made}\right)^{{{exp}}}"


# ---- as operations of a graph


def rules() -> dict[type, Any]:
    """How `ExpressionReader` reads both, by their classes."""
    return {order_statistic(): _reading(np.sort), order_place(): _reading(_places)}


def _places(rows: Any, axis: int) -> Any:
    return np.argsort(rows, axis, kind="stable")


def _reading(ordered: Callable[..., Any]) -> Callable[[Any, Any, Mapping[Any, Any]], Plan]:
    def read(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
        k, *xs = e.args
        known = _at(k, len(xs))

        def join(m: Any, *terms: Any) -> Any:
            rows = ordered(np.stack([m.array(m.term(t)) for t in terms[: len(xs)]]), axis=0)
            if known is not None:
                return m.term(rows[known] * 1.0)
            rank = np.astype(m.array(m.term(terms[-1])), np.int64)
            return m.term(np.take_along_axis(rows, rank[None], 0)[0] * 1.0)

        return Plan((e.func, len(xs), known), xs if known is not None else (*xs, k), join)

    return read


# ---- off operations of a graph


def _row(x: SymbolicArray, lead: Sequence[Any]) -> list[Any]:
    """The elements along the last axis."""
    if x.shape[-1] > EXPLICIT:
        raise NoExpression(f"sympy() reads the order of up to {EXPLICIT} elements, and not of {x.shape[-1]}")
    return [x[(*lead, j)] for j in range(x.shape[-1])]


def _ranked(kind: Callable[[], Any]) -> Callable[..., Sequence[SymbolicArray]]:
    def rule(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
        (x,) = args
        return [SymbolicArray(x.shape, lambda *index: kind()(index[-1], *_row(x, index[:-1])))]

    return rule


def _searched(reading: Any, op: Op, args: list[Any]) -> Sequence[SymbolicArray]:
    """How many elements of a row in order are less, or not greater."""
    rows, wanted = args
    lead = len(rows.shape) - 1
    before = reading.m.lt if op.attrs["right"] else reading.m.le

    def element(*index: Any) -> Any:
        sympy = sympy_module()
        row, v = _row(rows, index[:lead]), wanted[index]
        return sympy.Piecewise(*[(j, before(v, x)) for j, x in enumerate(row)], (len(row), True))

    return [SymbolicArray(wanted.shape, element)]


def place_of_greatest(m: Any, xs: Sequence[Any]) -> Any:
    """Where the first of the greatest elements stands: by cases where these are few."""
    sympy = sympy_module()

    if len(xs) > BY_CASES:
        return order_place()(0, *[-x for x in xs])
    cases = [(k, sympy.And(*[m.ge(x, y) for y in xs[k + 1 :]])) for k, x in enumerate(xs)]
    return sympy.Piecewise(*cases)


RULES: dict[Any, Callable[..., Sequence[SymbolicArray]]] = {
    ordering.sort: _ranked(order_statistic),
    ordering.argsort: _ranked(order_place),
    ordering.argpartition: _ranked(order_place),
    ordering.searchsorted: _searched,
}

__all__ = ["RULES", "order_place", "order_statistic", "place_of_greatest", "rules"]
