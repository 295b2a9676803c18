"""Polylogarithms of whole orders: values and derivatives beside mpmath's, at the ends of every part; refusals."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

from pullback import check, grad, lambdify

x, y = sp.symbols("x y", real=True)
PLACES = [
    -1e300, -1e10, -50.0, -2.0000001, -2.0, -1.9999, -1.5, -1.0000001, -1.0, -0.75, -0.5000001, -0.5, -0.4, -1e-3,
    -1e-300, 0.0, 5e-324, 1e-10, 0.1, 0.3, 0.5, 0.50000001, 0.6, 0.8, 0.99, 0.9999999, 1 - 2.0**-53, 1.0,
]  # fmt: skip
ORDERS = (3, 4, 6, 13, 14, 20)


def exact(s: int, z: float, order: int) -> Any:
    """A derivative, by Li_s' = Li_(s-1) / z and near 0 by the sum."""
    at = mpmath.mpf(z)
    if abs(z) < 1e-3:
        terms = [mpmath.mpf(k) ** -s * mpmath.ff(k, order) * at ** max(k - order, 0) for k in range(max(order, 1), 30)]
        return mpmath.fsum(terms)
    li = [mpmath.re(mpmath.polylog(s - k, at)) for k in range(order + 1)]
    return [li[0], li[-1] / at, (li[-1] - li[-2]) / at**2 if order > 1 else 0][order]


def ulps(got: float, want: Any) -> float:
    return float(abs(mpmath.mpf(got) - want) / mpmath.mpf(float(np.spacing(abs(float(want))))))


@pytest.mark.parametrize("s", ORDERS)
def test_values_and_derivatives_are_those_of_mpmath(s):
    f = lambdify(x, sp.polylog(s, x))
    slope = grad(f)
    second = grad(slope)
    with mpmath.workdps(60):
        for z in PLACES:
            assert ulps(f(z), exact(s, z, 0)) < (6 if s < 14 else 10)
            assert ulps(slope(z), exact(s, z, 1)) < 8
            if s == 3 and z == 1.0:
                assert second(z) == np.inf
                continue
            want, beside = exact(s, z, 2), abs(exact(s, z, 1))
            tolerance = 8e-15 * max(abs(want), beside / max(abs(z), 1)) + 1e-300
            assert abs(mpmath.mpf(second(z)) - want) <= tolerance


@pytest.mark.parametrize("s", [3, 4, 14])
def test_second_derivatives_of_arrays_agree_with_differences(s):
    f = lambdify(x, sp.polylog(s, x))
    for at in (-30.0, -1.3, -0.7, 0.25, 0.7, 0.95):
        check(f, at, order=2)
    at = np.linspace(-3, 1, 101)
    np.testing.assert_allclose(f(at), [f(float(z)) for z in at], rtol=1e-15)
    both = lambdify([x, y], sp.polylog(s, x * y) * y + sp.polylog(s, x))
    check(both, 0.7, -0.9, order=2)


@pytest.mark.parametrize("s", ORDERS)
def test_above_one_and_at_the_ends_they_are_no_numbers_or_infinite(s):
    f = lambdify(x, sp.polylog(s, x))
    for function in (f, grad(f)):
        assert np.isnan([function(1.5), function(np.inf), function(np.nan)]).all()
    assert f(-np.inf) == -np.inf
    with mpmath.workdps(30):
        assert ulps(f(1.0), mpmath.zeta(s)) < 2


def test_the_slope_at_one_of_the_fourth_order_is_infinite_in_its_third_derivative_only():
    f = lambdify(x, sp.polylog(4, x))
    second = grad(grad(f))
    np.testing.assert_allclose(second(1.0), np.pi**2 / 6 - float(mpmath.zeta(3)), rtol=1e-14)
    assert grad(second)(1.0) == np.inf


@pytest.mark.parametrize("order", [sp.Rational(5, 2), sp.Integer(21), y])
def test_other_orders_are_refused_with_a_way_out_that_works(order):
    with pytest.raises(TypeError, match=r"the order is .*whole orders up to 20 are computed; modules=\{'polylog'"):
        lambdify([x, y], sp.polylog(order, x))
    assert lambdify([x, y], sp.polylog(order, x), modules={"polylog": lambda s, z: z + s})(0.5, 2.0) >= 2.0


def test_complex_arguments_are_refused():
    with pytest.raises(TypeError, match=r"polylogarithms of real numbers are computed"):
        lambdify(sp.Symbol("z"), sp.polylog(3, sp.Symbol("z")), dtype=complex)
