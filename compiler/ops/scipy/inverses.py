"""The inverse hyperbolic functions, distances, and the slopes of inverse functions as functions of their own.

A slope such as 1 / sqrt(1 - x^2) loses its digits, or is 0 times infinity, where what it is made of is differentiated
term by term: near 0, near 1, far out. So each slope is one function here, whose own slope is a product:

    arcsin_slope = Special("arcsin_slope", _arcsin_slope, [lambda m, ct, x, r: ct * (x * r * r * r)])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..term import Terms
from .special import Arrays, Special


class Own(Special):
    """A formula in the dtype of its arguments."""

    def evaluate(self, args, attrs, regions):
        with np.errstate(all="ignore"):
            return [np.asarray(self.formula(Arrays(), *args, **attrs), np.result_type(*args))]

    def expand(self, b, op, args):
        m = Terms(b)
        return (self.formula(m, *map(m, args), **op.attrs).value,)


def _strong_mul(m: Any, x: Any, y: Any) -> Any:
    return m.select(m.and_(m.eq(x, 0), m.eq(m.abs(y), math.inf)), 0, x * y)


strong_mul = Own(
    "strong_mul", _strong_mul,
    [lambda m, ct, x, y, r: m.strong_mul(ct, _moving(m, x, y)), lambda m, ct, x, y, r: m.strong_mul(x, ct)],
)  # fmt: skip
"""x * y, a cotangent and a slope that may have overflowed: 0 times infinity is 0, and so are its derivatives.

