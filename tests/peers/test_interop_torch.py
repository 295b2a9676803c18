"""Tensors and compiled functions beside PyTorch's: memory that both see, and functions that PyTorch differentiates."""

import gc

import numpy as np
import pytest
import torch

import pullback
from pullback import grad, jit, value_and_grad

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

F64 = {"dtype": torch.float64}
RNG = np.random.default_rng(3)


def rows(*shape, requires_grad=True):
    return torch.tensor(RNG.normal(size=shape), requires_grad=requires_grad)


def energy(x, y):
    return np.sum(np.tanh(x) * y**2) + np.sum(x) ** 2


def torch_energy(x, y):
    return torch.sum(torch.tanh(x) * y**2) + torch.sum(x) ** 2


def several(x, p):
    return {"a": np.exp(x) * p["w"], "b": (x @ p["m"], 3, np.argmax(x)), "c": None}


def torch_several(x, p):
    return {"a": torch.exp(x) * p["w"], "b": (x @ p["m"], 3, torch.argmax(x)), "c": None}


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


# ---- memory


def test_dlpack_shares_memory_both_ways() -> None:
    ours = pullback.arange(6.0).reshape(2, 3)
    theirs = torch.from_dlpack(ours)
    theirs[0, 0] = -1
    assert ours[0, 0].item() == -1
    before = ours * 2
    ours.mul_(10)
    assert theirs[1, 2] == 50 and before[1, 2].item() == 10
    back = pullback.from_dlpack(theirs)
    back[1, 1] = 7
    assert ours[1, 1].item() == 7 == theirs[1, 1]
    assert torch.from_dlpack(ours.t()).stride() == (1, 3)


@pytest.mark.parametrize("make", [torch.as_tensor, torch.asarray, lambda x: torch.utils.dlpack.from_dlpack(x)])
def test_torch_reads_ours_where_it_lies(make) -> None:
    ours = pullback.zeros(3, dtype=pullback.float64)
    theirs = make(ours)
    theirs[1] = 4
    assert ours.tolist() == [0, 4, 0] and theirs.dtype == torch.float64


@pytest.mark.parametrize("make", [pullback.as_tensor, pullback.asarray, pullback.from_dlpack])
def test_ours_reads_torch_where_it_lies(make) -> None:
    theirs = torch.arange(4)
    ours = make(theirs)
    ours[2] = 9
    assert theirs.tolist() == [0, 1, 9, 3] and ours.dtype is pullback.int64


def test_tensor_copies_and_history_stays_where_it_is() -> None:
    theirs = torch.ones(2, requires_grad=True)
    ours = pullback.tensor(theirs)
    ours[0] = 5
    assert theirs[0] == 1 and not ours.requires_grad
    assert not pullback.as_tensor(theirs).requires_grad
    with pytest.raises(BufferError, match="gradient"):
        pullback.from_dlpack(theirs)
    with pytest.raises(BufferError, match="gradient"):
        torch.from_dlpack(pullback.ones(2, requires_grad=True))


def test_capsules_are_used_once() -> None:
    capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
    assert pullback.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="only once"):
        pullback.from_dlpack(capsule)
    there = torch.zeros(2)
    pullback.from_dlpack(torch.utils.dlpack.to_dlpack(there))[0] = 6
    assert there.tolist() == [6, 0]
    assert torch.from_dlpack(pullback.utils.dlpack.to_dlpack(pullback.ones(2))).tolist() == [1, 1]


def test_memory_outlives_the_tensor_it_came_from() -> None:
    theirs = torch.from_dlpack(pullback.full((1000,), 3.0))
    ours = pullback.from_dlpack(torch.full((1000,), 4.0))
    gc.collect()
    assert theirs.sum() == 3000 and ours.sum().item() == 4000


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 1, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_dtypes_and_shapes_survive(shape, dtype) -> None:
    there = torch.from_dlpack(pullback.ones(shape, dtype=getattr(pullback, dtype if dtype != "bool" else "bool_")))
    back = pullback.from_dlpack(there)
    assert there.dtype is getattr(torch, dtype) and there.shape == shape
    assert back.shape == shape and np.array_equal(back.numpy(), there.numpy())


