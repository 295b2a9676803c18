"""Distributions made of others, and quantiles that have no formula: what the tables are put together of.

    mirrored(CONTINUOUS["weibull_min"])         that of -X
    implicit(name, cdf, sf, logpdf)             quantile functions by SciPy's values and the density's slopes
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .....ops.scipy.called import Functions
from ....array import Array, here
from ....promotion import as_operand, common_shape, conform
from ...ufuncs import where
from ..special.functions import constant
from .densities import LOG_2, Continuous, Formula


def NONE(*given: Any) -> Any:
    """In place of a function that has no formula here."""
    raise NotImplementedError


def by_survival(survival: Formula, inverse: Formula, logpdf: Formula, **more: Any) -> Continuous:
    """Of log(1 - F), its inverse, and the logarithm of the density."""
    return Continuous(
        logpdf, lambda y, *s: -np.expm1(survival(y, *s)), lambda y, *s: np.exp(survival(y, *s)),
        lambda q, *s: inverse(np.log1p(-q), *s), lambda q, *s: inverse(np.log(q), *s), logsf=survival, **more,
    )  # fmt: skip


def by_logcdf(logcdf: Formula, inverse: Formula, logpdf: Formula, **more: Any) -> Continuous:
    """Of log F, its inverse, and the logarithm of the density."""
    return Continuous(
        logpdf, lambda y, *s: np.exp(logcdf(y, *s)), lambda y, *s: -np.expm1(logcdf(y, *s)),
        lambda q, *s: inverse(np.log(q), *s), lambda q, *s: inverse(np.log1p(-q), *s), logcdf=logcdf, **more,
    )  # fmt: skip


def _negative(f: Formula) -> Formula:
    return lambda y, *s: f(-y, *s)


def _minus(f: Formula) -> Formula:
    return lambda q, *s: -f(q, *s)


def mirrored(of: Continuous) -> Continuous:
    """The distribution of -X."""
    low, high = of.support
    return Continuous(
        _negative(of.logpdf), _negative(of.sf), _negative(of.cdf), _minus(of.isf), _minus(of.ppf), (-high, -low),
        -of.safe, of.logsf and _negative(of.logsf), of.logcdf and _negative(of.logcdf), of.valid,
    )  # fmt: skip


def doubled(of: Continuous) -> Continuous:
    """The distribution of X or -X, each as likely, where X is above zero."""

    def cdf(y: Any, *s: Any) -> Any:
        tail = 0.5 * of.sf(np.abs(y), *s)
        return where(y > 0, 1.0 - tail, tail)

    def ppf(q: Any, *s: Any) -> Any:
        upper = q > 0.5
        found = of.isf(2.0 * where(upper, 1.0 - q, q), *s)
        return where(upper, found, -found)

    return Continuous(
        lambda y, *s: of.logpdf(np.abs(y), *s) - LOG_2, cdf, _negative(cdf), ppf, _minus(ppf), valid=of.valid
    )


def fixed(of: Continuous, *given: float) -> Continuous:
    """With its shapes at these numbers."""
    put = lambda f: f and (lambda y: f(y, *given))  # noqa: E731
    return of._replace(
        **{name: put(getattr(of, name)) for name in ("logpdf", "cdf", "sf", "ppf", "isf", "logcdf", "logsf")}
    )


# ---- powers whose exponent may vanish


def log_ratio(z: Any) -> Any:
    """log(1 + z) / z, by its series near zero: what is taken there is exact in all derivatives."""
    near = np.abs(z) < 0.1
    small, far = where(near, z, 0.0), where(near, 1.0, z)
    series = 1.0 / 18
    for k in range(17, 0, -1):
        series = 1.0 / k - small * series
    return where(near, series, np.log1p(far) / far)


def exp_ratio(z: Any) -> Any:
    """(e^z - 1) / z, likewise."""
    near = np.abs(z) < 0.5
    small, far = where(near, z, 0.0), where(near, 1.0, z)
    series = 1.0
    for k in range(16, 1, -1):
        series = 1.0 + small * series / k
    return where(near, series, np.expm1(far) / far)


# ---- values of SciPy's own


def numbers(name: str, method: str, *operands: Any) -> Any:
    """What a distribution's method in standard form, `_ppf`, gives: numbers, constant to derivatives."""
    operands = tuple(map(as_operand, operands))
    now, shape = here(*operands), common_shape(name, *operands)
    m = Functions(now.builder)
    terms = [m(conform(now, x, np.dtype(np.float64), shape)) for x in operands]
    return Array(now, m.call(f"{name}.{method}", *terms).value)


def implicit(name: str, cdf: Formula, logpdf: Formula, method: str = "_ppf") -> Formula:
    """The point where F reaches q, as SciPy finds it; by two of Newton's steps it has derivatives up to the third.

    The steps are for the equation that the numbers solve exactly, so they move nothing but the derivatives.
    """

    def quantile(q: Any, *shapes: Any) -> Any:
        y = found = numbers(name, method, *map(constant, (q, *shapes)))
        away = constant(cdf(found, *shapes) - q)
        for _ in range(2):
            steep = np.exp(logpdf(y, *shapes)) * (1.0 if method == "_ppf" else -1.0)
            y = y - (cdf(y, *shapes) - q - away) / steep
        return y

    return quantile


def quantiles(name: str, of: Continuous) -> Continuous:
    """With the quantiles that it lacks."""
    return of._replace(ppf=implicit(name, of.cdf, of.logpdf), isf=implicit(name, of.sf, of.logpdf, "_isf"))


__all__ = [
    "NONE", "by_logcdf", "by_survival", "doubled", "exp_ratio", "fixed", "implicit", "log_ratio", "mirrored",
    "numbers", "quantiles",
]
