"""Elementwise functions of arrays without axes, without elements and of broadcast shapes, to second order, both faces.

What one element is has been compared with numbers elsewhere; here a layout must give the same elements, to the last bit
in values, and their slopes, summed where an argument is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

ONE = ["sin", "tan", "arcsin", "tanh", "arctanh", "exp", "expm1", "log", "sqrt", "square", "absolute", "sign"]
TWO = ["add", "multiply", "true_divide", "power", "arctan2", "hypot", "maximum", "copysign", "remainder", "nextafter"]
TENSOR = {"arcsin": "asin", "arctanh": "atanh", "absolute": "abs"}

X, Y = np.array([0.3, 0.7, 0.45]), np.array([[0.9], [0.35]])


def orders(function: Callable[..., Any], places: tuple[int, ...]) -> list[Callable[..., Any]]:
    """The function, its gradient, and that of the gradient's sum with weights."""
    first = pb.grad(lambda *args: (function(*args) * 1.5).sum(), argnums=places)
    second = pb.grad(lambda *args: sum((k + 1.0) * each.sum() for k, each in enumerate(first(*args))), argnums=places)
    return [pb.jit(function), first, second]


def agree(made: Any, want: Any, tight: bool) -> None:
    for a, b in zip(made, want, strict=True) if isinstance(want, tuple) else [(made, want)]:
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=0 if tight else 1e-14, atol=0 if tight else 1e-14)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str) -> None:
    dtype = "float32" if len(name) % 2 else "float64"
    x = X.astype(dtype)
    for k, function in enumerate(orders(getattr(np, name), (0,))):
        whole = function(x)
        row = whole if k == 0 else whole[0]
        single, empty = function(x[1].reshape(())), function(x[:0].reshape(0, 2))
        made = [single, empty] if k == 0 else [single[0], empty[0]]
        assert np.shape(made[0]) == () and made[0].dtype == row.dtype
        np.testing.assert_allclose(made[0], row[1], rtol=float(np.finfo(dtype).eps))
        assert made[1].shape == (0, 2) and made[1].dtype == row.dtype


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_that_are_broadcast(name: str) -> None:
    ufunc = getattr(np, name)
    wide = tuple(np.ascontiguousarray(each) for each in np.broadcast_arrays(X, Y))
    for k, function in enumerate(orders(ufunc, (0, 1))):
        made, full = function(X, Y), function(*wide)
        if k == 0:
            agree(made, full, tight=True)
            np.testing.assert_allclose(made, ufunc(X, Y), rtol=1e-15)
        else:
            agree(made, (full[0].sum(0), full[1].sum(1, keepdims=True)), tight=False)
        none = function(X[:0], Y)
        shapes = [np.shape(each) for each in (none if k else (none,))]
        assert shapes == ([(0,), (2, 1)] if k else [(2, 0)])
        assert not k or not np.any(none[1])
        number = function(X, np.float64(0.4).reshape(()))
        agree(number[1] if k else number, (function(X, np.full(3, 0.4))[1].sum() if k else ufunc(X, 0.4)), tight=False)


@pytest.mark.parametrize("name", ONE)
def test_tensors_of_one(name: str) -> None:
    function = getattr(pb, TENSOR.get(name, name))
    for x in (np.asfortranarray(np.tile(X, (2, 1))), X[::2], X[1].reshape(()), X[:0]):
        t = pb.tensor(x, requires_grad=True)
        made = function(t)
        np.testing.assert_allclose(made.detach().numpy(), getattr(np, name)(x), rtol=1e-15)
        (slope,) = pb.autograd.grad(made.sum(), t, create_graph=True)
        (_, first, second) = orders(getattr(np, name), (0,))
        np.testing.assert_allclose(1.5 * slope.detach().numpy(), first(x)[0], rtol=1e-14)
        if slope.requires_grad:
            slope.sum().backward()
            np.testing.assert_allclose(1.5 * t.grad.numpy(), second(x)[0], rtol=1e-14, atol=1e-14)
