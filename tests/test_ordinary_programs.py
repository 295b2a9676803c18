"""Programs as users write them run natively and are plain Python's: helpers, methods, windows, masks, sizes."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, value_and_grad, vmap
from tests import capture_helpers as helpers

X = np.arange(60.0) / 20 - 1.3
MASK = np.arange(6) % 2 == 0
ROWS = np.arange(6.0)


def slope(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The gradient for the first argument by central differences."""
    x = np.asarray(args[0], float)
    made = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ends = []
        for h in (1e-6, -1e-6):
            y = x.copy()
            y[place] += h
            ends.append(float(function(y if x.shape else float(y), *args[1:])))
        made[place] = (ends[0] - ends[1]) / 2e-6
    return made


def assert_like_python(function: Callable[..., Any], *args: Any, native: bool = True) -> None:
    compiled = jit(function)
    for _ in range(2):
        assert np.allclose(compiled(*args), function(*args), rtol=1e-12, atol=0)
    assert np.allclose(grad(function)(*args), slope(function, args), rtol=1e-5, atol=1e-7)
    told = str(compiled.report())
    assert not native or not ("unrolled" in told or "values of the call" in told), told


# ---- what objects hold


class Model:
    table = np.arange(4.0)
    empty = np.zeros(0)

    def __init__(self) -> None:
        self.w, self.exp = np.array([1.0, 2.0]), np.zeros(0)
        self.nested = types.SimpleNamespace(b=np.eye(2), f=_doubled)

    def loss(self, x):
        return np.sum(self.w * x) + np.sum(self.table) * np.exp(x) + np.sum(self.empty)

    def looped(self, x):
        for w in self.w:
            x = x * w if x > 0 else x - w
        return x

    def __call__(self, x):
        return self.nested.f(np.sum(self.nested.b * x))

    @property
    def scaled(self):
        return self.w * 2

    @classmethod
    def of_class(cls, x):
        return np.sum(cls.table * x)


def _doubled(x):
    return 2 * x


class Untrue:
    """An object that has no truth value and is equal to nothing."""

    def __init__(self) -> None:
        self.w = np.ones(3)

    def __bool__(self):
        raise ValueError("no truth")

    def __eq__(self, other):
        raise ValueError("no equality")

    __hash__ = object.__hash__


model, untrue = Model(), Untrue()


@pytest.mark.parametrize(
    "function",
    [
        model.loss, model.looped, model, Model.of_class, lambda x: np.sum(model.scaled * x),
        lambda x: np.sum(untrue.w) * x if x > 0 else x, lambda x: model.nested.f(x) + np.sum(model.nested.b * x),
    ],
)  # fmt: skip
def test_attributes_hold_arrays(function: Callable[..., Any]) -> None:
    assert_like_python(function, 0.7)


def test_helpers_reached_through_modules_and_objects_are_captured() -> None:
    for function in (lambda x: helpers.root(x) + 1, lambda x: helpers.default.solve(x), lambda x: model.looped(x)):
        assert_like_python(function, 2.0)
    assert "loop" in jit(lambda x: helpers.default.solve(x)).ir("graph", 2.0)


# ---- helpers within helpers


def _driven(x, n):
    c = x * 2
    f = lambda y: y * 0.5 + c  # noqa: E731
    for _ in range(n):
        x = f(x)
    return x


def _simulated(step, x, n):
    for _ in range(n):
        x = step(x)
    return x


def _quad(f, low, high, n=20):
    h, total = (high - low) / n, 0.0
    for i in range(n):
        total = total + f(low + (i + 0.5) * h)
    return total * h


def _newton(f, df, x):
    for _ in range(50):
        step = f(x) / df(x)
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


def closures_in_loops(x):
    total = 0.0
    for k in range(120):
        c = x * k
        total = total + _driven(x, 100) * k + _simulated(lambda y, c=c: y * 0.5 + c, x, 30)
    return total


def quad_of_quads(a):
    return _quad(lambda x: _quad(lambda y: _quad(lambda z: np.exp(-a * x * y * z), 0.0, 1.0), 0.0, x), 0.0, 1.0)


def newton_of_newton(a):
    inner = lambda y: _newton(lambda z: z * z - y, lambda z: 2 * z, y)  # noqa: E731
    return _newton(lambda y: inner(y) - a, lambda y: 0.5 / inner(y), 3.0)


