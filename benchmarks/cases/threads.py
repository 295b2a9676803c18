"""Two threads beside one: something that computes, something that multiplies, something that waits for memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import peers
from harness import Case

import pullback
from cases import elementwise, options, products
from pullback import jit, value_and_grad


def with_threads(count: int, way: Callable[[], Any]) -> Callable[[], Any]:
    def run():
        pullback.set_num_threads(count)
        try:
            return way()
        finally:
            pullback.set_num_threads(1)

    return run


def ours(way: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    return {"pullback, 2 threads": with_threads(2, way), "pullback": with_threads(1, way)}


def copying(arrays: list[np.ndarray], threads: int) -> Callable[[], Any]:
    """Copy arrays into others that are there already, each thread its part of every one."""
    kept = [np.zeros_like(a) for a in arrays]
    pool = ThreadPoolExecutor(threads)
    parts = [np.array_split(a, threads) for a in (*kept, *arrays)]

    def part(k: int) -> None:
        for j in range(len(arrays)):
            np.copyto(parts[j][k], parts[j + len(arrays)][k])

    return lambda: list(pool.map(part, range(threads)))


def with_torch(ways: dict, way: Callable[[Any], Callable[[], Any]]) -> None:
    """Add torch's way with two threads."""
    if not (torch := peers.torch()):
        return
    inner = way(torch)

    def run():
        torch.set_num_threads(2)
        try:
            return inner()
        finally:
            torch.set_num_threads(1)

    ways["torch, 2 threads"] = run


def cases(size: str) -> Iterator[Case]:
    tiny = size == "tiny"
    n = 100 if tiny else 1_000_000
    given = options.options(n)
    compiled = jit(options.price_and_greeks)
    ways = ours(lambda: compiled(*given))
    with_torch(ways, lambda torch: options.by_torch(torch, given))
    goal = (("pullback", 1.7),)
    name = f"two threads: Black-Scholes, {n:,} options f64"
    yield Case(name, ways, "ns/option", 1e9 / n, goal, moved=88 * n, parallel=True)

    n = 10 if tiny else 1024
    a, b = np.random.default_rng(0).normal(size=(2, n, n))
    product = jit(products.product)
    ways = ours(lambda: product(a, b))
    with_torch(ways, lambda torch: functools.partial(torch.mm, torch.tensor(a), torch.tensor(b)))
    yield Case(f"two threads: matrix product {n} x {n} f64", ways, goals=goal, flops=2.0 * n**3, parallel=True)

    n = 100 if tiny else 8_388_608
    arrays = elementwise.arrays(n)
    slopes = value_and_grad(elementwise.loss, argnums=(0, 1, 2))
    ways = ours(lambda: slopes(*arrays))
    ways |= {"copying, 2 threads": copying(arrays, 2), "copying": copying(arrays, 1)}
    goal = (("copying, 2 threads", 0.85),)
    name = f"two threads: value_and_grad(sum(tanh(a*b+c))), {n:,} f64"
    yield Case(name, ways, "ns/element", 1e9 / n, goal, moved=6 * 8 * n, parallel=True)
