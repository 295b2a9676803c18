"""Python's operators and math on Python's numbers raise what Python raises, wherever they stand; NumPy's do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import cond, grad, hessian, jit, jvp, value_and_grad, vmap

Function = Callable[..., Any]


def straight(f: Function) -> Function:
    return lambda *args: f(*args)


def branched(f: Function) -> Function:
    def g(*args: Any) -> Any:
        if args[0] > -100.0:
            y = f(*args)
        else:
            y = f(*args) * 2
        return y

    return g


def looped(f: Function) -> Function:
    def g(*args: Any) -> Any:
        s = 0.0
        for _ in range(3):
            s = f(*args)
        return s

    return g


def helped(f: Function) -> Function:
    def helper(*args: Any) -> Any:
        return f(*args)

    def g(*args: Any) -> Any:
        if args[0] > -100.0:
            y = helper(*args)
        else:
            y = 2 * helper(*args)
        return y

    return g


CASES: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "1 / x": (lambda x: 1 / x, (0.0,)),
    "x / y": (lambda x, y: x / y, (0.0, -0.0)),
    "x // y": (lambda x, y: x // y, (1.0, 0.0)),
    "x % y": (lambda x, y: x % y, (1.0, 0.0)),
    "divmod": (lambda x: divmod(1.0, x)[0], (0.0,)),
    "x / n": (lambda x, n: x / n, (1.0, 0)),
    "1 / n": (lambda n: 1 / n, (0,)),
    "n // m": (lambda n, m: n // m, (1, 0)),
    "n % m": (lambda n, m: n % m, (1, 0)),
    "divmod of ints": (lambda n, m: divmod(n, m)[1], (7, 0)),
    "n ** -1": (lambda n: n**-1, (0,)),
    "n ** -1.5": (lambda n: n**-1.5, (0,)),
    "x ** -1": (lambda x: x**-1, (0.0,)),
    "x ** -2": (lambda x: x**-2, (-0.0,)),
    "x ** -0.5": (lambda x: x**-0.5, (0.0,)),
    "x ** y": (lambda x, y: x**y, (0.0, -2.0)),
    "x ** m": (lambda x, m: x**m, (0.0, -2)),
    "x ** 300": (lambda x: x**300, (1e10,)),
    "2.0 ** x": (lambda x: 2.0**x, (5000.0,)),
    "True / x": (lambda x: True / x, (0.0,)),
    "abs": (lambda x: 1 / abs(x), (0.0,)),
    "minus": (lambda x: 1 / -x, (0.0,)),
    "made": (lambda x: x / (x - x), (1.0,)),
    "too small": (lambda x: 1 / (x * 1e-200 * 1e-200), (1.0,)),
    "sqrt": (lambda x: math.sqrt(x), (-1.0,)),
    "log": (lambda x: math.log(x), (0.0,)),
    "exp": (lambda x: math.exp(x), (1000.0,)),
    "asin": (lambda x: math.asin(x), (2.0,)),
    "pow": (lambda x: math.pow(x, -1.0), (0.0,)),
    "pow of a negative number": (lambda x: math.pow(x, 0.5), (-3.0,)),
    "pow too large": (lambda x: math.pow(x, 300.0), (1e10,)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_python_raises(name: str) -> None:
    f, args = CASES[name]
    with pytest.raises(Exception) as wanted:
        f(*args)
    for place in (straight, branched, looped, helped):
        with pytest.raises(wanted.type) as raised:
            jit(place(f))(*args)
        assert str(raised.value) == str(wanted.value)


WELL: list[tuple[Function, tuple[Any, ...]]] = [
    (lambda x: 1 / x, (4.0,)),
    (lambda x, y: x**y, (-2.0, 3.0)),
    (lambda x, y: x**y, (0.0, 0.0)),
    (lambda x, y: x**y, (0.0, -math.inf)),
    (lambda x, y: x**y, (math.inf, 2.5)),
    (lambda x, n: x**n, (2.0, -2)),
    (lambda x, y: divmod(x, y), (7.5, -2.0)),
    (lambda n, m: divmod(n, m), (7, -3)),
    (lambda x: math.pow(x, 2.0), (3.0,)),
]


@pytest.mark.parametrize("number", range(len(WELL)))
def test_what_python_gives(number: int) -> None:
    f, args = WELL[number]
    for place in (straight, branched, looped, helped):
        assert jit(place(f))(*args) == f(*args)


def test_powers_that_are_products_are_infinite_where_they_are_too_large() -> None:
    for place in (straight, branched, looped, helped):
        assert jit(place(lambda x: x**2))(1e200) == math.inf == 1e200 * 1e200


def test_a_complex_power_is_refused_everywhere() -> None:
    for place in (straight, branched, looped, helped):
        with pytest.raises(ValueError, match="a negative number to a fractional power is complex"):
            jit(place(lambda x: x**0.5))(-2.0)
        with pytest.raises(ValueError, match="a negative number to a fractional power is complex"):
            jit(place(lambda x, y: x**y))(-2.0, 3.5)


@pytest.mark.parametrize("place", [straight, branched, looped, helped])
@pytest.mark.parametrize("f", [
    lambda x: 1 / x, lambda x: x**-1, lambda x: 1.0 // x, lambda x: np.divide(1.0, x), lambda x: 1 / np.sin(x),
    lambda x: x % 0.0, lambda x: (x - 2.0) ** 0.5, lambda x: x**-0.5,
])
def test_numpy_s_numbers_raise_nothing(place: Any, f: Function) -> None:
    x = np.float64(0.0)
    with np.errstate(all="ignore"):
        wanted = f(x)
    assert np.array_equal(jit(place(f))(x), wanted, equal_nan=True)
    with np.errstate(all="ignore"):
        wanted = f(np.zeros(2))
    made = jit(lambda x: f(x))(np.zeros(2))
    assert np.array_equal(made, wanted, equal_nan=True)


def test_numpy_s_functions_raise_nothing_for_python_s_numbers() -> None:
    for place in (straight, branched, looped, helped):
        assert jit(place(lambda x: np.divide(1.0, x)))(0.0) == math.inf
        assert jit(place(lambda x: 1 / np.sin(x)))(0.0) == math.inf


def test_derivatives_raise_where_the_function_does() -> None:
    for transform in (grad, value_and_grad, hessian, lambda f: grad(grad(f)), lambda f: jit(jit(f))):
        with pytest.raises(ZeroDivisionError, match="float division by zero"):
            transform(lambda x: 1 / x)(0.0)
    with pytest.raises(ZeroDivisionError):
        jvp(lambda x: 1 / x, (0.0,), (1.0,))
    with pytest.raises(ZeroDivisionError):
        grad(lambda p: p["a"] / p["b"])({"a": 1.0, "b": 0.0})
    assert grad(grad(lambda x: 1 / x))(2.0) == 0.25
    assert grad(lambda x: 1 / x)(np.float64(0.0)) == -math.inf


def test_lanes_are_numpy_s_numbers_and_what_they_share_is_python_s() -> None:
    assert np.array_equal(vmap(lambda x: 1 / x)(np.array([0.0, 2.0])), [math.inf, 0.5])
    shared = vmap(lambda x, y: x * (1 / y), in_axes=(0, None))
    assert np.array_equal(shared(np.ones(2), 2.0), [0.5, 0.5])
    with pytest.raises(ZeroDivisionError):
        shared(np.ones(2), 0.0)


def test_only_what_is_reached_raises() -> None:
    f = jit(lambda x: cond(x > 0.0, lambda x: 1 / x, lambda x: x, x))
    assert f(0.0) == 0.0 and f(2.0) == 0.5

    def tried(x):
        try:
            return 1 / x
        except ZeroDivisionError:
            return -1.0

    assert jit(tried)(0.0) == -1.0 and jit(tried)(2.0) == 0.5


def test_division_by_named_sizes() -> None:
    share = jit(lambda x, s: s / len(x), sizes={"x": ("n",)})
    assert [share(np.ones(n), 1.0) for n in (20, 30)] == [1 / 20, 1 / 30]
    with pytest.raises(ZeroDivisionError):
        share(np.ones(0), 1.0)


def test_functions_that_run_on_the_values_of_a_call() -> None:
    def f(x):
        return len(list(np.ones(int(x) + 1))) + 1 / x

    assert jit(f)(2.0) == 3.5
    with pytest.raises(ZeroDivisionError):
        jit(f)(0.0)


def test_the_user_s_line_is_told() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        jit(lambda x: 1 / x)(0.0)
    assert "test_python_numbers.py" in "".join(raised.value.__notes__)


def _set(s: Any, a: Any) -> Any:
    a = a.copy()
    a[0] = s
    return a


WITH_INTS: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda s, a: s * a,
    "less": lambda s, a: a < s,
    "more": lambda s, a: s > a,
    "equal": lambda s, a: a == s,
    "where": lambda s, a: np.where(a > 1, s, a),
    "maximum": lambda s, a: np.maximum(a, s),
    "full": lambda s, a: np.full(2, s, a.dtype),
    "full_like": lambda s, a: np.full_like(a, s),
    "clip": lambda s, a: np.clip(a, 0, s),
    "setting": _set,
    "a sum of ints": lambda s, a: a + (s + 1),
    "a list": lambda s, a: np.array([s, 1], dtype=a.dtype),
    "no Python int": lambda s, a: np.asarray(s).astype(a.dtype),
}


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint64])
@pytest.mark.parametrize("name", WITH_INTS)
def test_ints_that_a_dtype_does_not_hold(name: str, dtype: Any) -> None:
    function, a = WITH_INTS[name], np.arange(3).astype(dtype)
    compiled = jit(function)
    for s in (5, 2**40, -1, 300):
        try:
            want = np.asarray(function(s, a))
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                compiled(s, a)
        else:
            made = np.asarray(compiled(s, a))
            assert made.dtype == want.dtype
            np.testing.assert_array_equal(made, want)


def test_constants_that_a_dtype_does_not_hold_are_compared() -> None:
    a = np.arange(3, dtype=np.uint8)
    for function in (lambda a: a < 2**70, lambda a: a <= -1, lambda a: a != 300, lambda a: a == -1, lambda a: a < 256):
        np.testing.assert_array_equal(jit(function)(a), function(a))


def test_an_int_that_does_not_fit_fails_under_transforms() -> None:
    def f(x: Any, s: int, a: Any) -> Any:
        return np.sum(x * (a * s))

    x, a = np.arange(3.0), np.arange(3, dtype=np.int32)
    np.testing.assert_array_equal(grad(f)(x, 3, a), a * 3.0)
    np.testing.assert_array_equal(vmap(f, in_axes=(0, None, None))(np.stack([x, x]), 3, a), [15.0, 15.0])
    for g in (grad(f), hessian(f)):
        with pytest.raises(OverflowError, match="out of bounds for int32"):
            g(x, 2**40, a)
