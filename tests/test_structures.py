"""Steps whose batches, sentences and graphs are of another size each time: one kernel serves sizes that are new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.compiler.backend.sized import shared
from pullback.compiler.settings import settings
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace import planning, plans, structures
from pullback.runtime.tensor.trace.fragments import families

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget_calls()
    monkeypatch.setattr(structures, "_structures", type(structures._structures)())
    monkeypatch.setattr(families, "_families", {})
    with settings.override(background=False):
        yield


def rows(rng: np.random.Generator) -> tuple[Any, Callable[[], Any]]:
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))

    def loss() -> Any:
        n = int(rng.integers(17, 60))
        x = torch.tensor(rng.standard_normal((n, 6)), dtype=torch.float32)
        return F.cross_entropy(net(x), torch.tensor(rng.integers(0, 3, n)))

    return net, loss


def words(rng: np.random.Generator) -> tuple[Any, Callable[[], Any]]:
    net = nn.ModuleList([nn.Embedding(20, 8), nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)])

    def loss() -> Any:
        n = int(rng.integers(5, 30))
        return net[1](net[0](torch.tensor(rng.integers(0, 20, (2, n))))).pow(2).mean()

    return net, loss


def edges(rng: np.random.Generator) -> tuple[Any, Callable[[], Any]]:
    net = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 2)])

    def loss() -> Any:
        n, e = int(rng.integers(5, 40)), int(rng.integers(10, 90))
        x = torch.tensor(rng.standard_normal((n, 4)), dtype=torch.float32)
        source, target = (torch.tensor(rng.integers(0, n, e)) for _ in range(2))
        h = F.relu(net[0](x))
        return net[1](torch.zeros(n, 8).index_add_(0, target, h[source])).logsumexp(1).mean()

    return net, loss


def images(rng: np.random.Generator) -> tuple[Any, Callable[[], Any]]:
    convolution = nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)
    net = nn.Sequential(*convolution, nn.Flatten(), nn.Linear(27, 2))

    def loss() -> Any:
        n = int(rng.integers(3, 30))
        x = torch.tensor(rng.standard_normal((n, 1, 8, 8)), dtype=torch.float32)
        return F.cross_entropy(net(x), torch.tensor(rng.integers(0, 2, n)))

    return net, loss


PROGRAMS = {"rows": rows, "words": words, "edges": edges, "images": images}


def trained(name: str, steps: int) -> list[float]:
    torch.manual_seed(0)
    net, loss = PROGRAMS[name](np.random.default_rng(1))
    optimiser, losses = torch.optim.Adam(net.parameters(), 1e-3), []
    for _ in range(steps):
        made = loss()
        optimiser.zero_grad()
        made.backward()
        optimiser.step()
        losses.append(made.item())
    return [*losses, *[x for p in net.parameters() for x in p.flatten().tolist()]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_new_sizes_run_as_one_kernel_and_compute_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [0]
    find = plans.Plan.find

    def counted(self: Any, structure: Any) -> bool:
        made = find(self, structure)
        found[0] += made
        return made

    monkeypatch.setattr(plans.Plan, "find", counted)
    have = trained(name, 40)
    assert found[0] > 10, found
    forget_calls()
    for module in (plans, planning):
        monkeypatch.setattr(module, "may_know", lambda structure: False)
    np.testing.assert_allclose(have, trained(name, 40), rtol=2e-3, atol=1e-5)


def test_errors_of_new_sizes_are_those_of_the_call() -> None:
    table: Any = torch.zeros(10, 3, requires_grad=True)
    rng = np.random.default_rng(0)
    for k in range(40):
        n = 17 + 3 * k
        x = torch.tensor(rng.integers(0, 10, n))
        (table[x] * 2).sum().backward()
        table.grad = None
    before = table.tolist()
    x[3] = 10
    with pytest.raises(IndexError, match="index 10 is out of bounds for dimension 0 with size 10"):
        (table[torch.cat([x, x])] * 2).sum().backward()
    assert table.tolist() == before and table.grad is None
    (table[x.clamp(max=9)] * 2).sum().backward()
    grad: Any = table.grad
    assert float(grad.sum()) == 6 * len(x)


def test_structures_that_cannot_share_code_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "MOST", 5)
    monkeypatch.setattr(families.Family, "learned", lambda self, graph, numbers: None)
    trained("rows", 40)
    assert max(s.learned for s in structures._structures.values()) == 5


def test_ways_that_are_too_many_are_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = trained("rows", 40)
    forget_calls()
    structures._structures.clear()
    families._families.clear()
    monkeypatch.setattr(shared, "MAX_WAYS", 1)
    np.testing.assert_allclose(trained("rows", 40), kept, rtol=2e-3, atol=1e-5)
    counts = [f.count for family in families._families.values() for f in family.shared._ways.values()]
    assert counts and max(counts) == 1
