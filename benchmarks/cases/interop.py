"""Our functions inside other packages: what a gradient costs there that is needed again and again.

A leapfrog, the inner loop of Hamiltonian samplers: each step needs the gradient of a log density where the last step
ended. In JAX the loop is a `fori_loop`, in PyTorch one of Python's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import grad, to_jax, to_torch

SIZE = 0.05


def density(q, m=np):
    """A bent normal distribution's logarithm."""
    x, y = q[:-1], q[1:]
    return -0.5 * m.sum((y - 0.3 * x**2) ** 2) - 0.125 * m.sum(x**2)


def by_hand(q):
    """Its gradient."""
    x, y = q[:-1], q[1:]
    apart = y - 0.3 * x**2
    made = np.zeros_like(q)
    made[:-1] = 0.6 * x * apart - 0.25 * x
    made[1:] -= apart
    return made


def leapfrog(slope, steps):
    """Positions after so many steps, with `slope` called from Python."""

    def run(q):
        p = 0.5 * SIZE * slope(q)
        for _ in range(steps):
            q = q + SIZE * p
            p = p + SIZE * slope(q)
        return q

    return run


def jax_leapfrog(slope, steps):
    """The same in one function of JAX's."""
    jax = peers.jax()

    def step(_, state):
        q, p = state
        q = q + SIZE * p
        return q, p + SIZE * slope(q)

    whole = jax.jit(lambda q: jax.lax.fori_loop(0, steps, step, (q, 0.5 * SIZE * slope(q)))[0])
    return lambda q: whole(q).block_until_ready()


def case_in_jax(steps: int, start: np.ndarray) -> Case:
    ours = grad(density)
    ways = {"pullback": leapfrog(ours, steps), "NumPy": leapfrog(by_hand, steps)}
    goals: tuple[tuple[str, float], ...] = ()
    if jax := peers.jax():

        def callback(q):
            return jax.pure_callback(lambda q: ours(np.asarray(q)), jax.ShapeDtypeStruct(q.shape, q.dtype), q)

        inside = jax_leapfrog(jax.grad(to_jax(density)), steps)
        ways = {
            "pullback, in jax": inside,
            **ways,
            "jax": jax_leapfrog(jax.grad(lambda q: density(q, jax.numpy)), steps),
            "jax, pure_callback": jax_leapfrog(callback, steps),
        }
        goals = (("jax, pure_callback", 10.0),)
    return Case(f"leapfrog, {steps} steps, density of {len(start)} numbers", ways, "µs", 1e6, goals, given=start)


def case_in_torch(start: np.ndarray) -> Case:
    ways = {"pullback": lambda q: grad_of(q), "NumPy": by_hand}
    grad_of = grad(density)
    if torch := peers.torch():
        q = torch.tensor(start, requires_grad=True)
        inside = to_torch(density)
        ways = {
            "pullback, in torch": lambda _: torch.autograd.grad(inside(q), q)[0],
            **ways,
            "torch": lambda _: torch.autograd.grad(density(q, torch), q)[0],
        }
    return Case(f"gradient, density of {len(start)} numbers", ways, "µs", 1e6, given=start)


def cases(size: str) -> Iterator[Case]:
    start = np.linspace(-1.0, 1.0, 16)
    yield case_in_jax(10 if size == "tiny" else 200, start)
    yield case_in_torch(start)
