"""Operations on whole numbers, bools and complex numbers, old orders of arguments, and optimisers of matrices."""

from typing import Any

import numpy as np
import pytest

import pullback as torch


def test_bools_are_added_and_multiplied_by_or_and_and() -> None:
    p, q = torch.tensor([True, False, True]), torch.tensor([False, False, True])
    assert torch.addr(torch.zeros(3, 3, dtype=torch.bool), p, q).tolist() == np.outer([1, 0, 1], [0, 0, 1]).tolist()
    assert torch.kron(p, q).tolist() == [False, False, True, False, False, False, False, False, True]
    assert torch.square(p).tolist() == [1, 0, 1] and torch.square(p).dtype == torch.int64
    assert torch.prod(p, dtype=torch.bool).item() is False
    assert torch.clamp_min(p, q).tolist() == [True, False, True]
    zero = torch.zeros(2, dtype=torch.bool)
    index = torch.tensor([0, 0, 1])
    assert zero.scatter_reduce(0, index, p, "sum").tolist() == [True, True]
    assert zero.scatter_reduce(0, index, p, "amin", include_self=False).tolist() == [False, True]


def test_whole_numbers() -> None:
    assert torch.arange(0.1, -7.9, -4.0, dtype=torch.int64).tolist() == [0, -4]
    assert torch.arange(3.1, dtype=torch.int64).tolist() == [0, 1, 2]
    assert torch.arange(3.1, dtype=torch.int32).tolist() == [0, 1, 2, 3]
    assert torch.logspace(0, 1.2, 4, dtype=torch.int64).tolist() == [1, 2, 4, 10]
    x = torch.arange(6).reshape(2, 3)
    assert torch.nn.functional.pairwise_distance(x, x + 1).tolist() == pytest.approx([3**0.5] * 2, rel=1e-5)
    ones, bias = torch.ones(3, dtype=torch.int64), torch.ones(2, dtype=torch.int64)
    assert torch.addmv(bias, x, ones, beta=0.5).tolist() == [3, 12]


def test_complex_numbers_are_padded_with_a_real_number() -> None:
    z = torch.tensor([1 + 2j, 3j])
    assert torch.nn.functional.pad(z, (1, 1), value=5.0).tolist() == [5, 1 + 2j, 3j, 5]
    assert torch.nn.functional.pad(z, (0, 1), value=1j).tolist() == [1 + 2j, 3j, 1j]
    with pytest.raises(RuntimeError, match="complex value"):
        torch.nn.functional.pad(torch.ones(2), (0, 1), value=1j)
    with pytest.raises(RuntimeError, match="cannot be converted"):
        torch.masked_fill(torch.ones(2), torch.tensor([True, False]), 1j)
    assert torch.linspace(0.5, 0.7, 2, dtype=torch.complex128).tolist() == [0.5, 0.7]


def test_sums_of_complex_products_and_their_gradients() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)) for _ in range(3)]
    a, b, c = (torch.from_numpy(x).requires_grad_() for x in arrays)
    made = torch.addmm(a, b, c, beta=2j, alpha=1 - 1j)
    np.testing.assert_allclose(made.detach().numpy(), 2j * arrays[0] + (1 - 1j) * arrays[1] @ arrays[2], rtol=1e-14)
    assert torch.autograd.gradcheck(lambda *v: torch.addmm(*v, beta=2j, alpha=1 - 1j), (a, b, c))
    assert torch.autograd.gradgradcheck(lambda *v: torch.addmm(*v, beta=2j, alpha=1 - 1j), (a, b, c))
    with pytest.raises(RuntimeError, match="In-place abs"):
        made.detach().abs_()


def test_what_is_refused_of_complex_numbers_leaves_nothing_behind() -> None:
    z = torch.tensor([[2 + 1j, 1], [0, 3j]])
    with pytest.raises(NotImplementedError, match="complex"):
        torch.logcumsumexp(z, 0)
    assert torch.masked_fill(z, z.real > 1, 7).tolist() == [[7, 1], [0, 3j]]


def test_complex_sums_of_exponentials() -> None:
    z = torch.tensor([1 + 4j, -2 - 5j], dtype=torch.complex128)
    found = torch.logsumexp(z, 0).item()
    assert found == pytest.approx(complex(np.log(np.exp(z.numpy()).sum())), rel=1e-14)
    assert torch.logsumexp(torch.tensor(5j), 0).item() == pytest.approx((5 - 2 * np.pi) * 1j, rel=1e-6)


