"""Complex functions of tensors at zeros, infinities and NaN: C99's values, as NumPy and PyTorch have them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath
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
    "expm1": np.expm1, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
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


@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "log"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_zeros_have_their_signs_on_both_faces(name: str, dtype: Any) -> None:
    """Where a function is cut, the sign of a zero tells the side, and that of a result is told by it."""
    z = np.append(POINTS, [complex(a, b) for a in (2.0, -2.0, 0.5) for b in (0.0, -0.0, np.inf)]).astype(dtype)
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name](z)
    for got in (getattr(pullback, name)(pullback.tensor(z)).numpy(), pullback.jit(FUNCTIONS[name])(z)):
        for g, w in ((got.real, want.real), (got.imag, want.imag)):
            np.testing.assert_allclose(g, w, rtol=4 * np.finfo(dtype).eps, atol=0)
            seen = ~np.isnan(w)
            np.testing.assert_array_equal(np.signbit(g[seen]), np.signbit(w[seen]))


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
    if name == "acosh":  # the step would lead along its cut
        points = points + 0.25j
    z = pullback.tensor(points, requires_grad=True)
    made = getattr(pullback, name)(z)
    made.backward(pullback.ones_like(made))
    step = 1e-6
    slope = (FUNCTIONS[name](points + step) - FUNCTIONS[name](points - step)) / (2 * step)
    assert np.allclose(z.grad.numpy(), np.conj(slope), rtol=1e-7, atol=1e-9)


SLOPES: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda z: 0.5 / np.sqrt(z), "log": lambda z: 1 / z, "asin": lambda z: 1 / (np.sqrt(1 - z) * np.sqrt(1 + z)),
    "acos": lambda z: -1 / (np.sqrt(1 - z) * np.sqrt(1 + z)), "atan": lambda z: 1 / (1 + z * z),
    "asinh": lambda z: 1 / (np.sqrt(1 - 1j * z) * np.sqrt(1 + 1j * z)), "atanh": lambda z: 1 / (1 - z * z),
    "acosh": lambda z: 1 / (np.sqrt(z - 1) * np.sqrt(z + 1)), "log1p": lambda z: 1 / (1 + z),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_on_axes_and_cuts_are_the_derivatives(name: str) -> None:
    """Where a part, or that of 1 + z, is zero, real functions inside have kinks that the whole has not."""
    points = np.array([2j, -0.5j, -0.3, complex(-0.3, -0.0), 0.4, -1 - 2j, 1 + 2j, 2 - 1j, 0.5 + 1j, -3.0 + 0.5j])
    want = np.conj(SLOPES[name](points))
    z = pullback.tensor(points, requires_grad=True)
    made = getattr(pullback, name)(z)
    made.backward(pullback.ones_like(made))
    np.testing.assert_allclose(z.grad.numpy(), want, rtol=1e-13)
    np.testing.assert_allclose(pullback.grad(lambda z: FUNCTIONS[name](z).real.sum())(points), want, rtol=1e-13)
    _, along = pullback.jvp(FUNCTIONS[name], (points,), (np.ones_like(points),))
    np.testing.assert_allclose(along, np.conj(want), rtol=1e-13)


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


FAR = [complex(c) + 10.0**k * np.exp(1j * turn) * np.array([1, 1j])[k % 2]
       for c in (0, 1, -1, 1j, -1j) for k in (-300, -161, -20, -9, -3, 5, 17, 160, 300) for turn in (0.3, 2.9, -1.3)
       if k >= -20 or c in (0,)]  # fmt: skip
BESIDE: Any = np.array([*FAR, 1 + 1e-300j, -1 - 1e-300j, -1 + 1e-9j, 1e-300 + 1j, -1e-200 - 1j, 1 + 1e-160j])


@pytest.mark.parametrize(
    ("function", "exact", "slope"),
    [
        (np.log, mpmath.log, lambda w: 1 / w), (np.log1p, lambda w: mpmath.log(1 + w), lambda w: 1 / (1 + w)),
        (np.arctan, mpmath.atan, lambda w: 1 / (1 + w * w)), (np.arctanh, mpmath.atanh, lambda w: 1 / (1 - w * w)),
    ],
)  # fmt: skip
def test_logarithms_keep_their_digits_beside_poles_and_far_away(function: Any, exact: Any, slope: Any) -> None:
    values = pullback.jit(lambda z: function(z))(BESIDE)
    slopes = pullback.grad(lambda z: np.sum(function(z)), holomorphic=True)(BESIDE)
    with mpmath.workdps(700):
        for z, value, made in zip(BESIDE, values, slopes, strict=True):
            w = mpmath.mpc(z.real, z.imag)
            for got, want in ((value.real, exact(w).real), (value.imag, exact(w).imag)):
                assert abs(got - want) <= 4e-15 * abs(want) + 1e-307, (z, value)
            want = slope(w)
            if abs(want) < 1e300:
                assert abs(mpmath.mpc(made.real, made.imag) - want) <= 4e-15 * abs(want) + 1e-307, (z, made)


def test_what_is_small_is_no_zero_beside_an_infinity() -> None:
    z: Any = np.array([complex(-1e300, np.inf), complex(-800.0, np.nan), complex(-np.inf, np.inf)])
    np.testing.assert_array_equal(np.isnan(pullback.jit(np.exp)(z)), [True, True, False])
