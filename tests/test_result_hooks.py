"""Hooks of results and gradients that they keep: what is seen and trained, recognised or not, is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import calls
from tests.test_new_structures import unrecognised
from tests.test_rare_disturbances import Watch

nn = torch.nn
STEPS = 12


class Loop:
    """A training loop, and what its parts see; `k` is the number of the step."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 1)
        self.descent = torch.optim.SGD([*self.first.parameters(), *self.second.parameters()], lr=0.1)
        self.x, self.y = torch.randn(5, 4), torch.randn(5, 1)
        self.seen: list[Any] = []
        self.k = 0

    def hidden(self) -> Any:
        return torch.tanh(self.first(self.x))

    def loss(self, hidden: Any) -> Any:
        return ((self.second(hidden) - self.y) ** 2).mean()

    def see(self, gradient: Any) -> None:
        self.seen.append(gradient)


def _changed(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _seen(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(w.see)
    w.loss(h).backward()


def _two(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    h.register_hook(lambda g: g + 0.01)
    h.register_hook(w.see)
    w.loss(h).backward()


def _two_results(w: Loop) -> None:
    z = w.first(w.x)
    h = torch.tanh(z)
    h.register_hook(lambda g: g.clamp(-0.1, 0.1))
    z.register_hook(lambda g: g * 2)
    w.loss(h).backward()


def _kept(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    w.loss(h).backward()
    w.see(h.grad)


def _kept_after_hooks(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()
    w.see(h.grad)


def _kept_twice(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    loss = w.loss(h)
    loss.backward(retain_graph=True)
    loss.backward()
    w.see(h.grad)


def _two_losses(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    h.register_hook(w.see)
    (w.loss(h) + (h**2).mean()).backward()
    w.see(h.grad)


def _dropped(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    loss = w.loss(h)
    del h
    loss.backward()


def _sometimes(w: Loop) -> None:
    h = w.hidden()
    if w.k % 3 == 0:
        h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _removed(w: Loop) -> None:
    h = w.hidden()
    handle = h.register_hook(lambda g: g * 0.5)
    if w.k % 2:
        handle.remove()
    w.loss(h).backward()


def _written(w: Loop) -> None:
    h = w.hidden() * 1.0
    h.retain_grad()
    h.register_hook(lambda g: g * 0.5)
    h.mul_(1.5)
    w.loss(h).backward()
    w.see(h.grad)


def _part(w: Loop) -> None:
    h = w.hidden()
    a, b = h.split(3, 1)
    a.register_hook(lambda g: g * 0.5)
    b.retain_grad()
    w.loss(torch.cat([b, a], 1)).backward()
    w.see(b.grad)


def _second(w: Loop) -> None:
    values, _ = w.hidden().max(0)
    values.register_hook(w.see)
    (values**2).sum().backward()


def _of_the_loss(w: Loop) -> None:
    loss = w.loss(w.hidden())
    loss.register_hook(lambda g: g * 3)
    loss.backward()


def _weighted(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    w.second(h).backward(torch.ones(5, 1))


def _by_autograd(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    (g,) = torch.autograd.grad(w.loss(h), w.first.weight, create_graph=True)
    w.see(g.detach())
    (g**2).sum().backward()


def _after_a_look(w: Loop) -> None:
    h = w.hidden()
    w.see(h.sum().item())
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _leaf_too(w: Loop) -> None:
    if w.k == 0:
        w.first.weight.register_hook(w.see)
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _backward_within(w: Loop) -> None:
    h = w.hidden()

    def inner(g: Any) -> None:
        with torch.enable_grad():
            other = w.hidden()
            other.register_hook(w.see)
            (other**2).mean().backward()

    h.register_hook(inner)
    w.loss(h).backward()


def _fails(w: Loop) -> None:
    h = w.hidden()

    def stop(g: Any) -> None:
        raise KeyError("stop")

    if w.k % 4 == 2:
        h.register_hook(stop)
        with pytest.raises(KeyError):
            w.loss(h).backward()
    else:
        h.register_hook(lambda g: g * 0.5)
        w.loss(h).backward()


ALWAYS = [_changed, _seen, _two, _two_results, _kept, _kept_after_hooks, _two_losses, _dropped, _removed, _second]
"""Where each step after the first ones is recognised as a whole."""

OTHERS = [
    _kept_twice, _sometimes, _written, _part, _of_the_loss, _weighted, _by_autograd, _after_a_look, _leaf_too,
    _backward_within, _fails,
]  # fmt: skip


def _trained(program: Callable[[Loop], None], each: Callable[[], Any] = lambda: None) -> list[list[float]]:
    w, found = Loop(), []
    for k in range(STEPS):
        w.k = k
        w.descent.zero_grad()
        program(w)
        w.descent.step()
        each()
        found.append([float(torch.as_tensor(x).sum()) for x in (*w.seen, w.first.weight, w.second.bias)])
        w.seen.clear()
    return found


@pytest.mark.parametrize("program", [*ALWAYS, *OTHERS], ids=lambda p: p.__name__[1:])
def test_steps_are_what_they_are_operation_by_operation(program: Any) -> None:
    made = _trained(program)
    with unrecognised():
        expected = _trained(program)
    assert [len(row) for row in made] == [len(row) for row in expected]
    for row, right in zip(made, expected, strict=True):
        np.testing.assert_allclose(row, right, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("program", ALWAYS, ids=lambda p: p.__name__[1:])
def test_later_steps_are_recognised(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls.forget_calls()
    watch, taken = Watch(monkeypatch), []
    _trained(program, lambda: taken.append(watch.taken()))
    assert taken[0] and not any(taken[8:])
