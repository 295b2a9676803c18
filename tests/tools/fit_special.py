"""Print `compiler/ops/scipy/special_tables.py`: run it and redirect.

Each table holds Chebyshev coefficients of a smooth part of a special function, from its values at Chebyshev nodes in
50 digits. The first is halved already, and the table ends where what is left out is below 2**-56 of the largest. The
tables of `POWERS` are such polynomials, written in powers of their argument; the last column is how many bits of the
largest are kept, for of what is multiplied by something small fewer matter.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import mpmath
from mpmath import mpf

NODES = 64


def _coefficients(function: Callable[[Any], Any], low: Any, high: Any, bits: int = 56) -> list[Any]:
    low, high = mpf(low), mpf(high)
    angles = [mpmath.pi * (2 * k + 1) / (2 * NODES) for k in range(NODES)]
    values = [function((low + high) / 2 + (high - low) / 2 * mpmath.cos(a)) for a in angles]
    made = []
    for j in range(NODES):
        total = sum((v * mpmath.cos(j * a) for v, a in zip(values, angles, strict=True)), mpf(0))
        made.append(total * (1 if j == 0 else 2) / NODES)
    bound = max(map(abs, made)) * mpf(2) ** -bits
    while abs(made[-1]) < bound:
        made.pop()
    return made


def chebyshev(function: Callable[[Any], Any], low: Any, high: Any) -> list[float]:
    """The coefficients on low .. high."""
    return list(map(float, _coefficients(function, low, high)))


def powers(function: Callable[[Any], Any], low: Any, high: Any, bits: int) -> list[float]:
    """The coefficients of powers of x, by the recurrence of the T_k of a straight line in x."""
    low, high = mpf(low), mpf(high)
    line = [-(high + low) / (high - low), 2 / (high - low)]
    before, here = [mpf(1)], line
    first, *rest = _coefficients(function, low, high, bits)
    made = [first]
    for c in rest:
        made = _sum(made, [c * a for a in here])
        twice = _sum([2 * line[0] * a for a in here], [mpf(0), *(2 * line[1] * a for a in here)])
        before, here = here, _sum(twice, [-a for a in before])
    return list(map(float, made))


def _sum(p: list[Any], q: list[Any]) -> list[Any]:
    """The sum of two polynomials."""
    return [a + b for a, b in zip_longest(p, q, fillvalue=mpf(0))]


def erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def tail(u: Any) -> Any:
    """-ndtri(u), for small u, by Newton's method on the logarithm."""
    z = mpmath.sqrt(-2 * mpmath.log(u) if u < mpf("0.2") else mpf(1))
    for _ in range(200):
        part = mpmath.erfc(z / mpmath.sqrt(2)) / 2
        step = (mpmath.log(part) - mpmath.log(u)) * part / mpmath.npdf(z)
        z += step
        if abs(step) < mpf(10) ** -40:
            break
    return z


def central(v: Any) -> Any:
    """ndtri(1/2 + q) / q by v = q**2."""
    if v == 0:
        return mpmath.sqrt(2 * mpmath.pi)
    q = mpmath.sqrt(v)
    return mpmath.sqrt(2) * mpmath.erfinv(2 * q) / q


def waves(order: int, v: Any) -> tuple[Any, Any]:
    """The slow parts P and Q of the Bessel functions by v = (8/x)**2."""
    x = 8 / mpmath.sqrt(v)
    phase = x - (2 * order + 1) * mpmath.pi / 4
    j, y = mpmath.besselj(order, x), mpmath.bessely(order, x)
    size = mpmath.sqrt(mpmath.pi * x / 2)
    c, s = mpmath.cos(phase), mpmath.sin(phase)
    return size * (j * c + y * s), size * (y * c - j * s) * x / 8


def regular(order: int, v: Any) -> Any:
    """What is left of Y without its logarithm and its pole, by v = x**2."""
    x = mpmath.sqrt(v)
    rest = mpmath.bessely(order, x) - 2 / mpmath.pi * mpmath.log(x) * mpmath.besselj(order, x)
    return rest if order == 0 else (rest + 2 / (mpmath.pi * x)) / x


def large(order: int, t: Any) -> Any:
    """sqrt(x) exp(-x) I(x) by t = 8/x."""
    x = 8 / t
    return mpmath.sqrt(x) * mpmath.exp(-x) * mpmath.besseli(order, x)


def left_of_log(order: int, v: Any) -> Any:
    """What is left of K without its logarithm, by v = x**2."""
    x = mpmath.sqrt(v)
    log = mpmath.log(x / 2) * mpmath.besseli(order, x)
    return mpmath.besselk(0, x) + log if order == 0 else (mpmath.besselk(1, x) - log) * x


def far_k(order: int, t: Any) -> Any:
    """sqrt(x) exp(x) K(x) by t = 2/x."""
    x = 2 / t
    return mpmath.sqrt(x) * mpmath.exp(x) * mpmath.besselk(order, x)


def stirling(v: Any) -> Any:
    """y times what Stirling's formula for log gamma(y) leaves, by v = 1 / y**2."""
    if v < mpf(10) ** -12:
        return mpf(1) / 12 - v / 360
    y = 1 / mpmath.sqrt(v)
    return y * (mpmath.loggamma(y) - (y - mpf(1) / 2) * mpmath.log(y) + y - mpmath.log(2 * mpmath.pi) / 2)


def stirling_slope(v: Any) -> Any:
    """y**2 times what log(y) - 1/(2y) - digamma(y) is, by v = 1 / y**2."""
    y = 1 / mpmath.sqrt(v)
    return y * y * (mpmath.log(y) - 1 / (2 * y) - mpmath.digamma(y))


