"""Optimisers move complex parameters as PyTorch's do: each as the pairs of real numbers that it consists of."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as torch

WAYS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}), ("AdamW", {}), ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}), ("Adagrad", {"initial_accumulator_value": 0.5}),
    ("Adadelta", {}), ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("ASGD", {"t0": 1}), ("Rprop", {}),
    ("LBFGS", {"lr": 0.1}), ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 4}),
]  # fmt: skip


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize(("name", "settings"), WAYS)
def test_parts_of_complex_parameters(name: str, settings: dict[str, Any], precise: bool) -> None:
    torch.manual_seed(0)
    start = torch.randn(2, 3, 2, dtype=torch.float64 if precise else torch.float32)
    other = torch.randn(3, dtype=start.dtype)
    factor = torch.view_as_complex(torch.randn_like(start))

    def trained(as_pairs: bool) -> tuple[Any, Any]:
        z = torch.nn.Parameter(start.clone() if as_pairs else torch.view_as_complex(start.clone()))
        x = torch.nn.Parameter(other.clone())
        optimiser = getattr(torch.optim, name)([z, x], **settings)

        def closure() -> Any:
            optimiser.zero_grad()
            loss = ((torch.view_as_complex(z) if as_pairs else z) * factor + x - 1).abs().pow(2).sum()
            loss.backward()
            return loss

        for _ in range(6):
            optimiser.step(closure)
        return (z if as_pairs else torch.view_as_real(z)).detach(), x.detach()

    for a, b in zip(trained(False), trained(True), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9 if precise else 1e-4, atol=1e-9 if precise else 1e-5)


def test_what_is_remembered_is_complex() -> None:
    z = torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))
    kinds = {"Adam": "exp_avg_sq", "Rprop": "step_size", "Adagrad": "sum"}
    for name, key in kinds.items():
        optimiser = getattr(torch.optim, name)([z], lr=0.5)
        z.grad = torch.full_like(z, 1 + 2j)
        optimiser.step()
        assert optimiser.state[z][key].dtype == torch.complex64
    z.grad = torch.zeros_like(z)
    steady = torch.optim.Rprop([z], lr=0.5)
    steady.step()
    assert steady.state[z]["step_size"].tolist() == [0.5 + 0.5j] * 2
