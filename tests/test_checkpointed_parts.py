"""`utils.checkpoint.checkpoint(f, x, use_reentrant=False)`: steps stay whole, and f runs again on the way back."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as torch
from tests.test_new_structures import unrecognised


def steps(runs: list[int], calm: bool = False) -> list[Any]:
    torch.manual_seed(0)
    parts = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.4)) for _ in range(2)])
    descent, x, seen = torch.optim.SGD(parts.parameters(), lr=0.1), torch.ones(4, 3), list[Any]()

    def run(part: Any, h: Any) -> Any:
        runs.append(1)
        return {"h": part(h).tanh(), "rest": [h.sin()]}

    before = 0
    for k in range(14):
        h = x
        for part in parts:
            made: Any = run(part, h) if calm else torch.utils.checkpoint.checkpoint(run, part, h, use_reentrant=False)
            h = made["h"] + made["rest"][0]
        loss = h.square().mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
        seen += [loss.item(), torch.rand(1).item()]
        if k == 6:
            before = dict(torch.explain())["cold"]
    assert calm or dict(torch.explain())["cold"] == before
    return seen


def test_steps_with_checkpoints_run_natively_and_call_the_function_again() -> None:
    runs: list[int] = []
    made = steps(runs)
    assert len(runs) == 14 * 2 * 2
    with unrecognised():
        assert steps(runs, calm=True) == pytest.approx(made, rel=1e-5)


def test_a_run_that_does_less_than_the_first_is_an_error() -> None:
    runs: list[int] = []

    def less(x: Any) -> Any:
        runs.append(1)
        return x.exp() * x if len(runs) == 1 else x.exp()

    made = torch.utils.checkpoint.checkpoint(less, torch.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(torch.utils.checkpoint.CheckpointError, match="different number of tensors"):
        made.sum().backward()


def test_what_users_do_with_saved_tensors_is_not_asked_within_a_checkpoint() -> None:
    packed: list[Any] = []
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        y = torch.utils.checkpoint.checkpoint(lambda a: (a.exp() * a).sin(), x, use_reentrant=False)
        z = y.exp()
    z.sum().backward()
    assert len(packed) == 1 and x.grad is not None
