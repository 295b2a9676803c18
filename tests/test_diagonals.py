"""Entries of Jacobians and Hessians along their diagonals: found, right to second order, and refused where many."""

from __future__ import annotations

import numpy as np
import pytest

from pullback import hessian, jacobian, jit
from pullback.compiler.frontend.trace import trace
from pullback.compiler.frontend.tree import flatten
from pullback.compiler.ir.graph import Builder, evaluate
from pullback.compiler.passes.sparsity import Irregular, diagonals

N = 12
U = np.random.default_rng(0).uniform(0.2, 0.9, N)


def residual(u):
    change = np.concatenate([np.zeros(1), u[2:] - 2 * u[1:-1] + u[:-2], np.zeros(1)])
    return change + 0.1 * u * (1 - u) * (u - 0.3)


def written(u):
    y = np.zeros(N)
    y[1:-1] = u[2:] * u[:-2] - 2 * u[1:-1]
    y[0] = u[0]
    y[-1] = u[-1] ** 2
    return y


def overwritten(u):
    y = u * u
    y[3:7] = np.sin(u[:4])
    y[::4] += u[1::4]
    return y


def grid(u):
    v = u.reshape(3, 4)
    w = np.pad(v, 1)
    return (w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] ** 2 + w[1:-1, :-2] - 4 * v * v).ravel()


FEW = {
    "residual": residual,
    "written": written,
    "overwritten": overwritten,
    "grid": grid,
    "rolled": lambda u: np.roll(u, 1) - 2 * u + np.roll(u, -1) ** 2,
    "strided": lambda u: np.sin(u[::2] * u[1::2]) + u[::-2],
    "backwards": lambda u: u[::-1] * u,
    "bands": lambda u: np.exp(u[4:] * u[:-4]) / (1 + u[2:-2]) + u[1:-3] ** 1.5,
    "ratio": lambda u: (u[1:] - u[:-1]) / (1 + u[1:] ** 2) * np.exp(u[1:] + u[:-1]),
    "pairs": lambda u: np.sum(u.reshape(6, 2) ** 2, axis=1) * u[:6],
    "columns": lambda u: u.reshape(3, 4).T[1] + np.sum(u.reshape(4, 3) * 2.0, axis=1)[:3],
    "repeated": lambda u: np.sum(np.broadcast_to(u, (5, N)), axis=0) * u,
    "sums": lambda u: np.stack([np.sum(u * u), np.sum(u[3:] * u[:-3])]),
    "places": lambda u: np.stack([u[0] * u[1], np.sin(u[2]), u[3] + u[4]]),
    "choice": lambda u: 2 * np.where(u[1:] > 0.5, u[:-1], np.sin(u[1:])) + np.maximum(u[1:], 0.4),
    "twice": lambda u: np.diff(np.diff(u) ** 2) + np.gradient(u)[:-2],
    "single": lambda u: (u[1:].astype(np.float32) * 2).astype(np.float64) - u[:-1],
}
MANY = {
    "product": lambda u: (u.reshape(3, 4) @ np.ones((4, 2)) * u[:6].reshape(3, 2)).ravel(),
    "turned": lambda u: u.reshape(3, 4).T.ravel() ** 2,
    "hidden": lambda u: np.sqrt(np.where(u > 0.5, u - 0.5, 0)) * u,
}


def graph_of(f):
    signature = ("tuple", (flatten(U, []), ("dict", (), ())))
    made = trace(f, signature, ["u"], "f", None)
    return made.graph, [U, *[np.asarray(each) for each in made.extras]]


def numerical(f, x, h=1e-6):
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], -1)


@pytest.mark.parametrize("name", FEW)
def test_they_are_the_jacobian(name):
    graph, given = graph_of(FEW[name])
    b = Builder("entries", [p.type for p in graph.params])
    (found,) = diagonals(b, graph, b.params, [0])
    values = iter(evaluate(b.finish([d.entries for d in found if d.entries is not None]), given))
    made = np.zeros((graph.results[0].type.static_size(), N))
    for d in found:
        rows, columns = d.places(graph.results[0].type.static_shape())
        entries = np.ones(len(rows)) if d.entries is None else next(values).ravel()
        inside = (columns >= 0) & (columns < N)
        assert not entries[~inside].any()
        np.add.at(made, (rows[inside], columns[inside]), entries[inside])
    loose = 2e-2 if name == "single" else 1e-8
    np.testing.assert_allclose(made, numerical(lambda u: FEW[name](u), U), rtol=loose, atol=loose)


@pytest.mark.parametrize("name", MANY)
def test_others_are_refused(name):
    graph, _ = graph_of(MANY[name])
    b = Builder("entries", [p.type for p in graph.params])
    with pytest.raises(Irregular):
        diagonals(b, graph, b.params, [0])


@pytest.mark.parametrize("name", [*FEW, *MANY])
def test_sparse_jacobians_and_hessians_are_dense_ones(name):
    f = (FEW | MANY)[name]
    sparse = jacobian(f, sparse=True)
    np.testing.assert_allclose(sparse(U).toarray(), jacobian(f)(U), rtol=1e-12, atol=1e-14)
    other = np.linspace(0.95, 0.15, N)
    np.testing.assert_allclose(sparse(other).toarray(), jacobian(f)(other), rtol=1e-12, atol=1e-14)

    def scalar(u):
        return np.sum(f(u) ** 2)

    if name not in ("single", "hidden"):
        got = hessian(scalar, sparse=True)(U).toarray()
        np.testing.assert_allclose(got, hessian(scalar)(U), rtol=1e-10, atol=1e-12)


