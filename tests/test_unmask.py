"""Masks moved behind costly functions: the same bits, fewer functions, and only where these are asked for anyway."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from pullback import hessian, jit
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse as read
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes import common
from pullback.compiler.passes.pipeline import algebra, unmask

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 5e-324, 1e308, np.inf, -np.inf, np.nan, 3.0])

UNARY = """graph @f(%p: bool[12], %x: f64[12]) {{
  %0: f64[12] = const {{type=f64[12], value=1.0}}
  %1: f64[12] = select {first}
  %2: f64[12] = log %1
  {plain}
  return %2, %3
}}"""


def _graph(text):
    return read(text)


def _functions(graph, name):
    return [op for op in graph.body if op.prim.name == name and op.results[0].type.shape]


def _same(graph, changed, *args):
    """The same numbers , signs of zero included, by NumPy's meaning."""
    verify(changed)
    with np.errstate(all="ignore"):
        for a, b in zip(evaluate(graph, args), evaluate(changed, args), strict=True):
            assert np.array_equal(a, b, equal_nan=True)
            assert np.array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("first", ["%p, %0, %x", "%p, %x, %0"])
def test_one_function_serves_with_the_mask_and_without(first):
    graph = _graph(UNARY.format(first=first, plain="%3: f64[12] = log %x"))
    changed = common(unmask(graph))
    assert len(_functions(graph, "log")) == 2 and len(_functions(changed, "log")) == 1
    _same(graph, changed, np.arange(12) % 3 == 0, SPECIAL)


def test_a_mask_stays_where_nobody_asks_without_it():
    graph = _graph(UNARY.format(first="%p, %0, %x", plain="%3: f64[12] = neg %x"))
    assert unmask(graph) is graph


def test_masks_within_masks_and_within_light_operations_come_off():
    graph = _graph("""graph @f(%p: bool[12], %q: bool[12], %x: f64[12], %y: f64[12]) {
  %0: f64[12] = const {type=f64[12], value=1.0}
  %1: f64[12] = select %p, %0, %x
  %2: f64[12] = select %p, %0, %y
  %3: f64[12] = sub %2, %0
  %4: f64[12] = pow %1, %3
  %5: f64[12] = select %q, %1, %0
  %6: f64[12] = log %5
  %7: f64[12] = log %x
  %8: f64[12] = pow %x, %y
  return %4, %6, %7, %8
}""")
    changed = common(unmask(graph))
    assert len(_functions(changed, "log")) == 1
    assert {op.args[0] for op in _functions(changed, "pow")} == {graph.params[2]}
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.random((2, 12)) < 0.5
        _same(graph, changed, p, q, rng.permutation(SPECIAL), rng.permutation(SPECIAL))


def test_operands_that_have_different_masks_stay():
    graph = _graph("""graph @f(%p: bool[12], %q: bool[12], %x: f64[12], %y: f64[12]) {
  %0: f64[12] = const {type=f64[12], value=1.0}
  %1: f64[12] = select %p, %0, %x
  %2: f64[12] = select %q, %0, %y
  %3: f64[12] = pow %1, %2
  %4: f64[12] = pow %x, %y
  return %3, %4
}""")
    assert unmask(graph) is graph


def test_conditions_with_what_they_always_are_are_themselves():
    graph = _graph("""graph @f(%p: bool[12]) {
  %0: bool[12] = const {type=bool[12], value=true}
  %1: bool[12] = const {type=bool[12], value=false}
  %2: bool[12] = and_ %0, %p
  %3: bool[12] = or_ %2, %1
  %4: bool[12] = or_ %3, %0
  return %3, %4
}""")
    changed = algebra(graph)
    assert changed.results[0] is graph.params[0]
    _same(graph, changed, np.arange(12) % 2 == 0)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_hessian_of_powers_takes_one_logarithm_and_is_right(size):
    x = np.random.default_rng(size).gamma(2.0, size=size) + 0.01

    def f(v):
        return np.sum(v[0] * np.log(x) + (x * v[1]) ** v[0])

    v = np.array([1.3, 0.7])
    h = hessian(f)
    made = h(v)
    graph = read(h.ir("optimized", v))
    if size > 1:
        bases = {op.args[0] for op in _functions(graph, "pow")}
        assert len(bases) == 1, "all powers are of one base"

    def exact(a, b):
        return mpmath.fsum((mpmath.mpf(float(t)) * b) ** a for t in x)

    for i, j, order in ((0, 0, (2, 0)), (0, 1, (1, 1)), (1, 1, (0, 2))):
        want = mpmath.diff(exact, (mpmath.mpf(1.3), mpmath.mpf(0.7)), order)
        assert abs(made[i, j] - float(want)) <= 1e-9 * abs(float(want))
    assert np.array_equal(made, made.T) or np.allclose(made, made.T, rtol=1e-13)


def test_derivatives_of_what_has_been_made_native_stay_finite():
    """A function that is differentiated once more after it was optimised has its masks again."""
    def f(x):
        return np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0) + np.log(x * x + 1.0))

    x = np.array([0.0, 2.0, -1.0])
    assert np.isfinite(hessian(jit(f))(x)).all()
    assert np.allclose(np.diag(hessian(f)(x)), [2.0, -0.25 - 0.24, 0.0])
