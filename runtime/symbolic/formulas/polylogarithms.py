"""A whole order s >= 3 in, the formula of the polylogarithm Li_s(z) of real z <= 1 out, over any algebra; NaN above 1.

    polylogarithm(3)(m, z)

In four parts, each a short sum, so that derivatives of the parts are those of the function (DLMF 25.12.10 to 25.12.12,
and Wood, The Computation of Polylogarithms, 1992, equations 9.3, 9.5 and 10.3):

    -1/2 <= z <= 1/2    the sum of z**k / k**s
    1/2 < z <= 1        powers of w = -log(z), and w**(s-1) log(w)
    -2 <= z < -1/2      powers of u = log(-z)
    z < -2              a polynomial in u, and the sum for 1/z

From order `QUICK` on the sum does from -1 to 1, and the powers, whose second derivatives cancel there, are not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

from ....compiler.ops.expression import Plan, UnknownFunction
from ..shared.library import sympy_module
from .algebras import load_scipy

HIGHEST = 20
"""The highest order. A second derivative is some 2**-order beside the first, whose last digit is its error."""

SUMMED, BELOW_ONE, NEGATIVE = 64, 24, 36
"""Terms after which third derivatives, too, have all digits: the ratios are 1/2, log(2) / 2 pi and log(2) / pi."""

QUICK = 14
"""From this order on the terms left out are below 1e-18 of the second derivative at 1, too."""


def rules() -> dict[type, Any]:
    return {sympy_module().polylog: _polylog}


def _polylog(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """The dilogarithm is Spence's function of 1 - z; of whole orders below 2 SymPy has closed forms; above are sums."""
    order, z = e.args
    if order == 2:
        load_scipy("spence", reader.complex)
        return Plan(("dilogarithm",), (z,), lambda m, z: m.spence(1.0 - z))
    fix = "modules={'polylog': function} gives one for others"
    if order.is_Integer and order > 2:
        if reader.complex:
            raise UnknownFunction(f"{e}: of orders above 2 polylogarithms of real numbers are computed; {fix}")
        if order > HIGHEST:
            raise UnknownFunction(f"{e}: the order is {order}, and whole orders up to {HIGHEST} are computed; {fix}")
        return Plan(("polylogarithm", int(order)), (z,), polylogarithm(int(order)))
    made = sympy_module().expand_func(e)
    if made.has(type(e)):
        raise UnknownFunction(f"{e}: the order is {order}, and whole orders up to {HIGHEST} are computed; {fix}")
    return Plan(("rewritten", e), (made,), lambda m, term: term)


@cache
def polylogarithm(s: int) -> Callable[[Any, Any], Any]:
    """The formula for one order."""
    return _quick(s) if s >= QUICK else _slow(s)


def _quick(s: int) -> Callable[[Any, Any], Any]:
    sums, outer = _sums(s), _outer(s)

    def formula(m: Any, z: Any) -> Any:
        far, above = m.lt(z, -1.0), m.gt(z, 1.0)
        undefined = m.log(m.select(above, 1.0 - z, 1.0))  # NaN, as are its derivatives
        inverse = 1.0 / m.select(far, z, 1.0)
        summed = _polynomial(sums, m.select(far, inverse, m.select(above, undefined, z)))
        return m.select(far, _inverted(s, _polynomial(outer, m.log(m.select(far, -z, 1.0))), summed), summed)

    return formula


def _slow(s: int) -> Callable[[Any, Any], Any]:
    sums, outer, above = _sums(s), _outer(s), [_zeta(s, k) for k in range(BELOW_ONE)]
    below = [-_eta(s - k) / math.factorial(k) for k in range(NEGATIVE)]

    def formula(m: Any, z: Any) -> Any:
        near, negative, far = m.gt(z, 0.5), m.lt(z, -0.5), m.lt(z, -2.0)
        inverse = 1.0 / m.select(far, z, 1.0)
        summed = _polynomial(sums, m.select(far, inverse, m.select(m.or_(near, negative), 0.0, z)))
        beyond = _inverted(s, _polynomial(outer, m.log(m.select(far, -z, 1.0))), summed)
        middle = _polynomial(below, m.log(m.select(far, 1.0, m.select(negative, -z, 1.0))))
        w = -m.log(m.select(near, z, 0.75))
        ending = _polynomial(above, w) + _logarithmic(m, s, w)
        return m.select(near, ending, m.select(far, beyond, m.select(negative, middle, summed)))

    return formula


def _sums(s: int) -> list[float]:
    return [0.0, *[float(k) ** -s for k in range(1, SUMMED)]]


def _outer(s: int) -> list[float]:
    """The factors of the polynomial in log(-z) that Li_s(z) and (-1)**s Li_s(1/z) are together."""
    made = [0.0] * (s + 1)
    for k in range(s // 2 + 1):
        made[s - 2 * k] = -2.0 * _eta(2 * k) / math.factorial(s - 2 * k)
    return made


def _inverted(s: int, both: Any, other: Any) -> Any:
    return both - other if s % 2 == 0 else both + other


def _logarithmic(m: Any, s: int, w: Any) -> Any:
    """-(-w)**(s-1) / (s-1)! log(w).

    At w = 0 another function stands for w**(s-1) log(w), whose derivatives there are the same up to the first
    infinite one: 0 times infinity would be NaN.
    """
    zero = m.eq(w, 0.0)
    inside = m.select(zero, 1.0, w)
    ordinary = _power(inside, s - 1) * m.log(inside)
    ending = -m.pow(m.select(zero, w, 1.0), s - 1.5)
    return -((-1.0) ** (s - 1)) / math.factorial(s - 1) * m.select(zero, ending, ordinary)


def _zeta(s: int, k: int) -> float:
    """What stands with w**k: zeta(s - k) (-1)**k / k!, and the harmonic number for s - 1."""
    if k == s - 1:
        factor = math.fsum(1 / j for j in range(1, s))
    else:
        factor = float(sympy_module().zeta(s - k).evalf(30))
    return (-1.0) ** k * factor / math.factorial(k)


def _eta(n: int) -> float:
    return float(sympy_module().dirichlet_eta(n).evalf(30))


def _power(x: Any, n: int) -> Any:
    return reduce(lambda a, b: a * b, [x] * n)


def _polynomial(factors: Sequence[float], x: Any) -> Any:
    """By Horner's rule, from the last factor that is no zero."""
    kept = len(factors) - next(k for k, each in enumerate(reversed(factors)) if each)
    return reduce(lambda sum, factor: sum * x + factor, reversed(factors[: kept - 1]), factors[kept - 1])


__all__ = ["polylogarithm", "rules"]
