"""What a call costs that computes next to nothing: the way from Python into native code and back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import grad


def scalar(x):
    return x * np.sin(x)


def squares(x):
    return np.sum(x * x)


def four(p):
    return np.sum(np.tanh(p["a"] @ p["b"]) * p["c"] + p["d"])


def by_hand(p):
    bend = np.tanh(p["a"] @ p["b"])
    back = (1 - bend * bend) * p["c"]
    return {"a": back @ p["b"].T, "b": p["a"].T @ back, "c": np.sum(bend, axis=0), "d": np.full(4, 4.0)}


class Fit:
    """A model that keeps its data, as people write them."""

    def __init__(self):
        self.x, self.weights, self.settings = np.arange(12.0).reshape(4, 3), [0.5, 1.5], {"ridge": 0.1}

    def loss(self, u):
        r = self.x @ u - np.arange(4.0)
        return self.weights[0] * np.sum(r * r) + self.settings["ridge"] * np.sum(u * u)

    def by_hand(self, u):
        return 2 * self.weights[0] * ((self.x @ u - np.arange(4.0)) @ self.x) + 2 * self.settings["ridge"] * u


def scalar_case() -> Case:
    ways = {"pullback": grad(scalar), "NumPy": lambda x: np.sin(x) + x * np.cos(x)}
    if torch := peers.torch():

        def by_torch(value):
            x = torch.tensor(value, dtype=torch.float64, requires_grad=True)
            return torch.autograd.grad(x * torch.sin(x), x)[0].item()

        ways["torch"] = by_torch
    if jax := peers.jax():
        compiled = jax.jit(jax.grad(peers.with_numpy(scalar, jax.numpy)))
        ways["jax"] = lambda x: compiled(x).block_until_ready()
    return Case("grad of x*sin(x), float -> float, a call", ways, "ns", 1e9, (("at most", 40),), given=1.5)


def array_case() -> Case:
    a = np.array([1.0, 2.0, 3.0])
    ways = {"pullback": grad(squares), "NumPy": lambda x: 2 * x}
    if torch := peers.torch():
        x = torch.tensor(a, requires_grad=True)
        ways["torch"] = lambda _: torch.autograd.grad((x * x).sum(), x)[0]
    if jax := peers.jax():
        compiled, b = jax.jit(jax.grad(peers.with_numpy(squares, jax.numpy))), jax.numpy.asarray(a)
        ways["jax"] = lambda _: compiled(b).block_until_ready()
    return Case("grad, array(3) -> array(3), a call", ways, "ns", 1e9, (("at most", 120),), given=a)


def dict_case() -> Case:
    rng = np.random.default_rng(0)
    p = {name: rng.normal(size=size) for name, size in {"a": (4, 4), "b": (4, 4), "c": 4, "d": 4}.items()}
    ways = {"pullback": grad(four), "NumPy": by_hand}
    if torch := peers.torch():
        tensors = {k: torch.tensor(v, requires_grad=True) for k, v in p.items()}

        def by_torch(_):
            y = (torch.tanh(tensors["a"] @ tensors["b"]) * tensors["c"] + tensors["d"]).sum()
            return dict(zip(tensors, torch.autograd.grad(y, list(tensors.values())), strict=True))

        ways["torch"] = by_torch
    if jax := peers.jax():
        compiled = jax.jit(jax.grad(peers.with_numpy(four, jax.numpy)))
        q = {k: jax.numpy.asarray(v) for k, v in p.items()}
        ways["jax"] = lambda _: jax.block_until_ready(compiled(q))
    return Case("grad, dict of four arrays, a call", ways, "ns", 1e9, (("at most", 500),), given=p)


def kept_case() -> Case:
    a, fit = np.array([1.0, 2.0, 3.0]), Fit()
    ways = {"pullback": grad(fit.loss), "NumPy": fit.by_hand}
    if jax := peers.jax():  # which keeps what it read at the first call
        slope, b = jax.grad(peers.with_numpy(Fit.loss, jax.numpy), 1), jax.numpy.asarray(a)
        compiled = jax.jit(slope, static_argnums=0)
        ways["jax"] = lambda _: compiled(fit, b).block_until_ready()
    return Case("grad of a method that reads attributes, a call", ways, "ns", 1e9, (("at most", 500),), given=a)


def cases(size: str) -> Iterator[Case]:
    yield scalar_case()
    yield array_case()
    yield dict_case()
    yield kept_case()
