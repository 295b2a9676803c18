"""How many units in the last place functions of one argument and their slopes are off, by mpmath.

    python -m tests.accuracy 400           a table of all, at so many points each

A unit is that of |f| + |x f'|: an argument is known to half a unit, which moves the value by the second term, and what
follows a zero or a pole cannot be told better. So 4 units of exp at 700 are 4 * 701 of exp's own.

More than 4 are allowed where a slope is made of what SciPy itself gives with some more.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special as S
from mpmath import mp

import pullback as pb


class Subject(NamedTuple):
    """A function as users write it, and in mpmath: alone, or with two derivatives where its own are slow (`whole`).

    low, high      where it is tried
    value, slope   how far they may be off
    """

    function: Callable[..., Any]
    exact: Callable[[Any], Any]
    low: float
    high: float
    value: float = 4.0
    slope: float = 4.0
    whole: bool = False


def _log_ndtr(x: Any) -> Any:
    return mp.log(mp.ncdf(x))


def _j(order: int, name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(mp, name)(order, x)


def _scaled(order: int, name: str, sign: int) -> Callable[[Any], Any]:
    return lambda x: getattr(mp, name)(order, x) * mp.exp(sign * abs(x))


_besselk = functools.lru_cache(1000)(lambda order, x: mp.besselk(order, x))


def _k(order: int, scaled: bool) -> Callable[[Any], Any]:
    """K0 or K1, times exp(x) or not, and two derivatives by those of both."""

    def derivatives(x: Any) -> tuple[Any, Any, Any]:
        k, other = _besselk(order, x), _besselk(1 - order, x)
        d = -other - (k / x if order else 0)
        dd = k - d / x + (k / (x * x) if order else 0)
        return (k, d, dd) if not scaled else tuple(mp.exp(x) * each for each in (k, k + d, k + 2 * d + dd))

    return derivatives


def _y(order: int) -> Callable[[Any], Any]:
    def derivatives(x: Any) -> tuple[Any, Any, Any]:
        y, other = mp.bessely(order, x), mp.bessely(1 - order, x)
        d = other - y / x if order else -other
        return y, d, -d / x - y + (y / (x * x) if order else 0)

    return derivatives


SUBJECTS: dict[str, Subject] = {
    "sin": Subject(np.sin, mp.sin, -40, 40), "cos": Subject(np.cos, mp.cos, -40, 40),
    "tan": Subject(np.tan, mp.tan, -40, 40), "arcsin": Subject(np.arcsin, mp.asin, -1, 1),
    "arccos": Subject(np.arccos, mp.acos, -1, 1), "arctan": Subject(np.arctan, mp.atan, -50, 50),
    "sinh": Subject(np.sinh, mp.sinh, -40, 40), "cosh": Subject(np.cosh, mp.cosh, -40, 40),
    "tanh": Subject(np.tanh, mp.tanh, -20, 20), "arcsinh": Subject(np.arcsinh, mp.asinh, -50, 50),
    "arccosh": Subject(np.arccosh, mp.acosh, 1, 50), "arctanh": Subject(np.arctanh, mp.atanh, -1, 1),
    "exp": Subject(np.exp, mp.exp, -700, 700), "exp2": Subject(np.exp2, lambda x: mp.power(2, x), -900, 900),
    "expm1": Subject(np.expm1, mp.expm1, -40, 40), "log": Subject(np.log, mp.log, 0, 50),
    "log2": Subject(np.log2, lambda x: mp.log(x, 2), 0, 50), "log10": Subject(np.log10, mp.log10, 0, 50),
    "log1p": Subject(np.log1p, mp.log1p, -1, 50), "sqrt": Subject(np.sqrt, mp.sqrt, 0, 50),
    "cbrt": Subject(np.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), 0.01, 50),
    "sinc": Subject(np.sinc, mp.sincpi, -9, 9),
    "gammaln": Subject(S.gammaln, mp.loggamma, 0, 60), "digamma": Subject(S.digamma, mp.digamma, 0, 60),
    "gamma": Subject(S.gamma, mp.gamma, 0, 60), "rgamma": Subject(S.rgamma, mp.rgamma, 0, 30),
    "erf": Subject(S.erf, mp.erf, -5, 5), "erfc": Subject(S.erfc, mp.erfc, -5, 25),
    "erfcx": Subject(S.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), -5, 25),
    "erfinv": Subject(S.erfinv, mp.erfinv, -1, 1), "erfi": Subject(S.erfi, mp.erfi, -5, 5),
    "dawsn": Subject(S.dawsn, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), -9, 9),
    "ndtr": Subject(S.ndtr, mp.ncdf, -30, 8), "log_ndtr": Subject(S.log_ndtr, _log_ndtr, -30, 8),
    "expit": Subject(S.expit, lambda x: 1 / (1 + mp.exp(-x)), -40, 40),
    "log_expit": Subject(S.log_expit, lambda x: -mp.log1p(mp.exp(-x)), -40, 40),
    "logit": Subject(S.logit, lambda x: mp.log(x / (1 - x)), 0, 1),
    "entr": Subject(S.entr, lambda x: -x * mp.log(x), 0, 9),
    "exprel": Subject(S.exprel, lambda x: mp.expm1(x) / x if x else mp.mpf(1), -30, 30),
    "i0": Subject(S.i0, _j(0, "besseli"), 0, 40), "i1": Subject(S.i1, _j(1, "besseli"), 0, 40),
    "i0e": Subject(S.i0e, _scaled(0, "besseli", -1), 0.01, 40),
    "i1e": Subject(S.i1e, _scaled(1, "besseli", -1), 0.01, 40),
    "k0": Subject(S.k0, _k(0, False), 0.01, 40, whole=True), "k1": Subject(S.k1, _k(1, False), 0.01, 40, whole=True),
    "k0e": Subject(S.k0e, _k(0, True), 0.01, 40, whole=True),
    "k1e": Subject(S.k1e, _k(1, True), 0.01, 40, whole=True),
    "j0": Subject(S.j0, _j(0, "besselj"), 0, 40), "j1": Subject(S.j1, _j(1, "besselj"), 0, 40),
    "y0": Subject(S.y0, _y(0), 0.01, 40, whole=True), "y1": Subject(S.y1, _y(1), 0.01, 40, whole=True),
    "ellipk": Subject(S.ellipk, mp.ellipk, -5, 0.99), "ellipe": Subject(S.ellipe, mp.ellipe, -5, 0.99, slope=8),
    "expi": Subject(S.expi, mp.ei, 0.01, 40), "exp1": Subject(S.exp1, mp.e1, 0.01, 40),
    "zetac": Subject(S.zetac, lambda x: mp.zeta(x) - 1, 1.1, 30),
}  # fmt: skip


def points(subject: Subject, many: int, seed: int = 0) -> np.ndarray:
    """Arguments in the middle and of small size, none at the ends."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(subject.low, subject.high, many - many // 4)
    small = rng.uniform(-1, 1, many // 4) * 10.0 ** rng.uniform(-6, 0, many // 4)
    x = np.concatenate([x, np.where((small > subject.low) & (small < subject.high), small, np.abs(small))])
    return x[(x > subject.low) & (x < subject.high)]


def distances(subject: Subject, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far value and slope are off, in units."""
    made = pb.jit(subject.function)(x)
    slope = pb.grad(lambda x: subject.function(x).sum())(x)
    value, turn = zip(*map(_off, [subject] * len(x), x.tolist(), made.tolist(), slope.tolist()), strict=True)
    return np.array(value), np.array(turn)


def _off(subject: Subject, x: float, made: float, slope: float) -> tuple[float, float]:
    with mp.workdps(30):
        at = mp.mpf(x)
        f, d, dd = (mp.re(each) for each in (subject.exact(at) if subject.whole else mp.diffs(subject.exact, at, 2)))
        whole = abs(f) + abs(x * d), abs(d) + abs(x * dd)
        value, turn = abs(mp.mpf(made) - f) / whole[0], abs(mp.mpf(slope) - d) / whole[1]
        return float(value * 2**52), float(turn * 2**52)


if __name__ == "__main__":
    for name, each in SUBJECTS.items():
        where = points(each, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
        value, slope = distances(each, where)
        print(f"{name:12} value {value.max():9.3g} at {where[value.argmax()]:<12.6g}"
              f" slope {slope.max():9.3g} at {where[slope.argmax()]:<12.6g}", flush=True)
