"""Training steps in which something unusual happens on the way: no node of the graph is made, and none is walked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import pullback as torch
from pullback.runtime.tensor.reverse import backward
from tests.test_new_structures import unrecognised

nn, F = torch.nn, torch.nn.functional

LOSSES: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda z: (z.view(4, 3, 2).transpose(0, 1).contiguous() ** 2).sum(),
    "contiguous already": lambda z: (z.view(4, 3, 2)[1].contiguous() ** 2).sum(),
    "channels last": lambda z: (z.view(1, 3, 2, 4).contiguous(memory_format=torch.channels_last) ** 2).sum(),
    "dropout of a view": lambda z: (F.dropout(z.view(2, -1), 0.5) ** 2).sum(),
    "dropout of a transposed view": lambda z: (F.dropout(z.view(4, 3, 2).permute(1, 0, 2), 0.5) ** 2).sum(),
    "sizes of a view": lambda z: (z[1:] ** 2).sum() / z[1:].numel() / z[1:].ndim / len(z[1:]) / z[1:].dim(),
    "strides of a view": lambda z: (z.t() ** 2).sum() * float(z.t().stride(0) + z.t().is_contiguous()),
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
        known = [step() for _ in range(18)]
    step, walks = training(loss), list[Any]()
    made = [step() for _ in range(12)]
    walked = backward.run_backward
    monkeypatch.setattr(backward, "run_backward", lambda *args: walks.append(args) or walked(*args))
    made += [step() for _ in range(6)]
    assert not walks
    for (mine, w), (yours, v) in zip(made, known, strict=True):
        assert mine == pytest.approx(yours, rel=1e-4, abs=1e-6)
        assert w == pytest.approx(v, rel=1e-4, abs=1e-6)


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
