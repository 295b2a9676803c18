"""Many backwards through one graph that is kept, and graphs that outlast the trace that made them: every value, version
and error is as operation by operation."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import repeat
from tests.test_many_backwards import flat
from tests.test_new_structures import unrecognised

nn = torch.nn
Step = Callable[[], Any]


def layer(rows: int = 4) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, rows), nn.Tanh())


def leaf() -> Any:
    made: Any = torch.randn(3)
    return made.requires_grad_()


def rows_by_backward() -> Step:
    """The weights' gradients are added to in place at each row."""
    model, x = layer(), torch.randn(3)

    def step() -> Any:
        at, rows = x.clone().requires_grad_(), []
        y = model(at)
        for k in range(4):
            at.grad = None
            y[k].backward(retain_graph=True)
            rows.append(at.grad)
        return torch.stack(rows).tolist(), model[0].weight.grad.tolist(), model[0].weight.grad._version

    return step


def rows_by_grad() -> Step:
    model, x = layer(), leaf()

    def step() -> Any:
        y = model(x)
        rows = [torch.autograd.grad(y[k], x, retain_graph=True)[0] for k in range(4)]
        held = torch.stack(rows).tolist()
        y.sum().backward()  # the graph is there yet
        found, x.grad = x.grad, None
        return held, found.tolist()

    return step


def rows_that_are_kept() -> Step:
    """Some rows are held when the values are read, and are gone back through then."""
    model, x = layer(), leaf()

    def step() -> Any:
        x.grad = torch.zeros(3)
        y = model(x)
        kept = [y[k] * (1.0 + k) for k in range(4)]
        for row in kept:
            row.backward(retain_graph=True)
        last = [y[1], kept[2]]
        first = x.grad.tolist()
        del kept
        for row in last:
            row.backward(retain_graph=True)
        return first, x.grad.tolist(), last[0].item()

    return step


def written_between() -> Step:
    """Gradients are scaled, seen in part, and added to further."""
    model, x = layer(), torch.randn(3)

    def step() -> Any:
        model.zero_grad()
        y, weight = model(x), model[0].weight
        y[0].backward(retain_graph=True)
        part = weight.grad[0]
        y[0].backward(retain_graph=True)
        weight.grad.mul_(0.5)
        y[1].backward(retain_graph=True)
        part.add_(1.0)
        y[0].backward(retain_graph=True)
        versions = weight.grad._version, part._version
        return y.tolist(), part.tolist(), weight.grad.tolist(), versions

    return step


def a_step_amid_rows() -> Step:
    """The weights change while a graph that has saved something else is kept."""
    model, x = layer(), torch.randn(3)
    descent = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        y = model(x)
        for k in range(4):
            descent.zero_grad()
            y[k].backward(retain_graph=True)
            descent.step()
        return y.tolist(), model[0].weight.tolist(), model[0].weight._version - model[0].bias._version

    return step


def derivatives_of_rows() -> Step:
    x = torch.tensor([0.3, -0.2, 0.5], requires_grad=True)

    def step() -> Any:
        y, rows = (x**3 * x.flip(0)).cumsum(0), []
        for k in range(3):
            (g,) = torch.autograd.grad(y[k], x, create_graph=True)
            rows.append(torch.autograd.grad(g.sum(), x, retain_graph=True)[0])
        return y.tolist(), [row.tolist() for row in rows]

    return step


PROGRAMS = [
    rows_by_backward, rows_by_grad, rows_that_are_kept, written_between, a_step_amid_rows, derivatives_of_rows,
]  # fmt: skip


@pytest.mark.parametrize("make", PROGRAMS)
def test_steps_are_what_they_are_op_by_op(make: Callable[[], Step]) -> None:
    torch.manual_seed(3)
    with unrecognised():
        step = make()
        wanted = [step() for _ in range(6)]
    torch.manual_seed(3)
    step = make()
    for want in wanted:
        for mine, yours in zip(flat(step()), flat(want), strict=True):
            assert mine == pytest.approx(yours, rel=2e-5, abs=1e-6)


def test_rows_of_a_kept_graph_are_not_gone_back_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    again = list[str]()
    run = repeat.run_again
    monkeypatch.setattr(repeat, "run_again", lambda tape, call, *rest: (
        again.append(call.template.function.__name__), run(tape, call, *rest))[1])
    step = rows_by_backward()
    for _ in range(5):
        again.clear()
        step()
    assert not {"backward", "getitem"} & set(again)


def test_what_was_saved_before_a_write_tells_of_it() -> None:
    w: Any = torch.tensor([0.5, 2.0], requires_grad=True)
    for _ in range(6):
        w.grad = None
        x = torch.tensor([1.0, 3.0])
        y = w * x
        y.sum().backward(retain_graph=True)
        x.mul_(2.0)
        x.add_(1.0)
        assert y.tolist() == [0.5, 6.0]
        with pytest.raises(RuntimeError, match=r"inplace operation.*expected version 0"):
            y.sum().backward()


def test_a_gradient_that_a_product_has_saved_tells_of_further_rows() -> None:
    w: Any = torch.tensor([0.5, 2.0], requires_grad=True)
    u: Any = torch.tensor([1.0, 1.0], requires_grad=True)
    for _ in range(6):
        w.grad = None
        y = w * w
        y[0].backward(retain_graph=True)
        gradient: Any = w.grad
        z = u * gradient
        y[1].backward(retain_graph=True)
        y[1].backward(retain_graph=True)
        assert y.tolist() == [0.25, 4.0] and gradient.tolist() == [1.0, 8.0]
        with pytest.raises(RuntimeError, match=r"inplace operation.*expected version 0"):
            z.sum().backward()


def test_what_nobody_holds_keeps_nothing_alive() -> None:
    x = leaf()
    kept: Any = None
    for _ in range(6):
        y = torch.tanh(x)
        for k in range(3):
            (y[k] * 2).backward(retain_graph=True)
        kept = y
        y.tolist()
    gc.collect()
    assert kept.grad_fn is not None and kept.grad_fn.next_functions[0][0].variable is x
    x.grad = torch.zeros(3)
    kept.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - np.tanh(x.detach().numpy()) ** 2, rtol=1e-5)
