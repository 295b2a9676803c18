"""Capture of Python's control flow and stores: the graphs that functions become, and that they mean the same.

`same` runs a function as plain Python and its graph by the reference executor, and compares value or exception.
"""

from __future__ import annotations

import functools
import linecache
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.frontend import tree
from pullback.compiler.frontend.errors import NeedsValues, TraceError, Uncaptured
from pullback.compiler.frontend.results import from_arrays
from pullback.compiler.frontend.trace import Trace, trace
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.verify import verify
from pullback.compiler.settings import settings

A = np.array([0.5, -1.5, 2.5, 0.25, -0.75])
M = np.arange(12.0).reshape(3, 4) - 5


def traced(function: Callable[..., Any], *args: Any) -> tuple[Trace, list[Any]]:
    """The trace of a function, without values at hand, and the leaves of its arguments."""
    leaves: list[Any] = []
    signature = tree.flatten(tuple(args), leaves)
    names = [f"x{k}" for k in range(len(args))]
    return trace(function, ("tuple", (*signature[1], ("dict", (), ()))), names, "f"), leaves


def run(function: Callable[..., Any], *args: Any) -> Any:
    """What the graph of a function gives."""
    made, leaves = traced(function, *args)
    verify(made.graph)
    given = [*leaves, *made.extras]
    arrays = [np.asarray(x, p.type.numpy) for x, p in zip(given, made.graph.params, strict=True)]
    return from_arrays(made.result, evaluate(made.graph, arrays))


def outcome(action: Callable[[], Any]) -> tuple[type | None, Any]:
    try:
        return None, action()
    except Exception as error:
        return type(error), error


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-13, atol=0, equal_nan=True))


def same(function: Callable[..., Any], *args: Any) -> Any:
    """The value of a function, which is that of its graph; or its exception, which is of the same kind."""
    with np.errstate(all="ignore"):
        want = outcome(lambda: function(*args))
        kind, value = outcome(lambda: run(function, *args))
    assert kind is want[0], f"{value!r} instead of {want[1]!r}"
    assert kind is not None or equal(value, want[1]), f"{value!r} instead of {want[1]!r}"
    return want[1]


def names(graph: Graph) -> list[str]:
    """The primitives of a graph and of its regions, in order."""
    found = []
    for op in graph.body:
        found.append(op.prim.name)
        for region in op.regions:
            found += names(region)
    return found


def prims(function: Callable[..., Any], *args: Any) -> list[str]:
    return names(traced(function, *args)[0].graph)


