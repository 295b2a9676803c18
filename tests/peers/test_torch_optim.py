"""Optimisers, schedulers and clipping beside torch's: the same program with either module, over twenty steps."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback
from tests.peers.optimisers import STEPS, error_of, parameters
from tests.semantics import difference, plain

EVERY: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.03}),
    ("Adam", {"lr": 0.03, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.03, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.03, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.03, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.03, "amsgrad": True}),
    ("RMSprop", {"lr": 0.02}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.8, "momentum": 0.7, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.02, "centered": True, "maximize": True}),
    ("RMSprop", {"lr": 0.02, "momentum": 0.7}),
    ("Adagrad", {"lr": 0.2}),
    ("Adagrad", {"lr": 0.2, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "betas": (0.7, 0.9), "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "betas": (0.7, 0.9), "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "betas": (0.7, 0.9), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("ASGD", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {"lr": 0.02}),
    ("Rprop", {"lr": 0.02, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}),
]


def loss_of(params: list[Any]) -> Any:
    w, b, s = params
    return ((w * s + b) ** 2).mean() + (w.sin() * b).sum() * 0.3 + (b * b).sum() * 0.1


def run(module: Any, make: Callable[[Any, list[Any]], Any], dtype: str) -> Any:
    """Losses, parameters, state and printed form."""
    params = parameters(module, dtype)
    optimizer = make(module, params)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(params)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return plain([losses, [p.detach() for p in params], optimizer.state_dict(), repr(optimizer)], False)


def compare(make: Callable[[Any, list[Any]], Any], dtype: str = "float64", relative: float = 1e-6) -> None:
    wrong = difference(run(pullback, make, dtype), run(torch, make, dtype), relative=relative)
    assert wrong is None, wrong


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "settings"), EVERY, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_optimiser(name: str, settings: dict[str, Any], dtype: str) -> None:
    compare(lambda m, ps: getattr(m.optim, name)(ps, **settings), dtype, 2e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("name", sorted({name for name, _ in EVERY}))
def test_defaults_and_signature(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(m.optim, name).__init__).parameters for m in (pullback, torch))
    both = [[(p.name, p.kind, p.default) for p in each.values()] for each in (ours, theirs)]
    assert both[0] == both[1]
    compare(lambda m, ps: getattr(m.optim, name)(ps))


@pytest.mark.parametrize("name", sorted({name for name, _ in EVERY}))
def test_groups(name: str) -> None:
    def make(module: Any, params: list[Any]) -> Any:
        optimizer = getattr(module.optim, name)([{"params": params[:1]}, {"params": params[1], "lr": 0.002}], lr=0.03)
        optimizer.add_param_group({"params": params[2:], "maximize": True})
        return optimizer

    compare(make)


@pytest.mark.parametrize(("name", "settings"), EVERY, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_a_loaded_state_goes_on(name: str, settings: dict[str, Any]) -> None:
    """Torch's state is loaded, through plain data, into ours, and both go on alike."""

    def go_on(module: Any, params: list[Any], optimizer: Any) -> list[Any]:
        for _ in range(5):
            optimizer.zero_grad()
            loss_of(params).backward()
            optimizer.step()
        return [p.detach().tolist() for p in params]

    theirs = parameters(torch, "float64")
    first = getattr(torch.optim, name)(theirs, **settings)
    go_on(torch, theirs, first)
    ours = [pullback.from_numpy(p.detach().numpy().copy()).requires_grad_() for p in theirs]
    second = getattr(pullback.optim, name)(ours, **settings)

    def moved(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return pullback.tensor(x.numpy().copy())
        return {k: moved(v) for k, v in x.items()} if isinstance(x, dict) else x

    second.load_state_dict(moved(first.state_dict()))
    wrong = difference(go_on(pullback, ours, second), go_on(torch, theirs, first), relative=1e-10)
    assert wrong is None, wrong
    again = getattr(pullback.optim, name)(ours, **settings)
    again.load_state_dict(second.state_dict())
    assert difference(plain(again.state_dict(), False), plain(second.state_dict(), False)) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "settings",
    [
        {"lr": 0.1},
        {"lr": 0.5, "max_iter": 4, "history_size": 2},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "max_iter": 3, "history_size": 2},
        {"line_search_fn": "strong_wolfe", "lr": 5.0, "max_iter": 6, "max_eval": 8},
    ],
    ids=lambda x: ",".join(x),
)
def test_lbfgs(settings: dict[str, Any], dtype: str) -> None:
    def losses(module: Any) -> Any:
        rng = np.random.default_rng(1)
        a = module.from_numpy(rng.normal(size=(6, 5)).astype(dtype))
        x = module.from_numpy(rng.normal(size=5).astype(dtype)).requires_grad_()
        y = module.ones(1, dtype=a.dtype, requires_grad=True)
        optimizer = module.optim.LBFGS([x, y], **settings)
        seen: list[float] = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((a @ x - y) ** 2).sum() + ((x * x - 1) ** 2).sum() * 0.1
            loss.backward()
            seen.append(loss.item())
            return loss

        returned = [optimizer.step(closure).item() for _ in range(4)]
        counts = {k: v for k, v in optimizer.state_dict()["state"][0].items() if isinstance(v, int)}
        return [returned, seen, x.detach().tolist(), sorted(counts.items())]

    ours, theirs = losses(pullback), losses(torch)
    if dtype == "float32":  # a last bit decides when the search ends
        ours, theirs = ours[0], theirs[0]
    wrong = difference(ours, theirs, relative=1e-3 if dtype == "float32" else 1e-7)
    assert wrong is None, wrong


