"""Compiled functions as mathematics: what is read out is evaluated and compared with what the function returns."""

from __future__ import annotations

import functools
import inspect
import time
from typing import Any

import numpy as np
import pytest
import scipy.special
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
from sympy.physics.mechanics.models import n_link_pendulum_on_cart
from sympy.tensor.array import ArrayComprehension

import pullback
from pullback import grad, hessian, jit, lambdify, value_and_grad
from pullback.runtime.symbolic.readout.writing import NoExpression
from pullback.runtime.symbolic.shared.iterated import iterated

rng = np.random.default_rng(5)
three = rng.uniform(0.5, 1.5, 3)
matrix = rng.uniform(0.5, 1.5, (3, 3)) + 2 * np.eye(3)


def valued(made: Any, names: list[str], given: tuple[Any, ...]) -> Any:
    """The numbers of what was read out, by compiling it again: a round trip."""
    found: dict[str, Any] = {}
    for e in _expressions(made):
        found |= {s.name: s for s in e.free_symbols if type(s) is sp.Symbol}
    for e in _expressions(made):
        found |= {b.name: b for b in e.atoms(sp.IndexedBase)}
    args = [found.get(n, sp.IndexedBase(n) if np.ndim(v) else sp.Symbol(n)) for n, v in zip(names, given, strict=True)]
    return lambdify(args, made)(*given)


def _expressions(made: Any) -> list[Any]:
    if isinstance(made, dict):
        return [e for v in made.values() for e in _expressions(v)]
    if isinstance(made, (list, tuple)):
        return [e for v in made for e in _expressions(v)]
    return [made]


def heat(u: Any, rounds: int) -> Any:
    u = u.copy()
    for _ in range(rounds):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def newton(x: Any) -> Any:
    s = x
    for _ in range(100):
        s = 0.5 * (s + x / s)
    return s


def branched(x: Any) -> Any:
    return np.sin(x) if x > 1 else x * x


def waves(x: Any) -> Any:
    total = 0.0
    for k in range(100):
        total = total + np.sin(k * x)
    return total


def chances(x: Any) -> Any:
    left = 1.0
    for k in range(50):
        left = left * (1 - x / (k + 2))
    return left


FUNCTIONS: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda a: np.sum(a * a), (three,)),
    (lambda a: np.exp(a) / (1 + a[::-1]), (three,)),
    (lambda a: np.concatenate([a, 2 * a[:2]]), (three,)),
    (lambda a: np.where(a > 1, a, 0.1 * a), (three,)),
    (lambda a: np.cumsum(a) * np.prod(a), (three,)),
    (lambda a: np.linalg.norm(a) + np.std(a), (three,)),
    (lambda a: a @ np.arange(3.0), (three,)),
    (lambda a: np.max(a) + np.log(np.sum(np.exp(a - np.max(a)))), (three,)),
    (lambda a: np.outer(a, a)[1:, ::2], (three,)),
    (lambda A: np.linalg.det(A), (matrix,)),
    (lambda A: np.linalg.inv(A), (matrix,)),
    (lambda A, a: np.linalg.solve(A, a), (matrix, three)),
    (lambda A: np.linalg.slogdet(A @ A.T)[1], (matrix,)),
    (lambda A: np.linalg.cholesky(A @ A.T), (matrix,)),
    (lambda A, a: a @ A @ a, (matrix, three)),
    (lambda w, X: np.sum((X @ w - 1) ** 2), (three, rng.normal(size=(100, 3)))),
    (lambda u: heat(u, 3), (rng.normal(size=5),)),
    (lambda u: np.sum(heat(u, 200) ** 2), (rng.normal(size=4),)),
    (newton, (2.0,)),
    (branched, (0.4,)),
    (branched, (1.4,)),
    (waves, (0.3,)),
    (chances, (0.3,)),
    (lambda x, y: np.arctan2(x, y) * np.hypot(x, y), (0.3, 0.4)),
    (lambda a: np.exp(a) * 2 + a[::-1], (rng.normal(size=100),)),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_a_round_trip(number: int) -> None:
    function, given = FUNCTIONS[number]
    compiled = jit(function)
    names = compiled.argument_names(len(given))  # type: ignore[attr-defined]
    made = compiled.sympy(*given)  # type: ignore[attr-defined]
    np.testing.assert_allclose(valued(made, names, given), function(*given), rtol=1e-11)


