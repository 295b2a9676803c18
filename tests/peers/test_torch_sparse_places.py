"""Parts, joins and products by place of sparse tensors, and what refuses, as torch has them."""

from typing import Any

import pytest
import torch

import pullback

BOTH = pytest.mark.parametrize("t", [torch, pullback], ids=["torch", "pullback"])
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:.*sparse")
PLACES = [[0, 1, 1, 2, 2], [2, 0, 0, 1, 2]]
VALUES = [1.5, -2.0, 0.25, 4.0, -1.0]


def made(t: Any, values: Any = None) -> Any:
    given = t.tensor(VALUES, dtype=t.float64) if values is None else values
    return t.sparse_coo_tensor(t.tensor(PLACES), given, (3, 4))


def dense(x: Any) -> Any:
    return (x if x.layout in (torch.strided, pullback.strided) else x.to_dense()).tolist()


ASKED = {
    "select": lambda t, s: s.select(0, 1), "select of a column": lambda t, s: s.select(1, -4),
    "one row": lambda t, s: s[2],
    "index_select": lambda t, s: s.index_select(0, t.tensor([2, 0, 2])),
    "index_select of columns": lambda t, s: t.index_select(s, 1, t.tensor([2, 0])),
    "cat": lambda t, s: t.cat([s, s], 1), "stack": lambda t, s: t.stack([s, 2 * s]),
    "unsqueeze": lambda t, s: s.unsqueeze(1),
    "permute": lambda t, s: s.permute(1, 0), "mul": lambda t, s: s * s.t().t() * s.coalesce(),
    "mul of others": lambda t, s: s * t.eye(3, 4, dtype=t.float64).to_sparse(), "pow": lambda t, s: s.pow(2),
    "norm": lambda t, s: s.norm(), "rows": lambda t, s: t.stack([s[k].to_dense() for k in range(3)]),
    "bmm": lambda t, s: t.bmm(t.stack([s, s]), t.arange(16.0, dtype=t.float64).reshape(2, 4, 2)),
    "csr": lambda t, s: s.to_sparse_csr() * s.to_sparse_csr(),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_values(name: str) -> None:
    found = [dense(ASKED[name](t, made(t))) for t in (torch, pullback)]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [n for n in ASKED if n not in {"mul", "mul of others", "csr", "rows"}])
def test_gradients_are_those_of_the_dense_tensor(name: str) -> None:
    """PyTorch has none for most of them."""
    t, slopes = pullback, []
    for sparsely in (True, False):
        values = t.tensor(VALUES, dtype=t.float64, requires_grad=True)
        held = made(t, values) if sparsely else t.zeros(3, 4, dtype=t.float64).index_put(
            tuple(map(t.tensor, PLACES)), values, accumulate=True
        )  # fmt: skip
        result = ASKED[name](t, held)
        whole = result.to_dense() if result.layout is not t.strided else result
        weights = t.arange(1.0, 1 + whole.numel(), dtype=t.float64).reshape(whole.shape)
        (whole * weights).sum().backward()
        slopes.append(values.grad.tolist())
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-12)


@BOTH
def test_without_entries(t: Any) -> None:
    empty = t.sparse_coo_tensor(size=(2, 3))
    assert empty.to_dense().tolist() == [[0] * 3] * 2 and t.cat([empty, empty]).shape == (4, 3)


@BOTH
def test_refused(t: Any) -> None:
    s = made(t)
    for wrong, kind in [
        (lambda: s.numpy(), TypeError), (lambda: s.select(0, 3), IndexError), (lambda: s.select(2, 0), IndexError),
        (lambda: t.cat([s, s.t()]), RuntimeError),
        (lambda: t.cat([s, s.to_dense()]), RuntimeError),
    ]:  # fmt: skip
        with pytest.raises(kind):
            wrong()


