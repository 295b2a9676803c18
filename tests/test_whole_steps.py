"""Training steps as people write them: each runs as one kernel, and gives what it gives when nothing is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.trace import plans
from tests.test_new_structures import unrecognised

nn, F, optim = torch.nn, torch.nn.functional, torch.optim

Step = Callable[[], Any]
STEPS: dict[str, Callable[[], Step]] = {}


def pattern(made: Callable[[], Step]) -> Callable[[], Step]:
    STEPS[made.__name__] = made
    return made


def network(*sizes: int) -> Any:
    layers: list[Any] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


@pattern
def kept_losses() -> Step:
    model, x, y, kept = network(3, 4, 2), torch.randn(5, 3), torch.randint(0, 2, (5,)), []
    descent = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step() -> Any:
        descent.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        descent.step()
        kept.append(loss.detach())
        return loss.item(), kept[-1].item()

    return step


@pattern
def without_an_optimiser() -> Step:
    model, x = network(3, 4, 1), torch.randn(5, 3)

    def step() -> Any:
        loss = (model(x) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        return loss.item()

    return step


@pattern
def weights_clamped() -> Step:
    model, x = network(3, 4, 1), torch.randn(5, 3)
    descent = optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        descent.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        descent.step()
        for p in model.parameters():
            p.data.clamp_(-0.3, 0.3)
        return loss.item(), model[0].weight.max().item()

    return step


@pattern
def two_optimisers() -> Step:
    maker, judge = network(2, 8, 3), network(3, 8, 1)
    first, second = optim.Adam(judge.parameters(), lr=0.01), optim.Adam(maker.parameters(), lr=0.01)
    x, loss = torch.randn(6, 3), nn.BCEWithLogitsLoss()

    def step() -> Any:
        made = maker(torch.randn(6, 2))
        first.zero_grad()
        a = loss(judge(x), torch.ones(6, 1)) + loss(judge(made.detach()), torch.zeros(6, 1))
        a.backward()
        first.step()
        second.zero_grad()
        b = loss(judge(made), torch.ones(6, 1))
        b.backward()
        second.step()
        return a.item(), b.item()

    return step


@pattern
def derivatives_in_the_loss() -> Step:
    model, x = network(1, 8, 1), torch.linspace(0, 1, 6).reshape(-1, 1).requires_grad_()
    descent = optim.Adam(model.parameters(), lr=0.01)

    def step() -> Any:
        descent.zero_grad()
        u = model(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (curve,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        loss = ((curve + u) ** 2).mean() + (u[0] - 1).pow(2).sum()
        loss.backward()
        descent.step()
        return loss.item(), slope.requires_grad, type(slope.grad_fn).__name__

    return step


@pattern
def hamiltonian() -> Step:
    a = torch.randn(4, 4)
    a, q = a @ a.t() + torch.eye(4), torch.randn(4)

    def step() -> Any:
        nonlocal q
        p = torch.randn(4)
        for _ in range(3):
            q = q.detach().requires_grad_()
            energy = 0.5 * q @ a @ q
            (force,) = torch.autograd.grad(energy, q)
            p = p - 0.01 * force
            q = q.detach() + 0.01 * p
        return energy.item(), q.tolist()

    return step


def recurrent(layer: Any, last: Callable[[Any], Any]) -> Step:
    head, x, y = nn.Linear(4, 1), torch.randn(3, 5, 2), torch.randn(3, 1)
    descent = optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)

    def step() -> Any:
        descent.zero_grad()
        output, state = layer(x)
        loss = F.mse_loss(head(last((output, state))), y)
        loss.backward()
        descent.step()
        return loss.item(), output.is_contiguous(), tuple(output.stride())

    return step


@pattern
def gru() -> Step:
    return recurrent(nn.GRU(2, 4, batch_first=True), lambda made: made[0][:, -1])


@pattern
def lstm() -> Step:
    return recurrent(nn.LSTM(2, 4, batch_first=True), lambda made: made[1][0][-1])


@pattern
def attention() -> Step:
    layer, x = nn.MultiheadAttention(4, 2, batch_first=True), torch.randn(2, 3, 4)
    descent = optim.Adam(layer.parameters(), lr=0.01)

    def step() -> Any:
        descent.zero_grad()
        output, weights = layer(x, x, x)
        loss = (output**2).mean()
        loss.backward()
        descent.step()
        return loss.item(), output.is_contiguous(), weights.requires_grad

    return step


@pattern
def average_of_weights() -> Step:
    model, mean, x = network(3, 4, 1), network(3, 4, 1), torch.randn(5, 3)
    descent = optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        descent.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        descent.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), mean.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)
        return loss.item(), next(iter(mean.parameters())).sum().item()

    return step


@pattern
def loop_over_time() -> Step:
    cell, x, zero = nn.LSTMCell(2, 4), torch.randn(6, 3, 2), torch.zeros(3, 4)
    descent = optim.SGD(cell.parameters(), lr=0.1)

    def step() -> Any:
        descent.zero_grad()
        h, c = zero, zero
        for k in range(len(x)):
            h, c = cell(x[k], (h, c))
        loss = (h**2).mean()
        loss.backward()
        descent.step()
        return loss.item(), c.sum().item()

    return step


def _over_rows(held: bool) -> Callable[[], Step]:
    """Over the rows of what was an array of NumPy's, which the program holds or does not."""

    def made() -> Step:
        array = np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)
        cell, x, zero = nn.LSTMCell(2, 4), torch.from_numpy(array if held else array.copy()), torch.zeros(3, 4)
        descent = optim.SGD(cell.parameters(), lr=0.1)

        def step() -> Any:
            descent.zero_grad()
            h, c = zero, zero
            for k in range(len(array)):
                h, c = cell(x[k], (h, c))
            (h**2).mean().backward()
            descent.step()
            return c.sum().item()

        return step

    return made


