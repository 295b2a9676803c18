"""Tensors of uint16, uint32 and uint64: NumPy's values to the last bit, in operations, printing, files and views."""

from __future__ import annotations

import io
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch

WIDTHS = ("uint16", "uint32", "uint64")

TWO: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name)
    for name in ["add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lt", "le", "gt", "ge", "eq", "ne"]
}  # fmt: skip

ONE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "negative": (lambda x: -x, lambda x: -x), "invert": (lambda x: ~x, lambda x: ~x), "abs": (abs, abs),
    "shifted": (lambda x: (x << 1, x >> 3), lambda x: (x << 1, x >> 3)), "power": (lambda x: x**2, lambda x: x**2),
    "numbers": (lambda x: (x + 1, x > 5, x * 3), lambda x: (x + 1, x > 5, x * 3)),
    "ends": (lambda x: (x.max(), x.min(), x.argmax()), lambda x: (x.max(), x.min(), x.argmax())),
    "sort": (lambda x: (x.sort()[0], x.argsort()), lambda x: (np.sort(x), np.argsort(x))),
    "sum": (lambda x: (x.sum(), x.cumsum(0)), lambda x: (x.astype(np.int64).sum(), x.astype(np.int64).cumsum())),
    "clamp": (lambda x: x.clamp(4, 100), lambda x: x.clip(4, 100)),
    "casts": (lambda x: (x.double(), x.float(), x.long(), x.byte(), x.bool()),
              lambda x: tuple(x.astype(d) for d in (np.float64, np.float32, np.int64, np.uint8, bool))),
    "moves": (lambda x: (x[1:], x[torch.tensor([2, 0])], torch.cat([x, x]), torch.stack([x, x]), x.flip(0)),
              lambda x: (x[1:], x[[2, 0]], np.tile(x, 2), np.stack([x, x]), x[::-1])),
    "unique": (torch.unique, np.unique), "sign": (torch.sign, np.sign), "like": (torch.zeros_like, np.zeros_like),
    "where": (lambda x: torch.where(x > 5, x, x + 1), lambda x: np.where(x > 5, x, x + 1)),
    "written": (lambda x: x.clone().mul_(3).add_(x), lambda x: x * 3 + x),
    "product": (lambda x: x.reshape(1, 3) @ x, lambda x: x.reshape(1, 3) @ x),
    "with floats": (lambda x: x + torch.tensor([0.5, 0.5, 0.5]), lambda x: x.astype(np.float32) + np.float32(0.5)),
}  # fmt: skip


def numbers(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    top = np.iinfo(dtype).max
    return np.array([top, 3, top // 2 + 5], dtype), np.array([2, 7, top - 1], dtype)


def same(made: Any, want: Any) -> None:
    for a, b in zip(made, want, strict=True) if isinstance(want, tuple) else [(made, want)]:
        array = a.numpy()
        assert array.dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(array, b)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_operators_of_two(dtype: str) -> None:
    x, y = numbers(dtype)
    for function in TWO.values():
        with np.errstate(all="ignore"):
            same(function(torch.tensor(x), torch.tensor(y)), function(x, y))
    y[1] = 0
    for divide in (operator.floordiv, operator.mod):
        with pytest.raises(RuntimeError, match="integer division or modulo by zero"):
            divide(torch.tensor(x), torch.tensor(y))


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", WIDTHS)
def test_functions_of_one(dtype: str, name: str) -> None:
    ours, theirs = ONE[name]
    x, _ = numbers(dtype)
    with np.errstate(all="ignore"):
        same(ours(torch.tensor(x)), theirs(x))


def test_promotion_is_numpys_where_integers_hold_both() -> None:
    pairs = [("uint16", "uint8"), ("uint16", "int8"), ("uint32", "int32"), ("uint64", "uint32"), ("uint32", "bool")]
    for a, b in pairs:
        found = torch.promote_types(getattr(torch, a), getattr(torch, b))
        assert found.numpy == np.promote_types(a, b)
    with pytest.raises(RuntimeError, match="no integers hold those of UInt64 and of Long: convert"):
        _ = torch.ones(2, dtype=torch.uint64) + torch.ones(2, dtype=torch.int64)
    assert (torch.ones(2, dtype=torch.uint64) + torch.ones(2)).dtype is torch.float32


def test_they_print_and_are_kept() -> None:
    x = torch.tensor(numbers("uint64")[0])
    assert repr(x[:1]) == "tensor([18446744073709551615], dtype=torch.uint64)" and x.type() == "torch.UInt64Tensor"
    assert x.tolist()[0] == 2**64 - 1 and x[0].item() == 2**64 - 1 and torch.iinfo(torch.uint16).max == 65535
    buffer = io.BytesIO()
    torch.save({"x": x}, buffer)
    buffer.seek(0)
    for copy in (torch.load(buffer)["x"], pickle.loads(pickle.dumps(x)), torch.from_dlpack(x.numpy())):
        assert copy.dtype is torch.uint64 and copy.tolist() == x.tolist()
    shared = np.arange(3, dtype=np.uint16)
    torch.from_numpy(shared)[0] = 9
    assert shared[0] == 9


def test_gradients_pass_beside_them() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weights = torch.tensor([1, 2, 3], dtype=torch.uint16)
    (x * weights).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="floating point"):
        torch.ones(2, dtype=torch.uint16, requires_grad=True)
