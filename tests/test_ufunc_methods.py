"""Ufuncs with their methods and arguments under a trace: slopes of what is stored, and what is refused in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.check import check
from pullback.runtime.transforms import grad, jit

X = np.array([[0.4, -1.2, 2.1], [1.4, 0.7, -0.6]])


def _out(x: Any) -> Any:
    y = x * 2.0
    np.exp(x, out=y, where=x > 0)
    np.multiply(y, x, y)
    return np.sum(y)


def _parts(x: Any) -> Any:
    y, z = np.zeros(3), np.zeros(3)
    np.modf(x[0] * x[1], out=(y, z))
    return np.sum(y * x[0])


def _sums(x: Any) -> Any:
    y = np.zeros((2, 3))
    np.sum(x * x, axis=0, out=y[1])
    return np.sum(y * x)


def _at(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        y = np.abs(x) + 0.5
        ufunc.at(y, ([0, 1, 0], [1, 1, 1]), x[1] * x[1])
        return np.sum(y * x)

    return function


def _at_one(x: Any) -> Any:
    y = x * x
    np.subtract.at(y, 0, x[1, 0])
    np.multiply.at(y, (1, 2), x[0, 1])
    z = y[0]
    np.add.at(z, 1, x[1, 1])
    return np.sum(y * x)


STORES = [_out, _at_one, _parts, _sums, *map(_at, (np.add, np.multiply, np.divide, np.maximum, np.power, np.logaddexp))]


@pytest.mark.parametrize("function", STORES)
def test_what_is_stored_has_derivatives(function: Callable[..., Any]) -> None:
    np.testing.assert_allclose(jit(function)(X), function(X.copy()), rtol=1e-12)
    check(function, X)
    check(function, X, order=2)


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda x: np.add(x, x, where=x > 0), "np.add with where= leaves elements without a value"),
    (lambda x: np.add(x, x, out=x), "assignment into the argument x, where the caller would see it"),
    (lambda x: np.add.at(x, [0], 1.0), "assignment into the argument x, where the caller would see it"),
    (lambda x: np.add.reduceat(x, np.argsort(X[0]) * (x[0] > 0)), "reduceat at traced indices"),
    (lambda x: np.bitwise_count((x > 0).astype(int)), "np.bitwise_count, which counts in uint8"),
    (lambda x: np.frompyfunc(abs, 1, 1)(x), "np.frompyfunc"),
    (lambda x: np.subtract.reduce(x, where=x > 0, initial=0.0), "np.subtract.reduce with where="),
    (lambda x: np.add(x, x, dtype=np.int64), "Cannot cast ufunc 'add' input 0"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED)
def test_what_cannot_be_done_is_refused_in_words(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(TraceError, match=re.escape(said)):
        jit(function)(X)


NUMPYS: list[Callable[..., Any]] = [
    lambda x: np.maximum.reduce(x[:, :0], axis=1),
    lambda x: np.maximum.reduce(x, where=x > 0),
    lambda x: np.subtract.reduce(x, axis=(0, 1)),
    lambda x: np.add.reduce(x, axis=2),
    lambda x: np.sin.reduce(x),
    lambda x: np.divmod.reduce(x),
    lambda x: np.add.accumulate(x, axis=(0, 1)),  # type: ignore[arg-type]
    lambda x: np.sin.outer(x, x),
    lambda x: np.add.reduceat(x[0], [0, 5]),
]


@pytest.mark.parametrize("function", NUMPYS)
def test_errors_are_numpys(function: Callable[..., Any]) -> None:
    with pytest.raises(Exception) as numpys:
        function(X)
    kind = IndexError if isinstance(numpys.value, IndexError) else ValueError
    with pytest.raises(kind, match=re.escape(str(numpys.value))):
        jit(function)(X)


def test_signs_of_zeros_and_nans() -> None:
    given = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -2.5, -5e-324])
    for dtype in (np.float64, np.float32):
        x = given.astype(dtype)
        functions: list[Callable[..., Any]] = [np.signbit, lambda x: np.copysign(x, x[::-1]), np.modf]
        for function in (*functions, lambda x: np.fmod(x, 2.0)):
            with np.errstate(all="ignore"):
                want = function(x)
            made = jit(function)(x)
            for m, w in zip(*((each if isinstance(each, tuple) else (each,)) for each in (made, want)), strict=True):
                np.testing.assert_array_equal(m, w)
                numbers = ~np.isnan(np.asarray(w, float))
                np.testing.assert_array_equal(np.signbit(m)[numbers], np.signbit(w)[numbers])


def test_slopes_at_kinks() -> None:
    x = np.array([0.0, -0.0, 2.0, -3.0])
    np.testing.assert_array_equal(grad(lambda x: np.copysign(x, -1.0).sum())(x), [0.0, 0.0, -1.0, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.modf(x)[0].sum())(x), np.ones(4))
    np.testing.assert_array_equal(grad(lambda x: np.spacing(x).sum())(x), np.zeros(4))
