"""Programs with sparse Tensors give torch's numbers: layouts, products, gradients, tables and graph layers."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback

AT = [[0, 1, 1, 2], [2, 0, 2, 1]]


def matrix(t: Any) -> Any:
    """Entries that require a gradient, and the matrix of them."""
    v = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    return v, t.sparse_coo_tensor(AT, v, (3, 3))


PRODUCTS: dict[str, Callable[..., Any]] = {
    "sparse.mm": lambda t, a, b: t.sparse.mm(a, b),
    "matmul": lambda t, a, b: a @ b,
    "spmm": lambda t, a, b: t.spmm(a, b),
    "sparse.addmm": lambda t, a, b: t.sparse.addmm(t.ones(3, 2), a, b, beta=0.5, alpha=2.0),
    "turned": lambda t, a, b: a.t() @ b,
    "scaled": lambda t, a, b: (a * 2).to_dense() @ b,
    "added": lambda t, a, b: (a + a).to_dense() @ b,
    "to a dense one": lambda t, a, b: (t.ones(3, 3) + a) @ b,
    "coalesced": lambda t, a, b: a.coalesce() @ b,
    "sums": lambda t, a, b: t.sparse.sum(a, 1).to_dense() * t.sparse.sum(a) + b.sum(),
    "two sparse ones": lambda t, a, b: (a @ a).to_dense() @ b + t.sparse.sum(t.sparse.mm(a, a)),
    "three sparse ones": lambda t, a, b: t.mm(t.matmul(a, a), a) @ b,
    "softmax": lambda t, a, b: t.sparse.softmax(a, 1).to_dense() @ b,
    "log_softmax": lambda t, a, b: t.sparse.log_softmax(a, 0).coalesce().values() * b.sum(),
}


def product(t: Any, name: str) -> list[Any]:
    v, a = matrix(t)
    b = t.linspace(-1.0, 1.0, 6).reshape(3, 2).requires_grad_()
    y = PRODUCTS[name](t, a, b)
    (y**2).sum().backward()
    return [y, v.grad, b.grad]


def layouts(t: Any) -> list[Any]:
    d = t.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], requires_grad=True)
    s, r = d.to_sparse(), d.detach().to_sparse_csr()
    t.sparse.mm(s, t.eye(3)).square().sum().backward()
    u = t.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0])
    leaf = t.sparse_coo_tensor(AT, [1.0, 2.0, 3.0, 4.0], (3, 3), requires_grad=True)
    t.sparse.mm(leaf, t.ones(3, 2)).square().sum().backward()
    told = [s.is_sparse, s.is_coalesced(), s._nnz(), s.sparse_dim(), s.dense_dim(), u.is_coalesced(), leaf.is_leaf]
    return [
        s.indices(), s.values(), d.grad, r.crow_indices(), r.col_indices(), r.values(), r @ t.ones(3, 1), u.to_dense(),
        u.coalesce().values(), leaf.grad.to_dense(), t.tensor(told), t.tensor([str(r.layout) == "torch.sparse_csr"]),
    ]  # fmt: skip


def trained(t: Any, kind: str, bags: bool) -> list[Any]:
    t.manual_seed(1)
    table = t.nn.EmbeddingBag(10, 4, sparse=True) if bags else t.nn.Embedding(10, 4, sparse=True, padding_idx=2)
    w, optimizer, losses = t.randn(4), getattr(t.optim, kind)(table.parameters(), lr=0.1), []
    for _ in range(20):
        x = t.randint(10, (3, 5))
        loss = ((table(x) @ w - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [t.tensor(losses), table.weight, table.weight.grad.to_dense(), t.tensor([table.weight.grad._nnz()])]


def graph_layers(t: Any) -> list[Any]:
    t.manual_seed(2)
    adjacent = t.sparse_coo_tensor(t.randint(20, (2, 60)), t.ones(60), (20, 20)).coalesce()
    degree = t.sparse.sum(adjacent, 1).to_dense().clamp(min=1)
    weights = adjacent.values() / degree[adjacent.indices()[0]]
    adjacent = t.sparse_coo_tensor(adjacent.indices(), weights, (20, 20))
    one, two = t.nn.Linear(4, 8), t.nn.Linear(8, 3)
    optimizer = t.optim.Adam([*one.parameters(), *two.parameters()], lr=0.05)
    x, y, losses = t.randn(20, 4), t.randint(3, (20,)), []
    for _ in range(20):
        out = t.spmm(adjacent, two(t.relu(t.spmm(adjacent, one(x)))))
        loss = t.nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [t.tensor(losses)]


CASES: dict[str, Callable[[Any], list[Any]]] = {
    **{name: lambda t, name=name: product(t, name) for name in PRODUCTS},
    "layouts": layouts,
    "a table by SparseAdam": lambda t: trained(t, "SparseAdam", False),
    "a table by SGD": lambda t: trained(t, "SGD", False),
    "bags by SparseAdam": lambda t: trained(t, "SparseAdam", True),
    "bags by SGD": lambda t: trained(t, "SGD", True),
    "graph layers": graph_layers,
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_torch(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [[None if x is None else x.detach().numpy() for x in CASES[name](t)] for t in (pullback, torch)]
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-6)


def older(t: Any) -> list[Any]:
    at, v = t.tensor(AT), t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    of = t.sparse
    made = [
        of.FloatTensor(at, v, t.Size([3, 3])), of.FloatTensor(at, v), of.DoubleTensor(at, v.double(), (4, 3)),
        of.LongTensor(at, v.detach().long(), (3, 3)), of.FloatTensor(3, 2), of.FloatTensor(),
        of.FloatTensor(t.Size([2, 2])),
    ]  # fmt: skip
    t.spmm(made[0], t.eye(3)).square().sum().backward()
    told = [isinstance(m, k) for m in (*made, v, by_rows(t)) for k in (of.FloatTensor, of.DoubleTensor, of.LongTensor)]
    return [*(m.to_dense() for m in made), v.grad, t.tensor(told), t.tensor([m._nnz() for m in made])]


def by_rows(t: Any) -> Any:
    return t.eye(2).to_sparse_csr()


@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor", "ignore:Sparse CSR tensor")
def test_older_classes() -> None:
    for mine, yours in zip(older(pullback), older(torch), strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), yours.detach().numpy())
        assert str(mine.dtype).endswith(str(yours.dtype).split(".")[1])
    at = pullback.tensor(AT)
    with pytest.raises(RuntimeError, match=r"expected indices of dtype torch.int64 but found torch.int32"):
        pullback.sparse.FloatTensor(at.int(), pullback.ones(4))
    with pytest.raises(TypeError, match=r"takes two Tensors, indices and values, and a size; .* got \(list\)"):
        pullback.sparse.FloatTensor([[1.0]])


def printed(t: Any) -> list[str]:
    rng = np.random.default_rng(0)
    places, values = t.tensor(rng.integers(0, 12, (2, 30))), t.tensor(rng.normal(size=30).astype(np.float32))
    two = t.tensor([[0, 1], [1, 0]])
    made = [
        t.sparse_coo_tensor(places, values, (12, 12)), t.sparse_coo_tensor(places, values, (12, 12)).coalesce(),
        t.eye(3).to_sparse(), t.eye(3).to_sparse_csr(), t.ones(12, 12).to_sparse_csr(),
        t.sparse_coo_tensor(two[:1], t.ones(2, 9), (3, 9)), t.sparse_coo_tensor(two, t.tensor([1, 2]), (2, 2)),
        t.sparse_coo_tensor(two, t.ones(2, dtype=t.float64), (2, 2)),
        t.sparse_coo_tensor(two, t.ones(2), (2, 2), requires_grad=True),
        t.sparse_coo_tensor(two, t.ones(2), (2, 2), requires_grad=True) * 2,
        t.sparse_coo_tensor(two[:, :0], t.ones(0), (2, 2)),
    ]  # fmt: skip
    return [repr(x) for x in made]


def test_printing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that rows are in beta
        assert printed(pullback) == printed(torch)
