"""Soft dynamic time warping (Cuturi, Blondel 2017): two nested `for`, item assignment; the gradient of its costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from cases import cold
from pullback import value_and_grad


def soft_dtw(costs):
    n, m = costs.shape
    r = np.full((n + 1, m + 1), 1e10)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            top = max(a, b, c)
            total = math.exp(a - top) + math.exp(b - top) + math.exp(c - top)
            r[i, j] = costs[i - 1, j - 1] - top - math.log(total)
    return r[n, m]


def by_hand(costs):
    """Along anti-diagonals, as NumPy wants it: `r[d][i]` is the entry in row i of the diagonal d."""
    n, m = costs.shape
    r = np.full((n + m + 1, n + 1), 1e10)
    r[0, 0] = 0.0
    shares = np.zeros((n + m + 1, 3, n + 1))
    for d in range(2, n + m + 1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        parts = -np.stack([r[d - 2, i - 1], r[d - 1, i - 1], r[d - 1, i]])
        top = np.max(parts, axis=0)
        weights = np.exp(parts - top)
        total = np.sum(weights, axis=0)
        shares[d, :, i] = (weights / total).T
        r[d, i] = costs[i - 1, d - i - 1] - top - np.log(total)
    back = np.zeros_like(r)
    back[n + m, n] = 1.0
    slope = np.zeros_like(costs)
    for d in range(n + m, 1, -1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        slope[i - 1, d - i - 1] = back[d, i]
        back[d - 2, i - 1] += shares[d, 0, i] * back[d, i]
        back[d - 1, i - 1] += shares[d, 1, i] * back[d, i]
        back[d - 1, i] += shares[d, 2, i] * back[d, i]
    return r[n + m, n], slope


def by_jax(jax):
    """A scan over rows of scans over columns."""
    np = jax.numpy

    def function(costs):
        def cell(left, given):
            diagonal, above, cost = given
            parts = np.stack([-diagonal, -above, -left])
            here = cost - jax.nn.logsumexp(parts)
            return here, here

        def row(above, costs):
            _, made = jax.lax.scan(cell, 1e10, (above[:-1], above[1:], costs))
            return np.concatenate([np.full(1, 1e10), made]), None

        first = np.concatenate([np.zeros(1), np.full(costs.shape[1], 1e10)])
        return jax.lax.scan(row, first, costs)[0][-1]

    return function


def problem(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    a, b = np.cumsum(rng.normal(size=(2, n)), axis=1) * 0.3
    return (a[:, None] - b) ** 2


def cases(size: str) -> Iterator[Case]:
    n = 6 if size == "tiny" else 200
    costs = problem(n)
    ours = value_and_grad(soft_dtw)
    ways = {"pullback": lambda: ours(costs), "NumPy": lambda: by_hand(costs)}
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(by_jax(jax)), costs)
    if c_version := native.kernel("soft_dtw", n, n, costs, out=[np.empty_like(costs)]):
        ways["C"] = c_version
    yield Case(f"soft-DTW {n} x {n}, gradient of the costs", ways, goals=(("C", 1 / 1.2),))
    if size != "tiny":
        yield cold.case("soft_dtw", "cold grad of soft-DTW", (("at most", 100.0),), 120.0, 1e-8)
