"""Optimisers as functions of lists do with parameters, and what is remembered of them, what torch's do."""

import importlib
import inspect
from typing import Any

import numpy as np
import pytest
import torch

import pullback

MOMENTS: dict[str, Any] = {"beta1": 0.9, "beta2": 0.95, "lr": 0.1, "weight_decay": 0.01, "eps": 1e-6}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("adam", MOMENTS | {"amsgrad": False, "maximize": False}),
    ("adam", MOMENTS | {"amsgrad": True, "maximize": True, "decoupled_weight_decay": True}),
    ("adamw", MOMENTS | {"amsgrad": False, "maximize": False}),
    ("sgd", {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.1, "nesterov": False, "maximize": False}),
    ("sgd", {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": True}),
    ("adagrad", {"lr": 0.1, "weight_decay": 0.01, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}),
    ("rmsprop", {"lr": 0.1, "alpha": 0.9, "eps": 1e-6, "weight_decay": 0.01, "momentum": 0.5, "centered": True}),
    ("adadelta", {"lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.01, "maximize": False}),
    ("adamax", MOMENTS),
    ("nadam", MOMENTS | {"momentum_decay": 0.004}),
    ("radam", MOMENTS),
    ("rprop", {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}),
    ("asgd", {"lambd": 1e-4, "lr": 0.1, "t0": 2.0, "alpha": 0.75, "weight_decay": 0.01}),
]
NUMBERS = {"state_steps": 0.0, "mu_products": 1.0, "mus": 1.0, "etas": 0.1}


def run(t: Any, name: str, settings: dict[str, Any]) -> list[np.ndarray]:
    function = getattr(importlib.import_module(f"{t.__name__}.optim.{name}"), name)
    shapes = [(3,), (2, 2), ()]
    rng = np.random.default_rng(0)
    lists: dict[str, list[Any]] = {}
    for p in list(inspect.signature(function).parameters.values()):
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty:
            if p.name in NUMBERS:
                lists[p.name] = [t.tensor(NUMBERS[p.name]) for _ in shapes]
            elif p.name == "params":
                lists[p.name] = [t.tensor(rng.normal(size=s), dtype=t.float32, requires_grad=True) for s in shapes]
            elif p.name == "momentum_buffer_list" and name == "sgd":
                lists[p.name] = [None for _ in shapes]
            elif p.name not in ("grads", "d_p_list"):
                lists[p.name] = [t.full(s, 0.1 if p.name == "step_sizes" else 0.0) for s in shapes]
    if name.startswith("adam") and name != "adamax" and not settings["amsgrad"]:
        lists["max_exp_avg_sqs"] = []
    order = [n for n in inspect.signature(function).parameters if n in lists or n in ("grads", "d_p_list")]
    for _ in range(7):
        grads = [t.tensor(rng.normal(size=s), dtype=t.float32) for s in shapes]
        with t.no_grad():
            function(*[lists.get(n, grads) for n in order], **settings)
    flat = [x for held in lists.values() for x in held if x is not None]
    return [x.detach().numpy() for x in flat]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_same_numbers(name: str, settings: dict[str, Any]) -> None:
    got, want = run(pullback, name, settings), run(torch, name, settings)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, 2e-5, 1e-6)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_same_parameters(name: str) -> None:
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
        for t in ("pullback", "torch") for f in [getattr(importlib.import_module(f"{t}.optim.{name}"), name)]
    )  # fmt: skip
    assert ours == theirs


def test_what_is_refused() -> None:
    from pullback.optim.adam import adam

    with pytest.raises(NotImplementedError, match="GradScaler"):
        adam([], [], [], [], [], [], grad_scale=pullback.ones(1), **MOMENTS, amsgrad=False, maximize=False)
