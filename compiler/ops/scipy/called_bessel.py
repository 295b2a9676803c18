"""Slopes of SciPy's Bessel, Airy, Kelvin, Struve, parabolic cylinder, Mathieu and spheroidal functions.

Formulas: NIST Digital Library of Mathematical Functions, chapters 9 to 12, 28 and 30.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .called import NATIVE, TABLE, UNKNOWN, many, one

NATIVE.update(
    j0=lambda m, x: m.bessel_j0(x), j1=lambda m, x: m.bessel_j1(x),
    y0=lambda m, x: m.bessel_y0(x), y1=lambda m, x: m.bessel_y1(x),
    k0=lambda m, x: m.modified_bessel_k0(x), k1=lambda m, x: m.modified_bessel_k1(x),
    k0e=lambda m, x: m.scaled_modified_bessel_k0(x), k1e=lambda m, x: m.scaled_modified_bessel_k1(x),
)  # fmt: skip


def _around(name: str, up: float, down: float, scaled: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """(down f_(v-1) + up f_(v+1)) / 2, and what the factor of a scaled function adds."""

    def slope(m: Any, v: Any, x: Any, r: Any) -> Any:
        f = getattr(m, name)
        made = 0.5 * down * f(v - _unit(v), x) + 0.5 * up * f(v + _unit(v), x)
        return made if scaled is None else made + scaled(m, x) * r

    return slope


def _unit(v: Any) -> float | int:
    return 1.0 if v.value.type.is_float else 1


def _struve(name: str, sign: float) -> Callable[..., Any]:
    def slope(m: Any, v: Any, x: Any, r: Any) -> Any:
        f = getattr(m, name)
        rest = m.pow(0.5 * x, v) * m.rgamma(v + 1.5) * (1 / math.sqrt(math.pi))
        return 0.5 * (f(v - 1.0, x) + sign * f(v + 1.0, x) + rest)

    return slope


def _order_of_k(m: Any, v: Any, x: Any, r: Any) -> Any:
    return m.exp(-x) * m.macdonald(v, x, n=1)


TABLE.update(
    jv=one(UNKNOWN, _around("jv", -1, 1)), jve=one(UNKNOWN, _around("jve", -1, 1)),
    yv=one(UNKNOWN, _around("yv", -1, 1)), yve=one(UNKNOWN, _around("yve", -1, 1)),
    yn=one(UNKNOWN, _around("yn", -1, 1)),
    kn=one(UNKNOWN, lambda m, n, x, r: _around("kv", -1, -1)(m, m.real(n, x), x, r)),
    iv=one(UNKNOWN, _around("iv", 1, 1)), ive=one(UNKNOWN, _around("ive", 1, 1, lambda m, x: -m.sign(x))),
    kv=one(_order_of_k, _around("kv", -1, -1)),
    kve=one(lambda m, v, x, r: m.macdonald(v, x, n=1), _around("kve", -1, -1, lambda m, x: 1.0)),
    struve=one(UNKNOWN, _struve("struve", -1.0)), modstruve=one(UNKNOWN, _struve("modstruve", 1.0)),
    itstruve0=one(lambda m, x, r: m.struve(m.number(0.0, x.value.type), x)),
    itmodstruve0=one(lambda m, x, r: m.modstruve(m.number(0.0, x.value.type), x)),
    it2struve0=one(lambda m, x, r: -(m.struve(m.number(0.0, x.value.type), x) / x)),
    itj0y0=many((lambda m, x, *r: m.j0(x),), (lambda m, x, *r: m.y0(x),)),
    iti0k0=many((lambda m, x, *r: m.i0(x),), (lambda m, x, *r: m.k0(x),)),
    it2j0y0=many((lambda m, x, *r: (1.0 - m.j0(x)) / x,), (lambda m, x, *r: -(m.y0(x) / x),)),
    it2i0k0=many((lambda m, x, *r: (m.i0(x) - 1.0) / x,), (lambda m, x, *r: -(m.k0(x) / x),)),
    itairy=many(
        (lambda m, x, *r: m.airy(x)[0],), (lambda m, x, *r: m.airy(x)[2],),
        (lambda m, x, *r: m.airy(-x)[0],), (lambda m, x, *r: m.airy(-x)[2],),
    ),
    besselpoly=one(
        lambda m, a, power, v, r: m.besselpoly(a, power + 1.0, v - 1.0) - m.besselpoly(a, power + 1.0, v + 1.0),
        UNKNOWN, UNKNOWN,
    ),
)  # fmt: skip

# ---- Airy functions


def _root(m: Any, x: Any) -> Any:
    return m.sqrt(m.maximum(x, 0.0))


TABLE.update(
    airy=many(
        (lambda m, x, a, ap, b, bp: ap,), (lambda m, x, a, ap, b, bp: x * a,),
        (lambda m, x, a, ap, b, bp: bp,), (lambda m, x, a, ap, b, bp: x * b,),
    ),
    airye=many(
        (lambda m, x, a, ap, b, bp: ap + m.sqrt(x) * a,), (lambda m, x, a, ap, b, bp: x * a + m.sqrt(x) * ap,),
        (lambda m, x, a, ap, b, bp: bp - _root(m, x) * b,), (lambda m, x, a, ap, b, bp: x * b - _root(m, x) * bp,),
    ),
)  # fmt: skip

# ---- Kelvin functions


def _bend(sign: float, other: str, limit: float | None) -> Callable[..., Any]:
    """sign * other(x) - r / x: the second derivative by the equation; at zero its limit."""

    def slope(m: Any, x: Any, r: Any) -> Any:
        if limit is None:
            return sign * getattr(m, other)(x) - r / x
        zero = m.eq(x, 0.0)
        return sign * getattr(m, other)(x) - m.select(zero, limit, r / m.select(zero, 1.0, x))

    return slope


TABLE.update(
    ber=one(lambda m, x, r: m.berp(x)), bei=one(lambda m, x, r: m.beip(x)),
    ker=one(lambda m, x, r: m.kerp(x)), kei=one(lambda m, x, r: m.keip(x)),
    berp=one(_bend(-1.0, "bei", 0.0)), beip=one(_bend(1.0, "ber", 0.5)),
    kerp=one(_bend(-1.0, "kei", None)), keip=one(_bend(1.0, "ker", None)),
)  # fmt: skip

# ---- functions that come with their derivative: the equation gives the second one


def _pair(arity: int, second: Callable[..., Any], first: float = 1.0) -> Any:
    """A row of f(..., x) and f': (m, ..., x, f, f') -> f''; the parameters before x have no formula."""
    none = [UNKNOWN] * (arity - 1)
    return many(
        (*none, lambda m, *xs: first * xs[-1]),
        (*none, lambda m, *xs: first * second(m, *xs)),
    )  # fmt: skip


def _mathieu(odd: bool) -> Callable[..., Any]:
    def second(m: Any, n: Any, q: Any, x: Any, f: Any, slope: Any) -> Any:
        level = m.mathieu_b(n, q) if odd else m.mathieu_a(n, q)
        return (2.0 * q * m.cos(math.pi / 90 * x) - level) * f

    return second


def _radial(odd: bool) -> Callable[..., Any]:
    def second(m: Any, n: Any, q: Any, x: Any, f: Any, slope: Any) -> Any:
        level = m.mathieu_b(n, q) if odd else m.mathieu_a(n, q)
        return (level - 2.0 * q * m.cosh(2.0 * x)) * f

    return second


def _spheroidal(kind: str, name: str) -> Callable[..., Any]:
    """gap f'' = 2 x f' - (level -+ c^2 x^2 - order^2 / gap) f, gap = 1 - x^2; oblate radial ones have i x for x."""

    def second(m: Any, order: Any, n: Any, c: Any, *rest: Any) -> Any:
        level = rest[0] if len(rest) == 4 else getattr(m, f"{kind}_cv")(order, n, c)
        x, f, slope = rest[-3:]
        square, turned = x * x, kind == "obl" and name != "ang1"
        gap = 1.0 + square if turned else 1.0 - square
        held = level + (-1.0 if kind == "pro" or turned else 1.0) * (c * c * square) - order * order / gap
        return (held * f - 2.0 * x * slope if turned else 2.0 * x * slope - held * f) / gap

    return second


