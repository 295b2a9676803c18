"""Functions that cannot be captured: traced on the values at hand, and again where a call decides otherwise."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback
from pullback import grad, hessian, hvp, jit, value_and_grad
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.guard import Stale, guard
from pullback.compiler.settings import settings as configured
from pullback.runtime.compiled import function as functions
from pullback.runtime.compiled import variants
from tests import test_control_corpus as corpus
from tests.control.reference import Derivatives, outcome


def define(text: str, **given: Any) -> Callable[..., Any]:
    """The function of a text: no source can be found for it."""
    space: dict[str, Any] = {"np": np, "math": math, "pullback": pullback, **given}
    exec(text, space)
    return space["f"]


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """An item for every trace."""
    made: list[Any] = []
    trace = functions.trace
    monkeypatch.setattr(functions, "trace", lambda *args: made.append(args) or trace(*args))
    return made


BRANCH = """
def f(x):
    if x > 1.0:
        return x * x
    return 3.0 * x
"""

WHILE = """
def f(a):
    x, n = a, 0
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
        n += 1
    return x
"""

RECURSION = """
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)
def f(x, n):
    return power(x, n)
"""

GENERATOR = """
def f(x, n):
    return sum(x ** k for k in range(n)) + next(v for v in (x, 2.0, 3.0) if v > 0)
"""

TABLE = """
def f(x, n):
    names = ["zero", "one", "two"]
    return {"zero": x, "one": x * x, "two": x * x * x}[names[n]]
"""

SORTED = """
def f(x, y):
    low, high = sorted([x, y])
    return max(low * 2.0, min(high, 1.0)) + low * high
"""

WITH = """
class Scope:
    def __enter__(self): return 2.0
    def __exit__(self, *error): return False
def f(x):
    with Scope() as two, np.errstate(all="ignore"):
        try:
            if x < 0.0:
                raise ValueError("below")
            y = two * x
        except ValueError:
            y = x * x
        finally:
            y = y + 1.0
    return y
