"""What inverse functions of complex numbers are where a part is infinite or NaN, by C99's annex G.

    of_arctanh(m, z, made)      the values of `made`, but for those z, as the standard has them: 0 + i pi/2 at infinity

Where one part is finite and the other NaN, both are NaN, as arithmetic makes them, but at zeros.
"""

from __future__ import annotations

import math
from typing import Any

from .pair import Pair


def infinite(r: Any, x: Any) -> Any:
    """Whether x is an infinity."""
    return r.eq(r.abs(x), math.inf)


def _nan(r: Any, x: Any) -> Any:
    return r.ne(x, x)


def _signed(r: Any, number: float, x: Any) -> Any:
    """The number with the sign of x, or NaN where x is."""
    return r.select(_nan(r, x), x, r.copysign(number, x))


def _far(r: Any, z: Pair) -> Any:
    return r.or_(infinite(r, z.re), infinite(r, z.im))


def _beside_nan(r: Any, z: Pair) -> Any:
    """Whether z is i NaN."""
    return r.and_(r.eq(z.re, 0), _nan(r, z.im))


def of_arctanh(m: Any, z: Pair, made: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    far = _far(r, z)
    re = r.select(_beside_nan(r, z), x, made.re)
    return Pair(m, r.select(far, r.copysign(0.0, x), re), r.select(far, _signed(r, math.pi / 2, y), made.im))


def of_arcsin(m: Any, z: Pair, made: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    high = r.select(infinite(r, x), r.copysign(math.pi / 4, x), _signed(r, 0.0, x))
    wide = r.select(_nan(r, y), y, r.copysign(math.pi / 2, x))
    re = r.select(_beside_nan(r, z), x, r.select(infinite(r, x), wide, made.re))
    re = r.select(infinite(r, y), high, re)
    return Pair(m, re, r.select(_far(r, z), r.copysign(math.inf, y), made.im))


def _turn(r: Any, z: Pair, made: Any) -> Any:
    """The real part of arccos, and the size of the imaginary part of arccosh."""
    x, y = z.re, z.im
    wide = r.select(r.lt(x, 0), 3 * math.pi / 4, r.copysign(math.pi / 4, x))
    high = r.select(infinite(r, x), wide, r.select(_nan(r, x), x, r.copysign(math.pi / 2, 1.0 + r.abs(x))))
    flat = r.select(_nan(r, y), y, r.select(r.lt(x, 0), math.pi, r.copysign(0.0, x)))
    made = r.select(_beside_nan(r, z), math.pi / 2, r.select(infinite(r, x), flat, made))
    return r.select(infinite(r, y), high, made)


def of_arccos(m: Any, z: Pair, made: Pair) -> Pair:
    r = m.real
    return Pair(m, _turn(r, z, made.re), r.select(_far(r, z), r.copysign(math.inf, -z.im), made.im))


def of_arccosh(m: Any, z: Pair, made: Pair) -> Pair:
    r, x, y = m.real, z.re, z.im
    special = r.or_(_far(r, z), _beside_nan(r, z))
    im = r.copysign(_turn(r, z, x), y)
    return Pair(m, r.select(_far(r, z), math.inf, made.re), r.select(special, im, made.im))


__all__ = ["infinite", "of_arccos", "of_arccosh", "of_arcsin", "of_arctanh"]
