"""Hidden inputs: a changed global, closure cell, default, attribute, helper or array is never served stale."""

import functools
import types
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.entries.native import NativeFunction, entry_count
from pullback.compiler.frontend.state.hidden import scan
from pullback.compiler.frontend.tree import register_leaf
from pullback.compiler.settings import settings
from pullback.runtime.transforms import grad, jit, value_and_grad

SCALE: Any = 2.0
TABLE: Any = np.array([1.0, 2.0, 3.0])
SETTINGS: Any = {"rate": 0.5, "layers": [np.ones(2), np.ones(2)]}
MASK: Any = np.array([True, False, True])


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    module = globals()
    monkeypatch.setitem(module, "SCALE", 2.0)
    monkeypatch.setitem(module, "TABLE", np.array([1.0, 2.0, 3.0]))
    monkeypatch.setitem(module, "SETTINGS", {"rate": 0.5, "layers": [np.ones(2), np.ones(2)]})
    monkeypatch.setitem(module, "MASK", np.array([True, False, True]))


def latest(function: Any) -> Any:
    return vars(function)["_latest"]


def double(x):
    return x * 2


def test_global_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(lambda x: x * SCALE)
    assert f(1.0) == 2.0
    for value in (5.0, 7, np.float32(3), 5.0, True):
        monkeypatch.setitem(globals(), "SCALE", value)
        assert f(1.0) == float(value)


def test_the_sign_of_zero_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f = jit(lambda x: x / np.float64(SCALE))
    monkeypatch.setitem(globals(), "SCALE", 0.0)
    assert f(1.0) == np.inf
    monkeypatch.setitem(globals(), "SCALE", -0.0)
    assert f(1.0) == -np.inf


def test_closure_cells() -> None:
    rate, table = 2.0, np.ones(2)

    @jit
    def f(x):
        return np.sum(x * table) * rate

    assert f(np.ones(2)) == 4.0
    rate = 3.0
    assert f(np.ones(2)) == 6.0
    table[0] = 5.0
    assert f(np.ones(2)) == 18.0
    table = np.zeros(2)
    assert f(np.ones(2)) == 0.0
    table = np.ones(1)
    assert f(np.ones(2)) == 6.0
    rate = np.array([1.0, 2.0])
    assert f(np.ones(2)).tolist() == [2.0, 4.0]


def test_arrays_changed_in_place_are_read_again_and_not_compiled_again() -> None:
    f = value_and_grad(lambda x: np.sum(x * TABLE))
    assert f(np.ones(3))[0] == 6.0
    kernel = latest(f).kernel
    TABLE[:] = [1, 1, 1]
    value, slope = f(np.ones(3))
    assert value == 3.0 and slope.tolist() == [1, 1, 1]
    assert latest(f).kernel is kernel


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x * np.log(TABLE)),
        lambda x: np.sum(x) * float(TABLE.sum()),
        lambda x: np.sum(x if TABLE[0] > 0 else -x),
        lambda x: np.sum(x[MASK]),
        lambda x: np.sum(x[TABLE.astype(int) - 1]),
        lambda x: np.sum(x * TABLE) + max(TABLE),
        lambda x: np.sum(np.where(MASK, x, TABLE.T)),
        lambda x: np.sum(x * np.asarray([SETTINGS["rate"]] * 3) * SETTINGS["layers"][0][0]),
    ],
)
def test_what_is_derived_from_arrays_is_never_stale(function: Any) -> None:
    f, x = jit(function), np.array([3.0, 4.0, 5.0])
    for change in (lambda: None, _reverse_table, _drop_mask, _change_settings, _new_table):
        change()
        assert f(x) == function(x)


def _reverse_table() -> None:
    TABLE[:] = TABLE[::-1].copy()


def _drop_mask() -> None:
    MASK[0] = False


def _change_settings() -> None:
    SETTINGS["rate"] = 4.0
    SETTINGS["layers"][0][0] = 7.0


def _new_table() -> None:
    globals()["TABLE"] = np.array([2.0, 3.0, 1.0])


def test_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    f = jit(lambda x: sum(np.sum(x * w) for w in SETTINGS["layers"]) * SETTINGS["rate"])
    assert f(np.ones(2)) == 2.0
    SETTINGS["layers"].append(np.ones(2))
    assert f(np.ones(2)) == 3.0
    SETTINGS["layers"][0] = np.zeros(2)
    assert f(np.ones(2)) == 2.0
    monkeypatch.setitem(globals(), "SETTINGS", {"rate": 1.0, "layers": [np.ones(2)]})
    assert f(np.ones(2)) == 2.0


def test_helpers_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    def helper(x):
        return double(x) * SCALE

    f = grad(lambda x: helper(x))
    assert f(1.0) == 4.0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert f(1.0) == 6.0
    monkeypatch.setitem(globals(), "double", lambda x: x * 10)
    assert f(1.0) == 30.0
    monkeypatch.setattr(helper, "__code__", (lambda x: x * 7).__code__.replace(co_freevars=()))
    assert f(1.0) == 7.0


def test_inner_functions_and_comprehensions_are_read() -> None:
    f = jit(lambda x: sum([k * SCALE for k in (x, x)]) / 2 + (lambda y: y * SCALE)(x))
    assert f(1.0) == 4.0
    globals()["SCALE"] = 3.0
    assert f(1.0) == 6.0


