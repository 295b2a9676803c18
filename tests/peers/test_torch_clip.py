"""Clipping of gradients beside torch's."""

from math import inf
from typing import Any

import numpy as np
import pytest
import torch

import pullback
from tests.semantics import difference, plain


def gradients(module: Any, dtypes: tuple[str, ...] = ("float32", "float32")) -> list[Any]:
    rng = np.random.default_rng(0)
    made = []
    for dtype, size in zip(dtypes, ((3, 4), (5,)), strict=True):
        p = module.from_numpy(np.zeros(size, dtype)).requires_grad_()
        p.grad = module.from_numpy(rng.normal(size=size).astype(dtype))
        made.append(p)
    return [*made, module.zeros(2, requires_grad=True)]


def assert_alike(run: Any) -> None:
    wrong = difference(plain(run(pullback), False), plain(run(torch), False))
    assert wrong is None, wrong


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float64", "float64")])
@pytest.mark.parametrize("order", [2, 2.0, 1, 3.5, 0, inf, -inf, "inf"])
@pytest.mark.parametrize("most", [0.5, 100, 0])
def test_by_norm(most: float, order: Any, dtypes: tuple[str, ...]) -> None:
    def run(module: Any) -> Any:
        ps = gradients(module, dtypes)
        held = [p.grad for p in ps]
        found = module.nn.utils.clip_grad_norm_(iter(ps), most, norm_type=order)
        assert all(a is p.grad for a, p in zip(held, ps, strict=True))
        return [found, [p.grad for p in ps], module.nn.utils.get_total_norm(ps[0].grad, order)]

    assert_alike(run)


@pytest.mark.parametrize("order", [2, 1, 3.5, inf])
def test_two_dtypes(order: float) -> None:
    """Torch takes each norm in its tensor's precision."""

    def run(module: Any) -> Any:
        ps = gradients(module, ("float32", "float64"))
        found = module.nn.utils.clip_grad_norm_(ps, 0.5, norm_type=order)
        return [str(found.dtype), found.item(), [str(p.grad.dtype) for p in ps[:2]], [p.grad.tolist() for p in ps[:2]]]

    assert_alike(run)


@pytest.mark.parametrize("limit", [0.3, 10])
def test_by_value(limit: float) -> None:
    def run(module: Any) -> Any:
        ps = gradients(module)
        assert module.nn.utils.clip_grad_value_(ps, limit) is None
        assert module.nn.utils.clip_grad_value_(ps[0], limit / 2) is None
        return [p.grad for p in ps]

    assert_alike(run)


def test_with_a_known_norm_and_without_gradients() -> None:
    def run(module: Any) -> Any:
        ps = gradients(module)
        assert module.nn.utils.clip_grads_with_norm_(ps, 1.0, module.tensor(4.0)) is None
        none = module.nn.utils.clip_grad_norm_(ps[2], 1.0)
        module.nn.utils.clip_grads_with_norm_(ps[2], 1.0, none)
        return [p.grad for p in ps], none

    assert_alike(run)


def test_what_is_not_finite() -> None:
    def run(module: Any) -> Any:
        ps = gradients(module)
        ps[0].grad[0, 0] = inf
        with pytest.raises(RuntimeError, match="non-finite"):
            module.nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)
        found = module.nn.utils.clip_grad_norm_(ps, 1.0)
        return [found, ps[0].grad, ps[1].grad]

    assert_alike(run)


def test_an_empty_generator() -> None:
    for module in (pullback, torch):
        with pytest.warns(UserWarning, match="empty generator"):
            assert module.nn.utils.clip_grad_norm_((p for p in ()), 1.0).item() == 0
