"""Formulas that cancel near 0 by more than their first terms, as power series there: exp(x) - 1 - x, log(sin(x)/x).

    near(x - sin(x), x - sin(x))      Series(x**3*(1/6 - ...), |x| < 3)

The coefficients are those of the function itself, by Cauchy's formula on a circle around 0 in mpmath's digits, so no
table of functions is needed: where the coefficients from one half of the spectrum on do not vanish, the function is not
analytic within, and is left alone. Beyond the radius, up to which so many terms are exact in floats for the value and
two derivatives, the formula stays as it is, so that on both sides of the seam there is the function itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ....compiler.ops.algebras import Numbers
from ....compiler.ops.expression import Plan, UnknownFunction, reading_of
from ..shared.library import codegen_module, sympy_module
from ..shared.parts import parts_of
from .functions import SPECIAL

CIRCLES = (3, 7)
"""The circles that are tried have the radius 2**-k: a singularity has to be four times as far."""

FEW, MANY = (64, 160), (256, 768)
"""Points on the circle and bits of precision: to see what cancels, and for coefficients."""

DEGREE = 63
"""The highest power in a series."""

RADII = (4.0, 3.0, 2.0, 1.5, *[2.0**-k * m for k in range(1, 9) for m in (2.0, 1.5)])
"""Where a series may end, for a singularity at distance one; of others in proportion."""

BESSEL = {"jv": "besselj", "yv": "bessely", "iv": "besseli", "kv": "besselk"}
"""SciPy's names, and mpmath's."""

PARTS = 60
"""The most parts of an expression that is looked at: each of them is computed at every point."""


class Series(NamedTuple):
    """A power series in an argument, and the condition that it is computed under."""

    value: Any
    condition: Any


def near(e: Any, ruled: Any) -> Series | None:
    """The series of an expression around 0, where it cancels there; None for what does not.

    ruled   the same in the form that it is computed in otherwise
    """
    sympy = sympy_module()

    kind = ruled.is_Add or ruled.is_Mul or isinstance(ruled, sympy.log)
    if not kind or getattr(ruled, "is_Matrix", False) or not _is_short(e):
        return None
    found = _in_one_argument(e, ruled)
    made = None if found is None else _of_variable(*found[:2])
    if found is None or made is None:
        return None
    polynomial, radius = made
    u = found[2] if not found[2].args else sympy.UnevaluatedExpr(found[2])  # (a x)^2 overflows less than a^2 x^2
    return Series(polynomial.xreplace({_variable(): u}), sympy.Abs(found[2]) < radius)


def _is_short(e: Any) -> bool:
    stack, count = [e], 0
    while stack and count <= PARTS:
        count += 1
        stack += stack.pop().args
    return count <= PARTS


@cache
def _variable() -> Any:
    return sympy_module().Dummy("t", real=True)


@lru_cache(maxsize=4096)
def _of_variable(e: Any, ruled: Any) -> tuple[Any, Any] | None:
    """The polynomial and its radius, of an expression in `_variable`: parts of a formula may differ by that only."""
    t = _variable()
    if ruled.is_Mul and all(part.subs(t, 0).is_finite for part in ruled.args):
        return None
    for k in CIRCLES:
        few = _Spectrum.of(e, t, k, *FEW)
        if few is None:
            continue
        inner = e.args if isinstance(ruled, type(e)) and len(e.args) == len(ruled.args) else ruled.args
        parts = [_Spectrum.of(part, t, k, *FEW) for part in inner]
        if not (_has_poles(few, parts) if ruled.is_Mul else _cancels(few, parts)):
            return None
        many = _Spectrum.of(e, t, k, *MANY)
        return None if many is None else _series(many, t)
    return None


def _in_one_argument(e: Any, ruled: Any) -> tuple[Any, Any, Any] | None:
    """An expression in `_variable`, the form that it is computed in, and what the variable stands for."""
    sympy = sympy_module()
    from sympy.core.function import AppliedUndef

    whole = AppliedUndef, sympy.Indexed, sympy.Derivative
    opaque = {part: sympy.Dummy("q") for part in parts_of(e) if isinstance(part, whole)}
    back = {name: part for part, name in opaque.items()}
    e, ruled = e.xreplace(opaque), ruled.xreplace(opaque)
    free, t = {part for part in parts_of(e) if part.is_Symbol}, _variable()
    if len(free) == 1:
        (s,) = free
        return e.xreplace({s: t}), ruled.xreplace({s: t}), back.get(s, s)
    inner = [a for part in parts_of(e) if part.is_Function or isinstance(part, sympy.exp) for a in part.args]
    for u in dict.fromkeys(a for a in reversed(inner) if not a.is_Symbol and a.free_symbols == free):
        made = e.subs(u, t), ruled.subs(u, t)
        if all(one.free_symbols == {t} for one in made):
            return *made, u.xreplace(back)
    return None


class _Plane(Numbers):
    """Complex numbers of mpmath, with SciPy's names for what has others there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mp, BESSEL[name]) if name in BESSEL else super().__getattr__(name)


