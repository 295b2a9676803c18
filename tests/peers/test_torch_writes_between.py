"""Operations of functions that are recorded in parts, and data written to before backward: gradients and errors are
PyTorch's, in a step that comes for the first time and in one that is known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import pullback

LOSSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "column": lambda torch, z, d: (z * d[:, :1]).sum(),
    "repeated": lambda torch, z, d: (z * d[:, 1:3].repeat(1, 2)).sum(),
    "warns": lambda torch, z, d: torch.nn.functional.kl_div(z.log_softmax(1), d[:, :1].expand(6, 4)),
    "meets": lambda torch, z, d: torch.zeros(6, 4).scatter_reduce(0, places(torch), z * d[:, :1], "amax").pow(2).sum(),
    "mask": lambda torch, z, d: (z * d[:, 1:2]).masked_select(places(torch) < 2).pow(2).sum(),
    "twice": lambda torch, z, d: ((z - d[:, ::2].mean(1, keepdim=True)) * d[:, :1]).pow(2).sum(),
    "transposed": lambda torch, z, d: torch.mul(d[:, :1], z).mul(d.t()[0][:, None]).sum(),
}


def places(torch: Any) -> Any:
    return torch.arange(24).view(6, 4) * 7 % 5


def _without_history(torch: Any, z: Any, d: Any, w: Any) -> None:
    with torch.no_grad():
        d.mul_(3)


def _by_numpy(torch: Any, z: Any, d: Any, w: Any) -> None:
    d.numpy()[:] += 1


def _by_place(torch: Any, z: Any, d: Any, w: Any) -> None:
    d[:, 0] = 3.0


def _other_memory(torch: Any, z: Any, d: Any, w: Any) -> None:
    d.data = torch.full((6, 3), 2.0)


WRITES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "none": lambda torch, z, d, w: None, "counted": lambda torch, z, d, w: d.add_(1),
    "through data": lambda torch, z, d, w: d.data.add_(1), "by NumPy": _by_numpy, "by place": _by_place,
    "detached": lambda torch, z, d, w: d.detach().mul_(2), "result": lambda torch, z, d, w: z.add_(1),
    "result's data": lambda torch, z, d, w: z.data.mul_(2), "leaf's data": lambda torch, z, d, w: w.data.mul_(1.5),
    "copied": lambda torch, z, d, w: d.copy_(torch.ones(6, 3)), "other memory": _other_memory,
    "column": lambda torch, z, d, w: d[:, :1].add_(1), "without history": _without_history,
}  # fmt: skip


def training(torch: Any, loss: Any, write: Any, first: int) -> list[Any]:
    values = [k * 37 % 17 / 17 for k in range(18)]
    w = torch.tensor(values[:12]).view(3, 4).clone().requires_grad_()
    d, x = torch.tensor(values).view(6, 3).clone(), torch.tensor(values[::-1]).view(6, 3).clone()
    descent, told = torch.optim.SGD([w], lr=0.01), []
    for k in range(first + 3):
        descent.zero_grad()
        z = x @ w
        value = loss(torch, z, d)
        if k >= first:
            write(torch, z, d, w)
        try:
            value.backward()
        except RuntimeError:
            told.append("error")
        told.append(None if w.grad is None else w.grad.flatten().tolist())
        descent.step()
    return told[-7:]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_backward_sees_what_pytorch_sees(loss: Any, write: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in (2, 40):
            known, made = training(reference, loss, write, first), training(pullback, loss, write, first)
            for theirs, mine in zip(known, made, strict=True):
                assert mine == (pytest.approx(theirs, rel=2e-4, abs=1e-5) if isinstance(theirs, list) else theirs)
