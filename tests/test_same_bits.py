"""Functions as users write them: what they are worth, and that their bits depend on nothing but what is written.

Every function of the corpus, its gradients and some second derivatives run on native code with vectors of 128, 256
and 512 bits (derivatives of two of these), on one thread and on two, at both levels of code generation, and again.
All runs must agree in every bit, and with the reference executor within the rounding errors of its operations, which
`tests.exact` derives from the graph; where that gives no bound, because an element is at a jump, within 2^12
roundings.

Sizes are small; other tests lower the thresholds from which code is cut into chunks, blocks, rows and functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from pullback import jit, set_num_threads
from pullback.compiler.backend import gemm, threads
from pullback.compiler.backend.emit import folds as emit_folds
from pullback.compiler.backend.emit import program as emit
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.text import show
from pullback.compiler.lowering.nests import chunks, folds, rows, schedule
from pullback.compiler.passes import adjoint
from pullback.compiler.settings import settings
from tests.compare import differences
from tests.corpus import CASES as STRAIGHT
from tests.corpus import LONG, Written
from tests.corpus_loops import LOOPS
from tests.exact import Undecided, bounds

WIDTHS = (128, 256, 512)
ROUNDINGS = 2**12
CASES = {**STRAIGHT, **LOOPS}

Arrays = list[np.ndarray]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = threads.get_num_threads()
    yield
    set_num_threads(before)


def traced(written: Written) -> tuple[Graph, Arrays]:
    """The graph of a function, and its arguments as arrays."""
    function: Any = jit(written.function)
    signature, leaves = function.flatten(written.args, {})
    made = function._trace(signature)
    return made.graph, [np.ascontiguousarray(a).reshape(np.shape(a)) for a in (*leaves, *made.extras)]


def derived(graph: Graph, args: Arrays, orders: int) -> tuple[Graph, Arrays]:
    """The graph of the cotangents of all float arguments, so many times; with arguments and random cotangents."""
    rng = np.random.default_rng(11)
    for _ in range(orders):
        floats = [k for k, p in enumerate(graph.params) if p.type.is_float]
        if not floats or not any(r.type.is_float for r in graph.results):
            break
        graph = adjoint(graph, floats)
        given = graph.params[len(args) :]
        args = [*args, *(np.asarray(rng.normal(size=p.type.static_shape()), p.type.numpy) for p in given)]
    return graph, args


def assert_meaning(graph: Graph, args: Arrays, got: Arrays) -> None:
    """The results are those of the reference executor, as far as rounding allows."""
    try:
        want, floors = bounds(graph, args)
        wrong = differences(got, want, floors=[2 * f for f in floors])
    except Undecided:
        with np.errstate(all="ignore"):
            want = evaluate(graph, args)
        size = [ROUNDINGS * float(np.finfo(w.dtype).eps) if w.dtype.kind == "f" else 0.0 for w in want]
        wrong = [
            text
            for g, w, s in zip(got, want, size, strict=True)
            for text in differences([g], [w], relative=s, floors=[s])
        ]
    assert not wrong, "\n".join([*wrong, show(graph)])


def bits(results: Sequence[np.ndarray]) -> list[bytes]:
    """The bits of results; one NaN is as good as another."""
    return [np.where(r != r, np.nan, r).astype(r.dtype).tobytes() for r in map(np.asarray, results)]


def assert_same_bits(graph: Graph, args: Arrays, levels: Sequence[tuple[int, int]], passes: bool) -> Arrays:
    """The results, the same under all settings (bits of a vector, level of code), threads and runs.

    passes  these are verified and compared with the reference executor on the way
    """
    first: Arrays = []
    for k, (width, level) in enumerate(levels):
        with settings.override(vector_bits=width, level=level, check="passes" if passes and not k else ""):
            kernel = compile_graph(graph)
            for count in (1, 2, 2):
                set_num_threads(count)
                made = kernel.run(args)
                first = first or made
                wrong = [k for k, (a, b) in enumerate(zip(bits(made), bits(first), strict=True)) if a != b]
                assert not wrong, f"results {wrong}: {width} bits, level {level}, {count} threads\n{show(graph)}"
    return first


def check(written: Written, orders: int, levels: Sequence[tuple[int, int]], passes: bool = True) -> None:
    graph, args = derived(*traced(written), orders)
    assert_meaning(graph, args, assert_same_bits(graph, args, levels, passes))


EVERY = tuple((width, 0) for width in WIDTHS)
TWO = [tuple(each for k, each in enumerate(EVERY) if k != left) for left in range(len(WIDTHS))]
"""All widths but one: derivatives take them in turn, for which widths there are is up to the values as well."""


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    check(CASES[name], 0, EVERY)


@pytest.mark.parametrize("name", [name for name, written in CASES.items() if written.orders])
def test_derivatives(name: str) -> None:
    check(CASES[name], CASES[name].orders, TWO[list(CASES).index(name) % len(TWO)])


@pytest.mark.parametrize("name", list(CASES)[::4])
def test_levels_of_code_generation(name: str) -> None:
    check(CASES[name], min(CASES[name].orders, 1), [(512, 0), (128, 2), (512, 2)], passes=False)


@pytest.mark.parametrize("name", LONG)
def test_long_functions(name: str) -> None:
    check(LONG[name], 1, [*EVERY, (256, 2)])


# ---- thresholds lowered, so that small sizes do what large ones do


def _chunked(set: Callable[[object, str, object], None]) -> None:
    """Every statement takes long, so it is cut into single turns, and the pool takes helpers for them."""
    real = chunks.nanoseconds
    set(chunks, "nanoseconds", lambda statement: real(statement) * 10**5)


def _looking(set: Callable[[object, str, object], None]) -> None:
    """Every loop looks for signals."""
    set(chunks, "LOOK", 3)


def _blocked(set: Callable[[object, str, object], None]) -> None:
    set(folds, "BLOCK", 16)
    set(schedule, "LONG", 16)


def _summed_in_parts(set: Callable[[object, str, object], None]) -> None:
    set(emit_folds, "PART", 64)


def _apart(set: Callable[[object, str, object], None]) -> None:
    set(emit, "APART", 1)
    set(emit, "ON_STACK", 64)


def _multiplied(set: Callable[[object, str, object], None]) -> None:
    set(gemm, "least_called", lambda: 1)


def _separate(set: Callable[[object, str, object], None]) -> None:
    set(rows, "ROW", 8)


def _looped(set: Callable[[object, str, object], None]) -> None:
    set(rows, "TINY", 0)


def _written_out(set: Callable[[object, str, object], None]) -> None:
    set(rows, "FEW", 64)


THRESHOLDS: dict[str, tuple[Callable[[Callable[[object, str, object], None]], None], ...]] = {
    "chunks": (_chunked,),
    "blocks": (_blocked, _looking),
    "blocks in chunks, apart": (_chunked, _blocked, _apart),
    "calls of products": (_multiplied, _chunked),
    "separate": (_separate, _chunked),
    "looped": (_looped, _looking),
    "written out": (_written_out, _apart),
    "sums in parts": (_summed_in_parts, _chunked),
}


TURNS = [(each, name) for k, each in enumerate(THRESHOLDS) for name in list(CASES)[k % 4 :: 4]]
"""Each case under two of the thresholds."""


@pytest.mark.parametrize(("thresholds", "name"), TURNS)
def test_other_thresholds(name: str, thresholds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for lower in THRESHOLDS[thresholds]:
        lower(monkeypatch.setattr)
    check(CASES[name], min(CASES[name].orders, 1), [(128, 0), (512, 0)], passes=False)  # they know no threshold
