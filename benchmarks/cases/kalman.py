"""The log-likelihood of a Kalman filter: four states, two of them seen; the gradient in its model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import value_and_grad


def log_likelihood(move, spread, noise, look, seen):
    """The state moves by `move`, spreads by `spread`, and is looked at by `look` through `noise`."""
    x, p = np.zeros(4), np.eye(4)
    total = 0.0
    for z in seen:
        x, p = move @ x, move @ p @ move.T + spread
        e, s = z - look @ x, look @ p @ look.T + noise
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = np.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = p @ look.T @ inverse
        x, p = x + gain @ e, p - gain @ look @ p
        total -= 0.5 * (np.log(det) + e @ inverse @ e)
    return total


def by_hand(move, spread, noise, look, seen):
    x, p, total, kept = np.zeros(4), np.eye(4), 0.0, []
    for z in seen:
        before = x, p
        x, p = move @ x, move @ p @ move.T + spread
        e, s = z - look @ x, look @ p @ look.T + noise
        inverse = np.linalg.inv(s)
        gain = p @ look.T @ inverse
        kept.append((*before, p, e, inverse, gain))
        x, p = x + gain @ e, p - gain @ look @ p
        total -= 0.5 * (np.log(np.linalg.det(s)) + e @ inverse @ e)
    back_x, back_p = np.zeros(4), np.zeros((4, 4))
    to_move, to_spread, to_noise = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((2, 2))
    for x0, p0, p, e, inverse, gain in reversed(kept):
        back_gain = np.outer(back_x, e) - back_p @ (look @ p).T
        back_e = gain.T @ back_x - 0.5 * (inverse + inverse.T) @ e
        back_inverse = look @ p.T @ back_gain - 0.5 * np.outer(e, e)
        back_s = -0.5 * inverse.T - inverse.T @ back_inverse @ inverse.T
        back_p = back_p - look.T @ gain.T @ back_p + back_gain @ inverse.T @ look + look.T @ back_s @ look
        back_x = back_x - look.T @ back_e
        to_noise += back_s
        to_spread += back_p
        to_move += back_p @ move @ p0.T + back_p.T @ move @ p0 + np.outer(back_x, x0)
        back_x, back_p = move.T @ back_x, move.T @ back_p @ move
    return total, (to_move, to_spread, to_noise)


def by_jax(jax):
    np = jax.numpy

    def function(move, spread, noise, look, seen):
        def step(state, z):
            x, p, total = state
            x, p = move @ x, move @ p @ move.T + spread
            e, s = z - look @ x, look @ p @ look.T + noise
            det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
            inverse = np.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
            gain = p @ look.T @ inverse
            total = total - 0.5 * (np.log(det) + e @ inverse @ e)
            return (x + gain @ e, p - gain @ look @ p, total), None

        return jax.lax.scan(step, (np.zeros(4), np.eye(4), 0.0), seen)[0][2]

    return function


def problem(steps: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    move = np.eye(4) + 0.1 * np.eye(4, k=2)
    look = np.eye(2, 4)
    seen = np.cumsum(rng.normal(size=(steps, 2)) * 0.3, axis=0)
    return move, 0.05 * np.eye(4), 0.2 * np.eye(2) + 0.02, look, seen


def cases(size: str) -> Iterator[Case]:
    steps = 6 if size == "tiny" else 500
    given = problem(steps)
    ours = value_and_grad(log_likelihood, (0, 1, 2))
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        tensors = [torch.tensor(v, requires_grad=k < 3) for k, v in enumerate(given)]

        def run():
            value = by_torch(torch, *tensors)
            return value, torch.autograd.grad(value, tensors[:3])

        ways["torch"] = run
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(by_jax(jax), (0, 1, 2)), *given)
    name = f"Kalman filter, 4 states, {steps} steps, gradient of the log-likelihood"
    yield Case(name, ways, goals=(("jax", 50.0),), agree=1e-8)


def by_torch(torch, move, spread, noise, look, seen):
    x, p, total = torch.zeros(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64), 0.0
    for z in seen:
        x, p = move @ x, move @ p @ move.T + spread
        e, s = z - look @ x, look @ p @ look.T + noise
        inverse = torch.linalg.inv(s)
        gain = p @ look.T @ inverse
        x, p = x + gain @ e, p - gain @ look @ p
        total = total - 0.5 * (torch.logdet(s) + e @ inverse @ e)
    return total
