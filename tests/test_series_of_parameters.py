"""Bessel's I in its order, Kummer's function and noncentral chi-squared in their parameters: by mpmath."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from pullback.runtime.transforms import grad

S: Any = scipy.special
stats: Any = scipy.stats


def _mixture(x: Any, df: Any, nc: Any) -> Any:
    return mpmath.nsum(
        lambda j: mpmath.exp(-nc / 2) * (nc / 2) ** j / mpmath.factorial(j)
        * mpmath.gammainc(df / 2 + j, 0, x / 2, regularized=True), [0, 60], method="d",
    )  # fmt: skip


def _scaled(v: Any, x: Any) -> Any:
    return mpmath.besseli(v, x) * mpmath.exp(-x)


ORDERS = ((0.5, 1.2), (2.3, 0.01), (-0.6, 2.0), (3.0, 500.0), (12.0, 700.0), (0.7, 2e3))
KUMMER = ((1.2, 2.3, 0.7), (3.0, 1.5, -12.0), (0.5, 3.5, 20.0))
CASES: list[tuple[Callable[..., Any], Callable[..., Any], tuple[float, ...], int]] = [
    *((S.ive, _scaled, at, 0) for at in ORDERS),
    *((S.hyp1f1, mpmath.hyp1f1, at, k) for at in KUMMER for k in (0, 1)),
    *((S.hyp0f1, mpmath.hyp0f1, at, 0) for at in ((1.3, 0.7), (0.4, 30.0), (5.0, -2.0))),
    *((S.chndtr, _mixture, at, 1) for at in ((3.0, 2.5, 1.3), (0.5, 4.0, 0.2))),
]


@pytest.mark.parametrize(("function", "exact", "at", "place"), CASES)
def test_two_derivatives(function: Any, exact: Any, at: tuple[float, ...], place: int) -> None:
    def moved(t: Any) -> Any:
        return exact(*[t if k == place else mpmath.mpf(x) for k, x in enumerate(at)])

    slope = grad(function, argnums=place)
    with mpmath.workdps(40):
        want = [float(mpmath.diff(moved, at[place], n)) for n in (1, 2)]
    assert slope(*at) == pytest.approx(want[0], rel=1e-11)
    assert grad(slope, argnums=place)(*at) == pytest.approx(want[1], rel=1e-11)


def test_where_a_series_loses_its_digits_it_is_no_number() -> None:
    assert np.isnan(grad(S.hyp0f1)(1.3, -400.0))


def test_shapes_of_extremes_at_zero() -> None:
    """Where the law changes its form, its slopes in the shape go on."""
    x = np.array([0.3, 1.1, 2.4])
    for law, sign in ((stats.genpareto, 1.0), (stats.genextreme, -1.0)):
        slope = grad(lambda c: np.sum(law.logpdf(x, c)))  # noqa: B023
        near = [float(np.sum(law.logpdf(x, c))) for c in (-1e-3, 0.0, 1e-3)]
        assert slope(0.0) == pytest.approx((near[2] - near[0]) / 2e-3, rel=1e-4), sign
        assert grad(slope)(0.0) == pytest.approx((near[2] - 2 * near[1] + near[0]) / 1e-6, rel=1e-3)
