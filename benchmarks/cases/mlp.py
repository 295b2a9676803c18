"""A training step of a perceptron with one hidden layer: value, gradients, and parameters moved against them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import jit, value_and_grad

RATE = 0.1


def loss(params, x, labels):
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    scores = hidden @ params["w2"] + params["b2"]
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    log_sums = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_sums - shifted[np.arange(len(labels)), labels])


def step(params, x, labels):
    value, gradient = value_and_grad(loss)(params, x, labels)
    return value, {name: p - RATE * gradient[name] for name, p in params.items()}


def by_hand(params, x, labels):
    rows, n = np.arange(len(labels)), np.float32(len(labels))
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    scores = hidden @ params["w2"] + params["b2"]
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    exps = np.exp(shifted)
    sums = np.sum(exps, axis=1, keepdims=True)
    back = exps / (sums * n)
    back[rows, labels] -= 1 / n
    down = (back @ params["w2"].T) * (1 - hidden * hidden)
    gradient = {"w1": x.T @ down, "b1": np.sum(down, axis=0), "w2": hidden.T @ back, "b2": np.sum(back, axis=0)}
    value = np.mean(np.log(sums[:, 0]) - shifted[rows, labels])
    return value, {name: p - RATE * gradient[name] for name, p in params.items()}


def by_torch(torch, params, x, labels):
    tensors = {name: torch.tensor(p, requires_grad=True) for name, p in params.items()}
    tx, t_labels = torch.tensor(x), torch.tensor(labels)

    def run():
        hidden = torch.tanh(torch.addmm(tensors["b1"], tx, tensors["w1"]))
        scores = torch.addmm(tensors["b2"], hidden, tensors["w2"])
        value = torch.nn.functional.cross_entropy(scores, t_labels)
        gradient = torch.autograd.grad(value, list(tensors.values()))
        with torch.no_grad():
            return value, {n: torch.sub(p, g, alpha=RATE) for (n, p), g in zip(tensors.items(), gradient, strict=True)}

    return run


def by_jax(jax, params, x, labels):
    def loss(params, x, labels):
        hidden = jax.numpy.tanh(x @ params["w1"] + params["b1"])
        scores = hidden @ params["w2"] + params["b2"]
        return -jax.nn.log_softmax(scores)[jax.numpy.arange(len(labels)), labels].mean()

    def step(params, x, labels):
        value, gradient = jax.value_and_grad(loss)(params, x, labels)
        return value, jax.tree.map(lambda p, g: p - RATE * g, params, gradient)

    return peers.by_jax(step, params, x, labels)


def case(width: int, hidden: int, classes: int, batch: int, goals: tuple) -> Case:
    rng = np.random.default_rng(0)
    params = {
        "w1": (rng.normal(size=(width, hidden)) / width**0.5).astype(np.float32),
        "b1": np.zeros(hidden, np.float32),
        "w2": (rng.normal(size=(hidden, classes)) / hidden**0.5).astype(np.float32),
        "b2": np.zeros(classes, np.float32),
    }
    given = params, rng.normal(size=(batch, width)).astype(np.float32), rng.integers(0, classes, size=batch)
    ours = jit(step)
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        ways["torch"] = by_torch(torch, *given)
    if jax := peers.jax():
        ways["jax"] = by_jax(jax, *given)
    flops = 4.0 * batch * width * hidden + 6.0 * batch * hidden * classes
    name = f"MLP step {width}-{hidden}-{classes}, batch {batch}, f32"
    return Case(name, ways, goals=goals, agree=1e-4, flops=flops)


def cases(size: str) -> Iterator[Case]:
    if size == "tiny":
        yield case(5, 4, 3, 6, ())
        return
    yield case(64, 64, 10, 32, (("jax", 4.0), ("torch", 20.0)))
    yield case(784, 256, 10, 128, (("jax", 1.2), ("torch", 1.2)))
