"""Learning rate schedulers beside torch's: what the groups hold after each of twenty steps."""

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback
from tests.peers.optimisers import STEPS, error_of, parameters
from tests.semantics import difference, plain

CYCLE = {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3}
SCHEDULERS: list[tuple[str, dict[str, Any]]] = [
    ("LambdaLR", {"lr_lambda": lambda k: 0.9**k}),
    ("LambdaLR", {"lr_lambda": [lambda k: 1 / (k + 1), lambda k: 1 + k]}),
    ("MultiplicativeLR", {"lr_lambda": lambda k: 0.95 + 0.01 * (k % 3)}),
    ("StepLR", {"step_size": 4}),
    ("MultiStepLR", {"milestones": [3, 3, 8, 12], "gamma": 0.5}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 6}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.6, "total_iters": 9}),
    ("ExponentialLR", {"gamma": 0.8}),
    ("PolynomialLR", {"total_iters": 8, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.001}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", CYCLE),
    ("CyclicLR", {**CYCLE, "base_lr": [0.01, 0.02], "step_size_down": 5, "mode": "triangular2"}),
    ("CyclicLR", {**CYCLE, "mode": "exp_range", "gamma": 0.9}),
    ("CyclicLR", {**CYCLE, "scale_fn": lambda x: 1 / x, "cycle_momentum": False}),
    ("OneCycleLR", {"max_lr": 0.3, "total_steps": 22}),
    ("OneCycleLR", {"max_lr": [0.3, 0.1], "epochs": 6, "steps_per_epoch": 4, "anneal_strategy": "linear"}),
    ("OneCycleLR", {"max_lr": 0.3, "total_steps": 30, "three_phase": True, "pct_start": 0.4, "cycle_momentum": False}),
]


def scheduled(module: Any, make: Callable[[Any, Any], Any], optimiser: str, metrics: Any = None) -> Any:
    """What all groups hold after every step, the last rates, and the keys and numbers of the state."""
    params = parameters(module, "float64")
    settings = {"momentum": 0.9} if optimiser == "SGD" else {}
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.02}]
    optimizer = getattr(module.optim, optimiser)(groups, lr=0.1, **settings)
    scheduler = make(module, optimizer)
    seen = []
    for k in range(STEPS):
        optimizer.step()
        scheduler.step(*([metrics(k)] if metrics else []))
        held = [{k: v for k, v in sorted(group.items()) if k != "params"} for group in optimizer.param_groups]
        seen.append(plain([held, scheduler.get_last_lr()], False))
    return seen


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
@pytest.mark.parametrize(("name", "settings"), SCHEDULERS, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_scheduler(name: str, settings: dict[str, Any], optimiser: str) -> None:
    def make(module: Any, optimizer: Any) -> Any:
        return getattr(module.optim.lr_scheduler, name)(optimizer, **settings)

    assert_alike(make, optimiser)


def assert_alike(make: Callable[[Any, Any], Any], optimiser: str = "SGD", metrics: Any = None) -> None:
    ours, theirs = (scheduled(m, make, optimiser, metrics) for m in (pullback, torch))
    wrong = difference(ours, theirs, relative=1e-12, floor=1e-15)
    assert wrong is None, wrong


def test_schedulers_in_a_row_and_together() -> None:
    def in_a_row(module: Any, optimizer: Any) -> Any:
        s = module.optim.lr_scheduler
        parts = [s.LinearLR(optimizer, total_iters=4), s.ExponentialLR(optimizer, 0.9), s.StepLR(optimizer, 2)]
        return s.SequentialLR(optimizer, parts, milestones=[5, 11])

    def together(module: Any, optimizer: Any) -> Any:
        s = module.optim.lr_scheduler
        return s.ChainedScheduler([s.ConstantLR(optimizer, 0.5, 3), s.ExponentialLR(optimizer, 0.9)], optimizer)

    def nested(module: Any, optimizer: Any) -> Any:
        s = module.optim.lr_scheduler
        first = s.ChainedScheduler([s.ConstantLR(optimizer, 0.5, 3), s.ExponentialLR(optimizer, 0.9)])
        with pytest.warns(UserWarning, match="before `?optimizer.step"):  # it steps the chained ones once more
            return s.SequentialLR(optimizer, [first, s.CosineAnnealingLR(optimizer, 6)], milestones=[7])

    for make in (in_a_row, together, nested):
        assert_alike(make)


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 2},
        {"mode": "max", "patience": 1, "cooldown": 2, "factor": 0.5},
        {"threshold": 0.05, "threshold_mode": "abs", "patience": 0, "min_lr": [0.01, 0.005]},
        {"mode": "max", "threshold_mode": "abs", "patience": 0, "eps": 0.02},
    ],
    ids=lambda x: ",".join(x),
)
def test_plateau(settings: dict[str, Any]) -> None:
    values = np.random.default_rng(3).normal(size=STEPS).round(2)

    def make(module: Any, optimizer: Any) -> Any:
        return module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)

    assert_alike(make, metrics=lambda k: float(values[k]))


