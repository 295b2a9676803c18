"""Arrays of indices on the left of an assignment: along any axes, beside slices, numbers, masks and new axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit

A, B = np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(2, 3, 4)
K, J = np.array([2, 0]), np.array([1, 3])
ODD = np.array([False, True, False, True])

def test_lists_of_traced_indices() -> None:
    def f(x: Any) -> Any:
        a = np.sin(x * A)
        sums = np.sum(a, axis=1)
        k, j = np.argmax(sums), np.argmin(sums)
        a[[k, j]] = a[[j, k]] * 2
        a[:, [k, j]] = a[:, [j, k]] * a[0, 0]
        a[[k, j], [j, 1]] = a[0, :2]
        a[[0, k], 1:3] -= 5 * a[1, 1]
        np.add.at(a, [k, j, k], a[0])
        a[(k, j),] *= 2.0
        a[(0, 1),] += a[2, 0]
        a[[]] = 3.0
        return np.sum(a * np.cos(B[1])) + np.sum(a[(j, 1),])

    assert jit(f)(0.7) == pytest.approx(f(0.7))
    assert grad(f)(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-6)


KEYS: dict[str, tuple[Any, np.ndarray, Any]] = {
    "later axis": (np.s_[:, K], A, np.full((3, 2), 7.0)),
    "after dots": (np.s_[..., K], A, np.full((3, 2), 7.0)),
    "a number after dots": (np.s_[..., K], A, 2.5),
    "a row of values": (np.s_[:, K], A, np.array([1.5, 2.5])),
    "last of three": (np.s_[:, :, K], B, np.ones((2, 3, 2))),
    "second of three": (np.s_[:, K], B, np.full((2, 2, 4), 3.0)),
    "beside a number": (np.s_[0, :, K], B, np.full((2, 3), 5.0)),
    "between numbers": (np.s_[:, K, 1], B, np.ones((2, 2))),
    "several": (np.s_[:, K, J], B, np.full((2, 2), 9.0)),
    "several apart": (np.s_[np.array([1, 0]), :, J], B, np.full((2, 3), 9.0)),
    "several about a slice": (np.s_[np.array([1, 0]), 1:3, J], B, np.full((2, 2), 9.0)),
    "several after dots": (np.s_[..., K, J], B, np.full((2, 2), 9.0)),
    "three": (np.s_[1, K, J], B, np.full(2, 4.0)),
    "beside a slice": (np.s_[::-2, K], A, np.full((2, 2), 3.0)),
    "twice the same": (np.s_[:, np.array([1, 1, 0])], A, np.arange(9.0).reshape(3, 3)),
    "a table": (np.s_[:, np.array([[0, 1], [2, 3]])], A, np.arange(12.0).reshape(3, 2, 2)),
    "outer": (np.ix_([0, 2], [1, 3]), A, np.full((2, 2), 3.0)),
    "a mask": (np.s_[:, ODD], A, np.full((3, 2), 7.0)),
    "a mask after dots": (np.s_[..., ODD], B, np.ones((2, 3, 2))),
    "a mask and indices": (np.s_[np.array([True, False, True]), J], A, np.ones(2)),
    "a list": (np.s_[:, [2, 0]], A, np.full((3, 2), 7.0)),
    "from the end": (np.s_[:, np.array([-1, -4])], A, np.full((3, 2), 7.0)),
    "a new axis": (np.s_[:, None, K], A, np.ones((3, 1, 2))),
    "none": (np.s_[:, np.array([], int)], A, np.ones((3, 0))),
}


def storing(key: Any) -> list[Callable[..., Any]]:
    def assigned(a, v):
        z = a * 1.0
        z[key] = v
        return z

    def added(a, v):
        z = a * 1.0
        z[key] += v
        return z

    def multiplied(a, v):
        z = a * 1.0
        for _ in range(2):
            z[key] *= v
        return z

    return [assigned, added, multiplied]


def slope(f: Callable[..., Any], v: Any) -> Callable[..., Any]:
    return grad(lambda a: np.sum(np.sin(f(a, v))))


def slopes(f: Callable[..., Any], a: np.ndarray, v: Any) -> np.ndarray:
    """The gradient for a by complex steps."""
    made, h = np.zeros(a.shape), 1e-20
    for at in np.ndindex(a.shape):
        moved = a.astype(complex)
        moved[at] += h * 1j
        made[at] = np.sum(np.sin(f(moved, v))).imag / h
    return made


@pytest.mark.parametrize("name", KEYS)
def test_stores_at_arrays_of_indices(name: str) -> None:
    key, a, v = KEYS[name]
    for f in storing(key):
        assert np.array_equal(jit(f)(a, v), f(a, v))
        np.testing.assert_allclose(slope(f, v)(a), slopes(f, a, v), rtol=1e-13)


def test_values_have_gradients() -> None:
    def f(v, i):
        z = A * 1.0
        z[:, i] = v
        z[..., i] += v * v
        return np.sum(z * A)

    wanted = A[:, K] * (1 + 2 * 0.5)
    np.testing.assert_allclose(grad(f)(np.full((3, 2), 0.5), K), wanted)


def test_indices_that_are_traced() -> None:
    def f(b, v, i, j):
        z = b * 1.0
        for k in range(2):
            z[k, :, i] += v
            z[i, k, j] = k
        if b[0, 0, 0] < 1.0:
            z[:, :, j] = 2.0
        else:
            z[..., j] += 1.0
        return z

    for b in (B, B + 2.0):
        args = b, np.ones((2, 3)), np.array([1, 0]), J
        assert np.array_equal(jit(f)(*args), f(*args))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 2 with size 4"):
        jit(f)(B, np.ones((2, 3)), np.array([1, 0]), np.array([1, 4]))


def test_ufuncs_at_arrays_of_indices() -> None:
    twice: Any = (slice(None), np.array([1, 1, 0]))
    last: Any = (..., np.array([3, 3]))
    squared: Any = (slice(None), np.array([2, 2]))

    def f(a, v):
        z = a * 1.0
        np.add.at(z, twice, v)
        np.subtract.at(z, last, 1.0)
        np.multiply.at(z, squared, 2.0)
        return z

    v = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(jit(f)(A, v), f(A, v))


def test_what_does_not_fit_is_numpy_s_error() -> None:
    assigned = storing(np.s_[:, K])[0]
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3, 3\) into shape \(3, 2\)"):
        jit(assigned)(A, np.ones((3, 3)))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 4"):
        jit(storing(np.s_[:, np.array([4, 0])])[0])(A, np.ones((3, 2)))
