"""Formulas that were read out, compiled again: divisors with cases of 0, functions of SciPy's alone, whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, jacobian, jit, lambdify
from pullback.compiler.ops.expression import UnknownFunction

x, n = sp.Symbol("x", real=True), sp.Symbol("n", integer=True)
Q, V = sp.IndexedBase("q", (4,), real=True), sp.IndexedBase("v", (3,), real=True)
AT = np.array([0.3, -0.5, 0.8, 0.2]), np.array([1.0, 0.4, -0.7])


def turned(q: Any, v: Any) -> Any:
    """By a quaternion, which is divided by its norm; the norm has a case of its own at 0."""
    q = q / np.linalg.norm(q)
    return v + 2 * np.cross(q[1:], np.cross(q[1:], v) + q[0] * v)


def test_a_case_of_a_divisor_that_is_zero_is_no_number() -> None:
    made = lambdify([Q, V], jit(turned).sympy(*AT))  # type: ignore[attr-defined]
    np.testing.assert_allclose(made(*AT), turned(*AT), rtol=1e-13)
    assert np.isnan(made(np.zeros(4), AT[1])).all()
    slopes = lambdify([Q, V], jit(jacobian(turned)).sympy(*AT))  # type: ignore[attr-defined]
    np.testing.assert_allclose(slopes(*AT), jacobian(turned)(*AT), rtol=1e-12)


@pytest.mark.parametrize("formula", [sp.zoo * x, sp.Piecewise((x, x > 0), (1, True)) + sp.zoo])
def test_what_no_case_leaves_out_stays_refused(formula: Any) -> None:
    with pytest.raises(UnknownFunction, match=r"zoo, .*is not a real number"):
        lambdify([x], formula)


def test_functions_of_scipy_alone() -> None:
    formula = lambdify([x], sp.elliptic_f(x, 0.3) + sp.elliptic_pi(sp.Rational(1, 5), x, 0.4))
    read = formula.sympy(0.7)  # type: ignore[attr-defined]
    assert "elliprj" in str(read)
    back = lambdify([x], read)
    assert back(0.7) == pytest.approx(formula(0.7), rel=1e-14)
    assert grad(back)(0.7) == pytest.approx(grad(formula)(0.7), rel=1e-13)
    with pytest.raises(UnknownFunction, match="the function gamma has no formula"):
        lambdify([x], sp.Function("gamma")(x))  # SymPy has a function of that name, so it is another one


def test_bounds_that_are_arguments() -> None:
    for total in (sp.Sum(x**sp.Symbol("k") / 3, (sp.Symbol("k"), 0, n)), sp.Product(1 + x / n, (n, 1, n))):
        formula = lambdify([x, n], total)
        assert lambdify([x, n], formula.sympy(0.7, 6))(0.7, 6) == pytest.approx(formula(0.7, 6), rel=1e-14)  # type: ignore[attr-defined]


def test_a_number_made_whole_goes_towards_zero() -> None:
    read = jit(lambda x: x * np.asarray(2 * x).astype(int)).sympy(0.7)  # type: ignore[attr-defined]
    for at in (1.3, 0.2, -0.2, -1.3):
        assert lambdify([x], read)(at) == at * int(2 * at)


def test_subfactorials_say_what_computes_them() -> None:
    with pytest.raises(UnknownFunction, match=r"subfactorial.*modules={'subfactorial': function}"):
        lambdify([n], sp.subfactorial(n))
    assert lambdify([n], n * sp.subfactorial(5))(2.0) == 88.0
    assert lambdify([n], sp.subfactorial(n), modules={"subfactorial": lambda n: np.round(n)})(4.0) == 4.0
