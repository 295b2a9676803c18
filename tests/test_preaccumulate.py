"""Local Jacobians in place of products with every vector of a basis: the same numbers, fewer operations."""

from __future__ import annotations

import numpy as np
import pytest

from pullback import grad, hessian, jacobian, jacrev, vmap
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes.cleanup import dead
from pullback.compiler.passes.pipeline import expand
from pullback.compiler.passes.preaccumulate import preaccumulate

CHAIN = """graph @f(%a: f64[6], %b: f64[6], %x: f64[6,3]) {{
  %0: i64[4] = {source}
  %1: i64[4,3] = spread %0 {{axes=(0,), shape=(4, 3)}}
  %2: i64[3] = iota {{axis=0, type=i64[3]}}
  %3: i64[4,3] = spread %2 {{axes=(1,), shape=(4, 3)}}
  %4: bool[4,3] = eq %1, %3
  %5: f64[4,3] = cast %4 {{dtype="f64"}}
  %6: f64[4,6] = contract %5, %x {{left=(1,), right=(1,)}}
  %7: f64[4,6] = spread %a {{axes=(1,), shape=(4, 6)}}
  %8: f64[4,6] = spread %b {{axes=(1,), shape=(4, 6)}}
  %9: f64[4,6] = mul %6, %7
  %10: f64[4,6] = div %9, %8
  %11: f64[4,6] = {product} %10, %7
  %12: f64[4,6] = sub %11, %9
  %13: f64[4,6] = neg %12
  %14: f64[4,6] = mul %8, %13
  %15: f64[4,6] = div %14, %7
  return %15
}}"""
BASIS, IOTA = "basis {axis=0, type=i64[4]}", "iota {axis=0, type=i64[4]}"


def _chain(source=BASIS, product="mul"):
    return parse(CHAIN.format(source=source, product=product))


def _wide(graph):
    """The operations with lanes that are not moves of elements."""
    names = ("mul", "strong_mul", "div", "sub", "neg")
    return [op.prim.name for op in graph.body if op.prim.name in names and op.results[0].type.rank == 2]


def test_what_is_linear_in_the_lanes_is_multiplied_once():
    graph = _chain()
    changed = dead(preaccumulate(graph))
    verify(changed)
    assert len(_wide(graph)) == 7 and _wide(changed) == ["strong_mul"]
    assert not any(op.prim.name == "contract" for op in changed.body), "vectors of a basis only take rows"
    rng = np.random.default_rng(0)
    args = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(6, 3))
    np.testing.assert_allclose(*evaluate(changed, args), *evaluate(graph, args), rtol=1e-14)


def test_the_arithmetic_of_the_user_is_left_as_it_is():
    graph = _chain(IOTA)
    assert preaccumulate(graph) is graph


def test_a_lane_of_zeros_stays_zero_where_a_factor_overflows():
    graph = _chain(product="strong_mul")
    changed = preaccumulate(graph)
    x = np.array([[0.0, 1.0, -2.0]] * 6)
    args = np.full(6, 1e200), np.full(6, 1e-200), x
    (made,) = evaluate(expand(changed), args)
    assert (made[0] == 0).all() and (made[3] == 0).all(), "of a zero, and of a vector that is none of the basis's"
    assert np.isinf(made[1]).all() and np.isinf(made[2]).all()


def _step(kind, u, v, c):
    return (
        lambda: u * v, lambda: u + c * v, lambda: np.sin(u) * v, lambda: u / (1 + v * v), lambda: np.exp(-u * u) * c,
        lambda: np.where(u > v, u * c, v * u), lambda: np.log1p(v * v) * u, lambda: np.tanh(u) - v,
        lambda: np.maximum(u, v) * u, lambda: (1 + u * u) ** (0.3 * v), lambda: u - v / 3,
    )[kind]()  # fmt: skip


def _program(rng, n, rows):
    """A random program of n numbers: of rows of data, or of the numbers one by one."""
    steps = rng.integers(0, 11, size=(rng.integers(3, 11), 3))
    numbers = rng.normal(size=len(steps))

    def f(x, data):
        values = [data[:, 1:] @ x[1:] + x[0], np.exp(0.3 * x[-1]) * data[:, 0]] if rows else [x[k] for k in range(n)]
        for (kind, a, b), c in zip(steps, numbers, strict=True):
            values.append(_step(kind, values[a % len(values)], values[-1 - b % 2], c))
        return values[-1] if rows else np.stack(values[-2:])

    return f


@pytest.mark.parametrize("rows", [False, True], ids=["numbers", "rows"])
@pytest.mark.parametrize("seed", range(12))
def test_derivatives_of_random_programs_are_those_of_products_one_by_one(seed, rows):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    f, x, data = _program(rng, n, rows), rng.normal(size=(3, n)), rng.normal(size=(6, n))
    data[0, 0] = 0.0

    def total(x, data):
        return np.sum(np.sin(f(x, data)))

    many = (0, None)
    for made, given in (
        (hessian(total), x[0]), (jacrev(f), x[0]), (vmap(jacobian(f), many), x), (vmap(hessian(total), many), x),
    ):  # fmt: skip
        got = made(given, data)
        graph = parse(str(made.ir("graph")))
        (want,) = evaluate(graph, [given, data][: len(graph.params)])
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * np.abs(want).max(initial=1.0))


def test_a_hessian_of_rows_has_its_second_derivatives_once_for_each_row():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 6)), rng.poisson(2.0, size=40)

    def poisson(theta):
        eta = X @ theta[:6] + theta[6]
        return np.sum(np.exp(eta) - y * eta)

    made, theta = hessian(poisson), 0.1 * rng.normal(size=7)
    Z = np.column_stack([X, np.ones(40)])
    np.testing.assert_allclose(made(theta), Z.T @ (np.exp(Z @ theta)[:, None] * Z), rtol=1e-11)
    optimized = str(made.ir("optimized"))
    assert "f64[6,40] = mul" in optimized and "f64[7,40] = mul" not in optimized


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.arctan2(x, x[::-1] + 1)),
    lambda x: np.sum(np.arctan2(x.reshape(2, 3), np.rot90(x.reshape(2, 3) + 1, 2))),
    lambda x: np.sum(np.arctan2(x[:3], x[5:2:-1]) * np.hypot(x[::2], x[4::-2])),
])  # fmt: skip
def test_lanes_whose_elements_were_turned_around_are_turned_around(f):
    x = np.array([0.9, 1.4, 0.5, 1.3, 0.7, 1.1])
    slope, h = grad(f), 1e-5
    want = [(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(hessian(f)(x), want, atol=1e-8)
    np.testing.assert_allclose(jacrev(slope)(x), want, atol=1e-8)
