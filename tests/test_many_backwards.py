"""Many backwards before anything is read, pieces of data as arguments, checks after a step that the trace outlasts: the
same as operation by operation, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import calls
from pullback.runtime.tensor.trace import chunks
from tests.test_new_structures import unrecognised

nn, F = torch.nn, torch.nn.functional
Step = Callable[[], Any]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are long sooner, so that few backwards are many."""
    monkeypatch.setattr(chunks, "LONG", 64)


def network() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def gradients(model: Any) -> list[Any]:
    return [p.grad.tolist() for p in model.parameters()]


def in_a_row() -> Step:
    model, x = network(), torch.randn(5, 3)

    def step() -> Any:
        model.zero_grad()
        for _ in range(12):
            (model(x) ** 2).mean().backward()
        return gradients(model)

    return step


def parts_of_a_batch() -> Step:
    model, x = network(), torch.randn(12, 2, 3)
    descent = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        descent.zero_grad()
        total: Any = 0.0
        for part in x:
            loss = (model(part) ** 2).mean() / 12
            loss.backward()
            total = total + loss.detach()
        descent.step()
        return total.item(), gradients(model)

    return step


def samples_stacked() -> Step:
    model, x = network(), torch.randn(12, 3)
    params = list(model.parameters())

    def step() -> Any:
        found = [torch.autograd.grad((model(row) ** 2).sum(), params) for row in x.unbind()]
        return [torch.stack(each).tolist() for each in zip(*found, strict=True)]

    return step


def rows_of_a_jacobian() -> Step:
    model, x = network(), torch.randn(3)

    def step() -> Any:
        at, rows = x.clone().requires_grad_(), []
        y = torch.tanh(model[0](at))
        for k in range(10):
            at.grad = None
            y[k % 4].backward(retain_graph=True)
            rows.append(at.grad)
        return torch.stack(rows).tolist(), model[0].weight.grad.tolist()

    return step


def a_graph_kept_meanwhile() -> Step:
    """A graph from the beginning is used after the trace was long enough to be run."""
    model, x = network(), torch.randn(5, 3)

    def step() -> Any:
        model.zero_grad()
        early = model(x)
        for k in range(12):
            (model(x) * (1.0 + k)).mean().backward()
        (early**2).mean().backward()
        return gradients(model)

    return step


def hooks_between() -> Step:
    model, x, seen = network(), torch.randn(5, 3), list[float]()
    model[0].weight.register_hook(lambda g: seen.append(g.sum().item()) or g * 0.5)

    def step() -> Any:
        model.zero_grad()
        seen.clear()
        for part in x.split(2):
            for _ in range(2):
                (model(part) ** 2).mean().backward()
        return list(seen), gradients(model)

    return step


def pieces_written_to() -> Step:
    """Pieces follow what is written to the whole, to themselves and to each other."""
    model = network()

    def step() -> Any:
        x, found = torch.arange(12.0).reshape(4, 3) / 10, []
        low, high = x.chunk(2)
        model.zero_grad()
        for k in range(3):
            for part in (low, high.t().t()):
                loss = model(part).sum() * (1.0 + k)
                loss.backward()
                found.append(loss.item() if k == 1 else loss.detach())
            (x.mul_, high.add_, low.t()[0].mul_)[k](1.5)
        return x.tolist(), low.tolist(), [float(v) for v in found], gradients(model)

    return step


def pieces_with_a_history() -> Step:
    w: Any = torch.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)

    def step() -> Any:
        w.grad = None
        a, b = (w * 2).unbind()
        c, d = w.unbind()
        with torch.no_grad():
            e, _ = w.unbind()
        ((a * b).sum() + (c * d * 3).sum() + (e * a).sum()).backward()
        assert w.grad is not None
        return w.grad.tolist(), e.requires_grad

    return step


def adversaries() -> Step:
    """The generator's loss looks at probabilities when the critic's step is over and the trace is not."""
    torch.manual_seed(1)
    made, critic = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
    steps = [torch.optim.Adam(m.parameters(), lr=0.01) for m in (critic, made)]
    one, zero, criterion = torch.ones(6, 1), torch.zeros(6, 1), nn.BCELoss()

    def step() -> Any:
        steps[0].zero_grad()
        fake = made(torch.randn(6, 2))
        first = criterion(critic(torch.randn(6, 3)), one) + criterion(critic(fake.detach()), zero)
        first.backward()
        steps[0].step()
        steps[1].zero_grad()
        second = criterion(critic(fake), one)
        second.backward()
        steps[1].step()
        return first.item(), second.item(), made.weight.tolist(), critic[0].weight.tolist()

    return step


