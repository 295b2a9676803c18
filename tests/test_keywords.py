"""Arguments by name: bound as Python binds them, and entered natively from the third call on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.backend.entries.native import entry_count

X, Y = np.array([1.0, 2.0]), np.array([10.0, 20.0])


def native(f: Any, *args: Any, **kwargs: Any) -> Any:
    """A call that no longer comes to Python."""
    f(*args, **kwargs)
    f(*args, **kwargs)
    slow, kind = type(f).__slow__, type(f)

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the call came to Python")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "__slow__", refuse)
        made = f(*args, **kwargs)
    assert kind.__slow__ is slow
    return made


def test_any_argument_may_be_given_by_name_and_in_any_order() -> None:
    f = jit(lambda x, y, z: x - 2 * y + z)
    wanted = X - 2 * Y + 1.0
    assert np.array_equal(native(f, X, Y, z=1.0), wanted)
    assert np.array_equal(native(f, X, z=1.0, y=Y), wanted)
    assert np.array_equal(native(f, z=1.0, y=Y, x=X), wanted)
    assert np.array_equal(native(f, y=Y, x=X, z=1.0), wanted)
    assert np.array_equal(native(f, X, Y, 1.0), wanted)
    assert np.array_equal(native(f, x=Y, y=X, z=0.0), Y - 2 * X)


def test_out_may_stand_anywhere_among_the_names() -> None:
    f, out = jit(lambda x, y: x - y), np.zeros(2)
    for kwargs in ({"y": Y, "out": out}, {"out": out, "y": Y}):
        out[...] = 0.0
        assert native(f, X, **kwargs) is out and np.array_equal(out, X - Y)
    assert native(f, y=Y, out=out, x=X) is out and native(f, X, Y, out=out) is out


def test_an_out_that_is_none_costs_nothing() -> None:
    f = jit(lambda x, y: x - y)
    assert np.array_equal(native(f, X, Y, out=None), X - Y) and np.array_equal(native(f, X, out=None, y=Y), X - Y)
    g: Any = jit(lambda x, out: x - out)
    assert np.array_equal(native(g, X, out=Y), X - Y) and np.array_equal(native(g, out=X, x=Y), Y - X)


def test_defaults_and_arguments_that_have_a_name_only() -> None:
    f = jit(lambda x, shift=1.0, scale=2.0: scale * x + shift)
    assert np.array_equal(native(f, X, scale=3.0), 3 * X + 1)
    assert np.array_equal(native(f, scale=3.0, x=X), 3 * X + 1)
    assert np.array_equal(native(f, X), 2 * X + 1)

    g = jit(lambda x, *, power: x**power)
    assert np.array_equal(native(g, X, power=2.0), X**2)
    assert np.array_equal(native(g, power=3.0, x=X), X**3)

    h = jit(lambda x, *, power=2.0: x**power)
    for _ in range(3):
        assert np.array_equal(h(X), X**2) and np.array_equal(h(X, power=3.0), X**3)


def test_containers_static_values_and_collected_arguments() -> None:
    @jit
    def f(p, *rest, mode, **more):
        total = p["w"] * more["scale"] + sum(rest)
        return total if mode == "plain" else -total

    p = {"w": X}
    assert np.array_equal(native(f, p, Y, mode="plain", scale=2.0), 2 * X + Y)
    assert np.array_equal(native(f, p, mode="minus", scale=2.0), -2 * X)
    assert np.array_equal(native(f, p, scale=2.0, mode="minus"), -2 * X)


def test_gradients_by_name() -> None:
    f = grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    made = native(f, y=Y, x=X)
    assert np.array_equal(made[0], Y) and np.array_equal(made[1], X)


def test_methods_by_name() -> None:
    class Model:
        scale = 3.0

        @jit
        def run(self, x, shift=0.0):
            return self.scale * x + shift

    model = Model()
    for scale in (3.0, 4.0):
        model.scale = scale
        for _ in range(3):
            assert np.array_equal(model.run(X, shift=1.0), scale * X + 1)
            assert np.array_equal(model.run(shift=1.0, x=X), scale * X + 1)


def test_names_that_do_not_fit() -> None:
    f: Any = jit(lambda x, y: x + y)
    native(f, X, y=Y)
    for args, kwargs, text in [
        ((X,), {"z": Y}, "missing a required argument: 'y'"),
        ((X, Y), {"y": Y}, "multiple values for argument 'y'"),
        ((X, Y), {"z": Y}, "unexpected keyword argument 'z'"),
    ]:
        with pytest.raises(TypeError, match=text):
            f(*args, **kwargs)

    positional: Any = jit(lambda x, /, y: x + y)
    with pytest.raises(TypeError, match="positional"):
        positional(x=X, y=Y)


def test_a_single_call_by_name_makes_no_entry() -> None:
    f: Any = jit(lambda x, y: x + y)
    f(X, y=Y)
    assert entry_count(f) == 0
    f(X, y=Y)
    f(X, y=Y)
    assert entry_count(f) == 1
    f(X, Y)
    assert entry_count(f) == 2 and np.array_equal(f(X, Y), f(X, y=Y))


def test_names_made_at_run_time_are_found() -> None:
    f = jit(lambda first, second: first - second)
    kwargs = {"".join(["sec", "ond"]): Y}
    for _ in range(3):
        assert np.array_equal(f(X, **kwargs), X - Y)
