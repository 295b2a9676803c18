"""The gradient of the log-likelihood of a mixture of Gaussians, the `gmm` of ADBench and GradBench without its prior.

A component's inverse covariance is the square of a lower triangular matrix, given by the logarithms of its diagonal and
by the rows below it.
"""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad


def slots(d):
    """Where the elements of a d x d matrix are among those below the diagonal, row by row, and a zero after them."""
    last = d * (d - 1) // 2
    return np.array([[i * (i - 1) // 2 + j if j < i else last for j in range(d)] for i in range(d)])


def log_sum_exp(x):
    largest = np.max(x, axis=-1, keepdims=True)
    return largest[..., 0] + np.log(np.sum(np.exp(x - largest), axis=-1))


def log_likelihood(alphas, means, inverse, x):
    n, d = x.shape
    logs = inverse[:, :d]
    padded = np.concatenate([inverse[:, d:], np.zeros((len(alphas), 1))], axis=1)
    centred = x[:, None, :] - means
    scaled = np.exp(logs) * centred + np.einsum("kij,nkj->nki", padded[:, slots(d)], centred)
    parts = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled * scaled, axis=2)
    return np.sum(log_sum_exp(parts)) - n * (log_sum_exp(alphas) + 0.5 * d * np.log(2 * np.pi))


def by_hand(alphas, means, inverse, x):
    (n, d), k = x.shape, len(alphas)
    rows, columns = np.tril_indices(d, -1)
    matrices = np.zeros((k, d, d))
    matrices[:, rows, columns] = inverse[:, d:]
    matrices[:, np.arange(d), np.arange(d)] = np.exp(inverse[:, :d])
    centred = x - means[:, None, :]
    scaled = centred @ matrices.transpose(0, 2, 1)
    parts = alphas + np.sum(inverse[:, :d], axis=1) - 0.5 * np.sum(scaled * scaled, axis=2).T
    largest = np.max(parts, axis=1, keepdims=True)
    exps = np.exp(parts - largest)
    sums = np.sum(exps, axis=1, keepdims=True)
    weights = exps / sums
    shares = np.exp(alphas - np.max(alphas))
    constant = np.log(np.sum(shares)) + np.max(alphas) + 0.5 * d * np.log(2 * np.pi)
    each = np.sum(weights, axis=0)
    pulled = scaled * weights.T[:, :, None]
    outer = -pulled.transpose(0, 2, 1) @ centred
    diagonal = outer[:, np.arange(d), np.arange(d)] * np.exp(inverse[:, :d]) + each[:, None]
    g_means = np.sum(pulled @ matrices, axis=1)
    g_inverse = np.concatenate([diagonal, outer[:, rows, columns]], axis=1)
    value = np.sum(np.log(sums) + largest) - n * constant
    return value, (each - n * shares / np.sum(shares), g_means, g_inverse)


def by_torch(torch, alphas, means, inverse, x):
    n, d = x.shape
    rows, columns = np.tril_indices(d, -1)
    below = torch.zeros(len(alphas), d, d, dtype=x.dtype)
    below[:, rows, columns] = inverse[:, d:]
    logs = inverse[:, :d]
    centred = x[:, None, :] - means
    scaled = torch.exp(logs) * centred + torch.einsum("kij,nkj->nki", below, centred)
    parts = alphas + logs.sum(1) - 0.5 * (scaled * scaled).sum(2)
    return torch.logsumexp(parts, 1).sum() - n * (torch.logsumexp(alphas, 0) + 0.5 * d * np.log(2 * np.pi))


def problem(n: int, d: int, k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    sizes = (k, (k, d), (k, d + d * (d - 1) // 2), (n, d))
    scales = (1.0, 1.0, 0.3, 1.5)
    return [scale * rng.normal(size=size) for size, scale in zip(sizes, scales, strict=True)]


def cases(size: str) -> Iterator[Case]:
    n, d, k = (20, 3, 4) if size == "tiny" else (1000, 10, 25)
    given = problem(n, d, k)
    ours = value_and_grad(log_likelihood, argnums=(0, 1, 2))
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        tensors = [torch.tensor(v, requires_grad=i < 3) for i, v in enumerate(given)]

        def run():
            value = by_torch(torch, *tensors)
            return value, torch.autograd.grad(value, tensors[:3])

        ways["torch"] = run
    if jax := peers.jax():
        compiled = jax.value_and_grad(peers.with_numpy(log_likelihood, jax.numpy), (0, 1, 2))
        ways["jax"] = peers.by_jax(compiled, *given)
    out = [np.empty_like(v) for v in given[:3]]
    if c_version := native.kernel("mixture", n, d, k, *given, out=out):
        ways["C"] = c_version
    name = f"mixture of Gaussians, log-likelihood gradient, n={n} d={d} k={k} f64"
    yield Case(name, ways, goals=(("jax", 1.0),), flops=3.0 * n * k * d * (d + 1))
