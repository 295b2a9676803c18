"""Formulas that cancel, computed with `stable=True`: value and derivatives beside SymPy's 50 digits, near and far."""

import numpy as np
import pytest
import sympy as sp

from pullback import grad, lambdify

x, y = sp.symbols("x y", real=True)

CANCELLING = [
    (1 - sp.cos(x) ** 2, [1e-8]),
    (1 - sp.sin(x) ** 2, [1.5707963]),
    (sp.log(x + 1) - sp.log(x), [1e12]),
    (sp.sqrt(x + y) - sp.sqrt(x), [1e10, 1.0]),
    (x - sp.sqrt(x**2 - 1), [1e8]),
    ((-x + sp.sqrt(x**2 - 4 * y)) / 2, [1e8, 1.0]),
    (sp.sin(x + y) - sp.sin(x), [1.0, 1e-10]),
    (sp.cos(x) - sp.cos(y), [1.0, 1.0 + 1e-10]),
    (sp.tan(x + y) - sp.tan(x), [0.4, 1e-11]),
    (sp.atan(x + 1) - sp.atan(x), [1e6]),
    (1 / x - 1 / (x + 1), [1e9]),
    (2**x - 1, [1e-12]),
    (sp.exp(x) - sp.exp(-x), [1e-9]),
    (1 - sp.tanh(x), [20.0]),
    (1 + sp.tanh(x), [-20.0]),
    (sp.acos(1 - x), [1e-14]),
    (sp.log(sp.cosh(x)), [1e-6]),
]

NEAR_ZERO = [  # and how many ulps value, slope and second derivative may be off
    (sp.exp(x) - 1 - x, 8), (x - sp.sin(x), 8), (1 - x**2 / 2 - sp.cos(x), 8), (sp.log(1 + x) - x, 8),
    (sp.atan(x) - x, 16), (sp.tanh(x) / x, 40), ((sp.exp(x) - 1) / x, 8), (x / (sp.exp(x) - 1), 8),
    (1 / sp.sin(x) - 1 / x, 8), ((sp.exp(x) - 1 - x) / x**2, 8), (sp.log(sp.sin(x) / x), 16), (sp.sin(x) / x, 16),
    (x * sp.coth(x), 8), (sp.besselj(0, x) - 1, 40), (sp.exp(10 * x) - 1 - 10 * x, 16),
]  # fmt: skip


def exact(e, at):
    """At values of x and y, as far as there are such."""
    return sp.N(e.subs(dict(zip((x, y), map(sp.Rational, at), strict=False))), 50)


def compared(e, at, within):
    names = [s for s in (x, y) if s in e.free_symbols]
    function = lambdify(names, e, stable=True)
    assert abs(function(*at) - exact(e, at)) <= within * abs(exact(e, at))
    for k, s in enumerate(names):
        slope = e.diff(s)
        want = exact(slope, at)
        assert abs(grad(function, argnums=k)(*at) - want) <= 4 * within * abs(want), s
    return function, names


@pytest.mark.parametrize("e, at", CANCELLING, ids=[str(e) for e, _ in CANCELLING])
def test_what_cancels_keeps_its_digits(e, at):
    compared(e, at, 1e-15)
    names = [s for s in (x, y) if s in e.free_symbols]
    value = float(exact(e, at))
    assert abs(lambdify(names, e)(*at) - value) > 1e-10 * abs(value), "the plain form loses them"


@pytest.mark.parametrize("e, at", CANCELLING, ids=[str(e) for e, _ in CANCELLING])
@pytest.mark.parametrize("point", [(0.7, 0.1), (1.4, 0.3), (3.9, 1.1), (-0.6, -0.2), (-2.3, -0.7)])
def test_elsewhere_it_is_the_same_function(e, at, point):
    names = [s for s in (x, y) if s in e.free_symbols]
    want = exact(e, point)
    function = lambdify(names, e, stable=True)
    at = point[: len(names)]
    if not want.is_real or not want.is_finite:
        return  # NaN here, unless the form is defined beyond
    assert abs(function(*at) - want) <= 1e-14 * abs(want) + 1e-16
    first, second = e.diff(names[0]), e.diff(names[0], 2)
    assert abs(grad(function)(*at) - exact(first, point)) <= 1e-13 * (1 + abs(exact(first, point)))
    assert abs(grad(grad(function))(*at) - exact(second, point)) <= 1e-12 * (1 + abs(exact(second, point)))


def test_nothing_overflows_that_does_not_in_the_plain_form():
    for e, side in ((sp.log(sp.cosh(x)), 0), (1 - sp.tanh(x), -1), (1 + sp.tanh(x), 1)):
        function = lambdify(x, e, stable=True)
        for far in (-800.0, 800.0):
            want = 800.0 - np.log(2) if side == 0 else 1.0 + np.sign(far) * side
            assert np.isfinite(function(far)) and abs(function(far) - want) <= 1e-15 * abs(want) + 1e-300
            assert np.isfinite(grad(function)(far)) and np.isfinite(grad(grad(function))(far))


def test_where_roots_do_not_cancel_the_plain_form_is_kept():
    function = lambdify([x, y], (-x + sp.sqrt(x**2 - 4 * y)) / 2, stable=True)
    assert function(-1e8, 1.0) == pytest.approx(1e8, rel=1e-15)
    assert function(0.0, -1.0) == 1.0


@pytest.mark.parametrize("e, within", NEAR_ZERO, ids=[str(e) for e, _ in NEAR_ZERO])
def test_what_cancels_by_more_than_its_first_terms_is_a_power_series_near_zero(e, within):
    function = lambdify(x, e, stable=True)
    for order in range(3):
        slope = e.diff(x, order)
        for at in (1e-12, -1e-7, 1e-4, -0.01, 0.24, -0.3, 0.6):
            want = sp.N(slope.subs(x, sp.Rational(at)), 40, maxn=400)
            assert abs(function(at) - want) <= within * 2.0**-52 * abs(want), (order, at)
        assert np.isfinite(function(0.0))
        assert function(40.0) == pytest.approx(float(sp.N(slope.subs(x, 40), 30)), rel=1e-10), "far outside"
        function = grad(function)


def test_a_series_is_of_any_argument_and_keeps_its_scale():
    e = sp.tanh(x * y) / (x * y)
    function = lambdify([x, y], e, stable=True)
    assert function(1e-200, 1e200) == pytest.approx(np.tanh(1.0), rel=1e-15)
    assert grad(function)(1e-9, 2.0) == pytest.approx(-2 / 3 * 4 * 1e-9, rel=1e-15)
    far = lambdify(x, sp.tanh(x) / x, stable=True)
    assert (far(1e250), grad(far)(1e100), grad(grad(far))(np.inf)) == (1e-250, -1e-200, 0.0)
    steep = lambdify([x, y], sp.exp(x - y) - 1 - x + y, stable=True)
    assert steep(1.0, 1.0 - 2.0**-30) == pytest.approx(2.0**-61, rel=1e-9)


PLAIN = [sp.sqrt(x) - x, sp.Abs(x) - sp.sin(x), x * sp.log(x) - x, sp.exp(-1 / x**2) - x, x + sp.sin(x)]


@pytest.mark.parametrize("e", PLAIN, ids=str)
def test_what_has_no_power_series_or_does_not_cancel_stays(e):
    assert lambdify(x, e, stable=True).rewrites == ()
