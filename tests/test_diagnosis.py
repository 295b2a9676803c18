"""What `fn.diagnose` finds: numbers that were planted to go wrong at a line, in a sweep, in a round, in a branch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, parse, value_and_grad
from pullback.runtime.inspect.diagnosis import Diagnosis, Finding


def line(function: Callable[..., Any], offset: int) -> int:
    """The line that stands so far below the function's head."""
    return function.__code__.co_firstlineno + offset


def only(made: Diagnosis, kind: str, sweep: str = "value") -> Finding:
    (found,) = [f for f in made.findings if f.kind == kind and f.sweep == sweep]
    return found


def logs(x):
    y = np.log(x)
    z = y * 0.0
    return np.sum(z)


def roots(x):
    y = x - 1.0
    z = np.sqrt(y)
    return np.sum(z * 3.0)


def rounds(x, n):
    t = x
    k = 0
    while k < n:
        t = t - 0.75
        t = np.sqrt(t)
        k = k + 1
    return t


def branches(x):
    if x > 2.0:
        y = np.log(x - 3.0)
    else:
        y = x * x
    return y + 1.0


def nested(x, n, m):
    t = x
    k = 0
    while k < n:
        i = 0
        while i < m:
            t = t * x
            i = i + 1
        k = k + 1
    return t


def test_the_first_of_each_kind_is_found_with_its_line_operands_and_way() -> None:
    made = jit(logs).diagnose(np.array([1.0, 0.0, 2.0]))
    first, second = made.findings
    assert (first.kind, first.operation, first.line) == ("infinity", "log", line(logs, 1))
    assert first.element == (1,) and first.value == -np.inf and first.operands[0].name == "x[1]"
    assert [place.split(" at ")[0] for place in first.path] == ["mul", "sum"] and first.reaches
    assert (second.kind, second.operation, second.line) == ("NaN", "mul", line(logs, 2))
    assert made.first is first and not made.ok
    text = str(made)
    assert f"{line(logs, 1)} | y = np.log(x)" in text and "element [1] is -inf; x[1] is 0.0" in text


@pytest.mark.parametrize("transform", [grad, value_and_grad])
def test_the_adjoint_is_looked_at_where_the_value_is_fine(transform: Any) -> None:
    made = transform(roots).diagnose(np.array([2.0, 1.0, 5.0]))
    found = only(made, "infinity", "adjoint")
    assert found.line == line(roots, 2) and found.element == (1,) and found.path
    assert not [f for f in made.findings if f.sweep == "value"]
    assert jit(roots).diagnose(np.array([2.0, 1.0, 5.0])).ok, "who asks for no gradient hears of none"
    assert transform(roots).diagnose(np.array([2.0, 1.5, 5.0])).ok


def test_what_the_value_did_is_not_told_twice() -> None:
    made = grad(roots).diagnose(np.array([2.0, 0.0]))
    assert only(made, "NaN").line == line(roots, 2)
    assert all(f.operation != "sqrt" for f in made.findings if f.sweep == "adjoint")


@pytest.mark.parametrize("x", [1.3, 1.0, 0.99])
def test_a_loop_tells_the_round(x: float) -> None:
    t, want = x, -1
    for k in range(40):
        if t - 0.75 < 0:
            want = k
            break
        t = np.sqrt(t - 0.75)
    found = only(jit(rounds).diagnose(x, 40), "NaN")
    assert (found.operation, found.line) == ("sqrt", line(rounds, 5))
    assert found.rounds == ((found.rounds[0][0], want),) and want > 0
    where = found.rounds[0][0]
    assert where is not None and where.line == line(rounds, 3)
    assert f"in round {want} of the loop at" in str(found)


def test_nested_loops_tell_both_rounds() -> None:
    found = only(jit(nested).diagnose(1e10, 5, 7), "overflow")
    assert [k for _, k in found.rounds] == [4, 1], "x to the power of 31: 28 products before, 2 more"
    assert found.line == line(nested, 6) and len(found.path) == 5


