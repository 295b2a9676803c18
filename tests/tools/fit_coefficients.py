"""Print `compiler/backend/elementary/coefficients.py`: run it and redirect.

Each polynomial is a weighted least-squares fit on Chebyshev nodes in 300-bit arithmetic, which
comes within a bit of the minimax polynomial. Coefficients are rounded one after the other, lowest
first, and the rest is fitted again each time, so that the higher ones make up for the rounding.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
from mpmath import mpf

Function = Callable[[Any], Any]


class Fit(NamedTuple):
    """A polynomial to find: the function, its interval, the degree for f64 and the one for f32
    (where f32 has a polynomial of its own), the weight."""

    name: str
    comment: str
    function: Function
    low: Any
    high: Any
    degrees: tuple[int, ...]
    weight: Function = lambda x: mpf(1)


def round_to(dtype: str, value: Any) -> float:
    """The nearest float of that size."""
    number = float(value)
    return number if dtype == "f64" else struct.unpack("f", struct.pack("f", number))[0]


def nodes(low: Any, high: Any, count: int) -> list[Any]:
    """Chebyshev nodes of an interval."""
    angles = [mpmath.pi * (2 * i + 1) / (2 * count) for i in range(count)]
    return [(low + high) / 2 + (high - low) / 2 * mpmath.cos(angle) for angle in angles]


def solve(points: list[Any], values: list[Any], weights: list[Any], powers: list[int]) -> list[Any]:
    """The coefficients of the given powers that fit best in the weighted square sense."""
    matrix = mpmath.matrix(len(points), len(powers))
    right = mpmath.matrix(len(points), 1)
    for i, (x, y, weight) in enumerate(zip(points, values, weights, strict=True)):
        right[i] = weight * y
        for j, power in enumerate(powers):
            matrix[i, j] = weight * x**power
    return list(mpmath.lu_solve(matrix, right))


def coefficients(fit: Fit, dtype: str) -> list[float]:
    """The rounded coefficients, lowest power first."""
    degree = fit.degrees[0 if dtype == "f64" else 1]
    points = nodes(fit.low, fit.high, 4 * (degree + 1))
    values = [fit.function(x) for x in points]
    weights = [fit.weight(x) for x in points]
    found: list[float] = []
    for power in range(degree + 1):
        best = solve(points, values, weights, list(range(power, degree + 1)))[0]
        found.append(round_to(dtype, best))
        values = [y - mpf(found[-1]) * x**power for x, y in zip(points, values, strict=True)]
    return found


def exponential(r: Any) -> Any:
    return (mpmath.expm1(r) - r) / r**2


def logarithm(z: Any) -> Any:
    s = mpmath.sqrt(z)
    return (mpmath.log((1 + s) / (1 - s)) - 2 * s) / (s * z)


def logarithm_tail(z: Any) -> Any:
    return (logarithm(z) - mpf(2) / 3) / z


def sine(z: Any) -> Any:
    r = mpmath.sqrt(z)
    return (mpmath.sin(r) - r) / (r * z)


def cosine(z: Any) -> Any:
    return (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2


def error_near(z: Any) -> Any:
    return mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1


def error_far(t: Any) -> Any:
    x = 2 / t - 2
    return mpmath.erfc(x) * mpmath.exp(x**2) / t


def error_far_weight(t: Any) -> Any:
    return mpmath.exp(-((2 / t - 2) ** 2)) * t


def arctangent(z: Any) -> Any:
    x = mpmath.sqrt(z)
    return (mpmath.atan(x) - x) / (x * z)


def arcsine(z: Any) -> Any:
    x = mpmath.sqrt(z)
    return (mpmath.asin(x) - x) / (x * z)


def hyperbolic_sine(z: Any) -> Any:
    x = mpmath.sqrt(z)
    return (mpmath.sinh(x) - x) / (x * z)


def fits() -> list[Fit]:
    """All polynomials, on intervals a little wider than the reductions leave."""
    nothing, wider = mpf(10) ** -30, mpf("1.001")
    half_log = mpmath.log(2) / 2 * wider
    root = mpmath.sqrt(2)
    narrow = ((root - 1) / (root + 1)) ** 2 * wider
    quarter = (mpmath.pi / 4) ** 2 * wider
    octant = mpmath.tan(mpmath.pi / 8) ** 2 * wider
    return [
        Fit(
            "EXP",
            "(exp(r) - 1 - r) / r**2, |r| <= log(2)/2",
            exponential,
            -half_log,
            half_log,
            (9, 4),
            mpmath.fabs,
        ),
        Fit(
            "LOG",
            "(log((1+s)/(1-s)) - 2s) / s**3 by z = s**2, (1+s)/(1-s) within sqrt(2) of 1",
            logarithm,
            nothing,
            narrow,
            (6, 3),
        ),
        Fit(
            "LOG_WIDE",
            "the same, (1+s)/(1-s) from 1 to 2",
            logarithm,
            nothing,
            mpf(1) / 9 * wider,
            (10, 4),
        ),
        Fit(
            "LOG_TAIL",
            "(log((1+s)/(1-s)) - 2s - 2/3 s**3) / s**5 by z, within sqrt(2) of 1",
            logarithm_tail,
            nothing,
            narrow,
            (6, 3),
        ),
        Fit("SIN", "(sin(r) - r) / r**3 by z = r**2, |r| <= pi/4", sine, nothing, quarter, (5, 2)),
        Fit(
            "COS",
            "(cos(r) - 1 + z/2) / z**2 by z = r**2, |r| <= pi/4",
            cosine,
            nothing,
            quarter,
            (5, 2),
        ),
        Fit(
            "ERF_NEAR",
            "erf(x)/x - 1 by z = x**2, |x| <= 1",
            error_near,
            nothing,
            mpf(1) * wider,
            (11, 6),
        ),
        Fit(
            "ERF_FAR",
            "erfc(x) exp(x**2) / t by t = 1/(1 + x/2), 1 <= x <= 6",
            error_far,
            mpf(1) / 4,
            mpf(2) / 3 * wider,
            (11, 5),
            error_far_weight,
        ),
        Fit("ATAN", "(atan(x) - x) / x**3 by z = x**2, |x| <= tan(pi/8)", arctangent, nothing, octant, (10,)),
        Fit("ASIN", "(asin(x) - x) / x**3 by z = x**2, |x| <= 1/2", arcsine, nothing, mpf(1) / 4 * wider, (12,)),
        Fit("SINH", "(sinh(x) - x) / x**3 by z = x**2, |x| <= 1", hyperbolic_sine, nothing, mpf(1) * wider, (7,)),
    ]


def table() -> str:
    """The text of the module."""
    lines = [
        '"""Coefficients of the elementary functions, lowest power first, made by',
        "`tests/tools/fit_coefficients.py` as near-minimax fits on Chebyshev nodes.",
        '"""',
        "",
    ]
    with mpmath.workprec(300):
        for fit in fits():
            lines += ["", f"# {fit.comment}", f"{fit.name} = {{"]
            for dtype in ("f64", "f32")[: len(fit.degrees)]:
                numbers = "".join(f"        {value!r},\n" for value in coefficients(fit, dtype))
                lines.append(f'    "{dtype}": (\n{numbers}    ),')
            lines.append("}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
