"""Random training steps that write in place, each run several times: recognised or not, they must be the same.

A step makes tensors from two leaves, writes to them with and without a history, drops some, looks at others, and runs
backward from some of what is left.  What it keeps is met by the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.trace.tape import flush
from tests.random_programs import attempt, same
from tests.test_new_structures import unrecognised

SEEDS, BLOCK, STEPS = 160, 20, 5

Made = Callable[[Any, Any, Any, int], Any]

NEW: dict[str, Made] = {
    "product": lambda x, y, w, k: x @ w,
    "times": lambda x, y, w, k: x * y,
    "plus": lambda x, y, w, k: x + y,
    "exp": lambda x, y, w, k: (x * 0.1).exp(),
    "sigmoid": lambda x, y, w, k: x.sigmoid(),
    "sin": lambda x, y, w, k: x.sin(),
    "view": lambda x, y, w, k: x.view(4, 4),
    "transposed": lambda x, y, w, k: x.t(),
    "detached": lambda x, y, w, k: x.detach(),
    "zeros": lambda x, y, w, k: torch.zeros_like(x) if k % 2 else torch.zeros(4, 4),
    "view of a leaf": lambda x, y, w, k: w.view(4, 4),
    "row": lambda x, y, w, k: x[k % 4] * y,
}

WRITES: dict[str, Made] = {
    "add_": lambda x, y, w, k: x.add_(y),
    "mul_": lambda x, y, w, k: x.mul_(y),
    "halve_": lambda x, y, w, k: x.mul_(0.5),
    "relu_": lambda x, y, w, k: x.relu_(),
    "sigmoid_": lambda x, y, w, k: x.sigmoid_(),
    "sub_ a leaf": lambda x, y, w, k: x.sub_(w),
    "mul_ by a leaf": lambda x, y, w, k: x.mul_(w),
    "copy_": lambda x, y, w, k: x.copy_(y),
    "clamp_": lambda x, y, w, k: x.clamp_(-1, 1),
    "div_": lambda x, y, w, k: x.div_(y * y + 1),
    "add_ a row": lambda x, y, w, k: x.add_(y[k % 4]),
    "lerp_": lambda x, y, w, k: x.lerp_(y, 0.25),
    "addmm_": lambda x, y, w, k: x.addmm_(y, w, alpha=0.1),
    "zero_": lambda x, y, w, k: x.zero_(),
    "a row mul_": lambda x, y, w, k: x[k % 4].mul_(0.5),
}

QUIET: dict[str, Made] = {
    "quiet mul_": lambda x, y, w, k: x.mul_(0.5),
    "quiet add_": lambda x, y, w, k: x.add_(y),
    "quiet leaf": lambda x, y, w, k: w.mul_(0.99),
}

LOOKS: dict[str, Made] = {
    "name": lambda x, y, w, k: type(x.grad_fn).__name__,
    "version": lambda x, y, w, k: x._version,
    "value": lambda x, y, w, k: np.array(x.sum().item()),
    "backward": lambda x, y, w, k: (x * x).sum().backward(retain_graph=True) if x.requires_grad else None,
    "retain_grad": lambda x, y, w, k: x.retain_grad() if x.requires_grad else None,
    "detach_": lambda x, y, w, k: x.detach_() is x if k % 2 else None,
}

OFTEN, SELDOM = [*NEW, *WRITES, *WRITES, *QUIET, "drop", "drop", "drop"], [*LOOKS]


class Steps:
    """A random step, and the tensors that it meets."""

    def __init__(self, seed: int) -> None:
        random, numbers = Random(seed), np.random.default_rng(seed)
        self.seed, self.kept = seed, []
        looks = SELDOM if seed % 3 == 0 else []
        self.choices = [
            (random.choice(OFTEN + looks), [random.randrange(100) for _ in range(3)])
            for _ in range(random.randint(4, 14))
        ]
        drawn = (numbers.integers(-8, 8, (3, 4, 4)) / 8).tolist()
        self.leaves = [torch.tensor(d, requires_grad=True) for d in drawn[:2]]
        self.x = torch.tensor(drawn[2])

    def step(self, k: int) -> list[Any]:
        """All that can be seen of a step."""
        pool, seen = [self.x @ self.leaves[0], self.x * 1.0, *self.kept], []
        for name, (a, b, c) in self.choices:
            x, y, w = pool[a % len(pool)], pool[b % len(pool)], self.leaves[c % 2]
            if name == "drop":
                if len(pool) > 2:
                    del pool[c % len(pool)]
            elif name in NEW:
                pool.append(NEW[name](x, y, w, c))
            elif name in QUIET:
                with torch.no_grad():
                    seen.append(attempt(lambda x=x, y=y, w=w, c=c, name=name: QUIET[name](x, y, w, c) is None))
            elif name in WRITES:
                seen.append(attempt(lambda x=x, y=y, w=w, c=c, name=name: WRITES[name](x, y, w, c) is x))
            else:
                seen.append(attempt(lambda x=x, y=y, w=w, c=c, name=name: LOOKS[name](x, y, w, c)))
        x = y = w = None
        seen.append(attempt(lambda: backward_from(pool[-(self.seed % 4 + 1) :])))
        seen += [None if w.grad is None else np.array(w.grad.tolist()) for w in self.leaves]
        if self.seed % 2:
            seen += [attempt(lambda t=t: (np.array(t.tolist()), t._version, t.requires_grad)) for t in pool]
        if (self.seed + k) % 3:
            for w in self.leaves:
                w.grad = None
        self.kept = [t if self.seed % 4 < 2 else t.detach() for t in pool[-2:]] if (self.seed + k) % 2 else []
        return seen


def backward_from(tensors: list[Any]) -> np.ndarray:
    loss: Any = sum((t * t).sum() for t in tensors)
    if loss.requires_grad:
        loss.backward()
    return np.array(loss.item())


def ran(seed: int) -> list[Any]:
    steps, found = Steps(seed), []
    for k in range(STEPS):
        found.append(steps.step(k))
        if k != 1:
            flush()
    return found


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_recognised_writes_are_writes(first: int) -> None:
    for seed in range(first, first + BLOCK):
        with unrecognised():
            want = ran(seed)
        have = ran(seed)
        for k, (a, b) in enumerate(zip(have, want, strict=True)):
            assert same(a, b), f"seed {seed}, step {k}: recognised {a}, else {b}; {Steps(seed).choices}"