def batches_of_a_memory() -> Step:
    """Many tensors that are known, some of them twice, joined; then those are written to."""
    model, rng = network(), np.random.default_rng(1)
    given = np.ones(3, np.float32)
    kept = [torch.randn(3) for _ in range(20)] + [torch.from_numpy(given)]
    descent = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        chosen = [kept[k] for k in rng.integers(0, len(kept), 24)] + [kept[-1]]
        kept[0].add_(1.0)  # pending, where it is joined
        given[:] += 0.5
        x, column = torch.stack(chosen), torch.cat([t.unsqueeze(1) for t in chosen], 1)
        kept[1].mul_(2.0)
        given[:] += 0.25
        mixed = torch.cat([*chosen, torch.arange(3)])
        descent.zero_grad()
        loss = (model(x) ** 2).mean() + torch.stack([p.sum() for p in model.parameters()] * 5).mean()
        loss.backward()
        descent.step()
        turned = torch.stack([t * 1j for t in chosen]).imag
        return loss.item(), x.tolist(), column.tolist(), mixed.tolist(), turned.tolist()

    return step


PROGRAMS = [
    in_a_row, parts_of_a_batch, samples_stacked, rows_of_a_jacobian, a_graph_kept_meanwhile, hooks_between,
    pieces_written_to, pieces_with_a_history, adversaries,
    batches_of_a_memory,
]  # fmt: skip


@pytest.mark.parametrize("make", PROGRAMS)
def test_steps_are_what_they_are_op_by_op(make: Callable[[], Step]) -> None:
    torch.manual_seed(3)
    with unrecognised():
        step = make()
        wanted = [step() for _ in range(5)]
    torch.manual_seed(3)
    step = make()
    for want in wanted:
        for mine, yours in zip(flat(step()), flat(want), strict=True):
            assert mine == pytest.approx(yours, rel=2e-5, abs=1e-6)


def flat(found: Any) -> list[float]:
    return [x for part in found for x in flat(part)] if isinstance(found, (list, tuple)) else [float(found)]


def test_a_long_trace_of_backwards_is_a_few_kernels() -> None:
    step = in_a_row()
    for _ in range(10):
        step()
    before = dict(torch.explain())
    step()
    after = dict(torch.explain())
    assert after["cold"] == before["cold"] and 2 <= after["replayed"] - before["replayed"] <= 10


def test_a_graph_is_used_up_where_its_trace_was_run() -> None:
    model, x = network(), torch.randn(5, 3)
    for _ in range(4):
        losses = [(model(x) ** 2).mean() for _ in range(10)]
        for loss in losses:
            loss.backward()
        for loss in losses:
            with pytest.raises(RuntimeError, match="second time"):
                loss.backward()


def test_probabilities_out_of_range_are_an_error_at_each_step() -> None:
    criterion, y = nn.BCELoss(), torch.tensor([1.0, 0.0])
    w: Any = torch.tensor([0.5, 0.5], requires_grad=True)
    for k in range(12):
        bad = k in (5, 9, 11)
        w.grad = None
        if bad:
            with pytest.raises(RuntimeError, match="between 0 and 1"):
                criterion(w * (3.0 if k != 9 else float("nan")), y)
        else:
            criterion(w * 1.0, y).backward()
            assert w.grad is not None
            np.testing.assert_allclose(w.grad.numpy(), [-1.0, 1.0], rtol=1e-5)


def test_leaves_and_what_has_a_history_are_never_joined_at_once() -> None:
    parts: Any = [torch.full((2,), float(k), requires_grad=k % 5 == 0) for k in range(20)]
    for _ in range(3):
        made = torch.cat(parts)
        assert made.requires_grad and not made.is_leaf
        (torch.stack([p * 2 for p in parts]).sum() + made.sum()).backward()
    assert parts[0].grad.tolist() == [9.0, 9.0] and parts[1].grad is None
    with torch.no_grad():
        still = torch.cat(parts)
    parts[1].add_(1.0)
    assert not still.requires_grad and still[:4].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_rows_that_were_new_are_all_known_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a graph that has nodes are learned in the words in which the next pass describes them."""
    monkeypatch.setattr(chunks, "LONG", 1024)
    x, learned = torch.randn(40), list[str]()

    class Counted(calls.FirstRun):
        def __init__(self, tape: Any, reading: Any) -> None:
            learned.append(reading.recorded.function.__name__)
            super().__init__(tape, reading)

    monkeypatch.setattr(calls, "FirstRun", Counted)
    for _ in range(4):
        at, rows = x.clone().requires_grad_(), []
        learned.clear()
        y = at * at
        for k in range(40):
            at.grad = None
            y[k].backward(retain_graph=True)
            rows.append(at.grad)
        found = torch.stack(rows).numpy()
    np.testing.assert_allclose(found, np.diag(2 * x.numpy()), rtol=1e-6)
    assert "backward" not in learned and "getitem" not in learned