READ = [0, 1, 4, 5, 6, 7, 9, 12, 14, 15, 16, 18, 19, 20, 23]


@pytest.mark.parametrize("number", READ)
def test_the_gradient_is_read_out(number: int) -> None:
    function, given = FUNCTIONS[number]
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def total(*args: Any) -> Any:
        return np.sum(function(*args))

    slope = grad(total)
    made = slope.sympy(*given)  # type: ignore[attr-defined]
    np.testing.assert_allclose(valued(made, names, given), slope(*given), rtol=1e-10, atol=1e-12)


def test_it_is_legible() -> None:
    a: Any = sp.IndexedBase("a", (3,), real=True)
    assert jit(lambda a: np.sum(a * a)).sympy(three) == a[0] ** 2 + a[1] ** 2 + a[2] ** 2  # type: ignore[attr-defined]
    made = hessian(lambda a: np.sum(a**3) + a[0] * a[1]).sympy(three)  # type: ignore[attr-defined]
    assert made == sp.Matrix([[6 * a[0], 1, 0], [1, 6 * a[1], 0], [0, 0, 6 * a[2]]])
    x = sp.Symbol("x", real=True)
    assert grad(branched).sympy(0.4) == sp.Piecewise((sp.cos(x), x > 1), (2 * x, True))  # type: ignore[attr-defined]
    total = jit(waves).sympy(0.3)  # type: ignore[attr-defined]
    assert isinstance(total, sp.Sum)
    assert total.limits[0][1:] == (0, 99)
    assert jit(chances).sympy(0.3).has(sp.Product)  # type: ignore[attr-defined]
    assert isinstance(jit(newton).sympy(2.0), iterated())  # type: ignore[attr-defined]
    large = jit(lambda a: 2 * np.exp(a)).sympy(np.ones(100))  # type: ignore[attr-defined]
    assert isinstance(large, ArrayComprehension)
    assert large.shape == (100,)
    mapping = grad(lambda p: np.sum(p["w"] ** 2) * p["b"]).sympy({"w": three, "b": 2.0})  # type: ignore[attr-defined]
    assert sorted(mapping) == ["b", "w"]
    assert jit(lambda x: 0.1 * x + x / 3).sympy(1.0) == x / 10 + x / 3  # type: ignore[attr-defined]


def test_a_recurrence_is_an_expression() -> None:
    made = jit(newton).sympy(2.0)  # type: ignore[attr-defined]
    (x,) = made.free_symbols
    assert float(made.subs(x, sp.Float(2, 30)).evalf(25)) == pytest.approx(2**0.5, rel=1e-15)
    assert made.has(x)
    assert "_{100}" in sp.latex(made)
    few = iterated()(made.args[0], made.args[1], 2, 0)
    assert few.doit().subs(x, 2) == sp.Rational(17, 12)
    slope = few.diff(x).subs(x, 2)
    assert float(slope) == pytest.approx((few.doit().subs(x, 2.001) - few.doit().subs(x, 1.999)) / 0.002, rel=1e-5)


def test_gradients_of_long_linear_loops_are_recurrences() -> None:
    u = np.array([1.0, 2.0, 0.5, 1.5])
    slope = grad(lambda u: np.sum(heat(u, 200)))
    made = slope.sympy(u)  # type: ignore[attr-defined]
    assert any(e.has(iterated()) for e in made)
    np.testing.assert_allclose([float(e.doit()) for e in made], slope(u), rtol=1e-11)


def test_gradients_of_long_sums_are_sums() -> None:
    def energy(v: Any, rate: Any) -> Any:
        loss = 0.0
        for i in range(100):
            loss = loss + np.exp(-rate * v[0] * i) * v[1]
        return loss

    slope = value_and_grad(energy, argnums=(0, 1))
    given = np.array([0.3, 2.0]), 0.2
    made = slope.sympy(*given)  # type: ignore[attr-defined]
    assert not made[0].has(sp.Min, sp.Max)
    np.testing.assert_allclose(valued(made[1][0], ["v", "rate"], given), slope(*given)[1][0], rtol=1e-12)
    assert valued(made[1][1], ["v", "rate"], given) == pytest.approx(slope(*given)[1][1], rel=1e-12)


