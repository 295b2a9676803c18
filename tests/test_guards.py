"""Hidden inputs that native code watches: what a function names is never stale, and costs next to nothing."""

import math
import types

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.frontend.state.guards import native_guards
from pullback.compiler.frontend.state.hidden import scan
from pullback.compiler.frontend.state.reading import Hidden
from pullback.runtime.compiled import kernels

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


class Kept:
    scale = 2.0


class Model(Kept):
    def __init__(self):
        self.x, self.items, self.table = np.arange(3.0), [1.0, 2.0], {"a": 1.0, "b": 2.0}
        self.space = types.SimpleNamespace(z=3.0)

    def loss(self, u):
        held = self.items[0] + sum(self.table.values()) + self.space.z
        return np.sum(u * self.x * self.scale) + held * u[0]


def total(self, u):
    return np.sum(u * self.x) * self.scale


class Other(Model):
    def loss(self, u):
        return np.sum(u) * 0.5


MODEL, NESTED, LOGS, PLACES = Model(), (1.0, [2.0]), np.zeros(3), np.array([1, 2, 0])

CHANGES = {
    "an element of an attribute": lambda: MODEL.x.__setitem__(0, 7.0),
    "an attribute": lambda: setattr(MODEL, "x", np.ones(3)),
    "one of its own before that of the class": lambda: setattr(MODEL, "scale", 5.0),
    "that of the class again": lambda: delattr(MODEL, "scale"),
    "that of the class changed": lambda: setattr(Kept, "scale", 3.0),
    "that of a class between": lambda: setattr(Model, "scale", 9.0),
    "an item of a list": lambda: MODEL.items.__setitem__(0, 4.0),
    "one item more": lambda: MODEL.items.append(1.0),
    "a value of a dict": lambda: MODEL.table.__setitem__("a", 4.0),
    "one value more": lambda: MODEL.table.__setitem__("c", 4.0),
    "the order of a dict": lambda: MODEL.table.__setitem__("a", MODEL.table.pop("a")),
    "an attribute of an attribute": lambda: setattr(MODEL.space, "z", 8.0),
    "another such object": lambda: setattr(MODEL, "space", types.SimpleNamespace(z=1.0)),
    "a list in a tuple": lambda: NESTED[1].__setitem__(0, 9.0),
    "an array of which a constant is made": lambda: LOGS.__setitem__(slice(None), 2.0),
    "the sign of a zero": lambda: LOGS.__setitem__(slice(None), -0.0),
    "an index": lambda: PLACES.__setitem__(0, 2),
    "a method": lambda: setattr(Model, "loss", total),
    "a method of its own": lambda: setattr(MODEL, "loss", lambda u: np.sum(u) ** 2),
    "that of the class once more": lambda: delattr(MODEL, "loss"),
    "its dict": lambda: setattr(MODEL, "__dict__", MODEL.__dict__ | {"x": np.full(3, 4.0)}),
    "its class": lambda: setattr(MODEL, "__class__", Other),
    "code": lambda: setattr(Other.loss, "__code__", (lambda self, u: np.sum(u) * 0.25).__code__),
    "a shape": lambda: setattr(LOGS, "shape", (3, 1)),
}


def objective(u):
    return MODEL.loss(u) + NESTED[1][0] * u[1] + np.sum(np.log(LOGS + 1) * 2) * u[2] + u[PLACES[0]] ** 2


