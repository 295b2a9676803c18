"""Newton's method in a `while abs(f) > tol`: the derivative of what it finds, without a bound on its steps."""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

TOLERANCE = 1e-12
GIVEN = 20.0, 1.0


def root(c, k):
    """The x with x^3 + kx = c."""
    x = c
    f = x * x * x + k * x - c
    while abs(f) > TOLERANCE:
        x = x - f / (3 * x * x + k)
        f = x * x * x + k * x - c
    return x


def by_hand(c, k):
    """The same iteration with its derivatives beside it."""
    x, to_c, to_k, steps = c, 1.0, 0.0, 0
    f = x * x * x + k * x - c
    while abs(f) > TOLERANCE:
        slope = 3 * x * x + k
        f_c, f_k = slope * to_c - 1, slope * to_k + x
        slope_c, slope_k = 6 * x * to_c, 6 * x * to_k + 1
        to_c -= f_c / slope - f * slope_c / slope**2
        to_k -= f_k / slope - f * slope_k / slope**2
        x -= f / slope
        f = x * x * x + k * x - c
        steps += 1
    return x, (to_c, to_k)


def by_jax(jax, c, k):
    """jax has no reverse mode for a while_loop: forward mode, in both arguments."""

    def function(c, k):
        def going(state):
            return abs(state[1]) > TOLERANCE

        def step(state):
            x, f = state
            x = x - f / (3 * x * x + k)
            return x, x * x * x + k * x - c

        return jax.lax.while_loop(going, step, (c, c * c * c + k * c - c))[0]

    return function(c, k), jax.jacfwd(function, (0, 1))(c, k)


def cases(size: str) -> Iterator[Case]:
    ours = value_and_grad(root, (0, 1))
    ways = {"pullback": lambda: ours(*GIVEN), "NumPy": lambda: by_hand(*GIVEN)}
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(lambda c, k: by_jax(jax, c, k), *GIVEN)
    out = [np.empty(()), np.empty(())]
    if c_version := native.kernel("newton", np.array(GIVEN), out=out):
        ways["C"] = c_version
    yield Case("Newton's method, 10 steps, gradient", ways, "ns", 1e9, (("at most", 1000.0),), agree=1e-12)
