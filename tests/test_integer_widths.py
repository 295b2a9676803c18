"""Integers of every width in NumPy functions: values, dtypes and wrapping are NumPy's, bit by bit."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

INTEGERS = ("int8", "int16", "uint8", "uint16", "uint32", "uint64")
OTHERS = ("bool", "int32", "int64", "float32", "float64")


def numbers(dtype: str, seed: int = 0, size: int = 12) -> np.ndarray:
    """Numbers of all magnitudes, the ends among them."""
    if dtype == "bool":
        return np.arange(size) % 3 == seed % 3
    if dtype.startswith("float"):
        return np.linspace(-3.5, 90.25, size).astype(dtype)
    info, rng = np.iinfo(dtype), np.random.default_rng(seed)
    ends = [info.max, info.min, 0, 1, info.max // 2, info.max // 2 + 1, info.max - 1]
    drawn = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    return rng.permutation(np.concatenate([np.array(ends, dtype), drawn >> 3, drawn])[:size])


def same(function: Callable[..., Any], *args: Any) -> None:
    """A compiled function gives what plain NumPy gives."""
    with np.errstate(all="ignore"):
        want = function(*args)
    made = pb.jit(function)(*args)
    for a, b in zip(made, want, strict=True) if isinstance(want, (tuple, list)) else [(made, want)]:
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype, (np.asarray(a).dtype, np.asarray(b).dtype)
        if np.asarray(b).dtype.kind == "f":
            np.testing.assert_array_max_ulp(np.asarray(a), np.asarray(b), 2)
        else:
            np.testing.assert_array_equal(a, b)


UFUNCS: list[Callable[..., Any]] = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.and_,
    operator.or_, operator.xor, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    np.maximum, np.minimum, np.logical_and,
]  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_operators(dtype: str) -> None:
    x, y = numbers(dtype), numbers(dtype, 1)
    y[3] = 0
    same(lambda x, y: [f(x, y) for f in UFUNCS], x, y)
    same(lambda x: [-x, ~x, abs(x), np.sign(x), x * 3, 7 - x, x // 5, 100 % x, x**2, np.square(x)], x)
    shifts = (np.arange(12) % 9).astype(dtype)
    same(lambda x, n: [x << n, x >> n, x << 3, x >> 2], x, shifts)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(INTEGERS, (*INTEGERS, *OTHERS))))
def test_promotion_and_casts(a: str, b: str) -> None:
    x, y = numbers(a), numbers(b, 1)
    mixed = [np.multiply, np.add, np.less, np.maximum, np.true_divide]
    same(lambda x, y: [f(x, y) for f in mixed], x, y)
    same(lambda x: x.astype(b), x)
    same(lambda x, y: np.where(x > 3, x, y), x, y)
    if b.startswith("float"):
        same(lambda y: np.abs(y).astype(a), y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_folds_and_orders(dtype: str) -> None:
    x = numbers(dtype).reshape(3, 4)
    same(lambda x: [x.sum(), x.sum(0), x.sum(1, dtype=dtype), x.prod(1), x.max(), x.min(0), np.ptp(x, 1)], x)
    same(lambda x: [x.argmax(), x.argmin(1), np.argsort(x, -1, kind="stable"), np.sort(x, 0), np.cumsum(x, 1)], x)
    same(lambda x: [x.any(), x.all(1), np.count_nonzero(x), np.diff(x, axis=0), np.clip(x, 2, 100)], x)
    same(lambda x, v: [np.searchsorted(np.sort(x[0]), v), np.median(x)], x, x[1])
    same(lambda x: [x.mean(), x.mean(0), x.std(1), np.average(x, axis=1)], x // 3)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_moves(dtype: str) -> None:
    x = numbers(dtype).reshape(3, 4)
    same(lambda x: [x.T, x[::-1, 1:], x.reshape(2, 6), np.pad(x, 1), np.concatenate([x, x]), np.tile(x, 2)], x)
    same(lambda x: [np.stack([x, x], 1), np.roll(x, 1), x[[2, 0]], x.diagonal(), np.zeros_like(x) + x, x[1, 2]], x)
    same(lambda x: [np.full_like(x, 7), np.ones(3, x.dtype), np.array([1, 2], dtype), x @ x.T, np.outer(x, x[0])], x)


@pytest.mark.parametrize("layout", ["strided", "Fortran", "scalar", "empty", "swapped"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_layouts(dtype: str, layout: str) -> None:
    x = numbers(dtype).reshape(3, 4)
    whole = {"strided": x[::2, ::-1], "Fortran": np.asfortranarray(x), "scalar": x[1, 1], "empty": x[:0],
             "swapped": x.astype(x.dtype.newbyteorder())}[layout]  # fmt: skip
    same(lambda x: x * 2 + 1, whole)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_they_select_and_weigh(dtype: str) -> None:
    """Under `grad`, as indices, as numbers in floats, in branches and loops."""
    table, places = np.linspace(0.0, 1.0, 5), np.array([3, 0, 0, 4], dtype)
    np.testing.assert_array_equal(pb.grad(lambda t, k: t[k].sum())(table, places), [2, 0, 0, 1, 1])
    x, weights = np.array([0.5, 2.0, 3.0, 4.0]), numbers(dtype, 5, 4)
    value, slope = pb.value_and_grad(lambda x, w: (x * w).sum())(x, weights)
    np.testing.assert_allclose(value, (x * weights).sum(), rtol=1e-15)
    np.testing.assert_array_equal(slope, weights.astype(float))
    assert pb.hessian(lambda x, w: (x * x * w).sum())(x, weights)[1, 1] == 2.0 * weights[1]

    def looped(x: Any, w: Any) -> Any:
        total, kept = 0.0, w[0]
        for k in range(4):
            if w[k] > kept:
                kept = w[k]
            total = total + x[k] * kept
        return total

    np.testing.assert_allclose(pb.grad(looped)(x, weights), np.maximum.accumulate(weights).astype(float))


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        pb.jit(lambda x: x + 300)(np.ones(3, np.uint8))
    with pytest.raises(TypeError, match="uint8"):
        pb.grad(lambda x: (x * x).sum())(np.ones(3, np.uint8))
    with pytest.raises(TypeError, match="gcd is not known for uint64"):
        pb.jit(lambda x: np.gcd(x, x))(np.ones(3, np.uint64))


def test_out_takes_them_and_modules_refuse_them(tmp_path: Any) -> None:
    x = np.array([250, 3], np.uint8)
    out = np.empty(2, np.uint8)
    assert pb.jit(lambda x: x + 9)(x, out=out) is out and out.tolist() == [3, 12]
    with pytest.raises(TypeError, match=r"uint8: a module has bool, int32"):
        pb.build({"f": lambda x: x + 9}, {"f": (x,)}, name="narrow", out=tmp_path)


def test_other_transforms_leave_them_as_they_are() -> None:
    x, w = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, 2], [3, 255]], np.uint8)
    np.testing.assert_array_equal(pb.vmap(lambda x, w: (x * w).sum())(x, w), (x * w).sum(1))
    np.testing.assert_array_equal(pb.vmap(lambda w: w + w)(w), w + w)
    _, slope = pb.jvp(lambda x: (x * w).sum(), (x,), (np.ones_like(x),))
    assert slope == 261.0
    np.testing.assert_array_equal(pb.jacrev(lambda x, w: x * w)(x[1], w[1]), np.diag(w[1].astype(float)))
