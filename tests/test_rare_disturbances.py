"""Training loops with something unusual in a few steps: the others run as if there were none, now and later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import calls, patterns
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace.misses import FEW, HOPELESS, OFTEN, SELDOM, Misses
from pullback.runtime.tensor.trace.plans import explain
from tests.test_new_structures import unrecognised

nn, F = torch.nn, torch.nn.functional


class Watch:
    """What calls of recorded functions did that were not recognised: they ran to be learned, or as single events; and
    which native code did not know."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tried: list[str] = []
        self.plain: list[str] = []
        self.reached: list[str] = []
        tries, recorded, plainly = calls.Recorded._run, calls.Recorded._recorded, calls.Recorded._plainly

        def run(f: Any, *args: Any) -> Any:
            self.tried.append(f.function.__name__)
            return tries(f, *args)

        def record(f: Any, *args: Any) -> Any:
            self.reached.append(f.function.__name__)
            made = recorded(f, *args)
            if made is calls.NOT_RECORDED:
                self.plain.append(f.function.__name__)
            return made

        def run_plainly(f: Any, *args: Any) -> Any:
            self.plain.append(f.function.__name__)
            return plainly(f, *args)

        for name, by in (("_run", run), ("_recorded", record), ("_plainly", run_plainly)):
            monkeypatch.setattr(calls.Recorded, name, by)

    def taken(self) -> list[str]:
        """What has run since the last time."""
        found = self.tried + self.plain
        self.tried.clear()
        self.plain.clear()
        self.reached.clear()
        return found


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    forget_calls()
    yield Watch(monkeypatch)


class Loop:
    """A training loop.  In it are a network, the gradients of which an optimiser resets, or only makes smaller."""

    def __init__(self, disturb: Callable[[Loop, Any], None], keeps: bool = False) -> None:
        torch.manual_seed(1)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        self.weights = list(self.body.parameters())
        self.descent = torch.optim.SGD(self.weights, lr=0.05, momentum=0.5)
        self.x, self.y = torch.randn(6, 4), torch.randn(6, 3)
        self.disturb, self.keeps = disturb, keeps
        self.seen: list[float] = []

    def step(self, disturbed: bool) -> None:
        if not self.keeps:
            self.descent.zero_grad()
        loss = ((self.body(self.x) - self.y) ** 2).mean()
        if disturbed:
            self.disturb(self, loss)
        else:
            loss.backward()
        self.descent.step()
        if self.keeps:
            for w in self.weights:
                w.grad = w.grad if w.grad is None else w.grad.mul_(0.5)

    def values(self) -> list[np.ndarray]:
        return [w.detach().numpy().copy() for w in self.weights]


def hook(loop: Loop, loss: Any) -> None:
    handle = loop.weights[0].register_hook(lambda g: g * 2)
    loss.backward()
    handle.remove()


def two_hooks(loop: Loop, loss: Any) -> None:
    handles = [w.register_post_accumulate_grad_hook(lambda w: loop.seen.append(w.numel())) for w in loop.weights[:2]]
    loss.backward()
    for handle in handles:
        handle.remove()


def hook_of_the_loss(loop: Loop, loss: Any) -> None:
    handle = loss.register_hook(lambda g: g * 0.5)
    loss.backward()
    handle.remove()


def grad_fn(loop: Loop, loss: Any) -> None:
    assert loss.grad_fn.name() == "MeanBackward0"
    loss.backward()


def retained(loop: Loop, loss: Any) -> None:
    loss.retain_grad()
    loss.backward()
    loop.seen.append(loss.grad.item())


def reset_to_none(loop: Loop, loss: Any) -> None:
    loop.weights[1].grad = None
    loss.backward()


def reset_to_zeros(loop: Loop, loss: Any) -> None:
    loop.descent.zero_grad(set_to_none=False)
    loop.weights[2].grad = torch.zeros_like(loop.weights[2])
    loss.backward()


def reset_to_views(loop: Loop, loss: Any) -> None:
    every = torch.zeros(sum(w.numel() for w in loop.weights))
    for w, part in zip(loop.weights, every.split([w.numel() for w in loop.weights]), strict=True):
        w.grad = part.view_as(w)
    loss.backward()
    loop.descent.step()
    loop.descent.zero_grad()


def looked_at_as_arrays(loop: Loop, loss: Any) -> None:
    loss.backward()
    loop.seen.append(float(np.square(loop.weights[0].grad.numpy()).sum()))


def twice(loop: Loop, loss: Any) -> None:
    loss.backward(retain_graph=True)
    loss.backward()


DISTURBANCES = (
    hook, two_hooks, hook_of_the_loss, grad_fn, retained, reset_to_none, reset_to_zeros, reset_to_views,
    looked_at_as_arrays, twice,
)  # fmt: skip

WHEN: dict[str, tuple[int, Callable[[int], bool]]] = {
    "every tenth": (HOPELESS * 10 + 80, lambda k: k % 10 == 0),
    "first hundred": (100 + SELDOM, lambda k: k < 100),
    "in the first": (20, lambda k: k == 0),
}
"""After how many steps those that are as usual are to be recognised, and which are not as usual."""


