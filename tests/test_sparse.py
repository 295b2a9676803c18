"""Sparse Jacobians and Hessians against dense ones: programs with structure, patterns, groups, errors."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special

import pullback as pb
from pullback.compiler.settings import settings
from pullback.runtime.compiled.sparsity import Pattern
from pullback.runtime.derivatives.coloring import colour_columns, colour_symmetric
from pullback.runtime.derivatives.grouping import Products, fewest, symmetric

N = 24
X = np.linspace(0.2, 1.3, N)
PLACES = np.array([3, 1, 4, 1, 5, 9, 2, 6])


def stencil(x):
    y = np.zeros_like(x)
    y[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2]
    return y + x * (1 - x)


def stores(x):
    y = np.zeros(N)
    for i in range(1, N - 1):
        y[i] = x[i - 1] * x[i] + np.sin(x[i + 1])
    return y


def recurrence(x):
    s, y = 0.0, np.zeros(N)
    for i in range(N):
        s = 0.5 * s + x[i] ** 2
        y[i] = s
    return y


def rounds(x):
    k = 0
    while k < 3:
        x = x * x
        k += 1
    return x


def until(x):
    while np.sum(x) < 100.0:
        x = x * 1.5
    return x


def decided(x):
    if np.sum(x) > 0.0:
        return x[::2] * x[1::2]
    return x[::2] ** 2


def chosen_row(x):
    k = np.argmax(x)
    return x.reshape(6, 4)[k // 4] * x[0]


VECTORS: dict[str, Callable[[Any], Any]] = {
    "stencil": stencil, "stores": stores, "recurrence": recurrence, "rounds": rounds, "until": until,
    "decided": decided, "chosen row": chosen_row,
    "take": lambda x: x[PLACES] * x[PLACES[::-1]],
    "roll": lambda x: x * np.roll(x, 1) + np.roll(x, -1) ** 2,
    "matrix": lambda x: (x.reshape(4, 6) @ np.ones((6, 5))).ravel(),
    "pairs": lambda x: np.einsum("ij,ij->i", x.reshape(4, 6), x.reshape(4, 6)),
    "products of matrices": lambda x: (x[:8].reshape(2, 4) @ x[8:16].reshape(4, 2)).ravel(),
    "where": lambda x: np.where(x > 0.5, x**2, np.roll(x, 2)),
    "mask": lambda x: np.where(np.arange(N) % 3 == 0, x, x[::-1]),
    "convolution": lambda x: np.convolve(x, np.array([1.0, 2.0, 3.0]), "same") * x,
    "concatenate": lambda x: np.concatenate([x[:3], x[10:12] * x[0], np.stack([x[1], x[2]])]),
    "sort": lambda x: np.sort(x[:4]),
    "special": lambda x: scipy.special.gammaln(x) * x[::-1],
    "maxima": lambda x: np.max(x.reshape(4, 6), axis=1),
    "solve": lambda x: np.linalg.solve(np.eye(3) * 2 + np.outer(x[:3], x[:3]), x[3:6]),
    "pad": lambda x: np.pad(x, 2, mode="wrap"),
    "hub": lambda x: x * x[0],
    "arrow": lambda x: np.concatenate([np.reshape(np.sum(x**2), (1,)), x[1:] * x[0]]),
    "one row": lambda x: np.reshape(np.sum(x**2), (1,)),
    "nothing": lambda x: np.ones(3),
    "floor": lambda x: np.floor(x) + x[0],
    "two axes": lambda x: np.gradient(x.reshape(4, 6) ** 2, axis=0),
    "steps": lambda x: pb.scan(lambda c, e: (c + e * np.roll(x, 1), None), x, np.arange(3.0))[0],
    "lanes": lambda x: pb.vmap(lambda r: np.sin(r) * r[0])(x.reshape(6, 4)),
    "number": lambda x: x[3] * x[4],
    "cumulative": lambda x: np.cumsum(x.reshape(6, 4), axis=1),
    "checkpoint": lambda x: pb.checkpoint(stencil)(x),
}

SCALARS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda x: np.sum(x[1:] * x[:-1]) + np.sum(np.sin(x)),
    "arrow": lambda x: np.sum(x[1:] ** 2 * x[0]) + np.exp(x[0]),
    "arrow, last": lambda x: np.sum(x[:-1] ** 2 * x[-1]) + np.exp(x[-1]),
    "rosenbrock": lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "stores": lambda x: np.sum(stores(x) ** 2),
    "recurrence": lambda x: np.sum(recurrence(x)),
    "until": lambda x: np.sum(until(x) ** 2),
    "pairs": lambda x: np.sum(np.logaddexp(x[::2], x[1::2])),
    "grid": lambda x: np.sum(x.reshape(4, 6)[1:] * x.reshape(4, 6)[:-1]) + np.sum(np.cos(x)),
    "linear": lambda x: np.sum(x),
    "dense": lambda x: np.sum(x) ** 2,
    "gather": lambda x: np.sum(x[PLACES] ** 3 * x[0]),
    "blocks": lambda x: np.sum(np.linalg.det(x.reshape(6, 2, 2))) if len(x) == 24 else 0.0,
}


def check_pattern(pattern: Pattern, dense: np.ndarray) -> None:
    """Every entry that is not zero is in the pattern."""
    assert pattern.shape == dense.shape
    assert not np.any((dense != 0) & ~pattern.matrix.toarray())


@pytest.mark.parametrize("name", VECTORS)
def test_jacobians_are_the_dense_ones(name: str) -> None:
    f = VECTORS[name]
    sparse = pb.jacobian(f, sparse=True)
    for x in (X, X[::-1].copy(), np.cos(np.arange(24.0)) + 1.2):
        dense = pb.jacrev(f)(x).reshape(-1, N)
        made = sparse(x)
        assert isinstance(made, sp.csr_array) and made.has_sorted_indices
        np.testing.assert_allclose(made.toarray(), dense, rtol=1e-13, atol=1e-13)
        check_pattern(sparse.sparsity(x), dense)
        assert np.array_equal(sparse.values(x), made.data) and made.nnz == sparse.sparsity(x).nnz


@pytest.mark.parametrize("name", SCALARS)
def test_hessians_are_the_dense_ones(name: str) -> None:
    f = SCALARS[name]
    sparse = pb.hessian(f, sparse=True)
    for x in (X, X[::-1].copy()):
        dense = pb.hessian(f)(x)
        np.testing.assert_allclose(sparse(x).toarray(), dense, rtol=1e-12, atol=1e-12)
        check_pattern(sparse.sparsity(x), dense)


def random_program(rng: np.random.Generator) -> tuple[str, Callable[[Any], Any]]:
    """A composition of slices, gathers, loops, matrices and reductions, and how it is written."""
    steps: list[tuple[str, Callable[[Any], Any]]] = []
    for _ in range(rng.integers(2, 5)):
        k, places = int(rng.integers(1, 5)), rng.integers(0, 12, 12)
        a = rng.normal(size=(3, 3)) * (rng.random((3, 3)) < 0.5)
        steps.append([
            (f"roll {k}", lambda x, k=k: x + np.sin(np.roll(x, k))),
            (f"take {places}", lambda x, p=places: x[p] * x),
            ("matrix", lambda x, a=a: (x.reshape(4, 3) @ a).ravel() + x),
            (f"slices {k}", lambda x, k=k: np.concatenate([x[:k] ** 2, x[k:]])),
            ("where", lambda x: np.where(x > 0.4, x * x, x[::-1])),
            ("row sums", lambda x: (x.reshape(3, 4) * np.sum(x.reshape(3, 4), axis=1, keepdims=True)).ravel()),
            (f"hub {k}", lambda x, k=k: x * x[k]),
            ("loop", walked),
            ("maxima", lambda x: np.maximum(x, np.roll(x, 1))),
            ("transpose", lambda x: x.reshape(3, 4).T.ravel()),
            ("scatter", lambda x: np.bincount(np.arange(12) % 5, weights=x, minlength=12) + x),
            ("reverse", lambda x: np.flip(x) * 0.5),
        ][rng.integers(12)])  # fmt: skip

    def program(x: Any) -> Any:
        for _, step in steps:
            x = step(x)
        return x

    return ", ".join(name for name, _ in steps), program


def walked(x: Any) -> Any:
    y = np.zeros(12)
    for i in range(11):
        y[i] = x[i] * x[i + 1] + 0.5 * y[i - 1]
    return y


@pytest.mark.parametrize("seed", range(20))
def test_two_hundred_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        name, f = random_program(rng)
        x = rng.uniform(0.1, 1.2, 12)
        with settings.override(reference=True):  # called once
            dense = pb.jacrev(f)(x)
        sparse = pb.jacobian(f, sparse=True)
        np.testing.assert_allclose(sparse(x).toarray(), dense, rtol=1e-11, atol=1e-11, err_msg=name)
        check_pattern(sparse.sparsity(x), dense)


# ---- patterns and groups


def band(n: int) -> Any:
    made: Any = sp
    ones = [np.ones(n - 1), np.ones(n), np.ones(n - 1)]
    return made.csr_array(made.diags_array(ones, offsets=[-1, 0, 1])).astype(bool)


def arrow(n: int, at: int) -> sp.csr_array:
    k = np.arange(n)
    made = sp.csr_array((np.ones(3 * n, bool), (np.r_[k, np.full(n, at), k], np.r_[k, k, np.full(n, at)])), (n, n))
    made.sum_duplicates()
    made.sort_indices()
    return made


def recovered(pattern: Any, products: Products, rng: np.random.Generator) -> None:
    """A random matrix of this pattern comes back from its products."""
    values = rng.normal(size=pattern.nnz)
    matrix = sp.csr_array((values, pattern.indices, pattern.indptr), pattern.shape)
    columns = [matrix @ (products.columns == c) for c in range(products.counts[0])]
    rows = [(products.rows == r) @ matrix for r in range(products.counts[1])]
    flat = np.concatenate([np.zeros(0), *columns, *rows])
    np.testing.assert_allclose(flat[products.at], values)


def test_groups_recover_every_entry() -> None:
    rng = np.random.default_rng(3)
    assert sum(fewest(band(1000)).counts) == 3 and sum(symmetric(band(1000)).counts) == 3
    for at in (0, 17, 99):
        assert sum(symmetric(arrow(100, at)).counts) == 2
        assert sum(fewest(arrow(100, at)).counts) <= 4
    for _ in range(60):
        m, n = rng.integers(1, 30, 2)
        pattern = sp.csr_array(rng.random((m, n)) < rng.choice([0.02, 0.1, 0.4]))
        if rng.random() < 0.5 and m > 3 and n > 3:  # a dense row and a dense column
            full = pattern.toarray()
            full[rng.integers(m)] = full[:, rng.integers(n)] = True
            pattern = sp.csr_array(full)
        pattern.sort_indices()
        recovered(pattern, fewest(pattern), rng)
        square = sp.csr_array(sp.random_array((n, n), density=0.15, rng=rng) != 0)
        square = sp.csr_array(square + square.T)
        square.sort_indices()
        symmetrical = symmetric(square)
        half = rng.normal(size=(n, n))
        matrix = sp.csr_array(square.astype(float).multiply(half + half.T))
        matrix.sort_indices()
        made = [matrix @ (symmetrical.columns == c) for c in range(symmetrical.counts[0])]
        flat = np.concatenate([np.zeros(0), *made])
        np.testing.assert_allclose(flat[symmetrical.at], matrix.data)


def test_no_two_columns_of_a_group_meet() -> None:
    pattern = sp.csr_array(np.random.default_rng(1).random((40, 30)) < 0.1)
    groups = colour_columns(pattern)
    for c in range(groups.count):
        assert pattern.toarray()[:, groups.of == c].sum(1).max() <= 1
    assert colour_symmetric(band(50)).count == 3


def test_a_picture() -> None:
    seen = pb.jacobian(lambda x: x[1:] * x[:-1], sparse=True).sparsity(np.ones(5))
    assert str(seen) == "4 x 5, 8 entries\n██\n ██\n  ██\n   ██"
    assert repr(seen) == "<pattern of 4 x 5, 8 entries>"
    large = str(pb.jit(lambda x: x[1:] * x[:-1]).sparsity(np.ones(1000))).splitlines()
    assert len(large) == 37 and max(map(len, large)) <= 72
    assert str(pb.grad(SCALARS["arrow"]).sparsity(np.ones(6))).splitlines()[1] == "██████"
    assert pb.jit(lambda x: x[:0]).sparsity(np.ones(3)).shape == (0, 3)


# ---- what goes in and out


@dataclasses.dataclass
class State:
    u: Any
    v: Any


def test_blocks_in_containers() -> None:
    def f(s: State, k: float) -> Any:
        return {"a": s.u[1:] * s.u[:-1] * k, "b": (s.v**2, np.sum(s.u))}

    s = State(np.arange(1.0, 4.0), np.arange(2.0))
    made, dense = pb.jacobian(f, sparse=True)(s, 2.0), pb.jacrev(f)(s, 2.0)
    assert type(made["a"]) is State
    for a, b in zip(pb.tree_flatten(made)[0], pb.tree_flatten(dense)[0], strict=True):
        assert np.array_equal(a.toarray(), b.reshape(a.shape))
    both = pb.jacobian(lambda x, u: x[1:] * u, argnums=(0, "u"), sparse=True)(np.ones(3), np.ones(2))
    assert [each.shape for each in both] == [(2, 3), (2, 2)]
    h = pb.hessian(lambda p: np.sum(p["w"] ** 2 * p["b"]), sparse=True)({"w": np.ones(3), "b": 2.0})
    assert h["w"]["b"].toarray().ravel().tolist() == [2.0] * 3 and h["b"]["b"].nnz in (0, 1)


def test_aux_statics_and_keywords() -> None:
    made, aux = pb.jacobian(lambda x: (x[1:] * x[0], {"seen": 3.0}), has_aux=True, sparse=True)(X)
    assert aux == {"seen": 3.0} and made.shape == (N - 1, N)
    assert len(pb.jacobian(lambda x: (x, 1), has_aux=True, sparse=True).values(X)) == N
    power = pb.jacobian(lambda x, n: x**n, sparse=True, static_argnums=1)
    assert power(X, 2).diagonal()[0] == 2 * X[0] and power(X, 3).diagonal()[0] == 3 * X[0] ** 2
    named = pb.jacobian(lambda x, *, k: k * x, sparse=True)
    assert named(X, k=2.0).diagonal().tolist() == [2.0] * N
    single = pb.jacobian(lambda x: x * x, sparse=True)(X.astype(np.float32))
    assert single.dtype == np.float32


def test_other_sizes_and_whole_numbers_are_other_patterns() -> None:
    f = pb.jacobian(lambda x, at: x[at] * x[0], sparse=True)
    for at in (np.array([1, 2]), np.array([3, 0]), np.array([1, 2])):
        np.testing.assert_array_equal(f(X, at).toarray(), pb.jacrev(lambda x, at=at: x[at] * x[0])(X))
    g = pb.jacobian(stencil, sparse=True)
    for n in (5, 9, 5, 40):
        x = np.linspace(0.0, 1.0, n)
        np.testing.assert_allclose(g(x).toarray(), pb.jacrev(stencil)(x), atol=1e-14)


SHIFT = 1
OFFSETS = np.array([1, 2])


def test_what_a_function_reads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    f = pb.jacobian(lambda x: x * np.roll(x, SHIFT), sparse=True)
    g = pb.jacobian(lambda x: x[OFFSETS], sparse=True)
    assert f(X)[0, N - 1] != 0 and g(X).indices.tolist() == [1, 2]
    monkeypatch.setitem(globals(), "SHIFT", 2)
    assert f(X)[0, N - 2] != 0 and f(X)[0, N - 1] == 0
    OFFSETS[0] = 5
    assert g(X).indices.tolist() == [5, 2]
    OFFSETS[0] = 1


def test_matrices_share_their_pattern_and_nothing_else() -> None:
    f = pb.jacobian(stencil, sparse=True)
    a, b = f(X), f(X + 1.0)
    assert a.indices is b.indices and a.indptr is b.indptr and not np.shares_memory(a.data, b.data)
    assert (a @ np.ones(N)).shape == (N,) and abs(a - b).sum() > 0 and a.T.shape == (N, N)


def test_given_patterns() -> None:
    full = pb.jacobian(stencil, pattern=np.ones((N, N), bool))
    np.testing.assert_allclose(full(X).toarray(), pb.jacrev(stencil)(X), atol=1e-13)
    assert full.products(X) == N
    f = pb.jacobian(stencil, pattern=band(N))
    assert f.products(X) == 3
    with pytest.raises(ValueError, match="jacobian of stencil: the pattern misses an entry in row"):
        pb.jacobian(stencil, pattern=np.eye(N))(X)
    with pytest.raises(ValueError, match=r"the pattern has shape \(3, 3\), expected \(24, 24\)"):
        pb.jacobian(stencil, pattern=np.eye(3))(X)
    with pytest.raises(ValueError, match="the pattern is not symmetric"):
        pb.hessian(SCALARS["chain"], pattern=np.triu(np.ones((N, N))))(X)
    with pytest.raises(ValueError, match="hessian of <lambda>: the pattern misses an entry"):
        pb.hessian(SCALARS["chain"], pattern=np.eye(N))(X)
    found = pb.hessian(SCALARS["chain"], sparse=True).sparsity(X)
    assert pb.hessian(SCALARS["chain"], pattern=found)(X).nnz == found.nnz


def test_errors() -> None:
    wrong: Any = pb
    with pytest.raises(TypeError, match="needs floats; it returned an array of int64"):
        pb.jacobian(lambda x: np.argsort(x), sparse=True)(X)
    with pytest.raises(TypeError, match="in a function that is traced: there are no SciPy matrices there"):
        pb.jit(lambda x: pb.jacobian(stencil, sparse=True)(x))(X)
    with pytest.raises(TypeError, match="argument x is an array of int64"):
        pb.hessian(lambda x: np.sum(x), sparse=True)(np.arange(3))
    with pytest.raises(TypeError, match="jacobian takes a function, got int: 3"):
        wrong.jacobian(3, sparse=True)


class Model:
    """Transforms as methods: their arguments count from the one after self."""

    def __init__(self) -> None:
        self.scale = 2.0

    def residual(self, x):
        return self.scale * x[1:] * x[:-1]

    banded = pb.jacobian(residual, sparse=True)
    dense = pb.jacobian(residual)


def test_methods() -> None:
    model = Model()
    np.testing.assert_allclose(model.banded(X).toarray(), model.dense(X))
    model.scale = 3.0
    np.testing.assert_allclose(model.banded(X).toarray(), 1.5 * pb.jacobian(Model().residual)(X))


def scaled(x):
    return x[1:] * x[:-1]


def test_pickles() -> None:
    f = pickle.loads(pickle.dumps(pb.jacobian(scaled, sparse=True)))
    assert f(X).shape == (N - 1, N)


def test_a_million_rows() -> None:
    x = np.linspace(0.0, 1.0, 1_000_000)
    f = pb.jacobian(stencil, sparse=True)
    made = f(x)
    assert f.products(x) == 3 and made.shape == (1_000_000, 1_000_000)
    np.testing.assert_allclose(made @ np.ones(1_000_000), pb.jvp(stencil, (x,), (np.ones(1_000_000),))[1], atol=1e-12)
