"""A step of examples/digits.py: value and gradient of a batch of 64 handwritten digits, f32."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peers
from harness import Case

from pullback import value_and_grad


def example() -> Any:
    path = Path(__file__).resolve().parents[2] / "examples" / "digits.py"
    spec = importlib.util.spec_from_file_location("digits_example", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_torch(torch, params, x, y):
    p = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    tx, ty = torch.tensor(x), torch.tensor(y)

    def run():
        scores = torch.tanh(tx @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
        value = torch.nn.functional.cross_entropy(scores, ty)
        return value, dict(zip(p, torch.autograd.grad(value, list(p.values())), strict=True))

    return run


def by_jax(jax, params, x, y):
    def loss(p, x, y):
        scores = jax.numpy.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
        return -(y * jax.nn.log_softmax(scores)).sum() / len(x)

    return peers.by_jax(jax.value_and_grad(loss), params, x, y)


def cases(size: str) -> Iterator[Case]:
    digits = example()
    params, (train, _) = digits.start(), digits.load()
    x, y = next(digits.batches(*train, 0))
    ours = value_and_grad(digits.loss)
    ways = {"pullback": lambda: ours(params, x, y), "NumPy": lambda: digits.loss_by_hand(params, x, y)}
    if torch := peers.torch():
        ways["torch"] = by_torch(torch, params, x, y)
    if jax := peers.jax():
        ways["jax"] = by_jax(jax, params, x, y)
    yield Case("digits step, 64-64-10, batch 64, f32", ways, goals=(("NumPy", 1.0),), agree=1e-4)