def said(kind: type[Exception], function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(kind) as caught:
        run(function, *args)
    return str(caught.value)


# ---- what becomes a region


def power(x, n):
    p = 1.0
    for _ in range(n):
        p *= x
    return p


def root(x):
    y, n = x, 0
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
        n += 1
    return y, n


def test_a_loop_over_a_traced_count_is_a_scan():
    assert prims(power, 2.0, 5).count("scan") == 1
    for n in (0, 1, 5, -3):
        same(power, 1.5, n)


def test_a_while_loop_is_a_loop_and_its_counter_needs_no_check():
    found = prims(root, 2.0)
    assert found.count("loop") == 1
    assert found.count("require") == 1  # x / y; n + 1 cannot leave 64 bits
    same(root, 2.0)


def test_short_loops_are_unrolled_and_long_ones_rolled():
    def total(a):
        s = 0.0
        for v in a:
            s = s + v * v
        return s

    assert "scan" not in prims(total, A)
    assert "scan" in prims(total, np.ones(200))
    same(total, A)
    same(total, np.linspace(0, 1, 200))


def test_a_loop_that_computes_nothing_traced_runs():
    def padded(a):
        n = 1
        while n < 3 * len(a):
            n *= 2
        table = np.zeros(n)
        for k in range(n):
            table[k] = 1.0 / (k + 1)
        return table[: len(a)] * a

    assert not {"scan", "loop", "update"} & set(prims(padded, A))
    same(padded, A)


def test_temporaries_of_a_body_are_no_carries():
    def table(d):
        r = np.zeros((9, 9))
        for i in range(1, 9):
            for j in range(1, 9):
                a, b = r[i - 1, j], r[i, j - 1]
                best = max(a, b)
                r[i, j] = d[i - 1, j - 1] + best * 0.5
        return r

    graph = traced(table, np.ones((8, 8)))[0].graph
    (outer,) = [op for op in graph.body if op.prim.name == "scan"]
    (inner,) = [op for op in outer.regions[0].body if op.prim.name == "scan"]
    assert outer.attrs["carries"] == inner.attrs["carries"] == 1
    assert "check_indices" not in names(graph)
    same(table, np.random.default_rng(1).normal(size=(8, 8)))


def test_a_choice_between_values_is_a_select():
    assert "cond" not in prims(lambda x, y: x if x > y else y, 1.0, 2.0)
    assert "cond" in prims(lambda x, y: x * y if x > y else y, 1.0, 2.0)
    for x in (1.0, 3.0, math.nan):
        same(lambda x, y: max(x, y, 1.5) - min(x, y), x, 2.0)


def test_loops_with_exits():
    def search(a, t):
        for i in range(len(a)):
            for j in range(3):
                if a[i] + j > t:
                    return i, j
                if a[i] < -1:
                    break
                if j == 1:
                    continue
            else:
                t = t - 0.25
        else:
            t = t * 100
        return -1, t

    for t in (0.0, 1.0, 2.0, 3.0, 4.0, 9.0):
        same(search, np.tile(A, 5), t)


def test_the_condition_of_a_loop_may_bind():
    def halve(x):
        n = 0
        while (y := x * 0.5) > 0.1:
            x, n = y, n + 1
        else:
            n += 100
        return x, y, n

    for x in (7.0, 0.1):
        same(halve, x)


def test_steps_can_be_limited():
    with settings.override(max_steps=20):
        assert "has taken more than 20 steps" in said(RuntimeError, lambda x: forever(x), 1.0)
        same(root, 2.0)


def forever(x):
    while x > 0:
        x += 1
    return x


# ---- names


def test_unbound_names():
    def after(n, x):
        for i in range(n):
            last = x * i
        return last, i

    def sometimes(x):
        if x > 0:
            y = x
        else:
            del_me = 1.0
            del del_me
        return y

    for n in (0, 1, 3):
        same(after, n, 2.0)
    for x in (1.0, -1.0):
        same(sometimes, x)


def test_closures_lambdas_partials_methods_and_decorators():
    scale = 3.0

    class Model:
        def __init__(self, w):
            self.w = w

        @property
        def twice(self):
            return self.w * 2

        def __call__(self, x, n):
            for _ in range(n):
                x = self.step(x)
            return x

        def step(self, x):
            return x * self.twice if x < 10 else x - scale

    def twice(f):
        @functools.wraps(f)
        def g(*args, **kwargs):
            return f(*args, **kwargs) * 2

        return g

    @twice
    def decorated(x, bias=1.0, *rest, **options):
        while x < 3:
            x += abs(x) + bias
        return x + sum(rest) + options.get("more", 0.0)

    def made_here(x, n):
        def grow(v):
            nonlocal x
            x = x + v
            return x * scale

        pick = [lambda v: v + 1, lambda v: v * 2]
        for i in range(n):
            grow(pick[1](i))
        return x, [f(x) for f in pick]

    same(Model(1.5), 2.0, 9)
    same(functools.partial(decorated, bias=0.5), 1.0)
    same(lambda x: decorated(x, 1.0, 2.0, more=x), 0.5)
    same(made_here, 1.0, 4)
    for f in [lambda v: v if v > 1 else -v, lambda v: v * 2 if v > 1 else v]:
        same(f, 0.5)


def test_functions_that_are_defaults_of_parameters_are_walked():
    def filled(x):
        y = np.zeros((3, 2))
        for k in range(3):
            y[k] = np.array([x[0] * k, x[1]])
        return np.sum(y * y)

    def by_default(x, h=filled):
        return h(x)

    def by_keyword(x, *, h=filled):
        return h(x)

    for f in (by_default, by_keyword):
        np.testing.assert_array_equal(grad(f)(A), grad(filled)(A))


def test_recursion_that_no_traced_value_ends():
    def tower(n, x):
        return x if n == 0 else tower(n - 1, x * 2) + 1

    same(lambda x: tower(5, x), 1.5)
    assert "calls itself until a traced value ends it" in said(Uncaptured, tower, 5, 1.5)
    assert jit(tower)(5, 1.5) == tower(5, 1.5)


# ---- Python's numbers


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1.0 / x if x < 5 else x,
        lambda x: 1 // x if x < 5 else x,
        lambda x: 5 % x if x < 5 else x,
        lambda x: math.sqrt(x - 1) if x < 5 else x,
        lambda x: math.log(x) if x < 5 else x,
        lambda x: math.exp(800.0 - x) if x < 5 else x,
        lambda x: math.sin(x * math.inf) if x < 5 else x,
        lambda x: int(x / 3.0) + round(x) if x < 5 else x,
        lambda x: (x > 1) + (x > 0) * 2 + True,
        lambda x: (x and 3.0) or not x,
        lambda x: 0 < x < 2 <= 3,
        lambda x: 0**x if x > 2 else x,
    ],
)
@pytest.mark.parametrize("x", [0.0, 1.0, 4.0, -2.0, 7.0])
def test_python_numbers(function, x):
    same(function, x)


