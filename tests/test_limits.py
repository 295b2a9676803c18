"""max_memory= on gradients, and what fn.report() says of the memory that loops keep."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pullback import hvp, vjp
from pullback.compiler.settings import settings
from pullback.runtime.control import fori_loop, scan, while_loop
from pullback.runtime.limits import bytes_of
from pullback.runtime.transforms import grad, jit, value_and_grad

N, ROUNDS = 6, 300
MIX = np.linspace(-0.4, 0.5, N * N).reshape(N, N) + 0.6 * np.eye(N)
X = np.linspace(-1.0, 1.0, N)
ALL = N * 8 * ROUNDS
"""Bytes that the loop saves without a limit."""


@pytest.fixture(params=["native", "reference"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compiled code, and the reference executor."""
    with settings.override(reference=request.param == "reference"):
        yield request.param


def by_scan(x):
    return np.sum(scan(lambda c, _: (np.tanh(MIX @ c) + 0.01, None), x, None, length=ROUNDS)[0] ** 2)


def by_count(x, n=ROUNDS):
    return np.sum(fori_loop(0, n, lambda i, c: np.tanh(MIX @ c) + 0.01, x) ** 2)


def by_test(x):
    return np.sum(while_loop(lambda s: s[0] < ROUNDS, lambda s: (s[0] + 1, np.tanh(MIX @ s[1]) + 0.01), (0, x))[1] ** 2)


@pytest.mark.parametrize("f", [by_scan, by_count, by_test])
def test_gradients_within_a_limit_are_the_same(way: str, f: Any) -> None:
    want = grad(f)(X)
    for most in (ALL // 3, "2 kB"):
        assert np.array_equal(grad(f, max_memory=most)(X), want)
        value, slope = value_and_grad(max_memory=most)(f)(X)
        assert value == f(X) or np.isclose(value, f(X), rtol=1e-13)
        assert np.array_equal(slope, want)
        assert np.array_equal(jit(lambda x: grad(f)(x), max_memory=most)(X), want)
    v = X[::-1].copy()
    assert np.allclose(jit(lambda x: hvp(f)(x, v), max_memory="4 kB")(X), hvp(f)(X, v), rtol=1e-12, atol=1e-14)


def saved(f: Any) -> int:
    (form,) = f.report().forms
    return sum(each.bytes * (each.rounds or 0) for each in form.saved)


def test_less_is_saved() -> None:
    free, bound = grad(by_scan), grad(by_scan, max_memory=ALL // 4)
    free(X)
    bound(X)
    assert saved(free) >= ALL > ALL // 4
    assert "checkpoint" in bound.ir("adjoint") and "checkpoint" not in free.ir("adjoint")


def test_limits_that_are_none() -> None:
    assert [bytes_of("grad", each) for each in (None, 100, "1kB", "1.5 MB", "2GiB", "7")] == [
        None, 100, 1000, 1_500_000, 2**31, 7]
    for wrong in (2.5, "much", True, "1 TB", [1]):
        with pytest.raises(TypeError, match=r"max_memory is .*expected bytes as an int"):
            grad(by_scan, max_memory=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_memory is 0 bytes, expected more than none"):
        jit(by_scan, max_memory=0)
    with pytest.raises(ValueError, match="bytes are saved outside of loops, or in one round"):
        grad(by_scan, max_memory=10)(X)


def test_a_limit_ends_with_the_function_it_is_for() -> None:
    with pytest.raises(ValueError, match="bytes are saved outside of loops, or in one round"):
        jit(lambda x: grad(by_scan)(x), max_memory=10)(X)
    _, pullback = vjp(by_scan, X)
    assert np.array_equal(pullback(1.0)[0], grad(by_scan)(X))


def test_a_report_of_what_loops_save() -> None:
    slope = grad(by_scan)
    slope(X)
    (form,) = slope.report().forms
    (kept,) = form.saved
    assert (kept.rounds, kept.within) == (ROUNDS, 0) and kept.bytes in (N * 8, 2 * N * 8)
    line = by_scan.__code__.co_firstlineno + 1
    assert kept.loop is not None and (kept.loop.file, kept.loop.line) == (__file__, line)
    text = str(slope.report())
    assert f"saves {kept.bytes} bytes in each of 300 rounds of the loop at test_limits.py:{line}" in text
    unknown = grad(by_test)
    unknown(X)
    assert "bytes in each round of the loop at test_limits.py:" in str(unknown.report())
    plain = jit(by_scan)
    plain(X)
    assert "saves" not in str(plain.report())
