"""Differences of two values of one function, in forms that keep their digits where both are nearly alike.

    difference(sin(x + y) - sin(x))      2 cos(x + y/2) sin(y/2)

Each is an identity of real analysis wherever the difference is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shared.library import codegen_module, sympy_module


def difference(e: Any) -> Any:
    """c f(u) - c f(v) in another form; None for what is no such difference, or none that gets simpler."""
    if len(e.args) != 2:
        return None
    (c, a), (d, b) = [t.as_coeff_Mul() for t in e.args]
    if c + d != 0:
        return None
    for kind, rule in _rules().items():
        u, v = _argument(a, kind), _argument(b, kind)
        if u is None or v is None:
            continue
        between = sympy_module().expand(u - v)
        made = rule(u, v, between)
        if made is not None:
            return c * made
    return None


def _argument(e: Any, kind: str) -> Any:
    """What a function is of; of 1/u it is u."""
    sympy = sympy_module()

    if kind == "reciprocal":
        return e.base if e.is_Pow and e.exp == -1 else None
    if kind == "log" and isinstance(e, codegen_module().cfunctions.log1p):
        return 1 + e.args[0]
    return e.args[0] if isinstance(e, getattr(sympy, kind)) else None


def _rules() -> dict[str, Callable[[Any, Any, Any], Any]]:
    sympy = sympy_module()
    half = sympy.Rational(1, 2)

    def middle(u: Any, v: Any) -> Any:
        return sympy.expand((u + v) / 2)

    def simpler(u: Any, v: Any, between: Any) -> bool:
        return between.is_number or between.count_ops() < max(u.count_ops(), v.count_ops())

    return {
        "sin": lambda u, v, d: 2 * sympy.cos(middle(u, v)) * sympy.sin(d * half),
        "cos": lambda u, v, d: -2 * sympy.sin(middle(u, v)) * sympy.sin(d * half),
        "tan": lambda u, v, d: sympy.sin(d) / (sympy.cos(u) * sympy.cos(v)),
        "exp": lambda u, v, d: 2 * sympy.sinh(u) if u == -v else None,
        "log": lambda u, v, d: codegen_module().cfunctions.log1p(d / v) if simpler(u, v, d) else None,
        "atan": lambda u, v, d: sympy.atan2(d, 1 + u * v) if simpler(u, v, d) else None,
        "reciprocal": lambda u, v, d: -d / (u * v) if simpler(u, v, d) else None,
    }


__all__ = ["difference"]
