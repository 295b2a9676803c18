"""Numbers that change from call to call: recognised as inputs where functions only hand them on or compare them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace.plans import explain
from pullback.runtime.tensor.value.given import NumberInput, lies_in
from tests.test_new_structures import unrecognised

F = torch.nn.functional

QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda g: 1 - g, "product": lambda g: g * 2, "power": lambda g: 2**g, "root": math.sqrt,
    "text": lambda g: f"{g:.3f}", "array": np.asarray, "float32": np.float32, "exp": np.exp, "int": int,
    "key": lambda g: g in {1.0: 2}, "nan": math.isnan, "method": lambda g: g.is_integer(),
    "NumPy's": lambda g: g < np.float64(3), "tensor": lambda g: float(g),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_whoever_asks_gets_the_number_and_that_is_noted(name: str) -> None:
    given = NumberInput(0.5)
    made, expected = QUESTIONS[name](given), QUESTIONS[name](0.5)
    assert given.asked and made == expected and type(made) is type(expected)


def test_comparisons_tell_for_which_numbers_they_hold() -> None:
    given = NumberInput(0.5)
    assert isinstance(given, float) and not given <= 0 and 0 <= given < 1 and given != 0.25 and given and not given > 3
    assert not given.asked
    low, high, apart = given.region()
    assert (low, high, apart) == (math.nextafter(0, 1), math.nextafter(1, 0), (0.25,))
    assert [lies_in(x, given.region()) for x in (0.0, 0.25, 0.3, 0.999, 1.0, math.nan)] == [False] * 2 + [True] * 2 + [
        False
    ] * 2
    assert NumberInput(2.0) == 2 and max(NumberInput(2.0), 1.0).region()[0] == 1.0  # type: ignore[union-attr]
    assert NumberInput(math.nan).asked


LABELS = torch.tensor([0, 2, 1, 3])
PROGRAMS: dict[str, Callable[[Any, float], Any]] = {
    "epsilon": lambda x, v: F.layer_norm(x, (4,), eps=v),
    "NumPy's float": lambda x, v: F.layer_norm(x, (4,), eps=np.float64(v)),
    "delta": lambda x, v: F.huber_loss(x, x * 0.5, delta=v),
    "power": lambda x, v: x.abs().pow(2 * v),
    "smoothing": lambda x, v: F.cross_entropy(x, LABELS, label_smoothing=v / 2),
    "computed labels": lambda x, v: F.cross_entropy(x, (LABELS + 1) % 4, label_smoothing=v / 2),
    "alpha": lambda x, v: torch.add(x, x * x, alpha=v),
    "two numbers": lambda x, v: F.softplus(x, beta=v, threshold=3 * v),
    "a number asked for": lambda x, v: torch.quantile(x, min(v, 1.0), dim=1),
}
VALUES = [0.3, 0.31, 0.32, 0.33, 0.34, 0.5, 0.36, 1.0, 0.37, 1.5, 0.38, 0.39]


def results(program: Callable[[Any, float], Any]) -> list[bytes]:
    data = np.random.default_rng(3).normal(size=(4, 4)).astype(np.float32)
    made = []
    for v in VALUES:
        x = torch.tensor(data, requires_grad=True)
        y = program(x, v)
        (y * y).sum().backward()
        made.append(y.detach().numpy().tobytes() + x.grad.numpy().tobytes())
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_recognition(name: str) -> None:
    """The numbers cross borders that the functions compare them with, and come by exponents with their own formula."""
    with unrecognised():
        plain = results(PROGRAMS[name])
    forget_calls()
    assert results(PROGRAMS[name]) == results(PROGRAMS[name]) == plain


def test_an_error_for_one_number_does_not_spoil_the_others() -> None:
    forget_calls()
    x = torch.ones(4, 4, requires_grad=True)
    for k in range(40):
        if k % 3 == 2:
            with pytest.raises(RuntimeError, match=f"non-positive values for delta, got -1.{k}1"):
                F.huber_loss(x, x * 2, delta=-float(f"1.{k}1"))
        else:
            assert F.huber_loss(x, x * 2, delta=1.5 + k / 7).item() == 0.5


@pytest.mark.parametrize("name", ["epsilon", "delta", "alpha", "two numbers", "computed labels"])
def test_steps_with_ever_other_numbers_are_kernels(name: str) -> None:
    forget_calls()
    w = torch.ones(4, 4, requires_grad=True)
    descent = torch.optim.SGD([w], lr=0.01)

    def step(v: float) -> None:
        descent.zero_grad()
        (PROGRAMS[name](w, v) ** 2).mean().backward()
        descent.step()

    for k in range(60):
        step(0.3 + k / 300)
    before = explain()
    for k in range(60, 100):
        step(0.3 + k / 300)
    after = explain()
    assert after["compiled"] == before["compiled"] and after["replayed"] - before["replayed"] >= 40
