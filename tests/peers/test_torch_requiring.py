"""Programs that change what requires a gradient in the middle of a step: values, gradients and errors are PyTorch's, in
steps that come for the first time, that are known, and that others outlast."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import pullback


class State:
    """What a program has: two maps with optimisers, data, and what it holds of the values that it has made."""

    def __init__(self, torch: Any) -> None:
        values = [k * 37 % 17 / 17 - 0.4 for k in range(24)]
        leaf = lambda n, *shape: torch.tensor(values[:n], dtype=torch.float64).view(*shape).clone().requires_grad_()  # noqa: E731
        self.torch, self.first, self.second = torch, [leaf(12, 3, 4), leaf(4, 4)], [leaf(8, 4, 2), leaf(2, 2)]
        self.x = torch.tensor(values[::-1], dtype=torch.float64).view(8, 3).clone()
        self.descents = [torch.optim.SGD(p, lr=0.01, momentum=0.5) for p in (self.first, self.second)]
        self.held: Any = {"x": self.x, "made": self.made(self.x)}

    def made(self, x: Any) -> Any:
        return (x @ self.first[0] + self.first[1]).tanh()

    def judged(self, h: Any) -> Any:
        return (h @ self.second[0] + self.second[1]).sigmoid()


def _make(s: State) -> None:
    s.held["made"] = s.made(s.x)


def _mix(s: State) -> None:
    s.held["mixed"] = 0.3 * s.made(s.x).detach() + 0.7 * s.held["made"].detach()


def _require(s: State) -> None:
    s.held.get("mixed", s.x).requires_grad_()


def _require_data(s: State) -> None:
    s.held["mixed"] = (s.held["made"] * 2).data.requires_grad_()


def _forbid(s: State) -> None:
    for p in s.second:
        p.requires_grad_(False)


def _allow(s: State) -> None:
    for p in s.second:
        p.requires_grad = True


def _judge(s: State) -> None:
    s.held["loss"] = s.judged(s.held.get("mixed", s.held["made"])).pow(2).mean()


def _judge_made(s: State) -> None:
    s.held["loss"] = s.judged(s.held["made"]).pow(2).mean()


def _penalty(s: State) -> None:
    h = s.held.get("mixed", s.held["made"])
    d = s.held["d"] = s.judged(h)
    (g,) = s.torch.autograd.grad(d, h, s.torch.ones_like(d), create_graph=True)
    s.held["loss"] = ((g.norm(2, dim=1) - 1) ** 2).mean()


def _backward(s: State) -> None:
    s.held["loss"].backward()


def _step(s: State) -> None:
    s.descents[0].step()


def _step_second(s: State) -> None:
    s.descents[1].step()


def _zero(s: State) -> None:
    for d in s.descents:
        d.zero_grad()


def _drop(s: State) -> None:
    for name in ("mixed", "d"):
        s.held.pop(name, None)


def _write(s: State) -> None:
    h = s.held.get("mixed", s.x)
    with s.torch.no_grad():
        h.add_(0.1 * h.sign() if h.grad is None else -0.1 * h.grad)


def _write_data(s: State) -> None:
    s.held.get("mixed", s.x).data.mul_(0.9)


def _plain(s: State) -> None:
    s.x.requires_grad_(False)
    s.x.grad = None


def _look(s: State) -> None:
    s.held["told"] = s.held["loss"].item() if "loss" in s.held else 0.0


ACTIONS: list[Callable[[State], None]] = [
    _make, _mix, _require, _require_data, _forbid, _allow, _judge, _judge_made, _penalty, _backward, _step,
    _step_second, _zero, _drop, _write, _write_data, _plain, _look,
]  # fmt: skip

USUAL = [
    _zero, _make, _mix, _require, _penalty, _backward, _step_second, _forbid, _judge_made, _backward, _step, _allow,
]  # fmt: skip


def told(torch: Any, program: list[Any], steps: int) -> list[Any]:
    s, found = State(torch), []
    for step in range(steps):
        for action in program:
            try:
                action(s)
            except (RuntimeError, KeyError) as error:
                found.append(type(error).__name__)
        if step % 3 == 2:
            found += _seen(s)
    return found


def _seen(s: State) -> list[Any]:
    tensors = [*s.first, *s.second, s.x, *[t for t in s.held.values() if not isinstance(t, float)]]
    found: list[Any] = []
    for t in tensors:
        found += [t.requires_grad, t.is_leaf, type(t.grad_fn).__name__, *t.detach().flatten().tolist()]
        found += ["none"] if not t.is_leaf or t.grad is None else t.grad.flatten().tolist()
    return found


def check(program: list[Any], steps: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = told(pullback, program, steps), told(reference, program, steps)
    names = [p.__name__ for p in program]
    assert len(ours) == len(theirs), names
    for a, b in zip(ours, theirs, strict=True):
        near = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * (1 + abs(b))
        assert a == b or near, (names, a, b)


def known(torch: Any, off: bool) -> bool:
    w = torch.ones(3, requires_grad=True)
    return _has_gradient((w * w).sum(), w, off)


def kept(torch: Any, off: bool) -> bool:
    w = torch.ones(3, requires_grad=True)
    loss = w.sum()
    loss.item()
    return _has_gradient(loss, w, off)


def looked_at(torch: Any, off: bool) -> bool:
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    assert loss.grad_fn is not None
    return _has_gradient(loss, w, off)


def second(torch: Any, off: bool) -> bool:
    w = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad((w * w * w).sum(), w, create_graph=True)
    return _has_gradient(g.sum(), w, off)


def _has_gradient(loss: Any, w: Any, off: bool) -> bool:
    w.requires_grad_(not off)
    loss.backward()
    w.requires_grad_(True)
    return w.grad is not None


@pytest.mark.parametrize("program", [known, kept, looked_at, second])
@pytest.mark.parametrize("first", [True, False])
def test_a_leaf_that_was_switched_off_before_backward_tells_nothing_of_others(program: Any, first: bool):
    for off in (first, not first, first):
        for _ in range(4):
            assert program(pullback, off) == program(reference, off) == (not off)


def _penalised_before_a_switch(torch: Any, steps: int) -> list[Any]:
    """A penalty on slopes that outlasts the trace that made it, and whose critic is switched off before backward."""
    w = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64).requires_grad_()
    v = torch.tensor([0.1, 0.4], dtype=torch.float64).requires_grad_()
    descent, found = torch.optim.SGD([v], lr=0.1), []
    for k in range(steps):
        x = torch.tensor([0.7, 0.1 * k, -0.4], dtype=torch.float64).requires_grad_()
        (g,) = torch.autograd.grad((x * w).tanh().sum(), x, create_graph=True)
        penalty = (g.norm() - 1) ** 2
        descent.zero_grad()
        (v * v).sum().backward()
        descent.step()
        found.append(float(v.detach()[0]))
        w.requires_grad_(False)
        penalty.backward()
        w.requires_grad_(True)
        found += [*x.grad.tolist(), float(w.grad is None)]
    return found


def test_histories_that_are_left_are_of_what_was_required():
    ours, theirs = _penalised_before_a_switch(pullback, 12), _penalised_before_a_switch(reference, 12)
    assert ours == pytest.approx(theirs, rel=1e-9)


LEAVES_OF_DATA: dict[str, Callable[[Any, Any], Any]] = {
    "data": lambda torch, made: made.data.requires_grad_(),
    "switched": lambda torch, made: _switched(made.data),
    "detached": lambda torch, made: made.data.detach().requires_grad_(),
    "rows": lambda torch, made: made.data[:1].requires_grad_(),
    "parameter": lambda torch, made: torch.nn.Parameter(made.data),
}


def _switched(t: Any) -> Any:
    t.requires_grad = True
    return t


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("leaf", LEAVES_OF_DATA.values(), ids=LEAVES_OF_DATA)
def test_writings_to_a_leaf_that_was_data_are_counted(leaf: Callable[[Any, Any], Any], held: bool):
    """What saved the leaf cannot go back after the leaf was written to, whether its values are another tensor's too."""
    found = {}
    for torch in (pullback, reference):
        found[torch] = ends = []
        for _ in range(4):
            w = torch.tensor([[0.3, 0.2], [0.1, -0.4]], dtype=torch.float64).requires_grad_()
            v = torch.tensor([[0.5], [0.7]], dtype=torch.float64).requires_grad_()
            made = (w * 2).tanh()
            h = leaf(torch, made)
            if not held:
                made = None
            before = h._version
            loss = (h @ v).sum()
            with torch.no_grad():
                h.mul_(1.5)
            ends.append(h._version - before)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()
            (h @ v).sum().backward()
            ends += v.grad.flatten().tolist()
    assert found[pullback] == pytest.approx(found[reference], rel=1e-12)


def test_a_critic_whose_parameters_are_switched():
    check(USUAL, 24)


@pytest.mark.parametrize("seed", range(40))
def test_programs_at_random(seed: int):
    rng = random.Random(seed)
    if seed % 2:
        program = rng.choices(ACTIONS, k=12)
    else:
        program = list(USUAL)
        for _ in range(4):
            program.insert(rng.randrange(len(program)), rng.choice(ACTIONS))
    check(program, 12)


def test_programs_one_after_another():
    """Traces of one are known to the next, whose leaves require something else when nodes of them are made."""
    for seed in range(2017, 2025):
        test_programs_at_random(seed)
