"""What no other test looked at, as faults showed that were planted and not found: see tools/faults.txt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import jit
from pullback.compiler.backend.disk.cache import key_of
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, evaluate
from pullback.compiler.ir.primitive import REGISTRY, VECTORS
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.contract import contract
from pullback.compiler.ops.shape import transpose
from pullback.compiler.ops.source import number
from pullback.compiler.passes.algebra import algebra
from pullback.compiler.passes.cut import recomputable
from pullback.compiler.settings import settings


def test_less_a_negative_zero_is_not_the_same_number() -> None:
    f = jit(lambda x: x - (-0.0))
    assert np.signbit(f(-0.0)) == np.signbit(-0.0 - (-0.0))
    assert np.signbit(f(np.array([-0.0, 0.0]))).tolist() == [False, False]
    assert np.signbit(jit(lambda x: x - 0.0)(-0.0))


def test_transposed_twice_is_transposed_once() -> None:
    b = Builder("twice", [Type("f64", (2, 3, 4))])
    graph = b.finish([transpose(b, transpose(b, b.params[0], axes=(1, 2, 0)), axes=(0, 2, 1))])
    made, x = algebra(graph), np.arange(24.0).reshape(2, 3, 4)
    assert [op.prim.name for op in made.body if op.results[0] in made.results] == ["transpose"]
    np.testing.assert_array_equal(evaluate(made, [x])[0], evaluate(graph, [x])[0])


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64"])
@pytest.mark.parametrize("known", [None, 1, 3, -1])
def test_a_product_with_a_number_is_elementwise(dtype: str, known: float | None) -> None:
    x = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, -7e-5, 1e30]) if dtype != "i64" else np.arange(-3, 4)
    b = Builder("scaled", [Type(dtype, (7,)), Type(dtype)])
    factor = b.params[1] if known is None else number(b, known, Type(dtype))
    made = [contract(b, *pair, left=(), right=()) for pair in ((b.params[0], factor), (factor, b.params[0]))]
    graph = algebra(b.finish(made))
    assert not any(op.prim is contract for op in graph.body if op.results[0] in graph.results)
    given = [x.astype(Type(dtype).numpy, copy=False), np.array(known or 2, Type(dtype).numpy)]
    with np.errstate(all="ignore"):
        wanted = given[0] * given[1]
        for found in (*evaluate(graph, given), *compile_graph(graph).run(given)):
            np.testing.assert_array_equal(found.view(np.uint8), np.asarray(wanted).view(np.uint8))


@pytest.mark.parametrize("count", [3, 6, 20])
def test_rounds_without_carries_that_read_backwards(count: int) -> None:
    def f(x: np.ndarray) -> np.ndarray:
        y = np.zeros(count)
        for i in range(count):
            y[i] = np.sin(x[19 - i]) * x[i + 1]
        return y

    x = np.arange(60.0) / 7
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)


@pytest.mark.parametrize("of", [REGISTRY[name] for name in ("exp", "div", "sqrt")])
def test_costly_functions_are_made_again_in_wide_vectors_only(of: Any) -> None:
    for size, again in ((1, False), (VECTORS - 1, False), (VECTORS, True)):
        b = Builder("one", [Type("f64", (size,))] * of.arity)
        of(b, *b.params)
        assert recomputable(b.body[-1]) is again


def test_nothing_is_written_before_an_index_elsewhere_has_passed() -> None:
    f = jit(lambda x, y, i: (x * 2.0, y[i]))
    for n in (4, 40, 1000):
        x, y = np.ones(n), np.ones(3)
        f(np.ones(n), y, 2, out=(x, None))
        kept = x.copy()
        with pytest.raises(IndexError):
            f(x, y, 7, out=(x, None))
        np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("by", [3.0, 0.1, 4.0, 1e300])
def test_division_by_a_number_has_the_bits_of_division(by: float) -> None:
    x = np.linspace(-5.0, 7.0, 97) / 3
    assert jit(lambda x: x / by)(x).tobytes() == (x / by).tobytes()


def test_code_for_other_settings_has_another_key() -> None:
    keys = {key_of("text")}
    for changed in ({"vector_bits": 128}, {"vector_bits": 256}, {"max_steps": 5}):
        with settings.override(**changed):
            keys.add(key_of("text"))
    assert len(keys) == 4


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_does_not_lie_where_the_weight_of_backward_lies(create_graph: bool) -> None:
    for _ in range(3):
        t, weight = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
        t.view(2).backward(weight, create_graph=create_graph)
        with torch.no_grad():
            t.grad.add_(1.0)
        assert weight.tolist() == [3.0, 4.0] and t.grad.tolist() == [4.0, 5.0]


def test_the_gradient_of_a_leaf_that_was_given_its_own_is_no_view_of_that() -> None:
    leaf, weight = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    leaf.backward(weight)
    weight.mul_(10)
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_leafs_gradient_has_its_dtype() -> None:
    leaf = torch.ones(3, requires_grad=True)
    leaf.backward(torch.full((3,), 2.0, dtype=torch.float64))
    assert leaf.grad is not None
    assert leaf.grad.dtype is torch.float32
