"""Sparse Tensors have the numbers of dense ones: products, sums, gradients of entries and dense sides, optimisers."""

import pickle
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import nn

AT = torch.tensor([[0, 1, 1, 2, 1], [2, 0, 2, 1, 0]])
X = torch.linspace(-1.0, 1.0, 6, dtype=torch.float64).reshape(3, 2)


def entries() -> Any:
    return torch.tensor([1.0, 2.0, 3.0, 4.0, 0.5], dtype=torch.float64, requires_grad=True)


def matrix(values: Any) -> Any:
    return torch.sparse_coo_tensor(AT, values, (3, 3))


def dense(values: Any) -> Any:
    return torch.zeros(3, 3, dtype=torch.float64).index_put((AT[0], AT[1]), values, accumulate=True)


@pytest.mark.parametrize("function", [
    lambda a, x: a @ x, lambda a, x: torch.mm(a, x), lambda a, x: torch.matmul(a, x), lambda a, x: a.mm(x),
    lambda a, x: a @ x[:, 0], lambda a, x: a.t() @ x, lambda a, x: x.T @ a, lambda a, x: a.T @ x,
    lambda a, x: torch.addmm(x, a, x, beta=0.5, alpha=2.0), lambda a, x: (a * 3.0).to_dense() @ x,
    lambda a, x: (-a / 2).to_dense(), lambda a, x: (a + a).to_dense() * x[0, 0],
    lambda a, x: (a.coalesce() if a.is_sparse else a) @ x,
    lambda a, x: x @ x.T + a, lambda a, x: torch.sum(a) * x, lambda a, x: (a * (x @ x.T)).to_dense(),
    lambda a, x: a.to(torch.float64).clone() @ x, lambda a, x: (a - a * 0.5).to_dense() @ x,
    lambda a, x: (a @ a * x[0, 1]).to_dense(), lambda a, x: torch.sum(a @ a.t() @ a) * x, lambda a, x: a @ a @ x,
])  # fmt: skip
def test_as_the_dense_matrix_to_second_order(function) -> None:
    found = []
    for made in (matrix, dense):
        v, x = entries(), X.clone().requires_grad_()
        y = function(made(v), x)
        first = torch.autograd.grad((y**3).sum(), (v, x), create_graph=True, allow_unused=True)
        used = [g for g in first if g is not None and g.requires_grad]
        second = torch.autograd.grad([(g**2).sum() for g in used], v) if used else ()
        found.append([t.detach().numpy() for t in (y, *first, *second) if t is not None])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_layouts_are_pickled_as_their_names() -> None:
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.strided, torch.channels_last):
        assert pickle.loads(pickle.dumps(layout)) is layout


def test_rows_and_coordinates() -> None:
    a: Any = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], requires_grad=True)
    s: Any = a.to_sparse()
    r: Any = a.to_sparse_csr()
    assert s.is_sparse and s.layout is torch.sparse_coo and s.is_coalesced() and isinstance(s, torch.Tensor)
    assert s.indices().tolist() == [[0, 1, 1], [1, 0, 2]] and s.values().tolist() == [1, 2, 3] and s._nnz() == 3
    assert r.layout is torch.sparse_csr and r.crow_indices().tolist() == [0, 1, 3]
    assert r.col_indices().tolist() == [1, 0, 2] and r.values().tolist() == [1, 2, 3]
    again = torch.sparse_csr_tensor(r.crow_indices(), r.col_indices(), r.values(), (2, 3))
    assert torch.equal(again.to_dense(), a) and torch.equal(again.to_sparse().to_dense(), a)
    (s @ torch.ones(3, 1)).square().sum().backward()
    assert a.grad.tolist() == [[0, 2, 0], [10, 0, 10]]
    assert torch.equal(torch.ones(2, 3).sparse_mask(s).to_dense(), a.detach().ne(0).float())
    assert list(s.shape) == [2, 3] and s.dtype is torch.float32 and (s.sparse_dim(), s.dense_dim()) == (2, 0)
    assert torch.sparse_coo_tensor((2, 3)).to_dense().tolist() == [[0, 0, 0]] * 2


