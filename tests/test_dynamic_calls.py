"""Calls of sizes that are new, by formulas: their templates are those that the functions would teach if they ran."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import calls, dynamic_calls
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace.fragments import dynamic
from pullback.runtime.tensor.trace.fragments.fragment_cache import forget_fragments
from tests.sized_programs import LAYERS, OPERATIONS, SIZES, draw, index, nothing_learned, run_layer

F = torch.nn.functional


afresh = pytest.fixture(autouse=True)(nothing_learned)


class Checked:
    """Compares each template that comes of formulas with what the call teaches when it runs; counts them by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        pending: dict[int, Any] = {}
        template_for, learn = calls.template_for, calls.learn_sizes

        def instead(reading: Any) -> None:
            pending[id(reading)] = template_for(reading)

        def compared(reading: Any, template: Any) -> None:
            made = pending.pop(id(reading), None)
            if made is not None:
                self.names.append(reading.recorded.name)
                same(made, template)
            learn(reading, template)

        monkeypatch.setattr(calls, "template_for", instead)
        monkeypatch.setattr(calls, "learn_sizes", compared)


PLAIN = (
    "call", "function", "mode", "form", "dtypes", "bounds", "pause", "through", "aliases", "gives", "assigns",
    "renewed", "grads", "frees", "still", "viewed", "has_nodes", "ends", "plain", "values", "dense", "views", "kinds",
    "parts", "within", "results", "size",
)  # fmt: skip


def same(made: Any, want: Any) -> None:
    for name in PLAIN:
        assert getattr(made, name) == getattr(want, name), (want.call.name, name)
    assert [s[1:3] for s in made.steps] == [s[1:3] for s in want.steps]
    for (a, *_), (b, *_) in zip(made.steps, want.steps, strict=True):
        assert a.inputs == b.inputs and a.results == b.results and a.operation is b.operation, want.call.name
        assert a.numbers == b.numbers and repr(a.attributes) == repr(b.attributes), want.call.name
    assert [(k, known(test)) for k, test in made.checks] == [(k, known(test)) for k, test in want.checks]
    for (ref, a), (other, b) in zip(made.constants, want.constants, strict=True):
        assert ref == other and a.kind is b.kind and a.array.tobytes() == b.array.tobytes(), want.call.name
    for a, b in zip(made.nodes or (), want.nodes or (), strict=True):
        assert a._replace(pull=None) == b._replace(pull=None) and a.pull[1:] == b.pull[1:], want.call.name
        mine, theirs = a.pull.fragment, b.pull.fragment
        assert (mine and (mine.inputs, mine.results)) == (theirs and (theirs.inputs, theirs.results))


def known(test: Any) -> Any:
    assert type(test) is FunctionType
    return test.__code__, [cell.cell_contents for cell in test.__closure__ or ()]


FEW = {"dropout": 0, "integers": 3}
"""Programs of which fewer calls have a history, or draw."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_formulas_teach_what_a_run_would(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    checked = Checked(monkeypatch)
    for n in SIZES:
        x = draw(n, 6).requires_grad_()
        (OPERATIONS[name](x, n).float() ** 2).sum().backward()
    assert len(checked.names) > FEW.get(name, 8), checked.names


@pytest.mark.parametrize("layer", LAYERS)
def test_of_layers_too(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch)
    run_layer(layer)
    assert len(checked.names) > 8


@pytest.mark.parametrize("name", [*OPERATIONS, *LAYERS])
def test_values_and_gradients_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[Any]:
        torch.manual_seed(0)
        if name in LAYERS:
            return [t.numpy() for t in run_layer(name)]
        found = []
        for n in SIZES[:7]:
            x = draw(n, 6).requires_grad_()
            made = OPERATIONS[name](x, n)
            (made.float() ** 2).sum().backward()
            found += [made.detach().numpy(), *([] if x.grad is None else [x.grad.numpy()])]
        return found

    by_formulas = run()
    forget_calls()
    forget_fragments()
    monkeypatch.setattr(calls, "template_for", lambda reading: None)
    for a, b in zip(run(), by_formulas, strict=True):  # what is one kernel, and so the order of sums, may differ
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_a_check_of_values_knows_the_new_size() -> None:
    for n in (9, 12, 20, 31):
        x = draw(n, 6).requires_grad_()
        assert x[torch.tensor([n - 1])].shape == (1, 6)
        with pytest.raises(IndexError, match=f"index {n} is out of bounds for dimension 0 with size {n}"):
            x[torch.tensor([n])].sum().item()
    assert any(call.forms for call in dynamic_calls._calls.values())


def test_a_function_that_branches_on_sizes_has_a_way_for_each() -> None:
    for n, m in ((9, 9), (20, 20), (20, 12), (9, 30), (33, 7), (7, 7), (1, 40), (40, 1), (12, 1), (1, 1), (50, 2)):
        x, y = draw(n, 1).requires_grad_(), draw(1, m)
        (x.expand(n, m) * y.expand(n, m)).sum().backward()
        assert torch.allclose(x.grad, y.sum().expand(n, 1))
        assert x.grad.shape == (n, 1)


def test_what_fails_with_stand_ins_is_learned_for_each_size(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [0]

    def failing(*args: Any) -> Any:
        tried[0] += 1
        raise ValueError("it asks for what stands for a number")

    monkeypatch.setattr(dynamic_calls, "run_with", failing)
    for n in range(10, 60):
        assert (draw(n, 3) * 0).exp().sum().item() == 3 * n
    assert 0 < tried[0] <= dynamic.PATIENCE * len(dynamic_calls._calls)


def test_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_calls, "LIMIT", 3)
    for n in range(10, 20):
        x = draw(n, 3)
        assert (((x + 1).exp() * 2).log() - x).sum().item() == pytest.approx(3 * n * 1.693147, rel=1e-4)
    assert len(dynamic_calls._calls) <= 3


def test_another_default_dtype_is_another_call() -> None:
    for n in (9, 12, 20):
        assert (torch.arange(n) / 2).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.arange(31) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_views_of_views_and_of_data() -> None:
    data = torch.randn(60, 8)
    for n in (9, 12, 20, 31, 40):
        x = data[:n].requires_grad_() if n == 9 else data[:n].clone().requires_grad_()
        made = x.t()[:, 1:].t().reshape(-1, 4)[1:] + x.t().contiguous().t()[1:].reshape(-1, 4)[1:]
        made.sum().backward()
        want = torch.full((n, 8), 2.0)
        want[0] = 0
        want[1, :4] = 0
        assert torch.equal(x.grad, want) and index(3, n).max() < n
