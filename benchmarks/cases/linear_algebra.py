"""np.linalg in programs: a Gaussian process, a filter by solve and det, a solution within a loop, many small factors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import value_and_grad


def gaussian_process(size, width, noise, x, y):
    """The logarithm of the marginal likelihood, of a kernel of squared exponentials."""
    squares = (x[:, None] - x) ** 2
    k = size**2 * np.exp(-0.5 * squares / width**2) + noise**2 * np.eye(len(x))
    _, logdet = np.linalg.slogdet(k)
    return -0.5 * y @ np.linalg.solve(k, y) - 0.5 * logdet - 0.5 * len(x) * np.log(2 * np.pi)


def process_by_hand(size, width, noise, x, y):
    squares = (x[:, None] - x) ** 2
    shape = np.exp(-0.5 * squares / width**2)
    k = size**2 * shape + noise**2 * np.eye(len(x))
    inverse = np.linalg.inv(k)
    alpha = inverse @ y
    value = -0.5 * y @ alpha - 0.5 * np.linalg.slogdet(k)[1] - 0.5 * len(x) * np.log(2 * np.pi)
    back = 0.5 * (np.outer(alpha, alpha) - inverse)
    moved = size**2 * shape * squares / width**3
    return value, (2 * size * np.sum(back * shape), np.sum(back * moved), 2 * noise * np.trace(back))


def filtered(noise, seen, move, look):
    """The log-likelihood of four states of which two are seen, by np.linalg.solve and det."""
    x, p, total = np.zeros(4), np.eye(4), 0.0
    spread = noise[0] * np.eye(4)
    for z in seen:
        x, p = move @ x, move @ p @ move.T + spread
        e, s = z - look @ x, look @ p @ look.T + noise[1] * np.eye(2)
        gain = np.linalg.solve(s, look @ p).T
        total -= 0.5 * (np.log(np.linalg.det(s)) + e @ np.linalg.solve(s, e))
        x, p = x + gain @ e, p - gain @ look @ p
    return total


def filtered_by_jax(jax):
    np = jax.numpy

    def function(noise, seen, move, look):
        spread = noise[0] * np.eye(4)

        def step(state, z):
            x, p, total = state
            x, p = move @ x, move @ p @ move.T + spread
            e, s = z - look @ x, look @ p @ look.T + noise[1] * np.eye(2)
            gain = np.linalg.solve(s, look @ p).T
            total = total - 0.5 * (np.log(np.linalg.det(s)) + e @ np.linalg.solve(s, e))
            return (x + gain @ e, p - gain @ look @ p, total), None

        return jax.lax.scan(step, (np.zeros(4), np.eye(4), 0.0), seen)[0][2]

    return function


def solutions(a, b, rounds):
    """A system of four equations in each round of a loop."""
    x = b
    for _ in range(rounds):
        x = np.linalg.solve(a, x + b)
    return np.sum(x)


def solutions_by_jax(jax):
    def function(a, b, rounds):
        x = jax.lax.fori_loop(0, int(rounds), lambda _, x: jax.numpy.linalg.solve(a, x + b), b)
        return x.sum()

    return function


def factors(a):
    return np.sum(np.linalg.cholesky(a))


def factors_by_jax(jax):
    """Of the triangle that NumPy reads, so that the other one has no gradient."""
    np = jax.numpy

    def function(a):
        lower = np.tril(a)
        return np.linalg.cholesky(lower + np.swapaxes(np.tril(a, -1), -1, -2)).sum()

    return function


def _ways(function, *given, argnums=0, jax_function=None):
    ours = value_and_grad(function, argnums=argnums)
    ways = {"pullback": lambda: ours(*given)}
    if jax := peers.jax():
        theirs = jax_function(jax) if jax_function else peers.with_numpy(function, jax.numpy)
        ways["jax"] = peers.by_jax(jax.value_and_grad(theirs, argnums), *given)
    return ways


def cases(size: str) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    n, steps, rounds, many = (20, 5, 3, 10) if size == "tiny" else (300, 500, 1000, 10_000)
    x = np.sort(rng.uniform(0, 10, n))
    given = (1.3, 0.8, 0.3, x, np.sin(x) + 0.1 * rng.normal(size=n))
    ways = _ways(gaussian_process, *given, argnums=(0, 1, 2))
    ways["NumPy"] = lambda: process_by_hand(*given)
    yield Case(f"Gaussian process, marginal likelihood, n={n} f64", ways, goals=(("jax", 1.3),), agree=1e-7)

    move, look = np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4)
    seen = rng.normal(size=(steps, 2))
    ways = _ways(filtered, np.array([0.1, 0.5]), seen, move, look, jax_function=filtered_by_jax)
    yield Case(f"Kalman filter by np.linalg, 4 states, {steps} steps f64", ways, goals=(("jax", 50.0),))

    a, b = 3 * np.eye(4) + 0.3 * rng.normal(size=(4, 4)), rng.normal(size=4)
    ours = value_and_grad(lambda a, b: solutions(a, b, rounds), argnums=(0, 1))
    ways = {"pullback": lambda: ours(a, b)}
    if jax := peers.jax():
        theirs = solutions_by_jax(jax)
        compiled = jax.value_and_grad(lambda a, b: theirs(a, b, rounds), (0, 1))
        ways["jax"] = peers.by_jax(compiled, a, b)
    name = "np.linalg.solve of 4 x 4 with its gradient, within a loop, f64"
    yield Case(name, ways, unit="ns/solution", scale=1e9 / rounds)

    m = rng.normal(size=(many, 4, 4))
    ways = _ways(factors, m @ m.transpose(0, 2, 1) + np.eye(4), jax_function=factors_by_jax)
    yield Case(f"Cholesky factors of {many:,} matrices 4 x 4, with the gradient, f64", ways, goals=(("jax", 5.0),),
               agree=1e-6)  # fmt: skip
