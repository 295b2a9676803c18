"""Steps of optimisers that write to `p.data`: no alias is made, and they give what they give when nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.value import aliases, core
from tests.test_new_structures import unrecognised

nn, F = torch.nn, torch.nn.functional

Update = Callable[[Any, dict[str, Any], int], None]


def lion(p: Any, state: dict[str, Any], k: int) -> None:
    known = state.setdefault("m", torch.zeros_like(p))
    p.data.mul_(1.0 - 0.01 * 0.1)
    update = known.clone().mul_(0.9).add(p.grad, alpha=0.1).sign_()
    p.add_(update, alpha=-0.01)
    known.mul_(0.99).add_(p.grad, alpha=0.01)


def adam(p: Any, state: dict[str, Any], k: int) -> None:
    grad = p.grad.data
    m, v = (state.setdefault(name, torch.zeros_like(p.data)) for name in "mv")
    m.mul_(0.9).add_(grad, alpha=0.1)
    v.mul_(0.99).addcmul_(grad, grad, value=0.01)
    p.data.mul_(1.0 - 0.001)
    p.data.addcdiv_(m, v.sqrt().add_(1e-8), value=-0.01)


def weighed(p: Any, state: dict[str, Any], k: int) -> None:
    grad = p.grad.data
    grad.add_(p.data, alpha=0.1)
    state.setdefault("m", torch.zeros_like(p.data)).mul_(0.9).add_(grad.data)
    p.data.add_(state["m"], alpha=-0.01)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes of tensors that were made aliases in earnest."""
    found: list[Any] = []

    def adopt(t: Any) -> None:
        found.append(t._kind_of().shape)  # and not the alias, which would live
        plain(t)

    plain = aliases.adopt
    for module in (aliases, core):
        monkeypatch.setattr(module, "adopt", adopt)
    return found


def trained(update: Update, steps: int, made: list[Any]) -> tuple[list[float], list[Any]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 1))
    x, states, losses = torch.randn(16, 4), [dict[str, Any]() for _ in range(6)], list[float]()
    for k in range(steps):
        model.zero_grad()
        loss = F.smooth_l1_loss(model(x), x.sin().sum(1, keepdim=True))
        loss.backward()
        with torch.no_grad():
            for p, state in zip(model.parameters(), states, strict=True):
                update(p, state, k)
        losses.append(loss.item())
        if k == steps - 5:
            made.clear()
    return losses, [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize("update", [lion, adam, weighed])
def test_data_is_written_to(update: Update, made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_BACKGROUND", "0")
    losses, values = trained(update, 60, made)
    assert not made or update is weighed  # which writes to memory that another name has, too
    with unrecognised():
        known, others = trained(update, 60, made)
    assert losses == pytest.approx(known, rel=1e-4)
    for a, b in zip(values, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_what_is_saved_is_told_of_no_write_to_data() -> None:
    """Backward reads what `data` was given, and what a gradient's `data` gives is that of then."""
    w, kept = torch.ones(3, requires_grad=True), torch.zeros(3)
    for _ in range(6):
        loss = (w * w).sum()
        data = w.data
        with torch.no_grad():
            kept.add_(data)
        data.mul_(2.0)
        kept.sub_(data.detach(), alpha=0.5)
        loss.backward()
        grad: Any = w.grad
        assert grad.tolist() == (2 * w).tolist()
        w.grad = None
        assert kept.tolist() == [0, 0, 0]
        data.mul_(0.5)
        assert w.tolist() == [1, 1, 1]
    with torch.enable_grad():
        made = torch.zeros(3).add_(w.data)
    assert not made.requires_grad
    made.add_(w)
    assert made.requires_grad
