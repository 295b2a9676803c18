"""Jacobians and Hessians: sparse ones beside the function itself, small ones beside jax and CasADi, an iLQR step."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import peers
from harness import Case

from pullback import grad, hessian, jacobian, jit, vmap

ROWS = {"tiny": (200, 2_000), "quick": (1_000, 100_000), "full": (1_000, 100_000)}
POINTS = {"tiny": 1_000, "quick": 100_000, "full": 100_000}
LEAVES = {"tiny": 300, "quick": 20_000, "full": 20_000}
STEPS = {"tiny": 10, "quick": 100, "full": 100}


def residual(u):
    """A reaction–diffusion equation, discretised along a line."""
    change = np.zeros_like(u)
    change[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
    return change + 0.1 * u * (1 - u) * (u - 0.3)


def arrowhead(x):
    """A global parameter and many local ones."""
    return np.sum((x[1:] - x[0]) ** 2 * np.cos(x[1:])) + np.exp(0.1 * x[0])


def bump(x):
    return np.exp(-x[0] ** 2) * np.sin(3 * x[1]) + x[2] * x[0]


def weibull(theta, x, t):
    """The log likelihood of Weibull regression: three coefficients, an intercept and a shape."""
    shape = np.exp(theta[4])
    scale = np.exp(x @ theta[:3] + theta[3])
    z = t / scale
    return np.sum(theta[4] - np.log(scale) + (shape - 1) * np.log(z) - z**shape)


def cart_pole_of(np, s, u):
    """One step of a cart with a pole: position, angle and their velocities, pushed by a force."""
    sine, cosine = np.sin(s[1]), np.cos(s[1])
    a = (u[0] + 0.1 * sine * (0.5 * s[3] ** 2 + 9.81 * cosine)) / (1.0 + 0.1 * sine**2)
    b = (-u[0] * cosine - 0.05 * s[3] ** 2 * cosine * sine - 1.1 * 9.81 * sine) / (0.5 * (1.0 + 0.1 * sine**2))
    return [s[0] + 0.02 * s[2], s[1] + 0.02 * s[3], s[2] + 0.02 * a, s[3] + 0.02 * b]


def cart_pole(s, u):
    return np.stack(cart_pole_of(np, s, u))


def blocks(s, u, p):
    """What iLQR needs of every step: both Jacobians, and the Hessians along the costate p."""
    A, B = jacobian(cart_pole, argnums=(0, 1))(s, u)
    h = hessian(lambda s, u: np.dot(cart_pole(s, u), p), argnums=(0, 1))(s, u)
    return A, B, h


def jax_blocks(jax, s, u, p):
    def step(s, u):
        return jax.numpy.stack(cart_pole_of(jax.numpy, s, u))

    A, B = jax.jacfwd(step, (0, 1))(s, u)
    return A, B, jax.hessian(lambda s, u: jax.numpy.dot(step(s, u), p), (0, 1))(s, u)


def has_casadi() -> bool:
    return bool(peers.wanted("CasADi") and peers.optional("casadi") and shutil.which("gcc"))


COMPILED = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O2", "-march=native"]}}


def casadi_banded(rows: int) -> Any:
    """The entries of the residual's Jacobian, row by row: of the transpose, which CasADi keeps column by column."""
    ca = peers.optional("casadi")
    u = ca.SX.sym("u", rows)
    change = ca.vertcat(0, u[2:] - 2 * u[1:-1] + u[:-2], 0)
    jacobian = ca.jacobian(change + 0.1 * u * (1 - u) * (u - 0.3), u)
    return ca.Function("banded", [u], [jacobian.T], COMPILED)


def casadi_blocks() -> Any:
    """Both Jacobians of a step and the Hessian along a costate, as dense matrices."""
    ca = peers.optional("casadi")
    s, u, p = ca.SX.sym("s", 4), ca.SX.sym("u", 1), ca.SX.sym("p", 4)
    after = ca.vertcat(*cart_pole_of(ca, s, u))
    both = ca.vertcat(s, u)
    h = ca.hessian(ca.dot(after, p), both)[0]
    return ca.Function("blocks", [s, u, p], [ca.densify(x) for x in (ca.jacobian(after, both).T, h)], COMPILED)


def of_blocks(jacobians: np.ndarray, hessians: np.ndarray) -> Any:
    """The blocks for state and force of every step."""
    j, h = jacobians.reshape(-1, 4, 5), hessians.reshape(-1, 5, 5)
    rows = [(h[:, at, :4], h[:, at, 4:]) for at in (slice(0, 4), slice(4, 5))]
    return j[:, :, :4], j[:, :, 4:], tuple(rows)


def by_casadi(function: Any, *given: np.ndarray, blocks: Any = lambda made: made) -> Callable[[], Any]:
    """A way: a compiled function of CasADi that reads from arrays and writes the entries of its results to others.

    `blocks` makes of these what is compared: views, made once.
    """
    made = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
    buffer, evaluate = function.buffer()
    for k, x in enumerate(given):
        buffer.set_arg(k, x.data)
    for k, x in enumerate(made):
        buffer.set_res(k, x.data)
    views = blocks(*made)

    def way(keep: Any = (function, buffer, given)) -> Any:
        evaluate()
        return views

    return way


