"""Steps that draw random numbers are recognised: the numbers are data that each step reads, drawn before it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from tests.test_new_structures import unrecognised

nn: Any = torch.nn
F: Any = nn.functional

ROWS = torch.tensor([[0.5, -1.0, 2.0, 0.25], [1.5, 0.75, -0.5, 1.0], [-2.0, 0.1, 0.3, -0.7]])
PICTURES = torch.linspace(-1, 1, 2 * 2 * 16).reshape(2, 2, 4, 4)
SEQUENCES = torch.linspace(-1, 1, 2 * 3 * 4).reshape(2, 3, 4)


class Applied(nn.Module):
    """A linear layer and a function of what it gives."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.linear, self.function = nn.Linear(4, 4), function

    def forward(self, x: Any) -> Any:
        return self.function(self.linear(x))


class Attentive(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True, **options)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x)[0]


def blurred(h: Any) -> Any:
    return h + torch.empty_like(h).normal_(0, 0.1) + torch.zeros(4).uniform_(-1, 1)


MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "dropout": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 2)), ROWS),
    "dropout of everything": (lambda: Applied(lambda h: F.dropout(h, 1.0) + h), ROWS),
    "dropout of channels": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.Dropout2d(0.4), nn.Flatten()), PICTURES),
    "alpha dropout": (lambda: Applied(lambda h: F.alpha_dropout(h, 0.3, True)), ROWS),
    "dropout twice": (lambda: Applied(lambda h: F.dropout(F.dropout(h, 0.2).tanh(), 0.2)), ROWS),
    "dropout of data": (lambda: Applied(lambda h: h * F.dropout(ROWS)), ROWS),
    "rrelu": (lambda: Applied(lambda h: F.rrelu(h, training=True)), ROWS),
    "gumbel": (lambda: Applied(lambda h: F.gumbel_softmax(h, 0.5)), ROWS),
    "gumbel, one-hot": (lambda: Applied(lambda h: F.gumbel_softmax(h, hard=True) * h * h), ROWS),
    "attention": (lambda: Applied(lambda h: F.scaled_dot_product_attention(h, h, h, dropout_p=0.3)), SEQUENCES),
    "heads": (Attentive, SEQUENCES),
    "heads with more keys": (lambda: Attentive(add_bias_kv=True, add_zero_attn=True), SEQUENCES),
    "recurrent": (lambda: nn.LSTM(4, 3, 2, dropout=0.4), SEQUENCES),
    "noise": (lambda: Applied(lambda h: h + torch.randn_like(h) * (0.5 * h).exp()), ROWS),
    "numbers": (lambda: Applied(lambda h: h * torch.rand(3, 4) + torch.normal(1.0, 0.5, (4,))), ROWS),
    "written": (lambda: Applied(blurred), ROWS),
    "a mean": (lambda: Applied(lambda h: torch.normal(h, 0.1) * h), ROWS),
    "coins": (lambda: Applied(lambda h: h * torch.bernoulli(torch.full((3, 4), 0.5))), ROWS),
    "coins of one probability": (lambda: Applied(lambda h: h * torch.bernoulli(ROWS, 0.25)), ROWS),
    "rows": (lambda: Applied(lambda h: h[torch.randperm(3)] * h[torch.randint(0, 3, (3,))]), ROWS),
}


def train(make: Callable[[], Any], x: Any, steps: int = 12) -> tuple[list[np.ndarray], list[float], int]:
    """Parameters and losses after some steps, and how many traces ran as kernels in the last six."""
    torch.manual_seed(4)
    model = make()
    descent = torch.optim.SGD(model.parameters(), lr=0.05)
    losses, before = [], 0
    for k in range(steps):
        if k == steps - 6:
            before = torch.explain()["replayed"]
        descent.zero_grad()
        made = model(x)
        loss = ((made[0] if isinstance(made, tuple) else made) ** 2).mean()
        loss.backward()
        descent.step()
        losses.append(loss.item())
    return [p.detach().numpy() for p in model.parameters()], losses, torch.explain()["replayed"] - before


@pytest.mark.parametrize("name", MODELS)
def test_a_step_that_draws_runs_as_one_kernel(name: str) -> None:
    make, x = MODELS[name]
    with unrecognised():
        wanted, losses, _ = train(make, x)
    for _ in range(2):
        found, seen, replayed = train(make, x)
        for mine, yours in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, yours, rtol=2e-5, atol=1e-6)
        assert seen == pytest.approx(losses, rel=2e-5)
    assert replayed == 6
    assert len(set(losses)) == len(losses)


def test_what_is_left_out_backward_is_what_was_forward() -> None:
    torch.manual_seed(0)
    seen = set()
    for _ in range(10):
        x = torch.ones(40, requires_grad=True)
        y = F.dropout(x * 3, 0.25)
        y.sum().backward()
        assert x.grad.tolist() == y.tolist() and set(y.tolist()) == {0.0, 4.0}
        seen.add(tuple(y.tolist()))
    assert len(seen) == 10


