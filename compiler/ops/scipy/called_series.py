"""Slopes of SciPy's functions in their orders and parameters, by series whose terms are differentiated.

    TABLE["ive_order_1"]        d ive(v, x) / dv, which has an order_2 and an order_3
    TABLE["kummer_1_0_2"]       the derivative of hyp1f1(a, b, z) once by a and twice by z

Series are those of NIST's Digital Library of Mathematical Functions, 10.25, 10.40, 13.2 and 16.2. They are summed in
numbers, by rows that have as many terms as the largest argument asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .called import REAL, TABLE, UNKNOWN, Row, _of_scipy, one, slopes_of
from .called_bessel import _around
from .called_gammas import _noncentral_chi_density
from .incomplete import gamma_moment

HIGHEST = 3
"""The order of derivatives that is known."""

ROWS = 2048
"""How many elements are summed at a time: their terms are an array."""

Slope = Callable[..., Any]


def _by_rows(of: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A function of columns [n, 1], on arrays of any shape."""

    def function(*xs: np.ndarray) -> np.ndarray:
        full = np.broadcast_arrays(*xs)
        columns = [np.asarray(x, float).reshape(-1, 1) for x in full]
        made = np.empty(columns[0].shape[0])
        with np.errstate(all="ignore"):
            for k in range(0, made.size, ROWS):
                made[k : k + ROWS] = of(*[c[k : k + ROWS] for c in columns])
        return made.reshape(full[0].shape)

    return function


def _moments(order: int, first: Any, second: Any, third: Any) -> Any:
    """The derivative of exp(g) over exp(g), by those of g."""
    return (1.0, first, first**2 + second, first**3 + 3 * first * second + third)[order]


# ---- Bessel's I in its order


def _order_series(n: int, v: Any, x: Any) -> Any:
    """Of exp(-x) I: (x/2)^(2k+v) / (k! gamma(v+k+1)), of which no term is below zero for v > -1."""
    special = {name: _of_scipy(name) for name in ("gammaln", "gammasgn", "psi", "zeta")}
    top = float(np.max(x, initial=1.0, where=np.isfinite(x)))
    k = np.arange(int(0.5 * top + 9 * math.sqrt(top) + 40))
    log, at = np.log(0.5 * x), v + 1.0
    size = (2 * k + v) * log - special["gammaln"](k + 1.0) - special["gammaln"](at + k) - x
    steps = at + np.arange(k.size - 1)
    sums = [np.concatenate([0 * at, np.cumsum(steps**-p, axis=1)], axis=1) for p in (1.0, 2.0, 3.0)]
    trigamma, tetragamma = (np.where(at > 0, special["zeta"](p, at), np.nan) for p in (2.0, 3.0))
    weights = _moments(
        n, log - special["psi"](at) - sums[0], sums[1] - trigamma, 2.0 * (tetragamma - sums[2])
    )
    return np.sum(special["gammasgn"](at + k) * np.exp(size) * weights, axis=1)


