"""Hooks of leaves in training loops, beside torch: in what order they run, what they see, and what comes of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback

STEPS = 12
Log = list[tuple[Any, ...]]


class Stopped(Exception):
    pass


class Program:
    """A loop over three layers with hooks that come and go, the same for a seed with either module."""

    def __init__(self, t: Any, seed: int) -> None:
        self.t, self.draw = t, random.Random(seed)
        numbers = np.random.default_rng(seed)

        def made(*shape: int) -> Any:
            return t.tensor(numbers.normal(size=shape).astype(np.float32))

        self.weights = [made(4, 4).requires_grad_() for _ in range(3)]
        self.leaves = [*self.weights, *[made(4).requires_grad_() for _ in range(3)]]
        self.x, self.log, self.handles = made(5, 4), Log(), list[Any]()
        self.optimizer = self.draw.choice([None, "SGD", "Adam"])
        if self.optimizer:
            self.optimizer = getattr(t.optim, self.optimizer)(self.leaves, lr=0.01)
        self.twice, self.keeps = self.draw.random() < 0.3, self.draw.random() < 0.2

    def note(self, *what: Any) -> None:
        self.log.append((*what, [p.grad is None for p in self.leaves]))

    def hook(self, i: int) -> Callable[[Any], Any]:
        first = self.leaves[0]
        return self.draw.choice([
            lambda g: g * 0.5,
            lambda g: self.note("seen", i),
            lambda g: self.note("read", i, round(g.sum().item(), 3)),
            lambda g: g.clamp(-0.1, 0.1),
            lambda g: g if first.grad is None else g + first.grad.sum() * 0.01,
            lambda g: self.log.append(("kept", g)),
            lambda g: g.clone().mul_(0.9),
        ])  # fmt: skip

    def post(self, i: int) -> Callable[[Any], None]:
        def stepped(p: Any) -> None:
            with self.t.no_grad():
                p.sub_(p.grad, alpha=0.01)

        return self.draw.choice([lambda p: self.note("post", i), stepped])

    def loss(self) -> Any:
        h = self.x
        for w, b in zip(self.weights, self.leaves[3:], strict=True):
            h = self.t.tanh(h @ w + b)
        return ((self.t.tanh(h @ self.weights[0]) if self.twice else h) ** 2).mean()

    def attach(self, k: int) -> None:
        i = self.draw.randrange(6)
        if k == 0 or self.draw.random() < 0.1:
            self.handles.append(self.leaves[i].register_hook(self.hook(i)))
        if self.draw.random() < 0.08:
            self.handles.append(self.leaves[i].register_post_accumulate_grad_hook(self.post(i)))
        if self.handles and self.draw.random() < 0.1:
            self.handles.pop(0).remove()

    def backward(self, k: int) -> None:
        if self.draw.random() > 0.04:
            return self.loss().backward()

        def stop(_: Any) -> None:
            handle.remove()
            raise Stopped

        handle = self.leaves[1].register_hook(stop)
        with pytest.raises(Stopped):
            self.loss().backward()
        self.note("stopped", k)
        return None

    def run(self) -> tuple[list[Any], Log]:
        seen = []
        for k in range(STEPS):
            self.attach(k)
            if not self.keeps:
                for p in self.leaves:
                    p.grad = None
            self.backward(k)
            if self.optimizer:
                self.optimizer.step()
            if k % 4 == 0 or k == STEPS - 1:
                seen += [p.detach().numpy().copy() for p in self.leaves]
                seen += [None if p.grad is None else p.grad.numpy().copy() for p in self.leaves]
        return seen, [tuple(x.numpy().copy() if hasattr(x, "numpy") else x for x in entry) for entry in self.log]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (np.ndarray, float)) and b is not None:
        return np.allclose(a, b, rtol=2e-3, atol=2e-3)
    return a is b if a is None or b is None else a == b


@pytest.mark.parametrize("seed", range(12))
def test_hooks_see_what_they_see_in_torch(seed: int) -> None:
    mine, yours = Program(pullback, seed).run(), Program(torch, seed).run()
    assert same(mine[1], yours[1]) and same(mine[0], yours[0])


def test_a_step_with_hooks_is_one_kernel() -> None:
    program = Program(pullback, 0)
    program.twice, program.optimizer = False, pullback.optim.SGD(program.leaves, lr=0.01)
    program.leaves[1].register_hook(lambda g: g * 0.5)
    program.leaves[4].register_post_accumulate_grad_hook(lambda p: (p.grad.mul_(0.9), None)[1])

    def step() -> None:
        program.optimizer.zero_grad()
        program.loss().backward()
        program.optimizer.step()

    for _ in range(40):
        step()
    before = pullback.explain()
    for _ in range(20):
        step()
    after = pullback.explain()
    assert (after["replayed"] - before["replayed"], after["cold"] - before["cold"]) == (20, 0)
