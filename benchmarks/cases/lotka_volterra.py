"""A thousand Runge-Kutta steps of predators and prey, as a `for` over floats; the gradient in all six inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

H = 0.01
GIVEN = (1.1, 0.4, 0.1, 0.4, 10.0, 5.0)
INPUTS = tuple(range(6))


def miss(a, b, c, d, x, y, steps):
    """How far from a point the orbit ends."""

    def rates(x, y):
        return a * x - b * x * y, c * x * y - d * y

    for _ in range(steps):
        k1, l1 = rates(x, y)
        k2, l2 = rates(x + H / 2 * k1, y + H / 2 * l1)
        k3, l3 = rates(x + H / 2 * k2, y + H / 2 * l2)
        k4, l4 = rates(x + H * k3, y + H * l3)
        x = x + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        y = y + H / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return (x - 4.0) ** 2 + (y - 3.0) ** 2


def by_hand(a, b, c, d, x, y, steps):
    orbit = []
    for _ in range(steps):
        states, slopes, (u, v) = [], [], (x, y)
        for reach in (0.5 * H, 0.5 * H, H, 0.0):
            states.append((u, v))
            slopes.append((a * u - b * u * v, c * u * v - d * v))
            u, v = x + reach * slopes[-1][0], y + reach * slopes[-1][1]
        orbit.append(states)
        x, y = (
            s + H / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
            for s, k in zip((x, y), zip(*slopes, strict=True), strict=True)
        )
    value, back, to = (x - 4.0) ** 2 + (y - 3.0) ** 2, (2 * (x - 4.0), 2 * (y - 3.0)), [0.0] * 4
    for states in reversed(orbit):
        total, (left, right) = list(back), (0.0, 0.0)
        for (u, v), weight, reach in zip(states[::-1], (1, 2, 2, 1), (0.0, H, 0.5 * H, 0.5 * H), strict=True):
            k, m = H / 6 * weight * back[0] + reach * left, H / 6 * weight * back[1] + reach * right
            left, right = k * (a - b * v) + m * c * v, m * (c * u - d) - k * b * u
            to = [to[0] + k * u, to[1] - k * u * v, to[2] + m * u * v, to[3] - m * v]
            total = [total[0] + left, total[1] + right]
        back = total
    return value, (*to, *back)


def by_jax(jax):
    def function(a, b, c, d, x, y, steps):
        def rates(s):
            return jax.numpy.stack([a * s[0] - b * s[0] * s[1], c * s[0] * s[1] - d * s[1]])

        def step(s, _):
            k1 = rates(s)
            k2 = rates(s + H / 2 * k1)
            k3 = rates(s + H / 2 * k2)
            k4 = rates(s + H * k3)
            return s + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        s, _ = jax.lax.scan(step, jax.numpy.stack([x, y]), None, length=steps)
        return (s[0] - 4.0) ** 2 + (s[1] - 3.0) ** 2

    return function


def cases(size: str) -> Iterator[Case]:
    steps = 5 if size == "tiny" else 1000
    given: list[Any] = [*GIVEN, steps]
    ours = value_and_grad(miss, INPUTS)
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in GIVEN]

        def run():
            value = miss(*[*tensors, steps])
            return value, torch.autograd.grad(value, tensors)

        ways["torch"] = run
    if jax := peers.jax():
        function = by_jax(jax)
        ways["jax"] = peers.by_jax(jax.value_and_grad(functools.partial(function, steps=steps), INPUTS), *GIVEN)
    out = [np.empty(()) for _ in INPUTS]
    if c_version := native.kernel("lotka_volterra", steps, np.array(GIVEN), out=out):
        ways["C"] = c_version
    yield Case(f"Runge-Kutta, {steps:,} steps of Lotka-Volterra", ways, goals=(("C", 1 / 1.3), ("jax", 20.0)))