def test_complex_numbers_are_read_out() -> None:
    re, im = sp.symbols("z_real z_imag", real=True)
    made = jit(lambda z: {"e": np.exp(z), "n": [z * z]}).sympy(1j)  # type: ignore[attr-defined]
    assert made["e"] == sp.exp(re) * sp.cos(im) + sp.I * sp.exp(re) * sp.sin(im)
    assert sp.expand(made["n"][0] - (re + sp.I * im) ** 2) == 0
    assert jit(lambda z: 2 * z).sympy(np.ones(2, complex)).shape == (2,)  # type: ignore[attr-defined]
    with pytest.raises(NoExpression, match=r"np\.real"):
        jit(lambda z: 2 * z).sympy(np.ones(100, complex))  # type: ignore[attr-defined]


def test_latex() -> None:
    text = value_and_grad(lambda x, y: np.sin(x * y) ** 2 * np.exp(x * y)).latex()  # type: ignore[attr-defined]
    assert text.startswith("\\begin{aligned}\n")
    assert "t_{0} &= x y" in text
    plain = jit(branched).latex(0.4, intermediates=False)  # type: ignore[attr-defined]
    assert r"\operatorname{branched}\left(x\right) &= \begin{cases}" in plain
    assert r"i = 0, \dots, 99" in jit(lambda a: 2 * np.exp(a)).latex(np.ones(100))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("function", "given", "says"), [
    (np.sort, (np.ones(100),), "order of up to 64 elements, and not of 100"),
    (lambda A: np.linalg.eigvalsh(A), (np.eye(3),), "eigh of shape .*up to two rows"),
    (lambda A: np.linalg.eigh(A)[1], (np.eye(2),), "eigenvectors, whose signs"),
    (lambda A: np.linalg.qr(A)[1], (np.eye(2),), "cannot read qr at test_reading_out.py"),
    (lambda A: np.linalg.inv(A), (np.eye(7),), "up to 5 rows"),
    (lambda a: np.argmax(a), (np.ones(100),), "place of a maximum of 100 elements"),
    (lambda u: heat(u, 1000), (np.ones(100),), "large arrays"),
])  # fmt: skip
def test_what_is_not_read_out(function: Any, given: Any, says: str) -> None:
    with pytest.raises(NoExpression, match=says):
        jit(function).sympy(*given)


# ---- mechanics


@pytest.mark.parametrize("links", [1, 2, 3])
def test_a_pendulum_on_a_cart(links: int) -> None:
    kane = n_link_pendulum_on_cart(links, cart_force=True, joint_torques=False)
    f = pullback.equations_of_motion(kane)
    y, p = np.linspace(0.1, 0.5, len(f.states)), np.linspace(0.5, 1.5, len(f.parameters) + len(f.inputs))
    values = dict(zip([*f.states, *f.parameters, *f.inputs], [*y, *p], strict=True))
    mass, forcing = (sp.Matrix(m).subs(values).evalf(30) for m in (kane.mass_matrix_full, kane.forcing_full))
    want = np.array(mass.LUsolve(forcing), float)[:, 0]
    np.testing.assert_allclose(f(0.0, y, p), want, rtol=1e-11)
    value, slope = f.with_jacobian(0.0, y, p)
    np.testing.assert_allclose(value, want, rtol=1e-11)
    step = 1e-6
    columns = [(f(0.0, y + step * e, p) - f(0.0, y - step * e, p)) / (2 * step) for e in np.eye(len(y))]
    np.testing.assert_allclose(slope, np.stack(columns, 1), rtol=1e-6, atol=1e-8)
    by_parameters = pullback.jacobian(f, argnums=2)(0.0, y, p)
    assert by_parameters.shape == (len(y), len(p))


def test_lagrange_and_plain_equations() -> None:
    m, g, length = sp.symbols("m g l")
    q: Any = dynamicsymbols("q")
    lagrangian = m * length**2 * q.diff() ** 2 / 2 - m * g * length * (1 - sp.cos(q))
    method = LagrangesMethod(lagrangian, [q])
    with pytest.raises(ValueError, match="form_lagranges_equations"):
        pullback.equations_of_motion(method)
    method.form_lagranges_equations()
    f = pullback.equations_of_motion(method, [m, g, length])
    assert f(0.0, np.array([0.3, 0.7]), [2.0, 9.81, 1.5]) == pytest.approx([0.7, -9.81 / 1.5 * np.sin(0.3)])
    slope = grad(lambda p: f(0.0, np.array([0.3, 0.7]), p)[1])(np.array([2.0, 9.81, 1.5]))
    assert slope == pytest.approx([0.0, -np.sin(0.3) / 1.5, 9.81 / 1.5**2 * np.sin(0.3)], abs=1e-12)
    with pytest.raises(TypeError, match="expected a KanesMethod"):
        pullback.equations_of_motion(3)


