"""A cart swings its pole up: direct transcription, with sparse Jacobians and Hessians for a solver of any make.

The unknowns are all states and forces. SQP in twenty lines solves it with SciPy's sparse LU; where cyipopt is
installed, IPOPT gets the same three functions, and where OSQP or SCS is, one step of model predictive control keeps the
force in bounds.
"""

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from pullback import hessian, jacobian, jit, ravel, value_and_grad

STEPS, STEP = 40, 0.05


@dataclass
class Path:
    states: np.ndarray  # position, angle, their velocities
    forces: np.ndarray


def velocity(s, force):
    sine, cosine = np.sin(s[:, 1]), np.cos(s[:, 1])
    cart = (force + 0.1 * sine * (0.5 * s[:, 3] ** 2 + 9.81 * cosine)) / (1.0 + 0.1 * sine**2)
    pole = (-force * cosine - 0.05 * s[:, 3] ** 2 * cosine * sine - 10.791 * sine) / (0.5 + 0.05 * sine**2)
    return np.stack([s[:, 2], s[:, 3], cart, pole], axis=1)


def defects(path):
    """What the trapezoidal rule leaves, and the two ends."""
    change = velocity(path.states, path.forces)
    rule = path.states[1:] - path.states[:-1] - 0.5 * STEP * (change[1:] + change[:-1])
    ends = np.concatenate([path.states[0], path.states[-1] - np.array([0.0, np.pi, 0.0, 0.0])])
    return np.concatenate([rule.ravel(), ends])


def effort(path):
    return 0.5 * STEP * np.sum(path.forces**2)


start = Path(np.linspace([0.0, 0.0, 0.0, 0.0], [0.0, np.pi, 0.0, 0.0], STEPS + 1), np.zeros(STEPS + 1))
x, back = ravel(start)

cost = value_and_grad(lambda v: effort(back(v)))
constraints = jit(lambda v: defects(back(v)))
slopes = jacobian(lambda v: defects(back(v)), sparse=True)
curvature = hessian(lambda v, weights: effort(back(v)) + np.dot(weights, defects(back(v))), sparse=True)

weights, size = np.zeros(len(constraints(x))), len(x)
for rounds in range(1, 100):  # noqa: B007 - told below
    value, slope = cost(x)
    c, A = constraints(x), slopes(x)
    residual = max(np.abs(slope + A.T @ weights).max(), np.abs(c).max())
    if residual < 1e-8:
        break
    H = curvature(x, weights) + 1e-6 * sp.eye_array(size)
    matrix = sp.block_array([[H, A.T], [A, None]], format="csc")
    step: Any = spsolve(matrix, -np.concatenate([slope + A.T @ weights, c]))
    share = min(1.0, 2.0 / np.abs(step[:size]).max())  # far away, the linear problem says little
    x, weights = x + share * step[:size], weights + share * step[size:]

print(f"{size} unknowns, {len(c)} constraints: a Jacobian of {A.nnz} entries by {slopes.products(x)} products,")
print(f"a Hessian of {curvature(x, weights).nnz} by {curvature.products(x, weights)}")
print(f"residual below 1e-8: {residual < 1e-8}; the pole ends at {back(x).states[-1, 1]:.4f} rad")

if importlib.util.find_spec("cyipopt"):
    found = importlib.import_module("cyipopt").minimize_ipopt(cost, x, jac=True, constraints={
        "type": "eq", "fun": constraints, "jac": slopes, "hess": lambda v, w: curvature(v, w) - curvature(v, 0.0 * w),
    }, hess=lambda v: curvature(v, 0.0 * weights))  # fmt: skip
    print(f"IPOPT agrees: {np.allclose(found.x, x, atol=1e-5)}")

# The quadratic program of one step: the linearised dynamics hold, and no force is beyond 60.
A, c, P = slopes(x), constraints(x), sp.csc_matrix(sp.triu(curvature(x, 0.0 * weights)))
is_force = np.arange(size) >= 4 * (STEPS + 1)

if importlib.util.find_spec("osqp"):
    bounds = np.where(is_force, 60.0, np.inf)
    problem = importlib.import_module("osqp").OSQP()
    problem.setup(
        P, cost(x)[1], sp.csc_matrix(sp.vstack([A, sp.eye_array(size)])),
        np.concatenate([-c, -bounds - x]), np.concatenate([-c, bounds - x]), verbose=False,
    )
    print(f"OSQP: {problem.solve().info.status}")

if importlib.util.find_spec("scs"):
    forces = sp.csr_array(np.eye(size)[is_force])
    solver = importlib.import_module("scs").SCS(
        {"P": P, "A": sp.csc_matrix(sp.vstack([A, forces, -forces])), "c": cost(x)[1],
         "b": np.concatenate([-c, 60.0 - x[is_force], 60.0 + x[is_force]])},
        {"z": len(c), "l": 2 * int(np.sum(is_force))}, verbose=False,
    )  # fmt: skip
    print(f"SCS: {solver.solve()['info']['status']}")