def test_evaluation_draws_nothing() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.9), nn.AlphaDropout(0.9), nn.RReLU()).eval()
    state = torch.get_rng_state().tolist()
    first = model(ROWS).numpy(force=True)
    for _ in range(4):
        np.testing.assert_allclose(model(ROWS).numpy(force=True), first, rtol=1e-5)
    assert torch.get_rng_state().tolist() == state
    model.train()
    assert model(ROWS).tolist() != model(ROWS).tolist()


def test_numbers_that_were_drawn_stay() -> None:
    torch.manual_seed(1)
    kept = [torch.rand(50) for _ in range(40)]
    before = [x.tolist() for x in kept]
    torch.manual_seed(1)
    assert torch.rand(2000).tolist() == [n for row in before for n in row]
    assert [x.tolist() for x in kept] == before


@pytest.mark.parametrize("draw", [torch.rand, torch.randn])
def test_numpy_and_native_code_draw_the_same(draw: Any) -> None:
    """The first draws of a size run by NumPy, or by code for one draw, the later ones natively."""
    torch.manual_seed(2)
    rows = [draw(7, 3).numpy() for _ in range(60)]
    torch.manual_seed(2)
    again = [draw(21).numpy().reshape(7, 3) for _ in range(60)]
    np.testing.assert_array_equal(rows, again)


def test_a_draw_is_no_part_of_the_trace() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    before = torch.explain()
    drawn = [torch.rand(3), torch.randn_like(y), torch.randint(0, 5, (3,)), torch.randperm(3), torch.rand(3) < 0.5]
    after = torch.explain()
    assert after["cold"] == before["cold"] and after["replayed"] == before["replayed"]
    assert [d.requires_grad for d in drawn] == [False] * 5 and drawn[0].is_leaf
    (y * drawn[0]).sum().backward()
    assert x.grad.tolist() == (2 * drawn[0]).tolist()


def test_a_dropout_in_place_writes() -> None:
    torch.manual_seed(3)
    want = F.dropout(ROWS, 0.5).tolist()
    for _ in range(4):
        torch.manual_seed(3)
        x = ROWS.clone()
        view = x[1]
        assert F.dropout(x, 0.5, inplace=True) is x and x.tolist() == want and view.tolist() == want[1]
        torch.manual_seed(3)
        leaf = ROWS.clone().requires_grad_()
        y = leaf * 1
        F.dropout(y, 0.5, inplace=True).sum().backward()
        assert y.tolist() == want and ((leaf.grad != 0) == (y != 0)).all()
        assert y.grad_fn.name() == "MulBackward0"


def test_a_refused_draw_leaves_the_generator_alone() -> None:
    torch.manual_seed(3)
    want = torch.rand(2).tolist()
    torch.manual_seed(3)
    x = ROWS.clone().requires_grad_()
    half = torch.full((3, 4), 1.5)
    refused: list[Callable[[], Any]] = [
        lambda: x.normal_(), lambda: x.bernoulli_(0.5), lambda: F.dropout(x, 0.5, inplace=True),
        lambda: F.rrelu_(x, training=True), lambda: torch.bernoulli(half), lambda: torch.normal(x, -half),
        lambda: F.scaled_dot_product_attention(x, x[:, :2], x, dropout_p=0.5),
    ]  # fmt: skip
    for call in refused:
        with pytest.raises(RuntimeError):
            call()
    assert torch.rand(2).tolist() == want


def test_transforms_draw_as_before() -> None:
    x = torch.ones(4, 3)
    for _ in range(3):
        torch.manual_seed(5)
        want = F.dropout(torch.ones(3)).tolist()
        torch.manual_seed(5)
        assert (torch.func.grad(lambda v: F.dropout(v).sum())(torch.ones(3))).tolist() == want
        torch.manual_seed(5)
        _, tangent = torch.func.jvp(F.dropout, (torch.ones(3),), (torch.ones(3),))
        assert tangent.tolist() == want
        torch.manual_seed(5)
        same = torch.func.vmap(lambda v: F.dropout(v), randomness="same")(x)
        assert same.tolist() == [want] * 4
        other = torch.func.vmap(torch.func.grad(lambda v: F.dropout(v * v).sum()), randomness="different")(x)
        assert set(other.reshape(-1).tolist()) <= {0.0, 4.0}
        lanes: Any = torch.func.vmap(lambda v: v + torch.rand(3), randomness="different")(x)
        assert len({tuple(row) for row in lanes.tolist()}) == 4
        after = torch.rand(2).tolist()
        with pytest.raises(RuntimeError, match="randomness"):
            torch.func.vmap(lambda v: F.dropout(v))(x)
        assert torch.rand(2).tolist() != after