TABLE.update(
    pbdv=_pair(2, lambda m, v, x, f, slope: (0.25 * (x * x) - v - 0.5) * f),
    pbvv=_pair(2, lambda m, v, x, f, slope: (0.25 * (x * x) - v - 0.5) * f),
    pbwa=_pair(2, lambda m, a, x, f, slope: (a - 0.25 * (x * x)) * f),
    mathieu_cem=_pair(3, _mathieu(False), math.pi / 180), mathieu_sem=_pair(3, _mathieu(True), math.pi / 180),
    mathieu_modcem1=_pair(3, _radial(False)), mathieu_modcem2=_pair(3, _radial(False)),
    mathieu_modsem1=_pair(3, _radial(True)), mathieu_modsem2=_pair(3, _radial(True)),
    mathieu_a=one(UNKNOWN, UNKNOWN), mathieu_b=one(UNKNOWN, UNKNOWN),
    pro_cv=one(*[UNKNOWN] * 3), obl_cv=one(*[UNKNOWN] * 3),
    **{f"{kind}_{name}{cv}": _pair(5 if cv else 4, _spheroidal(kind, name))
       for kind in ("pro", "obl")
       for name in ("ang1", "rad1", "rad2") for cv in ("", "_cv") if kind + name != "oblrad2"},
    # near 1 SciPy's second result is not the slope of the first
    obl_rad2=many([UNKNOWN] * 4, [UNKNOWN] * 4), obl_rad2_cv=many([UNKNOWN] * 5, [UNKNOWN] * 5),
)  # fmt: skip