def test_gradient_of_a_leaf_is_sparse() -> None:
    a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2), requires_grad=True)
    torch.sparse.sum(a).backward()
    assert a.grad.is_sparse and a.grad.to_dense().tolist() == [[0, 1], [1, 0]]


def test_softmax_of_entries() -> None:
    a: Any = matrix(entries())
    want = torch.softmax(a.to_dense().masked_fill(a.to_dense() == 0, -np.inf), 1)
    np.testing.assert_allclose(torch.sparse.softmax(a, 1).to_dense().detach(), want.detach(), rtol=1e-14)
    logs = torch.sparse.log_softmax(a, 1).to_dense().detach()
    np.testing.assert_allclose(logs.exp()[want > 0], want.detach()[want > 0], rtol=1e-14)
    assert torch.sparse.sum(a, 1).to_dense().tolist() == a.to_dense().sum(1).tolist()


def table(sparse: bool, **options) -> nn.Embedding:
    torch.manual_seed(3)
    return nn.Embedding(6, 3, sparse=sparse, **options).double()


@pytest.mark.parametrize("padding", [None, 1])
def test_rows_of_a_table(padding) -> None:
    index = torch.tensor([[1, 1, 4], [0, 1, 4]])
    one, other = table(True, padding_idx=padding), table(False, padding_idx=padding)
    for e in (one, other):
        for _ in range(2):
            (e(index) ** 2).sum().backward()
    assert one.weight.grad.is_sparse and not one.weight.grad.is_coalesced()
    np.testing.assert_array_equal(one.weight.grad.to_dense(), other.weight.grad)
    (found,) = torch.autograd.grad(one(index).sum(), one.weight)
    assert found.is_sparse and found._nnz() == (6 if padding is None else 3)
    (one(index).sum() + (one.weight**2).sum()).backward()  # and dense ones added to it
    assert not one.weight.grad.is_sparse and one.weight.grad.shape == (6, 3)
    w = torch.ones(6, 3, requires_grad=True)  # of a table that was computed the gradient is dense
    nn.functional.embedding(index, w * 2.0, sparse=True).sum().backward()
    assert w.grad.tolist() == [[2.0] * 3, [6.0] * 3, [0.0] * 3, [0.0] * 3, [4.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(mode) -> None:
    found = []
    for sparse in (True, False):
        torch.manual_seed(0)
        bag = nn.EmbeddingBag(5, 2, mode=mode, sparse=sparse).double()
        (bag(torch.tensor([0, 1, 1, 4]), torch.tensor([0, 3])) ** 2).sum().backward()
        found.append(bag.weight.grad.to_dense().numpy())
    np.testing.assert_allclose(*found, rtol=1e-14)


def test_optimisers_move_the_rows_that_are_named() -> None:
    e, other = table(True), table(False)
    one, dense_one = torch.optim.SGD(e.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)
    for k in range(4):
        for model, descent in ((e, one), (other, dense_one)):
            descent.zero_grad()
            (model(torch.tensor([k, k, 5])) ** 3).sum().backward()
            descent.step()
    np.testing.assert_allclose(e.weight.detach(), other.weight.detach(), rtol=1e-13)
    e, before = table(True), table(True).weight.detach().clone()
    adam, dense_adam = torch.optim.SparseAdam(e.parameters(), lr=0.1), torch.optim.Adam(other.parameters(), lr=0.1)
    other.load_state_dict(e.state_dict())
    for _ in range(5):  # rows named each time move as Adam moves them
        for model, descent in ((e, adam), (other, dense_adam)):
            descent.zero_grad()
            (model(torch.tensor([2, 2, 5])) ** 3).sum().backward()
            descent.step()
    np.testing.assert_allclose(e.weight.detach()[[2, 5]], other.weight.detach()[[2, 5]], rtol=1e-4)
    np.testing.assert_array_equal(e.weight.detach()[[0, 1, 3, 4]], before[[0, 1, 3, 4]])


def refused_adam() -> None:
    e = table(True)
    e(torch.tensor([0])).sum().backward()
    torch.optim.Adam(e.parameters()).step()


@pytest.mark.parametrize("shapes", [(7, 5, 6), (1, 4, 1), (3, 2, 9)])
@pytest.mark.parametrize("by_rows", [False, True])
def test_products_of_sparse_matrices_are_sparse(shapes: tuple[int, int, int], by_rows: bool) -> None:
    rng, (n, k, m) = np.random.default_rng(4), shapes
    a, b = (torch.tensor(rng.normal(size=s) * (rng.random(s) < 0.4)) for s in ((n, k), (k, m)))
    sides = [x.to_sparse_csr() if by_rows else x.to_sparse() for x in (a, b)]
    made = torch.sparse.mm(*sides)
    assert made.layout is sides[0].layout and made.is_coalesced() and tuple(made.shape) == (n, m)
    np.testing.assert_allclose(made.to_dense().numpy(), (a @ b).numpy(), atol=1e-14)
    meet = torch.ne(a, 0).double() @ torch.ne(b, 0).double()
    assert made._nnz() == int((meet > 0).sum())  # as PyTorch's, also where a sum is zero


def refused_dense() -> None:
    w = torch.ones(2, requires_grad=True)
    w.sum().backward()
    torch.optim.SparseAdam([w]).step()


@pytest.mark.parametrize(("call", "error", "said"), [
    (lambda: matrix(entries()) @ matrix(entries()).to_sparse_csr(), RuntimeError, "layouts.*to_sparse_csr"),
    (lambda: matrix(entries()) @ matrix(entries()).float(), RuntimeError, "same dtype"),
    (lambda: matrix(entries()) @ torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 3)).double(), RuntimeError,
     "cannot be multiplied .3x3 and 2x3"),
    (lambda: matrix(entries()) @ torch.sparse_coo_tensor([[0]], torch.ones(1, 3), (3, 3)), NotImplementedError,
     "two matrices of numbers.*to_dense"),
    (lambda: torch.cos(matrix(entries())), NotImplementedError, "cos .*to_dense"),
    (lambda: torch.nn.functional.softmax(matrix(entries()), 1), NotImplementedError, "to_dense"),
    (lambda: matrix(entries()).reshape(9), NotImplementedError, "to_dense"),
    (lambda: matrix(entries()).numpy(), TypeError, "to_dense"),
    (lambda: matrix(entries()) + 1.0, NotImplementedError, "every place"),
    (lambda: matrix(entries()) + X @ X.T, RuntimeError, "dense, sparse"),
    (lambda: matrix(entries()).indices(), RuntimeError, "coalesce"),
    (lambda: matrix(entries()) @ X.float(), RuntimeError, "same dtype"),
    (lambda: matrix(entries()) @ X[:2], RuntimeError, "cannot be multiplied"),
    (lambda: torch.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (2,)), RuntimeError, "found index 3"),
    (lambda: torch.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,)), RuntimeError, "negative index -1"),
    (lambda: torch.sparse_coo_tensor([[0, 1]], [1.0], (2,)), RuntimeError, "same nnz"),
    (lambda: torch.sparse_coo_tensor([[0.5]], [1.0]), RuntimeError, "int64"),
    (lambda: torch.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0]), RuntimeError, "crow_indices"),
    (lambda: torch.sparse_csr_tensor([0, 1], [5], [1.0], (1, 3)), RuntimeError, "does not fit"),
    (refused_adam, RuntimeError, "Adam does not support sparse gradients"),
    (refused_dense, RuntimeError, "SparseAdam does not support dense"),
])  # fmt: skip
def test_refusals(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call()
