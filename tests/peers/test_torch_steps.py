"""Training steps with derivatives in a hook, a queue, penalties on slopes or masks: PyTorch's values, and no calls that
are learned anew at every step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import pullback
from pullback.runtime.tensor.calls import call_nodes, calls, repeat
from pullback.runtime.tensor.trace import kept

Step = Callable[[], float]


def equilibrium(torch: Any) -> Step:
    """A fixed point, whose gradient a hook finds as another fixed point."""
    inner, outer, last = torch.nn.Linear(6, 6), torch.nn.Linear(4, 6), torch.nn.Linear(6, 1)
    leaves = [*inner.parameters(), *outer.parameters(), *last.parameters()]
    optimizer = torch.optim.Adam(leaves, 1e-3)
    x, y = torch.randn(5, 4), torch.randn(5, 1)

    def f(z: Any) -> Any:
        return torch.tanh(0.5 * inner(z) + outer(x))

    def step() -> float:
        with torch.no_grad():
            z = torch.zeros(5, 6)
            for _ in range(30):
                z, before = f(z), z
                if (z - before).norm() < 1e-3:
                    break
        z = f(z)
        start = z.clone().detach().requires_grad_()
        again = f(start)

        def hook(gradient: Any) -> Any:
            v = gradient
            for _ in range(6):
                v = torch.autograd.grad(again, start, v, retain_graph=True)[0] + gradient
            return v

        z.register_hook(hook)
        loss = ((last(z) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def penalty(torch: Any) -> Step:
    """A critic whose slopes are to be of length one; what it says of the points between has a history that is left."""
    made, judged = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.LeakyReLU(0.2),
                                                              torch.nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(m.parameters(), 1e-3, betas=(0.0, 0.9)) for m in (made, judged)]
    noise, real, part = torch.randn(8, 3), torch.randn(8, 2) + 2, torch.rand(8, 1)

    def step() -> float:
        for _ in range(2):
            fake = made(noise).detach()
            between = (part * real + (1 - part) * fake).requires_grad_(True)
            said = judged(between)
            (slopes,) = torch.autograd.grad(said, between, torch.ones_like(said), create_graph=True, retain_graph=True)
            loss = judged(fake).mean() - judged(real).mean() + 10 * ((slopes.norm(2, dim=1) - 1) ** 2).mean()
            optimizers[1].zero_grad()
            loss.backward()
            optimizers[1].step()
        other = -judged(made(noise)).mean()
        optimizers[0].zero_grad()
        other.backward()
        optimizers[0].step()
        return loss.item() + other.item()

    return step


def queue(torch: Any) -> Step:
    """Two encoders, one the other's average, and the keys of steps before in a ring."""
    first = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    second = copy.deepcopy(first)
    for p in second.parameters():
        p.requires_grad = False
    ring, place = torch.nn.functional.normalize(torch.randn(3, 16), dim=0), torch.zeros(1, dtype=torch.long)
    optimizer = torch.optim.SGD(first.parameters(), 0.05, momentum=0.9)
    x = torch.randn(4, 4)

    def step() -> float:
        one = torch.nn.functional.normalize(first(x), dim=1)
        with torch.no_grad():
            for p, q in zip(first.parameters(), second.parameters(), strict=True):
                q.data = q.data * 0.99 + p.data * 0.01
            other = torch.nn.functional.normalize(second(x + 0.1), dim=1)
        same = torch.einsum("nc,nc->n", [one, other]).unsqueeze(-1)
        rest = torch.einsum("nc,ck->nk", [one, ring.clone().detach()])
        wanted = torch.zeros(4, dtype=torch.long)
        loss = torch.nn.functional.cross_entropy(torch.cat([same, rest], 1) / 0.2, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        at = int(place)
        ring[:, at : at + 4] = other.T
        place[0] = (at + 4) % 16
        return loss.item() + ring.sum().item()

    return step


def masks(torch: Any) -> Step:
    """Means of the points of each class, of which there is a number that differs from step to step."""
    points = torch.randn(40, 3)
    state = {"centres": points[:4].clone()}

    def step() -> float:
        far = torch.cdist(points, state["centres"])
        nearest = far.argmin(1)
        means = [points[nearest == k].mean(0) if (nearest == k).any() else state["centres"][k] for k in range(4)]
        state["centres"] = torch.stack(means) * 1.01
        return far.min(1).values.mean().item()

    return step


def schedule(torch: Any) -> Step:
    """Samples by steps backward in time, each with numbers of a schedule that is read by index."""
    rates = torch.linspace(1e-4, 0.02, 12)
    kept_part, net = torch.cumprod(1 - rates, 0), torch.nn.Linear(3, 2)

    @torch.no_grad()
    def step() -> float:
        x = torch.ones(4, 2)
        for t in reversed(range(12)):
            noise = net(torch.cat([x, torch.full((4, 1), t / 12)], 1))
            x = (x - rates[t] / (1 - kept_part[t]).sqrt() * noise) / (1 - rates)[t].sqrt()
            x = x + rates[t].sqrt() * 0.1
        return x.sum().item()

    return step


def chain(torch: Any) -> Step:
    """A field over a chain, of whose parameters there are views when they are moved."""
    emit, moves = torch.nn.Linear(4, 3), torch.nn.Parameter(0.1 * torch.randn(3, 3))
    optimizer = torch.optim.Adam([*emit.parameters(), moves], 1e-2)
    x, y = torch.randn(2, 4, 4), torch.randint(0, 3, (2, 4))

    def step() -> float:
        said = emit(x)
        total, score = said[:, 0], said[:, 0].gather(1, y[:, :1]).squeeze(1)
        for t in range(1, 4):
            total = torch.logsumexp(total.unsqueeze(2) + moves.unsqueeze(0) + said[:, t].unsqueeze(1), 1)
            score = score + moves[y[:, t - 1], y[:, t]] + said[torch.arange(2), t, y[:, t]]
        loss = (torch.logsumexp(total, 1) - score).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


PROGRAMS: tuple[Callable[[Any], Step], ...] = (equilibrium, penalty, queue, masks, schedule, chain)


@pytest.fixture
def _double() -> Iterator[None]:
    """Adam makes steps of what is zero but for its last digits."""
    for torch in (reference, pullback):
        torch.set_default_dtype(torch.float64)
    yield
    for torch in (reference, pullback):
        torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_steps_are_pytorchs_and_are_recognised(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reference.manual_seed(0)
    step = program(reference)
    wanted = [step() for _ in range(24)]
    kept._asked.clear()
    pullback.manual_seed(0)
    step = program(pullback)
    made = [step() for _ in range(18)]
    learned, nodes, read = list[str](), list[str](), list[str]()
    described = calls.Recorded._read
    monkeypatch.setattr(calls.Recorded, "_read", lambda self, *a: read.append(self.name) or described(self, *a))
    run, make, again = calls.Recorded._run, call_nodes.Maker.make, repeat.run_again
    monkeypatch.setattr(calls.Recorded, "_run", lambda self, *a: learned.append(self.name) or run(self, *a))
    monkeypatch.setattr(
        call_nodes.Maker, "make", lambda self, call: nodes.append(call.template.call.name) or make(self, call)
    )
    monkeypatch.setattr(
        repeat, "run_again", lambda tape, call, *a: nodes.append(call.template.call.name) or again(tape, call, *a)
    )
    made += [step() for _ in range(6)]
    np.testing.assert_allclose(made, wanted, rtol=1e-7)
    if program is not masks:  # the calls of which are of other sizes each time
        assert len(learned) <= 6, learned
    if program in (penalty, queue, chain):
        assert not nodes
    if program is schedule:  # the calls are recognised in native code
        assert len(read) <= 6, read


KEYS: tuple[Callable[[Any], Any], ...] = (
    lambda t: t.tensor([True, False, True, True]),
    lambda t: t.tensor([[True, False, True], [False] * 3, [True] * 3, [False, True, False]]),
    lambda t: (t.tensor([0, -1, 2]), 1),
    lambda t: (t.tensor([0, -1, 2]), t.tensor([2, 0, -3])),
    lambda t: (t.tensor([[0], [3]]), t.tensor([0, 1, 1])),
    lambda t: (t.tensor([0, 3]), slice(1, None), 0),
    lambda t: (1, slice(None), t.tensor([1, 0])),
    lambda t: (t.tensor([0, 3]), slice(None), t.tensor([1, 0])),
    lambda t: (slice(1, 3), t.tensor([0, 2])),
    lambda t: (slice(1, 3), t.tensor([0, 2]), 1),
    lambda t: t.tensor([False] * 4),
    lambda t: t.tensor([True] * 5),
    lambda t: t.tensor([4]),
    lambda t: (t.tensor([0, 3]), t.tensor([0, 1, 2])),
    lambda t: (t.tensor([0]), 3),
    lambda t: (t.tensor([0]), 0, 0, 0),
)


@pytest.mark.parametrize("dtype", ("float32", "bfloat16", "bool", "complex64", "int64"))
@pytest.mark.parametrize("key", range(len(KEYS)))
def test_places_of_known_data(key: int, dtype: str) -> None:
    def run(torch: Any) -> Any:
        x = (torch.arange(24).reshape(4, 3, 2) % 7).to(getattr(torch, dtype))
        try:
            made = x[KEYS[key](torch)]
            view = x.transpose(0, 1)[:, :4].transpose(0, 1)[KEYS[key](torch)]
        except IndexError:
            return "error"
        x[0] = 1  # which a copy does not see
        return [str(made.dtype), list(made.shape), made.tolist(), view.tolist(), made.is_contiguous()]

    mine, theirs = run(pullback), run(reference)
    assert str(mine).replace("pullback", "torch") == str(theirs)
