"""`torch.arange` with steps that are no whole numbers, and `linspace`, have PyTorch's bits; sines show the last."""

from __future__ import annotations

import random

import pytest
import torch as reference

import pullback


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_have_pytorch_s_bits(dtype: str) -> None:
    rng = random.Random(3)
    cases = [(0, 1, 1 / 400), (0.0, 10.0, 0.1), (5, -5, -0.31), (0.3, 77.7, 0.0137), (0, 0, 0.5), (1, 9), (2.5,)]
    cases += [(a := rng.uniform(-9, 9), a + rng.uniform(0, 30), rng.uniform(1e-3, 2)) for _ in range(200)]
    for case in cases:
        mine = pullback.arange(*case, dtype=getattr(pullback, dtype)).numpy()
        theirs = reference.arange(*case, dtype=getattr(reference, dtype)).numpy()
        assert mine.tobytes() == theirs.tobytes(), case


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_have_pytorch_s_bits(dtype: str) -> None:
    rng = random.Random(3)
    for _ in range(200):
        a, b, n = rng.uniform(-3, 3), rng.uniform(-3, 3), rng.randint(2, 150)
        for name, given in (("linspace", (a, b, n)), ("arange", (a, b, (b - a) / n))):
            mine = getattr(pullback, name)(*given, dtype=getattr(pullback, dtype)).tolist()
            theirs = getattr(reference, name)(*given, dtype=getattr(reference, dtype)).tolist()
            assert mine == theirs, (name, given)