def half_turn(function: Callable[[Any], Any], v: Any) -> Any:
    """A function of pi u, by v = u**2."""
    return function(mpmath.pi * mpmath.sqrt(v))


TABLES: list[tuple[str, str, Callable[[Any], Any], Any, Any]] = [
    ("ERFCX", "(1 + 2x) erfcx(x) by (x - 3.75)/(x + 3.75), x >= 0",
     lambda t: (1 + 2 * (x := mpf("3.75") * (1 + t) / (1 - t))) * erfcx(x), -1, 1),
    ("GAMMA", "log gamma(w) / (w - 2), w from 1.5 to 2.5",
     lambda w: mpmath.loggamma(w) / (w - 2) if w != 2 else mpmath.digamma(2), 1.5, 2.5),
    ("NORMAL", "ndtri(1/2 + q) / q by q**2, |q| <= 0.425", central, 0, mpf("0.425") ** 2),
    ("TAIL", "-ndtri(u) / r by r = sqrt(-log u), r from 1.6 to 5", lambda r: tail(mpmath.exp(-r * r)) / r, 1.6, 5),
    ("FAR_TAIL", "the same by 1/r, r from 5 to 28", lambda s: tail(mpmath.exp(-1 / s**2)) * s, mpf(1) / 28, mpf(1) / 5),
    ("I0", "exp(-x) I0(x), x from 0 to 8", lambda x: mpmath.exp(-x) * mpmath.besseli(0, x), 0, 8),
    ("I0_LARGE", "sqrt(x) exp(-x) I0(x) by 8/x", lambda t: large(0, t), 0, 1),
    ("I1", "(1 + x) exp(-x) I1(x) / x, x from 0 to 8",
     lambda x: (1 + x) * mpmath.exp(-x) * mpmath.besseli(1, x) / x, 0, 8),
    ("I1_LARGE", "sqrt(x) exp(-x) I1(x) by 8/x", lambda t: large(1, t), 0, 1),
    ("J0", "(F - 1) / x**2, where F is (1 + x**2 / 8) J0(x), by x**2, x from 0 to 8",
     lambda v: ((1 + v / 8) * mpmath.besselj(0, mpmath.sqrt(v)) - 1) / v, 0, 64),
    ("J1", "J1(x) / x by x**2", lambda v: mpmath.besselj(1, mpmath.sqrt(v)) / mpmath.sqrt(v), 0, 64),
    ("Y0", "Y0(x) - 2/pi log(x) J0(x) by x**2", lambda v: regular(0, v), 0, 64),
    ("Y1", "(Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x by x**2", lambda v: regular(1, v), 0, 64),
    ("P0", "what multiplies the waves of J0 and Y0, by (8/x)**2", lambda v: waves(0, v)[0], 0, 1),
    ("Q0", "x/8 times what multiplies the others", lambda v: waves(0, v)[1], 0, 1),
    ("P1", "the same of J1 and Y1", lambda v: waves(1, v)[0], 0, 1),
    ("Q1", "and the others", lambda v: waves(1, v)[1], 0, 1),
    ("K0", "K0(x) + log(x/2) I0(x) by x**2, x from 0 to 2", lambda v: left_of_log(0, v), 0, 4),
    ("K1", "x (K1(x) - log(x/2) I1(x)) by x**2", lambda v: left_of_log(1, v), 0, 4),
    ("K0_LARGE", "sqrt(x) exp(x) K0(x) by 2/x", lambda t: far_k(0, t), 0, 1),
    ("K1_LARGE", "sqrt(x) exp(x) K1(x) by 2/x", lambda t: far_k(1, t), 0, 1),
]

POWERS: list[tuple[str, str, Callable[[Any], Any], Any, Any, int]] = [
    ("LOG_GAMMA", "log gamma(2 + u) / u, |u| <= 1/2",
     lambda u: mpmath.loggamma(2 + u) / u, -0.5, 0.5, 55),
    ("DIGAMMA", "digamma(2 + u)", lambda u: mpmath.digamma(2 + u), -0.5, 0.5, 55),
    ("STIRLING", "what Stirling's formula for log gamma(y) leaves, times y, by 1 / y**2, y >= 4.5",
     stirling, 0, 1 / mpf("4.5") ** 2, 50),
    ("STIRLING_SLOPE", "log(y) - 1/(2y) - digamma(y), times y**2",
     stirling_slope, 0, 1 / mpf("4.5") ** 2, 48),
    ("SINE", "sin(pi u) / (pi u) by u**2, |u| <= 1/2",
     lambda v: half_turn(mpmath.sin, v) / (mpmath.pi * mpmath.sqrt(v)), 0, 0.25, 56),
    ("COSINE", "cos(pi u) / (1/4 - u**2)", lambda v: half_turn(mpmath.cos, v) / (mpf("0.25") - v), 0, 0.25, 53),
]


def printed(tables: list[tuple[str, str, list[float]]]) -> None:
    """Assignments of names and comments to standard output."""
    for name, comment, table in tables:
        print(f"\n# {comment}\n{name} = (")
        text = ", ".join(map(repr, table))
        print(textwrap.fill(text + ",", width=110, initial_indent="    ", subsequent_indent="    "))
        print(")")


def main() -> None:
    mpmath.mp.dps = 50
    print('"""Chebyshev coefficients of the special functions, then those of powers, the lowest first, made by')
    print('`tests/tools/fit_special.py` from values in 50 digits.\n"""')
    made = [(name, comment, chebyshev(function, low, high)) for name, comment, function, low, high in TABLES]
    made += [(name, comment, powers(function, low, high, bits)) for name, comment, function, low, high, bits in POWERS]
    printed(made)


if __name__ == "__main__":
    main()
