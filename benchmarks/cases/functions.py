"""Single functions that NumPy or SciPy has in C: gammaln, sort and the Fourier transform, with their gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case
from scipy import special

from pullback import value_and_grad


def _with_jax(ways, function, *given):
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(function(jax)), *given)
    return ways


def _gammas(n: int, x: np.ndarray) -> Case:
    ours = value_and_grad(lambda x: np.sum(special.gammaln(x)))
    ways = {"pullback": lambda: ours(x), "NumPy": lambda: (np.sum(special.gammaln(x)), special.digamma(x))}
    ways = _with_jax(ways, lambda jax: lambda x: jax.scipy.special.gammaln(x).sum(), x)
    name = f"gammaln with its gradient, {n:,} f64"
    return Case(name, ways, unit="ns/element", scale=1e9 / n, goals=(("NumPy", 5.0),), agree=1e-8)


def _sorted(n: int, x: np.ndarray) -> Case:
    weights = np.linspace(0.0, 1.0, n)
    ours = value_and_grad(lambda x: np.sum(np.sort(x) * weights))

    def by_hand():
        order = np.argsort(x)
        slope = np.empty_like(x)
        slope[order] = weights
        return x[order] @ weights, slope

    ways = {"pullback": lambda: ours(x), "NumPy": by_hand}
    ways = _with_jax(ways, lambda jax: lambda x: (jax.numpy.sort(x) * weights).sum(), x)
    return Case(f"sort with its gradient, {n:,} f64", ways, goals=(("NumPy", 1.0),))


def _transformed(n: int, z: np.ndarray) -> Case:
    target = np.roll(z, 1)
    ours = value_and_grad(lambda z: np.real(np.vdot(target, np.fft.fft(z))))

    def by_hand():
        return np.vdot(target, np.fft.fft(z)).real, np.fft.ifft(target, norm="forward")

    return Case(f"fft with its gradient, {n:,} complex128", {"pullback": lambda: ours(z), "NumPy": by_hand})


def cases(size: str) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    n, m, k = (100, 100, 64) if size == "tiny" else (1_000_000, 100_000, 4096)
    yield _gammas(n, rng.uniform(0.1, 30.0, n))
    yield _sorted(m, rng.normal(size=m))
    yield _transformed(k, rng.normal(size=k) + 1j * rng.normal(size=k))
