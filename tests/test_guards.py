"""Hidden inputs that native code watches: what a function names is never stale, and costs next to nothing."""

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.frontend.state.guards import native_guards
from pullback.compiler.frontend.state.hidden import scan

SCALE = 2.0


def double(x):
    return 2.0 * x


def helper(x):
    return double(x) * SCALE


def entries(function):
    return function.entry_count if hasattr(function, "entry_count") else len(function._entered)


def test_functions_and_numbers_have_guards():
    guards = native_guards(scan(helper))
    assert guards is not None
    assert {g.kind for g in guards} == {"global", "code"}
    assert {g.name for g in guards if g.kind == "global"} == {"double", "SCALE"}


@pytest.mark.parametrize("value", [np.ones(3), [1.0, 2.0], {"a": 1.0}, (1.0, [2.0])])
def test_what_can_change_in_place_has_none(value):
    def f(x):
        return x * np.sum(value[0] if isinstance(value, (list, tuple)) else 1.0)

    assert native_guards(scan(f)) is None


def test_a_changed_global_is_seen(monkeypatch):
    f = jit(helper)
    assert f(3.0) == 12.0
    assert f(3.0) == 12.0
    assert entries(f) == 1
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert f(3.0) == 30.0
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert f(3.0) == 12.0


def test_a_replaced_helper_is_seen(monkeypatch):
    f = grad(helper)
    assert f(3.0) == 4.0
    monkeypatch.setitem(globals(), "double", lambda x: x * x)
    assert f(3.0) == 12.0


def test_replaced_code_is_seen():
    def inner(x):
        return x + 1.0

    def other(x):
        return x * 7.0

    f = jit(lambda x: inner(x))
    assert f(2.0) == 3.0
    inner.__code__ = other.__code__
    assert f(2.0) == 14.0


def test_a_rebound_cell_is_seen():
    factor = 2.0

    def f(x):
        return x * factor

    compiled = jit(f)
    assert compiled(3.0) == 6.0
    factor = 4.0
    assert compiled(3.0) == 12.0


def test_changed_defaults_are_seen():
    def inner(x, by=3.0):
        return x * by

    f = jit(lambda x: inner(x))
    assert f(2.0) == 6.0
    inner.__defaults__ = (10.0,)
    assert f(2.0) == 20.0


def test_a_deleted_global_is_an_error_as_in_python(monkeypatch):
    f = jit(helper)
    assert f(1.0) == 4.0
    monkeypatch.delitem(globals(), "SCALE")
    with pytest.raises(NameError, match="SCALE"):
        f(1.0)


def test_zero_and_minus_zero_and_one_and_true_are_apart(monkeypatch):
    f = jit(lambda x: np.copysign(1.0, SCALE) * x if isinstance(SCALE, float) else x)
    monkeypatch.setitem(globals(), "SCALE", 0.0)
    assert f(1.0) == 1.0
    monkeypatch.setitem(globals(), "SCALE", -0.0)
    assert f(1.0) == -1.0
