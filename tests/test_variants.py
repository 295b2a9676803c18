"""Calls of NumPy's and SciPy's functions with random options, against NumPy's results; `make fuzz` runs more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.transforms import jit
from tests.fuzz.kinds import run
from tests.fuzz.variants import SIGNATURES

CALLS, BLOCK = 2 * len(SIGNATURES), 40

COMPARED = 0.5
"""The share of calls that must be compared: neither refused nor wrong in NumPy too."""


@pytest.mark.parametrize("first", range(0, CALLS, BLOCK))
def test_options_mean_what_they_mean_in_numpy(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, min(first + BLOCK, CALLS)):
        verdict, text = run("variants", number)
        assert not verdict.startswith("WRONG"), f"call {number}: {verdict}\n{text}"
        counts[verdict.split(":")[0]] += 1
    assert counts["equal"] >= COMPARED * counts.total(), counts


# ---- what a larger run has found

X, Z = np.array([[0.5, -1.25, 2.0]]), np.array([1 + 2j, -0.5j])


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: np.add.reduce(x, axis=-1, initial=2), X[:, :0]),
        (lambda x: np.multiply.reduce(x, axis=0, initial=3), X[:0]),
        (lambda x: np.maximum.reduce(x, axis=0, initial=3), X[:0]),
    ],
)
def test_folds_of_nothing_begin_once(function: Any, x: np.ndarray) -> None:
    np.testing.assert_array_equal(pullback.jit(function)(x), function(x))


@pytest.mark.parametrize(
    ("function", "x", "kind", "text"),
    [
        (lambda x: np.var(x, dtype=int), X, TraceError, "np.var with dtype=int64"),
        (lambda x: np.std(x, dtype=complex), X, TraceError, "dtype=complex128"),
        (lambda x: np.var(x, dtype=float), Z, TraceError, "complex numbers with dtype=float64"),
        (lambda x: np.nanmean(x, dtype=int), X, TypeError, "dtype must be inexact"),
        (lambda x: np.nanvar(x, dtype=int), X, TypeError, "dtype must be inexact"),
        (lambda x: np.polyder(x), X, TraceError, "of 2 dimensions"),
        (lambda x: np.round(x > 0), X, TraceError, "np.round"),
    ],
)
def test_options_that_are_refused(function: Any, x: np.ndarray, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        pullback.jit(function)(x)


MASK = np.array([True, True, False])
FOLDS: dict[str, tuple[Callable[[np.ndarray], Any], np.ndarray]] = {
    "sum from a fraction": (lambda x: np.sum(x, initial=-1.7), np.array([1, 2, 4])),
    "prod from a fraction": (lambda x: np.prod(x, initial=1.7), np.array([1, 2, 4], np.int32)),
    "nanprod from a fraction": (lambda x: np.nanprod(x, initial=1.7), np.array([1, 2, 4])),
    "max from a fraction": (lambda x: np.max(x, initial=4.9), np.array([1, 2, 4])),
    "mean of some": (lambda x: np.mean(x, dtype=np.float32, where=MASK), np.array([1.0, 2.5, 4.0])),
    "mean of some integers": (lambda x: np.mean(x, dtype=np.float32, where=MASK), np.array([1, 2, 4])),
    "var of some": (lambda x: np.var(x, dtype=np.float32, where=MASK), np.array([1.0, 2.5, 4.0])),
    "nanmean": (lambda x: np.nanmean(x, dtype=np.float32), np.array([1.0, np.nan, 4.0])),
    "nanvar": (lambda x: np.nanvar(x, dtype=np.float32), np.array([1.0, np.nan, 4.0])),
    "nanstd": (lambda x: np.nanstd(x, dtype=np.float64), np.array([1.0, np.nan, 4.0], np.float32)),
    "mean of many halves": (lambda x: np.mean(x), np.ones(100_000, np.float16)),
}


@pytest.mark.parametrize("name", FOLDS)
def test_folds_begin_and_end_in_the_dtype_of_the_result(name: str) -> None:
    function, x = FOLDS[name]
    made, want = np.asarray(jit(function)(x)), np.asarray(function(x))
    assert made.dtype == want.dtype
    np.testing.assert_allclose(made, want, rtol=1e-6)


def test_no_fold_of_integers_begins_with_nan() -> None:
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        jit(lambda x: np.sum(x, initial=np.nan))(np.arange(3))
