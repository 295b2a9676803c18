"""Programs whose structure is another one at each step: calls are known, but not their order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.trace import opened, plans


@contextmanager
def unrecognised() -> Iterator[None]:
    opened.set_irregular("test", True)
    try:
        yield
    finally:
        opened.set_irregular("test", False)


def chain(x: Any, names: str) -> Any:
    for name in names:
        x = x * 1.5 if name == "m" else torch.tanh(x) if name == "t" else x + x if name == "d" else x[:3].sum() * x
    return x.sum()


def orders(count: int) -> Iterator[str]:
    rng = np.random.default_rng(7)
    for _ in range(count):
        yield "mtdv" + "".join(rng.choice(list("mtdv"), 8))


def test_a_second_backward_fails_and_a_retained_one_adds() -> None:
    for k, names in enumerate(orders(6)):
        x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
        y = chain(x, names)
        y.backward(retain_graph=bool(k % 2))
        once = x.grad.numpy().copy()
        if k % 2:
            y.backward()
            assert np.array_equal(x.grad.numpy(), 2 * once)
        else:
            with pytest.raises(RuntimeError, match="second time"):
                y.backward()


def test_nodes_of_known_calls_are_those_of_calls_that_run() -> None:
    def described(names: str) -> list[str]:
        x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
        pending, found = [chain(x, names).grad_fn], []
        while pending:
            node = pending.pop()
            if node is not None:
                found.append(f"{node.name()} {sorted(k for k in ('self', 'other', 'result') if saved(node, k))}")
                pending += [n for n, _ in node.next_functions]
        return found

    def saved(node: Any, name: str) -> bool:
        return getattr(node, f"_saved_{name}", None) is not None

    for names in orders(8):
        with unrecognised():
            want = described(names)
        assert described(names) == want


def test_a_structure_is_compiled_when_it_comes_again() -> None:
    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    for names in orders(4):
        x.grad = None
        chain(x, names).backward()
        assert x.grad is not None and len(x.grad.tolist()) == 4
    before = plans.explain()["replayed"]
    for _ in range(6):
        x.grad = None
        chain(x, "mtdvmtdvtt").backward()
        assert x.grad is not None and len(x.grad.tolist()) == 4
        plans.maker.settle(60.0)
    assert plans.explain()["replayed"] > before


def test_arguments_that_are_one_value_teach_nothing_about_two() -> None:
    for kind in range(2):
        x, y = torch.tensor([1.0, 2.0, 3.0]) + kind, torch.tensor([10.0, 20.0, 30.0])
        if kind:
            x, y = x * 2, y * 3
        d, e = x.detach(), y.detach()
        one, two = [0.0] * 3, (x - y).tolist()
        for _ in range(4):
            assert (x - d).tolist() == one
            assert (x - y).tolist() == two
            assert (d - e).tolist() == two
            assert (d - y).tolist() == two
            assert (e - y).tolist() == one