def named_and_counted(x):
    def f(y):
        f.calls += 1
        return y * y

    f.__name__, f.calls = "square", 0
    total = 0.0
    for _ in range(3):
        total = total + f(x)
    return total * f.calls if f.__name__ == "square" else x


@pytest.mark.parametrize("function", [closures_in_loops, quad_of_quads, newton_of_newton, named_and_counted])
def test_helpers_that_take_functions(function: Callable[..., Any]) -> None:
    assert_like_python(function, 1.5)


def test_recursion_until_a_traced_value_ends_it_takes_the_numbers_of_the_call() -> None:
    def halved(x):
        return x if x < 1 else halved(x / 2)

    compiled = jit(halved)
    assert [compiled(v) for v in (20.0, 3.0, 0.5)] == [halved(v) for v in (20.0, 3.0, 0.5)]
    assert "calls itself" in str(compiled.report())


# ---- arrays


def straight_in_place(x):
    p = np.zeros(60)
    p += x
    p *= 2.0
    return np.sum(p * p)


def windows(x):
    total = 0.0
    for i in range(20):
        v = x[3 * i : 3 * i + 3]
        total = total + np.sum(v**2) * i + v @ x[3 * i : 3 * (i + 1)] + x[i * 3 : (i + 1) * 3][1]
    return total


def windows_written(x):
    y = np.zeros(60)
    for i in range(20):
        y[3 * i : 3 * i + 3] = x[57 - 3 * i : 60 - 3 * i] * 2
        y[3 * i : 3 * i + 3] += 1
    return np.sum(y * x)


def blocks(x):
    a, total = x.reshape(6, 10), 0.0
    for i in range(3):
        for j in range(5):
            total = total + np.prod(a[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]) * (i + j)
    return total


@pytest.mark.parametrize("function", [straight_in_place, windows, windows_written, blocks])
def test_parts_of_arrays(function: Callable[..., Any]) -> None:
    assert_like_python(function, X)


def test_a_window_that_leaves_the_array_is_shorter_as_in_python() -> None:
    def f(x):
        total = 0.0
        for i in range(59):
            total = total + np.sum(x[i : i + 3]) * i
        return total

    assert_like_python(f, X, native=False)


def test_windows_roll_over_traced_numbers_of_rows() -> None:
    def f(x, n):
        total = 0.0
        for i in range(n):
            total = total + np.sum(x[n * i : n * i + 3])
        return total

    assert jit(f)(X, 4) == f(X, 4)


def masked(x):
    y, total = x.copy(), 0.0
    for i in range(3):
        y[y > 1] = 0.5 * y[0]
        y[x > 0] = x[x > 0] * i
        y[x > 0] += x[x > 0]
        y[MASK] += 1.0
        total = total + np.sum(y[y > 0.3]) * i + np.max(y[MASK])
    return total + np.sum(y * y)


def test_masks_in_loops_are_as_outside() -> None:
    assert_like_python(masked, ROWS - 2.3, native=False)


def iterated(x):
    total = 0.0
    for a, b, c in zip(x, ROWS, range(6), strict=True):
        total = total + a * b * c
    for (a, b), c in zip(ROWS.reshape(3, 2), x[:3], strict=True):
        total = total + a * b * c
    for k, a in enumerate(reversed(ROWS)):
        total = total + a * x[k]
    for v in map(lambda v, w: v * w, x, ROWS):
        total = total + v
    for v in np.nditer(x):
        total = total + v * v  # type: ignore[operator]
    first, *rest = x
    pairs = list(zip(ROWS, x, strict=True))
    ones, others = zip(*pairs, strict=True)
    return total + first * sum(rest) + sum(others) * ones[1] + dict(zip("ab", x, strict=False))["a"]


def test_arrays_are_iterated_over() -> None:
    assert_like_python(iterated, ROWS / 7 + 0.1)


def test_elements_with_their_places() -> None:
    def f(x):
        total = 0.0
        for (i, j), v in np.ndenumerate(x):
            total = total + v * i * j
        for i, j in np.ndindex(x.shape):
            total = total + x[i, j] ** 2 * (i + 1)
        return total

    assert_like_python(f, np.sin(np.arange(200.0)).reshape(10, 20))


def test_iterators_without_end_are_left_to_python() -> None:
    def f(x):
        for i in itertools.count():
            x = x * 1.1
            if i > 4:
                break
        return x

    assert_like_python(f, 1.5, native=False)


# ---- sizes