CALLED = [
    ("log_ndtr", (-0.4,)), ("ndtri", (0.3,)), ("erfcx", (0.4,)), ("ndtr", (0.4,)), ("i0e", (0.4,)), ("i1e", (0.4,)),
    ("j0", (0.4,)), ("j1", (0.4,)), ("y1", (0.4,)), ("k0e", (0.4,)), ("k1", (0.4,)), ("entr", (0.4,)),
    ("expi", (0.4,)), ("spence", (0.4,)), ("dawsn", (0.4,)), ("exprel", (0.4,)), ("rgamma", (0.4,)),
    ("ellipk", (0.4,)), ("erfcinv", (0.4,)), ("binom", (3.2, 0.4)), ("rel_entr", (0.3, 0.4)), ("huber", (1.0, 0.4)),
    ("jv", (1.3, 0.4)), ("kve", (1.3, 0.4)), ("gammainc", (1.5, 0.4)), ("gammaincc", (1.5, 0.4)),
    ("betainc", (1.2, 0.7, 0.4)), ("betaln", (1.2, 0.4)), ("hyp2f1", (0.2, 0.3, 1.4, 0.4)), ("zeta", (2.5, 0.4)),
    ("poch", (1.2, 0.4)), ("eval_legendre", (3, 0.4)), ("boxcox", (1.3, 0.4)), ("expn", (2, 0.4)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given"), CALLED, ids=[name for name, _ in CALLED])
def test_special_functions_have_their_names(name: str, given: tuple[Any, ...]) -> None:
    function = getattr(scipy.special, name)
    order: Any = lambda x: function(*given[:-1], x)  # noqa: E731
    start = time.process_time()
    for k in range(3):
        compiled = grad(order) if k else jit(order)
        made = compiled.sympy(given[-1])  # type: ignore[attr-defined]
        np.testing.assert_allclose(valued(made, ["x"], given[-1:]), compiled(given[-1]), rtol=1e-11)
        order = compiled
    assert time.process_time() - start < 20


def test_a_function_without_a_name_in_sympy_stands_by_its_own() -> None:
    made = jit(lambda h, a: scipy.special.owens_t(h, 2 * a)).sympy(0.3, 0.4)  # type: ignore[attr-defined]
    h, a = (sp.Symbol(n, real=True) for n in "ha")
    assert str(made) == "owens_t(h, 2*a)"
    assert lambdify([h, a], made)(0.3, 0.4) == scipy.special.owens_t(0.3, 0.8)
    assert lambdify([h, a], made, {"owens_t": lambda h, a: h - a})(0.3, 0.4) == pytest.approx(-0.5)


def test_conditions_are_told_once() -> None:
    x = sp.Symbol("x", real=True)
    entropy = jit(lambda x: scipy.special.entr(x)).sympy(0.4)  # type: ignore[attr-defined]
    assert entropy == sp.Piecewise((-sp.oo, x < 0), (0, sp.Eq(x, 0)), (-x * sp.log(x), True))
    slope = grad(lambda x: scipy.special.rel_entr(0.5, x)).sympy(0.4)  # type: ignore[attr-defined]
    assert slope == sp.Piecewise((-1 / (2 * x), x > 0), (0, True))
    nested = jit(lambda x: np.where(np.where(x > 0, x, -x) > 2, np.where(x > 0, x, 1.0), 0.0))
    np.testing.assert_allclose(
        [lambdify(x, nested.sympy(1.0))(t) for t in (-3.0, -1.0, 1.0, 3.0)],  # type: ignore[attr-defined]
        [1.0, 0.0, 0.0, 3.0],
    )
    assert str(jit(lambda x: x / np.sqrt(2) + x / np.sqrt(np.pi)).sympy(1.0)).count(".") == 0  # type: ignore[attr-defined]