def test_defaults() -> None:
    def f(x, rate=2.0, *, shift=1.0, table=TABLE):
        return x * rate + shift + table[0]

    g = jit(f)
    assert g(1.0) == 4.0
    f.__defaults__ = (5.0,)
    assert g(1.0) == 7.0
    f.__kwdefaults__["shift"] = 2.0  # type: ignore[index]
    assert g(1.0) == 8.0
    f.__kwdefaults__["table"][0] = 10.0  # type: ignore[index]
    assert g(1.0) == 17.0


def test_attributes() -> None:
    class Base:
        power = 2.0

    class Model(Base):
        def __init__(self):
            self.w, self.part = np.ones(2), types.SimpleNamespace(rate=3.0)

        @property
        def twice(self):
            return self.w * 2

        def scaled(self, x):
            return x * self.w

        def loss(self, x):
            return np.sum(self.scaled(x) * self.twice) ** self.power * self.part.rate

    model = Model()
    f = jit(model.loss)
    x = np.ones(2)
    for change in (
        lambda: None,
        lambda: setattr(model, "w", np.full(2, 3.0)),
        lambda: model.w.__setitem__(0, 7.0),
        lambda: setattr(model.part, "rate", 4.0),
        lambda: setattr(Base, "power", 3.0),
        lambda: setattr(model, "power", 1.0),
        lambda: setattr(Model, "scaled", lambda self, x: x * 11),
    ):
        change()
        assert f(x) == model.loss(x)


def test_objects_that_hold_arrays() -> None:
    class Held:
        def __init__(self, array):
            self.array = array

        def numbers(self):
            return self.array

    register_leaf(Held, lambda held: held.array, Held)
    held = Held(np.ones(2))
    f = jit(lambda x: np.sum(x * held.numbers()) + float(held.numbers()[0]))
    assert f(np.ones(2)) == 3.0
    held.array[0] = 5.0
    assert f(np.ones(2)) == 11.0
    held = Held(np.zeros(2))
    assert f(np.ones(2)) == 0.0


def test_modules_of_the_user() -> None:
    module = types.ModuleType("rates")
    module.__file__ = "/home/user/rates.py"
    module.rate = 2.0  # type: ignore[attr-defined]
    f = jit(lambda x: x * module.rate)
    assert f(1.0) == 2.0
    module.rate = 5.0  # type: ignore[attr-defined]
    assert f(1.0) == 5.0


def test_functions_given_as_arguments_are_read_too() -> None:
    rate = 2.0

    def times(x):
        return x * rate

    f = jit(lambda g, x: g(x))
    assert f(times, 1.0) == 2.0
    rate = 3.0
    assert f(times, 1.0) == 3.0
    assert f(functools.partial(lambda k, x: k * x, 4.0), 1.0) == 4.0


def test_gradients_within_gradients_see_hidden_inputs() -> None:
    inner = grad(lambda x: x * x * SCALE)
    f = grad(lambda x: inner(x) * x)
    assert f(1.0) == 8.0
    globals()["SCALE"] = 3.0
    assert f(1.0) == 12.0 and inner(1.0) == 6.0


def test_a_cell_without_a_value_is_found_when_it_has_one() -> None:
    def make():
        def f(x):
            return x * later if ready else x

        ready = False
        g = jit(f)
        first = g(1.0)
        later, ready = 5.0, True
        return first, g(1.0)

    assert make() == (1.0, 5.0)


def test_arrays_of_a_read_only_owner_are_compared_by_identity() -> None:
    table = np.ones(3)
    table.flags.writeable = False
    f = jit(lambda x: np.sum(x * table))
    assert f(np.ones(3)) == 3.0
    assert latest(f).contents[0].kept is None
    table = np.zeros(3)
    assert f(np.ones(3)) == 0.0


def test_nothing_is_read_where_nothing_is_hidden() -> None:
    f = grad(lambda x: np.sum(np.sin(x) * x[:2].shape[0]))
    assert not scan(f.__wrapped__).sources
    f(np.ones(3))
    assert isinstance(f, NativeFunction)
    assert entry_count(f) == (not settings.disable_native_entry and not settings.reference)


def test_what_a_function_reads_is_known() -> None:
    rate = 1.0
    found = scan(lambda x: x * rate * SCALE + np.sum(TABLE) + double(x))
    assert {s.name or s.kind for s in found.sources} == {"cell", "SCALE", "TABLE", "double"}


def test_what_identity_tells_of_is_looked_at_where_a_function_makes_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a function has no entry that asks by itself: Python compares what stands at the places."""
    rate = 1.0

    def f(x, by=1.0):
        return np.sum(x[np.array([2, 0])]) * rate * SCALE * len(x) * by + double(x)[1]

    g, x = jit(f), np.array([1.0, 2.0, 3.0])
    code = double.__code__

    def twice(x):
        return x * 4

    def same() -> None:
        for _ in range(3):
            assert g(x) == f(x)

    same()
    assert latest(g).watched
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    same()
    rate = 7.0
    same()
    monkeypatch.setitem(globals(), "len", lambda x: 10)
    same()
    monkeypatch.delitem(globals(), "len")
    same()
    f.__defaults__ = (5.0,)
    same()
    try:
        double.__code__ = twice.__code__
        same()
    finally:
        double.__code__ = code
    same()
