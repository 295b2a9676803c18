"""Writes to memory that several tensors share, in steps that come again: the same values and gradients as torch's.

A call that writes through `p.data` or a detached tensor is known the second time and followed the third; in between
others read the memory, write to it, or fail. What nodes saved of it is read as it is when backward comes to it.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback

Made = list[Any]


def start(m: Any) -> tuple[Any, Any]:
    """A parameter and data."""
    w = m.from_numpy(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)).clone().requires_grad_()
    return w, m.from_numpy(np.cos(np.arange(12, dtype=np.float32)).reshape(3, 4))


def through_data(m: Any, w: Any, x: Any, k: int) -> Made:
    loss = (x @ w).tanh().sum()
    loss.backward()
    w.data.add_(w.grad, alpha=-0.1)
    after = (x @ w).sum()
    w.data.mul_(0.9)
    return [loss, after, w.detach(), w._version]


def augmented(m: Any, w: Any, x: Any, k: int) -> Made:
    (x @ w).sin().sum().backward()
    w.data -= 0.1 * w.grad.data
    w.grad.data.zero_()
    return [w.detach(), w.grad.clone(), w._version]


def through_a_detached_one(m: Any, w: Any, x: Any, k: int) -> Made:
    d = w.detach()
    loss = (x @ w).sum()
    loss.backward()
    d.mul_(0.5)
    again = (w * w).sum()
    d.add_(1.0)
    return [loss, again, d.clone(), w.detach().clone(), w._version]


def seen_by_a_view(m: Any, w: Any, x: Any, k: int) -> Made:
    with m.no_grad():
        row = w[1]
    d = w.data
    d.add_(1.0)
    part = row * 2
    d.mul_(0.5)
    return [part, row.clone(), w.detach().clone()]


def a_view_made_late(m: Any, w: Any, x: Any, k: int) -> Made:
    h = (x @ w).detach()
    v = h.t()
    d = h.data
    d.mul_(3.0)
    return [v.clone(), h.clone(), (v + 1).sum()]


def saved_and_written(m: Any, w: Any, x: Any, k: int) -> Made:
    """A write that backward must know of is an error there, and one through data is none."""
    loss = (w * w).sum()
    (w.data if k % 2 else w.detach()).add_(0.0)
    try:
        loss.backward()
    except RuntimeError:
        return ["error", w._version]
    return [w.grad.clone(), w._version]


def two_that_share(m: Any, w: Any, x: Any, k: int) -> Made:
    a, b = w.data, w.data
    a.add_(b)
    b.mul_(a + 1 if k % 2 else 2.0)
    return [a.clone(), b.clone(), w.detach().clone()]


def overlapping(m: Any, w: Any, x: Any, k: int) -> Made:
    d = w.data
    other = w.data[0] if k % 3 == 2 else x[:, :3].sum(0)
    try:
        d.add_(other)
    except RuntimeError:
        return ["error"]
    return [d.clone()]


def failing_between(m: Any, w: Any, x: Any, k: int) -> Made:
    w.data.add_(1.0)
    with contextlib.suppress(RuntimeError):
        w.data.add_(m.zeros(5))
    w.data.mul_(0.5)
    return [w.detach().clone()]


def another_shape(m: Any, w: Any, x: Any, k: int) -> Made:
    t = m.zeros(2 + k % 3, 3)
    t.data.add_(w.data[0])
    t.detach().mul_(2.0)
    return [t.clone(), t._version]


def set_where(m: Any, w: Any, x: Any, k: int) -> Made:
    h = (x @ w) * 1.0
    h[h < 0] = 0.1 * k
    h[:, 1] = h[:, 0]
    kept = h[h > 0.2]
    loss = kept.sum() + (h * h).sum()
    loss.backward()
    return [loss, kept, h, w.grad.clone()]


def set_rows(m: Any, w: Any, x: Any, k: int) -> Made:
    made = m.zeros(3, 3)
    for n in range(3):
        made[n] = x[n] @ w
    seen = made[1:]
    made[2, 0] = 5.0
    loss = (seen * seen).sum()
    loss.backward()
    return [loss, made, seen, w.grad.clone()]


def set_what_was_saved(m: Any, w: Any, x: Any, k: int) -> Made:
    h = (x @ w).exp()
    loss = h.sum()
    h[0] = 1.0
    try:
        loss.backward()
    except RuntimeError:
        return ["error", h]
    return [w.grad]


def looked_at(m: Any, w: Any, x: Any, k: int) -> Made:
    loss = (x @ w).tanh().sum()
    mean = loss.item()
    (loss / (1 + abs(mean))).backward()
    chosen = (x > 0.5).nonzero()
    return [w.grad.clone(), chosen, loss]


def outlived(m: Any, w: Any, x: Any, k: int) -> Made:
    y = m.tensor([1.0, 2.0, 3.0, 4.0])
    y.tolist()
    whole, part = y.detach(), y[1:3]
    del y
    read = (whole * 2 + k).tolist()
    whole.add_(1.0)
    return [m.tensor(read), whole.clone(), part.clone()]


def unseen(write: Callable[[Any, Any], Any]) -> Callable[..., Made]:
    """Between forward and backward, somebody writes to memory that nodes saved: backward reads what is there then."""

    def program(m: Any, w: Any, x: Any, k: int) -> Made:
        held = w.data
        h = m.tanh(m.nn.functional.linear(x, w.t()) * w[0])
        a, b = w.unbind(1)[:2]
        loss = (h * h).mean() / 9 + 0.1 * (w[1] * w.t()[:, 2]).sum() + 0.1 * (a * b * b).sum()
        write(w, held)
        try:
            loss.backward(retain_graph=True)
            write(w, held)
            (g,) = m.autograd.grad(loss, w, create_graph=True)
            write(w, held)
            (g**2).sum().backward()
        except RuntimeError as error:
            assert "modified" in str(error)
            w.grad = m.zeros_like(w)
            return ["error"]
        return [loss, g, w.grad.clone(), w._version]

    return program


def unseen_in_results(m: Any, w: Any, x: Any, k: int) -> Made:
    h = (x @ w).exp()
    loss = (h * h[0] * h.t()[0, 0]).sum()
    h.data[k % 3].mul_(0.5)
    loss.backward()
    return [w.grad.clone(), h]


def unseen_then_seen(w: Any, held: Any) -> None:
    w.data.mul_(0.9)
    w.detach().mul_(0.9)


PROGRAMS: list[Callable[..., Made]] = [
    outlived, unseen_in_results, unseen(unseen_then_seen),
    unseen(lambda w, held: w.data.mul_(0.9)), unseen(lambda w, held: held.clamp_(-0.5, 0.5)),
    unseen(lambda w, held: held[0].add_(0.1)), unseen(lambda w, held: w[1:].data.t()[0].zero_()),
    through_data, augmented, through_a_detached_one, seen_by_a_view, a_view_made_late, saved_and_written,
    two_that_share, overlapping, failing_between, another_shape, set_where, set_rows, set_what_was_saved, looked_at,
]  # fmt: skip


def shown(value: Any) -> Any:
    return value.detach().numpy().copy() if hasattr(value, "detach") else value


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_steps(program: Callable[..., Made], optimised: bool) -> None:
    both = []
    for m in (torch, pullback):
        w, x = start(m)
        optimizer, made = m.optim.SGD([w], lr=0.01, momentum=0.5), []
        for k in range(9):
            made.append([shown(v) for v in program(m, w, x, k)])
            if optimised and w.grad is not None:
                optimizer.step()
            if k % 2:
                w.grad = None
            made.append([w.detach().numpy().copy()])
        both.append(made)
    for k, (theirs, ours) in enumerate(zip(*both, strict=True)):
        for a, b in zip(theirs, ours, strict=True):
            assert type(a) is type(b), (k, a, b)
            if isinstance(a, np.ndarray):
                np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6, err_msg=f"step {k}")
            else:
                assert a == b, (k, a, b)
