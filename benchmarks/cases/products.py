"""Products of square matrices from 4 to 1024, float64 and float32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import jit

GOALS = {4: 2.0, 16: 2.0, 64: 2.0, 128: 1.5, 256: 1.0, 1024: 1.0}
"""How many times as fast as the best of the others."""


def product(a, b):
    return a @ b


def case(n: int, dtype: type) -> Case:
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, n)).astype(dtype) for _ in range(2))
    ours = jit(product)
    ways = {"pullback": lambda: ours(a, b), "NumPy": lambda: np.matmul(a, b)}
    if torch := peers.torch():
        ta, tb = torch.tensor(a), torch.tensor(b)
        ways["torch"] = lambda: torch.mm(ta, tb)
    if peers.jax():
        ways["jax"] = peers.by_jax(product, a, b)
    short = "f64" if dtype is np.float64 else "f32"
    agree = 1e-10 if dtype is np.float64 else 1e-4
    goals = (("best", GOALS.get(n, 1.0)),)
    return Case(f"matrix product {n} x {n} {short}", ways, goals=goals, agree=agree, flops=2.0 * n**3)


def cases(size: str) -> Iterator[Case]:
    for dtype in (np.float64, np.float32):
        for n in (3, 5) if size == "tiny" else GOALS:
            yield case(n, dtype)