def test_scatter_adds_and_multiplies() -> None:
    x = torch.full((3, 2), 2.0, requires_grad=True)
    index, source = torch.tensor([[0, 1], [0, 0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])
    assert x.scatter(0, index, source, reduce="add").tolist() == [[10, 8], [2, 6], [2, 2]]
    made = x.scatter(0, index, 3.0, reduce="multiply")
    assert made.tolist() == [[18, 6], [2, 6], [2, 2]]
    assert torch.autograd.grad(made.sum(), x)[0].tolist() == [[9, 3], [1, 3], [1, 1]]
    with pytest.raises(RuntimeError, match="add or multiply"):
        x.scatter(0, index, 3.0, reduce="sum")


def test_the_old_order_of_numbers() -> None:
    x, y = torch.ones(2, 2), torch.full((2, 2), 3.0)
    with pytest.warns(UserWarning, match="alpha=2"):
        assert torch.add(x, 2, y).tolist() == [[7, 7], [7, 7]]
    with pytest.warns(UserWarning, match=r"value=0\.5"):
        assert x.clone().addcmul_(0.5, y, y).tolist() == [[5.5, 5.5], [5.5, 5.5]]
    with pytest.warns(UserWarning, match="beta=2, alpha=3"):
        assert torch.addmm(2, x, 3, y, x).tolist() == [[20, 20], [20, 20]]
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3"):
        torch.add(x, y, y)


def test_a_spectrum_of_both_sides_gives_the_signal_of_its_first_half() -> None:
    rng = np.random.default_rng(0)
    spectrum = torch.from_numpy(rng.normal(size=(6, 3)) + 1j * rng.normal(size=(6, 3)))
    window = torch.ones(6, dtype=torch.float64)
    both = torch.istft(spectrum, 6, window=window, onesided=False)
    np.testing.assert_allclose(both.numpy(), torch.istft(spectrum[:4], 6, window=window).numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_matrices_are_learned(name: str) -> None:
    rng = np.random.default_rng(0)
    goal = torch.from_numpy(rng.normal(size=(4, 3)))
    weight = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    settings = {"weight_decay": 0.0} if name == "Muon" else {"eps": (None, 0.1)}
    optimizer = getattr(torch.optim, name)([weight], lr=0.02, **settings)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = ((weight - goal) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    shapes = {k: tuple(v.shape) for k, v in optimizer.state[weight].items() if k != "step"}
    assert shapes == ({"momentum_buffer": (4, 3)} if name == "Muon" else {"row_var": (4, 1), "col_var": (1, 3)})


def test_steps_of_muon_are_nearly_orthogonal() -> None:
    weight = torch.zeros(5, 3, requires_grad=True)
    weight.grad = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 3)).astype("f4"))
    torch.optim.Muon([weight], lr=1.0, weight_decay=0.0, adjust_lr_fn="original").step()
    sizes = np.linalg.svd(weight.detach().numpy() / (5 / 3) ** 0.5, compute_uv=False)
    assert (np.abs(sizes - 1) < 0.35).all()


def test_wrong_settings() -> None:
    matrix = torch.zeros(2, 2, requires_grad=True)
    with pytest.raises(ValueError, match="beta2_decay should be <= 0"):
        torch.optim.Adafactor([matrix], beta2_decay=0.8)
    with pytest.raises(ValueError, match="only supports 2D"):
        torch.optim.Muon([torch.zeros(2, requires_grad=True)])
    with pytest.raises(ValueError, match="eps must be positive"):
        torch.nn.BatchNorm1d(2, eps=0.0)(torch.ones(3, 2))
    with pytest.raises(TypeError, match="bias should be of type bool"):
        torch.nn.GRU(2, 3, bias=1)  # type: ignore[arg-type]


def hermitian(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(2, n, n))
    z = a[0] + 1j * a[1]
    return z @ z.conj().T + np.eye(n)


MATRICES = {
    "solve": lambda z: torch.linalg.solve(z, z.mT + 1),
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "slogdet": lambda z: torch.linalg.slogdet(z)[1],
    "cholesky": torch.linalg.cholesky,
    "qr": lambda z: torch.linalg.qr(z)[1],
    "lu": lambda z: torch.linalg.lu(z)[2],
    "eigenvalues": torch.linalg.eigvalsh,
    "projections": lambda z: (v := torch.linalg.eigh(z)[1][:, :2]) @ v.mH,
    "singular values": torch.linalg.svdvals,
    "pinv": lambda z: torch.linalg.pinv(z[:, :2]),
    "matrix_exp": lambda z: torch.linalg.matrix_exp(0.2 * z),
    "triangular": lambda z: torch.linalg.solve_triangular(z, z.mH, upper=True),
    "lstsq": lambda z: torch.linalg.lstsq(z[:, :2], z[:, 2:])[0],
}


@pytest.mark.parametrize("name", MATRICES)
def test_gradients_of_complex_matrices_against_differences(name: str) -> None:
    """The first derivative along a direction, and the derivative of that along another one; Hermitian where it asks."""

    def number(z: Any) -> Any:
        made = MATRICES[name](z)
        weights = torch.arange(1.0, made.numel() + 1, dtype=torch.float64).reshape(made.shape)
        return ((made.real + 0.3 * made.imag if made.is_complex() else made) * weights).sum() / made.numel()

    z, v, w = (torch.tensor(hermitian(3, k), requires_grad=True) for k in range(3))

    def slope(at: Any, along: Any, graph: bool) -> Any:
        (g,) = torch.autograd.grad(number(at), at, create_graph=graph)
        return (g.conj() * along).real.sum()

    step = 1e-5
    with torch.no_grad():
        near = [number(z + k * step * v).item() for k in (1, -1)]
    assert slope(z, v.detach(), False).item() == pytest.approx((near[0] - near[1]) / (2 * step), rel=1e-6, abs=1e-7)
    (second,) = torch.autograd.grad(slope(z, v.detach(), True), z)
    apart = [slope((z + k * step * w).detach().requires_grad_(), v.detach(), False).item() for k in (1, -1)]
    wanted = (apart[0] - apart[1]) / (2 * step)
    assert (second.conj() * w).real.sum().item() == pytest.approx(wanted, rel=1e-5, abs=1e-6)
