"""SymPy in and out: values, gradients and expressions read back are compared with SymPy's own 30 digits."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pullback
from pullback.compiler.frontend.trace import trace
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse
from pullback.runtime.symbolic.readout.writing import NoExpression, to_sympy
from tests.compare import assert_all_close

x, y, z = SYMBOLS = sp.symbols("x y z", real=True)
third = sp.Rational(1, 3)

EXPRESSIONS: list[Any] = [
    x,
    sp.Integer(7),
    sp.pi * x,
    sp.E**x + sp.EulerGamma - sp.GoldenRatio * y,
    x + y + z,
    x - y - 2 * z,
    -x - y,
    x * y * z / 7,
    sp.Rational(22, 7) * x - sp.Float("0.1") * y,
    x / (y * z),
    x**2 / y**3,
    1 / x + 1 / (x * y**2),
    x**7 - 3 * x**5 + x,
    x ** sp.Rational(1, 2) + x ** sp.Rational(-1, 2) + x ** sp.Rational(5, 2),
    x**third + y ** sp.Rational(-7, 5),
    x**y,
    2**x * sp.pi**y,
    x ** (y * z),
    (x + y) ** 64 / 1e9,
    (x + 1) ** 65 / 1e9,
    sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
    sp.log(x) / sp.log(10),
    sp.log(x * y + 1),
    sp.sin(x) * sp.cos(y) + sp.tan(z / 3),
    sp.cot(x) + sp.sec(y / 3) + sp.csc(z),
    sp.sinh(x) - sp.cosh(y) * sp.tanh(z),
    sp.coth(x) + sp.sech(y) + sp.csch(z),
    sp.atan(x * y) - sp.atan2(y, x) + sp.atan2(x - 3, z - 1),
    sp.asin(x / 4) * sp.acos(-y / 3),
    2 ** (x - y) + sp.log(z, 2) + sp.tan(2 * x) - sp.cbrt(y),
    sp.asinh(x) + sp.asinh(-y) + sp.atanh(x / 4),
    sp.acosh(x + 1),
    sp.erf(x) - sp.erf(-y / 2),
    sp.Abs(x - y) + sp.sign(x - y) * z,
    sp.Max(x, y, z) - sp.Min(x, y * z),
    sp.floor(5 * x) + sp.ceiling(7 * y) + sp.frac(z),
    sp.Mod(7 * x, y),
    sp.Heaviside(x - y) * z,
    sp.Piecewise((sp.log(x), x > 1), (x**2, True)),
    sp.Piecewise((x, sp.And(x > 0, y > 5)), (y, sp.Or(z < 0, sp.Not(x >= 100))), (z, True)),
    sp.Piecewise((x, sp.Eq(y, y + z)), (y, sp.Ne(x, y)), (z, True)),
    sp.Piecewise((sp.sin(x) / x, x > 2), (sp.Piecewise((y, y < z), (z, True)), x <= 2)),
    sp.exp(sp.sin(sp.log(x + sp.exp(y)))) * sp.sqrt(x**2 + y**2 + z**2),
    sp.diff(sp.exp(x * y) * sp.sin(x / y), x, 2, y),
    sp.series(sp.exp(x), x, 0, 9).removeO(),
    sp.expand((x + 2 * y - z / 3) ** 6),
    sp.integrate(x**3 * sp.exp(-x), x),
]
POINTS = ([0.7, 1.3, 0.45], [2.25, 0.6, 1.9])


def exact(e: Any, at: list[float]) -> Any:
    """The value to 30 digits, with the floats taken as they are."""
    return sp.N(sp.sympify(e).subs({s: sp.Rational(v) for s, v in zip(SYMBOLS, at, strict=True)}), 30)


def near(got: Any, want: Any, relative: float, scale: Any = 0.0) -> bool:
    """Whether a number is within `relative` of the exact one, or of the summands it is made of."""
    return bool(abs(sp.Float(got, 30) - want) <= relative * max(abs(want), scale))


def size(e: Any, at: list[float]) -> Any:
    """The greatest magnitude among an expression's summands, to which rounding errors are in proportion."""
    terms = sp.Add.make_args(sp.expand(e)) if not e.has(sp.Piecewise) else [e]
    return max((abs(exact(t, at)) for t in terms), default=0)


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_values(e: Any) -> None:
    f = pullback.lambdify(SYMBOLS, e)
    for at in POINTS:
        want = exact(e, at)
        got = f(*at)
        assert isinstance(got, float)
        assert near(got, want, 4e-15, size(e, at)), f"{got} is not {want}"


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_gradients(e: Any) -> None:
    slope = pullback.grad(pullback.lambdify(SYMBOLS, e), argnums=(0, 1, 2))
    wants = [_slope(e, s) for s in SYMBOLS]
    for at in POINTS:
        for got, want in zip(slope(*at), wants, strict=True):
            value = exact(want, at)
            assert near(got, value, 2e-14, size(want, at)), f"{got} is not {value}"