# ---- torch.Tensors as arguments


def test_compiled_functions_take_torch_tensors_and_give_them_back() -> None:
    x, y = rows(4, requires_grad=False), rows(4, requires_grad=False)
    value, slopes = value_and_grad(energy, argnums=(0, 1))(x, y)
    x.requires_grad_(), y.requires_grad_()
    close(value, torch_energy(x, y).detach())
    close(slopes, torch.autograd.grad(torch_energy(x, y), (x, y)))
    assert type(jit(energy)(x.detach(), 2.0)) is torch.Tensor
    with torch.no_grad():
        assert type(jit(lambda x: x * 2)(torch.nn.Parameter(x.detach()))) is torch.Tensor


def test_arguments_that_would_lose_something_are_refused() -> None:
    with pytest.raises(TypeError, match=r"argument x is a torch.Tensor that requires grad.*to_torch"):
        grad(energy)(rows(3), rows(3, requires_grad=False))
    with pytest.raises(TypeError, match="bfloat16"):
        grad(energy)(torch.ones(3, dtype=torch.bfloat16), 1.0)
    assert grad(energy)(torch.ones(3, dtype=torch.float16), 1.0).dtype is torch.float16
    with pytest.raises(TypeError, match="sparse"):
        grad(energy)(torch.eye(3).to_sparse(), 1.0)


def test_arguments_are_read_at_each_call() -> None:
    f, x = jit(lambda x: x * 2), torch.ones(3, **F64)
    first = f(x)
    x[0] = 5
    assert f(x).tolist() == [10, 2, 2] and first.tolist() == [2, 2, 2]


# ---- functions inside PyTorch


def test_values_and_gradients_of_every_order() -> None:
    x, y = rows(5), rows(5)
    f = pullback.to_torch(energy)
    close(f(x, y), torch_energy(x, y))
    close(torch.autograd.grad(f(x, y), (x, y)), torch.autograd.grad(torch_energy(x, y), (x, y)))
    assert torch.autograd.gradcheck(f, (x, y)) and torch.autograd.gradgradcheck(f, (x, y))
    assert torch.autograd.gradcheck(f, (x, y), check_forward_ad=True)

    def third(g):
        along = torch.func.grad(torch.func.grad(torch.func.grad(lambda t: g(t * x.detach(), y.detach()))))
        return along(torch.tensor(0.5, **F64))

    close(third(f), third(torch_energy))


def test_trees_of_several_results() -> None:
    x, w, m = rows(3), rows(3), rows(3, 2)
    f = pullback.to_torch(several)
    made, wanted = f(x, {"w": w, "m": m}), torch_several(x, {"w": w, "m": m})
    assert list(made) == ["a", "b", "c"] and made["c"] is None and made["b"][1] == 3
    assert not made["b"][2].requires_grad
    close(made["b"][2], wanted["b"][2])

    def parts(x, w, m):
        r = f(x, {"w": w, "m": m})
        return r["a"], r["b"][0]

    assert torch.autograd.gradcheck(parts, (x, w, m)) and torch.autograd.gradgradcheck(parts, (x, w, m))
    only = f(x, {"w": w.detach(), "m": m})["b"][0].sum()
    assert torch.autograd.grad(only, x)[0].shape == (3,)
    assert torch.autograd.grad(only, w, allow_unused=True) == (None,)


def test_what_was_compiled_before_can_be_used_too() -> None:
    slope, x = pullback.to_torch(grad(energy)), rows(4)
    y = rows(4)
    wanted = torch.autograd.grad(torch_energy(x, y), x, create_graph=True)[0]
    close(slope(x, y), wanted)
    close(torch.autograd.grad(slope(x, y).sum(), y), torch.autograd.grad(wanted.sum(), y))


