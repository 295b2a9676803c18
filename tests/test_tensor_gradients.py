"""Gradients of Tensor functions against central differences in float64, to second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch

F = torch.nn.functional
TARGETS = torch.tensor([0, 2, 1])
TARGET = (torch.arange(12.0).reshape(3, 4) / 12).double()

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: (x + x.t().reshape(3, 4) * 2 - 1) * x,
    "broadcast": lambda x: x * x[0] + x[:, :1],
    "div": lambda x: (1 + x) / (2 + x * x),
    "rdiv": lambda x: 1 / (2 + x),
    "pow": lambda x: x**3 - x**2 + x**4,
    "pow of positives": lambda x: (x * x + 1) ** 1.7 + (x * x + 1) ** -0.5,
    "pow of tensors": lambda x: (x * x + 1) ** (x + 0.5),
    "number to a power": lambda x: 2**x,
    "exp": lambda x: x.exp() - x.exp2() + x.expm1(),
    "log": lambda x: (x * x + 1).log() + (x * x + 1).log2() + (x * x + 1).log1p(),
    "sqrt": lambda x: (x * x + 1).sqrt() + (x * x + 1).rsqrt() + (x * x + 1).reciprocal(),
    "sin": lambda x: x.sin() * x.cos() + (x / 3).tan(),
    "atan": lambda x: x.atan() + (x / 9).asin() * (x / 9).acos() + torch.atan2(x, x * x + 1),
    "sinh": lambda x: x.sinh() + x.cosh() + x.tanh(),
    "sigmoid": lambda x: x.sigmoid() + F.softplus(x) + F.logsigmoid(x) + F.silu(x),
    "erf": lambda x: x.erf() + F.gelu(x),
    "relu": lambda x: x.relu() * x + F.leaky_relu(x, 0.1) * x,
    "abs": lambda x: x.abs() * x.sign() * x,
    "clamp": lambda x: x.clamp(-0.7, 0.6) * x,
    "maximum": lambda x: torch.maximum(x, 0.3 - x) * x + torch.minimum(x, x * x),
    "where": lambda x: torch.where(x > 0, x * x, -x),
    "masked_fill": lambda x: x.masked_fill(x > 0.5, 2.0) * x,
    "lerp": lambda x: torch.lerp(x, x * x, 0.3) + torch.addcmul(x, x, x, value=0.5),
    "remainder": lambda x: (x * x) % 0.7 * x,
    "sum": lambda x: x.sum(0) * x.sum(1, keepdim=True),
    "mean": lambda x: (x - x.mean(1, keepdim=True)) ** 2 * x.mean(),
    "prod": lambda x: (x + 2).prod(1) * (x + 2).prod(),
    "var": lambda x: x.var(1) * x.std() + x.var(unbiased=False),
    "norm": lambda x: x.norm() * x.norm(dim=1),
    "max": lambda x: x.max(1).values * x.min(0).values[:3] + x.amax(1) * x.amin(),
    "softmax": lambda x: x.softmax(1) * x,
    "log_softmax": lambda x: x.log_softmax(0) * x,
    "logsumexp": lambda x: x.logsumexp(1) * x.logsumexp((0, 1)),
    "matmul": lambda x: (x @ x.t()) @ x,
    "products of vectors": lambda x: (x @ x[0]).sum() + (x[0] @ x[1]) * (x[:, 0] @ x),
    "batches": lambda x: x.view(3, 2, 2) @ x.view(3, 2, 2).mT @ x[:2, :2],
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x) + torch.einsum("ij,ij->i", x, x),
    "addmm": lambda x: F.linear(x, x, x[:, 0]) ** 2,
    "views": lambda x: x.view(2, 6).t().reshape(3, 4) * x.flatten()[1] * x.unsqueeze(0).squeeze(),
    "expand": lambda x: x[:, :1].expand(3, 4) * x.repeat(2, 1)[3:] * x.flip(1),
    "cat": lambda x: torch.cat([x, x * x]) * torch.stack([x, x.exp()]).reshape(6, 4),
    "cut": lambda x: x.split(2, 1)[0] * x.chunk(2, 1)[1] * x.unbind(1)[0][:, None],
    "index": lambda x: x[TARGETS] * x[1:2, ::2].sum() * x[TARGETS, TARGETS][:, None] + x[[0, 0, 1]],
    "mask": lambda x: x[x > 0].sum() * x,
    "gather": lambda x: x.gather(1, TARGETS[:, None]) * x.index_select(1, TARGETS),
    "cross_entropy": lambda x: F.cross_entropy(x, TARGETS) * F.cross_entropy(x, TARGETS, reduction="none"),
    "nll": lambda x: F.nll_loss(x * x, TARGETS, ignore_index=2),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, TARGET) * x,
    "bce of targets": lambda x: F.binary_cross_entropy_with_logits(x * x, x, reduction="none"),
    "weighted bce": lambda x: F.binary_cross_entropy_with_logits(
        x, TARGET, torch.arange(1.0, 5), pos_weight=torch.tensor(2.0)
    ),
    "mse": lambda x: F.mse_loss(x, x * x) + F.l1_loss(x, x * x + 3, reduction="sum"),
    "written": lambda x: written(x),
}


def written(x: Any) -> Any:
    """In-place arithmetic on a tensor and on its views."""
    z = x * 2
    z.mul_(x).add_(1)
    z[1] = x[0] * x[2]
    z[:, 1].mul_(x[:, 3])
    z.t()[2] += x[:, 0]
    z[TARGETS, TARGETS] = x[:, 1]
    return z * z.sum()


@pytest.fixture
def point() -> np.ndarray:
    """Away from kinks of the functions above."""
    return np.array([[0.31, -0.52, 1.13, -1.27], [0.83, 0.17, -0.37, 0.47], [-0.91, 0.73, 0.23, -0.13]])


def weighted(made: Any, seed: int) -> Any:
    """A scalar: the elements with fixed weights."""
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, tuple(made.shape))
    return (made * torch.tensor(weights)).sum()


def first(f: Callable[[Any], Any], array: np.ndarray, create: bool = False) -> tuple[Any, Any]:
    x = torch.tensor(array, requires_grad=True)
    (g,) = torch.autograd.grad(weighted(f(x), 1), x, create_graph=create, materialize_grads=True)
    return x, g


def differences(f: Callable[[np.ndarray], float], array: np.ndarray, step: float) -> np.ndarray:
    """Central differences of fourth order."""
    made = np.empty_like(array)
    for index in np.ndindex(array.shape):
        unit = np.zeros_like(array)
        unit[index] = step
        near = f(array + unit) - f(array - unit)
        far = f(array + 2 * unit) - f(array - 2 * unit)
        made[index] = (8 * near - far) / (12 * step)
    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str, point: np.ndarray) -> None:
    f = FUNCTIONS[name]
    _, g = first(f, point)
    want = differences(lambda a: weighted(f(torch.tensor(a)), 1).item(), point, 1e-3)
    np.testing.assert_allclose(g.numpy(), want, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_gradients(name: str, point: np.ndarray) -> None:
    f = FUNCTIONS[name]
    x, g = first(f, point, create=True)
    if not g.requires_grad:
        pytest.fail("the gradient of a function that is not linear depends on x")
    (h,) = torch.autograd.grad(weighted(g, 2), x)
    want = differences(lambda a: weighted(first(f, a)[1], 2).item(), point, 1e-3)
    np.testing.assert_allclose(h.numpy(), want, rtol=1e-7, atol=1e-8)


def test_no_inputs() -> None:
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty"):
        torch.autograd.grad(torch.ones(3, requires_grad=True).sum(), [])


def test_what_has_no_derivative_is_named() -> None:
    x = torch.rand(4, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"derivative of histc is not implemented: detach\(\)"):
        torch.histc(x).sum().backward()


def test_a_mask_leads_nowhere() -> None:
    x = torch.rand(4, requires_grad=True)
    node = torch.where(torch.tensor([True, False, True, False]), x * 2, x.sin()).grad_fn
    assert node is not None
    assert [type(n).__name__ for n, _ in node.next_functions] == ["MulBackward0", "SinBackward0"]
