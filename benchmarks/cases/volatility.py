"""Monte Carlo of a stock whose volatility wanders too (Heston, 1993): a call's price, its gradient in six inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

GIVEN = (1.0, 0.05, 2.0, 0.06, 0.4, -0.6)
INPUTS = tuple(range(6))
STRIKE, DT = 1.05, 1 / 252


def price(spot, variance, pull, mean, wander, rho, first, second):
    """The variance is pulled to a mean and wanders; `first` and `second` are normal numbers, a row for each day."""
    days, paths = first.shape
    s = np.full(paths, np.log(spot))
    v = np.full(paths, variance)
    other = np.sqrt(1 - rho * rho)
    for day in range(days):
        positive = np.maximum(v, 1e-8)
        step = np.sqrt(positive * DT)
        s = s - 0.5 * positive * DT + step * first[day]
        v = v + pull * (mean - positive) * DT + wander * step * (rho * first[day] + other * second[day])
    return np.mean(np.maximum(np.exp(s) - STRIKE, 0.0))


def by_hand(spot, variance, pull, mean, wander, rho, first, second):
    days, paths = first.shape
    s, v, other, kept = np.full(paths, np.log(spot)), np.full(paths, variance), np.sqrt(1 - rho * rho), []
    for day in range(days):
        kept.append(v)
        positive = np.maximum(v, 1e-8)
        step = np.sqrt(positive * DT)
        s = s - 0.5 * positive * DT + step * first[day]
        v = v + pull * (mean - positive) * DT + wander * step * (rho * first[day] + other * second[day])
    end = np.exp(s)
    back_s = np.where(end > STRIKE, end, 0.0) / paths
    back_v = np.zeros(paths)
    to_pull = to_mean = to_wander = to_rho = 0.0
    for day in range(days - 1, -1, -1):
        positive = np.maximum(kept[day], 1e-8)
        step = np.sqrt(positive * DT)
        noise = rho * first[day] + other * second[day]
        to_pull += np.sum(back_v * (mean - positive)) * DT
        to_mean += np.sum(back_v) * pull * DT
        to_wander += np.sum(back_v * step * noise)
        to_rho += np.sum(back_v * step * (first[day] - rho / other * second[day])) * wander
        back_step = back_s * first[day] + back_v * wander * noise
        back = back_step * DT / (2 * step) - (0.5 * back_s + pull * back_v) * DT
        back_v = back_v + np.where(kept[day] > 1e-8, back, 0.0)
    slopes = np.sum(back_s) / spot, np.sum(back_v), to_pull, to_mean, to_wander, to_rho
    return np.mean(np.maximum(end - STRIKE, 0.0)), slopes


def by_jax(jax):
    np = jax.numpy

    def function(spot, variance, pull, mean, wander, rho, first, second):
        other = np.sqrt(1 - rho * rho)

        def step(state, given):
            (s, v), (z, w) = state, given
            positive = np.maximum(v, 1e-8)
            step = np.sqrt(positive * DT)
            s = s - 0.5 * positive * DT + step * z
            return (s, v + pull * (mean - positive) * DT + wander * step * (rho * z + other * w)), None

        start = np.full(first.shape[1], np.log(spot)), np.full(first.shape[1], variance)
        (s, _), _ = jax.lax.scan(step, start, (first, second))
        return np.mean(np.maximum(np.exp(s) - STRIKE, 0.0))

    return function


def by_torch(torch, spot, variance, pull, mean, wander, rho, first, second):
    s, v = torch.log(spot).expand(first.shape[1]), variance.expand(first.shape[1])
    other = torch.sqrt(1 - rho * rho)
    for z, w in zip(first, second, strict=True):
        positive = torch.clamp(v, min=1e-8)
        step = torch.sqrt(positive * DT)
        s = s - 0.5 * positive * DT + step * z
        v = v + pull * (mean - positive) * DT + wander * step * (rho * z + other * w)
    return torch.clamp(torch.exp(s) - STRIKE, min=0.0).mean()


def cases(size: str) -> Iterator[Case]:
    days, paths = (4, 10) if size == "tiny" else (252, 4096)
    noise = np.random.default_rng(0).normal(size=(2, days, paths))
    first, second = noise[0].copy(), noise[1].copy()
    ours = value_and_grad(price, INPUTS)
    given: list[Any] = [*GIVEN, first, second]
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in GIVEN]
        rest = torch.tensor(first), torch.tensor(second)

        def run():
            value = by_torch(torch, *[*tensors, *rest])
            return value, torch.autograd.grad(value, tensors)

        ways["torch"] = run
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(by_jax(jax), INPUTS), *given)
    out = [np.empty(()) for _ in INPUTS]
    if c_version := native.kernel("volatility", days, paths, np.array(GIVEN), first, second, out=out):
        ways["C"] = c_version
    name = f"stochastic volatility, {days} steps x {paths:,} paths, gradient in 6 parameters"
    yield Case(name, ways, "ms", 1e3, (("jax", 10.0), ("C", 1 / 1.5)))