def test_functional_transforms() -> None:
    f, x, y = pullback.to_torch(energy), rows(4, requires_grad=False), rows(4, requires_grad=False)
    lots = torch.stack([x, 2 * x, -x])
    for transform in (torch.func.grad, torch.func.jacrev, torch.func.jacfwd, torch.func.hessian):
        close(transform(f)(x, y), transform(torch_energy)(x, y))
        close(torch.vmap(transform(f), (0, None))(lots, y), torch.vmap(transform(torch_energy), (0, None))(lots, y))
    close(torch.func.jvp(f, (x, y), (y, x)), torch.func.jvp(torch_energy, (x, y), (y, x)))
    close(torch.func.grad(lambda x: torch.vmap(f, (0, None))(x, y).sum())(lots),
          torch.func.grad(lambda x: torch.vmap(torch_energy, (0, None))(x, y).sum())(lots))
    g = pullback.to_torch(lambda x, p: several(x, p)["a"])
    theirs = torch.func.jacfwd(lambda x, p: torch_several(x, p)["a"])(x, {"w": y, "m": y[:, None]})
    close(torch.func.jacfwd(g)(x, {"w": y, "m": y[:, None]}), theirs)


def test_float32_stays_float32() -> None:
    x = torch.linspace(0, 1, 6, requires_grad=True)
    f = pullback.to_torch(lambda x, s: np.sum(np.sin(x) * s))
    made = f(x, 2.0)
    made.backward()
    assert made.dtype == x.grad.dtype == torch.float32
    torch.testing.assert_close(x.grad, 2 * torch.cos(x.detach()))


def test_strided_inputs_and_no_grad() -> None:
    f, x = pullback.to_torch(lambda x: x @ x.T), rows(4, 6)
    close(f(x.t()[::2]), x.t()[::2] @ x.t()[::2].t())
    with torch.no_grad():
        assert not f(x).requires_grad
    with torch.inference_mode():
        assert f(x).is_inference()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_without_breaks(backend) -> None:
    torch._dynamo.reset()
    f, g = pullback.to_torch(energy), pullback.to_torch(lambda x, p: {k: several(x, p)[k] for k in ("a", "b")})

    def whole(x, y, m):
        made = g(torch.sin(x), {"w": y, "m": m})  # what is None cannot come out of a part of PyTorch's graph
        return f(torch.cos(x), y) * 2 + made["a"].sum() + made["b"][0].prod() * made["b"][1]

    x, y, m = rows(4), rows(4), rows(4, 2)
    compiled = torch.compile(whole, fullgraph=True, backend=backend)
    for scale in (1.0, 0.3):
        x = (scale * x).detach().requires_grad_()
        a, b = compiled(x, y, m), whole(x, y, m)
        close(a, b)
        close(torch.autograd.grad(a, (x, y, m)), torch.autograd.grad(b, (x, y, m)))
    torch._dynamo.reset()


def test_the_operator_passes_pytorchs_own_check() -> None:
    from pullback.runtime.interop import torch_calls
    from pullback.runtime.interop.flat import Flat

    one = Flat(lambda x, y: (energy(x, y), x * y), [("array", "f64", (3,))] * 2, "one")
    torch.library.opcheck(torch_calls.operator(), ([rows(3), rows(3)], torch_calls.number_of(one)))


def test_refusals() -> None:
    f = pullback.to_torch(energy)
    assert f(torch.ones(3, dtype=torch.float16), 1.0).dtype is torch.float16
    with pytest.raises(RuntimeError, match="meta"):
        f(torch.ones(3, device="meta"), 1.0)
    with pytest.raises(TypeError, match="takes a function"):
        pullback.to_torch(3)
    take = pullback.to_torch(lambda t, i: t[i])
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        take(torch.ones(3), torch.tensor(7))


def test_a_model_learns_with_one_of_our_functions_in_it() -> None:
    torch.manual_seed(0)
    layer = pullback.to_torch(lambda x, w, b: np.tanh(x @ w + b))
    x = torch.linspace(-2, 2, 40)[:, None]
    w, b, out = (torch.nn.Parameter(torch.randn(*shape)) for shape in ((1, 8), (8,), (8, 1)))
    optimizer = torch.optim.Adam([w, b, out], lr=0.05)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = ((layer(x, w, b) @ out - torch.sin(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.01 < losses[0]
