"""scipy.interpolate on traced values and places: refusals, ranges, and what a spline that was made outside does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

from pullback.runtime.transforms import grad, jit

P: Any = scipy.interpolate
X = np.linspace(0.0, 2.0, 50)


def test_splines_of_many_values() -> None:
    f = lambda y: P.CubicSpline(X, y)(np.array([0.13, 1.01]))  # noqa: E731
    y = np.sin(3 * X)
    np.testing.assert_allclose(jit(f)(y), f(y), rtol=1e-13)
    columns = np.stack([P.CubicSpline(X, e)(np.array([0.13, 1.01])).sum() for e in np.eye(50)])
    np.testing.assert_allclose(grad(lambda y: np.sum(f(y)))(y), columns, atol=1e-13)


def test_a_spline_that_is_asked_twice_within_a_loop() -> None:
    def f(y: Any) -> Any:
        spline, total = P.CubicSpline(X, y * y), 0.0
        for k in range(3):
            total = total + spline(0.3 * k) * spline(0.5, 2)
        return total

    y = np.cos(X)
    assert jit(f)(y) == pytest.approx(f(y), rel=1e-12)
    step = 1e-5 * np.sin(X)
    assert grad(f)(y) @ np.sin(X) == pytest.approx((f(y + step) - f(y - step)) / 2e-5, rel=1e-6)


def test_interp1d_refuses_places_outside() -> None:
    f = lambda t: P.interp1d(X, X**2)(t)[()]  # noqa: E731
    assert grad(f)(1.01) == pytest.approx(2.02, rel=1e-2)
    with pytest.raises(ValueError, match="outside the interpolation range"):
        grad(f)(2.5)


REFUSALS: dict[str, tuple[Callable[..., Any], str]] = {
    "kinds": (lambda y: P.interp1d(X, y * X, "nearest")(0.3)[()], "linear or cubic"),
    "degrees": (lambda y: P.make_interp_spline(y * X, X, 5)(0.3)[()], "degree 5 at traced places"),
    "knots": (lambda y: P.make_interp_spline(y * X, X, 3, t=X)(0.3)[()], "degree 1 or 3 without t"),
    "smoothing": (lambda y: P.UnivariateSpline(X, y * X)(0.3)[()], "pass s=0"),
    "smoothing by splrep": (lambda y: P.splev(0.3, P.splrep(X, y * X, s=0.1))[()], "pass s=0"),
    "places of FITPACK": (lambda y: P.InterpolatedUnivariateSpline(y * X, X)(0.3)[()], "places, weights or ends"),
    "unsorted places": (lambda y: P.interp1d(X * y, X)(0.3)[()], "assume_sorted=True"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    f, said = REFUSALS[name]
    with pytest.raises(TypeError, match=said):
        grad(f)(0.7)
