"""Derivatives of derivatives through branches, in nests of transformations: what the tapes hold of them comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import cond, grad, hessian, jacfwd, jacrev, jit, jvp, vmap

X = np.array([[0.3, 0.7], [-0.2, 0.4], [1.0, 2.0]])
V = np.array([[1.0, -0.5], [0.3, 0.2], [0.7, 0.1]])


def chosen(x):
    return np.sum(cond(x[0] > 0.0, lambda x: x * np.exp(x), lambda x: x, x))


def branched(x):
    if x[0] > 0.0:
        y = x * np.exp(x)
    else:
        y = x
    return np.sum(y)


def looped(x):
    s = 0.0
    for i in range(2):
        if x[0] > 0.0:
            s = s + x[i] * np.exp(x[i])
        else:
            s = s + x[i]
    return s


def expected(order: int) -> np.ndarray:
    """The derivative of each element: those of x * exp(x) are (x + order) * exp(x)."""
    return np.where(X[:, :1] > 0.0, (X + order) * np.exp(X), 0.0)


def rows(f: Callable[..., Any]) -> np.ndarray:
    return np.stack([f(x, v) for x, v in zip(X, V, strict=True)])


SECOND: dict[str, Callable[[Any], np.ndarray]] = {
    "grad of vmap of grad": lambda f: grad(lambda x: np.sum(vmap(grad(f))(x)))(X),
    "jvp of vmap of grad": lambda f: jvp(vmap(grad(f)), (X,), (V,))[1] / V,
    "jit of jvp of vmap of grad": lambda f: jit(lambda x: jvp(vmap(grad(f)), (x,), (V,))[1] / V)(X),
    "jacfwd of grad": lambda f: rows(lambda x, v: np.diag(jacfwd(grad(f))(x))),
    "jacrev of grad": lambda f: rows(lambda x, v: np.diag(jacrev(grad(f))(x))),
    "vmap of hessian": lambda f: np.einsum("nii->ni", vmap(hessian(f))(X)),
}

THIRD: dict[str, Callable[[Any], np.ndarray]] = {
    "jvp of hessian": lambda f: rows(lambda x, v: np.diag(jvp(hessian(f), (x,), (v,))[1]) / v),
    "jacfwd of hessian": lambda f: rows(lambda x, v: np.einsum("iii->i", jacfwd(hessian(f))(x))),
    "grad of vmap of hessian": lambda f: grad(lambda x: np.sum(vmap(hessian(f))(x)))(X),
    "grad of vmap of grad of grad": lambda f: grad(
        lambda x: np.sum(vmap(grad(lambda y: np.sum(grad(f)(y))))(x)))(X),
}


@pytest.mark.parametrize("f", [chosen, branched, looped])
@pytest.mark.parametrize("name", [*SECOND, *THIRD])
def test_branches_in_nests_of_derivatives(f: Callable[..., Any], name: str) -> None:
    made, order = (SECOND[name], 2) if name in SECOND else (THIRD[name], 3)
    assert np.allclose(made(f), expected(order), rtol=1e-13, atol=0.0)