"""


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (BRANCH, [(2.0,), (0.5,), (0.9,), (-3.0,), (2.5,)]),
        (WHILE, [(2.0,), (100.0,), (3.0,), (0.3,)]),
        (RECURSION, [(1.5, 3), (1.5, 0), (2.0, 5), (0.5, 3)]),
        (GENERATOR, [(1.5, 3), (-1.5, 3), (0.5, 4)]),
        (TABLE, [(1.5, 0), (1.5, 2), (2.0, 1), (2.5, 2)]),
        (SORTED, [(0.3, 2.0), (2.0, 0.3), (0.1, 0.15), (3.0, 2.0)]),
        (WITH, [(2.0,), (-2.0,), (3.0,), (-0.5,)]),
    ],
    ids=["branch", "while", "recursion", "generator", "table", "sorted", "with"],
)
def test_calls_and_gradients_are_plain_pythons(text: str, calls: list[Any]) -> None:
    f = define(text)
    value, slope, both, curve = jit(f), grad(f), value_and_grad(f), grad(grad(f))
    for args in [*calls, *reversed(calls)]:
        wanted = f(*args)
        assert value(*args) == wanted and type(value(*args)) is type(wanted)
        h = 1e-4
        near = [f(args[0] + k * h, *args[1:]) for k in (-1, 0, 1)]
        assert slope(*args) == pytest.approx((near[2] - near[0]) / (2 * h), rel=1e-5, abs=1e-6)
        assert both(*args) == (pytest.approx(wanted, rel=1e-14), slope(*args))
        assert curve(*args) == pytest.approx((near[2] - 2 * near[1] + near[0]) / h**2, rel=1e-3, abs=1e-5)


def test_another_decision_traces_again_and_an_old_one_does_not(traces: list[Any]) -> None:
    compiled = jit(define(BRANCH))
    for x in (2.0, 3.0, 0.5, 4.0, 0.25, 5.0, -1.0):
        assert compiled(x) == (x * x if x > 1 else 3 * x)
    assert len(traces) == 2
    assert [len(form.frozen) for form in compiled.report().forms] == [1, 1]


def test_known_decisions_are_passed_on_by_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = jit(define(BRANCH))
    assert (compiled(2.0), compiled(0.5)) == (4.0, 1.5)
    monkeypatch.setattr(variants.Variants, "run", None)
    for x in (2.0, 0.5, 3.0, 0.25) * 20:
        assert compiled(x) == (x * x if x > 1 else 3 * x)


def test_functions_that_decide_nothing_have_no_guards() -> None:
    compiled: Any = jit(define("def f(x): return np.sin(x) * x"))
    compiled(1.0)
    (form,) = compiled.report().forms
    assert form.frozen == () and "guard" not in compiled.ir() and compiled._latest.variants is None


def test_a_number_is_frozen_with_its_bits() -> None:
    f = define("def f(x): return math.copysign(1.0, float(x)) * x")
    compiled = jit(f)
    for x in (0.0, -0.0, 1.0, -0.0, 0.0, math.nan, 2.0, math.nan, math.inf, -math.inf):
        assert np.array(compiled(x)).tobytes() == np.array(f(x)).tobytes()
    assert [d.value for form in compiled.report().forms for d in form.frozen].count("nan") == 1


@pytest.mark.parametrize(("low", "high"), [(np.float32(1.5), np.float32(-0.0)), (np.int32(3), np.int32(-4)),
                                            (np.float64(0.0), np.float64(5.0)), (7, -7)])
def test_numbers_of_every_kind_are_frozen(low: Any, high: Any) -> None:
    f = define("def f(x): return np.float64(2.0) ** int(x)")
    compiled = jit(f)
    for x in (low, high, low):
        assert compiled(x) == f(x)


def test_a_derivative_never_misses_a_number() -> None:
    f = define("def f(x, y): return math.sin(float(x)) * y")
    assert jit(f)(0.5, 2.0) == f(0.5, 2.0)
    assert grad(f, 1)(0.5, 2.0) == math.sin(0.5)
    with pytest.raises(TraceError, match="a derivative would not see") as caught:
        grad(f)(0.5, 2.0)
    assert "stop_gradient" in str(caught.value) and "use NumPy's functions" in str(caught.value)


def test_a_number_whose_derivative_is_not_wanted() -> None:
    f = define("def f(x): return math.floor(float(pullback.stop_gradient(x))) * x + math.floor(x)")
    slope = grad(f)
    assert [slope(x) for x in (2.5, 7.25, 2.75)] == [2.0, 7.0, 2.0]
    with pytest.raises(ValueError, match="NaN"):
        jit(f)(math.nan)


def test_elements_stay_traced() -> None:
    f = define("def f(x): return x[0].item() * x.item(1) + sum(x.tolist())")
    x = np.array([2.0, 5.0, 7.0])
    assert jit(f)(x) == 24.0
    assert grad(f)(x).tolist() == [6.0, 3.0, 1.0]


def test_loops_over_numbers_that_depend_on_values() -> None:
    f = define("""
def f(x, n):
    total = 0.0 * x
    for k in range(int(n)):
        total = total + x ** k
    return total
""")
    slope = grad(f)
    for n in (3.0, 5.0, 3.5, 0.0, 5.9):
        assert slope(2.0, n) == sum(k * 2.0 ** (k - 1) for k in range(1, int(n)))


def test_masks_take_what_they_take_now() -> None:
    f = define("def f(x): return np.sum(x[x > 0] ** 2)")
    slope = grad(f)
    for x in ([1.0, -2.0, 3.0], [-1.0, -2.0, 3.0], [-1.0, -1.0, -1.0], [4.0, -5.0, 6.0]):
        assert slope(np.array(x)).tolist() == [2 * v if v > 0 else 0.0 for v in x]


def test_integer_arrays_become_arrays() -> None:
    f = define("def f(x, i): return sum(x[k] for k in np.asarray(i)) * x[0]")
    x = np.array([1.0, 2.0, 4.0])
    for i in ([0, 1], [2, 2], [0, 1]):
        assert jit(f)(x, np.array(i)) == f(x, np.array(i))


def test_numbers_are_found_in_sets_and_dicts() -> None:
    f = define("def f(x, n): return x * {1: 2.0, 2: 3.0}.get(n, 5.0) + (1.0 if n in {2, 3} else 0.0) + (n in [x, 3])")
    for n in (1, 2, 3, 1, 2):
        assert jit(f)(2.0, n) == f(2.0, n)
        assert grad(f)(2.0, n) == {1: 2.0, 2: 3.0}.get(n, 5.0)


@pytest.mark.parametrize("text", [BRANCH, WHILE, WITH])
def test_the_reference_executor(text: str) -> None:
    f = define(text)
    with configured.override(reference=True):
        value, slope = jit(f), grad(f)
        for x in (2.0, 0.5, 3.0, 0.25, 2.0):
            assert value(x) == f(x)
            assert slope(x) == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-6)


# ---- what may fail


CAUGHT = """
def f(x, i):
    try:
        return x[i] * 2.0
    except IndexError:
        return np.sum(x)
