"""SciPy's sparse matrices among traced arrays: products with them, and equations that they define."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from pullback import grad, hessian, jacobian, jit, jvp, vmap

SPARSE: Any = sp
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


ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 1]), np.array([0, 2, 1, 0, 2, 2])
DATA, RIGHT = np.array([4.0, 1.0, 3.0, 1.0, 5.0, -0.5]), np.array([1.0, 2.0, 3.0])
KNOWN = sp.csc_matrix(np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 5]]))


def _of(a: Any, kind: Any = sp.coo_matrix) -> Any:
    return kind((DATA * a + a * a, (ROWS, COLUMNS)), shape=(3, 3))


def _tridiagonal(a):
    return SPARSE.diags_array([a * np.ones(4), 3 + a * np.ones(5), np.ones(4) * a**2], offsets=[-1, 0, 1], format="csc")


ENTRIES = {
    "coordinates": lambda a: np.sum((_of(a) @ RIGHT) ** 2),
    "rows": lambda a: np.sum((sp.csr_matrix((DATA[:5] * a, [0, 2, 1, 0, 2], [0, 2, 3, 5])) @ RIGHT) ** 2),
    "twice one place": lambda a: np.sum((sp.coo_matrix(([1.0, a, a], ([0, 0, 1], [1, 1, 0]))).tocsr() @ [1, 3]) ** 2),
    "dense": lambda a: np.sum((sp.csr_array(np.outer(RIGHT, RIGHT) * a) @ RIGHT) ** 2),
    "a number times": lambda a: np.sum(((a * KNOWN + KNOWN.T - 2.0 * KNOWN * a) @ RIGHT) ** 2),
    "products": lambda a: ((KNOWN * a) @ (KNOWN.T + a * sp.eye(3))).multiply(KNOWN * a).sum(axis=0).sum(),
    "arrays": lambda a: np.sum((_of(a, sp.csr_array) * sp.csr_array(KNOWN)).toarray() ** 2),
    "from the left": lambda a: np.sum((RIGHT @ (sp.csr_array(KNOWN) * a)) ** 2),
    "parts": lambda a: _of(a).trace() + _of(a).diagonal(2)[0] ** 2 + _of(a).tocsr().mean(),
    "sums": lambda a: (KNOWN / a).sum(axis=1)[0, 0] + _of(a, sp.csr_array).sum(axis=0)[2] ** 2,
    "put together": lambda a: np.sum(sp.bmat([[_of(a), None], [KNOWN, KNOWN * a]]).toarray()[4] ** 2),
    "beside": lambda a: sp.hstack([KNOWN * a, KNOWN]).sum() + sp.vstack([KNOWN, KNOWN * a * a]).toarray()[4, 0],
    "kron": lambda a: np.sum((sp.kron(KNOWN, _of(a)) @ np.arange(9.0)) ** 2) + sp.block_diag([KNOWN, _of(a)]).sum(),
    "element by element": lambda a: np.sum(KNOWN.multiply(RIGHT * a).toarray() ** 2) + (KNOWN * a + RIGHT * a)[1, 1],
    "spread diagonals": lambda a: np.sum((SPARSE.diags([-1.0, a, -a], [-1, 0, 1], shape=(5, 5)) @ np.arange(5.0)) ** 2),
    "spsolve": lambda a: np.sum(sla.spsolve(_of(a).tocsc(), RIGHT * a) ** 2),
    "bands": lambda a: np.sum(sla.spsolve(_tridiagonal(a), np.arange(5.0)) ** 2),
    "columns": lambda a: np.sum(sla.spsolve((KNOWN * a + sp.eye(3)).tocsc(), np.eye(3)[:, :2] * a) ** 2),
    "shifted": lambda a: np.sum(sla.spsolve(KNOWN + a * sp.eye(3, format="csc"), RIGHT) ** 2),
    "splu": lambda a: np.sum(sla.splu(_of(a).tocsc()).solve(RIGHT, "T") ** 2),
    "factorized": lambda a: np.sum(sla.factorized(_of(a).tocsc())(RIGHT * a) ** 2),
    "known factors": lambda a: np.sum(sla.splu(KNOWN).solve(RIGHT * a**2) * sla.splu(KNOWN).solve(RIGHT)),
    "a known solver": lambda a: np.sum(sla.factorized(KNOWN)(RIGHT * a**2) ** 2) * sla.splu(KNOWN).L.nnz,
    "cg": lambda a: np.sum(sla.cg(sp.csr_matrix(KNOWN * a + sp.eye(3)), RIGHT, rtol=1e-14)[0] ** 2),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_traced_entries(name):
    f, a, h = ENTRIES[name], 0.8, 1e-4
    assert jit(f)(a) == pytest.approx(f(a), rel=1e-11)
    slope = grad(f)
    assert slope(a) == pytest.approx((f(a + h) - f(a - h)) / (2 * h), rel=1e-5)
    assert grad(slope)(a) == pytest.approx((slope(a + h) - slope(a - h)) / (2 * h), rel=1e-5)


def test_what_matrices_of_traced_entries_refuse():
    with pytest.raises(ValueError, match=r"2 entries at 3 rows, 3 columns"):
        jit(lambda d: sp.csr_matrix((d, ([0, 1, 2], [0, 1, 2]))) @ RIGHT)(X[:2])
    with pytest.raises(TypeError, match=r"which is a np.matrix"):
        jit(lambda a: (KNOWN * a).todense())(2.0)
    with pytest.raises(ValueError, match="inconsistent shapes"):
        jit(lambda a: KNOWN * a + sp.eye(4))(2.0)
    with pytest.raises(TypeError, match=r"L of splu\(\) of a matrix with traced entries"):
        jit(lambda a: sla.splu((KNOWN * a).tocsc()).L.sum())(2.0)
    with pytest.raises(TypeError, match=r"call scipy.sparse.linalg.splu in the function"):
        jit(lambda b: FACTORS.solve(b))(RIGHT)


FACTORS = sla.splu(KNOWN)