@pytest.mark.parametrize("n", [0, 1, 7, -7, 2**62, 2**63 - 1])
def test_python_integers(n):
    def f(n):
        small = n % 10 if n >= 0 else -n // 3
        return small, n // 7, abs(n) > 5, -n // 2, divmod(n, 4)

    def grows(n):
        if n > 5:
            n = n + 1
        return n * 1.0

    same(f, n)
    kind, value = outcome(lambda: run(grows, n))
    if n < 2**63 - 1:
        assert kind is None and value == grows(n)
    else:
        assert kind is OverflowError and "64 bits" in str(value)


def test_numpy_scalars_have_no_exceptions():
    def f(a):
        s = a[0] - a[0]
        return 1.0 / s if s == 0 else s

    assert run(f, A) == math.inf


def test_a_carry_that_becomes_a_float():
    def f(n, x):
        s = 0
        for _ in range(n):
            s = s + x
        return s

    for n in (0, 3):
        same(f, n, 0.5)


# ---- arrays: stores, views, aliases


def test_stores():
    def f(a, x):
        z = np.zeros((3, 4))
        for i in range(3):
            z[i, i] = x * i
            z[i, -1] += i
            row = z[i]
            row[1:3] = a[:2]
            row *= 2
        z[:, 0] = x
        z[1:, ::2] -= 1
        z[2] = [1, 2, x, 4]
        b = z
        b[0, 0] = 7.0
        return z, z[1, 2], b is z

    same(f, A, 0.5)


def test_stores_at_arrays_of_indices_and_masks():
    def f(a, x):
        b = a.copy()
        b[b < 0] = x
        b[a > 2] *= 3
        b[[0, 2]] = 7.0
        b[np.array([1, 1, 3])] += a[:3]
        np.add.at(b, np.array([1, 1, 3]), a[:3])
        c = np.zeros((2, 5))
        c[np.array([0, 1]), np.array([3, 4])] = b[:2]
        np.fill_diagonal(c, x)
        c.fill(x) if x > 100 else None
        np.copyto(c[1], a)
        return b, c

    same(f, A, 0.5)


