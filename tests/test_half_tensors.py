"""Tensors of float16 and bfloat16: stored in 16 bits, each operation computed in float32 and rounded at its end."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.nn import functional as F

HALVES = (torch.float16, torch.bfloat16)
EPSILON = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


@pytest.mark.parametrize("dtype", HALVES)
def test_an_operation_is_that_of_float32_rounded(dtype):
    x, y = torch.randn(7, 5), torch.rand(7, 5) + 0.5
    a, b = x.to(dtype), y.to(dtype)
    for f in (torch.add, torch.mul, torch.div, torch.atan2, torch.pow, torch.maximum, torch.hypot):
        base = b if f is torch.pow else a
        assert torch.equal(f(base, b), f(base.float(), b.float()).to(dtype)), f
    for f in (torch.exp, torch.tanh, torch.erf, F.gelu, F.silu, lambda x: F.softmax(x, 1), lambda x: x.cumsum(0)):
        assert torch.equal(f(a), f(a.float()).to(dtype))
    assert torch.equal(a @ b.T, (a.float() @ b.float().T).to(dtype))
    assert torch.equal(a * 2.1 + 1, ((a.float() * 2.1).to(dtype).float() + 1).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_are_of_the_dtype_and_those_of_float64_to_its_digits(dtype):
    def f(x):
        return (torch.sin(x) * x**2 + torch.exp(-x)).sum()

    x = torch.randn(20).to(dtype).requires_grad_()
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    exact = x.detach().double().requires_grad_()
    (want,) = torch.autograd.grad(f(exact), exact, create_graph=True)
    (twice,) = torch.autograd.grad(want.sum(), exact)
    assert slope.dtype is second.dtype is dtype
    for got, of in ((slope, want), (second, twice)):
        scale = 8 * EPSILON[dtype] * float(of.detach().abs().max())
        assert float((got.double() - of).detach().abs().max()) < scale
    assert torch.func.grad(f)(x.detach()).dtype is dtype
    assert torch.func.vmap(torch.func.grad(f))(torch.randn(4, 3).to(dtype)).dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("optimiser", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_a_model_learns(dtype, optimiser):
    def losses(dtype):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 2)).to(dtype)
        step = getattr(torch.optim, optimiser)(model.parameters(), lr=0.01)
        x, y = torch.randn(16, 4).to(dtype), torch.arange(16) % 2
        made = []
        for _ in range(25):
            step.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            step.step()
            made.append(loss.item())
        assert all(p.dtype is p.grad.dtype is dtype for p in model.parameters())
        return np.array(made)

    mine, wide = losses(dtype), losses(torch.float32)
    np.testing.assert_allclose(mine[:15], wide[:15], atol=30 * EPSILON[dtype])
    assert mine[-1] < mine[0]


def test_promotion():
    half, brain = torch.ones(2).half(), torch.ones(2).bfloat16()
    assert (half + brain).dtype is torch.promote_types(torch.float16, torch.bfloat16) is torch.float32
    assert (half + torch.ones(2)).dtype is torch.float32 and (half + torch.ones(2).double()).dtype is torch.float64
    assert (half + torch.tensor(1.0)).dtype is torch.float16 and (brain * 2.5).dtype is torch.bfloat16
    assert (half + torch.arange(2)).dtype is torch.float16 and (brain > 0).dtype is torch.bool
    assert torch.where(half > 0, half, brain).dtype is torch.float32
    assert half.mean().dtype is torch.float16 and half.sum(dtype=torch.float32).dtype is torch.float32
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.mm(half[None], torch.ones(2, 1))


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_go_in_and_out(dtype, tmp_path: Path):
    x = torch.tensor([1.5, -2.25, 3.1], dtype=dtype)
    assert x.dtype is dtype and x.element_size() == dtype.itemsize == 2 and x.nbytes == 6
    assert x.tolist()[:2] == [1.5, -2.25] and abs(x[2].item() - 3.1) < 2 * EPSILON[dtype]
    assert str(x[:2]) == f"tensor([ 1.5000, -2.2500], dtype={dtype})"
    for made in (torch.full((2,), 2.5, dtype=dtype), torch.eye(2, dtype=dtype), torch.linspace(0, 1, 3, dtype=dtype),
                 torch.arange(0, 1, 0.25, dtype=dtype), torch.rand(2, dtype=dtype), torch.randn(20).to(dtype)):
        assert made.dtype is dtype
    x[1] = 7.5
    x += 1
    x[x > 5] = 0.0
    assert x.tolist()[:2] == [2.5, 0.0]
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone(), x.view(3, 1).squeeze()):
        assert torch.equal(again, x) and again.dtype is dtype
    for name in ("x.pt", "x.safetensors"):
        torch.save({"x": x, "y": x[:2].clone()}, tmp_path / name)
        assert torch.equal(torch.load(tmp_path / name)["x"], x)
    model = nn.Linear(2, 1).to(dtype)
    other = nn.Linear(2, 1).to(dtype)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.weight, model.weight) and other.weight.dtype is dtype


def test_numpy_has_float16_and_no_bfloat16():
    x = torch.ones(3).half()
    x.numpy()[0] = 2.5
    assert x[0] == 2.5 and torch.from_numpy(np.ones(2, np.float16)).dtype is torch.float16
    with pytest.raises(TypeError, match=r"ScalarType BFloat16.*float\(\)"):
        torch.ones(2).bfloat16().numpy()
    with pytest.raises(NotImplementedError, match="default dtype"):
        torch.set_default_dtype(torch.float16)


def test_limits():
    assert torch.finfo(torch.float16).max == 65504 and torch.finfo(torch.bfloat16).eps == 2**-7
    assert torch.finfo(torch.bfloat16).max == float(torch.tensor(3.3895313892515355e38, dtype=torch.bfloat16))
    x = torch.tensor([1e6, -1e6, float("nan")], dtype=torch.float16)
    assert x.isinf().tolist() == [True, True, False]
    assert x.nan_to_num().tolist() == [65504.0, -65504.0, 0.0]


def test_what_pytorch_refuses_for_halves():
    with pytest.raises(RuntimeError, match=r"Low precision dtypes not supported\. Got Half"):
        torch.linalg.inv(torch.eye(2).half())
    with pytest.raises(RuntimeError, match="Unsupported dtype BFloat16"):
        torch.fft.fft(torch.ones(4).bfloat16())


def test_automatic_precision_says_that_it_does_nothing():
    x = torch.randn(3, 3)
    with pytest.warns(UserWarning, match="no effect"), torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype is torch.float32


def test_without_ml_dtypes_there_is_no_bfloat16_and_float16_works():
    text = """
import sys
sys.modules["ml_dtypes"] = None
import pullback as torch
assert (torch.ones(2).half() * 2).sum().item() == 4
try:
    torch.ones(2).bfloat16()
except NotImplementedError as error:
    assert "pip install 'pullback[bfloat16]'" in str(error), error
assert torch.bfloat16.itemsize == 2 and repr(torch.bfloat16) == "torch.bfloat16"
"""
    subprocess.run([sys.executable, "-c", text], check=True)
