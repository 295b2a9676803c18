"""torch's own inputs for its optimisers (`optim_db`): settings, faulty settings, and schedulers, under both modules."""

import warnings
from types import FunctionType
from typing import Any

import pytest
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import pullback
from tests.peers.optimisers import parameters
from tests.semantics import difference, plain

NOT_HERE = {"SparseAdam"}  # whose gradients are sparse: test_torch_sparse.py
INFOS = {info.optim_cls.__name__: info for info in optim_db if info.optim_cls.__name__ not in NOT_HERE}
STEPS = 8


def test_nobody_is_left_out() -> None:
    assert {name for name in INFOS if not hasattr(pullback.optim, name)} == set()
    assert len(INFOS) == 14


def ours(value: Any, made: dict[int, Any] | None = None) -> Any:
    """Torch's tensors in settings and parameters as ours, the same one as the same one."""
    made = {} if made is None else made
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            copied = pullback.from_numpy(value.detach().numpy().copy()).requires_grad_(value.requires_grad)
            made[id(value)] = pullback.nn.Parameter(copied) if isinstance(value, torch.nn.Parameter) else copied
            if value.grad is not None:
                made[id(value)].grad = ours(value.grad)
        return made[id(value)]
    if isinstance(value, dict):
        return {k: ours(v, made) for k, v in value.items()}
    return type(value)(ours(v, made) for v in value) if isinstance(value, (list, tuple)) else value


def fitting(module: Any, name: str) -> list[Any]:
    """The parameters that an optimiser takes: Muon's are matrices."""
    return [p for p in parameters(module, "float64") if name != "Muon" or p.dim() == 2]


def cases() -> list[Any]:
    return [
        pytest.param(name, dict(each.kwargs), id=f"{name} {each.desc}")
        for name, info in INFOS.items()
        for each in info.optim_inputs_func(device="cpu")
    ]


@pytest.mark.parametrize(("name", "settings"), cases())
def test_inputs(name: str, settings: dict[str, Any]) -> None:
    def run(module: Any, settings: dict[str, Any]) -> Any:
        params = fitting(module, name)
        optimizer = getattr(module.optim, name)(params, **settings)
        losses = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = sum(((p.sin() + p * 0.1) ** 2).sum() for p in params)
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(STEPS):
            optimizer.step(closure)
        state = [] if name == "LBFGS" else optimizer.state_dict()
        return plain([losses, [p.detach() for p in params], state, repr(optimizer)], False)

    if name == "Muon" and isinstance(settings.get("lr"), torch.Tensor):  # torch then reckons in the tensor's dtype
        settings["lr"] = settings["lr"].double()
    if settings.pop("differentiable", False):
        pytest.fail("a differentiable optimiser is among torch's inputs now")
    # LBFGS solves for directions, so last bits count for more
    wrong = difference(run(pullback, ours(settings)), run(torch, settings), relative=1e-6, floor=1e-6)
    assert wrong is None or (name == "LBFGS" and "values" in wrong and close(run, settings)), wrong


def close(run: Any, settings: dict[str, Any]) -> bool:
    """Whether the losses agree."""
    return difference(run(pullback, ours(settings))[0], run(torch, settings)[0], relative=1e-6) is None


def faults() -> list[Any]:
    return [
        pytest.param(name, each, id=f"{name} {each.error_regex[:50]}")
        for name, info in INFOS.items()
        for each in info.optim_error_inputs_func(device="cpu", dtype=torch.float64)
        if isinstance(each.error_regex, str)
    ]


@pytest.mark.parametrize(("name", "fault"), faults())
def test_error_inputs(name: str, fault: Any) -> None:
    given = fault.optimizer_error_input
    params = ours(given.params) if given.params is not None else [pullback.ones(2, requires_grad=True)]

    def make() -> Any:
        return getattr(pullback.optim, name)(params, **ours(given.kwargs))

    if issubclass(fault.error_type, Warning):
        with pytest.warns(fault.error_type):
            make()
    elif fault.error_on is OptimizerErrorEnum.CONSTRUCTION_ERROR:
        with pytest.raises(fault.error_type):
            make()
    else:
        with pytest.raises(fault.error_type):
            make().step()


@pytest.mark.parametrize("name", INFOS)
def test_schedulers(name: str) -> None:
    for makers in INFOS[name].scheduler_inputs:
        rates = []
        for module in (pullback, torch):
            optimizer = getattr(module.optim, name)(fitting(module, name), lr=0.1)
            names = vars(module.optim.lr_scheduler)
            schedulers = [FunctionType(make.__code__, names)(optimizer) for make in makers]
            seen = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for k in range(STEPS):
                    for s in schedulers:
                        s.step(*([1.0 / (k // 3 + 1)] if type(s).__name__ == "ReduceLROnPlateau" else []))
                    seen.append(optimizer.param_groups[0]["lr"])
            rates.append(seen)
        assert difference(*rates, relative=1e-12) is None
