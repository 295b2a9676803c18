"""The value and the three gradients of sum(tanh(a*b + c)): one pass over memory, if a compiler is good."""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

SIZES = {"tiny": (100,), "quick": (4096, 131_072, 8_388_608), "full": (4096, 131_072, 8_388_608)}
C_GOALS = {4096: 1.5, 131_072: 1.5, 8_388_608: 1.2}
JAX_GOALS = {4096: 5, 131_072: 12, 8_388_608: 8}


def loss(a, b, c):
    return np.sum(np.tanh(a * b + c))


def by_hand(a, b, c):
    t = np.tanh(a * b + c)
    d = 1 - t * t
    return t.sum(), (d * b, d * a, d)


def arrays(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=n) for _ in range(3)]


def cases(size: str) -> Iterator[Case]:
    for n in SIZES[size]:
        yield case(n)


def case(n: int) -> Case:
    a, b, c = arrays(n)
    ours = value_and_grad(loss, argnums=(0, 1, 2))
    ways = {"pullback": lambda: ours(a, b, c), "NumPy": lambda: by_hand(a, b, c)}
    if torch := peers.torch():
        x = [torch.tensor(v, requires_grad=True) for v in (a, b, c)]

        def by_torch():
            y = (x[0] * x[1] + x[2]).tanh().sum()
            return y, torch.autograd.grad(y, x)

        ways["torch"] = by_torch
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(peers.with_numpy(loss, jax.numpy), (0, 1, 2)), a, b, c)
    if c_version := native.kernel("elementwise", n, a, b, c, out=[np.empty(n) for _ in range(3)]):
        ways |= {"C": c_version, "C, fresh results": c_version.fresh}
    goals = (("C", C_GOALS[n]), ("jax", JAX_GOALS[n]), ("torch", 10)) if n in C_GOALS else ()
    name = f"value_and_grad(sum(tanh(a*b+c))), {n:,} f64"
    return Case(name, ways, "ns/element", 1e9 / n, goals, moved=6 * 8 * n)
