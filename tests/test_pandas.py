"""Objects of pandas in what a function reads: their numbers as arrays, told anew at each call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pullback import grad, hessian, jit, value_and_grad, vmap

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


ASKED: list[Any] = [
    lambda w, d: np.sum((w[0] * d["a"] - d["b"]) ** 2), lambda w, d: np.mean((d[["a", "b"]].values @ w[:2]) ** 2),
    lambda w, d: np.sum(w[0] * d[d["g"] == 1]["a"].to_numpy()),
    lambda w, d: sum(np.sum(w[:2] * part[["a", "b"]].mean().to_numpy()) for _, part in d.groupby("g")),
    lambda w, d: sum(w[0] * row["a"] for _, row in d.head(5).iterrows()),
    lambda w, d: sum(w[1] * row.b for row in d.head(5).itertuples()),
    lambda w, d: np.sum(w[2] * d.loc[d["s"].isin(["x", "y"]), "b"].to_numpy()),
    lambda w, d: np.sum(w[pd.factorize(d["s"])[0]] * d["a"].to_numpy()),
    lambda w, d: np.sum(pd.get_dummies(d["s"]).to_numpy(dtype=float) @ w), lambda w, d: np.sum(w**2) * len(d),
    lambda w, d: np.sum(w[0] * d["a"].rolling(3).mean().dropna().to_numpy()),
    lambda w, d: np.sum(w[d["t"].dt.month.to_numpy() % 3]),
    lambda w, d: w[0] * d.loc["r3", "a"] + w[1] * d["l"].iloc[2][0],
    lambda w, d: np.sum(w[0] * d.pivot_table(index="g", columns="s", values="a").fillna(0.0).to_numpy()),
]


def table() -> Any:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(12, 2)), columns=["a", "b"], index=[f"r{k}" for k in range(12)])
    made["g"], made["s"] = np.arange(12) % 4, ["xyz"[k % 3] for k in range(12)]
    made["t"], made["l"] = pd.date_range("2020-01-31", periods=12, freq="31D"), [[float(k)] for k in range(12)]
    return made


def changed(d: Any) -> Any:
    """One change after another, in place."""
    d.loc["r1", "a"] = 7.0
    yield
    d.loc["r0", "s"] = "z"
    yield
    d["g"] = 1 - d["g"] % 2
    yield
    d["l"].iloc[2][0] = -5.0
    yield
    d["t"] = d["t"] + pd.Timedelta(days=40)
    yield
    d.index = [f"r{k}" for k in reversed(range(12))]
    yield
    d["s"] = d["s"].astype("category")
    yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("of", ASKED)
def test_tables_stay_what_they_are(of: Any, closed: bool) -> None:
    """As arguments and from outside, and each change of theirs is seen, whatever they hold beside numbers."""
    d, w = table(), np.array([0.3, -1.2, 0.8])
    function: Any = value_and_grad((lambda w: of(w, d)) if closed else of)
    args = () if closed else (d,)
    steps = 1e-6 * np.eye(3)
    for _ in (None, *changed(d)):
        value, slope = function(w, *args)
        np.testing.assert_allclose(value, of(w, d), rtol=1e-12)
        wanted = [(of(w + e, d) - of(w - e, d)) / 2e-6 for e in steps]
        np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-6)
    other = table() if closed else table().iloc[:9]
    if not closed:
        np.testing.assert_allclose(function(w, other)[0], of(w, other), rtol=1e-12)


def test_in_other_transforms_and_containers() -> None:
    d, w = frame(), np.array([0.5, 0.2])

    def loss(w, d):
        return np.sum((d[["a", "b"]].to_numpy() @ w) ** 2)

    numbers = d.to_numpy()
    np.testing.assert_allclose(hessian(loss)(w, d), 2 * numbers.T @ numbers)
    wide = np.stack([w, 2 * w])
    np.testing.assert_allclose(vmap(loss, in_axes=(0, None))(wide, d), [loss(w, d), loss(2 * w, d)])
    np.testing.assert_allclose(jit(lambda p: loss(p["w"], p["d"]))({"w": w, "d": d}), loss(w, d))
    np.testing.assert_allclose(grad(loss)(w, d=d), 2 * numbers.T @ numbers @ w)


@pytest.mark.parametrize("call", [
    lambda d: grad(lambda w, d: np.sum(w * d["a"]), 1)(X, d), lambda d: grad(lambda s: np.sum(s**2))(d["a"]),
    lambda d: grad(lambda p: np.sum(p["w"] * p["d"]["a"]))({"w": X, "d": d}),
    lambda d: vmap(lambda w, d: np.sum(w * d["a"]))(np.ones((3, 3)), d),
])  # fmt: skip
def test_where_they_would_be_differentiated_or_cut(call: Any) -> None:
    with pytest.raises(TypeError, match=r"pandas.*pass np\.asarray\(\.\.\.\) of it"):
        call(frame())


def test_products_with_frames() -> None:
    d, w = frame(), np.array([0.3, -1.2])
    made = grad(lambda w: np.sum((d @ w) ** 2 + d.dot(w)))(w)
    np.testing.assert_allclose(made, d.T @ (2 * (d @ w) + 1.0), rtol=1e-14)
    made = jit(lambda x: d["a"] @ x + np.sum(d.T @ x))(X)
    np.testing.assert_allclose(made, d["a"] @ X + np.sum(d.T @ X), rtol=1e-14)
    with pytest.raises(ValueError, match="transpose or reshape one of them"):
        jit(lambda w: np.sum(d @ w))(np.ones(5))
