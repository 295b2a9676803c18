"""Matrices of more than four rows in native code: LAPACK by address, from kernels, loops and threads, or by NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, vmap
from pullback.compiler.backend import code
from pullback.compiler.backend.libraries import blas, lapack
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.external import calls_of
from pullback.compiler.ops.linalg.lapack import getrs
from pullback.compiler.ops.linalg.solutions import slogdet, solve
from pullback.compiler.passes.pipeline import optimize

FUNCTIONS: list[Callable[..., Any]] = [
    lambda a, s, b: np.linalg.cholesky(s), lambda a, s, b: np.linalg.solve(a, b), lambda a, s, b: np.linalg.inv(a),
    lambda a, s, b: np.linalg.det(a), lambda a, s, b: np.linalg.slogdet(-a)[1],
    lambda a, s, b: np.linalg.solve(np.swapaxes(a, -1, -2), b[..., :1]), lambda a, s, b: np.linalg.slogdet(-a)[0],
]  # fmt: skip


def arrays(n: int, dtype: str = "f8", lead: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(*lead, n, n)) + 3 * np.eye(n)
    given = [a / 3, a @ np.swapaxes(a, -1, -2), rng.normal(size=(*lead, n, 3))]
    return [x.astype(dtype) for x in given]


@pytest.fixture(params=["LAPACK", "NumPy"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Either way in which the routines are there."""
    if request.param == "NumPy":
        monkeypatch.setattr(blas, "routines", dict)
    monkeypatch.setattr(lapack, "_made", [])
    code.library_symbols.cache_clear()
    yield
    code.library_symbols.cache_clear()


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
@pytest.mark.parametrize(("n", "dtype", "lead"), [(5, "f8", ()), (33, "f8", (2,)), (70, "f4", ()), (6, "f4", (2, 3))])
def test_results_are_those_of_numpy(library: None, k: int, n: int, dtype: str, lead: tuple[int, ...]) -> None:
    given, f = arrays(n, dtype, lead), FUNCTIONS[k]
    want = f(*given)
    near = float(np.max(np.abs(want))) * (1e-12 if dtype == "f8" else 1e-3)
    np.testing.assert_allclose(jit(lambda *x: f(*x))(*given), want, rtol=0, atol=near)


@pytest.mark.parametrize("k", range(len(FUNCTIONS) - 1))
def test_gradients_to_second_order(k: int) -> None:
    """Along a line, against differences of the function and of the gradient."""
    a, s, b = arrays(6)
    f = FUNCTIONS[k]

    def along(t: Any) -> Any:
        return np.sum(np.sin(f(a + t * b @ b.T, s + t * (b @ b.T), b + t)))

    first, second, h = grad(along), grad(grad(along)), 1e-5
    assert abs(first(0.1) - (along(0.1 + h) - along(0.1 - h)) / (2 * h)) < 1e-6 * (1 + abs(first(0.1)))
    assert abs(second(0.1) - (first(0.1 + h) - first(0.1 - h)) / (2 * h)) < 1e-6 * (1 + abs(second(0.1)))


def test_in_loops_and_lanes() -> None:
    a, _, b = arrays(7)

    @jit
    def steps(a: Any, x: Any) -> Any:
        for _ in range(20):
            x = np.linalg.solve(a, x)
            x = x / np.sum(x * x)
        return x

    want = b[:, 0]
    for _ in range(20):
        want = np.linalg.solve(a, want)  # type: ignore[arg-type]
        want = want / np.sum(want * want)
    np.testing.assert_allclose(steps(a, b[:, 0]), want, rtol=1e-9)
    a, _, b = arrays(7, lead=(5,))
    np.testing.assert_allclose(vmap(lambda a, b: np.linalg.solve(a, b))(a, b), np.linalg.solve(a, b), rtol=1e-12)


def test_neighbours_that_are_apart() -> None:
    a = arrays(11)[0]
    part = a[::2, ::-2]
    np.testing.assert_allclose(jit(lambda a: np.linalg.inv(a))(part.T), np.linalg.inv(part.T), rtol=1e-9)
    np.testing.assert_allclose(jit(lambda a: np.linalg.inv(a[::2, ::-2]))(a), np.linalg.inv(part), rtol=1e-9)


@pytest.mark.parametrize("f", [np.linalg.solve, np.linalg.inv, np.linalg.cholesky])
def test_what_has_no_result_is_an_error_also_in_loops(library: None, f: Any) -> None:
    bad = -np.ones((6, 6))
    further = (bad[:, :1],) if f is np.linalg.solve else ()

    @jit
    def inside(a: Any) -> Any:
        total = 0.0
        for k in range(5):
            total = total + np.sum(f(a + (4 - k) * np.eye(6) * 2.0, *further))
        return total

    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda a: f(a, *further))(bad)
    with pytest.raises(np.linalg.LinAlgError):
        inside(bad)


def test_singular_determinants() -> None:
    bad = np.ones((6, 6))
    assert jit(lambda a: np.linalg.det(a))(bad) == 0
    sign, logarithm = jit(lambda a: np.linalg.slogdet(a))(bad)
    assert sign == 0 and logarithm == -np.inf


@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.slogdet, np.linalg.det])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(f: Any, value: float) -> None:
    a = arrays(6)[0]
    a[2, 3] = value
    with np.errstate(all="ignore"):
        want, got = f(a), jit(lambda a: f(a))(a)
    for g, w in zip(np.atleast_1d(got), np.atleast_1d(want), strict=True):
        assert np.isfinite(g).all() == np.isfinite(w).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 6, 6)])
def test_empty(shape: tuple[int, ...]) -> None:
    a = np.ones(shape)
    for f in (np.linalg.inv, np.linalg.cholesky, np.linalg.det):
        got, want = jit(lambda a, f=f: f(a))(a), f(a)
        assert np.shape(got) == want.shape and np.array_equal(got, want)


def test_one_factorisation_is_shared() -> None:
    b = Builder("f", [Type("f64", (9, 9)), Type("f64", (9, 1))])
    x, y = b.params
    made = [solve(b, x, y, turned=k) for k in (0, 1)]
    graph = optimize(b.finish([*made, *slogdet(b, x)]))
    assert [op.prim.name for op in graph.body].count("getrf") == 1 and not list(calls_of(graph))


def test_swaps_of_another_type_are_refused() -> None:
    b = Builder("f", [Type("f64", (6, 6)), Type("i32", (6,)), Type("f64", (1, 6))])
    with pytest.raises(TypeError, match="i32"):
        b.emit(getrs, *b.params, turned=0)


def test_two_threads_at_once() -> None:
    a, _, b = arrays(60)
    f = jit(lambda a, b: np.linalg.solve(a, b))
    want, wrong = np.linalg.solve(a, b), []

    def work() -> None:
        wrong.extend(k for k in range(200) if not np.allclose(f(a, b), want, rtol=1e-9))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


PROGRAM = """
import numpy as np
from pullback import grad
a = np.eye(6) * 3 + np.arange(36.).reshape(6, 6) / 40
print(repr(float(np.sum(grad(lambda a: np.sum(np.linalg.inv(a)) + np.linalg.slogdet(a)[1])(a)))))
"""


def test_in_two_processes(tmp_path: Any) -> None:
    """What the disk keeps has no addresses."""
    kept = {**os.environ, "PULLBACK_CACHE_DIR": str(tmp_path)}
    run = [sys.executable, "-c", PROGRAM]
    first, second = (subprocess.run(run, env=kept, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout
