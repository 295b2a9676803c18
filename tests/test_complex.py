"""Complex tensors and Fourier transforms: values against NumPy, gradients by differences, storage, refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, evaluate
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.complex import fourier
from pullback.compiler.passes import adjoint

F = torch.fft
RNG = np.random.default_rng(6)
Z = (RNG.normal(size=(2, 5)) + 1j * RNG.normal(size=(2, 5))).astype(np.complex128)
W = (RNG.normal(size=(2, 5)) + 1j * RNG.normal(size=(2, 5))).astype(np.complex128)
X = RNG.normal(size=(2, 5))

UNARY = [
    "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "reciprocal", "square", "abs", "angle", "conj",
    "neg",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_are_those_of_numpy(name: str) -> None:
    wanted = {"neg": np.negative, "angle": np.angle, "reciprocal": np.reciprocal}.get(name) or getattr(np, name)
    made = getattr(torch, name)(torch.tensor(Z))
    np.testing.assert_allclose(made.numpy(), wanted(Z), rtol=2e-14)
    single = getattr(torch, name)(torch.tensor(Z.astype(np.complex64)))
    np.testing.assert_allclose(single.numpy(), wanted(Z.astype(np.complex64)), rtol=2e-6)


def test_arithmetic_is_that_of_numpy() -> None:
    z, w, x = torch.tensor(Z), torch.tensor(W), torch.tensor(X)
    pairs = [
        (z + w, Z + W), (z - w, Z - W), (z * w, Z * W), (z / w, Z / W), (z * x, Z * X), (x / z, X / Z), (2 - z, 2 - Z),
        (z**3, Z**3), (z**w, Z**W), (1j * x, 1j * X), (z @ w.mT, Z @ W.T), (z.sum(0), Z.sum(0)), (z.mean(), Z.mean()),
        (torch.cat([z, w]), np.concatenate([Z, W])), (z[:, 1::2], Z[:, 1::2]), (z.t(), Z.T), (z.real, Z.real),
        (z.imag, Z.imag), (torch.complex(x, x), X + 1j * X), (torch.polar(x.abs(), x), np.abs(X) * np.exp(1j * X)),
    ]  # fmt: skip
    for k, (got, want) in enumerate(pairs):
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-13, err_msg=str(k))


def test_extreme_numbers() -> None:
    big, small = 1e300, 1e-300
    numbers = [complex(big, big), complex(small, small), complex(3e-320, 0), 0j, complex(np.inf, 1)]
    z = torch.tensor(numbers, dtype=torch.complex128)
    np.testing.assert_allclose(z.abs().numpy()[:3], [big * np.sqrt(2), small * np.sqrt(2), 3e-320], rtol=1e-3)
    assert z.abs()[3].item() == 0 and z.abs()[4].item() == np.inf
    w = torch.tensor([complex(big, big), complex(small, -small)], dtype=torch.complex128)
    np.testing.assert_allclose((w / w).numpy(), [1, 1], rtol=1e-15)
    assert torch.sqrt(torch.tensor([0j, -4 + 0j, complex(-4, -0.0)])).tolist() == [0j, 2j, -2j]


def gradient(of: Callable[[Any], Any], at: np.ndarray) -> np.ndarray:
    """dL/dx + i dL/dy by differences."""
    made, h = np.zeros_like(at), 1e-6
    for place in np.ndindex(at.shape):
        for unit in (1, 1j):
            ends = []
            for sign in (1, -1):
                moved = at.copy()
                moved[place] += sign * h * unit
                ends.append(of(torch.tensor(moved)).item())
            made[place] += unit * (ends[0] - ends[1]) / (2 * h)
    return made


LOSSES: dict[str, Callable[[Any], Any]] = {
    "products": lambda z: (z * z.conj() * z).real.sum(),
    "quotients": lambda z: (z / (z * z + 2)).abs().sum(),
    "functions": lambda z: (z.exp() * z.sin() + z.sqrt() - z.log() * z.tanh()).imag.sum(),
    "powers": lambda z: (z**2.5 + z ** (1 + 0.5j)).real.sum(),
    "angles": lambda z: (z.angle() * z.abs()).sum(),
    "matrices": lambda z: (z @ z.mH).abs().sum(),
    "pieces": lambda z: (torch.cat([z, z.flip(1)])[:, ::2].roll(1, 0) * torch.tensor(Z[:1, :3])).real.sum(),
    "views": lambda z: torch.view_as_complex(torch.view_as_real(z) ** 2).abs().sum(),
    "fft": lambda z: (F.fft(z, 7).abs() ** 3).sum(),
    "ifft2": lambda z: F.ifft2(z, norm="ortho").angle().sum(),
    "irfft": lambda z: (F.irfft(z, 6) ** 3).sum(),
    "odd irfft": lambda z: (F.irfft(z, 9) ** 3).sum(),
    "hfft": lambda z: (F.hfft(z) ** 3).sum(),
    "irfftn": lambda z: (F.irfftn(z, s=(3, 6)) ** 3).sum(),
    "rfft of parts": lambda z: (F.rfft(z.real) * F.ihfft(z.imag)).abs().sum(),
    "eigenvalues": lambda z: (torch.linalg.eigvals(z[:, :2]).abs() ** 2).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_by_differences(name: str) -> None:
    z = torch.tensor(Z, requires_grad=True)
    LOSSES[name](z).backward()
    assert z.grad is not None and z.grad.dtype is torch.complex128
    np.testing.assert_allclose(z.grad.numpy(), gradient(LOSSES[name], Z), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("name", ["products", "functions", "fft", "irfft"])
def test_second_derivatives_by_differences(name: str) -> None:
    def of(z: Any) -> Any:
        z = z.detach().requires_grad_()
        (g,) = torch.autograd.grad(LOSSES[name](z), z, create_graph=True)
        return (g.abs() ** 2).sum()

    z = torch.tensor(Z, requires_grad=True)
    (g,) = torch.autograd.grad(LOSSES[name](z), z, create_graph=True)
    (g.abs() ** 2).sum().backward()
    assert z.grad is not None
    want = gradient(of, Z)
    np.testing.assert_allclose(z.grad.numpy(), want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_a_real_tensor_gets_a_real_gradient() -> None:
    x = torch.tensor(X, requires_grad=True)
    ((x * (1 + 2j)).abs() ** 2).sum().backward()
    assert x.grad is not None and x.grad.dtype is torch.float64
    np.testing.assert_allclose(x.grad.numpy(), 10 * X, rtol=1e-14)


def test_zero_has_a_gradient_of_zero() -> None:
    z = torch.zeros(1, dtype=torch.complex128, requires_grad=True)
    z.abs().sum().backward()
    assert z.grad is not None and z.grad.tolist() == [0j]


# ---- transforms


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_are_those_of_numpy(name: str, norm: str | None) -> None:
    given = X if name in ("rfft", "ihfft") else Z
    for n, dim in ((None, -1), (3, 0), (8, 1)):
        made = getattr(F, name)(torch.tensor(given), n, dim, norm)
        np.testing.assert_allclose(made.numpy(), getattr(np.fft, name)(given, n, dim, norm), rtol=1e-12, atol=1e-13)
    single = getattr(F, name)(torch.tensor(given.astype(np.complex64 if given is Z else np.float32)), norm=norm)
    assert single.dtype in (torch.float32, torch.complex64)
    np.testing.assert_allclose(single.numpy(), getattr(np.fft, name)(given, norm=norm), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_transforms_in_several_dimensions(name: str) -> None:
    given = RNG.normal(size=(3, 4, 5)) + (0 if name.startswith("rfft") else 1j * RNG.normal(size=(3, 4, 5)))
    for s, dim in ((None, (0, 2)), ((2, 6), (1, 2))):
        made = getattr(F, name)(torch.tensor(given), s, dim)
        np.testing.assert_allclose(made.numpy(), getattr(np.fft, name)(given, s, dim), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("prim", "shape", "attrs"),
    [
        (fourier.fft, (3, 4, 2), {"axes": (-2,), "inverse": 0}),
        (fourier.fft, (3, 4, 2), {"axes": (-2, -1), "inverse": 1}),
        (fourier.rfft, (3, 5), {"axis": -1}),
        (fourier.rfft, (4, 3), {"axis": -2}),
        (fourier.irfft, (3, 4, 2), {"axis": -1, "n": 6}),
        (fourier.irfft, (3, 4, 2), {"axis": -1, "n": 7}),
    ],
)
def test_pullbacks_are_transposes(prim: Any, shape: tuple[int, ...], attrs: dict[str, Any]) -> None:
    """<A x, y> = <x, A' y>, in both executors; and transposed twice."""
    b = Builder("t", [Type("f64", shape)])
    graph = b.finish(b.emit(prim, *b.params, **attrs))
    x = RNG.normal(size=shape)
    (ax,) = evaluate(graph, [x])
    y = RNG.normal(size=ax.shape)
    back = adjoint(graph, (0,))
    for _, aty in (evaluate(back, [x, y]), compile_graph(back).run([x, y])):
        np.testing.assert_allclose(np.sum(aty * x), np.sum(ax * y), rtol=1e-12)
    again = adjoint(back, (1,))
    u = RNG.normal(size=shape)
    *_, twice = evaluate(again, [x, y, np.zeros_like(ax), u])
    np.testing.assert_allclose(twice, evaluate(graph, [u])[0], rtol=1e-12, atol=1e-13)


def test_lanes_of_transforms() -> None:
    z = torch.tensor(Z)
    np.testing.assert_allclose(torch.func.vmap(F.fft)(z).numpy(), np.fft.fft(Z), rtol=1e-12)
    x = torch.tensor(X)
    made = torch.func.vmap(lambda v: F.rfft(v).abs())(x)
    np.testing.assert_allclose(made.numpy(), np.abs(np.fft.rfft(X)), rtol=1e-12)


def test_traces_of_transforms_replay() -> None:
    found = []
    for _ in range(3):
        x = torch.tensor(X, requires_grad=True)
        (F.irfft(F.rfft(x) * torch.tensor(Z[0, :3]), 5) ** 2).sum().backward()
        assert x.grad is not None
        found.append(x.grad.numpy().copy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], found[2])


# ---- memory and refusals


def test_memory_is_shared_with_numpy() -> None:
    a = Z.copy()
    z = torch.from_numpy(a)
    z.mul_(2)
    np.testing.assert_array_equal(a, 2 * Z)
    a[0, 0] = 7j
    assert z[0, 0].item() == 7j
    b = z.numpy()
    b[1] = 0
    assert z[1].abs().sum().item() == 0
    turned = torch.from_numpy(Z.T)
    np.testing.assert_array_equal((turned + 0).numpy(), Z.T)


