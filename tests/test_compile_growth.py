"""The work of compiling grows as the function does, and what is too long for it runs op by op and says so.

Work is counted in calls of functions, not in seconds, so that the machine does not matter: of Python's functions and
of built-in ones, from tracing to the text for LLVM. Loops would become regions, so the functions are recursions.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.backend.tiers import size
from pullback.compiler.frontend import tracing
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.lowering.storage import _Arena
from pullback.compiler.settings import settings
from pullback.runtime.compiled import kernels
from tests.work import calls_of

MOST = 1.35
"""The exponent with which work may grow: 1.0 to 1.1 with vectors of 256 bits, up to 1.27 (a tree) with those of 512."""

Made = tuple[Callable[[np.ndarray], Any], np.ndarray]


def _other(k: int, s: Any) -> Any:
    """One of some operations, in no order that repeats."""
    kind = (k * 2654435761 >> 7) % 4
    return np.sin(s) if kind == 0 else np.tanh(s) if kind == 1 else s * s - 0.5 if kind == 2 else np.exp(-s * s)


def _steps(step: Callable[[Any, Any, int], Any], first: Callable[[Any], Any], end: Callable[[Any], Any], x: Any) -> Any:
    def family(n: int) -> Made:
        def f(x: np.ndarray) -> Any:
            def go(s: Any, low: int, high: int) -> Any:
                if high - low == 1:
                    return step(s, x, low)
                middle = (low + high) // 2
                return go(go(s, low, middle), middle, high)

            return end(go(first(x), 0, n))

        return f, x

    return family


def _determinant(n: int) -> Made:
    """Minors without the first row and one of the first columns, down to a depth of three."""

    def minor(m: np.ndarray, depth: int) -> Any:
        if depth == 0:
            return m[0, 0]
        total = 0.0
        for j in range(n if depth == 3 else 3):
            rest = np.concatenate([m[1:, :j], m[1:, j + 1 :]], axis=1)
            total = total + (-1) ** j * m[0, j] * minor(rest, depth - 1)
        return total

    return lambda m: minor(m, 3), np.random.default_rng(0).normal(size=(4, 16))


def _tree(n: int) -> Made:
    """A binomial tree: arrays that shrink by one at each level."""

    def f(x: np.ndarray) -> Any:
        def back(v: np.ndarray, k: int) -> Any:
            return v if k == 0 else back(0.99 * (0.5 * v[1:] + 0.5 * v[:-1]) + 0.01 * _other(k, v[1:]), k - 1)

        return back(np.maximum(x[0] * np.linspace(0.0, 1.0, n + 1) - x[1], 0.0), n)[0]

    return f, np.array([2.0, 0.3])


def _products(n: int) -> Made:
    def f(x: np.ndarray) -> Any:
        def between(low: int, high: int) -> Any:
            if high - low == 1:
                return np.sin(x * low)
            return between(low, (low + high) // 2) * between((low + high) // 2, high) + x

        return np.sum(between(0, n))

    return f, np.linspace(0, 1, 20)


def _put(s: np.ndarray, x: np.ndarray, k: int) -> np.ndarray:
    s = s.copy()
    s[k % 20] = _other(k, s[(k * 7) % 20]) + x[k % 20]
    return s


LINE, SQUARE = np.linspace(0, 1, 20), np.random.default_rng(0).normal(size=(3, 3)) * 0.3


def _same(x: Any) -> Any:
    return x


FAMILIES: dict[str, tuple[Callable[[int], Made], int, int]] = {
    "determinant": (_determinant, 2, 6),
    "tree": (_tree, 12, 36),
    "products": (_products, 30, 90),
    "numbers": (_steps(lambda s, x, k: _other(k, s) * x[k % 20], lambda x: x[0], _same, LINE), 30, 90),
    "rows": (_steps(lambda s, x, k: s - np.mean(s * s) * _other(k, s), _same, np.sum, LINE), 12, 36),
    "matrices": (_steps(lambda s, x, k: np.tanh(s @ x) + _other(k, s), _same, np.sum, SQUARE), 10, 30),
    "joined": (_steps(lambda s, x, k: np.concatenate([_other(k, s[1:]), s[:1]]), _same, np.sum, LINE), 8, 24),
    "wide": (_steps(lambda s, x, k: s + np.sum(_other(k, x * (k + 1.0))), lambda x: 0.0, _same, LINE), 20, 60),
    "writes": (_steps(_put, lambda x: x * 1.0, np.sum, LINE), 12, 36),
    "lists": (_steps(lambda s, x, k: [*s[-6:], _other(k, s[-1]) + s[k % len(s)]], lambda x: [x],
                     lambda s: np.sum(np.stack(s)), LINE), 20, 60),
}


def _work(family: Callable[[int], Made], n: int) -> tuple[int, int]:
    """(operations, calls of functions) of compiling a gradient."""
    f, x = family(n)
    g: Any = grad(f)
    with settings.override(cache=False):
        work = calls_of(lambda: g.ir("llvm", x))
    operations = size(g.compiled(g.flatten((x,), {})[0]).graph)
    return operations, work


@pytest.mark.parametrize("name", FAMILIES)
def test_work_grows_as_the_function_does(name: str) -> None:
    family, few, many = FAMILIES[name]
    _work(family, 2)
    (operations, calls), (more, work) = _work(family, few), _work(family, many)
    assert more > 2 * operations, "the family does not grow"
    exponent = math.log(work / calls) / math.log(more / operations)
    assert exponent <= MOST, f"{operations} operations took {calls} calls, {more} took {work}: exponent {exponent:.2f}"


def test_a_sum_of_many_terms_is_made_of_expressions_that_end() -> None:
    """Terms without end in one expression would be looked through whenever one more is stored."""

    def total(x: np.ndarray) -> Any:
        def between(low: int, high: int) -> Any:
            if high - low == 1:
                return np.sin(x * low)
            return between(low, (low + high) // 2) + between((low + high) // 2, high)

        return between(0, 600)

    x = np.linspace(0, 1, 5)
    wanted = functools.reduce(lambda a, b: a + b, [np.sin(x * k) for k in range(600)])
    np.testing.assert_allclose(jit(total)(x), wanted, rtol=1e-12)


# What is too long


def test_what_is_too_long_to_be_compiled_runs_op_by_op_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = FAMILIES["rows"][0](12)
    wanted = grad(f)(x)
    monkeypatch.setattr(kernels, "MOST", 60)
    g = grad(f)
    np.testing.assert_allclose(g(x), wanted, rtol=1e-12)
    np.testing.assert_allclose(g(x + 1), grad(f)(x + 1), rtol=1e-12)
    said = str(g.report())
    assert "runs op by op: it has" in said and "operations, and those of more than 60 are not compiled" in said
    with pytest.raises(ValueError, match=r"no stage 'llvm': it has .* operations, and those of more than 60 are not"):
        g.ir("llvm", x)
    with pytest.raises(RuntimeError, match=r"has no machine code: it has .* operations"):
        g.cfunc(x)


def test_a_long_function_that_gets_short_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: np.ndarray) -> Any:
        unread = [np.sin(x + k) for k in range(30)]
        return np.sum(x * x) + 0 * len(unread)

    monkeypatch.setattr(kernels, "MOST", 20)
    g = jit(f)
    assert g(np.ones(3)) == 3.0 and "op by op" not in str(g.report())


def test_a_recursion_without_end_in_sight_is_refused_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST", 100)
    f, x = FAMILIES["rows"][0](60)
    with pytest.raises(TraceError, match="'f' takes more than 100 operations") as caught:
        grad(f)(x)
    assert "test_compile_growth.py" in str(caught.value) and "pullback.fori_loop" in str(caught.value)


# The arena


def test_blocks_of_the_arena_that_are_alive_are_apart() -> None:
    draw = random.Random(0)
    for _ in range(50):
        arena, alive, now = _Arena(), list[tuple[int, int, int]](), 0
        for _ in range(100):
            now += draw.randrange(2)
            arena.expire(now)
            alive = [block for block in alive if block[2] >= now]
            size, last = 64 * draw.randrange(1, 6), now + draw.randrange(8)
            ending = [block for block in alive if block[2] == now]
            if ending and draw.random() < 0.3:
                offset, size, _ = block = draw.choice(ending)
                assert arena.hand_over(offset, last) == offset
                alive.remove(block)
            else:
                offset = arena.place(size, last)
            assert all(offset + size <= start or start + length <= offset for start, length, _ in alive)
            alive.append((offset, size, last))
            assert offset + size <= arena.size
        whole = sum(size for _, size, _ in alive)
        arena.expire(now + 100)
        assert arena.gaps == [0] and arena.length == {0: arena.size} and arena.size >= whole
