"""Training steps in which something unusual happens on the way: no node of the graph is made, and none is walked."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.reverse import backward
from tests.test_new_structures import unrecognised

nn, F = torch.nn, torch.nn.functional

HALF, MASK = torch.linspace(0.1, 0.9, 24).view(6, 4), torch.arange(24).view(6, 4) % 5 < 2
PLACES = torch.arange(24).view(6, 4) * 7 % 5

DATA, ROWS = torch.linspace(0.0, 1.0, 24).view(6, 4), np.array([0, 2, 2, 5, 1, 3])


def warned(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def slopes(y: Any, x: Any) -> Any:
    return torch.autograd.grad(y, x, create_graph=True)[0] ** 2


LOSSES: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda z: (z.view(4, 3, 2).transpose(0, 1).contiguous() ** 2).sum(),
    "contiguous already": lambda z: (z.view(4, 3, 2)[1].contiguous() ** 2).sum(),
    "channels last": lambda z: (z.view(1, 3, 2, 4).contiguous(memory_format=torch.channels_last) ** 2).sum(),
    "dropout of a view": lambda z: (F.dropout(z.view(2, -1), 0.5) ** 2).sum(),
    "dropout of a transposed view": lambda z: (F.dropout(z.view(4, 3, 2).permute(1, 0, 2), 0.5) ** 2).sum(),
    "sizes of a view": lambda z: (z[1:] ** 2).sum() / z[1:].numel() / z[1:].ndim / len(z[1:]) / z[1:].dim(),
    "strides of a view": lambda z: (z.t() ** 2).sum() * float(z.t().stride(0) + z.t().is_contiguous()),
    "a loss that warns": lambda z: warned(lambda: F.kl_div(z.log_softmax(1), HALF.softmax(1))),
    "elements by a mask": lambda z: (z.masked_select(MASK) ** 2).sum() + z[MASK].exp().sum(),
    "rows by a mask": lambda z: (z[MASK[:, 0].nonzero().squeeze(1)] ** 2).sum(),
    "meeting places": lambda z: (torch.zeros(6, 4).scatter_reduce(0, PLACES, z, "amax", include_self=False) ** 2).sum(),
    "products of meeting places": lambda z: torch.ones(6, 4).scatter_reduce(0, PLACES, z, "prod").sum(),
    "means of meeting places": lambda z: torch.zeros(6, 4).scatter_reduce(0, PLACES, z * z, "mean").sum(),
    "one-hot": lambda z: (torch.zeros(6, 4).scatter_(1, PLACES[:, :1] % 4, 1.0) * z**2).sum(),
    "alignments": lambda z: F.ctc_loss(z.view(6, 1, 4).log_softmax(2), torch.tensor([[1, 2]]), (6,), (2,)),
    "factors": lambda z: torch.linalg.cholesky(z.t() @ z + torch.eye(4)).diagonal().log().sum(),
    "a draw by weights": lambda z: z.softmax(1).gather(1, torch.multinomial(z.detach().softmax(1), 1)).log().sum(),
    "columns of data": lambda z: ((z - DATA[:, 1:2]) * DATA[:, ::2].mean(1, keepdim=True)).pow(2).sum(),
    "expanded data": lambda z: F.binary_cross_entropy(z.sigmoid(), DATA[:, :1].expand(6, 4)),
    "rows by NumPy": lambda z: (z[ROWS] ** 2).sum() + z[ROWS > 2].sum() + z[ROWS, 1].exp().sum(),
    "classes of tensors": lambda z: (z.type(torch.DoubleTensor) * DATA.type(torch.DoubleTensor)[:, :1]).sum(),
    "slopes": lambda z: slopes(z.tanh().masked_select(MASK).exp().sum() + warned(lambda: F.kl_div(z, HALF)), z).mean(),
    "view of a view of an argument": lambda z: (F.dropout(z.view(24)[2:].view(11, 2).t(), 0.25) * 2).sum(),
}


def training(loss: Callable[[Any], Any]) -> Callable[[], Any]:
    torch.manual_seed(3)
    w, x = torch.randn(3, 4, requires_grad=True), torch.randn(6, 3)
    descent = torch.optim.SGD([w], lr=0.01)

    def step() -> Any:
        descent.zero_grad()
        value = loss(x @ w)
        value.backward()
        descent.step()
        return value.item(), w.flatten().tolist()

    return step


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_no_node_is_made(loss: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with unrecognised():
        step = training(loss)
        known = [step() for _ in range(46)]
    step, walks = training(loss), list[Any]()
    made = [step() for _ in range(40)]
    walked = backward.run_backward
    monkeypatch.setattr(backward, "run_backward", lambda *args: walks.append(args) or walked(*args))
    made += [step() for _ in range(6)]
    assert not walks
    for (mine, w), (yours, v) in zip(made, known, strict=True):
        assert mine == pytest.approx(yours, rel=1e-4, abs=1e-6)
        assert w == pytest.approx(v, rel=1e-4, abs=1e-6)


def test_a_sum_of_losses_that_are_used_up_leaves_no_history() -> None:
    a, b, x = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True), torch.randn(6, 3)
    descent = torch.optim.SGD([a, b], lr=0.01)
    for k in range(16):
        if k == 10:
            before = dict(torch.explain())
        descent.zero_grad()
        first, second = ((x @ a) ** 2).mean(), (((x @ a) @ b) ** 2).mean()
        first.backward()
        second.backward()
        both = (first + second) * 0.5
        mixed = both + a.sum()
        descent.step()
        value = float(second)
        assert both.requires_grad and type(both.grad_fn).__name__ == "MulBackward0" and value >= 0
        assert torch.autograd.grad(both, first, retain_graph=True)[0].item() == 0.5
        for spent in (both, mixed, first):
            with pytest.raises(RuntimeError, match="second time"):
                spent.backward()
    assert dict(torch.explain())["cold"] == before["cold"]


VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x.view(4, 6), lambda x: x.view(2, 3, 4), lambda x: x.flatten(), lambda x: x.transpose(0, -1),
    lambda x: x[1:], lambda x: x[..., ::2], lambda x: x[0], lambda x: x.unsqueeze(0), lambda x: x.t_(),
    lambda x: x.unsqueeze(-1).expand(*x.shape, 3), lambda x: x.mul_(2), lambda x: x.chunk(2)[-1],
    lambda x: x.unfold(0, 2, 1), lambda x: x.detach(), lambda x: x.diagonal(), lambda x: x.unsqueeze_(0),
    lambda x: x.clone(),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_where_elements_lie_is_told_of_views_that_are_not_made(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(30):
        chain = [draw.choice(VIEWS) for _ in range(draw.randint(1, 5))]
        asked = draw.random() < 0.5

        def run(chain: Any = chain, asked: bool = asked) -> list[Any]:
            x, told = torch.arange(24.0).reshape(6, 4) * 1.0, []
            views = [x]
            for step in chain:
                try:
                    views.append(step(views[-1]))
                except (RuntimeError, IndexError) as error:
                    told.append(type(error))
                    break
                told += [(v.stride(), v.is_contiguous()) for v in views[asked - 1 :]]
            return [*told, *[v.storage_offset() for v in views], views[-1].tolist()]

        with unrecognised():
            known = run()
        assert all(run() == known for _ in range(4))