Infinity times 0 stays NaN: nothing has settled in log(exp(x)) far below 0, whose slope is 1.
"""


def _moving(m: Any, x: Any, y: Any) -> Any:
    return m.select(m.and_(m.eq(x, 0), m.eq(m.abs(y), math.inf)), 0, y)

LOG_2 = math.log(2.0)
FAR = 1e9
"""Beyond it x^2 + 1 and x^2 - 1 are x^2."""


def _odd(m: Any, x: Any, positive: Any) -> Any:
    """What is odd in x, by its values for |x|; the sign of zero and NaN are those of x."""
    return m.select(m.lt(x, 0.0), -positive, m.select(m.gt(x, 0.0), positive, x))


def _arcsinh(m: Any, x: Any) -> Any:
    """log(|x| + sqrt(x^2 + 1)), without cancellation or overflow."""
    size = m.abs(x)
    far = m.gt(size, FAR)
    near = m.select(far, 1.0, size)
    small = m.log1p(near + near * near / (1.0 + m.sqrt(near * near + 1.0)))
    return _odd(m, x, m.select(far, m.log(m.select(far, size, 1.0)) + LOG_2, small))


def _arccosh(m: Any, x: Any) -> Any:
    """log(x + sqrt(x^2 - 1)); NaN below 1."""
    far = m.gt(x, FAR)
    above = m.select(far, 1.0, m.select(m.lt(x, 1.0), math.nan, x) - 1.0)
    small = m.log1p(above + m.sqrt(above * (above + 2.0)))
    return m.select(far, m.log(m.select(far, x, 1.0)) + LOG_2, small)


def _hypot(m: Any, x: Any, y: Any) -> Any:
    """Scaled by the larger, so that squares neither overflow nor vanish; infinite where one is, whatever the other."""
    a, b = m.abs(x), m.abs(y)
    big, small = m.maximum(a, b), m.minimum(a, b)
    plain = m.and_(m.gt(big, 0.0), m.lt(big, math.inf))
    ratio = m.select(plain, small, 0.0) / m.select(plain, big, 1.0)
    one = m.or_(m.eq(a, math.inf), m.eq(b, math.inf))
    return m.select(plain, big * m.sqrt(1.0 + ratio * ratio), m.select(one, math.inf, big))


def _hypot_slope(m: Any, x: Any, y: Any) -> Any:
    """x / sqrt(x^2 + y^2), 0 at the origin; far out its limit, of which there is none where both are infinite."""
    a, b = m.abs(x), m.abs(y)
    large = m.gt(m.maximum(a, b), 1e300)
    x, y = m.select(large, x * 2.0**-30, x), m.select(large, y * 2.0**-30, y)
    size = _hypot(m, x, y)
    made = x / m.select(m.eq(size, 0.0), 1.0, size)
    ends = m.select(m.lt(b, math.inf), m.sign(x), math.nan)
    return m.select(m.and_(m.eq(a, math.inf), m.eq(b, b)), ends, made)


def _over(m: Any, above: Any, size: Any) -> Any:
    """above / size, which is 0 where the size is."""
    return above / m.select(m.eq(size, 0.0), math.inf, size)


hypot = Special(
    "hypot", _hypot,
    [lambda m, ct, x, y, r: ct * m.hypot_slope(x, y), lambda m, ct, x, y, r: ct * m.hypot_slope(y, x)],
)  # fmt: skip
hypot_slope = Special(
    "hypot_slope", _hypot_slope,
    [
        lambda m, ct, x, y, r: ct * _over(m, m.hypot_slope(y, x) * m.hypot_slope(y, x), m.hypot(x, y)),
        lambda m, ct, x, y, r: -(ct * _over(m, r * m.hypot_slope(y, x), m.hypot(x, y))),
    ],
)  # fmt: skip


# ---- inverse functions and their slopes


def _product(m: Any, x: Any) -> Any:
    return (1.0 - x) * (1.0 + x)


def _arccosh_slope(m: Any, x: Any) -> Any:
    far = m.gt(m.abs(x), FAR)
    near = m.select(far, 2.0, x)
    return m.select(far, 1.0 / m.abs(m.select(far, x, 1.0)), 1.0 / m.sqrt((near - 1.0) * (near + 1.0)))


def _arccosh_turn(m: Any, ct: Any, x: Any, r: Any) -> Any:
    """-x / (x^2 - 1)^(3/2), where x r is 1 far out."""
    far = m.gt(m.abs(x), FAR)
    return -(ct * (m.select(far, m.sign(x), x * r) * r * r))


arcsin_slope = Special(
    "arcsin_slope", lambda m, x: 1.0 / m.sqrt(_product(m, x)), [lambda m, ct, x, r: ct * (x * r * r * r)], safe=0.5
)
arcsinh = Special("arcsinh", _arcsinh, [lambda m, ct, x, r: ct / m.hypot(x, m.number(1.0, x.value.type))])
arccosh = Special("arccosh", _arccosh, [lambda m, ct, x, r: ct * m.arccosh_slope(x)], safe=2.0)
arccosh_slope = Special("arccosh_slope", _arccosh_slope, [_arccosh_turn], safe=2.0)
arctanh = Special(
    "arctanh", lambda m, x: 0.5 * (m.log1p(x) - m.log1p(-x)), [lambda m, ct, x, r: ct * m.arctanh_slope(x)], safe=0.5
)
arctanh_slope = Special(
    "arctanh_slope", lambda m, x: 1.0 / _product(m, x), [lambda m, ct, x, r: ct * (2.0 * (x * r * r))], safe=0.5
)


# ---- sin(x) / x


def _sinc(m: Any, x: Any, n: int) -> Any:
    """The n-th derivative of sin(x) / x: its series near 0, and beyond n + 2 the recurrence from n - 1 to n."""
    size = m.abs(x)
    near = m.lt(size, n + 2.0)
    t = m.select(near, x, 0.0)
    square, made = t * t, 0.0 * t
    for k in range(14 + n, (n + 1) // 2 - 1, -1):
        made = made * square + (-1) ** k * math.perm(2 * k, n) / math.factorial(2 * k + 1)
    made = made * t if n % 2 else made
    u = m.select(near, 1.0, x)
    waves = [m.sin(u), m.cos(u), -m.sin(u), -m.cos(u)]
    far = waves[0] / u
    for k in range(1, n + 1):
        far = (waves[k % 4] - float(k) * far) / u
    return m.select(near, made, far)


sinc = Special("sinc", _sinc, [lambda m, ct, x, r, n: ct * m.sinc(x, n=n + 1)], {"n": "axis"})

__all__ = ["arccosh", "arcsin_slope", "arcsinh", "arctanh", "hypot", "sinc", "strong_mul"]
