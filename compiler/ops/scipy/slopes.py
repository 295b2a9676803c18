"""Derivatives of erfcx, of Dawson's integral and of scaled Bessel functions, of any order, as operations of their own.

    erfcx_derivative x {n}     i0e_derivative x {n}     i1e_derivative x {n}     k0e_derivative x {n}
    dawson x {n}, with n = 0 the integral itself, and erfi, which is it times 2/sqrt(pi) exp(x^2)

Each follows from the function by a formula whose terms nearly cancel: 2x erfcx(x) - 2/sqrt(pi), 1 - 2x dawsn(x),
i1e(x) - i0e(x), k0e(x) - k1e(x). So the first two have tables, see `special`, and further ones follow by the
recurrences that the equations give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import slope_tables as T
from .bessel import i0e, i1e, scaled_modified_bessel_k0
from .special import Special, erfcx, powers, series, within

Orders = Callable[[Any, Any, int], Any]


def _table(name: str, n: int, part: str = "") -> tuple[float, ...]:
    return getattr(T, f"{name}_{n}{part}")


def _power(x: Any, n: int) -> Any:
    """x^n, for n from 1 on, as products."""
    return x if n == 1 else _power(x, n // 2) * _power(x, n - n // 2)


def _by_recurrence(low: Orders, step: Callable[[Any, int, Any, Any], Any]) -> Orders:
    """Orders 1 and 2 by `low`, those above by (x, n, derivative n - 1, derivative n - 2)."""

    def order(m: Any, x: Any, n: int) -> Any:
        if n < 3:
            return low(m, x, n)
        before, here = low(m, x, 1), low(m, x, 2)
        for k in range(3, n + 1):
            before, here = here, step(x, k, here, before)
        return here

    return order


def _erfcx(m: Any, x: Any, n: int) -> Any:
    """At negative arguments 2 exp(x^2) - erfcx(-x), whose first term has a polynomial with it."""
    y = m.abs(x)
    t = 1.0 - 7.5 / (y + 3.75)
    from_zero = 2.0 / (1.0 + 3.75 / y)
    made = m.muladd(from_zero, series(_table("ERFCX", n), t), 2.0 if n == 2 else -2 / math.sqrt(math.pi))
    made = made / _power(1.0 + 2.0 * y, n + 1)
    factor = 4.0 * x if n == 1 else 4.0 + 8.0 * (x * x)
    return m.select(m.lt(x, 0.0), factor / m.gauss(x) + (made if n == 1 else -made), made)


def _dawson(m: Any, x: Any, n: int) -> Any:
    square = x * x
    near = m.muladd(square, within(_table("DAWSON", n), square, 0.0, 25.0), (1.0, 1.0, -4.0)[n])
    near = near / _power(1.0 + 2.0 * square, n // 2 + 1)
    v = 25.0 / m.maximum(square, 25.0)
    far = within(_table("DAWSON", n, "_LARGE"), v, 0.0, 1.0) / _power(x, n + 1)
    return m.select(m.le(square, 25.0), near if n % 2 else near * x, far)


def _erfi(m: Any, x: Any) -> Any:
    """By Dawson's integral, which is not zero yet where the factor is infinite."""
    y = m.select(m.gt(m.abs(x), 30.0), m.sign(x) * 30.0, x)
    return _dawson(m, y, 0) * (2 / math.sqrt(math.pi)) / m.gauss(y)


def _moment_at_zero(n: int) -> float:
    return math.comb(2 * n, n) / 2**n


def _bessel(m: Any, y: Any, n: int, name: str, at_zero: float) -> Any:
    """By tables on both sides of 8, of which the far one is of what vanishes like y^(-n - 1/2)."""
    near = m.muladd(y, within(_table(name, n), y, 0.0, 8.0), at_zero) / _power(1.0 + 2.0 * y, n)
    far = within(_table(name, n, "_LARGE"), 8.0 / m.maximum(y, 8.0), 0.0, 1.0) / (m.sqrt(y) * _power(y, n))
    return m.select(m.le(y, 8.0), near, far)


def _moment(m: Any, y: Any, n: int) -> Any:
    """(-1)^n times derivative n of exp(-y) I0(y): the mean of (1 - cos t)^n exp(-y (1 - cos t))."""
    if n < 3:
        return _bessel(m, y, n, "I0E", _moment_at_zero(n))
    before, here = _moment(m, y, 1), _moment(m, y, 2)
    for k in range(3, n + 1):
        before, here = here, ((k - 1 + 2.0 * y) * here - (2 * k - 3) * before) / y
    taylor = [_moment_at_zero(n + k) * (-1) ** k / math.factorial(k) for k in range(30)]
    return m.select(m.lt(y, 1.0), powers(m, taylor, m.minimum(y, 1.0)), here)


def _i0e(m: Any, x: Any, n: int) -> Any:
    made = _moment(m, m.abs(x), n)
    return made if n % 2 == 0 else -(m.sign(x) * made)


def _i1e(m: Any, x: Any, n: int) -> Any:
    y = m.abs(x)
    if n < 3:
        made = _bessel(m, y, n, "I1E", (0.5, -1.0)[n - 1])
    else:
        made = (_moment(m, y, n) - _moment(m, y, n + 1)) * (-1.0) ** n
    return made if n % 2 else m.sign(x) * made


def _k0e(m: Any, x: Any, n: int) -> Any:
    y = m.minimum(x, 1.0)
    rest = within(_table("K0E", n), y, 0.0, 1.0) / _power(y, n)
    near = rest + m.log(y) * within(_table("K0E", n, "_LOG"), y, 0.0, 1.0)
    far = within(_table("K0E", n, "_LARGE"), 1.0 / m.maximum(x, 1.0), 0.0, 1.0) / (m.sqrt(x) * _power(x, n))
    made = m.select(m.le(x, 1.0), near, far)
    made = m.select(m.gt(x, 0.0), made, m.select(m.eq(x, 0.0), 1.0 / m.abs(x), math.nan))
    return made if n == 2 else -made


def _family(name: str, own: Callable[..., Any], order: Orders) -> Special:
    def formula(m: Any, x: Any, n: int) -> Any:
        return order(m, x, n) if n else own(m, x)

    def pull(m: Any, ct: Any, x: Any, r: Any, n: int) -> Any:
        return ct * getattr(m, name)(x, n=n + 1)

    return Special(name, formula, [pull], {"n": "axis"})


erfcx_derivative = _family(
    "erfcx_derivative", erfcx.formula, _by_recurrence(_erfcx, lambda x, n, r, s: 2.0 * (x * r) + (2 * n - 2) * s)
)
dawson = _family(
    "dawson", lambda m, x: _dawson(m, x, 0),
    _by_recurrence(_dawson, lambda x, n, r, s: -2.0 * (x * r) - (2 * n - 2) * s),
)  # fmt: skip
erfi = Special("erfi", _erfi, [lambda m, ct, x, r: ct * (2 / math.sqrt(math.pi)) / m.gauss(x)])
i0e_derivative = _family("i0e_derivative", i0e.formula, _i0e)
i1e_derivative = _family("i1e_derivative", i1e.formula, _i1e)
k0e_derivative = _family(
    "k0e_derivative", scaled_modified_bessel_k0.formula,
    _by_recurrence(_k0e, lambda x, n, r, s: ((2 * n - 3) * s - (n - 1) * r) / x + 2.0 * r),
)  # fmt: skip

__all__ = ["dawson", "erfcx_derivative", "erfi", "i0e_derivative", "i1e_derivative", "k0e_derivative"]
