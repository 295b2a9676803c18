"""Pictures that are resized without aliases are torch's, and so are their gradients."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback

X = np.random.default_rng(0).normal(size=(2, 3, 9, 14))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"size": (4, 5)}, {"size": (20, 5)}, {"size": (9, 14)}, {"size": (1, 1)}, {"size": (18, 28)},
     {"scale_factor": 0.3}, {"scale_factor": (1.7, 0.45)}, {"scale_factor": 0.3, "recompute_scale_factor": True}],
    ids=str,
)  # fmt: skip
def test_values_and_gradients(mode: str, aligned: bool, options: dict[str, Any]) -> None:
    made = []
    for t in (pullback, torch):
        x = t.tensor(X, requires_grad=True)
        y = t.nn.functional.interpolate(x, mode=mode, align_corners=aligned, antialias=True, **options)
        (y * t.arange(y.numel()).reshape(y.shape)).sum().backward()
        made.append((y.detach().numpy(), x.grad.numpy(), type(y.grad_fn).__name__))
    np.testing.assert_allclose(made[0][0], made[1][0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(made[0][1], made[1][1], rtol=1e-10, atol=1e-9)
    assert made[0][2] == made[1][2]


@pytest.mark.parametrize("call", [
    lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4), 2, mode="linear", antialias=True),
    lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4), 2, mode="nearest", antialias=True),
    lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4), 2, mode="bilinear", antialias=True),
])  # fmt: skip
def test_refusals(call: Any) -> None:
    for t in (pullback, torch):
        with pytest.raises(ValueError, match="Anti-alias"):
            call(t)