def test_traced_indices_are_checked_and_may_be_negative():
    def f(a, k):
        b = a.copy()
        b[k] = b[k - 1] + 1.0
        return b

    for k in (0, 2, -1, -4, 4):
        same(f, A, k)
    for k in (5, -6, -5):
        kind, error = outcome(lambda k=k: run(f, A, k))
        want = outcome(lambda k=k: f(A.copy(), k))
        assert kind is want[0] is IndexError and str(error) == str(want[1])


def test_windows():
    def f(a):
        out = np.zeros(48)
        for i in range(48):
            out[i] = np.sum(a[i : i + 3]) + a[i + 2]
        return out

    found = prims(f, np.ones(50))
    assert "scan" in found and "check_indices" not in found
    same(f, np.linspace(0, 1, 50))


def test_buffers_that_are_swapped():
    def f(u0, k):
        u = u0.copy()
        new = np.zeros_like(u)
        for _ in range(60):
            for i in range(1, 4):
                new[i] = u[i] + k * (u[i + 1] - 2 * u[i] + u[i - 1])
            u, new = new, u
        return u

    same(f, A, 0.1)


def test_arrays_that_may_be_one():
    def f(a, x):
        b = a.copy()
        c = b if x > 0 else a.copy()
        c[0] = 9.0
        return b.sum()

    text = said(Uncaptured, f, A, 1.0)
    assert "may or may not be the same as one that was changed" in text
    assert "test_capture.py:" in text and ".copy()" in text
    for x in (1.0, -1.0):
        assert jit(f)(A, x) == f(A, x)

    def unread(a, x):
        b = a.copy()
        c = b if x > 0 else a.copy()
        c[0] = 9.0
        return c

    for x in (1.0, -1.0):
        same(unread, A, x)


def test_views_of_other_shapes():
    def f(m):
        v = m.copy()
        w = v.T.reshape(-1) * 2.0
        if w[0] > -100:
            w[0] = 5.0
        return v, w

    def shared(m):
        v = m.copy()
        v.T[0] = 5.0
        return v if v[0, 0] > 0 else m

    same(f, M)
    same(shared, M)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda a, t: operator.setitem(a, 0, 1.0), "the argument x"),
        (lambda a, t: _store(a, 1.0), "assignment into the argument x"),
        (lambda a, t: _store(a[1:], 1.0), "assignment into the argument x"),
        (lambda a, t: t.append(1.0), "changes a container that it was given, at t"),
        (lambda a, t: _store(OUTER, 1.0), "assignment into an outer array"),
        (lambda a, t: KEPT.append(1.0), "changes a container that it was given, at an outer list"),
    ],
)
def test_what_others_would_see_is_refused(change, what):
    def f(x, t):
        if len(t) > 1:
            change(x, t)
        return x

    before = OUTER.copy(), list(KEPT)
    text = said(TraceError, f, A.copy(), [1.0, 2.0])
    if change.__code__.co_names[0] != "operator":
        assert what in text and "fix: work on a copy" in text
    assert np.array_equal(before[0], OUTER) and before[1] == KEPT


OUTER, KEPT = np.zeros(3), [0.0]


def _store(a, x):
    a[0] = x


def test_globals_are_not_assigned():
    def f(x):
        global COUNTER
        if x > 0:
            COUNTER = x
        return x

    assert "an assignment to 'COUNTER'" in said(TraceError, f, 1.0)


COUNTER = 0.0

# ---- lists, tuples, dicts


def test_lists_that_grow():
    def f(a):
        out, pairs = [], []
        s = 0.0
        for k, v in enumerate(a):
            s += v
            out.append(s)
            if v > 0:
                pairs.append(a[:2] * k)
        return np.array(out) * 2, len(out), out[-1], out[3], len(pairs)

    assert prims(f, np.ones(60)).count("scan") == 1
    same(f, A)
    same(f, np.tile(A, 12))


