"""The energy of atoms that attract and repel each other in pairs (Lennard-Jones), and the forces on them."""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case

from pullback import value_and_grad


def energy(x):
    """Every pair is seen from both of its ends, and an atom from itself at a distance that is made 1."""
    apart = x[:, None, :] - x[None, :, :]
    self = np.eye(len(x))
    inverse = 1.0 / (np.sum(apart * apart, axis=2) + self)
    sixth = inverse * inverse * inverse
    return 2.0 * np.sum((sixth * sixth - sixth) * (1.0 - self))


def energy_of_pairs(x, first, second):
    """The same from a list of pairs."""
    apart = x[first] - x[second]
    inverse = 1.0 / np.sum(apart * apart, axis=1)
    sixth = inverse * inverse * inverse
    return 4.0 * np.sum(sixth * sixth - sixth)


def by_hand(x):
    apart = x[:, None, :] - x
    square = np.einsum("ijk,ijk->ij", apart, apart)
    np.fill_diagonal(square, np.inf)
    inverse = 1.0 / square
    sixth = inverse * inverse * inverse
    slope = (24.0 * sixth - 48.0 * sixth * sixth) * inverse
    return 2.0 * np.sum(sixth * sixth - sixth), np.einsum("ij,ijk->ik", slope, apart)


def positions(n: int) -> np.ndarray:
    """Atoms near the points of a cubic lattice."""
    side = int(np.ceil(n ** (1 / 3)))
    lattice = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:n]
    return 1.2 * lattice + 0.1 * np.random.default_rng(0).normal(size=(n, 3))


def torch_way(torch, x, pairs):
    tx, self = torch.tensor(x, requires_grad=True), torch.eye(len(x), dtype=torch.float64)
    first, second = (torch.tensor(k) for k in pairs)

    def dense():
        apart = tx[:, None, :] - tx
        sixth = (1.0 / ((apart * apart).sum(2) + self)) ** 3
        value = 2.0 * ((sixth * sixth - sixth) * (1.0 - self)).sum()
        return value, torch.autograd.grad(value, tx)[0]

    def listed():
        apart = tx[first] - tx[second]
        sixth = (1.0 / (apart * apart).sum(1)) ** 3
        value = 4.0 * (sixth * sixth - sixth).sum()
        return value, torch.autograd.grad(value, tx)[0]

    return dense, listed


def cases(size: str) -> Iterator[Case]:
    n = 10 if size == "tiny" else 400
    x, pairs = positions(n), np.triu_indices(n, 1)
    dense, listed = value_and_grad(energy), value_and_grad(energy_of_pairs)
    all_ways = {"pullback": lambda: dense(x), "NumPy": lambda: by_hand(x)}
    pair_ways = {"pullback": lambda: listed(x, *pairs), "NumPy": lambda: by_hand(x)}
    if torch := peers.torch():
        all_ways["torch"], pair_ways["torch"] = torch_way(torch, x, pairs)
    if jax := peers.jax():
        by_jax = jax.value_and_grad(peers.with_numpy(energy, jax.numpy))
        all_ways["jax"] = peers.by_jax(by_jax, x)
        by_jax = jax.value_and_grad(peers.with_numpy(energy_of_pairs, jax.numpy))
        pair_ways["jax"] = peers.by_jax(by_jax, x, *pairs)
    if c_version := native.kernel("atoms", n, x, out=[np.empty_like(x)]):
        all_ways["C"] = pair_ways["C"] = c_version
    goals = (("C", 1 / 1.2), ("jax", 20.0))
    yield Case(f"energy and forces of {n} atoms, all by all, f64", all_ways, goals=goals)
    yield Case(f"energy and forces of {n} atoms, listed pairs, f64", pair_ways, goals=goals)
