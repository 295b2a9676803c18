"""What SymPy's lambdify takes, pullback's takes: call forms, matrices, arrays, sums, functions, complex numbers."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.codegen.cfunctions import isinf, isnan
from sympy.codegen.matrix_nodes import MatrixSolve
from sympy.codegen.numpy_nodes import logaddexp2, minimum
from sympy.combinatorics import Permutation
from sympy.matrices.expressions import MatrixPermute
from sympy.physics.mechanics import dynamicsymbols
from sympy.tensor.array import ArrayComprehension
from sympy.utilities.lambdify import implemented_function

import pullback
from pullback import check, grad, jacobian, jit, lambdify
from tests.compare import assert_all_close

x, y, z, t = sp.symbols("x y z t")
i, j, k, n = sp.symbols("i j k n", integer=True)
A, b, square = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("b", 3, 1), sp.MatrixSymbol("B", n, n)
a: Any = sp.IndexedBase("a")
theta: Any = dynamicsymbols("theta")
f = sp.Function("f")

rng = np.random.default_rng(3)
A0, b0, a0 = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=(3, 1)), rng.normal(size=5)


@pytest.mark.parametrize(("args", "expr", "given"), [
    ([x, (y, [z])], x + y * z, (1.0, (2.0, [3.0]))),
    ([[x, y]], x - y, ([1.0, 2.0],)),
    ([x, [y, z]], [x, (y, [z])], (1.0, (2.0, 3.0))),
    ([sp.Matrix([x, y]), z], x + y * z, (np.array([[1.0], [2.0]]), 3.0)),
    ([theta, theta.diff(t)], theta**2 * sp.Derivative(theta, t), (2.0, 3.0)),
    ([f(x), x], f(x) + x, (1.0, 2.0)),
    ([a[0], a[1]], a[0] * a[1], (2.0, 3.0)),
    (x, sp.Piecewise((x, x > 0), (0, True)), (2.0,)),
    ([sp.Symbol("lambda"), sp.Symbol("x y")], sp.Symbol("lambda") - 2 * sp.Symbol("x y"), (1.0, 2.0)),
    ([x, y], sp.Matrix([[x, y], [0, x]]), (1.0, 2.0)),
    ([A, b], A * b + b, (A0, b0)),
    ([A, b], A[0, 1] * b[2, 0], (A0, b0)),
    ([A], A.T * A - 2 * A, (A0,)),
    ([A], sp.HadamardProduct(A, A), (A0,)),
    ([A, b], A.inv() * b, (A0, b0)),
    ([A], A**3, (A0,)),
    ([A, b], sp.BlockMatrix([[A, b], [b.T, sp.ZeroMatrix(1, 1)]]), (A0, b0)),
    ([x], sp.sin(x) ** 2 + sp.cos(x) ** 2, (0.3,)),
    ([x, n], sp.Sum(x**k, (k, 0, n)), (0.5, 10)),
    ([x, n], sp.Sum(x * i * j, (i, 0, j), (j, 0, n)), (2.0, 3)),
])  # fmt: skip
def test_as_sympy_itself(args: Any, expr: Any, given: Any) -> None:
    got, want = lambdify(args, expr)(*given), sp.lambdify(args, expr, "numpy")(*given)
    _alike(got, want)


def _alike(got: Any, want: Any) -> None:
    assert type(got) is type(want) or not isinstance(want, (list, tuple, dict))
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            _alike(g, w)
    else:
        np.testing.assert_allclose(np.asarray(got, float), np.asarray(want, float), rtol=1e-13)


@pytest.mark.parametrize(("args", "expr", "given", "want"), [
    ([square], sp.Identity(n) + square**2, (A0,), np.eye(3) + A0 @ A0),
    ([A, b, x], x * b.T * A * b + sp.Identity(1), (A0, b0, 2.0), 2 * b0.T @ A0 @ b0 + 1),
    ([A, b, x], sp.Matrix([[x, 1, 0], [0, x, 0], [0, 0, 1]]) * A * b, (A0, b0, 2.0),
     np.array([[2.0, 1, 0], [0, 2, 0], [0, 0, 1]]) @ A0 @ b0),
    ([A, b], b.T * A.inv(), (A0, b0), b0.T @ np.linalg.inv(A0)),
    ([A, x], A.applyfunc(sp.Lambda(y, sp.sin(x * y))), (A0, 2.0), np.sin(2 * A0)),
    ([A], sp.HadamardPower(A, 2), (A0,), A0**2),
    ([A, b], sp.KroneckerProduct(A, b), (A0, b0), np.kron(A0, b0)),
    ([A], A[:2, 1:], (A0,), A0[:2, 1:]),
    ([A], sp.PermutationMatrix(Permutation([1, 2, 0])) * A, (A0,), A0[[1, 2, 0]]),
    ([A], MatrixPermute(A, Permutation([1, 2, 0])), (A0,), A0[[1, 2, 0]]),
    ([A], MatrixPermute(A, Permutation([1, 0]), 1), (A0,), A0[:, [1, 0, 2]]),  # type: ignore[arg-type]
    ([b], sp.DiagMatrix(b), (b0,), np.diag(b0[:, 0])),
    ([A], [sp.Trace(A), sp.Determinant(A)], (A0,), [np.trace(A0), np.linalg.det(A0)]),
    ([x, n], sp.Product(x + k, (k, 1, n)), (0.5, 6), np.prod(0.5 + np.arange(1.0, 7))),
    ([A, sp.Symbol("z")], sp.Trace(A) * sp.Symbol("z"), (A0, 2.0), 2 * np.trace(A0)),
    ([a], a[0] * a[2], (a0,), a0[0] * a0[2]),
    ([a, n], sp.Sum(a[i] ** 2, (i, 0, n - 1)), (a0, 5), np.sum(a0**2)),
    ([a, n], sp.Sum(a[i] * a[n - 1 - i], (i, 0, n - 1)), (a0, 5), a0 @ a0[::-1]),
    ([x, n], sp.Sum(x**k, (k, 0, n)), (np.array([0.5, 2.0]), np.array([3, 4])), np.array([1.875, 31.0])),
    ([x, n], sp.Sum(x**k, (k, 1, n)), (2.0, 0), 0.0),
    ([x], sp.Sum(sp.sin(k * x) / k, (k, 1, 1000)), (0.5,), sum(np.sin(m * 0.5) / m for m in range(1, 1001))),
    ([x], {"m": x, x: [x**2]}, (2.0,), None),
    ([x], sp.FunctionMatrix(3, 3, sp.Lambda((i, j), x / (i + j + 1))), (2.0,),
     2 / (np.arange(3)[:, None] + np.arange(3) + 1)),
    ([a, x], ArrayComprehension(a[i] * x**j, (i, 0, 2), (j, 0, 1)), (a0, 2.0), a0[:3, None] * [1.0, 2.0]),
    ([x, y], sp.Matrix([[x, y], [y, 2 * x]]).inv(), (np.array([1.0, 2]), np.array([0.1, 0.2])),
     np.moveaxis(np.linalg.inv([[[1, 0.1], [0.1, 2]], [[2, 0.2], [0.2, 4]]]), 0, -1)),
    ([x, A], x * A, (np.array([1.0, 2.0]), A0), A0[..., None] * [1.0, 2.0]),
])  # fmt: skip
def test_matrices_arrays_and_sums(args: Any, expr: Any, given: Any, want: Any) -> None:
    got = lambdify(args, expr)(*given)
    if want is None:
        assert got == {"m": 2.0, "x": [4.0]}
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def test_gradients_of_matrix_expressions() -> None:
    logdet = grad(lambdify([A], sp.log(sp.Determinant(A * A.T))))
    assert_all_close([logdet(A0)], [2 * np.linalg.inv(A0).T], relative=1e-12)
    total = grad(lambdify([a, n], sp.Sum(sp.sin(a[i]) * i, (i, 0, n - 1))))
    assert_all_close([total(a0, 5)], [np.cos(a0) * np.arange(5)], relative=1e-13)
    slope = jacobian(lambdify([sp.Matrix([x, y])], sp.Matrix([x * y, x + y])))(np.array([1.0, 2.0]))
    assert_all_close([slope], [np.array([[[2.0, 1.0]], [[1.0, 1.0]]])])
    wave = grad(grad(lambdify([x], sp.Sum(sp.sin(k * x) / k**2, (k, 1, 200)))))
    assert wave(0.5) == pytest.approx(-sum(np.sin(m * 0.5) for m in range(1, 201)), rel=1e-11)


def test_functions_without_a_formula() -> None:
    expr = f(x) ** 2 + f(x).diff(x) + f(2 * x).diff(x, 2).doit()
    slope = lambdify([x], expr, modules={"f": np.sin})
    assert slope(0.3) == pytest.approx(np.sin(0.3) ** 2 + np.cos(0.3) - 4 * np.sin(0.6), rel=1e-14)
    assert grad(lambdify([x], f(x) * x, modules=[{"f": lambda v: v**3}, "numpy"]))(2.0) == 32.0
    assert lambdify([x], f(x), [{"f": lambda v: v}, {"f": lambda v: -v}])(2.0) == 2.0  # the first wins, as in SymPy
    assert lambdify(x, implemented_function("h", lambda v: v + 1)(x))(2.0) == 3.0
    with pytest.raises(TypeError, match="has no formula"):
        lambdify(x, implemented_function("h", lambda v: v + 1)(x), use_imps=False)


def test_inside_traced_code_and_with_tensors() -> None:
    sine = lambdify([x], sp.sin(x) * x)
    assert grad(lambda q: sine(q) ** 2)(0.3) == pytest.approx(2 * 0.3 * np.sin(0.3) * (np.sin(0.3) + 0.3 * np.cos(0.3)))
    leaf = pullback.tensor([1.0, 2.0], dtype=pullback.float64, requires_grad=True)
    sine(leaf).sum().backward()
    assert_all_close([np.asarray(leaf.grad)], [np.sin([1.0, 2.0]) + [1.0, 2.0] * np.cos([1.0, 2.0])], relative=1e-14)


def test_complex_numbers() -> None:
    wave = lambdify(x, sp.exp(sp.I * x), dtype=complex)
    assert wave(2.0) == pytest.approx(np.exp(2j))
    root = lambdify(x, sp.sqrt(x), dtype=complex)
    assert root(-4.0) == pytest.approx(2j)
    assert np.isnan(lambdify(x, sp.sqrt(x))(-4.0))
    parts = lambdify([x, y], sp.re(x * y) + sp.I * sp.im(x) + sp.conjugate(x) * sp.Abs(y), dtype=complex)
    assert parts(1 + 2j, 3.0) == pytest.approx((1 + 2j) * 3 .real - 6j + 2j + (1 - 2j) * 3)
    step = lambdify(x, sp.Piecewise((sp.I * x, x > 0), (x, True)), dtype=complex)
    assert_all_close([step(np.array([-1.0, 2.0]))], [np.array([-1.0, 2j])])
    with pytest.raises(TypeError, match="dtype=complex"):
        lambdify(x, sp.I * x)
    with pytest.raises(TypeError, match="float or complex"):
        lambdify(x, x, dtype=int)


def test_integrals_by_quadrature() -> None:
    bump = lambdify([x], sp.Integral(sp.exp(-x * t**4), (t, 0, 1)), quadrature=True)
    mp = sp.Integral(sp.exp(-2 * t**4), (t, 0, 1)).evalf(20)
    assert bump(2.0) == pytest.approx(float(mp), rel=1e-12)
    slope = sp.Integral(-(t**4) * sp.exp(-2 * t**4), (t, 0, 1)).evalf(20)
    assert grad(bump)(2.0) == pytest.approx(float(slope), rel=1e-9)


@pytest.mark.parametrize(("args", "given", "error", "says"), [
    ([(x, y)], ([1.0],), ValueError, "argument 0 has 1 elements, expected 2"),
    ([A], (np.ones((2, 2)),), ValueError, r"argument 0, which is A, has shape \(2, 2\), expected \(3, 3\)"),
    ([sp.Matrix([x, y])], (np.ones(3),), ValueError, r"argument 0 has shape \(3,\), expected \(2, 1\)"),
    ([x, y], (np.ones(3), np.ones(4)), ValueError, r"broadcast: x: \(3,\), y: \(4,\)"),
    ([(x, y)], (1.0,), TypeError, "expected a sequence of 2"),
    ([square], (np.ones((2, 3)),), ValueError, r"expected \(n, n\)"),
    ([x], ("a",), TypeError, "argument 0, which is x, is the string 'a': expected a number or array"),
    ([x], (None,), TypeError, "expected a number or array"),
])  # fmt: skip
def test_wrong_arguments(args: Any, given: Any, error: Any, says: str) -> None:
    function = lambdify(args, sp.Integer(1) if args == [A] or args == [square] else x)
    with pytest.raises(error, match=says):
        function(*given)


@pytest.mark.parametrize(("options", "error", "says"), [
    ({"modules": "mpmath"}, ValueError, "floats"),
    ({"modules": "nump"}, TypeError, "expected a dict"),
    ({"modules": {"f": "3"}}, TypeError, "expected a function"),
    ({"printer": object()}, TypeError, "printer"),
    ({"docstring_limit": "many"}, TypeError, "docstring_limit"),
])  # fmt: skip
def test_wrong_options(options: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        lambdify([x], x, **options)


def test_options_that_change_nothing() -> None:
    taken = {"modules": ["scipy", np], "cse": True, "dummify": True, "docstring_limit": None}
    assert lambdify([x], x**2, **taken)(3.0) == 9.0  # type: ignore[arg-type]


def test_the_other_assumptions_are_told() -> None:
    with pytest.raises(TypeError, match="assumptions none, and this one positive=True"):
        lambdify([x], sp.Symbol("x", positive=True) + 1)


def test_a_pickle_is_the_expression() -> None:
    again = pickle.loads(pickle.dumps(lambdify([x, (y, theta)], x * y + theta, cse=True)))
    assert again(2.0, (3.0, 4.0)) == 10.0


def test_a_bound_that_changes_is_one_kernel() -> None:
    total = lambdify([x, n], sp.Sum(x**k, (k, 0, n)))
    assert [total(2.0, m) for m in range(12)] == [2.0 ** (m + 1) - 1 for m in range(12)]
    assert len(total._forms((), {})) <= 2


# ---- stable forms, precision, primitives

STABLE: list[tuple[Any, float, float]] = [
    (sp.log(1 + x), 1e-17, 1e-17), (sp.exp(x) - 1, 1e-17, 1e-17), (1 - sp.cos(x), 1e-9, 5e-19),
    (sp.cosh(x) - 1, 1e-9, 5e-19), (1 - sp.erf(x), 10.0, 2.088487583762545e-45),
    (1 - sp.tanh(x) ** 2, 50.0, 1.4880303904083346e-43), (sp.sqrt(x + 1) - 1, 1e-18, 5e-19),
    (sp.sqrt(x**2 + 1) - 1, 1e-9, 5e-19),
    (sp.log(1 + sp.exp(x)), 1000.0, 1000.0), (sp.exp(x) / (1 + sp.exp(x)), 1000.0, 1.0), (sp.sin(x) / x, 0.0, 1.0),
    ((1 - sp.cos(x)) / x**2, 0.0, 0.5), (sp.log(sp.cosh(x)), 1000.0, 999.3068528194401),
    (sp.log(sp.gamma(x)), 200.0, 857.9336698258574),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "at", "want"), STABLE, ids=lambda v: str(v)[:24])
def test_stable_forms(expr: Any, at: float, want: float) -> None:
    function = lambdify(x, expr, stable=True)
    assert function(at) == pytest.approx(want, rel=1e-7, abs=0)
    assert function.rewrites  # type: ignore[attr-defined]
    plain = lambdify(x, expr)
    for point in (0.3, 1.7):
        assert function(point) == pytest.approx(plain(point), rel=1e-12)
        assert grad(function)(point) == pytest.approx(grad(plain)(point), rel=1e-11)
        assert grad(grad(function))(point) == pytest.approx(grad(grad(plain))(point), rel=1e-9)


def test_stable_forms_of_several_and_at_ties() -> None:
    three = lambdify([x, y, z], sp.log(sp.exp(x) + 2 * sp.exp(y) + sp.exp(z)), stable=True)
    assert three(1000.0, -1000.0, 1000.0) == pytest.approx(1000 + np.log(2))
    softplus = lambdify(x, sp.log(1 + sp.exp(x)), stable=True)
    assert (softplus(0.0), grad(softplus)(0.0), grad(grad(softplus))(0.0)) == (np.log(2), 0.5, 0.25)
    assert lambdify([x, y], sp.sqrt(x**2 + y**2), stable=True)(3e200, 4e200) == pytest.approx(5e200)


def test_precision_names_what_loses_digits() -> None:
    made = pullback.precision(lambda v: (1 - np.cos(v)) / v**2, 1e-6)
    assert made.value > 1e10
    assert str(made.losses[0].part) == "1 - cos(v)"
    better = pullback.precision(lambdify(x, (1 - sp.cos(x)) / x**2, stable=True), 1e-6)
    assert better.value < 4
    assert not better.losses
    assert max(pullback.precision(lambda u, v: u * np.exp(v), 0.3, 0.7).slopes) < 2
    with pytest.raises(TypeError, match="argument 0 is a ndarray, expected a float"):
        pullback.precision(np.sin, np.ones(3))  # type: ignore[arg-type]


@pullback.primitive
def smooth(u: Any) -> Any:
    """A formula."""
    return sp.log(1 + sp.exp(u))


def test_a_primitive_is_made_of_a_formula() -> None:
    assert smooth.__doc__ == "A formula."
    assert grad(grad(smooth))(0.0) == 0.25
    assert grad(lambda v: smooth(1000.0 + v))(0.0) == 1.0
    assert_all_close([pullback.vmap(smooth)(np.zeros(3))], [np.full(3, np.log(2))])
    assert pullback.jvp(smooth, (0.0,), (2.0,))[1] == 1.0
    assert jacobian(smooth, sparse=True)(np.zeros(4)).nnz == 4
    assert pullback.hessian(lambda v: np.sum(smooth(v)))(np.zeros(2)).tolist() == [[0.25, 0.0], [0.0, 0.25]]
    assert smooth(x) == sp.log(1 + sp.exp(x))
    assert smooth.latex() == sp.latex(sp.log(1 + sp.exp(sp.Symbol("u", real=True))))
    assert 'name="smooth"' in jit(lambda v: smooth(v)).ir("graph", 0.5)  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(smooth)) is smooth


def test_partials_are_checked() -> None:
    product = pullback.primitive(lambda u, v: sp.sin(u) * v, partials=lambda u, v: (sp.cos(u) * v, sp.sin(u)))
    assert grad(product, argnums=(0, 1))(0.3, 0.4) == pytest.approx((0.4 * np.cos(0.3), np.sin(0.3)))
    with pytest.raises(ValueError, match="partial by u is cos"):
        pullback.primitive(lambda u: sp.sin(u) * u, partials=sp.cos)
    with pytest.raises(ValueError, match="2 partials for 1"):
        pullback.primitive(lambda u: u**2, partials=lambda u: (u, u))
    with pytest.raises(TypeError, match="expected a SymPy expression"):
        pullback.primitive(lambda u: "u")


def test_numbers_in_modules_stand_for_symbols_and_constants() -> None:
    c = sp.Symbol("c")
    assert lambdify(x, c * x + sp.pi, {"c": 2.0, "pi": 3.0})(1.5) == 6.0
    assert lambdify(c, c + 1, {"c": 2.0})(5.0) == 6.0
    assert lambdify(x, sp.I * x, {"I": 1j})(2.0) == 2j
    assert lambdify(x, sp.sqrt(x), "cmath")(-4) == 2j
    assert grad(lambdify(x, c * x**2, {"c": 2.0}))(3.0) == 12.0


@pytest.mark.parametrize("given", [sp.Rational(1, 4), sp.Float("0.25"), Fraction(1, 4), Decimal("0.25")])
def test_exact_numbers_are_the_nearest_floats(given: Any) -> None:
    assert lambdify(x, sp.exp(x))(given) == np.exp(0.25)


def test_a_symbol_for_a_number_is_named() -> None:
    with pytest.raises(TypeError, match=r"argument 0, which is x, is y\*\*2 of type Pow, in the symbols y: .*floats"):
        lambdify(x, sp.sin(x))(y**2)


def test_symbols_are_conditions() -> None:
    both = lambdify([x, y], sp.And(x, ~y))
    assert both(True, False)
    assert not both(1.0, 2.0)
    chosen = lambdify([x, y], sp.ITE(x, y > 1, y < 0))
    np.testing.assert_array_equal(chosen(np.array([1, 0, 1]), 2.0), [True, False, True])
    assert grad(lambdify([y, x], sp.Piecewise((y**2, x), (y, True))))(3.0, True) == 6.0


def test_parts_of_complex_arguments() -> None:
    parts = lambdify(z, [sp.re(z), sp.im(z), sp.conjugate(z), sp.arg(z)])
    np.testing.assert_allclose(parts(3 + 2j), [3, 2, 3 - 2j, np.angle(3 + 2j)], rtol=1e-15)
    np.testing.assert_allclose(parts(-3.0), [-3, 0, -3, np.pi], rtol=1e-15)


def test_functions_of_codegen() -> None:
    given = np.array([-745.0, 0.3, 2.0]), np.array([-746.0, 0.3, 700.0])
    two = lambdify([x, y], logaddexp2(x, y))
    np.testing.assert_allclose(two(*given), np.logaddexp2(*given), rtol=1e-15)
    check(two, 0.3, -0.6, order=2)
    np.testing.assert_array_equal(lambdify([x, y], minimum(x, y, 1))(*given), np.minimum(np.minimum(*given), 1))
    sorts = lambdify(x, [isnan(x), isinf(x)])(np.array([np.nan, np.inf, 1.0]))
    np.testing.assert_array_equal(sorts, [[True, False, False], [False, True, False]])
    solved = lambdify([A, b], MatrixSolve(A, b))
    np.testing.assert_allclose(solved(A0, b0[:, 0]), np.linalg.solve(A0, b0), rtol=1e-15)
    dot = lambdify([b, A], sp.DotProduct(b.T, A[:, 1]))
    np.testing.assert_allclose(dot(b0, A0), b0[:, 0] @ A0[:, 1], rtol=1e-14)
    np.testing.assert_allclose(grad(dot)(b0, A0), A0[:, 1:2], rtol=1e-15)
