"""`x.view(dtype)` reads the same bytes as torch's, in the same memory, with the same errors."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback

NAMES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128", "uint16", "uint32", "uint64",
]  # fmt: skip
PARTS: list[Any] = [
    lambda x: x, lambda x: x[1:], lambda x: x[:, 1:3], lambda x: x[:, ::2], lambda x: x.t(), lambda x: x[0, 0],
    lambda x: x[:, :0], lambda x: x.reshape(2, 2, 8)[:, 0],
]  # fmt: skip


@pytest.mark.parametrize("have", NAMES)
@pytest.mark.parametrize("want", NAMES)
def test_bytes(have: str, want: str) -> None:
    if want == "bool" and have not in ("uint8", "int8", "bool"):
        return  # other bytes than 0 and 1 are no truth values
    bits = np.random.default_rng(0).integers(0, 2, (4, 8)).astype(np.uint8)
    for part in PARTS:
        found = []
        for t in (torch, pullback):
            x = part(t.tensor(bits).to(getattr(t, have)))
            try:
                y = x.view(getattr(t, want))
                held = y.contiguous().view(t.uint8).tolist() if y.dim() else y.dtype.itemsize
                found.append((list(y.shape), str(y.dtype), y.stride() if y.numel() else 0, held))
            except RuntimeError as error:
                found.append(str(error))
        assert found[0] == found[1]


@pytest.mark.parametrize("t", [torch, pullback], ids=["torch", "pullback"])
def test_memory(t: Any) -> None:
    x = t.arange(4.0)
    y = x.view(t.int32)
    y += 1 << 23
    assert x[1:].tolist() == [2, 4, 6]
    x.zero_()
    assert y.tolist() == [0, 0, 0, 0] and not y._is_view()
    z = t.zeros(2, dtype=t.complex64)
    z.view(t.float32)[1] = 3.0
    assert z[0].item() == 3j
    w = t.ones(2, requires_grad=True)
    made = (w * 2).view(t.int32), w.view(t.float64), w.view(t.float32)
    assert not any(each.requires_grad or each.grad_fn is not None for each in made)
    loss = (w * w.detach().view(dtype=t.float32)).sum()
    loss.backward()
    assert w.grad.tolist() == [1, 1]


def test_in_a_loop() -> None:
    """Each round reads what the round before has written."""
    made = []
    for t in (torch, pullback):
        w, seen = t.ones(3), []
        for k in range(8):
            w = w * 1.5 + k
            bits = w.view(t.int32)
            bits &= -65536
            seen.append((w.sum() + bits.sum()).item())
        made.append(seen)
    assert made[0] == made[1]
