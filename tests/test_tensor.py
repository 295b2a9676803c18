"""What a Tensor does: leaves and gradients, views and writing, dtypes, errors from the line that is wrong."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import pullback as torch


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def forget(x: Any) -> None:
    x.grad = None


# ---- gradients


def test_gradients_add_up_until_they_are_zeroed() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    held = x.grad
    x.grad.zero_()
    assert held.tolist() == [0.0, 0.0]
    (x * x).sum().backward()
    assert held.tolist() == [2.0, 4.0], "accumulation writes into the grad that is there"


def test_a_second_backward_needs_the_graph() -> None:
    x = leaf(1.0, 2.0)
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match=r"a second time.*retain_graph=True"):
        z.backward()


def test_a_graph_that_saved_no_tensor_can_be_walked_again() -> None:
    x = leaf(1.0, 2.0)
    z = (1 - x.reshape(2, 1)).sum()
    z.backward()
    z.backward()
    assert x.grad.tolist() == [-2.0, -2.0]
    for twice in ((x * 2).sum(), (x / 2).sum()):  # PyTorch has saved the number, as a tensor
        twice.backward()
        with pytest.raises(RuntimeError, match="a second time"):
            twice.backward()


def test_backward_of_more_than_one_element_needs_a_weight() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * x).backward()
    with pytest.raises(RuntimeError, match=r"torch.Size\(\[3\]\).*torch.Size\(\[2\]\)"):
        (x * x).backward(torch.ones(3))
    with pytest.raises(TypeError, match="Tensors or None, but got list"):
        (x * x).backward([1.0, 1.0])
    (x * x).backward(torch.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_backward_without_a_graph() -> None:
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.ones(3).sum().backward()


def test_only_leaves_have_gradients() -> None:
    x = leaf(1.0, 2.0)
    z = x * x
    z.sum().backward()
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert z.grad is None
    z = x * x
    z.retain_grad()
    (z * z).sum().backward()
    assert z.grad.tolist() == [2.0, 8.0] and z.retains_grad
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        torch.ones(2).retain_grad()


def test_what_requires_a_gradient() -> None:
    x, c = leaf(1.0, 2.0), torch.ones(2)
    assert x.is_leaf and c.is_leaf and not c.requires_grad and x.grad_fn is None
    z = x + c
    assert z.requires_grad and not z.is_leaf
    assert not (x > 0).requires_grad and not x.argmax().requires_grad
    assert not z.detach().requires_grad and z.detach().is_leaf
    with pytest.raises(RuntimeError, match="leaf variables"):
        z.requires_grad_(False)
    with pytest.raises(RuntimeError, match="floating point"):
        torch.arange(3).requires_grad_()
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([1], requires_grad=True)
    x.requires_grad = False
    assert not (x + c).requires_grad


def test_modes_nest_and_decorate() -> None:
    x = leaf(1.0)

    @torch.no_grad()
    def quiet() -> Any:
        with torch.enable_grad():
            inner = x * 2
        return x * 2, inner

    outer, inner = quiet()
    assert not outer.requires_grad and inner.requires_grad and torch.is_grad_enabled()
    plain = torch.no_grad(lambda: x * 2)
    assert not plain().requires_grad
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_only_wanted_gradients() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [3.0, 4.0] and y.grad is None
    (gx, gy) = torch.autograd.grad((x * y).sum(), [x, y])
    assert gx.tolist() == [3.0, 4.0] and gy.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [3.0, 4.0], "grad() touches no .grad"
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        torch.autograd.grad(x.sum(), y)
    assert torch.autograd.grad(x.sum(), y, allow_unused=True) == (None,)
    (zeros,) = torch.autograd.grad(x.sum(), y, allow_unused=True, materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0]
    z = x * y
    assert torch.autograd.grad(z.exp().sum(), z)[0].tolist() == z.exp().tolist()


def test_gradients_of_gradients() -> None:
    x: Any = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(h.sum(), x)
    np.testing.assert_allclose(g.detach().numpy(), 3 * np.array([0.3, -1.2]) ** 2, rtol=1e-14)
    np.testing.assert_allclose(h.detach().numpy(), 6 * np.array([0.3, -1.2]), rtol=1e-14)
    assert third.tolist() == [6.0, 6.0] and not third.requires_grad
    (x.tanh() ** 2).sum().backward(create_graph=True)
    first = x.grad
    forget(x)
    first.sum().backward()
    t = np.tanh(np.array([0.3, -1.2]))
    np.testing.assert_allclose(x.grad.numpy(), (1 - t**2) * (2 - 6 * t**2), rtol=1e-12)


def test_a_masked_branch_that_is_computed_gives_what_pytorch_gives() -> None:
    x = leaf(0.0, 4.0)
    torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
    assert np.isnan(x.grad.tolist()[0]) and x.grad.tolist()[1] == 0.25


def test_kinks() -> None:
    x = leaf(0.0, 1.0, -1.0)
    (x.relu() + x.abs() + x.clamp(0, 1)).sum().backward()
    assert x.grad.tolist() == [1.0, 3.0, -1.0]
    y: Any = leaf(1.0, 3.0, 3.0)
    y.max().backward()
    assert y.grad.tolist() == [0.0, 0.5, 0.5]
    forget(y)
    y.max(0).values.backward()
    assert y.grad.tolist() == [0.0, 1.0, 0.0]
    z: Any = torch.zeros(2, requires_grad=True)
    z.norm().backward()
    assert z.grad.tolist() == [0.0, 0.0]


def test_grad_can_be_assigned() -> None:
    x = leaf(1.0, 2.0)
    x.grad = torch.ones(2)
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"size '\[3\]' to a tensor of size '\[2\]'"):
        x.grad = torch.ones(3)
    with pytest.raises(TypeError, match="Tensor or None"):
        x.grad = 3.0
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = torch.ones(2, dtype=torch.float64)
    del x.grad
    assert x.grad is None


def test_floor_division_has_no_derivative() -> None:
    z = (leaf(3.0) // 2).sum()
    with pytest.raises(RuntimeError, match="derivative of floor_divide"):
        z.backward()


# ---- writing


def test_a_leaf_is_not_written_to_where_gradients_are_kept() -> None:
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.__setitem__(0, 1.0), lambda: x[0].fill_(1)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    with torch.no_grad():
        x -= 1
    assert x.tolist() == [0.0, 1.0] and x.is_leaf and x.requires_grad


def test_writing_keeps_the_history_right() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = x.clone()
    before = 2 * z
    z.mul_(y)
    z += 1
    (z + before).sum().backward()
    assert z.tolist() == [4.0, 9.0]
    assert x.grad.tolist() == [5.0, 6.0] and y.grad.tolist() == [1.0, 2.0]


def test_views_share_what_is_written() -> None:
    z = torch.zeros(2, 3)
    row, column, flat = z[1], z.t()[0], z.view(-1)
    row += 1
    column[0] = 5
    flat[5] = 7
    z[0, 2] = -1
    assert z.tolist() == [[5.0, 0.0, -1.0], [1.0, 1.0, 7.0]]
    assert row.tolist() == [1.0, 1.0, 7.0] and column.tolist() == [5.0, 1.0]
    assert flat.tolist() == [5.0, 0.0, -1.0, 1.0, 1.0, 7.0]
    z.detach().zero_()
    assert not flat.any()


def test_gradients_through_written_views() -> None:
    x, v = torch.ones(2, 2, requires_grad=True), leaf(3.0, 4.0)
    z = x * 2
    part = z[0]
    part.mul_(v)
    (z * z).sum().backward()
    assert z.tolist() == [[6.0, 8.0], [2.0, 2.0]]
    assert part.tolist() == [6.0, 8.0]
    assert x.grad.tolist() == [[72.0, 128.0], [8.0, 8.0]]
    assert v.grad.tolist() == [24.0, 32.0]
    rows = torch.zeros(2, 2)
    rows[1] = v
    assert rows.requires_grad and rows.tolist() == [[0.0, 0.0], [3.0, 4.0]]


def test_assignment_by_index() -> None:
    a = torch.zeros(4)
    a[torch.tensor([0, 0, 2])] = torch.tensor([1.0, 2.0, 3.0])
    a[a == 0] = -1
    assert a.tolist() == [2.0, -1.0, 3.0, -1.0]
    b = torch.zeros(2, 3)
    b[:] = torch.tensor([1.0, 2.0, 3.0])
    b[..., 0] = 9
    b[[0, 1], [1, 2]] = 0
    assert b.tolist() == [[9.0, 0.0, 3.0], [9.0, 2.0, 0.0]]


def test_what_cannot_be_written() -> None:
    with pytest.raises(RuntimeError, match="Float can't be cast to the desired output type Long"):
        torch.ones(3, dtype=torch.int64).add_(1.5)
    with pytest.raises(RuntimeError, match=r"\[1\] doesn't match the broadcast shape \[3\]"):
        torch.ones(1).add_(torch.ones(3))
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(3).expand(2, 3).add_(1)
    with pytest.raises(RuntimeError, match="cannot write"):
        torch.ones(3).copy_(torch.ones(4))
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        torch.ones(3).copy_([1])


def test_versions_count_writes() -> None:
    z = torch.zeros(2)
    alias = z.detach()
    z += 1
    alias += 1
    assert (z._version, alias._version, z.tolist()) == (2, 2, [2.0, 2.0])


def test_data_is_the_same_memory_without_history() -> None:
    w = leaf(1.0, 2.0)
    w.data -= 1
    w.data.mul_(2)
    assert w.tolist() == [0.0, 2.0] and w.requires_grad and not w.data.requires_grad
    w.data = torch.ones(3)
    assert w.shape == (3,) and w.is_leaf


# ---- NumPy


def test_numpy_memory_is_shared_both_ways() -> None:
    a = np.arange(4.0)
    t = torch.from_numpy(a)
    twice = t * 2
    a[0] = 100.0
    assert t.tolist() == [100.0, 1.0, 2.0, 3.0]
    assert twice.tolist() == [0.0, 2.0, 4.0, 6.0], "an operation reads the array when it is written"
    t[1] = -1
    t.add_(1)
    assert a.tolist() == [101.0, 0.0, 3.0, 4.0]
    z = torch.zeros(2, 2)
    out, row = z.numpy(), z[1].numpy()
    z += 1
    out[0, 0] = 5
    row[1] = 7
    assert z.tolist() == [[5.0, 1.0], [1.0, 7.0]] and out.tolist() == z.tolist()


def test_numpy_views_and_slices_of_arrays() -> None:
    a = np.arange(6.0).reshape(2, 3)
    row = torch.from_numpy(a)[1]
    a[1, 1] = 10
    assert row.sum().item() == 18.0
    assert torch.from_numpy(a[:, ::2]).tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert torch.from_numpy(np.asfortranarray(a)).tolist() == a.tolist()
    frozen = np.ones(2)
    frozen.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        assert (torch.from_numpy(frozen) + 1).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(a[::-1])
    with pytest.raises(TypeError, match=r"np\.ndarray"):
        torch.from_numpy([1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dtype"):
        torch.from_numpy(np.array(["a"], object))


def test_numpy_of_what_requires_a_gradient() -> None:
    with pytest.raises(RuntimeError, match=r"detach\(\)\.numpy\(\)"):
        leaf(1.0).numpy()
    assert leaf(1.0).detach().numpy().tolist() == [1.0]
    assert np.asarray(torch.ones(2)).dtype == np.float32
    assert np.sin(torch.zeros(2)).tolist() == [0.0, 0.0]
    mixed = np.ones(2, np.float32) + torch.ones(2)
    assert isinstance(mixed, torch.Tensor) and mixed.tolist() == [2.0, 2.0]
    assert (np.float64(2.0) * torch.ones(2)).tolist() == [2.0, 2.0]


# ---- values


def test_numbers_out_of_tensors() -> None:
    one = torch.tensor(2.5)
    assert (one.item(), float(one), int(one), bool(one)) == (2.5, 2.5, 2, True)
    assert torch.tensor([[7]]).item() == 7 and [10, 11, 12][torch.tensor(1)] == 11
    assert f"{one:.1f}" == "2.5" and hash(one) == hash(one)
    for take in (torch.Tensor.item, float, int, bool):
        with pytest.raises((RuntimeError, ValueError), match=r"elements|one element|ambiguous"):
            take(torch.ones(3))
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(0))
    with pytest.raises(TypeError, match="0-d tensor"):
        len(one)
    with pytest.raises(TypeError, match="0-d tensor"):
        iter(one)
    with pytest.raises(TypeError, match="index"):
        [1, 2][one]
    assert [row.tolist() for row in torch.eye(2)] == [[1.0, 0.0], [0.0, 1.0]]
    assert 1.0 in torch.eye(2) and 3.0 not in torch.eye(2)


@pytest.mark.parametrize(
    ("program", "dtype"),
    [
        (lambda i, f, d: i + 1, "int64"),
        (lambda i, f, d: i + 1.0, "float32"),
        (lambda i, f, d: i / 2, "float32"),
        (lambda i, f, d: i.int() + i[0], "int32"),
        (lambda i, f, d: i.int() + i, "int64"),
        (lambda i, f, d: f + 1, "float32"),
        (lambda i, f, d: f + d, "float64"),
        (lambda i, f, d: f + d[0], "float32"),
        (lambda i, f, d: i + d[0], "float64"),
        (lambda i, f, d: f[0] + d[0], "float64"),
        (lambda i, f, d: (i > 0) + 1, "int64"),
        (lambda i, f, d: (i > 0) + (i > 0), "bool"),
        (lambda i, f, d: (i > 0).sum(), "int64"),
        (lambda i, f, d: i.exp(), "float32"),
        (lambda i, f, d: torch.where(i > 0, i, 0.5), "float32"),
        (lambda i, f, d: torch.cat([i, d]), "float64"),
    ],
)
def test_promotion(program: Any, dtype: str) -> None:
    i, f = torch.arange(3), torch.ones(3)
    d = f.double()
    assert program(i, f, d).dtype is getattr(torch, "bool" if dtype == "bool" else dtype)


def test_the_default_dtype() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor([1.5]).dtype is torch.ones(1).dtype is torch.get_default_dtype() is torch.float64
        assert (torch.arange(2) * 1.5).dtype is torch.float64
        with pytest.raises(TypeError, match="floating-point"):
            torch.set_default_dtype(torch.int64)
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.arange(2) * 1.5).dtype is torch.float32


def test_conversions() -> None:
    x = torch.tensor([1.7, -2.2])
    assert x.int().tolist() == x.long().tolist() == [1, -2]
    assert x.double().dtype is torch.float64 and x.to(x.double()).dtype is torch.float64
    assert x.float() is x and x.to("cpu") is x and x.to(torch.float32, copy=True) is not x
    assert repr(torch.bool) == "torch.bool" and torch.float is torch.float32 and torch.long is torch.int64
    with pytest.raises(RuntimeError, match="'cuda'"):
        x.to("cuda")
    with pytest.raises(TypeError, match="dtype"):
        x.to(np.datetime64)


def test_creation() -> None:
    assert torch.arange(1, 6, 2).tolist() == [1, 3, 5] and torch.arange(0, 1, 0.25).dtype is torch.float32
    assert torch.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert torch.eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert torch.full((2,), 3).dtype is torch.int64 and torch.full((1,), True).dtype is torch.bool
    assert torch.zeros(2, 3).shape == torch.zeros((2, 3)).shape == (2, 3)
    assert torch.ones_like(torch.arange(2)).dtype is torch.int64 and torch.empty(2, 0).numel() == 0
    assert torch.tensor([[1, 2.5]]).dtype is torch.float32 and torch.tensor([]).shape == (0,)
    assert torch.tensor(np.ones(2)).dtype is torch.float64
    assert torch.as_tensor([1, 2]).tolist() == [1, 2]
    x = torch.ones(2)
    assert torch.as_tensor(x) is x and torch.is_tensor(x)
    assert torch.tensor([x[0], 2]).tolist() == [1.0, 2.0]
    with pytest.warns(UserWarning, match="copy construct"):
        torch.tensor(x)
    for wrong, error in (
        ([[1, 2], [3]], "length 2 at dim 1"),
        ("a", "invalid data type"),
        ([1, [2]], "mixes"),
        ([None], "Could not infer dtype of NoneType"),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=error):
            torch.tensor(wrong)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.zeros(-1)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0, 1, 0)
    with pytest.raises(TypeError, match="size"):
        torch.zeros(1.5)


def test_random_numbers() -> None:
    torch.manual_seed(7)
    first = torch.randn(2000), torch.rand(2000), torch.randint(2, 5, (2000,)), torch.randperm(50)
    torch.manual_seed(7)
    again = torch.randn(2000), torch.rand(2000), torch.randint(2, 5, (2000,)), torch.randperm(50)
    for a, b in zip(first, again, strict=True):
        assert a.tolist() == b.tolist()
    normal, even, whole, order = first
    assert abs(normal.mean().item()) < 0.1 and abs(normal.std().item() - 1) < 0.1
    assert even.min() >= 0 and even.max() < 1 and abs(even.mean().item() - 0.5) < 0.03
    assert set(whole.tolist()) == {2, 3, 4} and sorted(order.tolist()) == list(range(50))
    assert torch.randn(3).tolist() != torch.randn(3).tolist()
    wide = torch.randn(500, dtype=torch.float64)
    assert wide.dtype is torch.float64 and len(set(wide.tolist())) == 500
    mine = torch.Generator().manual_seed(7)
    assert torch.randn(2000, generator=mine).tolist() == normal.tolist()
    assert torch.initial_seed() == 7
    with pytest.raises(TypeError, match="int"):
        torch.manual_seed(None)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="floating-point"):
        torch.randn(3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="from=3"):
        torch.randint(3, 3, (2,))


def test_copies_and_pickles_are_leaves() -> None:
    x = leaf(1.0, 2.0)
    x.sum().backward()
    y = copy.deepcopy(x)
    assert y.tolist() == x.tolist() and y.requires_grad and y.grad.tolist() == [1.0, 1.0]
    with torch.no_grad():
        x += 1
    assert y.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    again = pickle.loads(pickle.dumps(x))
    assert again.tolist() == x.tolist() and again.requires_grad


# ---- errors come from the line that is wrong


ERRORS = [
    (lambda: torch.ones(3) + torch.ones(4), RuntimeError, r"tensor a \(3\) must match.*tensor b \(4\)"),
    (lambda: torch.ones(3, 4) @ torch.ones(3), RuntimeError, r"mat \(3x4\), vec \(3\)"),
    (lambda: torch.ones(3, 4) @ torch.ones(3, 4), RuntimeError, "cannot be multiplied.*3x4 and 3x4"),
    (lambda: torch.ones(2) @ torch.ones(3), RuntimeError, "inconsistent tensor size"),
    (lambda: torch.ones(2, 2) @ torch.ones(2, 2).double(), RuntimeError, "float != double"),
    (lambda: torch.tensor(1.0) @ torch.ones(2), RuntimeError, "at least 1D"),
    (lambda: torch.ones(3) @ 2, TypeError, "unsupported operand"),
    (lambda: torch.ones(3) + "a", TypeError, "unsupported operand"),
    (lambda: torch.ones(3, 4).view(5), RuntimeError, r"shape '\[5\]' is invalid for input of size 12"),
    (lambda: torch.ones(3, 4).t().view(12), RuntimeError, "stride"),
    (lambda: torch.ones(4).view(-1, -1), RuntimeError, "only one dimension"),
    (lambda: torch.ones(3)[5], IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
    (lambda: torch.ones(3)[torch.tensor([5])], IndexError, "index 5 is out of bounds"),
    (lambda: torch.ones(3)[torch.tensor([1, 4]) * 2], IndexError, "index 8 is out of bounds"),
    (lambda: torch.ones(3)[[0.5]], IndexError, "integers or bools"),
    (lambda: torch.ones(2, 3)[0, 1, 2], IndexError, "too many indices"),
    (lambda: torch.tensor(1.0)[0], IndexError, "0-dim tensor"),
    (lambda: torch.ones(3)[::-1], ValueError, "step must be greater than zero"),
    (lambda: torch.ones(3)["a"], TypeError, "indices must be"),
    (lambda: torch.ones(2, 2)[[0, 1], [0, 1, 1]], IndexError, "broadcast together"),
    (lambda: torch.ones(3).sum(3), IndexError, r"range of \[-1, 0\], but got 3"),
    (lambda: torch.ones(3).sum((0, 0)), RuntimeError, "appears multiple times"),
    (lambda: torch.ones(0).max(), RuntimeError, "reduction dim"),
    (lambda: torch.ones(3).int().mean(), RuntimeError, "floating point"),
    (lambda: torch.ones(2, 3).permute(0, 0), RuntimeError, "duplicate"),
    (lambda: torch.ones(4, 5).expand(3, 5), RuntimeError, "must match the existing size"),
    (lambda: torch.cat([torch.ones(2, 2), torch.ones(3)]), RuntimeError, "same number of dimensions"),
    (lambda: torch.stack([torch.ones(2), torch.ones(3)]), RuntimeError, "equal size"),
    (lambda: -torch.tensor([True]), RuntimeError, "Negation"),
    (lambda: torch.tensor([True]) - torch.tensor([True]), RuntimeError, "logical_xor"),
    (lambda: torch.tensor([2]) ** -1, RuntimeError, "negative integer powers"),
    (lambda: torch.arange(3) // 0, RuntimeError, "ZeroDivisionError"),
    (lambda: torch.einsum("ij,jk->il", torch.ones(2, 2), torch.ones(2, 2)), RuntimeError, "must name"),
    (lambda: torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(3, 2)), RuntimeError, "sizes 2 and 3"),
    (lambda: torch.add("a", 1), TypeError, "expected a Tensor or a number, got str"),
    (lambda: torch.ones(2).int().add(2**40), RuntimeError, "overflow"),
    (lambda: torch.clamp(torch.ones(2)), RuntimeError, "at least one"),
    (lambda: torch.ones(3).sum(0, axis=0), TypeError, "only one of dim and axis"),
]


@pytest.mark.parametrize(("program", "kind", "text"), ERRORS)
def test_errors(program: Any, kind: type[Exception], text: str) -> None:
    with warnings.catch_warnings(), pytest.raises(kind, match=text):
        program()


def test_tensors_pass_through_compiled_functions() -> None:
    double = torch.jit(lambda x: x * 2.0)
    made = double(torch.ones(3))
    assert isinstance(made, torch.Tensor) and made.tolist() == [2.0, 2.0, 2.0]
    slope = torch.grad(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0]))
    assert isinstance(slope, torch.Tensor) and slope.tolist() == [2.0, 4.0]


def test_compiled_functions_keep_the_history_of_tensors() -> None:
    double, w = torch.jit(lambda x: x["w"] * 2.0), torch.ones(3, requires_grad=True)
    y = double({"w": w})
    (y * y).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [8.0, 8.0, 8.0] and y.grad_fn is not None
    slope = torch.grad(lambda p, n: np.sum(p**3) * n)
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    g = slope(p, 2.0)
    assert g.tolist() == [6.0, 24.0] and torch.autograd.grad(g.sum(), p)[0].tolist() == [12.0, 24.0]
    assert double({"w": w.detach()}).tolist() == [2.0, 2.0, 2.0] and not double({"w": w.detach()}).requires_grad
    with torch.no_grad():
        assert not double({"w": w}).requires_grad


@torch.jit
def _loops(x, n=3):
    total = 0.0
    for k in range(n):
        if total > 1.0:
            total = total - np.sum(np.sin(x))
        else:
            total = total + np.sum(x * x) + k
    return total, {"last": x[-1]}


def test_compiled_functions_are_mapped_and_carried_forward() -> None:
    x, v = torch.tensor([[0.5, 1.0], [0.1, 0.2]]), torch.tensor([1.0, -1.0])
    whole = torch.func.vmap(lambda r: _loops(r)[0])(x)
    assert [round(t, 5) for t in whole.tolist()] == [round(float(_loops(r)[0]), 5) for r in x]
    tangent = torch.func.jvp(lambda x: _loops(x)[0], (x[0],), (v,))[1].item()
    slope = torch.func.grad(lambda x: _loops(x)[0])(x[0])
    assert abs(tangent - (slope * v).sum().item()) < 1e-6
    assert torch.func.hessian(torch.jit(lambda x: np.prod(x)))(v).tolist() == [[0.0, 1.0], [1.0, 0.0]]
