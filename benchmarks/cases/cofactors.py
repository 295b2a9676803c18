"""The determinant by cofactors, without recursion: every minor of the last rows once, by the set of its columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import value_and_grad


def determinant(a):
    n = len(a)
    minors = np.zeros(1 << n)
    minors[0] = 1.0
    for columns in range(1, 1 << n):
        row = n - columns.bit_count()
        total, sign = 0.0, 1.0
        for j in range(n):
            if columns >> j & 1:
                total += sign * a[row, j] * minors[columns ^ (1 << j)]
                sign = -sign
        minors[columns] = total
    return minors[-1]


def by_hand(a):
    value = np.linalg.det(a)
    return value, value * np.linalg.inv(a).T


def layers(n: int) -> list[tuple[np.ndarray, ...]]:
    """For every number of columns: the sets of columns, and for each of their columns it, its sign and the rest."""
    made = []
    for size in range(1, n + 1):
        sets = [s for s in range(1 << n) if s.bit_count() == size]
        members = np.array([[j for j in range(n) if s >> j & 1] for s in sets])
        rest = np.array(sets)[:, None] ^ (1 << members)
        made.append((np.array(sets), members, (-1.0) ** np.arange(size), rest))
    return made


def by_jax(jax):
    """A layer of minors at once: written out term by term, the same takes jax minutes to compile."""

    def function(a):
        n = len(a)
        minors = jax.numpy.zeros(1 << n).at[0].set(1.0)
        for size, (sets, members, signs, rest) in enumerate(layers(n), start=1):
            minors = minors.at[sets].set(jax.numpy.sum(signs * a[n - size][members] * minors[rest], axis=1))
        return minors[-1]

    return function


def cases(size: str) -> Iterator[Case]:
    n = 4 if size == "tiny" else 9
    a = np.random.default_rng(0).normal(size=(n, n))
    ours = value_and_grad(determinant)
    ways = {"pullback": lambda: ours(a), "NumPy": lambda: by_hand(a)}
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(by_jax(jax)), a)
    yield Case(f"determinant by cofactors, {n} x {n}, with its gradient", ways, goals=(("jax", 1.0),))