@BOTH
def test_adagrad_moves_the_rows_of_a_sparse_gradient(t: Any) -> None:
    table = t.nn.Embedding(4, 2, sparse=True, dtype=t.float64)
    table.weight.data.copy_(t.arange(8.0).reshape(4, 2))
    moving = t.optim.Adagrad(table.parameters(), lr=0.5, lr_decay=0.1)
    for _ in range(3):
        moving.zero_grad()
        table(t.tensor([1, 3, 1])).pow(2).sum().backward()
        moving.step()
    rows = table.weight.tolist()
    assert rows[0] == [0, 1] and rows[2] == [4, 5]
    assert [round(v, 10) for v in rows[1] + rows[3]] == MOVED
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        t.optim.Adagrad(table.parameters(), weight_decay=0.1).step()


MOVED = [1.0436588978, 2.0038591871, 4.9687481521, 5.9640995617]


@BOTH
def test_divergences_of_continuous_bernoulli_distributions(t: Any) -> None:
    d = t.distributions
    p, q = d.ContinuousBernoulli(t.tensor(0.3, dtype=t.float64)), d.ContinuousBernoulli(t.tensor(0.8, dtype=t.float64))
    one = t.tensor(1.0, dtype=t.float64)
    pairs = [(p, q), (p, d.Normal(0 * one, 2 * one)), (p, d.Exponential(2 * one)), (d.Beta(2 * one, 3 * one), q)]
    for a, b in pairs:
        x = (t.arange(20_000, dtype=t.float64) + 0.5) / 20_000
        log = a.log_prob(x)
        gap = (log.exp() * (log - b.log_prob(x))).mean()
        assert d.kl_divergence(a, b).item() == pytest.approx(gap.item(), rel=1e-6)
    assert d.kl_divergence(d.Normal(0 * one, one), p).item() == float("inf")
    assert d.kl_divergence(p, d.Pareto(one, one)).item() == float("inf")


def test_a_uniform_range_that_fits_is_finite() -> None:
    """PyTorch says that it is infinite where the ends are the same."""
    d, one = pullback.distributions, pullback.tensor(1.0, dtype=pullback.float64)
    p = d.ContinuousBernoulli(0.3 * one)
    assert d.kl_divergence(p, d.Uniform(0 * one, one)).item() == pytest.approx(-p.entropy().item())
    assert d.kl_divergence(d.Uniform(0 * one, one), p).item() == pytest.approx(0.029736123, rel=1e-6)
    assert d.kl_divergence(d.Uniform(-1 * one, one), p).item() == float("inf")


@BOTH
def test_functions_at_the_top_level(t: Any) -> None:
    """Losses that are not reduced unless a number says so, whatever their documentation says; strides."""
    x, y = t.tensor([[0.2, 0.4], [0.6, 0.3]]), t.tensor([[0.1, 0.5], [0.3, 0.3]])
    sign = t.ones(2)
    assert t.kl_div(x, y).shape == (2, 2) and t.kl_div(x, y, 1).shape == ()
    assert t.binary_cross_entropy_with_logits(x, y).shape == (2, 2)
    assert t.hinge_embedding_loss(x, y).shape == (2, 2) and t.margin_ranking_loss(x, y, t.ones(2, 2)).shape == (2, 2)
    assert t.cosine_embedding_loss(x, y, sign).shape == (2,) and t.triplet_margin_loss(x, y, x).shape == (2,)
    assert t.ctc_loss(t.zeros(4, 1, 3), t.tensor([[1, 2]]), (4,), (2,)).shape == (1,)
    values, places = t.adaptive_max_pool1d(t.tensor([[1.0, 3, 2, 0]]), 2)
    assert values.tolist() == [[3, 2]] and places.tolist() == [[1, 2]]
    assert t.empty_strided((2, 3), (1, 2)).stride() == (1, 2) and t.empty_strided((2, 2), (10, 1)).stride() == (10, 1)
    assert x.new_empty_strided((2, 2), (1, 2)).t().is_contiguous()
    assert t.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)
    with pytest.raises(RuntimeError, match="strides"):
        t.empty_strided((2, 3), (1,))
    assert repr(t.nn.Linear(1, 1, bias=False).state_dict()).startswith("OrderedDict(")
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'target'"):
        t.nn.functional.soft_margin_loss(x, y.requires_grad_())