def test_views_share_memory() -> None:
    z = torch.tensor(Z)
    z[0].fill_(1j)
    z.t()[4, 1] = 3
    assert z[0].tolist() == [1j] * 5 and z[1, 4].item() == 3 and z._version == 2
    w = torch.tensor(Z, requires_grad=True) * 1
    w[0].mul_(2j)
    w.abs().sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z > z, lambda z: torch.floor(z), lambda z: torch.relu(z), lambda z: z.max(), lambda z: z.sort(),
        lambda z: torch.nn.functional.softmax(z, 0), lambda z: z % 2, lambda z: z // 2, lambda z: torch.erf(z),
        lambda z: torch.lgamma(z), lambda z: torch.clamp(z, 0, 1),
        lambda z: torch.maximum(z, z),
    ],
)  # fmt: skip
def test_what_there_is_not_is_refused(call: Callable[[Any], Any]) -> None:
    """Nothing drops an imaginary part without a word."""
    with pytest.raises((NotImplementedError, RuntimeError)):
        call(torch.tensor(Z)).tolist()


def test_other_refusals() -> None:
    z = torch.tensor(Z, requires_grad=True)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(2).add_(1j)
    with pytest.raises(RuntimeError, match="it is complex"):
        torch.ones(2).fill_(1j)
    with pytest.raises(TypeError, match="complex number"):
        torch.tensor([1j], dtype=torch.float32)
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        torch.ones(2).imag  # noqa: B018
    with pytest.raises(RuntimeError, match='Invalid normalization mode: "x"'):
        F.fft(torch.ones(2), norm="x")
    with pytest.raises(RuntimeError, match="expects a real input tensor, but got ComplexDouble"):
        F.rfft(z)


def test_numbers_are_numbers_in_both_parts() -> None:
    """A whole number beside complex ones is real, and a factor multiplies both parts."""
    z, mask = torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([True, False])
    assert torch.where(mask, z, 1).tolist() == [1 + 2j, 1] and torch.where(mask, torch.tensor([5, 6]), z)[0].item() == 5
    assert z.masked_fill(mask, 4).tolist() == [4, 3 - 1j] and z.clone().fill_(2).tolist() == [2, 2]
    assert torch.add(z, z, alpha=2j).tolist() == [-3 + 4j, 5 + 5j] and torch.rsub(z, 1).tolist() == [-2j, -2 + 1j]
    assert torch.sub(z, z, alpha=2).tolist() == [-1 - 2j, -3 + 1j]
    square = torch.zeros(2, 2, dtype=torch.complex64)
    assert square.fill_diagonal_(1).tolist() == [[1, 0], [0, 1]]
    assert torch.isinf((z / 0).real).all()


def test_what_is_imaginary_is_not_lost_without_a_word() -> None:
    z, x = torch.tensor([1 + 2j]), torch.ones(1)
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert z.float().tolist() == [1.0]
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert x.copy_(z).dtype is torch.float32
    for call in (lambda: x.masked_fill(x > 0, 1j), lambda: x.index_fill(0, torch.tensor([0]), 1j)):
        with pytest.raises((NotImplementedError, RuntimeError)):
            call()
