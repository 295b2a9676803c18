"""Writing in place where gradients flow: such calls are recognised, and mean what they mean when they are not.

Every program runs as a training step, again and again, with recognition and without: losses, gradients, versions,
names of nodes, and the texts of errors must be the same each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.trace.tape import flush
from tests.inplace_errors import WRONG
from tests.inplace_programs import UNUSUAL, USUAL, Program, names
from tests.random_programs import same
from tests.test_new_structures import unrecognised

nn = torch.nn


def leaf(*shape: int, seed: int) -> Any:
    return torch.tensor((np.random.default_rng(seed).normal(size=shape) / 2).tolist(), requires_grad=True)


def taken(w: Any) -> Any:
    """The gradient of a leaf, which has none from now on."""
    found, w.grad = w.grad.tolist(), None
    return found


class Steps:
    """A program run as a training step."""

    def __init__(self, program: Program) -> None:
        self.program, self.x = program, leaf(5, 4, seed=0).detach()
        self.leaves = [leaf(4, 4, seed=1), leaf(4, 4, seed=2)]

    def step(self) -> Any:
        """The loss, what the program shows of itself, and the gradients; or the error, up to where the write was."""
        try:
            made = self.program(self.x, *self.leaves)
            loss, shown = made if isinstance(made, tuple) else (made, [])
            loss.backward()
            found: Any = loss.item(), [s() if callable(s) else s for s in shown], self.gradients()
        except (RuntimeError, TypeError) as error:
            found = type(error).__name__, str(error).partition("; it was written to at")[0]
        with torch.no_grad():
            for w in self.leaves:
                if w.grad is not None:
                    w -= 0.01 * w.grad.clamp(-1, 1)
                w.grad = None
        flush()
        return found

    def gradients(self) -> list[Any]:
        return [None if w.grad is None else w.grad.tolist() for w in self.leaves]


def compared(program: Program, steps: int = 7) -> list[Any]:
    """What a program gives at each step, if that is what it gives unrecognised."""
    with unrecognised():
        other = Steps(program)
        want = [other.step() for _ in range(steps)]
    mine = Steps(program)
    have = [mine.step() for _ in range(steps)]
    for k, (a, b) in enumerate(zip(have, want, strict=True)):
        assert alike(a, b), f"step {k}: recognised {a}, else {b}"
    return have


def alike(a: Any, b: Any) -> bool:
    """Whether two results are the same, numbers up to rounding."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    return same(np.array(a), np.array(b)) if isinstance(a, float) else a == b


@pytest.mark.parametrize("name", USUAL)
def test_usual_steps_are_one_kernel(name: str) -> None:
    seen = compared(USUAL[name])
    assert not any(isinstance(s[0], str) for s in seen), seen[0]
    steps = Steps(USUAL[name])
    for _ in range(3):
        steps.step()
    before = dict(torch.explain())
    for _ in range(4):
        steps.step()
    after = dict(torch.explain())
    ran = {name: after[name] - before[name] for name in after}
    assert ran["cold"] == 0 and ran["replayed"] in (4, 8), ran  # the step, and what the leaves become


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_looked_at_is_the_same(name: str) -> None:
    seen = compared(UNUSUAL[name])
    assert not any(isinstance(s[0], str) for s in seen), seen[0]


@pytest.mark.parametrize("name", WRONG)
def test_what_fails_fails_each_time(name: str) -> None:
    seen = compared(WRONG[name])
    assert all(isinstance(s[0], str) and s[0].endswith("Error") for s in seen), seen


def test_a_state_that_is_carried_on() -> None:
    def run(steps: int) -> list[Any]:
        w, x, found = leaf(4, 4, seed=1), leaf(5, 4, seed=0).detach(), []
        h, kept = torch.zeros(5, 4), []
        for k in range(steps):
            h *= 0.5
            h += torch.tanh(x @ w)
            kept.append((h * 2).relu_().add_(1))
            loss = h.pow(2).sum()
            loss.backward()
            found.append((loss.item(), taken(w), h._version))
            h.detach_()
            if k > 2:
                old = kept.pop(0)
                found.append((names(old), old.tolist()))
        return found

    with unrecognised():
        want = run(8)
    assert all(map(alike, run(8), want))


def test_a_graph_that_outlives_its_trace() -> None:
    def run(steps: int) -> list[Any]:
        w, x, kept, found = leaf(4, 4, seed=1), leaf(5, 4, seed=0).detach(), [], []
        for k in range(steps):
            h = x @ w
            h.mul_(w.sum())
            h.add_(1)
            kept.append(h)
            found.append((h.sum().item(), h._version))
            if k > 2:
                old = kept.pop(0)
                old.pow(2).sum().backward()
                found.append((names(old), taken(w)))
        return found

    with unrecognised():
        want = run(8)
    assert all(map(alike, run(8), want))


def test_networks_that_write_in_place() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.act = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            made = self.second(self.act(self.first(x)))
            made += x
            return self.act(made)

    def run(steps: int) -> list[Any]:
        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(4, 4), Block(), Block(), nn.Linear(4, 2)), leaf(5, 4, seed=0).detach()
        descent, found = torch.optim.Adam(model.parameters(), lr=0.01), []
        for _ in range(steps):
            descent.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            descent.step()
            found.append((loss.item(), [p.grad.tolist() for p in model.parameters()]))
        return found

    with unrecognised():
        want = run(8)
    assert all(map(alike, run(8), want))


def test_a_tensor_that_has_forgotten_its_history_teaches_nothing_wrong() -> None:
    w, x = leaf(4, 4, seed=1), leaf(5, 4, seed=0).detach()
    for _ in range(4):
        h = x @ w
        h.sum().backward()
        flush()
    h.detach_()
    assert not h.requires_grad and h.is_leaf
    other: Any = h * 7.0
    assert not other.requires_grad
    for _ in range(3):
        y = (x @ w) * 7.0
        assert y.requires_grad and names(y) == ["MulBackward0", "MmBackward0", "AccumulateGrad"]


class Twice(torch.autograd.Function):
    """A function that writes into its argument, with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 7


class Marked(torch.autograd.Function):
    """A function that says that it wrote into its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 5


@pytest.mark.parametrize(("function", "factor"), [(Twice, 7.0), (Marked, 5.0)])
def test_functions_of_users_that_write_into_their_argument(function: Any, factor: float) -> None:
    for k in range(5):
        x = torch.tensor([1.0, -2.0], requires_grad=True)
        y = x * 1
        z: Any = function.apply(y)
        z.sum().backward()
        assert z is y and names(z)[0] == f"{function.__name__}Backward"
        assert taken(x) == [factor, factor], k