def _more(e: Any, env: Any) -> Plan | None:
    """Special functions and those of codegen, by the formulas that they are computed by."""
    name = type(e).__name__
    places = (sympy_module(), codegen_module().cfunctions, codegen_module().numpy_nodes)
    if name in SPECIAL and any(getattr(place, name, None) is type(e) for place in places):
        return Plan((name, len(e.args)), e.args, SPECIAL[name])
    return None


class _Spectrum:
    """The coefficients of a function's Laurent series, times powers of the circle's radius, by their powers."""

    def __init__(self, values: list[Any], mp: Any, radius: Any) -> None:
        count = len(values)
        self.mp, self.radius = mp, radius
        self.parts = {k if k < count // 2 else k - count: v for k, v in enumerate(values)}
        self.largest = max(map(abs, values))
        middle = [abs(v) for k, v in enumerate(values) if 3 * count // 8 <= k <= 5 * count // 8]
        self.noise = 2 * max(*middle, max(self.largest, 1) * mp.mpf(2) ** (40 - mp.prec))

    @staticmethod
    def of(e: Any, t: Any, k: int, count: int, bits: int) -> _Spectrum | None:
        """None where a function cannot be computed, or has branches or singularities that are near the circle."""
        from sympy.core.evalf import mp

        with mp.workprec(bits):
            radius = mp.mpf(2) ** -k
            around = [mp.expjpi(mp.mpf(2 * j) / count) for j in range(count)]
            values = _values(e, t, mp, [radius * z for z in around[: count // 2 + 1]])
            if values is None:
                return None
            if max(abs(values[0].imag), abs(values[-1].imag)) > abs(values[0]) * mp.mpf(2) ** (20 - bits):
                return None  # real numbers have complex values
            found = [total / count for total in _transformed(values, around, mp, bits)]
            made = _Spectrum(found, mp, radius)
            return made if made.noise < made.largest * mp.mpf(2) ** (-count // 2) else None

    def first(self, order: int = 0) -> int | None:
        """The lowest power in a derivative of this order; None if there is none, as it is nothing."""
        powers = [k - order for k, v in self.parts.items() if abs(v) > self.noise and not 0 <= k < order]
        return min(powers, default=None)

    def coefficients(self, count: int) -> list[Any]:
        zero = self.mp.mpf(0)
        with self.mp.workprec(MANY[1]):
            parts = [self.parts[k] for k in range(count)]
            return [v / self.radius**k if abs(v) > self.noise else zero for k, v in enumerate(parts)]


def _transformed(values: list[Any], around: list[Any], mp: Any, bits: int) -> list[Any]:
    """The Fourier sums of what a half has, whose other half is its conjugate: in whole numbers, which are faster."""
    count = len(around)
    cosines, sines = [z.real.to_fixed(bits) for z in around], [z.imag.to_fixed(bits) for z in around]
    reals, imags = [v.real.to_fixed(bits) for v in values], [v.imag.to_fixed(bits) for v in values]
    made = []
    for power in range(count):
        total = (reals[0] + (-1) ** power * reals[-1]) << bits
        for j in range(1, count // 2):
            at = power * j % count
            total += 2 * (reals[j] * cosines[at] + imags[j] * sines[at])
        made.append(mp.ldexp(total, -2 * bits))
    return made


def _values(e: Any, t: Any, mp: Any, points: list[Any]) -> list[Any] | None:
    m = _Plane(mp)
    try:
        reading = reading_of([e], {t: None}, m.number, _more)
        return [mp.mpc(reading.terms(m, {t: z})[0]) for z in points]
    except (TypeError, ValueError, AttributeError, ArithmeticError, NotImplementedError, UnknownFunction):
        return None


def _cancels(whole: _Spectrum, parts: Sequence[_Spectrum | None]) -> bool:
    """Whether the value or one of two derivatives is smaller near 0, by a power, than one of its parts."""
    if any(part is None for part in parts) or (whole.first() or 0) < 0:
        return False
    known = [part for part in parts if part is not None]
    for order in range(3):
        first = whole.first(order)
        lowest = [low for part in known if (low := part.first(order)) is not None]
        if first is not None and lowest and min(lowest) < first:
            return True
    return False


def _has_poles(whole: _Spectrum, parts: Sequence[_Spectrum | None]) -> bool:
    """Whether one factor has no value at 0, where the product has one: its slopes are differences."""
    return (whole.first() or 0) >= 0 and any(part is not None and (part.first() or 0) < 0 for part in parts)


def _series(found: _Spectrum, u: Any) -> tuple[Any, Any] | None:
    sympy = sympy_module()

    mp = found.mp
    c = found.coefficients(DEGREE + 17)
    with mp.workprec(160):
        low = next(k for k, v in enumerate(c) if v)
        sizes = [mp.root(abs(v), k) for k, v in enumerate(c) if v and k > DEGREE // 2]
        scale = 1 / max(sizes) if sizes else mp.mpf(1)
        for r in [mp.mpf(r) * scale for r in RADII] if scale < 1 else [mp.mpf(r) for r in RADII]:
            degree = _degree(c, r, mp)
            if degree is not None:
                radius = float(mp.mpf(int(r * 64)) / 64) if r * 64 >= 1 else float(r)
                return _horner(c[: degree + 1], low, u), sympy.Float(radius)
    return None


def _degree(c: list[Any], r: Any, mp: Any) -> int | None:
    """The power that a series may end with, if it keeps its digits up to a radius, as its two derivatives do."""
    degree = 0
    for order in range(3):
        terms = [mp.ff(k, order) * v * r ** (k - order) if k >= order else mp.mpf(0) for k, v in enumerate(c)]
        ends = sum(terms), sum(-v if k % 2 else v for k, v in enumerate(terms))
        least = min(map(abs, ends))
        if order == 0 and sum(map(abs, terms)) > 3 * least:
            return None
        rest = mp.mpf(0)
        for k in range(len(terms) - 1, -1, -1):
            rest += abs(terms[k])
            if rest > least * mp.mpf(2) ** -56:
                degree = max(degree, k)
                break
    return degree if degree <= DEGREE else None


def _horner(c: list[Any], low: int, u: Any) -> Any:
    """The polynomial as u^low times another one, in u^2 where every other coefficient is 0."""
    sympy = sympy_module()

    step = 1 if any(c[low + 1 :: 2]) else 2
    made, w = sympy.Integer(0), u**step
    for v in reversed(c[low::step]):
        made = sympy.Float(v, precision=53) + w * made
    return u**low * made


__all__ = ["Series", "near"]
