"""Linear algebra and what goes with it: a Gaussian process, Kalman's filter by solve and det, small systems, sorts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import peers
from harness import Case

from cases.derivatives import COMPILED, by_casadi, has_casadi
from pullback import value_and_grad


def process_by_lu(t, x, y):
    """Minus the log marginal likelihood under an RBF kernel: signal, length and noise are exponentials of t."""
    d = x[:, None] - x[None, :]
    k = np.exp(2 * t[0]) * np.exp(-0.5 * d * d * np.exp(-2 * t[1])) + np.exp(2 * t[2]) * np.eye(len(x))
    return 0.5 * (y @ np.linalg.solve(k, y)) + 0.5 * np.linalg.slogdet(k)[1]


def process_by_cholesky(t, x, y):
    d = x[:, None] - x[None, :]
    k = np.exp(2 * t[0]) * np.exp(-0.5 * d * d * np.exp(-2 * t[1])) + np.exp(2 * t[2]) * np.eye(len(x))
    low = np.linalg.cholesky(k)
    z = np.linalg.solve(low, y)
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(low)))


def kalman(noise, move, seen):
    """Four states, all seen: minus the log-likelihood, in the spread of the state and of what is seen."""
    x, p, total = np.zeros(4), np.eye(4), 0.0
    for z in seen:
        x, p = move @ x, move @ p @ move.T + noise[0] * np.eye(4)
        e, s = z - x, p + noise[1] * np.eye(4)
        x, p = x + p @ np.linalg.solve(s, e), p - p @ np.linalg.solve(s, p)
        total = total + 0.5 * (np.log(np.linalg.det(s)) + e @ np.linalg.solve(s, e))
    return total


def kalman_by_jax(jax: Any) -> Callable[..., Any]:
    np = jax.numpy

    def function(noise, move, seen):
        def step(state, z):
            x, p, total = state
            x, p = move @ x, move @ p @ move.T + noise[0] * np.eye(4)
            e, s = z - x, p + noise[1] * np.eye(4)
            total = total + 0.5 * (np.log(np.linalg.det(s)) + e @ np.linalg.solve(s, e))
            return (x + p @ np.linalg.solve(s, e), p - p @ np.linalg.solve(s, p), total), None

        return jax.lax.scan(step, (np.zeros(4), np.eye(4), 0.0), seen)[0][2]

    return function


def kalman_by_casadi(steps: int) -> Any:
    """The same by a map over the steps that accumulates, with the gradient in the noise, compiled by gcc."""
    ca = peers.optional("casadi")
    state, z, noise, move = ca.SX.sym("s", 21), ca.SX.sym("z", 4), ca.SX.sym("n", 2), ca.SX.sym("m", 4, 4)
    x, p, total = move @ state[:4], ca.reshape(state[4:20], 4, 4), state[20]
    p = move @ p @ move.T + noise[0] * ca.SX.eye(4)
    e, s = z - x, p + noise[1] * ca.SX.eye(4)
    total = total + 0.5 * (ca.log(ca.det(s)) + e.T @ ca.solve(s, e))
    after = ca.vertcat(x + p @ ca.solve(s, e), ca.vec(p - p @ ca.solve(s, p)), total)
    every = ca.Function("step", [state, z, noise, move], [after]).mapaccum("steps", steps)
    seen, noise, move = ca.MX.sym("z", 4, steps), ca.MX.sym("n", 2), ca.MX.sym("m", 4, 4)
    begin = ca.vertcat(ca.MX.zeros(4), ca.vec(ca.MX.eye(4)), 0)
    value = every(begin, seen, ca.repmat(noise, 1, steps), ca.repmat(move, 1, steps))[20, -1]
    return ca.Function("kalman", [noise, move, seen], [value, ca.gradient(value, noise)], COMPILED)


def solutions(a, b):
    """One solution of 4 x 4 after another."""
    x = b[0]
    for row in b:
        x = np.linalg.solve(a, row + 0.1 * x)
    return np.sum(x * x)


def solutions_by_jax(jax: Any) -> Callable[..., Any]:
    np = jax.numpy

    def function(a, b):
        return np.sum(jax.lax.scan(lambda x, row: (np.linalg.solve(a, row + 0.1 * x), None), b[0], b)[0] ** 2)

    return function


def factors(a):
    """Of the symmetric part, since jax gives the gradient to both triangles and NumPy reads one."""
    return np.sum(np.linalg.cholesky(0.5 * (a + np.swapaxes(a, 1, 2))) ** 3)


def in_order(x, w):
    return np.sum(np.sort(x) * w)


def in_order_by_hand(x, w):
    order = np.argsort(x)
    given = np.empty_like(w)
    given[order] = w
    return x[order] @ w, given


def ways(function: Callable[..., Any], given: tuple[Any, ...], by_jax: Any = None, by_torch: Any = None) -> dict:
    """Value and gradient in the first argument: ours, torch's and jax's."""
    ours = value_and_grad(function)
    made: dict[str, Callable[[], Any]] = {"pullback": lambda: ours(*given)}
    if by_torch and (torch := peers.torch()):
        first, *rest = (torch.tensor(v) for v in given)
        first.requires_grad_()

        def run():
            value = by_torch(torch, first, *rest)
            return value, torch.autograd.grad(value, first)[0]

        made["torch"] = run
    if jax := peers.jax():
        theirs = by_jax(jax) if by_jax else peers.with_numpy(function, jax.numpy)
        made["jax"] = peers.by_jax(jax.value_and_grad(theirs), *given)
    return made


def flat(value: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CasADi's results: a number as one."""
    return value.reshape(()), slope


