"""Taylor coefficients against SymPy's derivatives to order 8, and against nested gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import sympy

import pullback as pb

ANY: Any = pb

FORMULAS: dict[str, Callable[[Any], Any]] = {
    "exp(x)": np.exp, "sin(x)*x": lambda x: np.sin(x) * x, "tan(x)": np.tan, "tanh(x)": np.tanh, "log(x)": np.log,
    "sqrt(x)": np.sqrt, "x/(1 + x**2)": lambda x: x / (1 + x * x), "x**(5/2)": lambda x: x**2.5,
    "x**3": lambda x: x**3, "atan(x)": np.arctan, "1/(1 + exp(-x))": lambda x: 1 / (1 + np.exp(-x)),
    "erf(x)": scipy.special.erf, "loggamma(x)": scipy.special.gammaln, "2": lambda x: 2.0 + 0.0 * x,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_elementary_functions_to_order_8(text: str) -> None:
    t = sympy.Symbol("t")
    formula: Any = sympy.sympify(text)
    formula = formula.subs("x", sympy.Rational(3, 10) + sympy.Rational(3, 2) * t)
    wanted = [formula]
    for _ in range(8):
        wanted.append(sympy.diff(wanted[-1], t))
    order = 4 if "gamma" in text else 8
    numbers = [float(each.subs(t, 0).evalf(30)) / math.factorial(k) for k, each in enumerate(wanted[: order + 1])]
    made = pb.taylor(FORMULAS[text], 0.3, 1.5, order)
    assert all(type(each) is float for each in made)
    np.testing.assert_allclose(made, numbers, rtol=1e-11, atol=1e-12)


def loop(x: Any) -> Any:
    y = x
    for _ in range(5):
        y = y + 0.1 * np.sin(y)
    return y


def until(x: Any) -> Any:
    while x < 10:
        x = x * x + 1
    return x


def branch(x: Any) -> Any:
    return np.sin(x) if x > 0 else x


def stores(x: Any) -> Any:
    table = np.zeros(4)
    table[0] = x
    for k in range(1, 4):
        table[k] = table[k - 1] * x + np.exp(-table[k - 1])
    return np.sum(table)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "loop": loop, "until": until, "branch": branch, "stores": stores,
    "solve": lambda x: np.linalg.solve(np.array([[2.0, 1.0], [1.0, 3.0]]) + x * np.eye(2), np.ones(2))[0],
    "cholesky": lambda x: np.linalg.cholesky(np.array([[2.0, 1.0], [1.0, 3.0]]) + x * x * np.eye(2))[1, 1],
    "largest": lambda x: np.max(np.stack([x * x, x, np.sin(x)])),
    "sum": lambda x: np.sum(np.exp(x * np.arange(3.0))),
    "matrix": lambda x: np.sum((np.ones((2, 3)) * x) @ (x * np.ones((3, 2)))),
    "gather": lambda x: np.sum((np.arange(5.0) * x)[np.array([1, 1, 3])] ** 2),
    "gradient": lambda x: pb.grad(loop)(x) * x,
    "scan": lambda x: pb.scan(lambda c, e: (c * np.cos(e * x), None), x, np.arange(3.0))[0],
    "rule": lambda x: pb.checkpoint(loop)(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_to_order_4(name: str) -> None:
    f, slopes = PROGRAMS[name], [PROGRAMS[name]]
    for _ in range(4):
        slopes.append(pb.grad(slopes[-1]))
    wanted = [float(each(0.9)) / math.factorial(k) for k, each in enumerate(slopes)]
    np.testing.assert_allclose(pb.taylor(f, 0.9, 1.0, 4), wanted, rtol=1e-10, atol=1e-12)


def test_containers_and_directions() -> None:
    x, v = np.array([0.3, 0.7, 1.1]), np.array([1.0, -0.5, 2.0])

    def f(p: Any) -> Any:
        return {"a": np.sin(p["x"]) * p["k"], "b": p["x"] @ p["x"]}

    zero, one, two = pb.taylor(f, {"x": x, "k": 2}, {"x": v, "k": 2}, 2)
    np.testing.assert_allclose(zero["a"], 2 * np.sin(x))
    np.testing.assert_allclose(one["a"], 2 * np.cos(x) * v)
    np.testing.assert_allclose(two["a"], -np.sin(x) * v * v)
    np.testing.assert_allclose([zero["b"], one["b"], two["b"]], [x @ x, 2 * x @ v, v @ v])
    np.testing.assert_allclose(pb.taylor(lambda x: x.astype(np.float32) ** 2, x, v, 1)[1], 2 * x * v, rtol=1e-6)


def test_other_transforms_of_it() -> None:
    assert pb.grad(lambda x: pb.taylor(np.sin, x, 1.0, 3)[3])(0.4) == pytest.approx(np.sin(0.4) / 6)
    made = pb.vmap(lambda x: pb.taylor(np.exp, x, 1.0, 2))(np.arange(3.0))
    np.testing.assert_allclose(made[2], np.exp(np.arange(3.0)) / 2)
    assert pb.jit(lambda x: pb.taylor(np.exp, x, 2.0, 2)[2])(0.0) == pytest.approx(2.0)


def test_jets() -> None:
    value, rest = pb.jet(lambda x, y: x * y, (2.0, 3.0), ([1.0, 0.0], [0.0, 2.0]))
    assert (value, rest) == (6.0, [3.0, 4.0])
    # the Taylor series of a solution of x' = x (1 - x), one derivative after the other
    slopes: list[float] = [0.2 * 0.8]
    for _ in range(5):
        value, rest = pb.jet(lambda x: x * (1 - x), (0.2,), (slopes,))
        slopes = [value, *rest]
    t = sympy.Symbol("t")
    solution = 1 / (1 + 4 * sympy.exp(-t))
    wanted = [float(sympy.diff(solution, t, k).subs(t, 0)) for k in range(1, 7)]
    np.testing.assert_allclose(slopes[:6], wanted, rtol=1e-12)


def decay(a: Any, t: Any, k: int = 1) -> Any:
    return a * np.exp(t) ** k


AT = (2.0, 0.5, 3)


def test_several_arguments_and_static_ones() -> None:
    near = np.testing.assert_allclose
    exp, cube = math.exp(0.5), math.exp(1.5)
    near(pb.taylor(decay, (2.0, 0.5), 1.0, 2, argnums="t"), [2 * exp, 2 * exp, exp])
    near(pb.taylor(decay, (2.0, 0.5), (1.0, 3.0), 1, argnums=(1, 0)), [2 * exp, 5 * exp])
    near(pb.taylor(decay, AT, 2.0, 1, argnums=0), [2 * cube, 2 * cube])
    near(pb.taylor(decay, AT, [1.0, 1.0], 2, static_argnums=2), [2 * cube, 7 * cube, 12 * cube])
    near(pb.taylor(decay, AT, 1.0, 1, argnums="t", static_argnames="k"), [2 * cube, 6 * cube])
    values, aux = pb.taylor(lambda d, s: (d["a"] ** 2, len(s)), ({"a": 3.0}, "abc"), {"a": 1.0}, 2, True, argnums=0)
    assert values == (9.0, 6.0, 1.0) and aux == 3
    assert pb.grad(lambda a: pb.taylor(decay, (a, 0.5), 1.0, 2, argnums=1)[2])(2.0) == pytest.approx(exp / 2)


def test_order_0_is_the_value() -> None:
    assert pb.taylor(np.sin, 0.0, 1.0, 0) == (0.0,)
    (value,) = pb.taylor(lambda d: {"y": d["a"] * d["b"]}, {"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 1.0}, 0)
    assert value == {"y": 6.0}


@pytest.mark.parametrize(("call", "error", "said"), [
    (lambda: pb.taylor(np.sin, 0.1, 1.0, -1), ValueError, "taylor: order is -1, expected an int of 0 or more"),
    (lambda: pb.taylor(decay, 0.1, 1.0, 1, argnums=0), TypeError, "taylor takes a tuple of primals, got float"),
    (lambda: pb.taylor(decay, AT, 1.0, 1, argnums=(0, 0)), ValueError, "argnums has 0 twice"),
    (lambda: pb.taylor(decay, AT, 1.0, 1, argnums="k", static_argnames="k"), ValueError, "differentiated and static"),
    (lambda: pb.taylor(decay, AT, (1.0,), 1, argnums=(0, 1)), TypeError, "coefficient must be like the argument"),
    (lambda: ANY.taylor(np.sin, 0.1, 1.0, 1.5), ValueError, "taylor: order is 1.5"),
    (lambda: pb.taylor(np.sin, np.ones(2), np.ones(3), 1), TypeError, "a coefficient must be like the argument|shape"),
    (lambda: pb.taylor(np.sin, 1, 1.0, 1), TypeError, "taylor of sin needs floats"),
    (lambda: pb.taylor(np.argsort, np.ones(2), np.ones(2), 1), TypeError, "taylor of argsort needs floats; the result"),
    (lambda: pb.jet(np.sin, (0.1,), ([],)), TypeError, "every series is a list of derivatives"),
    (lambda: ANY.jet(np.sin, 0.1, [1.0]), TypeError, "jet takes a tuple of primals and a tuple of as many series"),
])
def test_errors(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()
