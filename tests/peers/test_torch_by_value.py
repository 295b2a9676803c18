"""Calls that read parts of memory which are not dense, or were made where no gradients are kept, give what PyTorch
gives: values, gradients, writes to such parts and through them, and errors; and they are recognised."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch as reference

import pullback
from pullback.runtime.tensor.trace import plans
from tests.peers.registered import Program, data, registering

TIMES = 4
PROGRAMS: dict[str, Program] = {}
program = registering(PROGRAMS)


@program
def _read(torch: Any) -> Any:
    a = data(torch, 4, 6)
    column, even, turned = a[:, 1], a[:, ::2], a.t()
    with torch.no_grad():
        inner = a[:, 2:5]
    weight = data(torch, 4, 3)
    return (
        column.add(1), column * column, even @ weight.t(), turned @ a, torch.cat([even, inner], 1),
        torch.stack([column, column]), torch.nn.functional.linear(even, weight), inner.norm(), (inner - even).abs(),
    )  # fmt: skip


@program
def _gradients(torch: Any) -> Any:
    a, w = data(torch, 4, 6), data(torch, 4, 3).requires_grad_()
    with torch.no_grad():
        inner = a[:, 2:5]
        part = w[:, 1:]
        doubled = part.mul(2)
    loss = (torch.nn.functional.linear(a[:, ::2], w) * (inner.sum() / 100)).sin().sum() + (inner * w).sum()
    loss.backward()
    first, second = w[:, :2].unbind(1)
    ((first * second).sin().sum() + (w.t() @ a[:, 1::2]).sum()).backward()
    return w.grad, doubled, doubled.requires_grad, part.requires_grad


@program
def _places(torch: Any) -> Any:
    """Parts of known whole numbers say where to look, as labels along a sequence do."""
    scores, labels = data(torch, 4, 4).requires_grad_(), torch.tensor([[0, 1, 3], [2, 2, 1], [3, 0, 0], [1, 3, 2]])
    total = scores[labels[:, 0], labels[:, 1]] * scores[torch.arange(4), labels[:, 2]]
    for row in range(3):
        total = total + scores[labels[:, row]].sin().sum(1)
    total.sum().backward()
    labels[:, 0] = 1
    found = labels[labels[:, 0], labels[:, 1] % 3]
    return scores.grad, total.detach(), found, scores.detach()[labels[:, 0], labels[:, 1]]


@program
def _second_order(torch: Any) -> Any:
    w, a = data(torch, 3, 3).requires_grad_(), data(torch, 3, 6)
    (once,) = torch.autograd.grad((w @ a[:, ::2]).tanh().sum(), w, create_graph=True)
    (twice,) = torch.autograd.grad((once * a[:, 1::2]).sum(), w)
    return once, twice


@program
def _written(torch: Any) -> Any:
    x, a = data(torch, 4, 6).clone(), data(torch, 4, 6)
    y = x[:, 1]
    x[:, 0] += 1
    y.add_(a[:, 2])
    y += a[:, 3]
    y.mul_(x[:, 5])
    x[:, 2:4].copy_(a[:, 3:5])
    total = torch.zeros(4, 3).scatter_add_(0, torch.tensor([0, 1, 2, 0])[:, None].expand(4, 3), a[:, ::2])
    out = torch.zeros(4, 2)[:, 0]
    torch.add(a[:, 1], a[:, 2], out=out)
    return x, y, total, out, x._version


@program
def _running_statistics(torch: Any) -> Any:
    a = data(torch, 4, 6)
    means, spreads = torch.zeros(3, 2), torch.ones(3, 2)
    scaled = torch.nn.functional.batch_norm(a[:, ::2], means[:, 0], spreads[:, 1], training=True)
    return scaled, means, spreads


@program
def _read_and_then_written(torch: Any) -> Any:
    a = data(torch, 4, 6).clone()
    column, turned = a[:, 1], a.t()
    before = column.exp(), turned.mul(2)
    a[:, 1] = column + 0.5
    a.add_(1)
    return *before, column.exp(), turned.mul(2), column, turned


@program
def _other_forms(torch: Any) -> Any:
    a = data(torch, 4, 6).clone()
    even = a[:, ::2]
    own, rows = even.contiguous(), even.reshape(-1)
    own[0], rows[3] = 7.0, 8.0
    shared = even.unsqueeze(0)
    shared[0, 1] = 9.0
    first, second = torch.atleast_1d(even, a[:, 1])
    first[3, 0], second[3] = 10.0, 11.0
    return a, own, rows, shared, a.t().view(6, 4), even.t().contiguous().view(-1), even.t().stride(), own.stride()


@program
def _errors(torch: Any) -> Any:
    a, told = data(torch, 4, 6).requires_grad_(), []
    with torch.no_grad():
        part = a[:, 1:]
    for wrong in (
        lambda: a.detach().t().view(24), lambda: part.mul_(2), lambda: a.detach()[:, 1] @ a.detach()[:, :2][:3],
        lambda: a.detach()[:, 1:].add_(a.detach()[:, :-1].t()), lambda: part.numpy(),
    ):  # fmt: skip
        try:
            wrong()
            told.append("none")
        except (RuntimeError, ValueError) as error:
            told.append(type(error).__name__)
    saved = data(torch, 4, 6)
    loss = (saved[:, 1] * a[:, 1]).sum()
    saved[:, 1] = 0
    try:
        loss.backward()
    except RuntimeError:
        told.append("written over")
    return told


def check_equal(theirs: Any, ours: Any) -> None:
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, reference.Tensor):
            assert tuple(a.shape) == tuple(b.shape) and a.requires_grad == b.requires_grad
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
        else:
            assert a == b


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_give_the_same_as_pytorch(name: str) -> None:
    theirs = PROGRAMS[name](reference)
    for _ in range(TIMES):
        check_equal(theirs, PROGRAMS[name](pullback))


def _part(torch: Any, x: Any, rng: random.Random) -> Any:
    """A part of a matrix of 4 x 6 with 3 x 3 elements."""
    row, column = rng.randrange(2), rng.randrange(2)
    made = rng.choice([
        lambda: x[row : row + 3, column : column + 3], lambda: x[:3, ::2], lambda: x.t()[::2, row : row + 3],
        lambda: x.narrow(1, column, 3)[row : row + 3], lambda: x[:3].unbind(0)[row][:3].expand(3, 3),
    ])  # fmt: skip
    if rng.random() < 0.4:
        with torch.no_grad():
            return made()
    return made()


def _random(torch: Any, seed: int) -> Any:
    rng = random.Random(seed)
    x, w = data(torch, 4, 6).sin(), data(torch, 3, 3).cos().requires_grad_()
    base = (data(torch, 4, 6) / 3).requires_grad_()
    kept, told, loss = [], [], torch.zeros(())
    for _ in range(8):
        what = rng.randrange(6)
        if what == 0:
            x[:, rng.randrange(6)] = rng.random()
        elif what == 1:
            x[rng.randrange(4)].mul_(rng.random())
        elif what == 2 and kept:
            with torch.no_grad():
                part = rng.choice(kept)
                told.append(part.sum() + (part * w).sum())
        elif what == 3:
            target = torch.zeros(3, 3)
            told.append(target.add_(_part(torch, x, rng)).copy_(_part(torch, x, rng).t()).mul_(_part(torch, x, rng)))
        elif what == 4:
            loss = loss + (_part(torch, x, rng).clone() @ w).sin().sum() + (_part(torch, base, rng) @ w).sum()
        else:
            kept.append(_part(torch, x, rng))
            told.append(torch.cat([kept[-1], kept[0]]).exp() + 1)
            told.append(torch.matmul(kept[-1], kept[0].t()))
    (loss + (w * base[:3, :3]).sum()).backward()
    return *told, *kept, x, w.grad, base.grad


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_of_parts(seed: int) -> None:
    theirs = _random(reference, seed)
    for _ in range(2):
        check_equal(theirs, _random(pullback, seed))


def test_calls_that_read_such_parts_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = data(pullback, 4, 6), data(pullback, 3, 3)

    def step() -> Any:
        with pullback.no_grad():
            return pullback.cat([x[:, ::2] @ w, x[:, 1:4].tanh() + x.t()[:3].t()]).norm()

    before = [step().item() for _ in range(4)][-1]
    missed: list[str] = []
    monkeypatch.setattr(plans, "because", lambda name, why: missed.append(f"{name} {why}"))
    assert step().item() == before and not missed
