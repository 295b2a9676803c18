"""Functions that SymPy has and we do not: refused by name with a way out, which works; others that came of series."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as special
import sympy as sp

from pullback import check, grad, lambdify

x, y = sp.symbols("x y", real=True)

REFUSED = {
    "hankel1": sp.hankel1(x, y), "mathieuc": sp.mathieuc(x, y, 1), "marcumq": sp.marcumq(2, x, y),
    "appellf1": sp.appellf1(x, 1, 1, 2, y, 0.2), "stieltjes": sp.stieltjes(x), "riemann_xi": sp.riemann_xi(x),
    "polylog": sp.polylog(x, y),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_computed_is_refused_by_name_with_a_way_out_that_works(name):
    with pytest.raises(TypeError, match=rf"{name}.*modules=\{{'{name}': function\}}"):
        lambdify([x, y], REFUSED[name])
    f = lambdify([x, y], REFUSED[name] + x, modules={name: lambda *args: args[0] ** 2})
    first = 2.0 if name == "marcumq" else 0.5
    assert f(0.5, 0.25) == first**2 + 0.5


def test_modules_replace_functions_that_are_known():
    given = {"sin": lambda t: 42.0 * t}
    f = lambdify(x, sp.sin(x) + sp.cos(x), modules=[given, "numpy"])
    theirs = sp.lambdify(x, sp.sin(x) + sp.cos(x), modules=[given, "numpy"])
    assert f(1.0) == theirs(1.0)
    assert grad(f)(0.0) == 42.0


def test_the_dilogarithm_and_hypergeometric_functions_with_closed_forms():
    f = lambdify(x, sp.polylog(2, x))
    for at in (-3.0, 0.2, 0.9):
        assert f(at) == special.spence(1.0 - at)
        check(f, at, order=2)
    np.testing.assert_allclose(lambdify(x, sp.polylog(-1, x))(0.3), 0.3 / 0.49, rtol=1e-14)
    h = lambdify([x, y], sp.hyper([x], [], y))
    np.testing.assert_allclose(h(0.5, 0.25), 0.75**-0.5, rtol=1e-15)
    check(h, 0.5, 0.25, order=2)


def test_bounds_that_only_guard_numbers_are_not_read_out():
    second = grad(grad(lambda t: special.erf(t)))
    t = sp.Symbol("t", real=True)
    assert sp.simplify(second.sympy(0.5) + 4 * t * sp.exp(-(t**2)) / sp.sqrt(sp.pi)) == 0
    for at in (0.5, 27.0, -30.0, 1e3, np.inf, -np.inf):
        wanted = -4 * at * np.exp(-at * at) / np.sqrt(np.pi) if np.isfinite(at) else 0.0
        assert second(at) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("expr", "says"), [
    (x + sp.Order(x**2), r"O\(x\*\*2\) is no number .*removeO"),
    (sp.Quaternion(x, 1, 2, 3), r"x \+ 1\*i \+ 2\*j \+ 3\*k is no number .*four parts"),
    (x * sp.AccumBounds(0, 1) + 1, r"AccumBounds.* is no number .*its ends"),
    (x + sp.zoo, "zoo, SymPy.s complex infinity .*is not a real number"),
    (x + sp.Symbol("x"), "the symbol x is not among the arguments: the argument of that name has the assumptions"),
    (x + sp.Dummy("x", real=True), "_x is not among the arguments: .* is a Symbol of its own, and this one a Dummy"),
    (sp.Limit(sp.Function("f")(y), y, x), r"no closed form of Limit\(f\(y\), y, x"),
    (sp.Function("f")(x), r"f\(x\): the function f has no formula: modules=\{'f': function\}"),
    (sp.Integral(sp.exp(sp.sin(y) * y), (y, 0, x)), "quadrature=True"),
    (sp.hermite(y, x), r"hermite\(y, x\): the degree is y, and whole numbers are computed; modules=\{'hermite'"),
    (sp.hermite(sp.Rational(1, 2), x), "the degree is 1/2"),
    (sp.MatrixSymbol("A", 2, 2) * x, "the matrix A is not among the arguments"),
])  # fmt: skip
def test_the_part_that_is_no_number_is_named(expr, says):
    with pytest.raises(TypeError, match=says):
        lambdify(x, expr)


def test_polynomials_are_expressions():
    assert lambdify(x, sp.Poly(x**2 + 1, x))(2.0) == 5.0


def test_lists_of_floats_are_arrays_and_arrays_of_expressions_are_refused():
    A = sp.MatrixSymbol("A", 2, 2)
    np.testing.assert_allclose(lambdify([A], A.inv())([[1.0, 2.0], [3.0, 4.0]]), [[-2.0, 1.0], [1.5, -0.5]], rtol=1e-14)
    np.testing.assert_array_equal(lambdify([x, y], sp.sqrt(x) * y)([1.0, 4.0], 2.0), [2.0, 4.0])
    assert lambdify([sp.Matrix([[x, y]])], x - y)([[3.0, 2.0]]) == 1.0
    with pytest.raises(TypeError, match=r"expr is array.*sympy.Array"):
        lambdify(x, np.array([x, x**2]))
    with pytest.raises(TypeError, match=r"expr is \{x\} of type set.*a list"):
        lambdify(x, {x})
