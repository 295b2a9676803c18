"""Formulas: calls and many points beside SymPy's own lambdify, derivatives of 200 variables, pendulums on a cart."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from harness import Case
from peers import optional, wanted
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

from pullback import equations_of_motion, grad, hessian, lambdify
from pullback.compiler.backend.machine import forget
from pullback.compiler.settings import settings

POINTS = {"tiny": 1_000, "quick": 1_000_000, "full": 1_000_000}
VARIABLES = {"tiny": 10, "quick": 200, "full": 200}
LINKS = {"tiny": (1,), "quick": (4, 8), "full": (4, 8)}

x, y, z = sp.symbols("x y z")


class Calls:
    """Calls of a function of three floats as they stand in a loop: none of a function around them is counted."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self) -> Any:
        return self.function(1.0, 2.0, 3.0)

    def repeat(self, count: int) -> None:
        function = self.function
        for _ in itertools.repeat(None, count):
            function(1.0, 2.0, 3.0)


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


def compiling(build: Callable[[], Any]) -> Callable[[], Any]:
    """The same without machine code that an equal build before has left, in memory or on disk: each is as the first."""

    def anew() -> Any:
        forget()
        with settings.override(cache=False):
            return build()

    return anew


def cases(size: str) -> Iterator[Case]:
    few = sp.sin(x) * sp.exp(y) + z**2
    ours, theirs = lambdify([x, y, z], few), sp.lambdify([x, y, z], few, "math")
    ways: dict[str, Any] = {"pullback": Calls(ours), "SymPy": Calls(theirs)}
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

    ways = {"pullback": compiling(built), "SymPy": derived}
    yield Case(f"building a gradient of {len(xs)} variables", ways, "ms", 1e3, (("SymPy", 20.0),), agree=1e-9)

    few_xs, short = chained(VARIABLES[size] // 2)

    def twice() -> Any:
        return hessian(lambdify([few_xs], short))(at[: len(few_xs)])

    def derived_twice() -> Any:
        rows = sp.hessian(short, few_xs)
        return np.array(sp.lambdify([few_xs], rows, "numpy", cse=True)(at[: len(few_xs)]))

    ways = {"pullback": compiling(twice), "SymPy": derived_twice}
    yield Case(f"building a Hessian of {len(few_xs)} variables", ways, "ms", 1e3, (("SymPy", 20.0),), agree=1e-9)

    for links in LINKS[size]:
        yield from pendulum(links)


def pendulum(links: int) -> Iterator[Case]:
    """State derivative and Jacobian: by equations of motion with a mass matrix solved in numbers, in every way."""
    system = n_link_pendulum_on_cart(links, cart_force=False, joint_torques=False)
    motion = equations_of_motion(system)
    state = np.linspace(0.1, 0.5, len(motion.states))
    parameters = np.ones(len(motion.parameters))
    makers: dict[str, Callable[[], Any]] = {"pullback": lambda: motion_of(system)}
    if wanted("SymEngine") and optional("symengine"):
        makers["SymEngine"] = lambda: engine_of(system, motion)
    if wanted("CasADi") and optional("casadi"):
        makers["CasADi"] = lambda: casadi_of(system, motion, compiled=False)
        if shutil.which("gcc"):
            makers["CasADi, compiled"] = lambda: casadi_of(system, motion, compiled=True)
    made = {name: make() for name, make in makers.items()}
    ways = {name: lambda f=f: f(state, parameters) for name, f in made.items()}
    goals = tuple((name, 2.0) for name in makers if name != "pullback")
    yield Case(f"pendulum of {links} links and its Jacobian", ways, "µs", 1e6, goals)
    builds: dict[str, Any] = {name: lambda make=make: make()(state, parameters) for name, make in makers.items()}
    builds["pullback"] = compiling(builds["pullback"])
    faster = tuple((name, 1.0) for name in makers if name in ("SymEngine", "CasADi, compiled"))
    # a C compiler is another process, whose processor time is not counted: the time that passes is
    yield Case(f"building it, of {links} links", builds, "ms", 1e3, faster, parallel=True)


def motion_of(system: Any) -> Any:
    """The function and its Jacobian by pullback."""
    both = equations_of_motion(system).with_jacobian
    return lambda s, p: both(0.0, s, p)


def parts_of(system: Any, motion: Any) -> tuple[Any, Any, Any, dict[Any, Any]]:
    """Mass matrix, forcing and rates over plain symbols, and these by state."""
    plain = {q: sp.Symbol(f"y{k}") for k, q in enumerate(motion.states)}
    rates = [motion.states[k + len(motion.states) // 2] for k in range(len(motion.states) // 2)]
    swap = [m.xreplace(plain) for m in (system.mass_matrix, system.forcing, sp.Matrix(rates))]
    return *swap, plain


def engine_of(system: Any, motion: Any) -> Any:
    """By SymEngine: M, f and their derivatives compiled by LLVM; d(M^-1 f) = M^-1 (df - dM a) solved by NumPy."""
    engine = optional("symengine")
    mass, forcing, rates, plain = parts_of(system, motion)
    ys = [engine.Symbol(str(plain[q])) for q in motion.states]
    args = [*ys, *[engine.Symbol(str(p)) for p in motion.parameters]]
    entries = [engine.sympify(e) for e in (*mass, *forcing, *rates)]
    slopes = [e.diff(y) for e in entries for y in ys]
    f = engine.Lambdify(args, [*entries, *slopes], backend="llvm", cse=True)
    n, count = len(rates), len(ys)

    def both(s: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat = f(np.concatenate([s, p]))
        values, by = flat[: n * n + 2 * n], flat[n * n + 2 * n :].reshape(-1, count)
        m, a = values[: n * n].reshape(n, n), np.linalg.solve(values[: n * n].reshape(n, n), values[n * n : n * n + n])
        moved = by[n * n : n * n + n] - np.einsum("ijk,j->ik", by[: n * n].reshape(n, n, count), a)
        below = np.linalg.solve(m, moved)
        return np.concatenate([values[n * n + n :], a]), np.concatenate([by[n * n + n :], below])

    return both


def casadi_of(system: Any, motion: Any, compiled: bool) -> Any:
    """By CasADi: SX expressions, solved and differentiated there; through C and gcc if `compiled`."""
    ca = optional("casadi")
    mass, forcing, rates, plain = parts_of(system, motion)
    y, p = ca.SX.sym("y", len(motion.states)), ca.SX.sym("p", len(motion.parameters))
    args = [*plain.values(), *motion.parameters]
    names = {"sin": ca.sin, "cos": ca.cos, "ImmutableDenseMatrix": list, "array": list}
    parts = sp.lambdify(args, [list(mass), list(forcing), list(rates)], [names], cse=True)(
        *[y[k] for k in range(y.numel())], *[p[k] for k in range(p.numel())]
    )
    n = len(rates)
    m = ca.reshape(ca.vertcat(*parts[0]), n, n).T
    right = ca.vertcat(*parts[2], ca.solve(m, ca.vertcat(*parts[1])))
    options = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O2"]}} if compiled else {}
    f = ca.Function("pendulum", [y, p], [right, ca.jacobian(right, y)], options)

    def both(s: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = f(s, q)
        return value.full()[:, 0], slope.full()

    return both
