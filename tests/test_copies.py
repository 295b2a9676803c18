"""Copies and pickles of tensors, modules, optimisers and what else PyTorch's users hold."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.nn.utils import parametrizations, parametrize
from pullback.optim import lr_scheduler, swa_utils
from pullback.utils.data import DataLoader, TensorDataset

D = torch.distributions


def by_pickle(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


def by_cloudpickle(x: Any) -> Any:
    return pickle.loads(cloudpickle.dumps(x))


AGAIN = [copy.deepcopy, by_pickle, by_cloudpickle]

# ---- functions of the face

FACES = (
    "pullback", "pullback.autograd", "pullback.distributions", "pullback.fft", "pullback.func", "pullback.linalg",
    "pullback.nn", "pullback.nn.functional", "pullback.optim", "pullback.random", "pullback.special", "pullback.signal",
    "pullback.utils.data",
)  # fmt: skip


@pytest.mark.parametrize("face", FACES)
def test_functions_and_classes_are_found_by_their_names(face: str) -> None:
    module = importlib.import_module(face)
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    held = {name: getattr(module, name) for name in names}
    held = {name: x for name, x in held.items() if not isinstance(x, types.ModuleType)}
    held = {name: x for name, x in held.items() if isinstance(x, type) or hasattr(x, "__name__")}
    for again in (copy.copy, *AGAIN):
        assert not [name for name, x in held.items() if again(x) is not x], again


def test_methods_are_found_by_their_names() -> None:
    x = torch.tensor([-1.0, 2.0])
    for again in AGAIN:
        assert again(torch.Tensor.relu) is torch.Tensor.relu and again(torch.Tensor.stft) is torch.Tensor.stft
        assert again(x.add)(1).tolist() == [0.0, 3.0]


THERE = """
import pickle, sys
function, module, tensors = pickle.load(sys.stdin.buffer)
x, row = tensors
row.zero_()
print(function(x).tolist(), module(x.double()).shape, x.tolist())
"""


def test_they_arrive_where_nothing_was_imported() -> None:
    x = torch.ones(2, 3)
    given = (torch.special.expit, nn.TransformerEncoderLayer(3, 1, activation=torch.relu).double().eval(), (x, x[0]))
    ran = subprocess.run([sys.executable, "-c", THERE], input=pickle.dumps(given), capture_output=True, timeout=100)
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.decode().split("torch")[0].startswith("[[0.5, 0.5, 0.5], [0.73")
    assert ran.stdout.decode().strip().endswith("[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]")


# ---- tensors


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "bool", "uint8", "int8", "int64"])
def test_tensors_of_every_dtype(again: Callable[..., Any], dtype: str) -> None:
    kind = getattr(torch, dtype)
    for x in (torch.arange(6).reshape(2, 3).to(kind), torch.zeros(0, 2, dtype=kind), torch.tensor(1, dtype=kind)):
        y = again(x)
        assert y.dtype is kind and y.shape == x.shape and y.tolist() == x.tolist() and not y.requires_grad


@pytest.mark.parametrize("again", AGAIN)
def test_tensors_that_share_memory_share_it_again(again: Callable[..., Any]) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    y, row, turned, every, same = again([x, x[1], x.t(), x.flatten()[::2], x])
    assert same is y and row.tolist() == [3.0, 4.0, 5.0] and every.tolist() == [0.0, 2.0, 4.0]
    row.zero_()
    turned[0, 0] = 7.0
    assert y.tolist() == [[7.0, 1.0, 2.0], [0.0, 0.0, 0.0]] and every.tolist() == [7.0, 2.0, 0.0]
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "nothing is shared with what they were made from"
    assert turned.stride() == (1, 3) and not turned.is_contiguous()


@pytest.mark.parametrize("again", AGAIN)
def test_a_leaf_and_its_data(again: Callable[..., Any]) -> None:
    x = torch.ones(2, requires_grad=True)
    y, data = again((x, x.detach()))
    data.mul_(3.0)
    (y * y).sum().backward()
    assert y.tolist() == [3.0, 3.0] and y.grad.tolist() == [6.0, 6.0] and x.grad is None


@pytest.mark.parametrize("again", AGAIN)
def test_memory_that_numpy_holds(again: Callable[..., Any]) -> None:
    array = np.ones(3)
    x = torch.from_numpy(array)
    y, part = again([x, x[:2]])
    part.zero_()
    array[2] = 5.0
    assert y.tolist() == [0.0, 0.0, 1.0] and x.tolist() == [1.0, 1.0, 5.0]


def test_a_copy_is_not_written_to() -> None:
    """Nor does backward through it take what is written to the original for a change of its own."""
    x = torch.ones(3, requires_grad=True)
    y = copy.deepcopy(x)
    z = (y * y).sum()
    with torch.no_grad():
        x.add_(1.0)
    z.backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0] and x.tolist() == [2.0, 2.0, 2.0]


def test_tensors_with_a_history() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    y = by_pickle(x * 2)
    assert y.is_leaf and y.requires_grad and y.tolist() == [2.0, 2.0]
    for again in (copy.copy, *AGAIN):
        with pytest.raises(TypeError, match="cannot copy or pickle MulBackward0, the history of a tensor"):
            again((x * 2).grad_fn)
    pullback = torch.func.vjp(torch.sin, x)[1]
    with pytest.raises((TypeError, AttributeError), match=r"history|local object"):
        by_cloudpickle(pullback)


def test_gradients_and_attributes() -> None:
    x: Any = torch.ones(2, requires_grad=True)
    x.note = [1]
    x.sum().backward()
    y, z = copy.deepcopy(x), by_pickle(x)
    assert y.grad.tolist() == [1.0, 1.0] and y.grad is not x.grad and z.grad is None
    assert y.note == z.note == [1] and y.note is not x.note


def test_hooks_are_said_to_stay() -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook .*print.* on tensor will not be serialized"):
        by_pickle(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.deepcopy(x)


class Named(torch.Tensor):
    pass


class Own(nn.Parameter):
    pass


@pytest.mark.parametrize("again", [copy.copy, *AGAIN])
def test_subclasses(again: Callable[..., Any]) -> None:
    named, own = Named(torch.ones(2)), Own(torch.ones(2))
    assert type(again(named)) is Named and type(again(own)) is Own and again(own).requires_grad
    frozen = nn.Parameter(torch.ones(2), requires_grad=False)
    assert type(again(frozen)) is nn.Parameter and not again(frozen).requires_grad


@pytest.mark.parametrize("again", AGAIN)
def test_results_with_names(again: Callable[..., Any]) -> None:
    for made in (torch.ones(2, 2).max(0), torch.linalg.svd(torch.eye(2)), torch.linalg.slogdet(torch.eye(2))):
        assert type(again(made)) is type(made) and repr(again(made)) == repr(made)


# ---- modules


def tied() -> nn.Module:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    return nn.Sequential(first, second)


MODULES: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Linear(2, 2),
    "tied": tied,
    "weight_norm": lambda: parametrizations.weight_norm(nn.Linear(2, 2)),
    "spectral_norm": lambda: parametrizations.spectral_norm(nn.Linear(2, 2)),
    "norm": lambda: nn.Sequential(nn.BatchNorm1d(2), nn.ReLU(), nn.Linear(2, 2)),
    "averaged": lambda: swa_utils.AveragedModel(nn.Linear(2, 2), multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9)),
    "averaged, one by one": lambda: swa_utils.AveragedModel(nn.Linear(2, 2), avg_fn=swa_utils.get_ema_avg_fn(0.9)),
    "function": lambda: nn.TripletMarginWithDistanceLoss(distance_function=nn.functional.pairwise_distance),
}


def trained(m: Any, steps: int = 3) -> list[Any]:
    """The losses of a few steps."""
    if isinstance(m, nn.TripletMarginWithDistanceLoss):
        return [m(torch.ones(1, 2), torch.zeros(1, 2), torch.tensor([[3.0, 1.0]])).item()]
    losses, descent = [], torch.optim.SGD(m.parameters(), lr=0.1)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.0]])
    for _ in range(steps):
        loss = (m(x) - 1.0).square().sum()
        descent.zero_grad()
        loss.backward()
        descent.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("name", MODULES)
def test_modules_train_on_as_they_would_have(again: Callable[..., Any], name: str) -> None:
    torch.manual_seed(1)
    m = MODULES[name]()
    trained(m)
    other = again(m)
    before = {k: v.tolist() for k, v in m.state_dict().items()}
    losses = trained(other)
    assert {k: v.tolist() for k, v in m.state_dict().items()} == before
    assert losses == pytest.approx(trained(m), rel=1e-5) and len(list(other.parameters())) == len(list(m.parameters()))


def test_a_copy_of_a_parametrized_module_has_a_class_of_its_own() -> None:
    m: Any = parametrizations.weight_norm(nn.Linear(2, 2))
    other = copy.deepcopy(m)
    parametrize.remove_parametrizations(other, "weight")
    assert type(other) is nn.Linear and type(m) is not nn.Linear and parametrize.is_parametrized(m)
    assert m.weight.tolist() == other.weight.tolist()


@pytest.mark.parametrize("again", AGAIN)
def test_layers_that_wait_for_their_input(again: Callable[..., Any]) -> None:
    for m, x in ((nn.LazyLinear(2), torch.ones(3, 4)), (nn.LazyBatchNorm1d(), torch.ones(3, 4))):
        other = again(m)
        assert other.has_uninitialized_params()
        other(x)
        assert type(other) is type(m).cls_to_become and m.has_uninitialized_params()
        m(x)
        assert type(m) is type(other) and type(m.weight) is type(other.weight) is nn.Parameter


def test_hooks_of_modules_are_not_lost_to_later_ones() -> None:
    """Numbers of hooks go on after those that were read."""
    m = nn.Identity()
    for _ in range(50):
        handle = m.register_forward_hook(print)
        handle.remove()
    kept = m.register_forward_hook(print)
    program = "import pickle, sys; m = pickle.load(sys.stdin.buffer)\nprint(m.register_forward_hook(print).id)"
    ran = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(m), capture_output=True, timeout=100)
    assert ran.returncode == 0 and int(ran.stdout) > kept.id, ran.stderr.decode()


# ---- optimisers and schedulers


OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "LBFGS": lambda p: torch.optim.LBFGS(p, lr=0.5),
    "Rprop": lambda p: torch.optim.Rprop(p),
}


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_go_on_with_their_model(again: Callable[..., Any], name: str) -> None:
    torch.manual_seed(1)
    m = nn.Linear(2, 1)
    descent = OPTIMISERS[name](m.parameters())
    schedule = lr_scheduler.StepLR(descent, 2, 0.5)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5]])

    def steps(m: Any, descent: Any, schedule: Any) -> list[float]:
        def closure() -> Any:
            descent.zero_grad()
            loss = (m(x) - 1.0).square().sum()
            loss.backward()
            return loss

        losses = []
        for _ in range(3):
            losses.append(descent.step(closure).item())
            schedule.step()
        return losses

    steps(m, descent, schedule)
    other = again((m, descent, schedule))
    assert other[2].optimizer is other[1]
    assert other[1].param_groups[0]["params"][0] is other[0].weight is not m.weight
    assert steps(*other) == pytest.approx(steps(m, descent, schedule), rel=1e-5)
    assert other[2].get_last_lr() == schedule.get_last_lr()


# ---- what else there is


@pytest.mark.parametrize("again", [copy.copy, *AGAIN])
def test_generators_draw_on(again: Callable[..., Any]) -> None:
    g = torch.Generator().manual_seed(3)
    torch.rand(5, generator=g)
    other = again(g)
    assert other is not g and other.initial_seed() == 3
    assert torch.rand(4, generator=other).tolist() == torch.rand(4, generator=g).tolist()
    loader = DataLoader(TensorDataset(torch.arange(8)), 2, shuffle=True, generator=g)
    twin = again(loader)
    assert [b[0].tolist() for b in twin] == [b[0].tolist() for b in loader] or again is copy.copy


@pytest.mark.parametrize("again", AGAIN)
def test_distributions(again: Callable[..., Any]) -> None:
    loc = torch.tensor(0.5, requires_grad=True)
    flow = D.TransformedDistribution(D.Normal(loc, 2.0), [D.ExpTransform(), D.AffineTransform(1.0, 2.0).inv])
    mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), torch.ones(2)))
    for each in (flow, mixture, D.Independent(D.Gamma(torch.ones(2), torch.ones(2)), 1), D.Bernoulli(0.3)):
        x = each.sample()
        assert again(each).log_prob(x).tolist() == each.log_prob(x).tolist()
    for registry in (D.biject_to, D.transform_to):
        assert type(again(registry)(D.constraints.positive)) is type(registry(D.constraints.positive))


@pytest.mark.parametrize("again", [copy.copy, *AGAIN])
def test_what_there_is_once(again: Callable[..., Any]) -> None:
    for x in (torch.float32, torch.bool, torch.strided, torch.contiguous_format, torch.channels_last, torch.bfloat16):
        assert again(x) is x


@torch.no_grad()
def evaluated(m: Any, x: Any) -> Any:
    return m(x)


def test_modes_of_functions_by_value() -> None:
    """They set the mode of the process in which they are called, and no copy of it."""
    m, x = nn.Linear(2, 1), torch.ones(1, 2)
    far: Any = torch.no_grad()(lambda m, x: m(x))
    assert not by_cloudpickle(far)(m, x).requires_grad and not by_pickle(evaluated)(m, x).requires_grad
    assert torch.is_grad_enabled() and m(x).requires_grad
    slope = by_cloudpickle(torch.func.grad(lambda x: (x**3).sum()))
    assert slope(torch.tensor([2.0])).tolist() == [12.0]
    rows = by_cloudpickle(torch.func.vmap(torch.func.grad(lambda x: x**2)))
    assert rows(torch.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
