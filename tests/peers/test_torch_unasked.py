"""Histories that nobody asks for until late, and `p.data = ...`: training loops give what PyTorch gives in every step.

A trace whose history is left over keeps what it read; its nodes are made when somebody asks after all. What `data` is
set to is written where the tensor lies, if nobody could tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import pullback
from pullback.runtime.tensor.trace import kept

STEPS, ASKED = 26, (14, 20, 23)


def _extra(torch: Any, name: str, z: Any, p: Any, q: Any) -> Any:
    """A value beside the loss, whose history leads to other leaves, or into what backward has used up."""
    if name == "distances":
        return (z**2).sum(1, keepdim=True) + (p**2).sum(1) - 2 * z @ p.t()
    if name == "product":
        return torch.ones(8, 4) @ q.view(4, 1)
    if name == "detached":
        return (z.detach() * q).softmax(-1)
    if name == "quotient":
        return (p.exp() / p.exp().sum(0)).log()
    if name == "slopes":  # whose history begins in a backward
        return torch.autograd.grad((q.exp() * 2).sin().sum(), q, create_graph=True)[0] * q
    if name == "penalty":  # a part of it is used up, a part is not
        return torch.autograd.grad((z @ p.t()).tanh().sum(), p, create_graph=True)[0].norm(2, 1) * q.sum()
    return torch.stack([q.sin(), q.cos()])


def _ask(torch: Any, name: str, d: Any, leaves: Any) -> Any:
    """Ask for the history of `d`; what comes of it, and errors by what they say."""
    try:
        if name == "backward":
            d.sum().backward()
        elif name == "twice":
            d.sum().backward(retain_graph=True)
            d.mean().backward()
        elif name == "hook":
            d.register_hook(lambda g: g * 2)
            d.sum().backward()
        elif name == "second order":
            found = torch.autograd.grad((d**2).sum(), leaves, create_graph=True, allow_unused=True)
            sum((g**2).sum() for g in found if g is not None).backward()
        elif name == "name":
            return d.grad_fn.name().rstrip("0123456789")
        else:
            return d.sum().item()
    except RuntimeError as error:
        said = str(error)
        return "modified" if "modified by an inplace" in said else "freed" if "second time" in said else said
    return None


def _trained(torch: Any, extra: str, ask: str, when: str) -> list[Any]:
    torch.manual_seed(0)
    first, last = torch.nn.Linear(4, 6), torch.nn.Linear(6, 4)
    p, q = torch.nn.Parameter(torch.randn(5, 4)), torch.nn.Parameter(torch.ones(4))
    leaves = [*first.parameters(), *last.parameters(), p, q]
    optimizer = torch.optim.SGD(leaves, 0.05, momentum=0.5)
    x, y = torch.randn(8, 4), torch.randn(8, 4)
    seen: list[Any] = []
    d: Any = None
    for step in range(STEPS):
        if when == "in the next step" and step in ASKED:
            seen.append(_ask(torch, ask, d, leaves))
        optimizer.zero_grad()
        z = last(torch.tanh(first(x)))
        d = _extra(torch, extra, z, p, q)
        loss = ((z - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        seen.append(float(d.detach().max()))
        if when == "after the step" and step in ASKED:
            seen.append(_ask(torch, ask, d, leaves))
        seen.append(loss.item())
    grads = [np.zeros(0) if t.grad is None else t.grad.numpy().copy() for t in leaves]
    return [*seen, *[t.detach().numpy().copy() for t in leaves], *grads]


def _agree(mine: list[Any], theirs: list[Any]) -> None:
    assert len(mine) == len(theirs)
    for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if isinstance(b, (float, np.ndarray)):
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5, err_msg=f"value {n}")
        else:
            assert a == b, f"value {n}"


EXTRAS = ("distances", "product", "detached", "quotient", "stack", "slopes", "penalty")
ASKS = ("backward", "twice", "hook", "second order", "name", "item")


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("ask", ASKS)
def test_a_history_that_is_asked_for_late_is_pytorchs(ask: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "TRIED", 10**6)  # keep on, however often it was asked for
    for when in ("after the step", "in the next step"):
        before = kept.counts.kept
        kept._asked.clear()
        _agree(_trained(pullback, extra, ask, when), _trained(reference, extra, ask, when))
        assert kept.counts.kept > before


def test_who_is_interrupted_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q, x = pullback.nn.Parameter(pullback.ones(3)), pullback.nn.Parameter(pullback.full((3,), 2.0)), pullback.ones(3)
    optimizer = pullback.optim.SGD([p], 0.5)
    kept._asked.clear()
    before = kept.counts.kept
    for _ in range(6):
        optimizer.zero_grad()
        d = (q * x).sin() * q
        ((p * x) ** 2).mean().backward()
        optimizer.step()
        p.tolist()
    assert kept.counts.kept > before

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kept, "run_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            d.sum().backward()
    d.sum().backward()
    assert q.grad is not None
    np.testing.assert_allclose(q.grad.numpy(), np.sin(2.0) + 2 * np.cos(2.0) * np.ones(3), rtol=1e-5)


# ---- p.data = ...


def _clamped(torch: Any, d: Any) -> None:
    d.data = (d + 0.02 * d.grad.detach().sign()).clamp(-0.1, 0.1)


def _from_data(torch: Any, d: Any) -> None:
    d.data = (d.data + 0.02 * d.grad.data.sign()).clamp(-0.1, 0.1)


def _kept_by_a_name(torch: Any, d: Any) -> None:
    moved = d - 0.02 * d.grad
    d.data = moved
    moved.detach().mul_(1.01)  # which shares the memory with d


def _seen_by_a_view(torch: Any, d: Any) -> None:
    before = d.detach()
    d.data = d * 0.9
    assert float((before - d.detach()).abs().sum()) > 0 or not float(before.abs().sum())


def _of_another_dtype(torch: Any, d: Any) -> None:
    d.data = (d.double() * 0.5 + 0.01).float()


SETS: tuple[Callable[..., None], ...] = (_clamped, _from_data, _kept_by_a_name, _seen_by_a_view, _of_another_dtype)
CLEARS: tuple[Callable[[Any], Any], ...] = (
    lambda d: d.grad.zero_(),
    lambda d: setattr(d, "grad", None),
    lambda d: d.grad.data.zero_(),
    lambda d: d.grad.detach().zero_(),
)


def _attacked(torch: Any, update: Callable[..., None], clear: Callable[[Any], Any]) -> list[Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    seen = []
    for _ in range(12):
        d = torch.zeros_like(x, requires_grad=True)
        for _ in range(3):
            torch.nn.functional.cross_entropy(model(x + d), y).backward()
            update(torch, d)
            clear(d)
        seen.append(d.detach().numpy().copy())
        loss = torch.nn.functional.cross_entropy(model(x + d.detach()), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


@pytest.mark.parametrize("clear", range(len(CLEARS)))
@pytest.mark.parametrize("update", range(len(SETS)))
def test_data_that_is_set_is_pytorchs(update: int, clear: int) -> None:
    _agree(_attacked(pullback, SETS[update], CLEARS[clear]), _attacked(reference, SETS[update], CLEARS[clear]))


def test_what_saved_a_tensor_reads_the_data_that_was_set() -> None:
    def run(torch: Any) -> list[Any]:
        p, seen = torch.nn.Parameter(torch.ones(3)), []
        for k in range(8):
            loss = (p * p).sum()
            p.data = p * (k + 2.0)  # loss is still to be differentiated, and saved p
            loss.backward()
            seen += [p.grad.numpy().copy(), p.detach().numpy().copy()]
            p.grad = None
            p.data = p.data / (k + 2.0)
        return seen

    _agree(run(pullback), run(reference))