STEPS |= {"rows_of_an_array": _over_rows(False), "rows_of_an_array_that_is_held": _over_rows(True)}


def _of_matrices(loss_of: Callable[[Any], Any]) -> Callable[[], Step]:
    """Steps that descend a loss of a symmetric matrix with distinct eigenvalues from 1 on."""

    def made() -> Step:
        factor, apart = nn.Parameter(0.1 * torch.randn(3, 3)), torch.diag(torch.tensor([1.0, 2.0, 4.0]))
        descent = optim.Adam([factor], lr=0.01)

        def step() -> Any:
            descent.zero_grad()
            loss = loss_of(factor @ factor.T + apart)
            loss.backward()
            descent.step()
            return loss.item()

        return step

    return made


ONES = torch.ones(3, 1)
STEPS |= {name: _of_matrices(loss_of) for name, loss_of in {
    "cholesky": lambda a: torch.linalg.cholesky(a).diagonal().log().sum(),
    "inverse": lambda a: torch.linalg.inv(a).sum() + a.inverse().sum(),
    "linear_system": lambda a: torch.linalg.solve(a, ONES).sum(),
    "triangular_system": lambda a: torch.linalg.solve_triangular(a.tril(), ONES, upper=False).sum(),
    "determinant": lambda a: torch.linalg.slogdet(a)[1] + torch.linalg.det(a),
    "eigenvalues": lambda a: torch.linalg.eigvalsh(a).log().sum() + torch.linalg.eigh(a)[0].sum(),
    "norms": lambda a: torch.linalg.norm(a) + torch.linalg.vector_norm(a, dim=1).sum(),
    "transform": lambda a: torch.fft.rfft(a, dim=0).abs().sum(),
    "special": lambda a: torch.special.gammaln(a**2 + 1).sum() + torch.special.erf(a).sum(),
    "density": lambda a: -torch.distributions.MultivariateNormal(torch.zeros(3), a).log_prob(ONES[:, 0]),
}.items()}  # fmt: skip


def numbers(made: Any) -> Iterator[Any]:
    for each in made if isinstance(made, (tuple, list)) else [made]:
        yield from numbers(each) if isinstance(each, (tuple, list)) else [each]


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_a_step_runs_as_kernels_and_gives_the_same(make: Callable[[], Step]) -> None:
    torch.manual_seed(3)
    with unrecognised():
        step = make()
        known = [step() for _ in range(20)]
    torch.manual_seed(3)
    step = make()
    made = [step() for _ in range(16)]
    before = dict(torch.explain())
    made += [step() for _ in range(4)]
    after = dict(torch.explain())
    # What is a single operation, such as a sum that is asked for between steps, is no kernel of its own.
    assert after["cold"] - before["cold"] <= 4 and after["replayed"] - before["replayed"] >= 4, str(torch.explain())
    for mine, yours in zip(numbers(made), numbers(known), strict=True):
        assert mine == (yours if not isinstance(yours, float) else pytest.approx(yours, rel=1e-4, abs=1e-6))


def test_a_parameter_written_through_its_data_is_recognised_in_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    step, missed = weights_clamped(), list[tuple[str, str]]()
    for _ in range(12):
        step()
    monkeypatch.setattr(plans, "because", lambda name, why: missed.append((name, why)))
    for _ in range(4):
        step()
    assert not missed


def test_writing_through_data_after_backward_leaves_its_nodes_used_up() -> None:
    model, x = network(3, 4, 1), torch.randn(5, 3)
    known = [p.detach().clone().numpy() for p in model.parameters()]
    for k in range(12):
        model.zero_grad()
        hidden = model[1](model[0](x))
        other = (hidden * 2.0).sum()
        loss = (model[2](hidden) ** 2).mean()
        loss.backward()
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-0.1)
        for again in (loss, other):  # whose own node saves nothing, but leads to what the first backward has used up
            with pytest.raises(RuntimeError, match="second time"):
                again.backward()
        if k == 0:
            for p, value in zip(model.parameters(), known, strict=True):
                np.testing.assert_allclose(p.detach().numpy(), value - 0.1 * p.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_a_model_that_is_never_understood_slows_no_other() -> None:
    def odd(x: Any) -> Any:
        return x * float(np.asarray(x.detach().numpy()).sum())  # reads values in the middle of the graph

    model, x = network(3, 4, 1), torch.randn(5, 3)
    descent = optim.SGD(model.parameters(), lr=0.01)
    for k in range(60):
        descent.zero_grad()
        loss = (odd(model(x)) if k < 40 else model(x)).pow(2).mean()
        loss.backward()
        descent.step()
        if k == 50:
            before = dict(torch.explain())
    assert dict(torch.explain())["cold"] == before["cold"]


def test_steps_on_arrays_that_the_program_holds() -> None:
    model, x, y = network(3, 4, 2), np.ones((5, 3), np.float32), np.array([0, 1, 1, 0, 1])
    descent = optim.SGD(model.parameters(), lr=0.1)

    def step() -> float:
        descent.zero_grad()
        loss = F.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y))
        loss.backward()
        descent.step()
        return loss.item()

    first = [step() for _ in range(12)]
    before = dict(torch.explain())
    more = [step() for _ in range(4)]
    after = dict(torch.explain())
    assert after["replayed"] - before["replayed"] == 4 and first + more == sorted(first + more, reverse=True)
    x[:] = 0.0
    with unrecognised():
        known = F.cross_entropy(model(torch.from_numpy(x.copy())), torch.from_numpy(y)).item()
    assert step() == pytest.approx(known, rel=1e-6)
