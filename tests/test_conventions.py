"""The table of conventions at kinks and ends in the documents, line by line: gradients of NumPy functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian
from tests.compare import assert_same

INF, NAN, HALF = np.inf, np.nan, 0.5

#: what is written, where, the gradient
TABLE: list[tuple[str, Callable[..., Any], tuple[Any, ...], Any]] = [
    ("abs", lambda x: np.sum(np.abs(x)), (np.array([0.0, -0.0, NAN]),), [0.0, 0.0, NAN]),
    ("sign", lambda x: np.sum(np.sign(x)), (np.array([0.0, 1.0]),), [0.0, 0.0]),
    ("maximum(x, 0)", lambda x: np.sum(np.maximum(x, 0)), (np.array([-1.0, 0.0, 1.0]),), [0.0, HALF, 1.0]),
    ("minimum(x, 0)", lambda x: np.sum(np.minimum(x, 0)), (np.array([-1.0, 0.0, 1.0]),), [1.0, HALF, 0.0]),
    ("where hides", lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)), (np.array([0.0, 4.0]),), [0.0, 0.25]),
    ("round", np.round, (2.5,), 0.0),
    ("comparisons", lambda x: x * (x > 1), (1.0,), 0.0),
    ("maximum, NaN", lambda x: np.sum(np.maximum(x, 0)), (np.array([NAN]),), [1.0]),
    ("where(x > 0, x, 0)", lambda x: np.sum(np.where(x > 0, x, 0)), (np.array([0.0, 1.0]),), [0.0, 1.0]),
    ("clip", lambda x: np.sum(np.clip(x, -1, 1)), (np.array([-2.0, -1.0, 0.0, 1.0]),), [0.0, HALF, 1.0, HALF]),
    ("max", np.max, (np.array([2.0, 2.0, 1.0]),), [HALF, HALF, 0.0]),
    ("min", np.min, (np.array([2.0, 1.0, 1.0]),), [0.0, HALF, HALF]),
    ("max, NaN", np.max, (np.array([2.0, NAN, 1.0]),), [0.0, 1.0, 0.0]),
    ("norm", np.linalg.norm, (np.zeros(3),), [0.0, 0.0, 0.0]),
    ("std", np.std, (np.full(3, 0.1),), [0.0, 0.0, 0.0]),
    ("var", np.var, (np.full(4, 3.0),), [0.0, 0.0, 0.0, 0.0]),
    ("hypot", lambda z: np.hypot(z[0], z[1]), (np.zeros(2),), [0.0, 0.0]),
    ("hypot, far", lambda z: np.hypot(z[0], z[1]), (np.array([-INF, 1.0]),), [-1.0, 0.0]),
    ("hypot, NaN", lambda z: np.hypot(z[0], z[1]), (np.array([NAN, 1.0]),), [NAN, NAN]),
    ("arctan2", lambda z: np.arctan2(z[0], z[1]), (np.zeros(2),), [0.0, 0.0]),
    ("sqrt", np.sqrt, (0.0,), INF),
    ("cbrt", np.cbrt, (0.0,), INF),
    ("arcsin", np.arcsin, (1.0,), INF),
    ("arccosh", np.arccosh, (1.0,), INF),
    ("x ** 0", lambda x: x**0.0, (0.0,), 0.0),
    ("x ** 0, tiny", lambda x: x**0.0, (5e-324,), 0.0),
    ("x ** 0.5", lambda x: x**0.5, (0.0,), INF),
    ("x ** 1.5", lambda x: x**1.5, (0.0,), 0.0),
    ("x ** -2", lambda x: x**-2, (2.0**-30,), -(2.0**91)),
    ("x ** y", lambda z: z[0] ** z[1], (np.zeros(2),), [0.0, 0.0]),
    ("0 ** y", lambda y: 0.0**y, (2.0,), 0.0),
    ("floor", np.floor, (2.0,), 0.0),
    ("x % 2", lambda x: x % 2, (4.0,), 1.0),
    ("log", lambda x: np.log(x), (0.0,), INF),
    ("sinc", np.sinc, (0.0,), 0.0),
    ("1 / (1 + exp(-x))", lambda x: 1 / (1 + np.exp(-x)), (-1000.0,), 0.0),
    ("1 / cosh(x)", lambda x: 1 / np.cosh(x), (1000.0,), 0.0),
    ("exp(x) / (1 + exp(x))", lambda x: np.exp(x) / (1 + np.exp(x)), (-1000.0,), 0.0),
    ("exp(-x ** 2)", lambda x: np.exp(-(x**2)), (1e200,), 0.0),
    ("log(1 + exp(x)), overflow", lambda x: np.log(1 + np.exp(x)), (1000.0,), INF),
    ("sqrt(sum(x ** 2))", lambda x: np.sqrt(np.sum(x**2)), (np.zeros(2),), [NAN, NAN]),
]


@pytest.mark.parametrize(("function", "at", "want"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_gradient_is_the_documented_one(function: Callable[..., Any], at: tuple[Any, ...], want: Any) -> None:
    with np.errstate(all="ignore"):
        got = grad(function)(*at)
    assert_same([np.abs(got) if np.all(np.equal(want, 0)) else np.asarray(got)], [np.array(want)])


#: second derivatives at the same kinks
SECOND: list[tuple[str, Callable[..., Any], Any, Any]] = [
    ("hypot on an axis", lambda z: np.hypot(z[0], z[1]), np.array([1.0, 0.0]), [[0.0, 0.0], [0.0, 1.0]]),
    ("hypot at 0", lambda z: np.hypot(z[0], z[1]), np.zeros(2), [[0.0, 0.0], [0.0, 0.0]]),
    ("hypot at a tie", lambda z: np.hypot(z[0], z[1]), np.ones(2), np.array([[1, -1], [-1, 1]]) / np.sqrt(8)),
    ("arccosh at 1", np.arccosh, 1.0, -INF),
    ("arcsin at 1", np.arcsin, 1.0, INF),
    ("arcsin near 0", np.arcsin, 1e-10, 1e-10),
    ("sinc at 0", np.sinc, 0.0, -np.pi**2 / 3),
    ("a sigmoid written out", lambda x: 1 / (1 + np.exp(-x)), -1000.0, 0.0),
    ("a sech written out", lambda x: 1 / np.cosh(x), 1000.0, 0.0),
    ("exp(-x ** 2)", lambda x: np.exp(-(x**2)), 1e200, 0.0),
    ("x ** -2", lambda x: x**-2, 1e-10, 6e40),
]


@pytest.mark.parametrize(("function", "at", "want"), [row[1:] for row in SECOND], ids=[row[0] for row in SECOND])
def test_a_second_derivative_is_right(function: Callable[..., Any], at: Any, want: Any) -> None:
    got = np.asarray(hessian(function)(at))
    assert np.allclose(got, want, rtol=1e-14, atol=1e-300, equal_nan=True), f"{got} for {want}"


def test_signs_of_zero_are_numpys() -> None:
    for function in (np.arcsinh, np.arctanh, np.sinh, np.abs):
        for x in (0.0, -0.0):
            assert np.signbit(np.asarray(grad(lambda v, f=function: v * f(v))(x))) == np.signbit(2 * function(x))
