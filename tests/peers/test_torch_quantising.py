"""Numbers held to a grid of quantised ones are torch's, which scales in float32, with their gradients and refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=60) * 2, np.arange(-12, 12) * 0.05, [9.0, -9.0, 0.0, -0.0]]).reshape(2, 4, 11)

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "by tensor": lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7),
    "by tensors": lambda t, x: t.fake_quantize_per_tensor_affine(
        x, t.tensor([0.3]), t.tensor([2], dtype=t.int32), 0, 15),
    "by channel": lambda t, x: t.fake_quantize_per_channel_affine(
        x, t.tensor([0.1, 0.2, 0.05, 1.0]), t.tensor([0, 1, 2, 3], dtype=t.int32), 1, 0, 15),
    "by last channel": lambda t, x: t.fake_quantize_per_channel_affine(x, t.full((11,), 0.07), t.zeros(11), 2, -4, 3),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str, dtype: str) -> None:
    if "channel" in name and dtype == "float64":
        pytest.skip("torch takes float32 here")
    made = []
    for t in (pullback, torch):
        x = t.tensor(X.astype(dtype), requires_grad=True)
        y = CALLS[name](t, x)
        (y * t.arange(X.size).reshape(X.shape)).sum().backward()
        made.append((y.detach().numpy(), x.grad.numpy(), type(y.grad_fn).__name__, str(y.dtype)))
    np.testing.assert_allclose(made[0][0], made[1][0], rtol=0 if dtype == "float32" else 1e-7)
    np.testing.assert_array_equal(made[0][1], made[1][1])
    assert made[0][2:] == made[1][2:]


REFUSED: list[Callable[[Any], Any]] = [
    lambda t: t.fake_quantize_per_tensor_affine(t.ones(2), 0.1, 9, 0, 7),
    lambda t: t.fake_quantize_per_tensor_affine(t.ones(2), 0.1, 0, 7, 0),
    lambda t: t.fake_quantize_per_tensor_affine([1.0], 0.1, 0, 0, 7),
    lambda t: t.fake_quantize_per_channel_affine(t.ones(2, 3), t.ones(3), t.zeros(3, dtype=t.int32), 0, 0, 7),
    lambda t: t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.full((2,), 9, dtype=t.int32), 0, 0, 7),
    lambda t: t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.zeros(2, dtype=t.int64), 0, 0, 7),
    lambda t: t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.zeros(2), 5, 0, 7),
]


@pytest.mark.parametrize("n", range(len(REFUSED)))
def test_refusals(n: int) -> None:
    kinds = []
    for t in (pullback, torch):
        with pytest.raises((RuntimeError, TypeError, IndexError)) as found:
            REFUSED[n](t)
        kinds.append(found.type)
    assert kinds[0] is kinds[1]
