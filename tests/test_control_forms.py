"""cond, switch, scan, while_loop, fori_loop, checkpoint: Python, compiled code and the reference executor agree."""

import _thread
import doctest
import signal
import threading
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import hessian, hvp
from pullback.compiler.settings import settings
from pullback.runtime import branches, control
from pullback.runtime.branches import cond, switch
from pullback.runtime.control import checkpoint, fori_loop, scan, while_loop
from pullback.runtime.transforms import grad, jit, value_and_grad
from tests.compare import assert_close

Pair = namedtuple("Pair", "x y")


@pytest.fixture(params=["native", "reference"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compiled code, and the reference executor."""
    with settings.override(reference=request.param == "reference"):
        yield request.param


def leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for k in sorted(x) for leaf in leaves(x[k])]
    return [leaf for each in x for leaf in leaves(each)] if isinstance(x, (list, tuple)) else [x]


def shape(x: Any) -> Any:
    if isinstance(x, dict):
        return {k: shape(v) for k, v in x.items()}
    return (type(x), [shape(each) for each in x]) if isinstance(x, (list, tuple)) else np.shape(x)


def check_value(f: Any, *args: Any) -> None:
    """Compiled, the function returns what it returns in Python."""
    want, got = f(*args), jit(f)(*args)
    assert shape(got) == shape(want)
    for a, b in zip(leaves(got), leaves(want), strict=True):
        assert_close(np.asarray(a, np.asarray(b).dtype), np.asarray(b), relative=1e-13, floor=1e-15)


def by_differences(f: Any, x: Any) -> Any:
    """The gradient by central differences."""
    x, h = np.asarray(x, float), 1e-6
    made = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[at] = h
        low, high = (f(float(y) if not x.shape else y) for y in (x - e, x + e))
        made[at] = (high - low) / (2 * h)
    return made


def check_grad(f: Any, x: Any) -> None:
    """First derivatives against differences of the plain function, second ones against differences of the first."""
    first = grad(f)
    assert_close(np.asarray(first(x)), by_differences(f, x), relative=1e-7, floor=1e-8)
    along = np.ones_like(x) if np.shape(x) else 1.0
    second = by_differences(lambda y: np.sum(first(y) * along), x)
    assert_close(np.asarray(hvp(f)(x, along)), second, relative=1e-7, floor=1e-8)


# ---- cond and switch


@pytest.mark.parametrize("x", [0.3, 2.5])
def test_cond_takes_one_branch(way: str, x: float) -> None:
    def f(x):
        return cond(x > 1.0, lambda x: np.sqrt(x) * x, lambda x: np.sin(x), x)

    check_value(f, x)
    check_grad(f, x)


def test_cond_with_trees_operands_and_closures(way: str) -> None:
    data = np.array([1.0, 2.0, 3.0])

    def f(x, k):
        w = x * 2.0
        return cond(
            k > 0,
            lambda p, n: {"a": p["v"] * w, "b": Pair(np.sum(data * x), n)},
            lambda p, n: {"b": Pair(w, 2 * n), "a": p["v"] + data},
            {"v": data * x},
            3,
        )

    for k in (1, -1):
        check_value(f, 0.7, k)
        check_grad(lambda x, k=k: np.sum(f(x, k)["a"] ** 2) + f(x, k)["b"].x, 0.7)


def test_the_branch_that_does_not_run_has_a_zero_derivative(way: str) -> None:
    def f(x):
        return cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)

    assert grad(f)(0.0) == 0.0
    assert grad(f)(-1.0) == 0.0
    assert grad(grad(f))(0.0) == 0.0


def test_cond_on_numbers_and_on_what_is_known(way: str) -> None:
    assert jit(lambda x: cond(x, lambda: 1.0, lambda: 2.0))(0.0) == 2.0
    assert jit(lambda x: cond(x, lambda: 1.0, lambda: 2.0))(-3) == 1.0
    assert jit(lambda x: cond(x, lambda: 1.0, lambda: 2.0))(float("nan")) == 1.0  # as Python's bool(nan)
    assert jit(lambda x: cond(True, lambda x: x, lambda x: "never seen", x))(2.0) == 2.0


def test_a_branch_that_fails_fails_only_when_it_runs(way: str) -> None:
    table = np.arange(3.0)

    def f(x, k):
        return cond(x > 0, lambda: (table * x)[k], lambda: -1.0)

    assert jit(f)(-1.0, 7) == -1.0
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        jit(f)(1.0, 7)


@pytest.mark.parametrize("index", [-4, 0, 1, 2, 9])
def test_switch(way: str, index: int) -> None:
    def f(x, k):
        return switch(k, [np.sin, np.exp, lambda x: x * x], x)

    check_value(f, 0.4, index)
    check_grad(lambda x: f(x, index), 0.4)


def test_switch_keeps_to_its_branches_at_the_ends_of_integers(way: str) -> None:
    f = jit(lambda k: switch(k, [lambda: 0, lambda: 1, lambda: 2, lambda: 3, lambda: 4]))
    assert [f(k) for k in (-(2**63), -1, 0, 1, 2, 3, 4, 5, 2**63 - 1)] == [0, 0, 0, 1, 2, 3, 4, 4, 4]


# ---- scan


def test_scan_carries_and_stacks(way: str) -> None:
    def f(x, w):
        return scan(lambda c, row: (np.tanh(c * w) + row["u"], {"c": c, "big": row["v"] > 1}), x, rows)

    rows = {"u": np.array([0.1, 0.4, -0.3]), "v": np.array([[0.0, 2.0], [3.0, 0.0], [1.0, 1.0]])}
    check_value(f, 0.3, 1.5)
    check_grad(lambda w: f(0.3, w)[0] + np.sum(f(0.3, w)[1]["c"] ** 2), 1.5)


def test_scan_over_traced_rows(way: str) -> None:
    def f(x):
        total, path = scan(lambda c, row: (c * np.sin(row[0]) + row[1], c * row), 1.0, x)
        return total + np.sum(path**2)

    x = np.array([[0.4, 1.0], [0.7, -0.2], [1.1, 0.5]])
    check_value(f, x)
    check_grad(f, x)
    check_value(lambda x: scan(lambda c, row: (c * np.sin(row), c), 1.0, x, reverse=True), x[:, 0])
    check_grad(lambda x: scan(lambda c, r: (c * np.sin(r) + r, c), 1.0, x, reverse=True)[1][0], x[:, 0])


def test_scan_without_rows(way: str) -> None:
    def f(x):
        return scan(lambda c, none: (c * x, None if none is None else 1), 1.0, None, length=5)

    assert jit(f)(2.0) == (32.0, None)
    check_grad(lambda x: f(x)[0], 1.3)


def test_scan_of_no_rows(way: str) -> None:
    empty = np.zeros((0, 2))

    def f(x, rows):
        return scan(lambda c, row: (c + row[0], (c, row > 0)), x, rows)

    for carry, (stack, signs) in (f(1.5, empty), jit(f)(1.5, empty)):
        assert carry == 1.5
        assert stack.shape == (0,) and stack.dtype == np.float64
        assert signs.shape == (0, 2) and signs.dtype == bool
    assert grad(lambda x: f(x, empty)[0])(1.5) == 1.0


def test_nested_scans(way: str) -> None:
    def f(a):
        def outer(c, row):
            inner, _ = scan(lambda d, x: (d * np.cos(x) + c, None), 1.0, row)
            return inner, inner * c

        last, path = scan(outer, 0.5, a)
        return last + np.sum(path)

    a = np.arange(6.0).reshape(2, 3) / 5
    check_value(f, a)
    check_grad(f, a)


def test_a_carry_may_be_a_matrix(way: str) -> None:
    def f(m):
        last, norms = scan(lambda p, _: (np.tanh(p @ m), np.sum(p * p)), np.eye(3), None, length=4)
        return np.sum(last**2) + norms[-1]

    m = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.4], [0.0, 0.2, 0.6]])
    check_value(f, m)
    check_grad(f, m)


def test_carries_that_change_places(way: str) -> None:
    def f(x):
        (a, b), _ = scan(lambda c, _: ((c[1], c[0] * x + c[1]), None), (x, np.sin(x)), None, length=7)
        return a - b

    check_value(f, 0.6)
    check_grad(f, 0.6)


# ---- while_loop and fori_loop


def test_while_loop_to_convergence(way: str) -> None:
    def f(a):
        x, steps = while_loop(
            lambda s: abs(s[0] * s[0] - a) > 1e-13, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0)
        )
        return x + 0.0 * steps

    check_value(f, 7.0)
    assert abs(grad(f)(7.0) - 0.5 / np.sqrt(7.0)) < 1e-12
    assert abs(grad(grad(f))(7.0) + 0.25 * 7.0**-1.5) < 1e-11


@pytest.mark.parametrize("x", [-1.0, 0.5, 3.1, 40.0])
def test_while_loop_runs_as_often_as_it_runs(way: str, x: float) -> None:
    def f(x):
        return while_loop(lambda v: v < 10.0, lambda v: v * v + 1.0, x)

    check_value(f, x)
    check_grad(f, x)


def test_while_loop_with_flags_in_its_carry(way: str) -> None:
    def f(x):
        def body(s):
            x, _, k = s
            return np.where(x > 2.0, x, x * 1.5), x > 2.0, k + 1

        return while_loop(lambda s: cond(s[2] < 20, lambda: s[1] != True, lambda: False), body, (x, False, 0))  # noqa: E712

    check_value(f, 0.3)
    assert f(0.3)[1] and f(0.3)[2] == 6


def test_a_limit_of_steps(way: str) -> None:
    def f(x, most):
        return while_loop(lambda v: v < 10.0, lambda v: v + 1.0, x, max_steps=most)

    for form in (f, jit(f, static_argnums=1), grad(f, static_argnums=1)):
        form(0.0, 10)
        with pytest.raises(RuntimeError, match="while_loop takes more than 9 steps"):
            form(0.0, 9)


def test_a_loop_without_end_can_be_interrupted(way: str) -> None:
    if way == "reference":
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        threading.Timer(0.3, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            jit(lambda x: while_loop(lambda v: v < 2.0, lambda v: v * 0.5, x))(1.0)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("low", "high"), [(0, 4), (2, 6), (-3, 1), (3, 3), (5, 1)])
def test_fori_loop(way: str, low: int, high: int) -> None:
    def f(x, low, high):
        return fori_loop(low, high, lambda i, s: (s[0] * x + i, s[1] + x**i), (1.0, np.zeros(2)))

    check_value(f, 1.3, low, high)
    check_value(lambda x: f(x, low, high), 1.3)
    check_grad(lambda x: f(x, low, high)[0] + np.sum(f(x, low, high)[1]), 1.3)
    assert_close(
        np.asarray(grad(lambda x, low, high: f(x, low, high)[0])(1.3, low, high)),
        by_differences(lambda x: f(x, low, high)[0], 1.3),
        relative=1e-7,
        floor=1e-8,
    )


def test_the_index_of_a_loop_is_as_wide_as_its_bounds(way: str) -> None:
    f = jit(lambda n: fori_loop(np.int32(0), n, lambda i, s: s + i, np.int32(0)))
    assert f(np.int32(5)) == 10 and f(np.int32(5)).dtype == np.int32


def test_carries_are_what_they_become(way: str) -> None:
    """Python numbers become what they meet: from the start, so that no round has another type."""
    for x in (np.float32(0.5), 0.5, np.float64(0.5)):
        made = jit(lambda x: fori_loop(0, 3, lambda i, s: s + x, 0))(x)
        assert type(made) is type(x) and made == 1.5
    assert jit(lambda n: fori_loop(0, n, lambda i, s: s + i, 0))(4) == 6
    flags = jit(lambda n: fori_loop(0, n, lambda i, s: (s[1], s[0]), (True, False)))(3)
    assert flags == (False, True)


# ---- what trees are there, and what Python functions


def test_trees_of_every_kind(way: str) -> None:
    def f(x):
        start = {"p": Pair(x, [1.0, (x * 2, None)]), "k": 0}

        def body(i, s):
            p = s["p"]
            return {"k": s["k"] + i, "p": Pair(p.x * 0.9, [p.y[0] + p.x, (p.y[1][0] - i, None)])}

        return fori_loop(0, 4, body, start)

    check_value(f, 0.8)
    made = jit(f)(0.8)
    assert type(made["p"]) is Pair and made["p"].y[1][1] is None and list(made) == ["p", "k"]


def step(c, x):
    if c > 1.0:
        return c * 0.5, True
    for k in range(2):
        c = c + x * k
    return c, False


def test_functions_that_branch_and_loop_in_python(way: str) -> None:
    rows = np.array([0.7, 0.5, 0.4, 0.2])

    def f(x):
        last, taken = scan(step, x, rows)
        return last + np.sum(np.where(taken, x * x, 0.0))

    check_value(f, 0.4)
    check_grad(f, 0.4)


def guarded(c, x):
    try:
        return (c * 0.5 if c > 1.0 else c + x), c
    except ValueError:
        return c, c


def test_functions_that_cannot_be_captured_run_on_the_values_of_the_call(way: str) -> None:
    rows = np.array([0.7, 0.5, 0.4, 0.2])
    f = lambda x: scan(guarded, x, rows)[0]  # noqa: E731
    compiled, slopes = jit(f), grad(f)
    for x in (0.4, 1.7, 0.4, 5.0):
        assert abs(compiled(x) - f(x)) < 1e-15
        assert abs(slopes(x) - by_differences(f, x)) < 1e-9


def test_forms_within_forms_within_transforms(way: str) -> None:
    def energy(x):
        return fori_loop(0, 3, lambda i, v: cond(v > 1.0, np.sqrt, lambda v: v * x + 0.5, v), x)

    def newton(x):
        return while_loop(lambda v: abs(grad(energy)(v)) > 2.0, lambda v: v - 0.1 * grad(energy)(v), x)

    check_value(newton, 1.7)
    check_grad(newton, 1.7)
    assert_close(
        hessian(lambda x: energy(x[0]) * x[1])(np.array([0.3, 2.0]))[0, 1],
        np.asarray(grad(energy)(0.3))[()],
        relative=1e-12,
    )


def tangle(rng: np.random.Generator, depth: int) -> Any:
    """A random function of two numbers, made of forms within forms."""
    a, b, c = rng.uniform(0.3, 0.9, 3)
    if depth == 0:
        return [
            lambda x, y: np.sin(a * x + y), lambda x, y: x * y * b + c, lambda x, y: np.tanh(x - a * y) + b,
            lambda x, y: np.exp(-x * x) * c + y * a,
        ][rng.integers(4)]
    f, g = tangle(rng, depth - 1), tangle(rng, depth - 1)
    rows, count = rng.uniform(-1.0, 1.0, 4), int(rng.integers(0, 4))

    def summed(x, y):
        last, path = scan(lambda s, r: (f(s, r) + b * s, g(s, y)), x, rows, reverse=bool(count % 2))
        return last + np.sum(path)

    return [
        lambda x, y: cond(f(x, y) > c, lambda v: g(v, y), lambda v: f(v, x) * v, x),
        summed,
        lambda x, y: fori_loop(0, count, lambda i, s: (f(*s) * a, g(s[0], s[1] + i)), (x, y))[1],
        lambda x, y: while_loop(
            lambda s: s[1] < 3, lambda s: (f(s[0], y) * 0.5, s[1] + g(s[0], x) ** 2 + 0.4), (x, 0.0))[0],
        lambda x, y: checkpoint(lambda u, v: f(u, v) * g(v, u))(x, y),
        lambda x, y: switch(count, [f, g, f, lambda u, v: f(g(u, v), v)], x, y),
    ][rng.integers(6)]


@pytest.mark.parametrize("seed", range(24))
def test_forms_at_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = tangle(rng, 1 + seed % 3)
    x, y, h = 0.37, -0.21, 1e-6
    got, slopes = value_and_grad(f, argnums=(0, 1))(x, y)
    assert abs(got - f(x, y)) <= 1e-13 * (1 + abs(f(x, y)))
    for k, e in enumerate(((h, 0.0), (0.0, h))):
        want = (f(x + e[0], y + e[1]) - f(x - e[0], y - e[1])) / (2 * h)
        assert abs(slopes[k] - want) <= 1e-6 * (1 + abs(want))
    second = grad(lambda x: grad(f)(x, y))(x)
    want = (grad(f)(x + h, y) - grad(f)(x - h, y)) / (2 * h)
    assert abs(second - want) <= 1e-5 * (1 + abs(want))
    with settings.override(reference=True):
        again, same = value_and_grad(f, argnums=(0, 1))(x, y)
    assert abs(again - got) <= 1e-13 * (1 + abs(got))
    assert np.allclose(same, slopes, rtol=1e-11, atol=1e-13)


def test_forms_in_functions_that_branch_in_python(way: str) -> None:
    def f(x):
        total = 0.0
        for k in range(3):
            if x * k > 0.5:
                total = total + fori_loop(0, k, lambda i, s: s * x + i, x)
            else:
                total = total + scan(lambda s, r: (s * r, s), x, np.array([0.5, 0.25]))[1][1]
        return total

    for x in (0.2, 0.4, 0.8):
        check_value(f, x)
        check_grad(f, x)


def test_tensors_outside_of_compiled_code() -> None:
    x = pullback.tensor([1.0, 2.0], requires_grad=True)
    last, path = scan(lambda c, r: (c * r, c * r), x, pullback.tensor([2.0, 3.0]))
    (last.sum() + path.sum()).backward()
    assert x.grad.tolist() == [14.0, 14.0]
    assert while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x).tolist() == [4.0, 8.0]


# ---- checkpoint


def test_a_checkpoint_changes_no_number(way: str) -> None:
    def layer(w, h):
        return np.tanh(w @ h) + h

    def loss(form, w, h):
        for _ in range(3):
            h = form(layer)(w, h)
        return np.sum(h * h)

    w, h = np.array([[0.2, -0.4], [0.5, 0.3]]), np.array([0.7, -0.1])
    plain = value_and_grad(lambda w: loss(lambda f: f, w, h))(w)
    kept = value_and_grad(lambda w: loss(checkpoint, w, h))(w)
    assert plain[0] == kept[0]
    assert_close(kept[1], plain[1], relative=1e-14, floor=1e-16)
    check_grad(lambda w: loss(checkpoint, w, h), w)
    assert checkpoint(layer)(w, h=h) == pytest.approx(layer(w, h))
    assert jit(lambda w: checkpoint(layer)(w, h=h))(w) == pytest.approx(layer(w, h))


def test_a_checkpoint_is_computed_again() -> None:
    f = value_and_grad(checkpoint(lambda x: np.sum(np.exp(np.sin(x)) ** 2)))
    f(np.ones(3))
    assert f.ir("optimized").count("= exp") == 2
    plain = value_and_grad(lambda x: np.sum(np.exp(np.sin(x)) ** 2))
    plain(np.ones(3))
    assert plain.ir("optimized").count("= exp") == 1


def test_a_scan_of_checkpoints(way: str) -> None:
    body = checkpoint(lambda c, x: (np.sin(c * x) + np.exp(-c * c), c))
    f = lambda x: scan(body, x, np.linspace(0.1, 1.0, 5))[0]  # noqa: E731
    check_value(f, 0.4)
    check_grad(f, 0.4)


def test_one_graph_for_many_sizes() -> None:
    """What is carried or chosen may have sizes known by name; what is scanned over may not."""
    turned = lambda i, c: cond(np.sum(c) > 2, np.sin, np.cos, c)  # noqa: E731
    kept = jit(lambda x: fori_loop(0, 3, lambda i, c: turned(i, c) + x, x), sizes={"x": ("n",)})
    walked = jit(lambda x: scan(lambda c, r: (c + r, c), 0.0, x)[0], sizes={"x": ("n",)})
    for n in (20, 33):
        x = np.linspace(0.0, 1.0, n)
        check_value(kept.__wrapped__, x)
        assert kept(x).shape == (n,) and walked(x) == pytest.approx(np.sum(x))
    assert "x.shape[0] is n" in str(kept.report())
    assert "x.shape[0] has no name: scan() over it" in str(walked.report())


# ---- what is wrong


def refused(f: Any, *args: Any) -> str:
    with pytest.raises(TypeError) as error:
        jit(f)(*args)
    text = str(error.value)
    assert "test_control_forms.py:" in text and "fix: " in text
    return text


def test_branches_that_differ() -> None:
    text = refused(lambda x: cond(x > 0, lambda x: {"y": x}, lambda x: {"y": np.ones(2) * x}, x), 1.0)
    assert "cond: the branches return different types at ['y']" in text
    assert "first: a Python float" in text and "second: float64[2]" in text
    text = refused(lambda x: cond(x > 0, lambda x: (x, x), lambda x: x, x), 1.0)
    assert "different structures" in text and "a tuple of 2" in text and "a number or an array" in text
    text = refused(lambda x: cond(x[0] > 0, lambda: x, lambda: x.astype(np.float32)), np.ones(2))
    assert "float64[2]" in text and "float32[2]" in text and ".astype(float64)" in text
    text = refused(lambda x: cond(x > 0, lambda: None, lambda: x), 1.0)
    assert "None" in text
    text = refused(lambda x: cond(x > 0, lambda: x, lambda: x), np.ones(2))
    assert "the condition is an array" in text


def test_carries_that_change() -> None:
    text = refused(lambda x: scan(lambda c, r: ({"s": c["s"] + r * np.ones(2)}, None), {"s": 0.0}, x), np.ones(3))
    assert "scan: the carry changes its type at ['s']" in text
    assert "before: a Python float" in text and "after: float64[2]" in text and "shape (2,)" in text
    text = refused(lambda x: fori_loop(0, 3, lambda i, s: s * x, np.zeros(2, int)), 0.5)
    assert "before: int64[2]" in text and "after: float64[2]" in text and ".astype(float64)" in text
    text = refused(lambda x: while_loop(lambda s: s[0] < 3, lambda s: s[0] + x, (x, x)), 0.5)
    assert "while_loop: the carry changes its structure" in text and "before: a tuple of 2" in text
    text = refused(lambda x: while_loop(lambda s: s, lambda s: s + x, x), 0.5)
    assert "the condition is no bool" in text and "condition: a Python float" in text
    text = refused(lambda x: scan(lambda c, r: c + r, 0.0, x), np.ones(3))
    assert "scan: f returned a Array" in text or "scan: f returned an Array" in text


def test_rows_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"xs\['a'\]: 3, xs\['b'\]: 2"):
        scan(lambda c, r: (c, None), 0.0, {"a": np.ones(3), "b": np.ones(2)})
    with pytest.raises(ValueError, match="xs: 3, length: 4"):
        jit(lambda x: scan(lambda c, r: (c, None), 0.0, x, length=4))(np.ones(3))
    with pytest.raises(TypeError, match="xs has no first axis"):
        scan(lambda c, r: (c, None), 0.0, 1.5)
    with pytest.raises(ValueError, match="needs arrays in xs, or length="):
        scan(lambda c, r: (c, None), 0.0)
    with pytest.raises(ValueError, match="length is -1"):
        scan(lambda c, r: (c, None), 0.0, None, length=-1)
    with pytest.raises(TypeError, match="y changes its structure"):
        rounds = iter(range(5))
        scan(lambda c, r: (c, None if next(rounds) else 1.0), 0.0, np.ones(3))


def test_arguments_that_are_none() -> None:
    one: Any = 1
    for wrong, match in [
        (lambda: cond(True, one, abs), "cond takes functions, got int"),
        (lambda: scan(one, 0.0, np.ones(2)), "scan takes functions, got int"),
        (lambda: while_loop(abs, one, 0.0), "while_loop takes functions, got int"),
        (lambda: checkpoint(one), "checkpoint takes functions, got int"),
    ]:
        with pytest.raises(TypeError, match=match):
            wrong()
    with pytest.raises(ValueError, match="at least one branch"):
        switch(0, [])
    with pytest.raises(ValueError, match="max_steps is -1"):
        while_loop(lambda s: s < 1, lambda s: s, 0, max_steps=-1)
    with pytest.raises(TypeError, match="the index is no integer scalar"):
        jit(lambda x: switch(x, [abs, abs], x))(1.0)
    with pytest.raises(TypeError, match="upper is no integer scalar"):
        jit(lambda x: fori_loop(0, x, lambda i, s: s, x))(1.0)
    with pytest.raises(ValueError, match="unroll is -1"):
        scan(lambda c, x: (c, None), 0.0, np.ones(2), unroll=-1)


def test_what_cannot_be_carried() -> None:
    count = lambda body, start: jit(lambda v: fori_loop(0, 3, body, start(v)))(1.0)  # noqa: E731
    assert count(lambda i, s: (s[0] + 1, "mode"), lambda v: (v, "mode")) == (4.0, "mode")
    for body, start, text in [
        (lambda i, s: (s[0], "b"), lambda v: (v, "a"), r"changes its structure at \[1\](.|\n)*before: 'a'"),
        (lambda i, s: object(), lambda v: v, "after: <object"),
        (lambda i, s: s, lambda v: np.longdouble(1), "the carry is an array of dtype float128"),
        (lambda i, s: OrderedDict(s), lambda v: {"a": v}, "before: a dict with keys 'a'(.|\n)*after: a OrderedDict"),
    ]:
        with pytest.raises(TypeError, match=text):
            count(body, start)
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(TypeError, match="contains itself"):
        count(lambda i, s: nested, lambda v: v)
    for wrong in (lambda: fori_loop(0, 2.5, lambda i, s: s, 0), lambda: scan(step, 0.0, None, length=2.5)):  # type: ignore
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            wrong()


def test_an_index_out_of_range_within_a_loop(way: str) -> None:
    f = lambda x, n: fori_loop(0, n, lambda i, s: s + x[i] ** 2, 0.0)  # noqa: E731
    x = np.arange(3.0)
    for form in (jit(f), grad(f), value_and_grad(f)):
        form(x, 3)
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            form(x, 4)
    assert jit(lambda x: fori_loop(-3, 0, lambda i, s: s + x[i], 0.0))(x) == 3.0


def test_a_value_of_a_body_does_not_leave_it() -> None:
    kept = []

    def body(i, s):
        kept.append(s)
        return s * 0.5

    with pytest.raises(TypeError, match="keeps a traced value in kept"):
        jit(lambda x: fori_loop(0, 3, body, x) + kept[-1])(1.0)


def test_arrays_from_outside_are_not_changed_within() -> None:
    def f(x):
        y = x * 2.0

        def body(i, s):
            nonlocal y
            y += 1.0
            return s + np.sum(y)

        return fori_loop(0, 3, body, 0.0)

    with pytest.raises(TypeError):
        jit(f)(np.ones(2))


TWICE = {
    "scan": lambda g, x: scan(lambda c, r: (g(c) * r, g(c) + r), x * 1.0, np.ones((3, 2)))[1].sum(axis=0),
    "fori_loop": lambda g, x: fori_loop(0, 3, lambda i, c: g(c) * 0.5 + i, x * 1.0),
    "while_loop": lambda g, x: while_loop(lambda c: g(c).sum() < 50.0, lambda c: g(c) + 1.0, x * 1.0),
    "cond": lambda g, x: cond(x.sum() > 0, g, lambda c: 2 * g(c), x * 1.0),
    "checkpoint": lambda g, x: checkpoint(lambda c: g(c) * c)(x * 1.0),
    "vmap": lambda g, x: pullback.vmap(lambda r: g(x) * r)(np.arange(1.0, 4.0)).sum(axis=0),
    "implicit": lambda g, x: pullback.implicit(lambda s, v: s * g(v) - 3.0)(lambda v: 3.0 / g(v))(x),
}


@pytest.mark.parametrize("form", TWICE)
def test_a_body_may_take_a_value_from_outside_under_two_names(form: str, way: str) -> None:
    def f(x: Any, y: Any) -> Any:
        copied = y.copy()

        def g(c: Any) -> Any:
            u, v = copied
            return c * y * (u + v) + y[0] * copied

        return TWICE[form](g, x)

    def lanes(x: Any) -> Any:
        return pullback.vmap(f, in_axes=(0, None), out_axes=1)(x, y)

    def total(x: Any) -> Any:
        return np.sum(f(x, y) * np.array([1.0, 2.0]))

    def of_outside(y: Any) -> Any:
        return np.sum(f(x, y))

    x, y = np.array([0.5, 0.7]), np.array([0.3, 1.1])
    check_value(f, x, y)
    assert_close(jit(lanes)(np.stack([x, x + 1]))[:, 0], f(x, y), relative=1e-12)
    assert_close(grad(total)(x), by_differences(total, x), relative=1e-6, floor=1e-7)
    assert_close(grad(of_outside)(y), by_differences(of_outside, y), relative=1e-6, floor=1e-7)
    rows = [by_differences(lambda x, k=k: grad(total)(x)[k], x) for k in (0, 1)]
    assert_close(hessian(total)(x), np.stack(rows), relative=1e-5, floor=1e-6)
    assert np.isfinite(jit(lambda z: pullback.vjp(lanes, z)[1](np.ones((2, 2)))[0])(np.stack([x, x + 1]))).all()


@pytest.mark.parametrize("module", [branches, control])
def test_examples_of_the_documentation(module: Any) -> None:
    names = {"np": np, "grad": grad, "jit": jit}
    found = doctest.DocTestFinder().find(module, extraglobs=names)
    runner = doctest.DocTestRunner(verbose=False)
    for test in found:
        runner.run(test)
    assert runner.tries and not runner.failures


def test_branches_that_are_named_as_the_parts_of_an_error() -> None:
    def error(x):
        return x

    def fix(x):
        return x, x

    text = refused(lambda x: cond(x > 0, error, fix, x), 1.0)
    assert "error: a number or an array" in text and "fix: a tuple of 2" in text
