"""Objects of pandas in what a function reads: their numbers as arrays, told anew at each call; as arguments refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pullback import grad, jit

X = np.array([1.0, 2.0, 3.0])


def frame() -> Any:
    return pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})


@pytest.mark.parametrize(
    "of",
    [
        lambda x, d: np.sum(x * d["a"]), lambda x, d: np.sum(d["a"] * x), lambda x, d: np.sum(x * d.a.values),
        lambda x, d: np.sum(x * d["a"].to_numpy()), lambda x, d: np.sum(np.dot(x, d.values)),
        lambda x, d: x[0] * d["a"].mean(), lambda x, d: sum(x[1] * v for v in d["b"]),
    ],
)  # fmt: skip
def test_what_is_closed_over(of: Any) -> None:
    d = frame()
    made = grad(lambda x: of(x, d))(X)
    h = 1e-6 * np.eye(3)
    np.testing.assert_allclose(made, [(of(X + e, d) - of(X - e, d)) / 2e-6 for e in h], rtol=1e-6, atol=1e-9)


def test_changes_are_seen() -> None:
    d = frame()
    f = jit(lambda x: np.sum(x * d["a"].values) + d["b"].sum())
    assert f(X) == np.sum(X * d["a"].values) + 15.0
    d.loc[0, "a"] = 10.0
    d.loc[1, "b"] = -1.0
    assert f(X) == np.sum(X * d["a"].values) + 9.0


def test_in_a_function_with_branches() -> None:
    d = frame()

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            if x[k] > 1.5:
                total = total + x[k] * d["a"][k]
        return total

    np.testing.assert_array_equal(grad(f)(X), [0.0, 2.0, 3.0])


def test_arguments_are_refused_with_a_way_out() -> None:
    with pytest.raises(TypeError, match=r"argument d is a pandas\.DataFrame; pass np\.asarray"):
        jit(lambda x, d: np.sum(x * d["a"]))(X, frame())


def test_products_with_frames() -> None:
    d, w = frame(), np.array([0.3, -1.2])
    made = grad(lambda w: np.sum((d @ w) ** 2 + d.dot(w)))(w)
    np.testing.assert_allclose(made, d.T @ (2 * (d @ w) + 1.0), rtol=1e-14)
    made = jit(lambda x: d["a"] @ x + np.sum(d.T @ x))(X)
    np.testing.assert_allclose(made, d["a"] @ X + np.sum(d.T @ X), rtol=1e-14)
    with pytest.raises(ValueError, match="transpose or reshape one of them"):
        jit(lambda w: np.sum(d @ w))(np.ones(5))
