"""Numbers that are PyTorch's to the last bit, because a kink or a floor of theirs decides: ranges, grids, pixels."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback

COUNTS = [*range(130), 1000, 1025, 40001]
ENDS = [(-1, 1), (0, 1), (0, 6.283185307179586), (-3.25317, 1.73119), (3, -2), (2, 0), (0.001, 1e5), (1.5, 1.5)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ends", ENDS)
def test_linspace(ends: tuple[float, float], dtype: str) -> None:
    for n in COUNTS:
        mine, yours = (t.linspace(*ends, n, dtype=getattr(t, dtype)).numpy() for t in (pullback, torch))
        assert mine.tobytes() == yours.tobytes(), n


@pytest.mark.parametrize("ends", [(1e308, -1e307), (0, 1e308), (1 + 0j, 2j), (1e-300, 1e-290)])
def test_linspace_far_out(ends: tuple[complex, complex]) -> None:
    for n in (1, 2, 3, 8, 33):
        wide = {} if isinstance(ends[0], complex) else {"dtype": "float64"}
        mine, yours = (t.linspace(*ends, n, **{k: getattr(t, v) for k, v in wide.items()}) for t in (pullback, torch))
        assert str(mine.dtype) == str(yours.dtype).replace("torch", str(mine.dtype).split(".")[0])
        np.testing.assert_allclose(mine.numpy(), yours.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("aligned", [False, True])
def test_grids_of_affine_maps_and_the_sides_of_pixels(aligned: bool, dtype: str) -> None:
    """The places of an identity are pixels, up to a last bit that says from which two of them a sample is made."""

    def made(t: Any, n: int) -> list[Any]:
        kind, f = getattr(t, dtype), t.nn.functional
        theta = t.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=kind)
        grid = f.affine_grid(theta, (1, 1, n, n), align_corners=aligned).requires_grad_()
        x = ((t.arange(n * n, dtype=kind) * 7) % 11).reshape(1, 1, n, n)
        f.grid_sample(x, grid, align_corners=aligned).sum().backward()
        return [grid.detach().numpy(), grid.grad.numpy()]

    for n in (*range(2, 34), 64, 100):
        (mine, slopes), (yours, wanted) = made(pullback, n), made(torch, n)
        assert mine.tobytes() == yours.tobytes(), n
        np.testing.assert_allclose(slopes, wanted, rtol=1e-5, atol=1e-3)