def _slope(e: Any, s: Any) -> Any:
    """SymPy's derivative, with steps constant between their jumps."""
    e = e.replace(sp.frac, lambda a: a - sp.floor(a)).replace(sp.Mod, lambda a, b: a - b * sp.floor(a / b))
    steps = {k: sp.Dummy() for k in e.atoms(sp.floor, sp.ceiling, sp.sign, sp.Heaviside)}
    back = {d: k for k, d in steps.items()}
    return sp.diff(e.xreplace(steps), s).xreplace(back)


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_reading_back(e: Any) -> None:
    f = pullback.lambdify(SYMBOLS, e)
    again, slopes = f.sympy(), pullback.grad(f, argnums=(0, 1, 2)).sympy()
    wants = [_slope(e, s) for s in SYMBOLS]
    assert again.free_symbols <= set(SYMBOLS)
    for at in POINTS:
        assert near(exact(again, at), exact(e, at), 1e-15, size(e, at))
        for got, want in zip(slopes, wants, strict=True):
            assert near(exact(got, at), exact(want, at), 2e-15, size(want, at))


def test_what_is_read_back_is_legible() -> None:
    f = pullback.lambdify([x, y], x * sp.sin(y) + sp.exp(-(x**2)) / 3)
    assert f.sympy() == x * sp.sin(y) + sp.exp(-(x**2)) / 3
    assert pullback.grad(f, argnums=1).sympy() == x * sp.cos(y)
    assert pullback.grad(pullback.grad(f, argnums=1), argnums=1).sympy() == -x * sp.sin(y)


OPENED = sp.symbols("t", positive=True)


@pytest.mark.parametrize("written, want", [
    (np.arcsinh, sp.asinh(OPENED)), (lambda t: np.hypot(t, 2.0), sp.sqrt(OPENED**2 + 4)),
    (np.arctanh, sp.atanh(OPENED)),
    (lambda t: np.exp(t) * np.log(t), sp.exp(OPENED) * sp.log(OPENED)), (np.arcsin, sp.asin(OPENED)),
    (lambda t: np.log1p(t) + np.expm1(t), sp.log(1 + OPENED) + sp.exp(OPENED) - 1),
    (lambda t: 1 / np.cosh(t), 1 / sp.cosh(OPENED)),
])  # fmt: skip
def test_what_is_written_out_in_floats_is_read_as_what_it_means(written: Any, want: Any) -> None:
    """No branch for what overflows or cancels in floats: to second order the expressions are those of a textbook."""
    for order, f in enumerate((pullback.jit(written), pullback.grad(written), pullback.grad(pullback.grad(written)))):
        got = f.sympy()
        assert not got.has(sp.Piecewise, sp.Min, sp.Max)
        (symbol,) = got.free_symbols
        assert sp.simplify(got.xreplace({symbol: OPENED}) - sp.diff(want, OPENED, order)) == 0


def test_a_numpy_function_is_read_out() -> None:
    @pullback.value_and_grad
    def f(a: Any, b: Any) -> Any:
        return np.tanh(a) * b**2

    value, slope = f.sympy()  # type: ignore[attr-defined]
    a, b = sp.symbols("a b", real=True)
    assert value == sp.tanh(a) * b**2
    assert sp.simplify(slope - sp.diff(value, a)) == 0


def test_structure_comes_back() -> None:
    f = pullback.lambdify([x, y], [x + y, (x, [2 * y], ()), sp.Matrix([[x, 2], [y, x * y], [0, 1]])])
    total, (a, (b,), none), matrix = f(1.5, 2.0)
    assert (total, a, b, none) == (3.5, 1.5, 4.0, ())
    assert_all_close([matrix], [np.array([[1.5, 2.0], [2.0, 3.0], [0.0, 1.0]])])
    assert pullback.lambdify(x, sp.zeros(0, 3))(1.0).shape == (0, 3)
    assert pullback.lambdify([], sp.pi)() == pytest.approx(np.pi, abs=0)
    assert pullback.lambdify(x, 3)(1.0) == 3.0
    assert pullback.lambdify(x, x > 1)(2.0) in (True, np.True_)