def process_by_torch(torch, t, x, y):
    d = x[:, None] - x[None, :]
    k = (2 * t[0]).exp() * (-0.5 * d * d * (-2 * t[1]).exp()).exp()
    k = k + (2 * t[2]).exp() * torch.eye(len(x), dtype=x.dtype)
    return 0.5 * (y @ torch.linalg.solve(k, y)) + 0.5 * torch.linalg.slogdet(k)[1]


def cases(size: str) -> Iterator[Case]:
    rng, tiny = np.random.default_rng(0), size == "tiny"
    n, steps, many = (8, 4, 10) if tiny else (300, 500, 10_000)
    x = np.sort(rng.uniform(0, 10, n))
    given = np.array([0.1, 0.2, -1.0]), x, np.sin(x) + 0.1 * rng.normal(size=n)
    name = f"Gaussian process of {n}, 3 hyperparameters, gradient"
    goals = (("jax", 1.3),)
    yield Case(f"{name}: solve and slogdet", ways(process_by_lu, given, by_torch=process_by_torch), goals=goals)
    yield Case(f"{name}: Cholesky", ways(process_by_cholesky, given), goals=goals)
    seen = np.cumsum(rng.normal(size=(steps, 4)) * 0.3, axis=0)
    given = np.array([0.05, 0.2]), np.eye(4) + 0.1 * np.eye(4, k=2), seen
    made = ways(kalman, given, kalman_by_jax)
    if has_casadi():  # which keeps matrices column by column
        columns = np.ascontiguousarray(given[1].T)
        made["CasADi"] = by_casadi(kalman_by_casadi(steps), given[0], columns, seen, blocks=flat)
    goals_of_kalman = (("jax", 50.0), ("CasADi", 1 / 1.2))
    yield Case(f"Kalman filter by solve and det, 4 states, {steps} steps, gradient", made, goals=goals_of_kalman,
               agree=1e-8)  # fmt: skip
    given = rng.normal(size=(4, 4)) + 4 * np.eye(4), rng.normal(size=(2 * steps, 4))
    yield Case(f"{2 * steps} solutions of 4 x 4 in a loop, gradient, each",
               ways(solutions, given, solutions_by_jax), "ns", 1e9 / (2 * steps), (("at most", 60.0),))  # fmt: skip
    a = rng.normal(size=(many, 4, 4))
    given = (a @ np.swapaxes(a, 1, 2) + np.eye(4),)
    yield Case(f"{many} Cholesky factors of 4 x 4, gradient", ways(factors, given), goals=(("jax", 5.0),))
    yield from _of_many(rng, 10 * many)


def _of_many(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Functions of many elements: sorted with gradient, and gammaln with its derivative."""
    given = rng.normal(size=count), rng.normal(size=count)
    made = ways(in_order, given) | {"NumPy": lambda: in_order_by_hand(*given)}
    yield Case(f"sort of {count}, gradient", made, goals=(("NumPy", 1.0),))
    special = peers.optional("scipy.special")
    if special is None:
        return

    def total(x):
        return np.sum(special.gammaln(x))

    z = rng.uniform(0.1, 20, 10 * count)
    ours = value_and_grad(total)
    theirs = {"pullback": lambda: ours(z), "NumPy": lambda: (np.sum(special.gammaln(z)), special.digamma(z))}
    if jax := peers.jax():
        theirs["jax"] = peers.by_jax(jax.value_and_grad(lambda x: jax.scipy.special.gammaln(x).sum()), z)
    yield Case(f"gammaln and digamma of {10 * count}", theirs, goals=(("NumPy", 5.0),))