def jax_weibull(jnp, theta, x, t):
    shape = jnp.exp(theta[4])
    scale = jnp.exp(x @ theta[:3] + theta[3])
    z = t / scale
    return jnp.sum(theta[4] - jnp.log(scale) + (shape - 1) * jnp.log(z) - z**shape)


def of_numbers(p):
    """Of numbers by their names."""
    v = np.array(list(p.values()))
    return np.sum(v * np.sin(v))


def of_keys(p):
    total = 0.0
    for k in p:
        total = total + p[k] * np.sin(p[k])
    return total


def of_a_dict(p):
    return p["a"] * p["b"] + p["c"] * np.sum(p["d"])


def cases(size: str) -> Iterator[Case]:
    for rows in ROWS[size]:
        u = np.linspace(0.0, 1.0, rows)
        banded, f = jacobian(residual, sparse=True), jit(residual)
        six = {"pullback": lambda banded=banded, u=u: banded.values(u), "copying (6 residuals)": _times(6, f, u)}
        yield Case(f"banded Jacobian, {rows:,} rows", six, "µs", 1e6, (("copying (6 residuals)", 1.0),))
        if rows <= 1_000 and has_casadi():
            theirs = peers.lazily(lambda rows=rows, u=u: by_casadi(casadi_banded(rows), u))
            ways = {"pullback": six["pullback"], "CasADi, compiled": theirs}
            yield Case(f"banded Jacobian beside CasADi, {rows:,} rows", ways, "µs", 1e6,
                       (("CasADi, compiled", 1 / 1.3),), agree=1e-10)  # fmt: skip
    x = np.random.default_rng(0).normal(size=10_000 if size != "tiny" else 500)
    arrow, slope = hessian(arrowhead, sparse=True), grad(arrowhead)
    ten = {"pullback": lambda: arrow.values(x), "copying (10 gradients)": _times(10, slope, x)}
    yield Case(f"arrowhead Hessian, {len(x):,} rows", ten, "µs", 1e6, (("copying (10 gradients)", 1.0),))

    jax = peers.jax()
    rng = np.random.default_rng(1)
    points = rng.normal(size=(POINTS[size], 3))
    many = vmap(grad(bump))
    ways: dict[str, Any] = {"pullback": lambda: many(points)}
    if jax:
        def jax_bump(x):
            return jax.numpy.exp(-x[0] ** 2) * jax.numpy.sin(3 * x[1]) + x[2] * x[0]

        ways["jax"] = peers.by_jax(jax.vmap(jax.grad(jax_bump)), points)
    yield Case(f"vmap of a gradient, {len(points):,} points", ways, "µs", 1e6, (("jax", 3.0),), agree=1e-10)

    theta = np.array([0.1, -0.2, 0.05, 0.3, 0.2])
    x, t = rng.normal(size=(1_000, 3)), rng.gamma(2.0, size=1_000)
    errors = hessian(weibull)
    ways = {"pullback": lambda: errors(theta, x, t)}
    if jax:
        ways["jax"] = peers.by_jax(
            lambda theta, x, t: jax.hessian(lambda q: jax_weibull(jax.numpy, q, x, t))(theta), theta, x, t
        )
    yield Case("Hessian of Weibull regression, 5 x 1,000", ways, "µs", 1e6, (("jax", 5.0),), agree=1e-9)

    n = STEPS[size]
    s, u, p = rng.normal(size=(n, 4)), rng.normal(size=(n, 1)), rng.normal(size=(n, 4))
    steps = vmap(blocks)
    ways = {"pullback": lambda: steps(s, u, p)}
    if jax:
        ways["jax"] = peers.by_jax(jax.vmap(lambda s, u, p: jax_blocks(jax, s, u, p)), s, u, p)
    if has_casadi():
        ways["CasADi, compiled"] = peers.lazily(lambda: by_casadi(casadi_blocks().map(n), s, u, p, blocks=of_blocks))
    goals = (("jax", 20.0), ("CasADi, compiled", 2.0))
    yield Case(f"derivatives of an iLQR iteration, {n} steps", ways, "µs", 1e6, goals)

    given = {name: rng.normal(size=3) for name in "abcd"}
    of_four = jacobian(of_a_dict)
    yield Case("Jacobian for a dict of 4 arrays", {"pullback": lambda: of_four(given)}, "ns", 1e9,
               (("at most", 2000.0),))  # fmt: skip

    leaves = {f"w{k}": 0.1 + k / LEAVES[size] for k in range(LEAVES[size])}
    known = grad(of_numbers)
    for how, function in (("into an array", of_numbers), ("a loop over keys", of_keys)):
        first = f"first gradient for a dict of {len(leaves):,} numbers, {how}"
        yield Case(first, {"pullback": lambda f=function: _first(f, leaves)}, "s", 1.0, (("at most", 2.0),),
                   seconds=True)  # fmt: skip
    yield Case(f"gradient for a dict of {len(leaves):,} numbers", {"pullback": lambda: known(leaves)}, "µs")


def _first(function: Any, leaves: dict[str, float]) -> Any:
    """The seconds until the first gradient of a function that is new."""
    begin = time.process_time()
    made = grad(lambda p: function(p))(leaves)
    return [time.process_time() - begin, *made.values()]


def _times(count: int, f: Any, x: np.ndarray) -> Any:
    def way() -> Any:
        for _ in range(count):
            made = f(x)
        return made

    return way
