"""Loops over many lanes in blocks: the same numbers, and only where lanes never meet but in sums."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import jit, set_num_threads
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes import value_and_grad
from pullback.compiler.passes.loops.blocks import blocks
from pullback.compiler.passes.pipeline import optimize

module: Any = importlib.import_module("pullback.compiler.passes.loops.blocks")
DAYS, PATHS = 60, 256
RNG = np.random.default_rng(5)
Z, W = RNG.normal(size=(DAYS, PATHS)), RNG.normal(size=(DAYS, PATHS))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE", 1 << 14)
    monkeypatch.setattr(module, "LEAST", 4)


def joint(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Graph, list[np.ndarray]]:
    """The gradient of a function in all floats, before it is cut into blocks."""
    made: Any = jit(function)
    signature, leaves = made.flatten(args, {})
    traced = made._trace(signature)
    graph = traced.graph
    floats = [k for k, p in enumerate(graph.params) if p.type.is_float]
    given = [np.ascontiguousarray(a).reshape(np.shape(a)) for a in (*leaves, *traced.extras)]
    before, module.CACHE = module.CACHE, 1 << 40
    graph = optimize(value_and_grad(graph, floats))
    module.CACHE = before
    return graph, given


def cut(function: Callable[..., Any], *args: Any) -> Graph:
    """The gradient in blocks, which must give what the whole one does."""
    graph, given = joint(function, args)
    made = verify(blocks(graph))
    for want, got in zip(evaluate(graph, given), evaluate(made, given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    for want, got in zip(evaluate(made, given), compile_graph(made).run(given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)
    return made


def is_cut(graph: Graph) -> bool:
    return any(op.regions and op.regions[0].name == "block" for op in graph.body)


def paths(v0, kappa, xi, z, w):
    s, v = np.zeros(PATHS), np.full(PATHS, v0)
    for t in range(DAYS):
        root = np.sqrt(np.maximum(v, 1e-8))
        s = s + root * z[t] * 0.1 - 0.005 * v
        v = v + kappa * (0.04 - v) * 0.01 + xi * root * w[t] * 0.1
    return np.mean(np.maximum(np.exp(s) - 1.0, 0.0))


def test_paths() -> None:
    made = cut(paths, 0.04, 1.5, 0.3, Z, W)
    assert is_cut(made)
    (block,) = [op for op in made.body if op.regions]
    assert not any(n == PATHS for op in block.regions[0].body for r in op.results for n in r.type.shape[:1])


def test_lanes_along_a_second_axis() -> None:
    def rows(x, a):
        for t in range(DAYS):
            x = np.sin(x * a[:, None]) + 0.1 * t
        return np.sum(x * x)

    assert is_cut(cut(rows, RNG.normal(size=(3, PATHS)), np.array([0.5, 1.0, 1.5])))


def test_results_that_keep_their_lanes() -> None:
    def ends(x):
        for _ in range(DAYS):
            x = np.sin(x) + x * x * 0.01
        return np.sum(x**2) / 2

    made = cut(ends, RNG.normal(size=PATHS))
    assert is_cut(made)
    assert [r.type.shape for r in made.results] == [(), (PATHS,)]


def test_a_mask_of_the_user() -> None:
    def kept(x, a):
        for _ in range(DAYS):
            x = np.sin(x) * a + x
        return np.sum(np.where(x > 0.5, x, 0.0))

    assert is_cut(cut(kept, RNG.normal(size=PATHS), 0.7))


def test_lanes_that_meet() -> None:
    """Neighbours, means used in the loop, and maxima: one loop over all lanes."""

    def stencil(x):
        for _ in range(DAYS):
            x = np.sin(x + 0.1 * np.concatenate([x[1:], x[:1]]))
        return np.sum(x * x)

    def mean_field(x):
        for _ in range(DAYS):
            x = np.sin(x) + 0.1 * np.mean(x)
        return np.sum(x * x)

    def scaled(x):
        for _ in range(DAYS):
            x = np.sin(x) / np.max(np.abs(x))
        return np.sum(x * x)

    def counted(x, n):
        for _ in range(DAYS):
            x = np.sin(x) * n
            n = n + np.sum(x) * 1e-3
        return np.sum(x * x)

    for function, args in ((stencil, ()), (mean_field, ()), (scaled, ()), (counted, (1.0,))):
        assert not is_cut(cut(function, RNG.normal(size=PATHS), *args)), function.__name__


def test_a_sum_that_the_second_loop_needs() -> None:
    def twice(x):
        for _ in range(DAYS):
            x = np.sin(x * 1.1)
        x = x - np.mean(x)
        for _ in range(DAYS):
            x = np.sin(x * 1.2)
        return np.sum(x * x)

    cut(twice, RNG.normal(size=PATHS))


def test_what_fits_the_cache_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE", 1 << 19)
    assert not is_cut(cut(paths, 0.04, 1.5, 0.3, Z, W))


def test_threads_change_no_bit() -> None:
    graph, given = joint(paths, (0.04, 1.5, 0.3, Z, W))
    kernel = compile_graph(blocks(graph))
    made = []
    for count in (1, 2):
        set_num_threads(count)
        made.append([r.tobytes() for r in kernel.run(given)])
    assert made[0] == made[1]