"""


def test_a_caught_failure_is_a_decision() -> None:
    f = define(CAUGHT)
    value, slope = jit(f), grad(f)
    x = np.array([1.0, 2.0, 4.0])
    for i in (1, 7, -1, -9, 2, 3):
        assert value(x, i) == f(x, i)
        assert slope(x, i).sum() == (2.0 if -3 <= i < 3 else 3.0)


def test_no_failure_of_another_call_surfaces() -> None:
    """The form for a large sum reads at an index that is out of range in calls that decide otherwise."""
    f = define("""
def f(x, i):
    if np.sum(np.exp(x)) > 10.0:
        return x[i]
    return x[0]
""")
    value, slope = jit(f), grad(f)
    large, small = np.array([3.0, 1.0]), np.array([0.0, 0.0])
    for _ in range(2):
        assert value(large, 1) == 1.0 and value(small, 99) == 0.0
        assert slope(large, 1).tolist() == [0.0, 1.0] and slope(small, 99).tolist() == [1.0, 0.0]
        with pytest.raises(IndexError, match="index 99 is out of bounds for axis 0 with size 2"):
            value(large, 99)


def test_the_first_exception_is_the_one_that_comes() -> None:
    f = define("def f(x, i):\n    if i < 0: y = 1.0\n    return x[i] + y")
    value = jit(f)
    for i, kind in ((1, UnboundLocalError), (-1, None), (5, IndexError), (-7, IndexError), (-2, None)):
        if kind is None:
            assert value(np.ones(3), i) == 2.0
        else:
            with pytest.raises(kind):
                value(np.ones(3), i)


def test_exceptions_of_the_user_come_each_time() -> None:
    f = define("def f(x):\n    if x < 0: raise ValueError('below')\n    return x * 2")
    value = jit(f)
    for _ in range(3):
        assert value(1.0) == 2.0
        with pytest.raises(ValueError, match="below"):
            value(-1.0)


def test_the_truth_of_several_elements_stays_refused() -> None:
    with pytest.raises(TraceError, match="source is not found") as caught:
        jit(define("def f(x): return x if x > 0 else -x"))(np.ones(3))
    assert "ambiguous" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="ambiguous"):
        jit(lambda x: max(x, -x))(np.ones(3))


# ---- ways to call


def test_results_in_place_of_an_argument_are_not_lost() -> None:
    f = define("""
def f(w):
    y = w * 2.0
    if np.sum(np.sin(w)) > 0.5: return y
    return w + 1.0
""")
    step = jit(f)
    w = np.full(40, 0.5)
    assert step(w)[0] == 1.0 and step(-w)[0] == 0.5
    for _ in range(30):
        wanted = f(w)
        made = step(w, out=w)
        assert made is w and made.tolist() == wanted.tolist()
        w = -w if w[0] > 4 else w


def test_results_of_another_structure() -> None:
    f = define("def f(x):\n    if x[0] > 0: return x * 2.0, 1.0\n    return {'sum': np.sum(x)}")
    value, x = jit(f), np.array([1.0, 2.0])
    first, out = value(x), (np.zeros(2), None)
    assert first[0].tolist() == [2.0, 4.0] and value(-x) == {"sum": -3.0}
    assert value(x, out=out)[0] is out[0]
    with pytest.raises(TypeError, match="out is a tuple, expected a dict"):
        value(-x, out=out)


def test_arguments_by_name() -> None:
    f = define("def f(x, *, bias=0.0):\n    return x + bias if x > bias else x - bias")
    value = jit(f)
    for x, bias in ((1.0, 2.0), (3.0, 2.0), (1.5, 2.0)) * 3:
        assert value(x, bias=bias) == f(x, bias=bias) and value(x) == f(x)


def test_long_kernels_let_others_run_and_still_go_on() -> None:
    f = define("def f(x):\n    return np.sum(x * 2.0) if x[0] > 0 else np.sum(x * x)")
    value, x = jit(f), np.ones(300_000)
    for sign in (1, -1, 1, -1):
        assert value(sign * x) == (600_000.0 if sign > 0 else 300_000.0)


def test_hidden_inputs_beside_decisions() -> None:
    f = define("def f(x):\n    return x * scale[0] if x > limit else x", scale=np.array([2.0]), limit=1.0)
    value, space = jit(f), f.__globals__
    for _ in range(2):
        assert (value(2.0), value(0.5)) == (4.0, 0.5)
    space["scale"] = np.array([3.0])
    assert (value(2.0), value(0.5)) == (6.0, 0.5)
    space["limit"] = 3.0
    assert (value(2.0), value(4.0)) == (2.0, 12.0)


def test_compiled_functions_inside_one_another() -> None:
    inner = jit(define(BRANCH))
    slope = grad(inner)
    text = "def f(x): return inner(x) + slope(x) * x if inner(x) > 1 else inner(2.0) * x"
    outer = define(text, inner=inner, slope=slope)
    value, derived = jit(outer), grad(outer)
    for x in (2.0, 0.1, 0.5, 3.0, 0.2):
        assert value(x) == outer(x)
        assert derived(x) == pytest.approx((outer(x + 1e-6) - outer(x - 1e-6)) / 2e-6, rel=1e-6)


def test_higher_derivatives() -> None:
    f = define("""
