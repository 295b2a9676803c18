"""Formulas: calls and many points beside SymPy's own lambdify, derivatives of 200 variables, pendulums on a cart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from harness import Case
from peers import optional, wanted
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

from pullback import equations_of_motion, grad, hessian, lambdify

POINTS = {"tiny": 1_000, "quick": 1_000_000, "full": 1_000_000}
VARIABLES = {"tiny": 10, "quick": 200, "full": 200}
LINKS = {"tiny": (1,), "quick": (4, 8), "full": (4, 8)}

x, y, z = sp.symbols("x y z")


def chained(count: int) -> tuple[list[Any], Any]:
    """A sum over neighbours, as of a chain of springs that are not linear."""
    xs = list(sp.symbols(f"x0:{count}"))
    terms = [sp.sin(a * b) ** 2 * sp.exp(-(a**2)) for a, b in pairwise(xs)]
    return xs, sp.Add(*terms)


def by_symengine(args: list[Any], e: Any) -> Any:
    """A formula compiled by SymEngine and LLVM, over arrays whose last axis is that of the arguments; or None."""
    package = optional("symengine") if wanted("SymEngine") else None
    if package is None:
        return None
    return package.Lambdify(args, [package.sympify(part) for part in e], backend="llvm", cse=True)


def cases(size: str) -> Iterator[Case]:
    few = sp.sin(x) * sp.exp(y) + z**2
    ours, theirs = lambdify([x, y, z], few), sp.lambdify([x, y, z], few, "math")
    ways: dict[str, Any] = {"pullback": lambda: ours(1.0, 2.0, 3.0), "SymPy": lambda: theirs(1.0, 2.0, 3.0)}
    yield Case("a call of a formula of three", ways, "ns", 1e9, (("at most", 40.0),), agree=1e-14)

    waves = sp.Add(*[sp.sin(k * x * y) * sp.exp(-z * k) / (1 + k * x**2) for k in range(1, 11)])
    points = np.random.default_rng(0).uniform(size=(3, POINTS[size]))
    whole, numpy = lambdify([x, y, z], waves), sp.lambdify([x, y, z], waves, "numpy", cse=True)
    ways = {"pullback": lambda: whole(*points), "SymPy": lambda: numpy(*points)}
    engine = by_symengine([x, y, z], [waves])
    if engine is not None:
        rows = np.ascontiguousarray(points.T)
        ways["SymEngine"] = lambda: engine(rows)[..., 0]
    goals = (("SymPy", 10.0), ("SymEngine", 3.0))
    yield Case(f"a formula at {POINTS[size]:,} points", ways, "ms", 1e3, goals, agree=1e-12)

    xs, chain = chained(VARIABLES[size])
    at = np.random.default_rng(1).uniform(size=len(xs))

    def built() -> Any:
        return grad(lambdify([xs], chain))(at)

    def derived() -> Any:
        slopes = [sp.diff(chain, s) for s in xs]
        return np.array(sp.lambdify([xs], slopes, "numpy", cse=True)(at))

    ways = {"pullback": built, "SymPy": derived}
    yield Case(f"building a gradient of {len(xs)} variables", ways, "ms", 1e3, (("SymPy", 20.0),), agree=1e-9)

    few_xs, short = chained(VARIABLES[size] // 2)

    def twice() -> Any:
        return hessian(lambdify([few_xs], short))(at[: len(few_xs)])

    def derived_twice() -> Any:
        rows = sp.hessian(short, few_xs)
        return np.array(sp.lambdify([few_xs], rows, "numpy", cse=True)(at[: len(few_xs)]))

    ways = {"pullback": twice, "SymPy": derived_twice}
    yield Case(f"building a Hessian of {len(few_xs)} variables", ways, "ms", 1e3, (("SymPy", 20.0),), agree=1e-9)

    for links in LINKS[size]:
        motion = equations_of_motion(n_link_pendulum_on_cart(links, cart_force=False, joint_torques=False))
        state = np.linspace(0.1, 0.5, len(motion.states))
        parameters = np.ones(len(motion.parameters))
        both = {"pullback": lambda f=motion, s=state, p=parameters: f.with_jacobian(0.0, s, p)}
        yield Case(f"pendulum of {links} links and its Jacobian", both, "µs", 1e6)
