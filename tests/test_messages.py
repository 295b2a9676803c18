"""Exceptions say their numbers, warnings come at each call, and refusals name who asked and a cure that works."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.special

from pullback import external, grad, hessian, hvp, implicit, jit, jvp, vjp, vmap
from pullback.compiler.settings import settings
from tests import capture_helpers as helpers

EXECUTORS = ("native", "reference")


RAISING = [
    helpers.asserted, helpers.in_a_loop, helpers.formatted, helpers.named_before, helpers.of_its_own_class,
    helpers.of_an_array,
]  # fmt: skip


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        function(*args, **kwargs)
    return caught.value


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("function", RAISING)
def test_exceptions_say_their_numbers(function: Callable[..., Any], executor: str) -> None:
    want = raised(function, -1.5)
    with settings.override(reference=executor == "reference"):
        product = hvp(function)
        for call in (jit(function), grad(function), lambda x: product(x, 1.0), jit(lambda x: grad(function)(x) * 2)):
            for _ in range(2):
                found = raised(call, -1.5)
                assert (type(found), found.args) == (type(want), want.args)
                assert vars(want).items() <= vars(found).items()
            assert np.isfinite(call(1.5))


def test_exceptions_of_lanes_and_directions_say_their_numbers() -> None:
    f = helpers.in_a_loop
    want, lanes = str(raised(f, -1.5)), np.array([1.0, -1.5])
    calls = [
        lambda: vmap(f)(lanes), lambda: jvp(f, (-1.5,), (1.0,)), lambda: vjp(f, -1.5), lambda: hessian(f)(-1.5),
        lambda: vmap(grad(f))(lanes),
    ]  # fmt: skip
    for call in calls:
        assert str(raised(call)) == want


def test_what_is_written_over_is_there_when_the_message_is_made() -> None:
    compiled, w = jit(helpers.stepped), np.array([1.0, 2.0])
    for _ in range(2):
        compiled(w, out=w)
    assert str(raised(compiled, w, out=w)) == "w is 4.0"
    assert w.tolist() == [4.0, 8.0]


def test_without_python_a_message_is_as_it_is_written() -> None:
    text = jit(helpers.in_a_loop).ir("graph", 1.0)
    assert "untold ValueError" in text and r"total \u007btotal\u007d at \u007bi\u007d" in text


# ---- warnings


def warned_at(function: Callable[..., Any], *args: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = function(*args)
    return made, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


def always(x):
    warnings.warn("careful", RuntimeWarning, stacklevel=1)
    return x * x


def sometimes(x):
    for i in range(20):
        if x > 3:
            warnings.warn(f"x is {x} at {i}", stacklevel=1)
        x = x * 1.1
    return x


@pytest.mark.parametrize("function", [always, sometimes])
def test_warnings_come_at_each_call_and_at_their_line(function: Callable[..., Any]) -> None:
    for transformed in (jit(function), grad(function)):
        for x in (2.9, 0.1, 2.9, 2.9):
            assert warned_at(transformed, x)[1] == warned_at(function, x)[1]
        assert np.isclose(warned_at(jit(function), 2.9)[0], warned_at(function, 2.9)[0])


def test_warnings_of_transforms_of_transforms() -> None:
    want = warned_at(sometimes, 2.9)
    for call, args in ((jit(lambda x: sometimes(x)), (2.9,)), (vmap(sometimes), (np.array([2.9]),))):
        made, found = warned_at(call, *args)
        assert found == want[1] and np.allclose(made, want[0])
    assert warned_at(jit(lambda x: grad(sometimes)(x)), 2.9)[1] == want[1]


def test_a_warning_may_be_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "x is 3.19" in str(raised(jit(sometimes), 2.9))


def test_a_warning_for_the_caller_is_at_the_callers_line() -> None:
    def f(x):
        warnings.warn("for the caller", stacklevel=2)
        return x

    compiled = jit(f)
    for _ in range(2):
        _, found = warned_at(lambda: compiled(1.0))
        assert found[0][2] == __file__ and found[0][3] != f.__code__.co_firstlineno + 1


# ---- who asked, and the way out

signal: Any = scipy.signal
ASKED = [
    (lambda a: np.sum(np.abs(signal.hilbert2(np.stack([[a, a]])))), "scipy.signal.hilbert2", "external"),
    (lambda a: np.sum(np.abs(signal.czt(np.stack([a, a])))), "scipy.signal.czt", "pullback.external"),
    (lambda a: np.sum(scipy.linalg.qz(np.stack([[a]]), np.eye(1))[0]), "scipy.linalg.qz", "external"),
    (lambda a: scipy.special.lqn(2, a)[0][1], "scipy.special.lqn", "external"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "who", "way"), ASKED, ids=[each[1] for each in ASKED])
def test_calls_of_libraries_are_named_with_a_way_out(function: Callable[..., Any], who: str, way: str) -> None:
    def looped(x):
        for _ in range(2):
            y = function(x)
        return y

    for each in (function, looped):
        lines = str(raised(grad(each), 2.0)).splitlines()
        assert who in lines[0] and "test_messages.py" in lines[1] and way in lines[-1], lines


def test_the_ways_out_lead_out() -> None:
    @implicit(lambda x, a: x * x - a)
    def root(a):
        return external(lambda a: scipy.optimize.brentq(lambda x: x * x - a, 0.0, 3.0), float)(a)

    assert np.isclose(grad(root)(2.0), 0.5 / np.sqrt(2.0))
    integral = external(lambda a: scipy.integrate.quad(lambda x: x * a, 0.0, 1.0)[0], float, differences=True)
    assert np.isclose(grad(integral)(2.0), 0.5)
    slope = external(lambda a: scipy.integrate.quad(lambda x: x * a, 0.0, 1.0)[0], float, vjp=lambda ct, y, a: ct * 0.5)
    assert grad(slope)(2.0) == 0.5
    assert np.isclose(grad(lambda x: np.linalg.norm(x))(np.ones(2))[0], 1 / np.sqrt(2))
    assert jit(lambda x: np.convolve(x, np.ones(2)))(np.ones(2)).tolist() == [1.0, 2.0, 1.0]
    assert vmap(lambda v: v * 2)(np.ones(2)).tolist() == [2.0, 2.0]


# ---- without source

UNREAD = """
import numpy as np, warnings
from pullback import grad, jit
def f(x):
    y = np.zeros(3)
    y += x
    y[1] = np.sum(np.array([x, 2.0 * x])) + np.sum(np.full(2, x)) + np.sum(np.asarray([x, 1.0]))
    for k in range(3):
        y = y * x if x > 0 else y - k
    return np.sum(y) + max(x, 0.1)
def g(x):
    assert x > 0, f"x is {x}"
    warnings.warn("careful")
    return x
slope = (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6
print(abs(grad(f)(2.0) - slope) < 1e-4, jit(f)(-1.0) == f(-1.0), jit(lambda x: x * np.arange(3)[1])(2.0))
try:
    jit(g)(-1.0)
except AssertionError as error:
    print(error)
for _ in range(2):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        jit(g)(1.0)
        print(len(found))
"""


def test_programs_without_a_file_run() -> None:
    want = "True True 2.0\nx is -1.0\n1\n1\n"
    for arguments, given in ((["-"], UNREAD), (["-c", UNREAD], ""), (["-c", f"exec({UNREAD!r})"], "")):
        ran = subprocess.run([sys.executable, *arguments], input=given, capture_output=True, text=True, timeout=120)
        assert ran.stdout == want, ran.stderr