def test_whatever_changes_is_seen_at_the_next_call():
    value, slope = jit(objective), grad(objective)
    u = np.array([1.0, 2.0, 3.0])
    for what, change in {"nothing": lambda: None, **CHANGES}.items():
        change()
        numbers = [(objective(u + 1e-6 * e) - objective(u - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        for _ in range(3):  # compiled, entered, and once more
            assert value(u) == pytest.approx(objective(u), rel=1e-14), what
            assert slope(u) == pytest.approx(np.array(numbers), rel=1e-6), what
    assert entries(value) > 10


class Counting:
    """Python's work for a call: how often the hidden inputs were read."""

    def __init__(self, monkeypatch):
        self.count, read = 0, Hidden.read

        def counted(hidden):
            self.count += 1
            return read(hidden)

        monkeypatch.setattr(Hidden, "read", counted)


FORTRAN = np.asfortranarray(np.arange(6.0).reshape(2, 3))
DATA, WEIGHTS, SETTINGS = np.arange(12.0).reshape(4, 3), [1.0, 2.0], {"power": 2}


@pytest.mark.parametrize(
    "f",
    [
        lambda u: np.sum((DATA @ u - 1.0) ** 2),
        lambda u: np.concatenate([np.zeros(1), u, np.ones(2)]) * np.arange(6.0),
        lambda u: np.sum(FORTRAN @ u) + np.sum(DATA.T @ DATA[:, 0]),
        lambda u: WEIGHTS[0] * u ** SETTINGS["power"],
        Model().loss,
        lambda u: u @ np.linspace(0, 1, 3) + Kept.scale,
    ],
    ids=["an array", "arrays of its own", "other orders", "containers", "a method", "an attribute of a class"],
)
def test_native_code_asks_no_python(f, monkeypatch):
    compiled, u = jit(f), np.array([1.0, 2.0, 3.0])
    first = compiled(u)
    counting = Counting(monkeypatch)
    for _ in range(5):
        np.testing.assert_array_equal(compiled(u), first)
    assert counting.count == 0


def test_arrays_that_change_at_every_call_are_not_compiled_for():
    f, data = jit(lambda u: np.sum(u * CHANGING)), CHANGING
    for k in range(60):
        data[:] = k
        assert f(np.ones(3)) == 3 * k
    assert entries(f) == 1


CHANGING = np.zeros(3)


def test_an_array_in_columns_that_changes_is_seen():
    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    f, u = jit(lambda u: columns @ u + columns.T[1]), np.ones(3)  # the second is a view of it
    for change in (lambda: None, lambda: columns.__setitem__((1, 2), 9.0), lambda: columns.__setitem__(0, 1.0)):
        change()
        for _ in range(3):
            np.testing.assert_array_equal(f(u), columns @ u + columns.T[1])


def test_a_large_array_is_compared_in_python():
    large = np.zeros(200_000)
    f = jit(lambda u: np.sum(u * large[:3]))
    assert f(np.ones(3)) == 0 == entries(f)
    large[1] = 2.0
    assert f(np.ones(3)) == 2


RATE, SHAPE = 1.0, 3


def rated(u):
    """One number read as it is, one that is computed of it, one that decides, and one that is a size."""
    high = 2.0 if RATE > 4 else 0.5
    return np.sum(np.sin(u * RATE) + high * u[:SHAPE].sum() / (1 + RATE**2)) + np.float32(RATE) * u[0]


def test_numbers_that_change_at_every_call_are_inputs(monkeypatch):
    made = []
    compile_graph = kernels.compile_graph
    counted = lambda *given, **more: made.append(1) or compile_graph(*given, **more)  # noqa: E731
    monkeypatch.setattr(kernels, "compile_graph", counted)
    value, slope, u = jit(rated), grad(rated), np.array([1.0, 2.0, 3.0])
    for rate in (1.0, 0.5, 0.25, -0.0, 0.0, 2.0, 3.0, 1e-300, 8.0, 9.0, 16.0, 1.0, 0.5, math.inf, math.nan):
        monkeypatch.setitem(globals(), "RATE", rate)
        with np.errstate(all="ignore"):
            want = rated(u)
            numbers = [(rated(u + 1e-6 * e) - rated(u - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        for _ in range(2):
            assert value(u) == pytest.approx(want, rel=1e-14, nan_ok=True), rate
            assert slope(u) == pytest.approx(np.array(numbers), rel=1e-6, abs=1e-8, nan_ok=True), rate
    assert len(made) <= 8  # for both: the first, what takes the number, and once more with that of the other branch
    monkeypatch.setitem(globals(), "SHAPE", 2)
    monkeypatch.setitem(globals(), "RATE", 0.75)
    assert value(u) == pytest.approx(rated(u), rel=1e-14)


def test_signs_of_zeros_and_arrays_of_numbers_are_told_apart(monkeypatch):
    f = jit(lambda u: u * RATE + np.full(3, RATE))
    for rate in (1.0, 0.5, 0.0, -0.0, 0.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        got, want = f(np.full(3, -0.0)), np.full(3, -0.0) * rate + np.full(3, rate)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        np.testing.assert_array_equal(got, want)


def test_what_was_read_is_a_number_in_a_formula(monkeypatch):
    import sympy

    f = jit(lambda x: x * RATE + 1.0)
    for rate in (1.0, 0.5, 0.25):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert f(2.0) == 2.0 * rate + 1.0
        (x,) = f.sympy().free_symbols
        assert sympy.simplify(f.sympy() - (rate * x + 1.0)) == 0
