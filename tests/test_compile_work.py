"""What compiling does not do: walk graphs in vain, count lines anew, read formulas again, copy what nobody keeps."""

from __future__ import annotations

import gc
import linecache
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, jit, lambdify, vmap
from pullback.compiler.frontend.patched import recoded
from pullback.compiler.frontend.patched.patches import patched
from pullback.compiler.ir.graph import Graph
from pullback.compiler.ir.text import parse
from pullback.compiler.ir.verify import verify
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests.fuse import Fusion
from pullback.compiler.ops import expression
from pullback.compiler.passes.pipeline import PIPELINE, Pass
from pullback.compiler.settings import settings

PLAIN = """graph @f(%x: f64[12], %y: f64[12]) {
  %0: f64[12] = sin %x
  %1: f64[12] = mul %0, %y
  %2: f64[] = sum %1 {axes=(0,)}
  return %2
}"""


def _graph(function: Callable[..., Any], *args: Any) -> Graph:
    """What is traced of a function."""
    made: Any = jit(function)
    return made.compiled(made.flatten(args, {})[0]).traced.graph


def _long(lines: int) -> Callable[[Any], Any]:
    """A function with so many lines, of a product and a sum each."""
    text = "".join(["def long(x):\n    s = x\n", *[f"    s = s * x + {k}.5\n" for k in range(lines)], "    return s\n"])
    linecache.cache[f"<{lines} lines>"] = len(text), None, text.splitlines(True), f"<{lines} lines>"
    names: dict[str, Any] = {}
    exec(compile(text, f"<{lines} lines>", "exec"), names)
    return names["long"]


@pytest.mark.parametrize("each", dict.fromkeys(PIPELINE), ids=lambda each: each.__name__)
def test_a_pass_with_nothing_to_do_gives_the_same_graph(each: Pass) -> None:
    graph = parse(PLAIN)
    assert each(graph) is graph


def test_every_line_of_a_long_function_is_told() -> None:
    told = [op.where.line for op in _graph(_long(60), 0.5).body if op.where is not None and op.prim.name == "mul"]
    assert told == list(range(3, 63))


def test_tracing_takes_as_long_for_each_line_of_a_long_function() -> None:
    def seconds(lines: int) -> float:
        function, taken = _long(lines), []
        for _ in range(3):
            start = time.thread_time()
            _graph(function, 0.5)
            taken.append(time.thread_time() - start)
        return min(taken)

    with settings.override(reference=True):
        assert seconds(6400) < 28 * seconds(400)  # 14 times; 55 where each line is counted from the beginning


def test_lowering_leaves_nothing_to_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        lower(parse(PLAIN))
        assert not [each for each in gc.get_objects() if type(each) is Fusion]
    finally:
        gc.enable()


def test_functions_within_functions_have_values_of_their_own() -> None:
    inner = jit(lambda x: np.sin(x) * x)

    def outer(x: Any) -> Any:
        return inner(x) + inner(inner(x)) * grad(inner)(x)

    verify(_graph(outer, 0.5))
    once = np.sin(0.5) * 0.5
    slope = np.cos(0.5) * 0.5 + np.sin(0.5)
    assert np.isclose(outer(0.5), once + np.sin(once) * once * slope, rtol=1e-15)
    assert np.isclose(jit(outer)(0.5), outer(0.5), rtol=1e-15)
    step = 1e-5
    assert np.isclose(grad(outer)(0.5), (outer(0.5 + step) - outer(0.5 - step)) / (2 * step), rtol=1e-8)


def test_a_formula_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    plan = expression._plan
    monkeypatch.setattr(expression, "_plan", lambda e, *more: plans.append(e) or plan(e, *more))
    x, y = sp.symbols("x y")
    f = lambdify([x, y], [sp.sin(x) * y - 2 * x**3, sp.exp(-x) / y])
    before = len(plans)
    assert before > 5
    a, b = f(0.5, 2.0)
    assert np.allclose([a, b], [np.sin(0.5) * 2 - 0.25, np.exp(-0.5) / 2], rtol=1e-15)
    assert np.isclose(grad(lambda x: f(x, 2.0)[0])(0.5), 2 * np.cos(0.5) - 1.5, rtol=1e-15)
    assert np.allclose(vmap(lambda x: f(x, x)[1])(np.array([0.5, 2.0])), [np.exp(-0.5) / 0.5, np.exp(-2.0) / 2])
    assert len(plans) == before


def test_a_formula_that_reads_its_arguments_itself_is_read_for_each_of_them() -> None:
    x, n, k = sp.symbols("x n k")
    f = lambdify([x, n], sp.Sum(x**k / (k + 1), (k, 0, n)) + x)
    for at in (0.5, 2.0):
        assert np.isclose(f(at, 4), sum(at**k / (k + 1) for k in range(5)) + at, rtol=1e-14)
    slope = grad(lambda x: f(x, 4))
    assert np.isclose(slope(0.5), sum(k * 0.5 ** (k - 1) / (k + 1) for k in range(1, 5)) + 1, rtol=1e-13)


def test_what_is_read_twice_counts_once_for_how_much_an_element_is_made_of() -> None:
    """x -> x * x + 0.5, ten times: a thousand leaves of a tree, and twenty operations."""
    names = ["%x", *[f"%{k}" for k in range(1, 21)]]
    lines = ["graph @f(%x: f64[40], %h: f64[40]) {"]
    for k in range(0, 20, 2):
        lines.append(f"  {names[k + 1]}: f64[40] = mul {names[k]}, {names[k]}")
        lines.append(f"  {names[k + 2]}: f64[40] = add {names[k + 1]}, %h")
    program = lower(parse("\n".join([*lines, "  return %20", "}"])))
    assert len(program.body) == 1 and not program.scratch


def test_what_asks_for_a_function_first_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with patched():
        first = math.sin
    with patched():
        assert math.sin is first
    monkeypatch.setattr(math, "sin", lambda x: 3.0)
    with patched():
        assert math.sin is not first and math.sin(1.0) == 3.0
    assert math.sin(1.0) == 3.0


def test_a_trace_within_another_exchanges_no_code_again(monkeypatch: pytest.MonkeyPatch) -> None:
    function, exchanged = sp.ordered, recoded._exchange
    made: list[int] = []
    monkeypatch.setattr(recoded, "_exchange", lambda pairs: (made.append(len(pairs)), exchanged(pairs)))
    monkeypatch.setitem(recoded._MEANINGS, "sympy", {"ordered": lambda *args: ("asked", args)})
    before = function.__code__
    for _ in range(2):
        with recoded.recoded():
            once = len(made)
            assert once and recoded.exchanged(function)
            with recoded.recoded():
                assert len(made) == once and recoded.exchanged(function)
            recoded.recode("sympy", {})
            with recoded.recoded():
                assert len(made) == once + 1, "its meanings may be others now"
        assert function.__code__ is before and not recoded.exchanged(function)
    recoded._found.pop("sympy")
