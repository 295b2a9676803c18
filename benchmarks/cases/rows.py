"""Rows that are reduced and read again: softmax cross-entropy, log-sum-exp, layer norm."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

GOALS = (("jax", 2.0), ("torch", 3.0))


def cross_entropy(scores, labels):
    """The mean over examples of -log softmax(scores)[label]."""
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    log_sums = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_sums - shifted[np.arange(len(labels)), labels])


def cross_entropy_by_hand(scores, labels):
    rows = np.arange(len(labels))
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    exps = np.exp(shifted)
    sums = np.sum(exps, axis=1, keepdims=True)
    back = exps / (sums * np.float32(len(labels)))
    back[rows, labels] -= np.float32(1 / len(labels))
    return np.mean(np.log(sums[:, 0]) - shifted[rows, labels]), back


def cross_entropy_case(n: int, classes: int) -> Case:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, classes)).astype(np.float32)
    labels = rng.integers(0, classes, size=n)
    ours = value_and_grad(cross_entropy)
    ways = {"pullback": lambda: ours(x, labels), "NumPy": lambda: cross_entropy_by_hand(x, labels)}
    if torch := peers.torch():
        tx, t_labels = torch.tensor(x, requires_grad=True), torch.tensor(labels)

        def by_torch():
            value = torch.nn.functional.cross_entropy(tx, t_labels)
            return value, torch.autograd.grad(value, tx)[0]

        ways["torch"] = by_torch
    if jax := peers.jax():

        def loss(x, labels):
            return -jax.nn.log_softmax(x)[jax.numpy.arange(n), labels].mean()

        ways["jax"] = peers.by_jax(jax.value_and_grad(loss), x, labels)
    out = [np.empty_like(x)]
    if c_version := native.kernel("cross_entropy", n, classes, x, labels, out=out, returns=ctypes.c_float):
        ways["C"] = c_version
    return Case(f"softmax cross-entropy, {n} x {classes} f32", ways, goals=GOALS, agree=1e-4, moved=2 * x.nbytes)


def log_sum_exp(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def log_sum_exp_by_hand(x):
    largest = np.max(x)
    exps = np.exp(x - largest)
    total = np.sum(exps)
    return largest + np.log(total), exps / total


def log_sum_exp_case(n: int) -> Case:
    x = np.random.default_rng(0).normal(size=n)
    ours = value_and_grad(log_sum_exp)
    ways = {"pullback": lambda: ours(x), "NumPy": lambda: log_sum_exp_by_hand(x)}
    if torch := peers.torch():
        tx = torch.tensor(x, requires_grad=True)

        def by_torch():
            value = torch.logsumexp(tx, 0)
            return value, torch.autograd.grad(value, tx)[0]

        ways["torch"] = by_torch
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(jax.nn.logsumexp), x)
    if c_version := native.kernel("log_sum_exp", n, x, out=[np.empty_like(x)]):
        ways["C"] = c_version
    return Case(f"log-sum-exp, {n:,} f64", ways, goals=GOALS, moved=2 * x.nbytes)


def layer_norm(x, gain, shift):
    centred = x - np.mean(x, axis=1, keepdims=True)
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + shift


def weighted(x, gain, shift, weights):
    """A weighted sum of the normalised rows: its gradients are those of a layer that gets `weights` back."""
    return np.sum(layer_norm(x, gain, shift) * weights)


def weighted_by_hand(x, gain, shift, weights):
    centred = x - np.mean(x, axis=1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(1e-5))
    normed = centred * scale
    back = weights * gain
    mean, along = np.mean(back, axis=1, keepdims=True), np.mean(back * normed, axis=1, keepdims=True)
    value = np.sum((normed * gain + shift) * weights)
    return value, ((back - mean - normed * along) * scale, np.sum(weights * normed, axis=0), np.sum(weights, axis=0))


def layer_norm_case(n: int, width: int) -> Case:
    rng = np.random.default_rng(0)
    sizes = ((n, width), width, width, (n, width))
    x, *_, weights = given = [rng.normal(size=s).astype(np.float32) for s in sizes]
    ours = value_and_grad(weighted, argnums=(0, 1, 2))
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: weighted_by_hand(*given)}
    if torch := peers.torch():
        tensors = [torch.tensor(v, requires_grad=True) for v in given[:3]]
        t_weights = torch.tensor(weights)

        def by_torch():
            y = torch.nn.functional.layer_norm(tensors[0], (width,), tensors[1], tensors[2])
            value = (y * t_weights).sum()
            return value, torch.autograd.grad(value, tensors)

        ways["torch"] = by_torch
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(peers.with_numpy(weighted, jax.numpy), (0, 1, 2)), *given)
    if c_version := native.kernel("layer_norm", n, width, *given, out=[np.empty_like(v) for v in given[:3]]):
        ways["C"] = c_version
    name = f"layer norm, {n} x {width} f32, value and gradients"
    return Case(name, ways, goals=GOALS, agree=2e-4, moved=3 * x.nbytes)


def cases(size: str) -> Iterator[Case]:
    tiny = size == "tiny"
    yield cross_entropy_case(*((6, 5) if tiny else (512, 1000)))
    yield log_sum_exp_case(100 if tiny else 1_000_000)
    yield layer_norm_case(*((6, 8) if tiny else (4096, 512)))