@pytest.mark.parametrize("epoch", [0, 3, 7.5, 20])
@pytest.mark.parametrize(("name", "settings"), SCHEDULERS, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_jumps(name: str, settings: dict[str, Any], epoch: float) -> None:
    if epoch != int(epoch) and name != "CosineAnnealingWarmRestarts":
        epoch = int(epoch)

    def make(module: Any, optimizer: Any) -> Any:
        scheduler = getattr(module.optim.lr_scheduler, name)(optimizer, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler.step(epoch)
        return scheduler

    def rates(module: Any) -> Any:
        optimizer = module.optim.SGD(parameters(module, "float64")[:1], lr=0.1, momentum=0.5)
        optimizer.add_param_group({"params": parameters(module, "float64")[:1], "lr": 0.02})
        return make(module, optimizer).get_last_lr()

    wrong = difference(rates(pullback), rates(torch), relative=1e-12, floor=1e-15)
    assert wrong is None, wrong


@pytest.mark.parametrize(("name", "settings"), SCHEDULERS, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_a_saved_scheduler_goes_on(name: str, settings: dict[str, Any]) -> None:
    def rates(module: Any, interrupt: bool) -> list[Any]:
        optimizer = module.optim.SGD(
            [{"params": p, "lr": 0.1 / (k + 1)} for k, p in enumerate(parameters(module, "float64")[:2])], momentum=0.9
        )
        scheduler = getattr(module.optim.lr_scheduler, name)(optimizer, **settings)
        seen = []
        for k in range(STEPS):
            optimizer.step()
            scheduler.step()
            seen.append(list(scheduler.get_last_lr()))
            if interrupt and k == 7:
                state, held = scheduler.state_dict(), optimizer.state_dict()
                scheduler = getattr(module.optim.lr_scheduler, name)(optimizer, **settings)
                optimizer.load_state_dict(held)
                file = io.BytesIO()
                module.save(state, file)
                file.seek(0)
                scheduler.load_state_dict(module.load(file))
                states.append(state)
        return seen

    states: list[Any] = []
    assert rates(pullback, True) == rates(pullback, False)
    assert difference(rates(pullback, True), rates(torch, True), relative=1e-12, floor=1e-15) is None
    mine, yours = (plain(dict(sorted(state.items())), False) for state in (states[0], states[-1]))
    assert difference(mine, yours, relative=1e-12, floor=1e-15) is None


FAULTS = """
lr.StepLR(1, 2)
lr.StepLR(sgd, 2, last_epoch=3)
lr.LambdaLR(sgd, [abs, abs])
lr.MultiplicativeLR(sgd, [1.0])
lr.ConstantLR(sgd, factor=2)
lr.LinearLR(sgd, start_factor=0)
lr.LinearLR(sgd, end_factor=2)
lr.CosineAnnealingWarmRestarts(sgd, 0)
lr.CosineAnnealingWarmRestarts(sgd, 2, 0)
lr.CosineAnnealingWarmRestarts(sgd, 2).step(-1)
lr.CyclicLR(sgd, [0.1, 0.2], 1)
lr.CyclicLR(sgd, 0.1, 1, mode="square")
lr.CyclicLR(optim.Adagrad([q]), 0.1, 1)
lr.OneCycleLR(sgd, 1)
lr.OneCycleLR(sgd, 1, total_steps=0)
lr.OneCycleLR(sgd, 1, epochs=1.5, steps_per_epoch=2)
lr.OneCycleLR(sgd, 1, 5, pct_start=2.0)
lr.OneCycleLR(sgd, 1, 5, anneal_strategy="steep")
lr.OneCycleLR(optim.Adagrad([q]), 1, 5)
[(sgd.step(), s.step()) for s in [lr.OneCycleLR(sgd, 1, 2)] for _ in range(4)]
lr.ReduceLROnPlateau(sgd, factor=1.0)
lr.ReduceLROnPlateau(sgd, mode="least")
lr.ReduceLROnPlateau(sgd, threshold_mode="none")
lr.ReduceLROnPlateau(sgd, min_lr=[1, 2])
lr.ReduceLROnPlateau(1)
lr.SequentialLR(sgd, [], [])
lr.SequentialLR(sgd, [lr.StepLR(sgd, 1)], [1])
lr.SequentialLR(sgd, [1], [])
lr.SequentialLR(sgd, [lr.ReduceLROnPlateau(sgd)], [])
lr.SequentialLR(sgd, [lr.StepLR(optim.SGD([q]), 1)], [])
lr.ChainedScheduler([])
lr.ChainedScheduler([lr.StepLR(sgd, 1), lr.StepLR(optim.SGD([q]), 1)])
lr.LRScheduler(sgd)
""".strip().splitlines()


@pytest.mark.parametrize("text", FAULTS)
def test_errors(text: str) -> None:
    assert error_of(torch, text) != "no error"
    assert error_of(pullback, text) == error_of(torch, text)