FAULTS = """
optim.SGD([], lr=0.1)
optim.SGD(p, lr=0.1)
optim.SGD([p * 2], lr=0.1)
optim.SGD([1.0], lr=0.1)
optim.SGD([{"params": {p}}], lr=0.1)
optim.SGD([p], lr=-1)
optim.Adam([p], lr=float("nan"))
optim.SGD([p], lr=torch.ones(2))
optim.SGD([p], momentum=-1)
optim.SGD([p], weight_decay=-1)
optim.SGD([p], nesterov=True)
optim.SGD([("a", p), q])
optim.SGD([{"params": [p]}, {"params": [p]}])
optim.SGD([{"params": [("a", p)]}, {"params": [q]}])
optim.SGD([p]).add_param_group([q])
optim.SGD([p]).add_param_group({"params": [p]})
optim.SGD([p]).add_param_group({})
optim.SGD([p], fused=True, foreach=True)
optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []})
optim.SGD([p]).load_state_dict(optim.SGD([p, q]).state_dict())
optim.SGD([p]).load_state_dict({})
optim.Adam([p], betas=(1.0, 0.9))
optim.Adam([p], betas=(0.9, -0.1))
optim.Adam([p], eps=-1)
optim.RMSprop([p], alpha=-1)
optim.RMSprop([p], momentum=-1)
optim.Adagrad([p], lr_decay=-1)
optim.Adagrad([p], initial_accumulator_value=-1)
optim.Adadelta([p], rho=2)
optim.Adamax([p], weight_decay=-1)
optim.NAdam([p], momentum_decay=-1)
optim.RAdam([p], betas=(0.9, 1.0))
optim.ASGD([p], weight_decay=-1)
optim.Rprop([p], etas=(1.5, 1.2))
optim.LBFGS([{"params": [p]}, {"params": [q]}])
optim.LBFGS([p]).step()
p.sum().backward(); optim.Optimizer([p], {}).step()
""".strip().splitlines()


@pytest.mark.parametrize("text", FAULTS)
def test_errors(text: str) -> None:
    assert error_of(torch, text) != "no error"
    assert error_of(pullback, text) == error_of(torch, text)