def test_copies_of_lists_that_grow():
    def either(a):
        out, kept = [], [0.0]
        for v in a:
            one = out if v > 0 else kept
            one.append(v)
        return len(out)

    assert "a list that may or may not be the same" in said(Uncaptured, either, A)
    assert jit(either)(A) == either(A)

    def copies(a):
        out, s = [], 0.0
        for v in a:
            out.append(v)
            more = out.copy()
            more.append(v * 2)
            more.append(v * 3)
            other = list(out)
            other.extend([v, v])
            s = s * 0.5 + sum(more) + more[-1] + sum(other) + len(other)
        return s, len(out)

    same(copies, np.tile(A, 12))


def test_methods_of_lists_and_arrays():
    def f(m, x):
        order = [3, 1, 2]
        order.sort(reverse=True)
        order.insert(1, order.pop())
        flat = list(m.flat)[5] if x > 0 else m.flat[6]
        return order, order.index(2), flat, m.T[1].tolist()[0], m.astype(int).max()

    same(f, M, 1.0)
    same(f, M, -1.0)


def test_containers_as_carries():
    class Pair(NamedTuple):
        a: Any
        b: Any

    def f(x, n):
        p, t, w = {"w": x, "b": 0.0}, (1, x), Pair(x, 2.0)
        rows = [x, 2 * x, 1]
        for i in range(n):
            p = {"w": p["w"] * 0.9, "b": p["b"] + 1}
            p["w"] += 0.1
            t = (t[1], t[0] + i)
            w = Pair(w.b, w.a + w.b)
            rows = [v * 0.5 for v in rows]
        return p, t, w.a, rows

    for n in (0, 1, 4):
        same(f, 2.0, n)


def test_iteration():
    def f(m, n):
        s = 0.0
        for i, (row, k) in enumerate(zip(m, reversed(range(n)), strict=False), start=1):
            s += i * row[0] + k
        for a, b in zip(m[0], m[1, 1:], strict=False):
            s -= a * b
        squares = [v * v for v in m[2] if v > 0]
        table = {k: 2 * v for k, v in zip("abc", m[:, 0], strict=True)}
        first, *rest = m[1]
        return s, sum(squares), table, first, len(rest), any(v > 5 for v in m[0]), list(range(4))

    for n in (0, 2, 7):
        same(f, M, n)


def test_any_and_all_of_a_generator_stop_at_the_first_that_decides():
    def f(a, t):
        found = any(1.0 / float(v) > t for v in a)
        return found, all(v != 0 and 1.0 / float(v) < 10 for v in a for _ in range(2))

    for a in ([1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [4.0, 2.0, 0.1]):
        same(f, np.array(a), 0.5)


# ---- exceptions


def test_raise_and_assert():
    def f(x):
        if x < 0:
            raise ValueError("negative")
        assert x < 10, f"{x} is too big"
        if x == 5:
            raise Odd("five")
        return math.sqrt(x)

    for x in (-1.0, 4.0, 5.0, 11.0):
        same(f, x)
    assert "{x} is too big" in str(outcome(lambda: run(f, 11.0))[1])


class Odd(Exception):
    pass


def test_the_order_of_exceptions():
    def f(a, k, x):
        y = a[k]
        if x > 0:
            raise ValueError("first")
        raise KeyError("second")
        return y

    for k in (0, 9):
        for x in (1.0, -1.0):
            same(f, A, k, x)


def test_try():
    def f(x):
        done: list[Any] = []
        y: Any = x
        try:
            y = {"a": x}["b" if len(done) > 5 else "a"]
            for _ in range(1):
                done.append(int("no"))
        except (KeyError, ValueError) as error:
            y = x * len(str(error))
        else:
            y = -x
        finally:
            done.append(1)
        return y + len(done) if x > 0 else y

    def by_value(x):
        try:
            return math.sqrt(x)
        except ValueError:
            return -x

    same(f, 2.0)
    assert "an exception that depends on traced values within `try`" in said(Uncaptured, by_value, 2.0)
    assert [jit(by_value)(x) for x in (4.0, -3.0)] == [2.0, 3.0]
    assert [grad(by_value)(x) for x in (4.0, -3.0)] == [0.25, -1.0]


# ---- what has no region


def _generator(x):
    for k in range(3):
        yield x * k


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: np.zeros(2) * x if x > 0 else np.zeros(3), "is f64[2] on one path and f64[3] on another"),
        (lambda x: x if x > 0 else None, "is a Python float on one path and None on another"),
        (lambda x: [1.0] * int(x) if x > 0 else x, "not known yet"),
        (lambda x: sum(_generator(x)) if x > 0 else x, "is a generator"),
        (lambda x: {1.5: x}[int(x)] if x > 0 else x, "a dict key that depends on traced values"),
        (lambda x: len(f"{x}") if x > 0 else x, "text made of traced values"),
        (lambda x: sorted([x, -x]) if x > 0 else x, "sorted() of traced values"),
        (lambda x: "a" if x > 0 else "b", "is the str 'a' on one path and the str 'b' on another"),
    ],
)
def test_what_is_refused_says_where_and_both_sides(function, what):
    text = said(NeedsValues, lambda x: function(x), 1.0)
    assert what in text and "test_capture.py:" in text and "fix: " in text


