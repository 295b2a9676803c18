"""SciPy's sparse matrices among traced arrays: products with them, and equations that they define."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from pullback import grad, hessian, jacobian, jit, jvp, vmap

RNG = np.random.default_rng(0)
X = RNG.normal(size=8)
DENSE = RNG.normal(size=(6, 8)) * (RNG.random((6, 8)) < 0.4)
FORMS = {
    "csr_array": sp.csr_array, "csc_array": sp.csc_array, "coo_array": sp.coo_array, "csr_matrix": sp.csr_matrix,
    "dia_array": lambda x: sp.dia_array(sp.coo_array(x)), "bsr_array": lambda x: sp.bsr_array(sp.csr_array(x)),
    "lil_array": sp.lil_array, "dok_array": lambda x: sp.dok_array(sp.coo_array(x)), "whole numbers": None,
}  # fmt: skip
PRODUCTS = {
    "a vector": lambda A, x: np.sum((A @ x) ** 2 * np.arange(6)),
    "dot": lambda A, x: np.sum(A.dot(x) ** 3),
    "both ways": lambda A, x: np.sum((A.T @ np.sin(A @ x)) ** 2),
    "columns": lambda A, x: np.sum((A @ np.outer(x, x[:3])) ** 2),
    "from the left": lambda A, x: np.sum((x[:6] @ A) ** 3),
    "made on the way": lambda A, x: np.sum(((-A) * 2 @ x) ** 2),
}


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("form", FORMS)
def test_products(form, product):
    A = FORMS[form](DENSE) if FORMS[form] else sp.csr_array((DENSE * 3).astype(int))

    def f(x):
        return PRODUCTS[product](A, x)

    np.testing.assert_allclose(jit(f)(X), f(X))
    np.testing.assert_allclose(grad(f)(X), differences(f, X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hessian(f)(X), differences(grad(f), X), rtol=1e-4, atol=1e-4)


def test_other_transforms_and_branches():
    A = sp.csr_array(DENSE)
    np.testing.assert_allclose(vmap(lambda x: A @ x)(np.stack([X, 2 * X])), np.stack([A @ X, 2 * (A @ X)]))
    np.testing.assert_allclose(jvp(lambda x: A @ x, (X,), (X,))[1], A @ X)
    made = jacobian(lambda x: A @ x, sparse=True)(X)
    assert made.nnz == A.nnz
    np.testing.assert_allclose(made.toarray(), DENSE)

    def f(x):
        y = A @ x
        if y[0] > 0:
            y = A.T @ y
        for _ in range(2):
            y = y + np.sum(A @ x)
        return np.sum(y**2)

    for x in (X, -X):
        np.testing.assert_allclose(grad(f)(x), differences(f, x), rtol=1e-5, atol=1e-4)
    single = grad(lambda x: np.sum(A.astype(np.float32) @ x))(X.astype(np.float32))
    assert single.dtype == np.float32


def test_a_matrix_that_changes_is_read_anew():
    A = sp.csr_array(DENSE)
    slope = grad(lambda x: np.sum((A @ x) ** 2))
    first = slope(X).copy()
    A.data *= 2
    np.testing.assert_allclose(slope(X), 4 * first)
    A = sp.csr_array(3 * DENSE)
    np.testing.assert_allclose(slope(X), 9 * first)


SQUARE = sp.csr_array(4 * np.eye(8) + DENSE[[0, 1, 2, 3, 4, 5, 0, 1]])
SYMMETRIC = SQUARE.T @ SQUARE
SYSTEMS = {
    "spsolve": (SQUARE, sla.spsolve),
    "spsolve of csc": (SQUARE.tocsc(), sla.spsolve),
    "cg": (SYMMETRIC, lambda A, b: sla.cg(A, b, rtol=1e-13)[0]),
    "gmres": (SQUARE, lambda A, b: sla.gmres(A, b, rtol=1e-13)[0]),
    "lgmres": (SQUARE, lambda A, b: sla.lgmres(A, b, rtol=1e-13)[0]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_equations(name):
    A, solve = SYSTEMS[name]

    def f(x):
        return np.sum(solve(A, np.sin(x)) ** 3)

    np.testing.assert_allclose(jit(f)(X), f(X))
    np.testing.assert_allclose(grad(f)(X), differences(f, X), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(hessian(f)(X), differences(grad(f), X), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        jvp(lambda b: solve(A, b), (X,), (np.cos(X),))[1], np.linalg.solve(A.toarray(), np.cos(X)), rtol=1e-6
    )


def test_several_right_sides():
    B = RNG.normal(size=(8, 3))
    solved = jacobian(lambda B: sla.spsolve(SQUARE.tocsc(), B))(B)
    want = np.einsum("ij,kl->ikjl", np.linalg.inv(SQUARE.toarray()), np.eye(3))
    np.testing.assert_allclose(solved, want, atol=1e-12)


def test_what_does_not_fit():
    A = sp.csr_array(DENSE)
    with pytest.raises(ValueError, match=r"dimension mismatch of a sparse matrix \(6, 8\) and an array \(5,\)"):
        jit(lambda x: A @ x)(X[:5])
    with pytest.raises(TypeError, match=r"spsolve of a matrix of shape \(6, 8\)"):
        jit(lambda x: sla.spsolve(A, x))(X[:6])
    with pytest.raises(RuntimeError, match="cg has not converged"):
        jit(lambda x: sla.cg(SYMMETRIC, x, maxiter=1, rtol=1e-14)[0])(X)
    with pytest.raises(TypeError, match="preconditioner"):
        jit(lambda x: sla.cg(SYMMETRIC, x, M=sp.eye_array(8))[0])(X)