def f(x):
    s = np.sum(x ** 3)
    return s * s if s > 0 else np.sum(np.sin(x)) * s
""")
    for x in (np.array([1.0, 2.0]), np.array([-1.0, -0.5])):
        full = hessian(f)(x)
        basis = np.eye(2) * 1e-5
        wanted = [(grad(f)(x + e) - grad(f)(x - e)) / 2e-5 for e in basis]
        np.testing.assert_allclose(full, wanted, rtol=1e-6)
        np.testing.assert_allclose(hvp(f)(x, np.array([1.0, -1.0])), full @ [1.0, -1.0], rtol=1e-12)


def test_a_c_function_is_not_made_for_one_way() -> None:
    value = jit(define(BRANCH))
    value(2.0)
    with pytest.raises(TraceError, match="source is not found"):
        value.cfunc(2.0)
    assert value(2.0) == 4.0


# ---- many ways, many threads


def test_ways_without_end_are_bounded() -> None:
    f = define("def f(x, n):\n    for k in range(int(n)): x = np.sin(x) + k\n    return x")
    value = jit(f)
    for n in range(variants.MOST + 20):
        assert value(0.5, float(n)) == pytest.approx(f(0.5, float(n)), rel=1e-14)
    forms = value.report().forms
    assert len(forms) == variants.EAGER and forms[0].alone == variants.MOST + 20 - variants.EAGER
    assert "ran op by op" in str(value.report())


def test_a_way_taken_twice_is_compiled(monkeypatch: pytest.MonkeyPatch, traces: list[Any]) -> None:
    monkeypatch.setattr(variants, "MOST", 12)
    monkeypatch.setattr(variants, "IDLE", 10)
    value = jit(define("def f(x, n):\n    for k in range(n): x = x * 2.0\n    return x"))
    for n in [*range(14)] * 3:
        assert value(1.0, n) == 2.0**n
    assert len(value.report().forms) == 12
    before = len(traces)
    assert value(1.0, 13) == 2.0**13 and len(traces) == before


def test_threads_that_decide_otherwise() -> None:
    value = jit(define(WHILE))
    wrong: list[float] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for a in rng.uniform(1e-3, 1e3, 60):
            if abs(value(float(a)) - math.sqrt(a)) > 1e-9 * math.sqrt(a):
                wrong.append(a)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_the_report_tells_what_was_frozen() -> None:
    value = jit(define("def f(x, n):\n    return x ** n if x > 0 else x * float(n)"))
    assert [value(2.0, 3), value(-2.0, 3), value(-2.0, 4)] == [8.0, -6.0, -8.0]
    told = [(d.what, d.value, d.failed) for form in value.report().forms for d in form.frozen]
    assert told == [("bool()", "False", 0), ("float()", "4", 0), ("bool()", "False", 0), ("float()", "3", 1),
                    ("bool()", "True", 2)]
    assert "only where bool() at <string>:2 is True (not in 2 calls)" in str(value.report())


# ---- random decisions


@given(st.lists(st.floats(-4, 4), min_size=3, max_size=3), st.lists(st.floats(-5, 5), min_size=4, max_size=12))
@settings(max_examples=25, deadline=None)
def test_piecewise_functions(edges: list[float], points: list[float]) -> None:
    f = define("""
def f(x):
    y = x
    for k, edge in enumerate(edges):
        if y > edge: y = y * 0.5 + k
        elif y < -edge: y = np.cos(y)
        else: continue
        if y == 0: break
    return y