def test_a_value_that_nobody_reads_is_not_refused():
    def f(x):
        if x > 0:
            shape, kind = np.zeros(2), "a"
        else:
            shape, kind = np.zeros(3), None
        if x > 1:
            shape, kind = x, x
        else:
            shape, kind = -x, x
        return shape + kind

    for x in (0.5, 2.0, -1.0):
        same(f, x)


def test_a_loop_that_cannot_be_rolled_is_unrolled_and_said():
    def f(x):
        y = np.ones(64) * x
        while len(y) > 1:
            y = y[::2] + y[1::2]
            y = y * np.sin(y) + np.cos(y) * np.tanh(y) - np.exp(-y * y)
            y = np.sqrt(y * y + 1) * np.arctan(y) + np.log1p(y * y)
        return y[0]

    made, _ = traced(f, 0.3)
    assert any("is unrolled" in note for note in made.notes)
    same(f, 0.3)


def test_closures_called_by_libraries():
    def f(a, x):
        g = lambda s, v: s + v * x if v > 0 else s  # noqa: E731
        return functools.reduce(g, [a[0], a[1], a[2]], 0.0)

    def changes(a, x):
        n = 0

        def g(s, v):
            nonlocal n
            n += 1
            return s + v

        return functools.reduce(g, [a[0], a[1]], x) if n == 0 else x

    same(f, A, 2.0)
    assert "called by a library, changes 'n'" in traced(changes, A, 2.0)[0].notes[0]  # and it is run instead
    same(changes, A, 2.0)


# ---- sources


def _executed(text: str, name: str = "<no such file>") -> Callable[..., Any]:
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def _remember(name: str, text: str) -> None:
    """As consoles and notebooks do with what is typed."""
    cache: dict[str, Any] = linecache.cache  # type: ignore[assignment]
    cache[name] = (len(text), None, text.splitlines(True), name)


TEXT = "def f(x):\n    if x > 0:\n        return x * 2\n    return -x\n"


def test_without_source_values_are_at_hand():
    f = _executed(TEXT)
    assert "its source is not found" in said(Uncaptured, f, 1.0)
    assert [jit(f)(x) for x in (1.0, -1.0)] == [2.0, 1.0]
    assert [grad(f)(x) for x in (1.0, -1.0)] == [2.0, -1.0]


def test_sources_are_compared_with_what_was_compiled():
    name = "<edited>"
    _remember(name, TEXT)
    f = _executed(TEXT, name)
    same(f, 1.0)
    name, edited = "<edited since>", TEXT.replace("* 2", "* 3")
    _remember(name, edited)
    g = _executed(TEXT, name)
    assert "has changed since it was compiled" in said(Uncaptured, g, 1.0)
    assert jit(g)(1.0) == 2.0


