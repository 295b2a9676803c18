"""Print `compiler/ops/scipy/slope_tables.py`, as `fit_special` prints the tables of the functions themselves.

The derivatives follow from the functions by recurrences that cancel, which 50 digits bear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mpf

from tests.tools.fit_special import chebyshev, erfcx, printed

DAWSON_SEAM = 5
HALF = mpf(1) / 2


def erfcx_derivative(n: int, x: Any) -> Any:
    before, here = erfcx(x), 2 * x * erfcx(x) - 2 / mpmath.sqrt(mpmath.pi)
    for k in range(1, n):
        before, here = here, 2 * x * here + 2 * k * before
    return here if n else before


def dawson_derivative(n: int, x: Any) -> Any:
    before = x * mpmath.hyp1f1(1, 3 * HALF, -x * x)
    here = 1 - 2 * x * before
    for k in range(1, n):
        before, here = here, -2 * x * here - 2 * k * before
    return here if n else before


def i0e_derivative(n: int, x: Any) -> Any:
    """(-1)^n times it, by Kummer's function."""
    return mpmath.rf(HALF, n) * mpf(2) ** n / mpmath.factorial(n) * mpmath.hyp1f1(n + HALF, n + 1, -2 * x)


def i1e_derivative(n: int, x: Any) -> Any:
    return (-1) ** n * (i0e_derivative(n, x) - i0e_derivative(n + 1, x))


def k0e_derivative(n: int, x: Any) -> Any:
    """(-1)^n times it."""
    before, here = (mpmath.exp(x) * mpmath.besselk(order, x) for order in (0, 1))
    here -= before
    for k in range(1, n):
        before, here = here, ((k - 2 * x) * here + (2 * k - 1) * before) / x
    return here if n else before


def k0e_logarithm(n: int, x: Any) -> Any:
    """What the logarithm of x is multiplied by in `k0e_derivative`."""
    before, here = (mpmath.exp(x) * mpmath.besseli(order, x) for order in (0, 1))
    here += before
    for k in range(1, n):
        before, here = here, ((2 * x - k) * here + (2 * k - 1) * before) / x
    return -((-1) ** n) * here


def k0e_rest(n: int, x: Any) -> Any:
    return x**n * (k0e_derivative(n, x) - mpmath.log(x) * k0e_logarithm(n, x))


def _erfcx(n: int, t: Any) -> Any:
    x = mpf("3.75") * (1 + t) / (1 - t)
    return ((1 + 2 * x) ** (n + 1) * erfcx_derivative(n, x) - (2 if n == 2 else -2 / mpmath.sqrt(mpmath.pi))) / (1 + t)


def _dawson(n: int, s: Any) -> Any:
    x = mpmath.sqrt(s)
    return (dawson_derivative(n, x) * (1 + 2 * s) ** (n // 2 + 1) / (1 if n % 2 else x) - (1, 1, -4)[n]) / s


def _near(function: Callable[[int, Any], Any], n: int, x: Any) -> Any:
    return (function(n, x) * (1 + 2 * x) ** n - function(n, mpf(0))) / x


def _far_dawson(n: int, v: Any) -> Any:
    x = DAWSON_SEAM / mpmath.sqrt(v)
    return dawson_derivative(n, x) * x ** (n + 1)


def _far(function: Callable[[int, Any], Any], n: int, power: int, x: Any) -> Any:
    return function(n, x) * mpmath.sqrt(x) * x**power


TABLES: list[tuple[str, str, Callable[[Any], Any], Any, Any]] = []
for _n in (1, 2):
    TABLES += [
        (f"ERFCX_{_n}", f"(F - F(0)) / (1 + t) by t = (x - 3.75)/(x + 3.75), where F is (1 + 2x)^{_n + 1} times "
         f"derivative {_n} of erfcx, x >= 0", lambda t, n=_n: _erfcx(n, t), -1, 1),
        (f"I0E_{_n}", f"(F - F(0)) / x, where F is (-1 - 2x)^{_n} times derivative {_n} of exp(-x) I0(x), x up to 8",
         lambda x, n=_n: _near(i0e_derivative, n, x), 0, 8),
        (f"I0E_{_n}_LARGE", f"the derivative times sqrt(x) (-x)^{_n}, by 8/x",
         lambda t, n=_n: _far(i0e_derivative, n, n, 8 / t), 0, 1),
        (f"I1E_{_n}", f"(F - F(0)) / x, where F is (1 + 2x)^{_n} times derivative {_n} of exp(-x) I1(x)",
         lambda x, n=_n: _near(i1e_derivative, n, x), 0, 8),
        (f"I1E_{_n}_LARGE", f"the derivative times sqrt(x) x^{_n}, by 8/x",
         lambda t, n=_n: _far(i1e_derivative, n, n, 8 / t), 0, 1),
        (f"K0E_{_n}_LOG", f"what log(x) is multiplied by in (-1)^{_n} times derivative {_n} of exp(x) K0(x), x up to 1",
         lambda x, n=_n: k0e_logarithm(n, x), 0, 1),
        (f"K0E_{_n}", f"the rest times x^{_n}", lambda x, n=_n: k0e_rest(n, x), 0, 1),
        (f"K0E_{_n}_LARGE", f"the derivative times sqrt(x) (-x)^{_n} by 1/x",
         lambda t, n=_n: _far(k0e_derivative, n, n, 1 / t), 0, 1),
    ]  # fmt: skip
for _n in (0, 1, 2):
    TABLES += [
        (f"DAWSON_{_n}", f"(F - F(0)) / x^2 by x^2, where F is (1 + 2x^2)^{_n // 2 + 1} times derivative {_n} of "
         f"Dawson's integral{'' if _n % 2 else ' / x'}, x from 0 to {DAWSON_SEAM}",
         lambda s, n=_n: _dawson(n, s), 0, DAWSON_SEAM**2),
        (f"DAWSON_{_n}_LARGE", f"x^{_n + 1} times the derivative, by ({DAWSON_SEAM}/x)^2",
         lambda v, n=_n: _far_dawson(n, v), 0, 1),
    ]  # fmt: skip


def main() -> None:
    """The file's text to standard output."""
    mpmath.mp.dps = 50
    print('"""Chebyshev coefficients of derivatives of special functions, made by `tests/tools/fit_slopes.py`."""')
    printed([(name, comment, chebyshev(function, low, high)) for name, comment, function, low, high in TABLES])


if __name__ == "__main__":
    main()
