"""Random graphs through every pipeline: text, each pass, native code, adjoint and its adjoint keep the meaning.

The reference executor says what a graph means; how far another may be from it is derived from the graph itself.
A failing example is made small by Hypothesis and printed as text, to be parsed and run again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.library import Library
from pullback.compiler.ops.scipy.special import Special
from pullback.compiler.passes.pipeline import optimize
from tests.compare import differences
from tests.exact import Undecided, bounds
from tests.random_graphs import Case, cases
from tests.test_primitives import assert_derivative

#: what other tests draw, or write out: loops and what they need, and what stands for a rule of the user's
ELSEWHERE = {
    **dict.fromkeys(("scan", "loop", "cond", "read", "update", "bump", "new_tape", "push", "pop"), "random_regions.py"),
    "require": "test_regions_native.py",
    "guard": "test_fallback.py",
    "external": "test_external.py",
    "checkpoint": "test_control_forms.py",
    **dict.fromkeys(("custom", "again", "refused", "stop_gradient"), "test_rules.py"),
    "complex": "test_numpy_complex.py", "real": "test_numpy_complex.py", "imag": "test_numpy_complex.py",
}
#: test_special.py, test_matrices.py and test_complex.py compare these with SciPy and mpmath, under their public names
KNOWN_BY_OTHERS = {name for name, prim in REGISTRY.items() if isinstance(prim, Special | Library)}
DRAWN = set(REGISTRY) - set(ELSEWHERE) - KNOWN_BY_OTHERS


def check(test: Callable[[Case], None], many: int, floats: bool = False) -> set[str]:
    """Run a test on `many` cases, and on some more that begin with a primitive that was in none.

    Returns the primitives that were in them.
    """
    seen = run(test, cases(floats), many)
    for name in sorted(DRAWN - seen):
        seen |= run(test, cases(True, name), 10)
    return seen


def run(test: Callable[[Case], None], strategy: SearchStrategy[Case], many: int) -> set[str]:
    """Run a test on `many` cases; returns the primitives that were in them."""
    seen: set[str] = set()

    @settings(
        max_examples=many,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(strategy)
    def once(case: Case) -> None:
        pending = [case.graph]
        while pending:
            graph = pending.pop()
            seen.update(op.prim.name for op in graph.body)
            pending += [r for op in graph.body for r in op.regions]
        try:
            test(case)
        except Undecided:
            return
        except Exception as error:
            given = "\n".join(f"{p!r} = {a.tolist()}" for p, a in zip(case.graph.params, case.args, strict=True))
            error.add_note(f"{show(case.graph)}\n{given}")
            raise

    once()
    return seen


def assert_means(graph: Graph, other: Callable[[list[np.ndarray]], list[np.ndarray]], args: list[np.ndarray]) -> None:
    """Another way to run `graph` stays within its bound on rounding errors."""
    values, floors = bounds(graph, args)
    wrong = differences(other(args), values, floors=[2 * f for f in floors])
    assert not wrong, wrong


def test_every_primitive_is_tested() -> None:
    for name, file in ELSEWHERE.items():
        assert name in REGISTRY
        assert name in (Path(__file__).parent / file).read_text(), f"{file} does not test {name}"


def test_text_and_passes() -> None:
    def keeps(case: Case) -> None:
        verify(case.graph)
        again = verify(parse(show(case.graph)))
        assert show(again) == show(case.graph)

        def after(name: str, before: Graph, made: Graph) -> None:
            verify(made)
            assert [r.type for r in made.results] == [r.type for r in before.results], name
            assert_means(before, lambda args: evaluate(made, args), case.args)

        optimize(case.graph, after=after)

    seen = check(keeps, 500)
    assert seen == DRAWN, f"never drawn: {sorted(DRAWN - seen)}"


def test_native_code() -> None:
    seen = check(lambda case: assert_means(case.graph, compile_graph(case.graph).run, case.args), 500)
    assert seen == DRAWN, f"never drawn: {sorted(DRAWN - seen)}"


def test_adjoints_to_second_order() -> None:
    def keeps(case: Case) -> None:
        rng = np.random.default_rng(5)
        bounds(*case)
        graph, args = case
        for _ in range(2):
            graph, args = assert_derivative(graph, args, rng)
            assert_means(graph, compile_graph(graph).run, args)

    check(keeps, 350, floats=True)