def test_plain_functions_are_run_as_before():
    assert run(lambda x: (x * 2, type(x).__name__), 1.0) == (2.0, "Array")


def test_notes_tell_what_was_traced_on_values():
    def f(x):
        out = [x]
        while abs(out[-1]) > 0.1:
            out.append(out[-1] * 0.5)
        return sum(out), len(out)

    compiled = jit(f)
    for x in (2.0, 0.3, 2.0):
        assert compiled(x) == f(x)
    assert "a list grows in a loop whose number of passes depends on values" in str(compiled.report())


def test_straight_code_that_writes_to_parts_is_walked():
    def f(a):
        a = a.copy()
        row, column = a[1], a[:, 2]
        row += a[0]
        column *= 2.0
        return (a * a).sum() + a.reshape(-1)[3]

    same(f, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("make", [
    lambda x: np.array([x, 2.0 * x, 1.0]) @ np.ones(3),
    lambda x: np.array([[x, 1.0], [0.0, x * x]]).trace(),
    lambda x: np.concatenate([np.zeros(2), [x, x * x]]).sum(),
    lambda x: np.dot([x, 1.0], [2.0, x]),
    lambda x: np.sum([x, [x * x, 1.0][0]]) + np.max([x, 1.0]),
    lambda x: np.full(3, x).sum() + np.linalg.norm(np.asarray([x, 1.0])),
])
def test_lists_with_traced_numbers_are_arrays_to_numpy(make):
    same(make, 1.5)


# ---- names of the functions around


def free_in_a_comprehension(x, n):
    for k in range(n):
        y = x * k
    return sum([y * i for i in range(3)])


def free_in_a_lambda(x):
    if x > 1:
        y = x
    return (lambda: y * y)()  # type: ignore[operator]


def free_in_any(x):
    if x > 1:
        y = x
    return 1.0 * any(y > i for i in range(2))


def changed_by_a_function_within(x):
    if x > 1:
        y = x

    def double():
        nonlocal y
        y *= 2
        return y

    return double() + y


def unbound():
    if not A.size:
        y = 1.0

    def f(x):
        if x > 0:
            return x * y
        return x

    return f


@pytest.mark.parametrize("function, args, bound", [
    (free_in_a_comprehension, (1.5, 0), (1.5, 2)),
    (free_in_a_lambda, (0.5,), (1.5,)),
    (free_in_any, (0.5,), (1.5,)),
    (changed_by_a_function_within, (0.5,), (1.5,)),
    (unbound(), (1.5,), (-1.5,)),
])
def test_a_free_variable_that_is_not_bound_is_a_name_error(function, args, bound):
    with pytest.raises(NameError) as plain:
        function(*args)
    for transform in (jit, grad):
        with pytest.raises(NameError) as caught:
            transform(function)(*args)
        assert type(caught.value) is type(plain.value) is NameError
        assert str(caught.value).splitlines()[0] == str(plain.value)
    assert equal(jit(function)(*bound), function(*bound))


@pytest.mark.parametrize("function", [
    lambda a: sum([a * i for a in a for i in range(3)]),
    lambda a: np.stack([a * a for a in a]).sum(),
    lambda a: sum(a * a for a in a),
    lambda a: {a: b * b for a, b in enumerate(a)}[1],
    lambda a: 1.0 if any(a > 2 for a in a) else 2.0,
    lambda a: 1.0 if all(a > -2 for a in a) else 2.0,
    lambda a: sum([sum([a * a for a in a]) for a in [a, a + 1]]),
    lambda a: sum([a * b for a in [a, 2 * a] for b in a][2]),
])  # fmt: skip
def test_what_a_comprehension_goes_over_is_evaluated_outside(function):
    same(function, A)
    slope = [(function(A + h) - function(A - h)) / 2e-6 for h in 1e-6 * np.eye(len(A))]
    assert np.allclose(grad(function)(A), slope, atol=1e-7)
