"""Parts that users of SymPy write and that come up short elsewhere: sizes, sums of matrices, roots, units, series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics import units
from sympy.physics.control import TransferFunction
from sympy.physics.mechanics import ReferenceFrame
from sympy.stats import Normal
from sympy.vector import CoordSys3D

from pullback import grad, jit, lambdify

x, y, z = sp.symbols("x y z")
i, n = sp.symbols("i n", integer=True)
N = sp.Symbol("N", integer=True, positive=True)
A, B = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("B", 3, 3)
M = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
R: Any = CoordSys3D("R")


def test_a_size_that_arguments_have_is_a_number() -> None:
    w = sp.MatrixSymbol("w", N, 1)
    f = lambdify([w], sp.Sum(w[i, 0] ** 2, (i, 0, N - 1)) / N)
    assert f(np.array([[1.0], [2.0], [3.0]])) == pytest.approx(14 / 3)
    np.testing.assert_allclose(grad(f)(np.array([[1.0], [2.0]])), [[1.0], [2.0]])
    with pytest.raises(TypeError, match="the symbol N is not among the arguments"):
        lambdify([x], x * N)


def test_sums_of_matrices_are_loops_and_their_products_are_refused() -> None:
    f = lambdify([A, n], sp.Sum(i * A, (i, 1, n)))
    np.testing.assert_allclose(f(M, 3), 6 * M)
    np.testing.assert_allclose(lambdify([A, x], sp.Sum(x * i * A, (i, 1, 40)))(M, 0.5), 410 * M)
    slope = grad(lambda t: lambdify([A, x], sp.Sum(x**i * A, (i, 1, 40)))(M, t)[0, 0])(0.5)
    assert slope == pytest.approx(4.0 * sum(k * 0.5 ** (k - 1) for k in range(1, 41)), rel=1e-13)
    with pytest.raises(TypeError, match=r"Product of i\*A multiplies matrices"):
        lambdify([A, n], sp.Product(i * A, (i, 1, n)))


def test_blocks_of_a_diagonal() -> None:
    want = np.block([[M, 0 * M], [0 * M, 2 * M]])
    np.testing.assert_array_equal(lambdify([A, B], sp.BlockDiagMatrix(A, B))(M, 2 * M), want)


def test_endless_sums_have_their_closed_form_where_it_holds() -> None:
    f = lambdify(x, sp.Sum(x**n, (n, 0, sp.oo)))
    assert f(0.5) == 2.0
    assert grad(f)(0.5) == 4.0
    assert np.isnan(f(1.5))
    twice: Any = 2
    assert lambdify(x, twice * sp.Sum(sp.Pow(n, -x), (n, 1, sp.oo)))(2.0) == pytest.approx(np.pi**2 / 3, rel=1e-15)


def test_sums_over_roots() -> None:
    e = sp.RootSum(z**3 + z + 1, sp.Lambda(z, z * sp.log(x + z)))
    f = lambdify(x, e)
    for k, got in enumerate((f(3.5), grad(f)(3.5), grad(grad(f))(3.5))):
        roots = np.roots([1, 0, 1, 1])
        each = [roots * np.log(3.5 + roots), roots / (3.5 + roots), -roots / (3.5 + roots) ** 2][k]
        assert got == pytest.approx(np.sum(each).real, rel=1e-13)
    assert lambdify(x, e, dtype=complex)(3.5) == pytest.approx(f(3.5), rel=1e-13)
    with pytest.raises(TypeError, match="roots whose coefficients are no numbers"):
        lambdify([x, y], sp.RootSum(z**3 + y * z + 1, sp.Lambda(z, z * sp.log(x + z)), x=z))


def test_a_complex_root_is_a_complex_number() -> None:
    root = sp.CRootOf(z**5 - z - 1, 1)
    with pytest.raises(TypeError, match=r"not a real number, but about -0\.76488 - 0\.35247\*I.*dtype=complex"):
        lambdify(x, x * root)
    assert lambdify(x, x * root, dtype=complex)(2.0) == pytest.approx(2 * complex(root.evalf()))


@pytest.mark.parametrize(("e", "says"), [
    (x * units.meter, r"meter is no number .*a unit.*convert_to"),
    (x * R.i, r"R\.i.* is no number .*to_matrix\(frame\)"),
    (x + Normal("X", 0, 1), r"X is no number .*density"),
    (sp.fourier_series(x, (x, -sp.pi, sp.pi)), r"FourierSeries.*truncate"),
    (sp.fps(sp.sin(x)), r"FormalPowerSeries.*truncate"),
])  # fmt: skip
def test_what_is_no_number_is_told_with_what_to_pass(e: sp.Expr, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        lambdify(x, e)


def test_an_elementary_function_of_a_matrix_is_refused_with_ways_out_that_work() -> None:
    with pytest.raises(TypeError, match=r"exp\(A\) is of a matrix.*applyfunc.*modules=\{'exp': function\}"):
        lambdify([A], sp.exp(A))
    np.testing.assert_allclose(lambdify([A], A.applyfunc(sp.exp))(M), np.exp(M))
    np.testing.assert_allclose(lambdify([A], sp.exp(A), modules={"exp": np.cos})(M), np.cos(M))


def test_prefixes_are_numbers() -> None:
    assert lambdify(x, x * units.kilo)(2.0) == 2000.0


def test_the_gain_and_phase_of_a_system_are_real_numbers() -> None:
    h = sp.exp(sp.I * x) / (1 + 2 * sp.I * x) ** 3
    f = lambdify(x, [sp.Abs(h), sp.arg(1 / (1 + 2 * sp.I * x)), sp.re(h), sp.im(h)])
    at = 0.4
    want = np.exp(1j * at) / (1 + 2j * at) ** 3
    assert f(at) == pytest.approx([abs(want), np.angle(1 / (1 + 2j * at)), want.real, want.imag], rel=1e-14)
    gain = lambdify(x, sp.Abs(1 / (1 + 2 * sp.I * x)))
    assert grad(gain)(at) == pytest.approx(-4 * at * (1 + 4 * at * at) ** -1.5, rel=1e-13)
    slope = 12 * 4 * at * at * (1 + 4 * at * at) ** -2.5 - 4 * (1 + 4 * at * at) ** -1.5
    assert grad(grad(gain))(at) == pytest.approx(slope, rel=1e-12)
    with pytest.raises(TypeError, match="I is not a real number"):
        lambdify(x, sp.Abs(sp.gamma(sp.I * x)))


@pytest.mark.parametrize(("e", "says"), [
    (ReferenceFrame("N").x * x, r"type Vector.*to_matrix\(frame\)"),
    (sp.solveset(y**2 - x, y), "type FiniteSet.*pass a list"),
    (sp.Interval(0, 1), r"expr\.contains\(x\)"),
    (sp.Lambda(y, y**2), "call it with symbols"),
    (TransferFunction(1, y + 1, y), r"TransferFunction\(1, y \+ 1, y\) is no number .*to_expr\(\)"),
])  # fmt: skip
def test_what_is_no_expression_is_told_with_what_to_pass(e: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        lambdify([x, y], e)


def test_a_delta_with_a_range_is_one_without() -> None:
    f = lambdify([i, n], sp.KroneckerDelta(i, n, (0, 5)))
    assert (f(1, 1), f(1, 2)) == (1.0, 0.0)


def test_the_sign_of_a_permutation_that_is_computed() -> None:
    j = sp.Symbol("j", integer=True)
    f = lambdify([i, j, n, x], sp.LeviCivita(i, j, n) * x)
    assert [f(*each, 2.0) for each in ((1, 2, 3), (2, 1, 3), (2, 3, 1), (1, 1, 2))] == [2.0, -2.0, 2.0, 0.0]


def heated(u):
    for _ in range(3):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum(u**2)


@pytest.mark.parametrize("function, sums, length", [
    (heated, 1, 2000),
    (lambda u: np.sum(u * np.roll(u, 1)), 1, 80),
    (lambda u: np.sum(np.concatenate([u[:2] ** 2, u[2:-1], np.sin(u[-1:])])), 1, 120),
    (lambda u: np.sum(np.exp(u) * u), 1, 60),
])  # fmt: skip
def test_a_long_sum_of_a_stencil_is_one_of_what_is_alike_and_its_ends(function, sums, length):
    """SymPy took cases of the index out of the sum, which took minutes where a stencil is applied several times."""
    x = np.random.default_rng(4).uniform(size=100)
    e = jit(function).sympy(x)
    assert len(e.atoms(sp.Sum)) == sums and not e.has(sp.Piecewise) and len(str(e)) < length, e
    (u,) = e.atoms(sp.IndexedBase)
    np.testing.assert_allclose(lambdify(u, e)(x), function(x), rtol=1e-13)
    np.testing.assert_allclose(grad(lambdify(u, e))(x), grad(function)(x), rtol=1e-12)
