"""NumPy's functions that arrange, make and place elements, and its polynomials: what is refused in words, and how."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval

from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.check import check
from pullback.runtime.transforms import grad, jit

X = np.linspace(0.5, 3.0, 12).reshape(3, 4)
C = np.arange(8.0).reshape(2, 4)

REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda x: np.pad(x, 1, lambda *args: None), "np.pad with a function as its mode"),
    (lambda x: np.polydiv(x[0], [1.0, 2.0]), "np.polydiv of a traced array: its remainder"),
    (lambda x: np.poly(x[:, :3]), "np.poly of a traced matrix"),
    (lambda x: np.unravel_index(x[0], (3, 4)), "only int indices permitted"),
    (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2)), "as_strided of a traced array, which has no strides"),
    (lambda x: np.r_["c", x], "np.r_ with 'c'"),
    (lambda x: np.vectorize(lambda t: t)(x[:0]), "np.vectorize of an array without elements"),
    (lambda x: x.view(np.int64), "ndarray.view of f64[3,4] as int64"),
    (lambda x: x.astype(int, casting="safe"), "Cannot cast array data from dtype('float64') to dtype('int64')"),
    (lambda x: x.strides, "ndarray.strides is not supported"),
    (lambda x: x.tobytes(), "ndarray.tobytes is not supported"),
    (lambda x: x.byteswap(), "ndarray.byteswap is not supported"),
    (lambda x: np.concatenate([x, x], dtype=int), "Cannot cast array data from dtype('float64') to dtype('int64')"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED)
def test_what_cannot_be_done_is_refused_in_words(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(TraceError, match=re.escape(said)):
        jit(function)(X)


NUMPYS: list[Callable[..., Any]] = [
    lambda x: np.pad(x, 1, "foo"),  # type: ignore[call-overload]
    lambda x: np.pad(x, 1, "edge", constant_values=2),  # type: ignore[call-overload]
    lambda x: np.pad(x, -1),
    lambda x: np.pad(x[:0], 1, "edge"),
    lambda x: np.fliplr(x[0]),
    lambda x: np.rot90(x, 1, (0, 0)),
    lambda x: np.rollaxis(x, 0, 4),
    lambda x: np.hsplit(x, 3),
    lambda x: np.dsplit(x, 2),
    lambda x: np.array_split(x, 0),
    lambda x: np.block([x, [x]]),
    lambda x: np.block([]),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, 9, 0),
    lambda x: np.linspace(x[0, 0], 1.0, -1),
    lambda x: np.geomspace(x[0, 0] * 0, 1.0),
    lambda x: np.asarray_chkfinite(x / 0.0),
    lambda x: np.vander(x),
    lambda x: np.diag_indices_from(x),
    lambda x: np.apply_along_axis(lambda row: row * 2, 1, x[:0]),
]


@pytest.mark.parametrize("function", NUMPYS)
def test_errors_are_numpys(function: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"), pytest.raises(ValueError) as numpys:
        function(X)
    with pytest.raises(ValueError, match=re.escape(str(numpys.value))):
        jit(function)(X)


def test_a_leading_coefficient_of_zero_is_told() -> None:
    multiply = jit(lambda c: np.polymul(c, c))
    np.testing.assert_allclose(multiply(np.array([1.0, 2.0])), [1.0, 4.0, 4.0])
    with pytest.raises(ValueError, match="the leading coefficient is 0"):
        multiply(np.array([0.0, 2.0]))


def test_series_imported_by_name_keep_their_axes_apart() -> None:
    want = chebval(X[0, :2], C)
    np.testing.assert_allclose(jit(lambda x: chebval(x, C))(X[0, :2]), want)
    check(lambda x: np.sum(chebval(x, C) ** 2), X[0, :2], order=2)


def test_loops_and_branches_make_arrays_in_the_same_ways() -> None:
    def function(x: Any) -> Any:
        total = 0.0
        for k in range(2):
            row = np.require(np.r_[x[k], k], np.float64)
            if row[0] > 1:
                total = total + np.pad(row, 1, "reflect").sum() * np.vectorize(lambda t: t * t)(row)[0]
            total = total + np.polynomial.legendre.legval(x[k, 0], row)
        return total

    np.testing.assert_allclose(jit(function)(X), function(X))
    check(function, X)
    assert grad(function)(X).shape == X.shape