def test_a_branch_is_followed_where_it_goes() -> None:
    made = jit(branches).diagnose(2.5)
    assert only(made, "NaN").line == line(branches, 2) and jit(branches).diagnose(1.5).ok
    assert only(grad(branches).diagnose(2.5), "NaN").operation == "log"


def test_the_adjoint_of_a_loop_tells_the_round() -> None:
    def scaled(x, n):
        t = x
        k = 0
        while k < n:
            t = np.sqrt(t * t)
            t = t - 0.5
            k = k + 1
        return t

    made = grad(scaled).diagnose(1.0, 4)  # 1.0, 0.5, 0.0: there the slope of the root is infinite
    found = made.first
    assert found is not None and found.sweep == "adjoint" and found.line == line(scaled, 4)
    assert [k for _, k in found.rounds] == [2]


def test_overflow_and_infinity_are_told_apart() -> None:
    assert only(jit(np.exp).diagnose(1000.0), "overflow").operation == "exp"
    assert only(jit(lambda x: 1.0 / x).diagnose(np.zeros(1)), "infinity").operation == "div"
    assert only(jit(lambda x: x * x).diagnose(np.float32(1e30)), "overflow").operation == "mul"
    wrapped = only(jit(lambda n: n * n).diagnose(np.full(2, 2**40)), "overflow")
    assert wrapped.operation == "mul" and wrapped.element == (0,) and wrapped.value == 0
    assert jit(lambda n: n * n).diagnose(np.full(2, 2**31)).ok


def test_denormals_are_found_and_come_last() -> None:
    tiny = jit(lambda x: np.log(x * 1e-300 * 1e-20) + np.log(x - 1.0)).diagnose(1.0)
    assert only(tiny, "denormal").operation == "mul"
    assert tiny.first is not None and tiny.first.kind == "infinity"


def test_what_came_along_is_told_as_that() -> None:
    found = only(jit(logs).diagnose(np.array([1.0, np.nan])), "NaN")
    assert found.operation == "argument" and found.operands[0].name == "x" and found.element == (1,)
    table = np.array([1.0, np.inf])
    assert only(jit(lambda x: x * table).diagnose(np.ones(2)), "infinity").operation == "argument"


def test_what_is_hidden_comes_to_no_result() -> None:
    made = jit(lambda x: np.where(x > 0, np.log(x), 0.0)).diagnose(np.array([1.0, 0.0]))
    assert only(made, "infinity").path == () and "comes to no result" in str(made)
    assert made.kinks, "and the point lies where the choice changes"


def test_kinks_are_told_of_gradients() -> None:
    def top(x):
        return np.max(x) + np.abs(x[0])

    made = grad(top).diagnose(np.array([0.0, 2.0, 2.0]))
    assert made.ok and len(made.kinks) == 2
    assert any(place.startswith("max at ") for place in made.kinks)


def test_good_numbers_are_good() -> None:
    made = grad(logs).diagnose(np.array([1.0, 2.0]))
    assert made.ok and made.first is None and made.followed > 4 and made.whole
    assert "no NaN, infinity, overflow or denormal" in str(made) and repr(made) == str(made)


def test_a_very_long_loop_is_followed_as_far_as_can_be() -> None:
    def growing(x, n):
        k = 0
        while k < n:
            x = x * 2.0
            k = k + 1
        return x

    made = jit(growing).diagnose(1.0, 10**9)
    assert not made.whole and "only the first" in str(made)
    found = only(made, "overflow")
    assert found.rounds[0][1] == 1023 and found.reaches is None and "was not followed to the end" in str(found)


def test_graphs_from_text_are_diagnosed_too() -> None:
    text = jit(logs).ir("graph", np.ones(2))
    found = parse(text).diagnose(np.array([1.0, 0.0])).first
    assert found is not None and found.line == line(logs, 1)


def test_arguments_that_are_missing_are_named() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        jit(logs).diagnose()


def test_functions_that_warn_are_followed_all_the_same() -> None:
    def warning(x):
        if x < 1.0:
            warnings.warn("small", stacklevel=2)
        return np.log(x - 0.5)

    found = jit(warning).diagnose(0.5).first
    assert found is not None and found.kind == "infinity" and found.line == line(warning, 3)
