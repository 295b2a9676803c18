"""Bessel functions, from tables of their smooth parts on both sides of a point; see `special`."""

from __future__ import annotations

import math
from typing import Any

from . import special_tables as T
from .special import Rule, Special, powers, within


def _i0e(m: Any, x: Any) -> Any:
    y = m.abs(x)
    far = within(T.I0_LARGE, 8.0 / m.maximum(y, 8.0), 0.0, 1.0) / m.sqrt(y)
    return m.select(m.le(y, 8.0), within(T.I0, y, 0.0, 8.0), far)


def _i1e(m: Any, x: Any) -> Any:
    y = m.abs(x)
    far = m.sign(x) * within(T.I1_LARGE, 8.0 / m.maximum(y, 8.0), 0.0, 1.0) / m.sqrt(y)
    return m.select(m.le(y, 8.0), x * within(T.I1, y, 0.0, 8.0) / (1.0 + y), far)


def _taylor(order: int, terms: int = 28) -> list[float]:
    """The coefficients of I(x) / x^order in powers of x^2, all of one sign; so many tell it up to x = 8."""
    return [0.5 ** (order + 2 * k) / (math.factorial(k) * math.factorial(k + order)) for k in range(terms)]


def _i(order: int) -> Rule:
    """Without the scaled function's exponential up to 8."""

    def formula(m: Any, x: Any) -> Any:
        y = m.abs(x)
        near = powers(m, _taylor(order), x * x)
        far = within((T.I0_LARGE, T.I1_LARGE)[order], 8.0 / m.maximum(y, 8.0), 0.0, 1.0) / m.sqrt(y) * m.exp(y)
        return m.select(m.le(y, 8.0), x * near if order else near, m.sign(x) * far if order else far)

    return formula


def _ratio(m: Any, r: Any, x: Any, limit: float) -> Any:
    """r / x, and what that tends to at zero."""
    near = m.lt(m.abs(x), 1e-30)
    return m.select(near, limit, r / m.select(near, 1.0, x))


def _waves(m: Any, order: int, y: Any) -> tuple[Any, Any]:
    """J and Y of an order, from 8 on."""
    t = 8.0 / m.maximum(y, 8.0)
    p, q = ((T.P0, T.Q0), (T.P1, T.Q1))[order]
    size = 1.0 / m.sqrt(math.pi * y)  # sqrt(2 / (pi y)) of sums that are sqrt(2) too large
    p, q = size * within(p, t * t, 0.0, 1.0), size * t * within(q, t * t, 0.0, 1.0)
    s, c = m.sin(y), m.cos(y)
    cos, sin = (c + s, s - c) if order == 0 else (s - c, -(s + c))
    return p * cos - q * sin, p * sin + q * cos


def _inner(m: Any, order: int, y: Any) -> Any:
    square = y * y
    if order:
        return y * within(T.J1, square, 0.0, 64.0)
    return m.muladd(square, within(T.J0, square, 0.0, 64.0), 1.0) / m.muladd(square, 0.125, 1.0)


def _bessel_j(order: int) -> Rule:
    def formula(m: Any, x: Any) -> Any:
        y = m.abs(x)
        made = m.select(m.le(y, 8.0), _inner(m, order, y), _waves(m, order, y)[0])
        return made if order == 0 else m.select(m.lt(x, 0.0), -made, made)

    return formula


def _bessel_y(order: int) -> Rule:
    def formula(m: Any, x: Any) -> Any:
        table, y = (T.Y0, T.Y1)[order], m.minimum(x, 8.0)
        rest = within(table, y * y, 0.0, 64.0)
        near = (2 / math.pi) * (m.log(y) * _inner(m, order, y) - (order and 1.0 / y)) + (y * rest if order else rest)
        made = m.select(m.le(x, 8.0), near, _waves(m, order, x)[1])
        return m.select(m.gt(x, 0.0), made, m.select(m.eq(x, 0.0), -1.0 / m.abs(x), math.nan))

    return formula


i0e = Special("i0e", _i0e, [lambda m, ct, x, r: ct * m.i0e_derivative(x, n=1)])
i1e = Special("i1e", _i1e, [lambda m, ct, x, r: ct * m.i1e_derivative(x, n=1)])
i0 = Special("i0", _i(0), [lambda m, ct, x, r: ct * m.i1(x)])
i1 = Special(
    "i1", _i(1), [lambda m, ct, x, r: ct * (m.i0(x) - _ratio(m, r, x, 0.5))]
)
bessel_j0 = Special("bessel_j0", _bessel_j(0), [lambda m, ct, x, r: -(ct * m.bessel_j1(x))])
bessel_j1 = Special(
    "bessel_j1", _bessel_j(1), [lambda m, ct, x, r: ct * (m.bessel_j0(x) - _ratio(m, r, x, 0.5))]
)
bessel_y0 = Special("bessel_y0", _bessel_y(0), [lambda m, ct, x, r: -(ct * m.bessel_y1(x))])
bessel_y1 = Special("bessel_y1", _bessel_y(1), [lambda m, ct, x, r: ct * (m.bessel_y0(x) - r / x)])

# ---- modified functions of the second kind


def _scaled_k(m: Any, order: int, x: Any) -> Any:
    """exp(x) K(x): a logarithm and what is left of it up to 2, and a table of inverses from there on."""
    y = m.minimum(x, 2.0)
    i = (_i0e, _i1e)[order](m, y) * m.exp(y)
    rest = within((T.K0, T.K1)[order], y * y, 0.0, 4.0)
    log = m.log(0.5 * y) * i
    near = m.exp(y) * (rest - log if order == 0 else rest / y + log)
    far = within((T.K0_LARGE, T.K1_LARGE)[order], 2.0 / m.maximum(x, 2.0), 0.0, 1.0) / m.sqrt(x)
    made = m.select(m.le(x, 2.0), near, far)
    return m.select(m.gt(x, 0.0), made, m.select(m.eq(x, 0.0), 1.0 / m.abs(x), math.nan))


def _k(order: int) -> Rule:
    return lambda m, x: _scaled_k(m, order, x) * m.select(m.gt(x, 0.0), m.exp(-x), 1.0)


modified_bessel_k0 = Special(
    "modified_bessel_k0", _k(0), [lambda m, ct, x, r: -(ct * m.modified_bessel_k1(x))]
)
modified_bessel_k1 = Special(
    "modified_bessel_k1", _k(1), [lambda m, ct, x, r: -(ct * (m.modified_bessel_k0(x) + r / x))]
)
scaled_modified_bessel_k0 = Special(
    "scaled_modified_bessel_k0", lambda m, x: _scaled_k(m, 0, x),
    [lambda m, ct, x, r: ct * m.k0e_derivative(x, n=1)],
)  # fmt: skip
scaled_modified_bessel_k1 = Special(
    "scaled_modified_bessel_k1", lambda m, x: _scaled_k(m, 1, x),
    [lambda m, ct, x, r: -(ct * (m.k0e_derivative(x, n=1) + r / x))],
)  # fmt: skip
