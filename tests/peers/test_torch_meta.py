"""Devices can be named as torch's can, and tensors of the device meta have what torch's have: shapes and dtypes."""

import copy
import pickle
import resource
import subprocess
import sys
from typing import Any

import pytest
import torch

import pullback

BOTH = pytest.mark.parametrize("t", [torch, pullback], ids=["torch", "pullback"])


@BOTH
def test_names_of_devices(t: Any) -> None:
    d = t.device
    assert (str(d("cuda", 1)), repr(d("cuda:1")), repr(d("meta")), d("xpu", 2).index, d("xpu:2").type) == (
        "cuda:1", "device(type='cuda', index=1)", "device(type='meta')", 2, "xpu"
    )  # fmt: skip
    assert d("cpu") == d("cpu") and d("cuda:0") == d("cuda", 0) and d("cuda:0") != d("cuda:1") and d("cpu") != d("meta")
    assert pickle.loads(pickle.dumps(d("cuda:3"))) == d("cuda:3") and len({d("cpu"), d("cpu"), d("meta")}) == 2
    with d("cpu"):
        assert t.zeros(2).device == d("cpu")
    for wrong in ("gpu", "cpu:x"):
        with pytest.raises(RuntimeError):
            d(wrong)
    for call in (lambda: t.zeros(2, device="cuda"), lambda: t.randn(2, device="cuda:0"), lambda: t.ones(2).to("cuda")):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            call()


@BOTH
def test_what_is_made(t: Any) -> None:
    with t.device("meta"):
        made = [
            t.zeros(2, 3), t.ones(2, dtype=t.int32), t.randn(3), t.rand(2, 2), t.arange(5), t.randint(0, 3, (2,)),
            t.tensor([1.5]), t.eye(3), t.full((2,), 1.0), t.empty(4), t.linspace(0, 1, 5), t.randperm(4),
        ]  # fmt: skip
    assert all(x.is_meta and x.device.type == "meta" for x in made)
    x = made[0]
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert t.zeros(2).device.type == "cpu" and t.empty_like(x).is_meta and x.new_ones(2).is_meta
    assert not t.zeros_like(x, device="cpu").is_meta and t.ones(2).new_empty(2).device.type == "cpu"
    assert t.zeros_like(t.ones(2), device="meta").is_meta and x.double().dtype is t.float64
    t.set_default_device("meta")
    try:
        assert t.ones(2).is_meta and t.get_default_device().type == "meta"
    finally:
        t.set_default_device(None)
    assert not t.ones(2).is_meta


@BOTH
def test_what_is_computed(t: Any) -> None:
    x, w = t.empty(2, 3, device="meta"), t.empty(3, 5, device="meta", requires_grad=True)
    assert (x @ w).shape == (2, 5) and (x @ w).requires_grad and (x @ w).is_meta
    assert [y.shape for y in x.chunk(3, 1)] == [(2, 1)] * 3 and x.max(1).indices.dtype is t.int64
    assert t.cat([x, x]).shape == (4, 3) and x.T.shape == (3, 2) and (x > 0).dtype is t.bool and x[0].is_meta
    assert t.nn.functional.softmax(x, -1).is_meta and t.nn.functional.dropout(x, 0.5).is_meta
    assert x.add_(1) is x and x.uniform_() is x and x.zero_() is x
    x[0] = 3.0
    assert copy.deepcopy(x).is_meta and x.detach().is_meta and x.stride() == (3, 1)
    for call in (x.cpu, x.tolist, lambda: x.to("cpu"), lambda: t.zeros(2, 3).copy_(x)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            call()
    for call in (x.item, lambda: x.sum().item(), lambda: bool(x.sum())):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(TypeError, match="meta"):
        x.numpy()


@BOTH
def test_modules(t: Any) -> None:
    nn = t.nn
    t.manual_seed(0)
    first = t.rand(1).item()
    t.manual_seed(0)
    with t.device("meta"):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Embedding(5, 2), nn.GRU(2, 3))
    assert t.rand(1).item() == first  # nothing was drawn
    assert {p.device.type for p in (*model.parameters(), *model.buffers())} == {"meta"}
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in model.parameters())
    assert model[:2](t.empty(7, 3, device="meta")).shape == (7, 4)
    assert repr(model[0].weight).endswith("tensor(..., device='meta', size=(4, 3), requires_grad=True)")
    with pytest.raises(NotImplementedError, match="to_empty"):
        model.to("cpu")
    other = copy.deepcopy(model)
    model.to_empty(device="cpu")
    assert {p.device.type for p in (*model.parameters(), *model.buffers())} == {"cpu"}
    full = nn.Linear(3, 4)
    assert not other[0].load_state_dict(full.state_dict(), assign=True).missing_keys
    x = t.ones(2, 3)
    assert t.equal(other[0](x), full(x)) and other[0].weight.requires_grad
    other[0](x).sum().backward()
    assert other[0].weight.grad.shape == (4, 3)
    assert full.to("meta").weight.is_meta
    for init in ("kaiming_normal_", "orthogonal_", "trunc_normal_", "xavier_uniform_", "zeros_"):
        assert getattr(nn.init, init)(t.empty(3, 4, device="meta")).is_meta


def test_they_take_no_memory() -> None:
    # What lies in memory while the model lives; the peak of a child begins at that of the process that started it.
    program = (
        "import pullback as t\n"
        "with t.device('meta'):\n    net = t.nn.Sequential(*[t.nn.Linear(8192, 8192) for _ in range(30)])\n"
        "    assert net(t.empty(64, 8192)).shape == (64, 8192)\n"
        "assert t.ones(3).sum().item() == 3\nprint(open('/proc/self/statm').read().split()[1])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * resource.getpagesize() < 1e9  # where the values would be 8 GB


def test_the_first_tensor_of_a_process_may_be_one() -> None:
    code = "import pullback; print(pullback.zeros(2, 3, device='meta').shape, pullback.randn(2, device='meta').is_meta)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split("\n")[0] == "torch.Size([2, 3]) True"
