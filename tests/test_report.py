"""What a function tells of its compiled forms: times and reasons, and the memory they need."""

from typing import Any

import numpy as np

from pullback import grad, jit, value_and_grad
from pullback.compiler.backend import tiers
from pullback.compiler.settings import settings

SCALE = 3.0
COLUMNS = ["trace", "adjoint", "passes", "lowering", "emit", "codegen", "link", "entry", "disk"]
COLUMNS += ["total", "ops", "level"]


def kernel_of(function: Any) -> Any:
    return function._latest.kernel


def test_a_report_has_a_row_for_each_form_and_says_what_it_is_for():
    @grad
    def slope(x, p, mode="a"):
        return np.sum(x * x) * p["k"] * SCALE

    assert slope.report().forms == ()
    slope(2.0, {"k": 3.0})
    slope(np.ones(3), {"k": 3.0}, "b")
    first, second = slope.report().forms
    assert first.arguments == "x: a Python float, p['k']: a Python float"
    assert second.arguments == "x: an array of float64, shape (3,), p['k']: a Python float, mode: 'b'"
    for form in (first, second):
        assert {"trace", "adjoint", "passes", "lowering", "emit", "codegen", "link", "entry"} <= set(form.times)
        assert form.total == sum(form.times.values()) > 0 and form.operations > 2
        assert (form.level, form.improves, form.entry, form.cached) == (0, True, "native", ())
        assert form.hidden == ("global SCALE",) and form.reasons
    text = str(slope.report())
    assert text.startswith("slope: 2 compiled forms, times in ms\n") and "watches global SCALE" in text
    rows = text.splitlines()[1:4]
    assert rows[0].split() == COLUMNS
    assert len({len(row) for row in rows}) == 1


def test_example_arguments_are_compiled_first_and_told_alone():
    @jit
    def double(x):
        return x + x

    (form,) = double.report(np.ones(4)).forms
    assert form.arguments == "x: an array of float64, shape (4,)"
    assert len(double.memory(1.0).forms) == 1 and len(double.report().forms) == 2


def test_many_arguments_are_shortened():
    @jit
    def total(items):
        return sum(items)

    total([1.0] * 50)
    assert total.report().forms[0].arguments.endswith(", items[5]: a Python float and 44 more")


def test_better_code_is_told_of():
    slope: Any = grad(lambda x: np.sum(np.sin(x)))
    x = np.ones(5000)
    slope(x)
    assert "better code is made when" in str(slope.report())
    for _ in range(slope._latest.kernel.code.calls):
        slope(x)
    assert tiers.settle()
    (form,) = slope.report().forms
    assert form.level == 2 and "made in the background in" in str(slope.report())
    assert form.total < sum(form.times.values())


def test_functions_that_are_not_compiled_have_reports_too():
    with settings.override(reference=True):
        slope = grad(lambda x: np.sum(np.sin(x)))
        slope(np.ones(5))
        (form,) = slope.report().forms
        assert (form.level, form.entry) == (None, "python")
        assert slope.memory().forms[0].scratch == ()
        assert "python entry" in str(slope.report())


def test_memory_is_planned_before_anything_runs():
    @value_and_grad
    def loss(x):
        z = x - np.max(x, axis=1, keepdims=True)
        p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
        return np.sum(p.sum(axis=0) ** 2)

    (plan,) = loss.memory(np.ones((300, 500))).forms
    assert (plan.arguments, plan.results) == (300 * 500 * 8, 300 * 500 * 8 + 8)
    assert plan.arena == kernel_of(loss).emitted.arena and plan.kept
    for a in plan.scratch:
        assert a.offset + a.bytes <= plan.arena and a.first <= a.last
        for b in plan.scratch:
            together = a.first <= b.last and b.first <= a.last
            apart = a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
            assert a is b or apart or not together
    text = str(loss.memory())
    assert "reads 1,200,000 bytes of arguments and writes 1,200,008 bytes of results" in text
    assert all(s.name in text for s in plan.scratch)


def test_small_temporaries_are_on_the_stack():
    text = str(jit(lambda x: np.tanh(x @ x) @ x).memory(np.ones((5, 5))))
    assert "on the stack" in text or "needs no memory besides" in text