def test_a_mask_hides_what_is_not_finite_as_in_a_pullback():
    f = lambda u: np.sqrt(np.where(u > 0, u, 0)) * u + 3.0 * np.where(u > 0, u, np.abs(u))  # noqa: E731
    u = np.array([0.5, 0.0, -1.0, 2.0])
    np.testing.assert_allclose(jacobian(f, sparse=True)(u).toarray(), jacobian(f)(u), rtol=1e-14)


def test_values_are_the_entries_in_their_order_and_a_call_of_another_size_is_planned_anew():
    f = jacobian(residual, sparse=True)
    for n in (5, 40, 3, 1000):
        u = np.linspace(0.1, 0.8, n)
        matrix = f(u)
        assert matrix.indices.dtype == np.int32
        np.testing.assert_array_equal(f.values(u), matrix.data)
        np.testing.assert_allclose(matrix.toarray(), jacobian(residual)(u), atol=1e-14)
    assert f.products(np.ones(40)) == 3


def test_an_entry_is_computed_once():
    """Of three products with groups of columns, each would take the three factors of the reaction again."""
    f = jacobian(residual, sparse=True)
    u = np.linspace(0.1, 0.8, 100)
    f(u)
    text = f._latest.run.ir("loops")
    assert text.count("0.3") == 1 and "scratch" not in text


def test_tangents_of_a_dict_go_into_one_matrix():
    f = lambda p: {"a": p["x"][1:] * p["y"], "b": p["y"][::2]}  # noqa: E731
    p = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([4.0, 5.0])}
    made = jacobian(f, sparse=True)(p)
    assert np.array_equal(made["a"]["x"].toarray(), [[0, 4, 0], [0, 0, 5]])
    assert np.array_equal(made["a"]["y"].toarray(), [[2, 0], [0, 3]])
    assert np.array_equal(made["b"]["y"].toarray(), [[1, 0]])
    assert made["b"]["x"].nnz == 0


def test_they_are_what_jit_would_make_of_the_formula():
    u = np.linspace(0.1, 0.8, 50)
    middle = jit(lambda u: 0.1 * ((1 - u) * (u - 0.3) - u * (u - 0.3) + u * (1 - u)))(u)
    matrix = jacobian(residual, sparse=True)(u)
    np.testing.assert_allclose(matrix.diagonal()[1:-1], middle[1:-1] - 2, rtol=1e-14)


@pytest.mark.parametrize("n", [200, 4000])
def test_first_and_last_rows_are_made_apart_where_there_are_many(n):
    """Columns that differ at their ends, put side by side: one loop whose lanes are rows, without a question."""

    def columns(u):
        left, right = np.concatenate([np.zeros(1), u[:-1] * 2]), np.concatenate([np.sin(u[1:]), u[:1]])
        return np.stack([left, u * u, right], axis=1)

    f, u = jit(columns), np.random.default_rng(1).normal(size=n)
    np.testing.assert_allclose(f(u), columns(u), rtol=1e-15)
    sums = jit(lambda u: np.sum(np.cos(columns(u)), axis=1))
    np.testing.assert_allclose(sums(u), np.cos(columns(u)).sum(1), rtol=1e-14, atol=1e-14)
    text = f.ir("loops")
    assert ("for i in 3998 by" in text) == (n == 4000)
    if n == 4000:
        most = text.split("for i in ")[1]
        assert " in 0..1 " not in most.split("for j in ")[0]


@pytest.mark.parametrize("name", [*FEW, *MANY])
def test_matrices_by_columns_are_those_by_rows(name):
    f = (FEW | MANY)[name]
    made, wanted = jacobian(f, sparse="csc")(U), jacobian(f, sparse="csr")(U)
    assert made.format == "csc" and wanted.format == "csr" and made.indices.dtype == np.int32
    np.testing.assert_array_equal(made.toarray(), wanted.toarray())
    np.testing.assert_array_equal(made.indices, wanted.tocsc().indices)
    assert made.has_sorted_indices and made.has_canonical_format


def test_by_columns_in_containers_and_for_hessians():
    f = lambda p: {"a": p["x"][1:] * p["y"], "b": p["y"][::2] ** 2}  # noqa: E731
    p = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([4.0, 5.0])}
    made, wanted = jacobian(f, sparse="csc")(p), jacobian(f, sparse=True)(p)
    for r in ("a", "b"):
        for c in ("x", "y"):
            assert made[r][c].format == "csc"
            np.testing.assert_array_equal(made[r][c].toarray(), wanted[r][c].toarray())
    chain = lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)  # noqa: E731
    second = hessian(chain, sparse="csc")
    np.testing.assert_allclose(second(U).toarray(), hessian(chain)(U), atol=1e-12)
    np.testing.assert_array_equal(second.values(U), second(U).data)
    with pytest.raises(ValueError, match=r"jacobian: sparse is True, 'csr' or 'csc', got 'coo'"):
        jacobian(f, sparse="coo")
    with pytest.raises(TypeError, match="sparse is True, 'csr' or 'csc', got a csc_array; where entries may be is"):
        jacobian(f, sparse=second(U))