@pytest.mark.parametrize("keeps", [False, True], ids=["reset", "kept"])
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("disturb", DISTURBANCES, ids=lambda f: f.__name__)
def test_usual_steps_are_recognised(disturb: Any, when: str, keeps: bool, watch: Watch) -> None:
    settled, disturbed = WHEN[when]
    loop = Loop(disturb, keeps)
    for k in range(settled):
        loop.step(disturbed(k))
    for k in range(settled, settled + 40):
        before, _ = explain(), watch.taken()
        loop.step(disturbed(k))
        ran, now = watch.taken(), explain()
        if not disturbed(k):
            assert ran == [], k
            assert now["cold"] == before["cold"], k
    if when == "every tenth":
        other = Loop(disturb, keeps)
        with unrecognised():
            for k in range(settled + 40):
                other.step(disturbed(k))
        for a, b in zip(loop.values(), other.values(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(loop.seen, other.seen, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("disturb", [hook, two_hooks, hook_of_the_loss, grad_fn, retained], ids=lambda f: f.__name__)
def test_what_is_never_understood_is_tried_seldom(disturb: Any, watch: Watch) -> None:
    loop = Loop(disturb)
    for _ in range(400):
        loop.step(True)
    watch.taken()
    before = explain()
    for _ in range(4 * SELDOM):
        loop.step(True)
    now = explain()
    assert len(watch.tried) <= 2 * 5  # of two calls at most: the backward, and what follows on it
    assert now["compiled"] == before["compiled"] and now["cold"] - before["cold"] <= 2


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_that_were_removed_are_attached_again(register: str) -> None:
    """What has no hooks any more is recognised; and not, as soon as there is another one, from the next step on."""
    loop, called = Loop(hook), []
    for k in range(60):
        if k in (10, 40):
            handle = getattr(loop.weights[0], register)(lambda _, k=k: called.append(k))
        loop.step(False)
        if k in (15, 45):
            handle.remove()
    assert called == [10] * 6 + [40] * 6


def test_a_hook_among_others_is_removed() -> None:
    loop, called = Loop(hook), []
    handles = [loop.weights[0].register_hook(lambda g, n=n: called.append(n)) for n in range(3)]
    for k in range(30):
        loop.step(False)
        if k in (5, 10, 15):
            handles.pop().remove()
    assert [called.count(n) for n in range(3)] == [16, 11, 6]


def test_when_misses_are_tried() -> None:
    misses, tried = Misses(), []
    for k in range(1, 1100):
        if not misses.is_hopeless(5):
            tried.append(k)
            misses.add(5)
    assert tried[:HOPELESS] == list(range(1, HOPELESS + 1))
    assert len(tried) <= HOPELESS + 10 and max(b - a for a, b in pairwise(tried)) <= SELDOM
    misses.forget(5)
    assert not misses.is_hopeless(5)


NUMBERS: dict[str, Callable[[Any, Any, float], Any]] = {
    "smooth": lambda h, y, n: F.smooth_l1_loss(h, y, beta=n),
    "power": lambda h, y, n: ((h - y).abs() + 0.1).pow(n).mean(),
    "dropout": lambda h, y, n: (F.dropout(h, n / 4) - y).square().mean(),
    "softplus": lambda h, y, n: (F.softplus(h, beta=n) - y).square().mean(),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_has_changed_to_stay(name: str, watch: Watch) -> None:
    """A warm-up of a number ends; one that changes at each step compiles nothing."""
    loop = Loop(hook)

    def step(n: float) -> None:
        loop.descent.zero_grad()
        NUMBERS[name](loop.body(loop.x), loop.y, n).backward()
        loop.descent.step()

    for k in range(60):
        step(0.5 + k / 64)
    before = explain()
    for k in range(60, 120):
        step(0.5 + k / 64)
    assert explain()["compiled"] == before["compiled"]
    for _ in range(OFTEN + FEW):
        step(3.0)
    watch.taken()
    for _ in range(20):
        step(3.0)
    assert watch.taken() == []


def test_a_shape_that_comes_after_many_others(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of ever other structure: native code knows their calls, though it had been told of many others."""
    monkeypatch.setattr(patterns, "OTHERS", 64)
    rng = np.random.default_rng(5)

    def program(size: int) -> None:
        h = x = torch.full((size,), 0.5, requires_grad=True)
        chosen = rng.integers(0, 3, 16)
        for which in chosen:
            h = torch.tanh(h) if which == 0 else h * x if which == 1 else h + x
        before = len(watch.reached)
        h.sum().backward()
        del watch.reached[before:]
        known = torch.full((size,), 0.5, requires_grad=True)
        with unrecognised():
            g = known
            for which in chosen:
                g = torch.tanh(g) if which == 0 else g * known if which == 1 else g + known
            g.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), known.grad.numpy(), rtol=1e-4)  # type: ignore[union-attr]
        del watch.reached[before:]

    for size in range(2, patterns.FEW + 8):
        for _ in range(4):
            program(size)
    for _ in range(30):
        program(100)
    assert sum(len(f.of.patterns) for f in (torch.tanh, torch.mul, torch.add)) <= 3 * patterns.FEW
    watch.taken()
    for _ in range(20):
        program(100)
    assert len(watch.reached) < 20, watch.reached


def test_the_default_dtype_as_it_is(watch: Watch) -> None:
    """To choose what is chosen already forgets nothing."""
    loop = Loop(hook)
    for _ in range(12):
        loop.step(False)
    watch.taken()
    for _ in range(5):
        torch.set_default_dtype(torch.get_default_dtype())
        loop.step(False)
    assert watch.taken() == []
