"""SymPy's array expressions, compiled: values as NumPy has them, batches in front, derivatives to second order."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.tensor.array import expressions as A

from pullback import check, lambdify

M, N = sp.MatrixSymbol("M", 2, 3), sp.MatrixSymbol("N", 3, 2)
S = sp.MatrixSymbol("S", 3, 3)
T = A.ArraySymbol("T", (2, 3, 3))
x = sp.Symbol("x")
rng = np.random.default_rng(3)
m, n, s, t = (rng.uniform(0.2, 1.2, shape) for shape in ((2, 3), (3, 2), (3, 3), (2, 3, 3)))

CASES = {
    "outer": ([M, N], A.ArrayTensorProduct(M, N), (m, n), "ab,cd->abcd"),
    "outer of three": ([M, N, S], A.ArrayTensorProduct(M, N, S), (m, n, s), "ab,cd,ef->abcdef"),
    "contraction": ([M, N], A.ArrayContraction(A.ArrayTensorProduct(M, N), (1, 2)), (m, n), "ab,bd->ad"),
    "both": ([M, N], A.ArrayContraction(A.ArrayTensorProduct(M, N), (1, 2), (0, 3)), (m, n), "ab,ba->"),
    "three at once": ([S, N], A.ArrayContraction(A.ArrayTensorProduct(S, N), (0, 1, 2)), (s, n), "aa,ad->d"),
    "diagonal": ([M, N], A.ArrayDiagonal(A.ArrayTensorProduct(M, N), (1, 2)), (m, n), "ab,bd->adb"),
    "two diagonals": ([M], A.ArrayDiagonal(A.ArrayTensorProduct(M, M), (0, 2), (1, 3)), (m,), "ab->ab"),
    "permuted": ([T], A.PermuteDims(T, [2, 0, 1]), (t,), "abc->cab"),
    "traces": ([T], A.ArrayContraction(T, (1, 2)), (t,), "abb->a"),
}


@pytest.mark.parametrize("name", CASES)
def test_values_batches_and_derivatives(name):
    args, e, given, spelled = CASES[name]
    f = lambdify(args, e)
    wanted = np.einsum(spelled, *given)
    if name == "two diagonals":
        wanted = m * m
    np.testing.assert_allclose(f(*given), wanted, rtol=1e-14)
    batch = [np.stack([a, 2.0 * a]) for a in given]
    parts = [f(*[b[k] for b in batch]) for k in range(2)]
    np.testing.assert_allclose(f(*batch), np.stack(parts, axis=-1), rtol=1e-14)
    check(lambda *a: np.sum(np.sin(f(*a))), *given, order=2)


def test_elementwise_sums_and_reshapes():
    f = lambdify([M], A.ArrayElementwiseApplyFunc(sp.Lambda(x, sp.sin(x) ** 2), M))
    np.testing.assert_allclose(f(m), np.sin(m) ** 2, rtol=1e-14)
    g = lambdify([S], A.ArrayAdd(S, A.PermuteDims(S, [1, 0])))
    np.testing.assert_allclose(g(s), s + s.T, rtol=1e-14)
    h = lambdify([M], A.Reshape(M, (3, 2)))
    np.testing.assert_array_equal(h(m), m.reshape(3, 2))
    both = np.stack([m, -m])
    np.testing.assert_array_equal(h(both), np.moveaxis(both.reshape(2, 3, 2), 0, -1))