def _order_far(n: int, v: Any, x: Any) -> Any:
    """By 16 terms of Hankel's expansion; each is a Taylor polynomial of degree 3 in the order."""
    square = [4 * v * v, 8 * v, 4.0, 0.0]
    term, total = [1.0 + 0 * v, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    for k in range(1, 17):
        factor = [-(square[0] - (2 * k - 1) ** 2), -square[1], -square[2], 0.0]
        term = [sum(term[i] * factor[j - i] for i in range(j + 1)) / (8 * k * x) for j in range(4)]
        total = [a + b for a, b in zip(total, term, strict=True)]
    return (math.factorial(n) * total[n] / np.sqrt(2 * math.pi * x) + 0 * v)[:, 0]


def _order(n: int) -> Callable[..., np.ndarray]:
    def of(v: Any, x: Any) -> Any:
        far = (x > 600.0) & (x > 2.0 * v * v)
        near = _order_series(n, v, np.where(far, 1.0, x))
        return np.where(far[:, 0], _order_far(n, v, np.where(far, x, 1e3)), near)

    return _by_rows(of)


def _order_slope(n: int) -> Slope:
    """Of f' = f_(v+1) + (v / x - 1) f, by the order."""

    def slope(m: Any, v: Any, x: Any, r: Any) -> Any:
        less = m.ive(v, x) if n == 1 else getattr(m, f"ive_order_{n - 1}")(v, x)
        return getattr(m, f"ive_order_{n}")(v + 1.0, x) + (v / x - 1.0) * r + n * less / x

    return slope


for _n in range(1, HIGHEST + 1):
    REAL[f"ive_order_{_n}"] = _order(_n)
    _next = UNKNOWN if _n == HIGHEST else lambda m, v, x, r, n=_n: getattr(m, f"ive_order_{n + 1}")(v, x)
    TABLE[f"ive_order_{_n}"] = one(_next, UNKNOWN if _n == HIGHEST else _order_slope(_n))

TABLE.update(
    iv=one(lambda m, v, x, r: m.exp(x) * m.ive_order_1(v, x), _around("iv", 1, 1)),
    ive=one(lambda m, v, x, r: m.ive_order_1(v, x), _around("ive", 1, 1, lambda m, x: -m.sign(x))),
)

# ---- hypergeometric series with one lower parameter and at most one upper


def _hypergeometric(i: int, j: int, power: int) -> Callable[..., Any]:
    """The derivative i times by the upper parameter (if i may be asked), j times by the lower, and by z."""

    def of(*xs: Any) -> Any:
        *upper, b, z = xs
        top = float(np.max(np.abs(z), initial=1.0, where=np.isfinite(z)))
        count = int(2.0 * math.sqrt(top) + 60) if not upper else int(top + 12 * math.sqrt(top) + 60)
        k = np.arange(min(count + int(max((float(np.max(np.abs(a), initial=0.0)) for a in upper), default=0)), 20000))
        ratio = z / ((b + k) * (k + 1))
        for a in upper:
            ratio = ratio * (a + k)
        terms = np.concatenate([1.0 + 0 * z, np.cumprod(ratio, axis=1)], axis=1)
        whole = np.arange(terms.shape[1])
        for step in range(power):
            terms = terms * (whole - step) / z
        if power:
            terms[:, :power] = 0.0
        for a, order, sign in [*[(a, i, 1.0) for a in upper], (b, j, -1.0)]:
            if order:
                sums = [np.concatenate([0 * z, np.cumsum((a + k) ** -p, axis=1)], axis=1) for p in (1.0, 2.0, 3.0)]
                terms = terms * _moments(order, sign * sums[0], -sign * sums[1], 2 * sign * sums[2])
        made = np.sum(terms, axis=1)
        lost = np.abs(made) < 1e-7 * np.sum(np.abs(terms), axis=1)  # fewer than nine digits are left
        return np.where(lost & (z[:, 0] < 0), np.nan, made)

    return _by_rows(of)


def _register(name: str, upper: int) -> None:
    """The derivatives of a series up to the highest order, each with those of one more."""
    for i in range(HIGHEST + 1) if upper else (0,):
        for j in range(HIGHEST + 1 - i):
            for power in range(HIGHEST + 1 - i - j):
                REAL[f"{name}_{i}_{j}_{power}"] = _hypergeometric(i, j, power)
                up = [(i + 1, j, power)] * upper + [(i, j + 1, power), (i, j, power + 1)]
                TABLE[f"{name}_{i}_{j}_{power}"] = one(*[
                    UNKNOWN if sum(to) > HIGHEST else _moved(name, to) for to in up
                ])  # fmt: skip


def _moved(name: str, to: tuple[int, ...]) -> Slope:
    return lambda m, *xs: getattr(m, "_".join([name, *map(str, to)]))(*xs[:-1])


_register("kummer", 1)
_register("confluent", 0)


def _kummer(by_upper: bool) -> Slope:
    """Left of zero by Kummer's transformation, exp(z) M(b - a, b, -z), whose terms do not cancel."""

    def slope(m: Any, a: Any, b: Any, z: Any, r: Any) -> Any:
        left = m.lt(z, 0.0)
        at, size = m.select(left, b - a, a), m.select(left, -z, z)
        upper = m.kummer_1_0_0(at, b, size)
        factor = m.exp(m.select(left, z, 0.0))
        if by_upper:
            return m.select(left, -(factor * upper), upper)
        lower = m.kummer_0_1_0(at, b, size)
        return m.select(left, factor * (upper + lower), lower)

    return slope


TABLE.update(
    hyp0f1=one(lambda m, v, x, r: m.confluent_0_1_0(v, x), lambda m, v, x, r: m.hyp0f1(v + 1.0, x) / v),
    hyp1f1=one(_kummer(True), _kummer(False), lambda m, a, b, x, r: a / b * m.hyp1f1(a + 1.0, b + 1.0, x)),
)

# ---- the noncentral chi-squared distribution in its degrees of freedom


def _mixture(n: int) -> Callable[..., Any]:
    """Poisson's mixture of incomplete gamma functions' derivatives by their parameter."""
    def of(x: Any, df: Any, nc: Any) -> Any:
        zeta, gammaln = _of_scipy("zeta"), _of_scipy("gammaln")
        half = 0.5 * nc
        spread = 9 * np.sqrt(np.max(half, initial=1.0)) + 30
        j = np.maximum(np.floor(half) - spread // 2, 0) + np.arange(int(spread))
        weights = np.exp(j * np.log(np.where(half > 0, half, 1e-300)) - half - gammaln(j + 1.0))
        a, y = np.broadcast_arrays(0.5 * df + j, 0.5 * x)
        made, plain = (
            np.asarray(gamma_moment.evaluate([a.ravel(), y.ravel()], {"n": k, "upper": 0}, ())[0]).reshape(a.shape)
            for k in (n, 0)
        )
        made = made if n == 1 else made - zeta(2.0, a) * plain
        return np.sum(weights * made, axis=1) / 2.0**n

    return _by_rows(of)


def _mixture_density(order: int) -> Slope:
    def slope(m: Any, x: Any, df: Any, nc: Any, r: Any) -> Any:
        return slopes_of(m, _noncentral_chi_density, [x, df, nc])[1]

    return slope if order == 1 else UNKNOWN  # type: ignore[return-value]


def _mixture_noncentral(n: int) -> Slope:
    return lambda m, x, df, nc, r: 0.5 * (getattr(m, f"chndtr_df_{n}")(x, df + 2.0, nc) - r)


for _n in (1, 2):
    REAL[f"chndtr_df_{_n}"] = _mixture(_n)
    TABLE[f"chndtr_df_{_n}"] = one(
        _mixture_density(_n), UNKNOWN if _n == 2 else lambda m, x, df, nc, r: m.chndtr_df_2(x, df, nc),
        _mixture_noncentral(_n),
    )  # fmt: skip


def _known(name: str, place: int, slope: Slope) -> None:
    """Put a slope in the place of one that was not known."""
    before = TABLE[name]

    def slopes(m: Any, xs: Any, rs: Any) -> Any:
        made = [list(each) for each in before.slopes(m, xs, rs)]
        made[0][place] = slope(m, *xs, *rs) if m is not None else None
        return made

    TABLE[name] = Row(before.arity, before.outputs, slopes)


_known("chndtr", 1, lambda m, x, df, nc, r: m.chndtr_df_1(x, df, nc))

__all__ = ["HIGHEST"]
