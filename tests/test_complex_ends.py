"""Complex functions of tensors at zeros, infinities and NaN: C99's values, as NumPy and PyTorch have them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import func

PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
POINTS: Any = np.array([complex(a, b) for a, b in product(PARTS, PARTS)])
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "abs": np.abs, "angle": np.angle, "reciprocal": lambda z: 1 / z,
    "square": np.square, "rsqrt": lambda z: 1 / np.sqrt(z), "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
}  # fmt: skip


def assert_ends(got: Any, want: Any, at: Any, loose: bool = False) -> None:
    """The same numbers, NaN in the same places; `loose`, infinities may have either sign, which C99 leaves open."""
    parts = [(got.real, want.real), (got.imag, want.imag)] if np.iscomplexobj(want) else [(got, want)]
    for g, w in parts:
        open_sign = loose & np.isinf(w) & np.isinf(g)
        same = np.isclose(g, w, rtol=1e-13, atol=0, equal_nan=True) | open_sign
        assert same.all(), f"{at[~same][:4]}: {got[~same][:4]} and not {want[~same][:4]}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_c99s(name: str) -> None:
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name](POINTS)
    got = getattr(pullback, name)(pullback.tensor(POINTS)).numpy()
    lost = ~np.isfinite(POINTS.real) & ~np.isfinite(POINTS.imag)
    assert_ends(got[~lost], want[~lost], POINTS[~lost])
    assert_ends(got[lost], want[lost], POINTS[lost], loose=True)


@pytest.mark.parametrize("operator", [np.multiply, np.divide])
def test_products_and_quotients_are_numpys(operator: Any) -> None:
    a, b = (x.ravel() for x in np.meshgrid(POINTS, POINTS))
    with np.errstate(all="ignore"):
        want = operator(a, b)
    x, y = pullback.tensor(a), pullback.tensor(b)
    assert_ends((x * y if operator is np.multiply else x / y).numpy(), want, np.stack([a, b], 1))


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("abs", "angle")])
def test_gradients_beside_the_ends_are_the_derivatives(name: str) -> None:
    """A holomorphic function's gradient is the conjugate of its derivative, also on the axes."""
    points = np.array([0.7, -0.4j + 0.3, 1.1 + 0.5j, 0.6 + 0.0j, 2.0 - 1.0j])
    z = pullback.tensor(points, requires_grad=True)
    made = getattr(pullback, name)(z)
    made.backward(pullback.ones_like(made))
    step = 1e-6
    slope = (FUNCTIONS[name](points + step) - FUNCTIONS[name](points - step)) / (2 * step)
    assert np.allclose(z.grad.numpy(), np.conj(slope), rtol=1e-7, atol=1e-9)


def test_jacobians_refuse_complex_numbers_as_pytorch_does() -> None:
    z, x = pullback.tensor([1 + 2j, 3.0]), pullback.tensor([1.0, 2.0])
    for transform in (func.jacrev, func.jacfwd):
        name = transform.__name__
        with pytest.raises(RuntimeError, match=f"{name}: Expected all inputs to be real but received complex.*idx: 0"):
            transform(lambda z: z.abs())(z)
        with pytest.raises(RuntimeError, match=f"{name}: Expected all inputs to be real.*idx: 1"):
            transform(lambda x, z: x * z.abs())(x, z)
        with pytest.raises(RuntimeError, match=f"{name}: Expected all outputs to be real.*view_as_real"):
            transform(lambda x: x * (1 + 2j))(x)