def test_arrays_element_by_element(rng: np.random.Generator) -> None:
    e = x * sp.sin(y) + sp.Piecewise((x, x > y), (y**2, True))
    f = pullback.lambdify([x, y], e)
    a, b = rng.normal(size=(4, 1)), rng.normal(size=3)
    assert_all_close([f(a, b)], [a * np.sin(b) + np.where(a > b, a, b**2)], relative=1e-15, floors=[1e-15])
    assert f(a.astype("f4"), b.astype("f4")).dtype == np.float32
    assert f(np.arange(3), 2).dtype == np.float64
    assert f(np.zeros((0, 3)), b).shape == (0, 3)
    matrix = pullback.lambdify([x, y], sp.Matrix([[x, y]]))
    assert matrix(a, b).shape == (1, 2, 4, 3)
    with pytest.raises(ValueError, match="broadcast"):
        f(np.zeros(3), np.zeros(4))
    whole = pullback.grad(lambda p, q: f(p, q).sum())
    assert_all_close([whole(a, b)], [(np.sin(b) + (a > b)).sum(1, keepdims=True)], relative=1e-14)


def test_transforms_compose() -> None:
    f = pullback.lambdify([x, y], x**3 * y + sp.sin(x * y))
    assert pullback.jit(f)(0.5, 2.0) == f(0.5, 2.0)
    second = pullback.grad(pullback.grad(f))(0.5, 2.0)
    assert near(second, exact(sp.diff(x**3 * y + sp.sin(x * y), x, 2), [0.5, 2.0, 0.0]), 1e-14)
    assert pullback.hessian(f)(0.5, 2.0) == second
    assert "sin" in f.ir()
    assert f(y=2.0, x=0.5) == f(0.5, 2.0)
    with pytest.raises(TypeError, match="signature"):
        f(1.0)


def test_a_branch_not_taken_contributes_nothing() -> None:
    e = sp.Piecewise((sp.sqrt(x), x > 0), (0, True)) + sp.Piecewise((sp.log(x) / x, x > 0), (2 * x, True))
    f = pullback.lambdify(x, e)
    assert pullback.grad(f)(0.0) == 2.0
    assert pullback.grad(pullback.grad(f))(0.0) == 0.0
    assert np.isnan(pullback.lambdify(x, sp.Piecewise((x, x > 0)))(-1.0))


def test_symbols_are_what_they_are_not_what_they_are_called() -> None:
    plus, same, dummy = sp.Symbol("x", positive=True), sp.Symbol("x", real=True), sp.Dummy("x")
    f = pullback.lambdify([x, plus, dummy], x + 10 * plus + 100 * dummy)
    assert f(1.0, 2.0, 3.0) == 321.0
    assert f.sympy() == x + 10 * plus + 100 * dummy
    assert pullback.lambdify([same], x)(4.0) == 4.0
    with pytest.raises(ValueError, match="twice"):
        pullback.lambdify([x, same], x)
    with pytest.raises(TypeError, match="not among the arguments"):
        pullback.lambdify([x], plus)


HOSTILE = ["__import__('os').system('true')", "lambda", "x; raise SystemExit", "None", "x\ny", "", " ", "é", "a.b", "1"]
HOSTILE += ["__class__", "def f(): pass", "x)", "(", "%d", "{x}", "\\", "'", '"', "#", "True", "exit()", "*args", "x=1"]


@pytest.mark.parametrize("name", [s + t for s in HOSTILE for t in ("", "0", "_", "()", " ")])
def test_names_are_never_run(name: str) -> None:
    s, t = sp.Symbol(name, real=True), sp.Symbol(name, positive=True)
    f = pullback.lambdify([s, t], s - 2 * t)
    assert f.__wrapped__(5.0, 1.0) == 3.0
    assert f.sympy() == s - 2 * t


class Strange(sp.Function):
    """A user's own function."""


def impostor(name: str) -> Any:
    """A function with the name, and the module, of one of SymPy's."""
    return type(name, (sp.Function,), {"__module__": f"sympy.functions.{name}"})


REFUSED: list[tuple[Any, str]] = [
    ("x + 1", "string"),
    (None, "NoneType"),
    (1j, "complex"),
    (x * sp.I, "not a real number"),
    (sp.zoo + x, "zoo|real number|no primitive"),
    (sp.mathieuc(1, 2, x), "mathieuc"),
    (sp.DiracDelta(x), "DiracDelta"),
    (Strange(x), "Strange"),
    (sp.Function("exp")(x), "exp"),
    (impostor("sin")(x), "sin"),
    (sp.Integral(sp.exp(x * sp.sin(x)), x), "Integral.*quadrature=True"),
    (sp.Sum(x**y / sp.factorial(y) ** y, (y, 1, sp.oo)), "closed form"),
    (sp.Derivative(sp.Function("f")(x), x), "Derivative"),
    (sp.Symbol("q"), "q is not among"),
    (sp.Symbol("A", commutative=False) * x, "A is not among"),
    (sp.FiniteSet(x), "expected a SymPy expression"),
    (np.array([1.0]), "ndarray"),
    ([x, "y"], r"expr\[1\].*string"),
    (sp.Matrix([[x, sp.mathieuc(1, 2, x)]]), r"expr\[0, 1\].*mathieuc"),
    (sp.Indexed("a", 0) * x, "indexed base a"),
    (sp.MatrixSymbol("A", 2, 2)[0, 1] * x, "matrix A"),
    (sp.Function("f")(x).diff(x), "modules="),
    (sp.besselj(sp.I, x), "dtype=complex"),
]


