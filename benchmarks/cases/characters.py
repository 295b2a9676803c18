"""A recurrent network with long short-term memory, which reads a text character by character in a Python loop."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

HIDDEN = 64

# heapq carries an essay on heaps, by François Pinard.
ESSAY: str = getattr(heapq, "__about__")  # noqa: B009


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def loss(p, text):
    """How many nats a character costs that the network guesses from those before it."""
    h = np.zeros(len(p["recur"]), p["recur"].dtype)
    c = np.zeros_like(h)
    n = len(h)
    total = 0.0
    for k in range(len(text) - 1):
        z = p["read"][text[k]] + h @ p["recur"] + p["bias"]
        keep, let_in, let_out = sigmoid(z[:n]), sigmoid(z[n : 2 * n]), sigmoid(z[2 * n : 3 * n])
        c = keep * c + let_in * np.tanh(z[3 * n :])
        h = let_out * np.tanh(c)
        guess = h @ p["write"] + p["shift"]
        top = np.max(guess)
        total += top + np.log(np.sum(np.exp(guess - top))) - guess[text[k + 1]]
    return total / (len(text) - 1)


def by_hand(p, text):
    n, steps = len(p["recur"]), len(text) - 1
    h = c = np.zeros(n, p["recur"].dtype)
    kept, total = [], 0.0
    for k in range(steps):
        z = p["read"][text[k]] + h @ p["recur"] + p["bias"]
        gates, new = sigmoid(z[: 3 * n]), np.tanh(z[3 * n :])
        before = h, c
        c = gates[:n] * c + gates[n : 2 * n] * new
        bent = np.tanh(c)
        h = gates[2 * n :] * bent
        guess = h @ p["write"] + p["shift"]
        top = np.max(guess)
        share = np.exp(guess - top)
        weight = np.sum(share)
        total += top + np.log(weight) - guess[text[k + 1]]
        share /= weight
        share[text[k + 1]] -= 1
        kept.append((*before, gates, new, bent, h, share / steps))
    slope = {name: np.zeros_like(array) for name, array in p.items()}
    back_h = back_c = np.zeros_like(h)
    for k in range(steps - 1, -1, -1):
        h, c, gates, new, bent, after, share = kept[k]
        slope["shift"] += share
        slope["write"] += np.outer(after, share)
        back_h = back_h + p["write"] @ share
        back_c = back_c + back_h * gates[2 * n :] * (1 - bent * bent)
        to_gates = np.concatenate([back_c * c, back_c * new, back_h * bent]) * gates * (1 - gates)
        back = np.concatenate([to_gates, back_c * gates[n : 2 * n] * (1 - new * new)])
        slope["bias"] += back
        slope["read"][text[k]] += back
        slope["recur"] += np.outer(h, back)
        back_h, back_c = p["recur"] @ back, back_c * gates[:n]
    return total / steps, slope


def by_jax(jax):
    np = jax.numpy

    def function(p, text):
        n = len(p["recur"])

        def step(state, given):
            h, c = state
            now, then = given
            z = p["read"][now] + h @ p["recur"] + p["bias"]
            gates, new = jax.nn.sigmoid(z[: 3 * n]), np.tanh(z[3 * n :])
            c = gates[:n] * c + gates[n : 2 * n] * new
            h = gates[2 * n :] * np.tanh(c)
            guess = h @ p["write"] + p["shift"]
            return (h, c), jax.nn.logsumexp(guess) - guess[then]

        start = np.zeros(n, p["recur"].dtype)
        return np.mean(jax.lax.scan(step, (start, start), (text[:-1], text[1:]))[1])

    return function


def problem(hidden: int, length: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    essay = ESSAY[: length + 1]
    letters = sorted(set(essay))
    sizes = {"read": (len(letters), 4 * hidden), "recur": (hidden, 4 * hidden), "bias": (4 * hidden,)}
    sizes |= {"write": (hidden, len(letters)), "shift": (len(letters),)}
    p = {name: rng.normal(size=size, scale=0.1).astype(np.float32) for name, size in sizes.items()}
    return p, np.array([letters.index(letter) for letter in essay])


def cases(size: str) -> Iterator[Case]:
    hidden, length = (5, 9) if size == "tiny" else (HIDDEN, 1000)
    p, text = problem(hidden, length)
    ours = value_and_grad(loss)
    ways = {"pullback": lambda: ours(p, text), "NumPy": lambda: by_hand(p, text)}
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(by_jax(jax)), p, text)
    name = f"LSTM over {length:,} characters, hidden {hidden}, f32"
    flops = 6.0 * length * hidden * (4 * hidden + len(p["shift"]))
    yield Case(name, ways, "ms", 1e3, (("jax", 1.0),), agree=1e-3, flops=flops)