def sized(x, n):
    t, y, c = np.arange(n), np.zeros(n + 1), [0.0] * n
    total = np.sum(np.linspace(0.0, x, n))
    for i in range(n):
        y[i + 1] = 0.9 * y[i] + np.sin(x) * t[i]
        c[i] = x * i
    return total + np.sum(y) + sum(c) + np.sum(np.arange(0, 2 * n, 2) * x) if x > 0 else x * np.arange(n)[-1]


def test_sizes_from_an_argument() -> None:
    compiled, slopes = jit(sized), grad(sized)
    for x, n in ((1.5, 4), (1.5, 9), (-2.0, 3), (0.3, 4)):
        assert np.isclose(compiled(x, n), sized(x, n), rtol=1e-13)
        assert np.isclose(slopes(x, n), slope(sized, (x, n)), rtol=1e-6)


@pytest.mark.parametrize("count", [lambda n: n, np.int64])
def test_lists_are_repeated(count: Callable[..., Any]) -> None:
    for f in (lambda x, n: sum([x] * n), lambda x, n: len((1.0, 2.0) * n) * x if x > 0 else x):
        assert jit(f)(1.5, count(3)) == f(1.5, 3)


# ---- methods, keywords, partials


class Methods:
    scale = 3.0

    @classmethod
    @grad
    def above(cls, x):
        return cls.scale * x**2

    @grad
    @classmethod
    def below(cls, x):
        return cls.scale * x**2

    @staticmethod
    @grad
    def static_above(x):
        return 3 * x**2

    @grad
    @staticmethod
    def static_below(x):
        return 3 * x**2

    @value_and_grad(argnums=1)
    @classmethod
    def second(cls, x, y):
        return x * y**2 if y > 0 else x

    @jit
    @staticmethod
    def named(x, *, k=2.0):
        return x * k


class Heir(Methods):
    scale = 5.0


def test_class_and_static_methods() -> None:
    for kind, factor in ((Methods, 6.0), (Heir, 10.0)):
        for owner in list[Any]((kind, kind())):
            assert owner.above(2.0) == owner.below(2.0) == 2 * factor
            assert owner.static_above(2.0) == owner.static_below(2.0) == 12.0
            assert owner.second(2.0, 3.0) == (18.0, 12.0)
            assert (owner.named(2.0), owner.named(2.0, k=3.0)) == (4.0, 6.0)


def _base(x, y, *, p=1.0, **more):
    for v in more.values():
        x = x * v
    return x * y**2 * p


def _twice(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return 2 * f(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("function", "args", "want"),
    [
        (functools.partial(_base, 2.0), (3.0,), 12.0),
        (functools.partial(functools.partial(_base, 2.0), p=2.0), (3.0,), 24.0),
        (functools.partial(jit(_base), 2.0, p=3.0), (3.0,), 36.0),
        (functools.partial(_base, y=2.0, q=3.0), (3.0,), 12.0),
        (_twice(_base), (3.0, 2.0), 8.0),
        (_twice(functools.partial(_base, p=2.0)), (3.0, 2.0), 16.0),
        (functools.partial(model.looped), (0.7,), 2.0),
    ],
)
def test_partials_and_wrappers(function: Callable[..., Any], args: tuple[Any, ...], want: float) -> None:
    assert grad(function)(*args) == want
    assert jit(function)(*args) == function(*args)


def test_vmap_of_a_function_that_branches() -> None:
    assert vmap(lambda x: x * x if x > 0 else -x)(np.array([-2.0, 3.0])).tolist() == [2.0, 9.0]


# ---- objects that NumPy reads as arrays


class Series:
    """As pandas' Series is to NumPy."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.values, dtype)


def test_array_likes_in_closures_are_arrays() -> None:
    series = Series([1.0, 2.0, 4.0])
    for f in (lambda x: np.sum(x * series + np.multiply(series, x)), lambda x: np.dot(series, x) if x[0] > 0 else x[1]):
        compiled = jit(f)
        for scale in (1.0, 3.0):
            series.values = np.array([1.0, 2.0, 4.0]) * scale
            assert np.isclose(compiled(np.array([1.0, 2.0, 3.0])), f(np.array([1.0, 2.0, 3.0]) * 1.0))


def test_array_likes_that_hold_no_numbers_are_refused_at_their_line() -> None:
    names = Series(["a", "b"])
    with pytest.raises(TypeError, match=r"a Series, which is an array of dtype <U1.*\n.*test_ordinary_programs.py"):
        jit(lambda x: x * names)(np.ones(2))