@pytest.mark.parametrize(("e", "says"), REFUSED, ids=lambda v: str(v)[:30])
def test_refusals(e: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        pullback.lambdify([x], e)


@pytest.mark.parametrize("args", ["x y", ["x + 1"], "lambda", [x + 1], [1], None, [[x + 1]], {x}])
def test_refused_arguments(args: Any) -> None:
    with pytest.raises(TypeError, match=r"argument 0|args"):
        pullback.lambdify(args, x)


def test_names_are_arguments_and_never_evaluated() -> None:
    A: Any = sp.MatrixSymbol("A", 2, 2)
    B: Any = sp.IndexedBase("B")
    positive = sp.Symbol("p", positive=True)
    assert pullback.lambdify("x, y", x - 2 * y)(1.0, 2.0) == -3.0
    assert pullback.lambdify(["p", ("x", y), "unused"], positive * x + y)(2.0, (3.0, 1.0), 9.0) == 7.0
    assert pullback.grad(pullback.lambdify("B, x", B[0] * x + B[1]), argnums=1)(np.array([5.0, 1.0]), 2.0) == 5.0
    np.testing.assert_array_equal(pullback.lambdify("A", A.T)([[1.0, 2.0], [3.0, 4.0]]), [[1.0, 3.0], [2.0, 4.0]])
    with pytest.raises(ValueError, match="argument 0 is the string 'p', and the expression has 2 of that name"):
        pullback.lambdify("p", positive + sp.Symbol("p"))
    with pytest.raises(TypeError, match=r"argument 0 is the string .*expected a SymPy Symbol, or its name"):
        pullback.lambdify(["__import__('os').abort()"], x)
    with pytest.raises(TypeError, match="x is not among the arguments"):
        pullback.lambdify("y", x)


def test_what_is_no_expression_is_not_read_out() -> None:
    with pytest.raises(NoExpression, match="cannot read qr at"):
        pullback.jit(lambda a: np.linalg.qr(a)[1]).sympy(np.eye(3))  # type: ignore[attr-defined]
    text = 'graph @f(%x: f64[]) {\n  %0: bool[] = cast %x {dtype="bool"}\n  return %0\n}'
    with pytest.raises(NoExpression, match="cast"):
        to_sympy(parse(text))


# ---- size


def _in_small_stack(work: Any) -> Any:
    """Run with a recursion limit that any recursion over an expression would meet."""
    made: list[Any] = []

    def run() -> None:
        made.append(work())

    thread = threading.Thread(target=run)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(before)
    assert made, "the work failed"
    return made[0]


def test_depth() -> None:
    e, want = x, 0.5
    for k in range(5000):
        e = sp.Abs(e, evaluate=False) if k % 2 else sp.Add(e, sp.Integer(-1), evaluate=False)
        want = abs(want) if k % 2 else want - 1
    start = time.process_time()
    f = _in_small_stack(lambda: pullback.lambdify(x, e))
    assert f(0.5) == want
    assert time.process_time() - start < 10


def test_a_long_sum() -> None:
    terms = [sp.Mul(sp.Integer(k % 97 + 1), x, sp.Integer(k % 7 + 1), evaluate=False) for k in range(100_000)]
    want = np.array(sum((k % 97 + 1) * (k % 7 + 1) for k in range(100_000)) * 0.5)
    start = time.process_time()
    f = pullback.lambdify(x, sp.Add(*terms, evaluate=False))
    graph = trace(f.__wrapped__, f.flatten((0.5,), {})[0], ["x"], "sum").graph
    assert time.process_time() - start < 10
    assert_all_close(evaluate(graph, [0.5]), [want], relative=1e-13)


def test_shared_parts_are_computed_once() -> None:
    e = x
    for _ in range(100):
        e = sp.Add(sp.Mul(e, e, evaluate=False), sp.Integer(-1), evaluate=False)
    f = pullback.lambdify(x, e)
    f(0.5)
    assert f.ir().count(" mul ") == 100
    twice = pullback.lambdify(x, [sp.sin(x, evaluate=False) + 1, sp.sin(x, evaluate=False) * 2])
    twice(1.0)
    assert twice.ir().count(" sin ") == 1
