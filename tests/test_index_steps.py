"""Training steps that look rows and elements up by index: each is one kernel, and a wrong index is still an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback
from tests.test_new_structures import unrecognised

torch: Any = pullback
F = torch.nn.functional
Loss = Callable[[], Any]


def numbers(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32))


def indices(below: int, *shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).integers(0, below, shape))


def embedded() -> tuple[list[Any], Loss]:
    table, linear = torch.nn.Embedding(10, 3, padding_idx=2), torch.nn.Linear(6, 10)
    x, y = indices(10, 8, 2), indices(10, 4, 2, seed=1)
    return [*table.parameters(), *linear.parameters()], lambda: F.cross_entropy(linear(table(x).flatten(1)), y.view(-1))


def actions_of_rows() -> tuple[list[Any], Loss]:
    model, states, actions, rows = torch.nn.Linear(4, 5), numbers(8, 4), indices(5, 8), torch.arange(8)
    return list(model.parameters()), lambda: -torch.log_softmax(model(states), 1)[rows, actions].mean()


def bags() -> tuple[list[Any], Loss]:
    table, x, starts = torch.nn.EmbeddingBag(10, 3), indices(10, 9), torch.tensor([0, 2, 5])
    return list(table.parameters()), lambda: (table(x, starts) ** 2).mean()


def chosen_actions() -> tuple[list[Any], Loss]:
    model, states, actions, wanted = torch.nn.Linear(4, 5), numbers(8, 4), indices(5, 8), numbers(8)

    def loss() -> Any:
        return F.smooth_l1_loss(model(states).gather(1, actions.unsqueeze(1)).squeeze(1), wanted)

    return list(model.parameters()), loss


def factors() -> tuple[list[Any], Loss]:
    u, v = (torch.nn.Parameter(numbers(n, 3)) for n in (7, 5))
    i, j, r = indices(7, 12), indices(5, 12, seed=1).int(), numbers(12)
    return [u, v], lambda: (((u[i] * v[j]).sum(1) - r) ** 2).mean()


def keys() -> tuple[list[Any], Loss]:
    w = torch.nn.Parameter(numbers(4, 5, 3))
    i, j, k = torch.tensor([0, -1, 2, 0]), torch.tensor([[1], [-5]]), torch.tensor([2, 1])

    def loss() -> Any:
        made = [w[i, j] ** 2, w[:, i].sin(), w[i, :, 1:], w[1, :, k].exp(), w[[0, 3]], w[None, 1, :, k], w[..., k, k]]
        return torch.stack([m.mean() for m in made]).sum()

    return [w], loss


def graph_sums() -> tuple[list[Any], Loss]:
    w, x, at, to = torch.nn.Linear(3, 2), numbers(6, 3), indices(6, 11), indices(6, 11, seed=1)
    each = torch.stack([to, to], 1)

    def loss() -> Any:
        h = w(x)
        added = torch.zeros(6, 2).index_add(0, to, h[at])
        return ((added - torch.zeros(6, 2).scatter_add(0, each, h.index_select(0, at) * 0.5)) ** 2).mean()

    return list(w.parameters()), loss


def written() -> tuple[list[Any], Loss]:
    w, at, rows = torch.nn.Parameter(numbers(4, 3)), torch.tensor([[0], [2], [1], [1]]), torch.tensor([-1, 0])
    return [w], lambda: (w.scatter(1, at, 0.5) ** 2).sum() + w.index_fill(0, rows, 2.0).exp().mean()


def places() -> tuple[list[Any], Loss]:
    w, n, hot = torch.nn.Parameter(numbers(4, 3)), torch.tensor([[0, -1], [5, 5]]), indices(3, 4)
    along = torch.tensor([[0], [-1], [2], [1]])

    def loss() -> Any:
        taken = torch.take(w, n).exp().sum() + torch.take_along_dim(w, along, 1).sin().sum()
        return taken + (w * F.one_hot(hot, 3)).sum()

    return [w], loss


def drawn() -> tuple[list[Any], Loss]:
    model, x, y = torch.nn.Linear(4, 3), torch.from_numpy(numbers(20, 4).numpy().copy()), indices(3, 20)

    def loss() -> Any:
        batch = torch.randperm(20)[:5]
        return F.cross_entropy(model(x[batch]), y.index_select(0, batch))

    return list(model.parameters()), loss


def batches() -> tuple[list[Any], Loss]:
    u, i, r = torch.nn.Parameter(numbers(7, 3)), indices(7, 40), numbers(40)
    start: Iterator[int] = iter(range(0, 4000, 4))

    def loss() -> Any:
        k = next(start) % 40
        return ((u[i[k : k + 4]].sum(1) - r[k : k + 4]) ** 2).mean()

    return [u], loss


MADE = [embedded, actions_of_rows, bags, chosen_actions, factors, keys, graph_sums, written, places, drawn, batches]


def trained(make: Callable[[], tuple[list[Any], Loss]], steps: int = 12) -> tuple[list[Any], int]:
    """The parameters after some steps, and how many traces were replayed in the last six."""
    torch.manual_seed(3)
    parameters, loss = make()
    descent = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    before: dict[str, Any] = {}
    for k in range(steps):
        descent.zero_grad()
        loss().backward()
        descent.step()
        if k == steps - 7:
            before = dict(torch.explain())
    replayed = dict(torch.explain())["replayed"] - before["replayed"]
    return [p.tolist() for p in parameters], replayed


@pytest.mark.parametrize("make", MADE, ids=[m.__name__ for m in MADE])
def test_a_step_is_recognised_and_trains_as_if_it_were_not(make: Callable[[], tuple[list[Any], Loss]]) -> None:
    with unrecognised():
        want, _ = trained(make)
    have, replayed = trained(make)
    assert replayed == 6
    for mine, known in zip(have, want, strict=True):
        np.testing.assert_allclose(mine, known, rtol=2e-5, atol=2e-6)


def test_the_row_of_padding_and_rows_that_are_too_long() -> None:
    for _ in range(5):
        table = torch.nn.Embedding(4, 2, padding_idx=1, max_norm=1.0)
        with torch.no_grad():
            table.weight.fill_(3.0)
        made = table(torch.tensor([[0, 1], [2, 2]]))
        made.sum().backward()
        assert table.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]
        np.testing.assert_allclose(made.norm(dim=-1).tolist(), np.ones((2, 2)), rtol=1e-5)
        assert table.weight[3].tolist() == [3.0, 3.0]


W = numbers(4, 3)


def weights() -> Any:
    return torch.nn.Parameter(W.clone())


def forget_gradient(w: Any) -> None:
    w.grad = None


CALLS: dict[str, tuple[Callable[[Any, Any], Any], list[Any], list[Any], type[Exception]]] = {
    "x[i]": (lambda w, i: w[i], [0, 3, 1], [0, 4, 1], IndexError),
    "x[i] from the end": (lambda w, i: w[i], [0, -4, 1], [0, -5, 1], IndexError),
    "x[:, i]": (lambda w, i: w[:, i], [2, -3], [3, 0], IndexError),
    "x[i, i]": (lambda w, i: w[i, i], [2, 0], [3, 0], IndexError),
    "index_select": (lambda w, i: w.index_select(0, i), [3, 0], [-1, 0], IndexError),
    "index_add": (lambda w, i: w.index_add(0, i, w[:2]), [3, 0], [-1, 0], IndexError),
    "index_fill": (lambda w, i: w.index_fill(0, i, 1.0), [-4, 0], [4, 0], IndexError),
    "take": (lambda w, i: torch.take(w, i), [-12, 11], [12, 0], IndexError),
    "gather": (lambda w, i: w.gather(1, i), [[0, 2]], [[0, -1]], RuntimeError),
    "take_along_dim": (lambda w, i: torch.take_along_dim(w, i, 1), [[0, -3]], [[0, 3]], RuntimeError),
    "scatter": (lambda w, i: w.scatter(1, i, 1.0), [[0, 2]], [[0, 3]], RuntimeError),
    "scatter_add": (lambda w, i: w.scatter_add(1, i, w), [[0, 2]], [[0, 3]], RuntimeError),
    "embedding": (lambda w, i: F.embedding(i, w), [[0, 3]], [[0, 4]], IndexError),
    "one_hot": (lambda w, i: w[:3, 0] * F.one_hot(i, 3), [0, 2, 1], [0, 3, 1], RuntimeError),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_bad_index_in_a_later_call_raises(name: str) -> None:
    call, good, bad, error = CALLS[name]
    w = weights()

    def step(i: Any) -> Any:
        forget_gradient(w)
        made = call(w, i)
        (made * made).sum().backward()
        return made.tolist(), w.grad.tolist()

    with unrecognised():
        want = step(torch.tensor(good)), step(torch.tensor(good) * 0)
    for k in range(12):
        i = torch.tensor(good)
        if k % 3 == 2:
            with pytest.raises(error):
                step(torch.tensor(bad))
            assert step(i * 0) == want[1]
        else:
            assert step(i.int() if k == 7 and name not in ("one_hot", "take") else i) == want[0]


def test_an_index_that_is_written_to_is_asked_again() -> None:
    w = weights()
    i = torch.tensor([0, 1])
    for k in range(9):
        forget_gradient(w)
        w[i].sum().backward()
        assert w.grad.sum().item() == 6.0
        i.copy_(torch.tensor([k % 4, 3]))
    i[0] = 4
    with pytest.raises(IndexError):
        w[i]


def test_an_index_that_was_right_at_one_place_is_asked_again_at_another() -> None:
    i, j, w = torch.tensor([3, 0]), torch.tensor([2, 1]), torch.nn.Parameter(W.clone())
    for _ in range(6):
        assert w[i, j].tolist() == [W[3, 2].item(), W[0, 1].item()]
    for _ in range(3):
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 1"):
            w[j, i]
        with pytest.raises(IndexError):
            w[i.detach(), i]


def test_what_is_looked_up_in_known_data_is_known_and_its_own() -> None:
    source = np.arange(12.0).reshape(4, 3)
    for x in (torch.from_numpy(source.copy()), torch.tensor(source), torch.tensor(source.T.copy()).t()):
        for i in (torch.tensor([2, -1]), torch.tensor([[0, 1], [3, 3]]), torch.tensor([], dtype=torch.int64)):
            for made, wanted in ((x[i], source[i.numpy()]), (x[1:, i % 3], source[1:, i.numpy() % 3])):
                assert made._cell.array is not None
                assert made.tolist() == wanted.tolist() and made._base is None and made.grad_fn is None
                made += 1
        assert x.tolist() == source.tolist()
        with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
            x[torch.tensor([4])]
        assert x[x > 4].tolist() == source[source > 4].tolist()


def test_adding_to_rows_of_integers_and_truth_values() -> None:
    rows = torch.tensor([0, 0, 2])
    whole = torch.zeros(3, dtype=torch.int64)
    assert whole.index_add(0, rows, torch.tensor([1, 2, 3])).tolist() == [3, 0, 3]
    assert whole.scatter_add(0, rows, torch.tensor([1, 2, 3])).tolist() == [3, 0, 3]
    assert torch.index_put(whole, (rows,), torch.tensor(2), True).tolist() == [4, 0, 2]
    assert (whole > 0).index_add(0, rows, torch.tensor([True, True, False])).tolist() == [True, False, False]


def test_a_mask_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(IndexError, match="mask"):
        torch.zeros(4, 3)[torch.tensor([True, False, True])]
