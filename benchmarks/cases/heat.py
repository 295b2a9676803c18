"""A hundred steps of the heat equation on a plate, in place on slices; the gradient of the plate at the beginning."""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

RATE = 0.2


def miss(start, wanted, steps):
    """How far the plate is from the one that is wanted; its edge keeps its temperature."""
    u = start.copy()
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += RATE * (around - 4 * u[1:-1, 1:-1])
    return np.sum((u - wanted) ** 2)


def by_hand(start, wanted, steps):
    u = start.copy()
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += RATE * (around - 4 * u[1:-1, 1:-1])
    back = 2 * (u - wanted)
    for _ in range(steps):
        inner = RATE * back[1:-1, 1:-1]
        back[1:-1, 1:-1] -= 4 * inner
        back[:-2, 1:-1] += inner
        back[2:, 1:-1] += inner
        back[1:-1, :-2] += inner
        back[1:-1, 2:] += inner
    return np.sum((u - wanted) ** 2), back


def by_jax(jax):
    np = jax.numpy

    def function(start, wanted, steps):
        def step(u, _):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return u.at[1:-1, 1:-1].add(RATE * (around - 4 * u[1:-1, 1:-1])), None

        u, _ = jax.lax.scan(step, start, None, length=steps)
        return np.sum((u - wanted) ** 2)

    return function


def cases(size: str) -> Iterator[Case]:
    n, steps = (6, 3) if size == "tiny" else (128, 100)
    start, wanted = np.random.default_rng(0).normal(size=(2, n, n))
    start, wanted = start.copy(), wanted.copy()
    ours = value_and_grad(miss)
    ways = {"pullback": lambda: ours(start, wanted, steps), "NumPy": lambda: by_hand(start, wanted, steps)}
    if jax := peers.jax():
        function = by_jax(jax)
        ways["jax"] = peers.by_jax(jax.value_and_grad(lambda u, to: function(u, to, steps)), start, wanted)
    if c_version := native.kernel("heat", n, n, steps, start, wanted, out=[np.empty_like(start)]):
        ways["C"] = c_version
    name = f"heat equation, {n} x {n}, {steps} steps, gradient of the beginning"
    yield Case(name, ways, "ms", 1e3, (("C", 1 / 1.2),))
