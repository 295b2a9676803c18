"""What NumPy's sorts, statistics, sets and writes refuse on traced arrays, and what the table of cases cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.transforms import grad, jit, value_and_grad
from pullback.runtime.vmap import vmap

X = np.array([[0.3, -1.2, 2.0, 0.7], [1.1, 0.4, -0.5, 3.0]])
V = X[0]

SIZES: list[tuple[str, Callable[..., Any]]] = [
    ("np.unique", np.unique),
    ("np.nonzero", lambda x: np.nonzero(x)[0]),
    ("np.argwhere", np.argwhere),
    ("np.extract", lambda x: np.extract(x > 0, x)),
    ("np.compress", lambda x: np.compress(x > 0, x)),
    ("np.trim_zeros", np.trim_zeros),
    ("np.setdiff1d", lambda x: np.setdiff1d(x, x[:2], assume_unique=True)),
    ("np.bincount", lambda x: np.bincount(x.astype(int))),
]


@pytest.mark.parametrize(("name", "function"), SIZES)
def test_sizes_that_depend_on_values_are_refused_where_values_are_many(name: str, function: Any) -> None:
    with pytest.raises(TraceError, match="size that depends on values") as told:
        vmap(function)(np.abs(X))
    assert "fix: " in str(told.value)


ERRORS: list[tuple[type[Exception], str, Callable[..., Any]]] = [
    (ValueError, "kind", lambda x: np.sort(x, kind="quick", stable=True)),
    (ValueError, "kth", lambda x: np.partition(x, 9)),
    (IndexError, "out of bounds", lambda x: np.sort(x, axis=3)),
    (ValueError, "range", lambda x: np.quantile(x, 1.5)),
    (ValueError, "not a valid method", lambda x: np.quantile(x, 0.5, method="middling")),  # type: ignore[call-overload]
    (ValueError, "inverted_cdf", lambda x: np.quantile(x, 0.5, weights=x)),
    (ValueError, "too deep", lambda x: np.searchsorted(x.reshape(2, 2), 0.5)),
    (ValueError, "monotonically", lambda x: np.digitize(x, [1.0, 0.0, 2.0])),
    (ValueError, "identity", lambda x: np.max(x, where=x > 0)),
    (ValueError, "same length", lambda x: np.interp(x, x, x[1:])),
    (ValueError, "at least", lambda x: np.gradient(x[:1])),
    (ValueError, "axis", lambda x: np.cumulative_sum(x.reshape(2, 2))),
    (ValueError, "positive", lambda x: np.histogram(x, bins=0)),
    (TraceError, "size that depends", lambda x: np.histogram(x, bins="auto")),
    (ValueError, "same length", lambda x: np.select([x > 0], [x, x])),
    (TypeError, "boolean", lambda x: np.select([x], [x])),
    (TraceError, "mixes elements", lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.mean()])),
    (ValueError, "condition", lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0])),  # type: ignore[call-overload]
    (TraceError, "axis", lambda x: np.unique(x.reshape(2, 2), axis=0)),
]


@pytest.mark.parametrize(("kind", "text", "function"), ERRORS)
def test_wrong_calls_are_told(kind: type[Exception], text: str, function: Any) -> None:
    with pytest.raises(kind, match=text):
        jit(function)(V)


LATE: list[tuple[type[Exception], str, Callable[..., Any]]] = [
    (ValueError, "range", lambda x: np.quantile(x, x[2])),
    (ValueError, "monotonically", lambda x: np.digitize(0.5, x)),
    (ValueError, "All-NaN", lambda x: np.nanargmax(x * np.nan)),
    (ZeroDivisionError, "sum to zero", lambda x: np.average(x, weights=x - x)),
    (ValueError, "increase", lambda x: np.histogram(V, x)[0]),
    (ValueError, "invalid entry in choice array", lambda x: np.choose((x * 9).astype(int), [x, x])),
]


@pytest.mark.parametrize(("kind", "text", "function"), LATE)
def test_wrong_values_raise_what_numpy_raises(kind: type[Exception], text: str, function: Any) -> None:
    with pytest.raises(kind, match=text):
        jit(function)(V)


def test_writes_into_shared_arrays_are_refused() -> None:
    def whole(x: Any) -> Any:
        x.sort()
        return x

    def viewed(x: Any) -> Any:
        y = x * 2
        z = y[1:]
        y.sort()
        return z

    for function in (whole, viewed):
        with pytest.raises(TraceError, match="shares"):
            vmap(function)(X)


def test_writes_in_branches_and_loops() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(4)
        for k in range(3):
            np.put(y, [k, k + 1], x[k] * (k + 1))
            if x[k] > 0.5:
                y.sort()
                np.putmask(y, y > 1.0, x)
        return y

    for x in (V, -V):
        np.testing.assert_allclose(jit(f)(x), f(x))


def test_writes_into_memory_that_a_traced_function_makes() -> None:
    def f(x: Any) -> Any:
        y, z = np.zeros(4), x * 1.0
        np.put(y, [0, 2], x[:2])
        z.sort()
        return y * z

    def g(x: Any) -> Any:
        y = np.zeros(int(x.shape[0]))
        np.copyto(y, x * len(f"{x[0]:.3f}"))
        return y

    for function in (f, g):
        np.testing.assert_allclose(jit(function)(V), function(V))


def test_what_is_written_has_a_gradient() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(4)
        np.put(y, [0, 2, 0], x[:3] ** 2)
        return y[0] + 3 * y[2]

    np.testing.assert_allclose(grad(f)(V), [0.0, 6 * V[1], 2 * V[2], 0.0])


def test_diagonals_of_cubes() -> None:
    def f(x: Any) -> Any:
        y = np.zeros((3, 3, 3))
        for k in range(3):
            y[k, 0, 1] = x[k]
        np.fill_diagonal(y, x[:3])
        return y

    np.testing.assert_array_equal(jit(f)(V), f(V))


def test_ties_take_the_places_that_numpy_gives_them() -> None:
    x = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    weights = np.arange(1.0, 6.0)
    made = grad(lambda x: np.sum(np.sort(x) * weights))(x)
    want = np.zeros(5)
    want[np.argsort(x)] = weights
    np.testing.assert_array_equal(made, want)


def test_sorts_put_nan_last() -> None:
    x = np.array([np.nan, 1.0, -np.inf, np.nan, 0.0])
    functions: list[Any] = [np.sort, np.argsort, lambda x: np.searchsorted(np.sort(x), x)]
    for f in functions:
        np.testing.assert_array_equal(jit(f)(x), f(x))


def test_folds_over_nothing_but_nan() -> None:
    x = np.where(X > 0.6, np.nan, X)
    x[:, 3] = np.nan
    for f in (np.nanmax, np.nanmin, np.nanmean, np.nanmedian, np.nanstd):
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
            want = f(x, axis=0)
        np.testing.assert_allclose(jit(lambda x, f=f: f(x, axis=0))(x), want)


def test_concrete_conditions_keep_their_sizes_under_vmap() -> None:
    mask = np.array([True, False, True, True])
    made = vmap(lambda x: np.extract(mask, x) + np.delete(x, 1))(X)
    np.testing.assert_array_equal(made, 2 * X[:, mask])


def test_two_arrays_are_equal_or_not() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x) if np.array_equal(x, y) else np.sum(y) * 2

    for other in (V, V + 1):
        np.testing.assert_allclose(jit(f)(V, other), f(V, other))
    assert jit(lambda x: np.array_equal(x, x[1:]))(V) == False  # noqa: E712


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_sort_and_its_gradient_are_one_order(axis: int) -> None:
    """The second call of NumPy is left out where the first says what stands where; without a gradient it is a sort."""
    rng = np.random.default_rng(3)
    shape = (70, 66)  # longer rows than those whose order is counted
    x, w = rng.integers(-3, 3, shape) + rng.choice([0.0, 0.25], shape), rng.normal(size=shape)
    f = value_and_grad(lambda x: np.sum(np.sort(x, axis) ** 3 * w))
    value, slope = f(x)
    order = np.argsort(x, axis)
    wanted = np.empty_like(x)
    np.put_along_axis(wanted, order, 3 * np.sort(x, axis) ** 2 * w, axis)
    np.testing.assert_allclose(value, np.sum(np.sort(x, axis) ** 3 * w), rtol=1e-13)
    np.testing.assert_allclose(slope, wanted, rtol=1e-13)
    assert f.ir("optimized").count("external") == 1 and 'name="argsort"' in f.ir("optimized")
    alone = jit(lambda x: np.sort(x, axis))
    np.testing.assert_array_equal(alone(x), np.sort(x, axis))
    assert 'name="sort"' in alone.ir("optimized")


@pytest.mark.parametrize("shape", [(2,), (5,), (3, 7), (2, 3, 16), (64,), (65,), (1,), (0,), (3, 0)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_short_rows_are_in_numpys_order(shape: tuple[int, ...], dtype: str) -> None:
    """Equal elements, zeros of both signs, infinities and NaN; rows of a few are counted, longer ones sorted."""
    x = np.random.default_rng(1).integers(-4, 9, size=shape).astype(dtype)
    if dtype[0] == "f" and x.size > 4:
        x.flat[:5] = 0.0, np.nan, np.inf, -0.0, np.nan
    np.testing.assert_array_equal(jit(np.sort)(x), np.sort(x))
    np.testing.assert_array_equal(jit(lambda x: np.argsort(x, kind="stable"))(x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 100])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_search_is_numpys(n: int, side: Any) -> None:
    rng = np.random.default_rng(2)
    for dtype in ("f8", "f4", "i8"):
        row, wanted = np.sort(rng.integers(0, 9, n)).astype(dtype), rng.integers(-1, 11, (4, 5)).astype(dtype)
        if dtype[0] == "f":
            row[n - n // 4:] = np.nan
            wanted.flat[:3] = np.nan, np.inf, -np.inf
        found = jit(lambda a, v: np.searchsorted(a, v, side))
        np.testing.assert_array_equal(found(row, wanted), np.searchsorted(row, wanted, side))
        assert "external" not in found.ir("optimized")
