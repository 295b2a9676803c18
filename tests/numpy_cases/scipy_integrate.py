"""Cases of scipy.integrate's functions of sampled values."""

from typing import Any

import numpy as np
from scipy import integrate

from tests.numpy_cases import Case, spread

S: Any = integrate
ROW, ROWS = spread(6), spread(3, 5)
PLACES = np.cumsum(np.abs(spread(6, seed=3)) + 0.1)

CASES = [
    Case("scipy.integrate.trapezoid", S.trapezoid, (ROW, PLACES), f32=False),
    Case("scipy.integrate.trapezoid axis", lambda y: S.trapezoid(y, dx=0.1, axis=0), (ROWS,)),
    Case("scipy.integrate.cumulative_trapezoid", S.cumulative_trapezoid, (ROW, PLACES), f32=False),
    Case("scipy.integrate.cumulative_trapezoid initial", lambda y: S.cumulative_trapezoid(y, initial=0), (ROWS,)),
    Case("scipy.integrate.cumulative_trapezoid axis", lambda y: S.cumulative_trapezoid(y, dx=0.3, axis=0), (ROWS,)),
    Case("scipy.integrate.simpson", lambda y, x: S.simpson(y, x=x), (ROW, PLACES), f32=False),
    Case("scipy.integrate.simpson odd", lambda y, x: S.simpson(y, x=x), (ROW[:5].copy(), PLACES[:5].copy()), f32=False),
    Case("scipy.integrate.simpson axis", lambda y: S.simpson(y, dx=0.3, axis=0), (ROWS,), f32=False),
    Case("scipy.integrate.simpson even", lambda y: S.simpson(y[:, :4], dx=0.3), (ROWS,), f32=False),
    Case("scipy.integrate.cumulative_simpson", lambda y, x: S.cumulative_simpson(y, x=x), (ROW, PLACES), f32=False),
    Case("scipy.integrate.cumulative_simpson axis", lambda y: S.cumulative_simpson(y, dx=0.3, axis=0, initial=0.0),
         (ROWS,), f32=False),
    Case("scipy.integrate.romb", lambda y: S.romb(y, dx=0.3), (spread(2, 9),), f32=False),
]
