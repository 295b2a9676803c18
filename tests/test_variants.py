"""Calls of NumPy's and SciPy's functions with random options, against NumPy's results; `make fuzz` runs more."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.compiler.frontend.errors import TraceError
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