""", edges=edges)
    value, slope = jit(f), grad(f)
    for x in points:
        assert value(x) == f(x) or abs(value(x) - f(x)) < 1e-14
        near = [f(x + k * 1e-7) for k in (1, 0, -1)]
        if abs(near[0] - 2 * near[1] + near[2]) < 1e-12 and abs(near[0] - near[2]) < 1e-5:
            assert slope(x) == pytest.approx((near[0] - near[2]) / 2e-7, abs=1e-6)


# ---- what is written with Python's math and into memory


def test_math_is_differentiated_and_raises_as_it_does() -> None:
    f = define("""
def f(x, y):
    try:
        z = math.sqrt(x) + math.log(x, 2.0)
    except ValueError:
        z = math.atan2(x, y)
    return z * math.degrees(y) + math.pow(y, 2.0)
""")
    value, slope = jit(f), grad(f)
    for x, y in ((2.0, 3.0), (-2.0, 3.0), (0.0, 1.0), (5.0, 0.5), (-1.0, -0.5)):
        assert value(x, y) == pytest.approx(f(x, y), rel=1e-13)
        if x:
            assert slope(x, y) == pytest.approx((f(x + 1e-6, y) - f(x - 1e-6, y)) / 2e-6, rel=1e-6)
    with pytest.raises(OverflowError, match="math range error"):
        jit(lambda x: math.exp(x) if x is not None else x)(1e4)
    assert math.sin(0.0) == 0.0 and "frontend" not in repr(math.sin)


def test_numbers_are_stored_where_they_can_be_differentiated() -> None:
    f = define("""
def f(x, n):
    table, grid = np.zeros(n + 1), np.ones((2, n))
    table[0] = 1.0
    for k in range(1, n + 1):
        table[k] = table[k - 1] * x + table[k // 2]
        table[-1] += 0.5
    grid[1, 1:] = table[1:n] * 2.0
    grid[..., 0] = x
    return np.sum(table) + np.sum(grid)
""")
    value, slope = jit(f), grad(f)
    for x, n in ((0.5, 3), (0.5, 6), (1.5, 3)):
        assert value(x, n) == pytest.approx(f(x, n), rel=1e-14)
        assert slope(x, n) == pytest.approx((f(x + 1e-6, n) - f(x - 1e-6, n)) / 2e-6, rel=1e-7)
    assert type(np.zeros(2)) is np.ndarray and "frontend" not in repr(np.zeros)


@pytest.mark.parametrize("text", ["x[0] = 1.0", "y = np.sin(x); z = y[1:]; y[0] = 1.0", "y = x * 1.0; y[[0, 1]] = 2.0"])
def test_memory_that_is_seen_elsewhere_is_not_written(text: str) -> None:
    with pytest.raises(TraceError, match="source is not found") as caught:
        jit(define(f"def f(x):\n    {text}\n    return np.sum(x)"))(np.ones(3))
    assert "assignment into an array" in str(caught.value.__cause__)


CORPUS = sorted(corpus.CASES)[::4]
REFUSED = "a derivative would not see", "assignment into an array", "an ndarray of a traced", "in-place", "out="


@pytest.mark.parametrize("name", CORPUS)
def test_functions_of_the_corpus(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without capture they are refused, or right."""
    monkeypatch.setattr("pullback.compiler.frontend.trace.needs_walk", lambda function: False)
    case, twin = corpus.CASES[name]
    value = jit(case.function, static_argnums=case.static)
    slope = grad(corpus.along(case), argnums=case.wrt, static_argnums=case.static)
    for args in case.args:
        kind, wanted, _ = outcome(case.function, args)
        assert kind is None
        try:
            corpus.same(value(*copy.deepcopy(args)), wanted)
            if case.orders:
                made = corpus.floats(slope(*args, corpus.cotangent(case, args)))
                corpus.near(np.array(made), Derivatives(case, twin, args).gradient(), case.tolerance)
        except TraceError as refusal:
            assert any(word in str(refusal) for word in REFUSED)


# ---- the operation


def test_the_guard_in_a_graph() -> None:
    b = Builder("g", [Type("bool"), Type("i64")], ["p", "k"])
    guard(b, *b.params)
    graph = b.finish([b.params[1]])
    assert show(parse(show(graph))) == show(graph)
    with pytest.raises(Stale) as caught:
        guard.evaluate([np.array(False), np.array(3)], {}, ())
    assert caught.value.number == 3
    with pytest.raises(TypeError, match="guard wants a bool"):
        b.emit(guard, b.params[1], b.params[1])