OPTIMISERS: dict[str, Any] = {
    "SGD": {"lr": 0.1}, "Adam": {"lr": 0.01}, "RMSprop": {"lr": 0.01, "momentum": 0.5}, "Adagrad": {"lr": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMISERS)
def test_parameters_of_several_dtypes(name: str) -> None:
    def trained(lib: Any) -> list[Any]:
        data = lib.arange(12.0).reshape(4, 3) / 7
        parts = [lib.ones(3, 3) / 3, lib.ones(3, dtype=lib.float64) / 5, lib.ones(3), lib.ones(1, dtype=lib.float64)]
        params = [lib.nn.Parameter(p) for p in parts]
        descent = getattr(lib.optim, name)(params, **OPTIMISERS[name])
        average, told = lib.optim.swa_utils.AveragedModel(lib.nn.ParameterList(params)), []
        for _ in range(8):
            hidden = lib.tanh(data @ params[0] + params[2])
            loss = ((hidden.double() * params[1]).sum(1) + params[3]).pow(2).mean()
            descent.zero_grad()
            loss.backward()
            descent.step()
            average.update_parameters(lib.nn.ParameterList(params))
            told.append(loss.item())
        return [told, *[p.flatten().tolist() for p in (*params, *average.parameters())], int(average.n_averaged)]

    assert trained(pullback) == [pytest.approx(x, rel=1e-5) for x in trained(torch)]


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "NAdam", "ASGD", "Rprop", "LBFGS"])
def test_complex_parameters(name: str) -> None:
    """Its parts are what PyTorch sees, also where a first value is remembered."""

    def trained(t: Any) -> list[complex]:
        z = t.nn.Parameter(t.tensor([0.3 + 1.2j, -0.4j, 2.0], dtype=t.complex128))
        x, factor = t.nn.Parameter(t.ones(3, dtype=t.float64)), t.tensor([1 - 1j, 0.5, 2j], dtype=t.complex128)
        optimiser = getattr(t.optim, name)([z, x], lr=0.1)

        def closure() -> Any:
            optimiser.zero_grad()
            loss = ((z * factor + x - 1).abs() ** 2).sum()
            loss.backward()
            return loss

        for _ in range(4):
            optimiser.step(closure)
        return z.tolist() + x.tolist()

    assert trained(pullback) == pytest.approx(trained(torch), rel=1e-10)


def test_states_of_lbfgs_are_exchanged() -> None:
    """Each library goes on with the state of the other, whose entries have its names and their order."""

    def program(t: Any, given: Any = None) -> Any:
        p = t.zeros(3, dtype=t.float64, requires_grad=True)
        if given:
            p.data.copy_(t.tensor(given[0]))
        made = t.optim.LBFGS([p], lr=0.5, max_iter=4, history_size=3)
        if given:
            made.load_state_dict(given[1])

        def closure() -> Any:
            made.zero_grad()
            loss = ((p - t.tensor([1.0, 2.0, 3.0])) ** 4).sum() + (p[0] * p[1] - 1) ** 2
            loss.backward()
            return loss

        losses = [made.step(closure).item() for _ in range(3)]
        return losses, p.tolist(), made.state_dict()

    def translated(value: Any, t: Any) -> Any:
        if isinstance(value, dict):
            return {k: translated(v, t) for k, v in value.items()}
        if isinstance(value, list):
            return [translated(v, t) for v in value]
        return t.tensor(value.tolist(), dtype=t.float64) if hasattr(value, "tolist") else value

    theirs, mine = program(torch), program(pullback)
    assert [*mine[2]["state"][0]] == [*theirs[2]["state"][0]] and len(mine[2]["state"][0]["al"]) == 3
    for first, other in ((theirs, pullback), (mine, torch)):
        further = program(torch, (theirs[1], translated(theirs[2], torch)))  # a copy, as steps write to it
        crossed = program(other, (first[1], translated(first[2], other)))
        np.testing.assert_allclose(crossed[0], further[0], rtol=1e-9)
        np.testing.assert_allclose(crossed[1], further[1], rtol=1e-9)
