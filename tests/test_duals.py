"""Forward mode over formulas: each slope is the adjoint's, none stands where there is none, too many are given up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import pullback
from pullback.compiler.ops import duals
from pullback.compiler.ops.duals import NoSlopes, plain
from pullback.runtime.symbolic.slopes import values_and_slopes

x, y, z = sp.symbols("x y z")

FORMULAS = [
    x * y - 3 * x / y, sp.sin(x * y) * sp.exp(-z), sp.sqrt(x**2 + z**2) / (1 + y), x**y + y ** sp.Rational(7, 3),
    sp.Max(x, y) - sp.Min(y, z), sp.Abs(x - y) * sp.sign(z - x), sp.Piecewise((x * y, x < y), (z / y, True)),
    sp.atan2(y, x) + sp.tanh(z) - sp.log(x), 1 / (x + y) - 2 / x, -x, sp.Mod(z, x) * sp.floor(y), sp.erf(x * z), y**5,
    sp.Piecewise((sp.sqrt(x - y), x > y), (z, True)), sp.cosh(x) * sp.acos(y / 2), sp.Integer(3), 2**x,
    sp.expand_trig(sp.sin(x - z)) * sp.cos(x + y), sp.Piecewise((sp.cos(x), x < y), (sp.sin(x), True)),
    sp.Piecewise((sp.cos(x), x < y), (sp.cos(z) - 1 / x, True)), (sp.cos(x) - z) / (sp.cos(z) - x),
    -sp.Max(-x, sp.cos(z)),
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_slopes_are_those_of_the_adjoint(formula: Any) -> None:
    f = pullback.lambdify([x, y, z], formula)
    both = values_and_slopes(f, [x, z])

    def ours(*at: Any) -> Any:
        m, (value,), (slopes,) = both(*at)
        assert set(slopes) <= {k for k, s in enumerate((x, z)) if formula.has(s)}
        return np.stack([m.array(each) for each in (value, *[plain(slopes.get(k, (0.0, False))) for k in (0, 1)])])

    for at in ((1.3, 0.7, 2.1), (0.7, 1.3, 0.4)):
        if formula.subs(dict(zip((x, y, z), at, strict=True))).evalf().is_real:
            want = [f(*at), *pullback.grad(f, argnums=(0, 2))(*at)]
            np.testing.assert_allclose(pullback.jit(ours)(*at), want, rtol=1e-14, atol=1e-14)


def test_slopes_of_slopes_are_the_second_derivatives() -> None:
    formula = sp.sin(x * y) ** 2 / (z + x)
    both = values_and_slopes(pullback.lambdify([x, y, z], formula), [x])

    def slope(a: Any) -> Any:
        m, _, (slopes,) = both(a, 0.7, 2.0)
        return m.array(plain(slopes[0]))

    found = pullback.grad(slope)(1.3)
    assert found == pytest.approx(float(formula.diff(x, 2).subs({x: 1.3, y: 0.7, z: 2.0})), rel=1e-13)


def test_slopes_share_what_the_formula_has() -> None:
    """sin(x - z), written out: its slopes are cos(x) cos(z) + sin(x) sin(z), by z with the other sign."""
    both = values_and_slopes(pullback.lambdify([x, z], sp.expand_trig(sp.sin(x - z))), [x, z])

    def ours(a: Any, b: Any) -> Any:
        m, (value,), (slopes,) = both(a, b)
        assert [slopes[k][1] for k in (0, 1)] == [False, True]
        return np.stack([m.array(each) for each in (value, slopes[0][0], slopes[1][0])])

    f = pullback.jit(ours)
    np.testing.assert_allclose(f(0.9, 0.4), [np.sin(0.5), np.cos(0.5), np.cos(0.5)], rtol=1e-15)
    graph = f.ir("graph")
    assert [graph.count(f" = {name} ") for name in ("sin", "cos", "mul", "add", "sub")] == [2, 2, 4, 1, 1]


def _pendulum() -> Any:
    q, u = dynamicsymbols("q:2"), dynamicsymbols("u:2")
    mass = sp.Matrix([[2, sp.cos(q[0] - q[1])], [sp.cos(q[0] - q[1]), 1]])
    turning = sp.sin(q[0] - q[1])
    forcing = sp.Matrix([-turning * u[1] ** 2 - 2 * sp.sin(q[0]), turning * u[0] ** 2 - sp.sin(q[1])])
    return pullback.equations_of_motion((mass, forcing, q, u))


def test_too_many_slopes_leave_the_jacobian_to_pullbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    state = np.array([0.3, -0.4, 1.0, 0.5])
    few, many = _pendulum().with_jacobian, _pendulum().with_jacobian
    value, slope = few(0.0, state)
    monkeypatch.setattr(duals, "MOST", 3)
    given_up, same = many(0.0, state)
    assert "contract" in many.ir("graph") and "contract" not in few.ir("graph")
    np.testing.assert_allclose((*value, *slope.ravel()), (*given_up, *same.ravel()), rtol=1e-14, atol=1e-15)


def test_what_is_no_function_of_numbers_is_given_up() -> None:
    n = sp.Symbol("n", integer=True)
    total = pullback.lambdify([x, n], sp.Sum(x**sp.Symbol("k"), (sp.Symbol("k"), 0, n)))
    both = values_and_slopes(total, [x])

    def tried(a: Any) -> Any:
        with pytest.raises(NoSlopes):
            both(a, 3)
        return total(a, 3)

    assert pullback.jit(tried)(0.5) == 1.875
