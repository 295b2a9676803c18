"""Inner layers that copies of torch's modules call give what torch's give, and gradients with it."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback


def numbers(t: Any, *shape: int) -> Any:
    return t.tensor(np.random.default_rng(sum(shape)).normal(size=shape) * 0.5, requires_grad=True)


def weights(t: Any, gates: int, layers: int, both: bool, biased: bool, projected: int = 0) -> list[Any]:
    """For inputs of 4 numbers and states of 3."""
    made, out = [], projected or 3
    for k in range(layers):
        for _ in range(1 + both):
            made += [numbers(t, 3 * gates, 4 if k == 0 else out * (1 + both)), numbers(t, 3 * gates, out)]
            made += [numbers(t, 3 * gates), numbers(t, 3 * gates)] if biased else []
            made += [numbers(t, projected, 3)] if projected else []
    return made


def rectangle(kind: str, gates: int, layers: int, both: bool, biased: bool, first: bool) -> Callable[[Any], Any]:
    def call(t: Any) -> Any:
        states = [numbers(t, layers * (1 + both), 2, 3) for _ in range(2 if kind == "lstm" else 1)]
        x, w = numbers(t, *((2, 5) if first else (5, 2)), 4), weights(t, gates, layers, both, biased)
        hx = states if kind == "lstm" else states[0]
        return getattr(t, kind)(x, hx, w, biased, layers, 0.0, True, both, first), [x, *states, *w]

    return call


def packed(kind: str, gates: int) -> Callable[[Any], Any]:
    def call(t: Any) -> Any:
        states = [numbers(t, 2, 2, 3) for _ in range(2 if kind == "lstm" else 1)]
        x, w = numbers(t, 5, 4), weights(t, gates, 1, True, True)
        hx = states if kind == "lstm" else states[0]
        return getattr(t._VF, kind)(x, t.tensor([2, 2, 1]), hx, w, True, 1, 0.0, True, True), [x, *states, *w]

    return call


def cell(kind: str, gates: int, biased: bool) -> Callable[[Any], Any]:
    def call(t: Any) -> Any:
        states = [numbers(t, 2, 3) for _ in range(2 if kind == "lstm" else 1)]
        x, w = numbers(t, 2, 4), weights(t, gates, 1, False, biased)
        return getattr(t, f"{kind}_cell")(x, states if kind == "lstm" else states[0], *w), [x, *states, *w]

    return call


def projected(t: Any) -> Any:
    x, h, c, w = numbers(t, 5, 2, 4), numbers(t, 1, 2, 2), numbers(t, 1, 2, 3), weights(t, 4, 1, False, True, 2)
    return t.lstm(x, (h, c), w, True, 1, 0.0, True, False, False), [x, h, c, *w]


def of(*shapes: tuple[int, ...], call: Callable[..., Any]) -> Callable[[Any], Any]:
    def calling(t: Any) -> Any:
        given = [numbers(t, *shape) for shape in shapes]
        return call(t, *given), given

    return calling


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
CALLS: dict[str, Callable[[Any], Any]] = {
    **{f"{kind} cell, {biased}": cell(kind, n, biased) for kind, n in GATES.items() for biased in (True, False)},
    **{kind: rectangle(kind, n, 1, False, True, False) for kind, n in GATES.items()},
    **{f"{kind}, both ways": rectangle(kind, n, 2, True, False, True) for kind, n in GATES.items()},
    **{f"{kind}, packed": packed(kind, n) for kind, n in GATES.items()},
    "lstm, projected": projected,
    "layer norm": of((2, 3, 4), (4,), (4,), call=lambda t, x, w, b: t.native_layer_norm(x, [4], w, b, 1e-5)),
    "layer norm, 2": of((2, 3, 4), call=lambda t, x: t.native_layer_norm(x, [3, 4], None, None, 1e-3)),
    "batch norm": of((5, 3), (3,), call=lambda t, x, w: t.native_batch_norm(x, w, None, None, None, True, 0.1, 1e-5)),
    "group norm": of((2, 4, 3), call=lambda t, x: t.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)),
    "conv_tbc": of((5, 2, 3), (2, 3, 4), (4,), call=lambda t, x, w, b: t.conv_tbc(x, w, b, 1)),
    "max_pool1d": of((2, 3, 6), call=lambda t, x: t.max_pool1d_with_indices(x, 2, 1)[0]),
    "grid_sampler_2d": of((1, 2, 3, 3), (1, 2, 2, 2), call=lambda t, x, g: t.grid_sampler_2d(x, g, 0, 1, False)),
    "grid_sampler_3d": of((1, 1, 3, 3, 3), (1, 2, 2, 1, 3), call=lambda t, x, g: t.grid_sampler_3d(x, g, 0, 0, True)),
    "shuffle": of((1, 4, 2, 2), call=lambda t, x: t.native_channel_shuffle(x, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str) -> None:
    found = []
    for t in (pullback, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, given = CALLS[name](t)
        parts = list(made) if isinstance(made, tuple) else [made]
        one = "shuffle" not in name  # torch has no gradient of that
        if one:
            (parts[0] * t.arange(parts[0].numel()).reshape(parts[0].shape)).sum().backward()
        found.append([p.detach().numpy() for p in parts] + [x.grad.numpy() for x in given if one])
    assert len(found[0]) == len(found[1])
    for mine, yours in zip(*found, strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-9, atol=1e-10)


def test_rows_are_scaled_in_place() -> None:
    for t in (pullback, torch):
        table = t.full((3, 4), 2.0)
        assert t.embedding_renorm_(table, t.tensor([0, 2, 0]), 1.0, 2.0) is table
        np.testing.assert_allclose(table.norm(dim=1).numpy(), [1, 4, 1], rtol=1e-6)


def test_wrong_weights() -> None:
    for t in (pullback, torch):
        with pytest.raises(RuntimeError):
            t.gru(t.ones(5, 2, 4), t.ones(1, 2, 3), [t.ones(9, 4)], True, 1, 0.0, True, False, False)
