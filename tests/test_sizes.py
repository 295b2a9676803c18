"""Named sizes: one graph for all sizes of a dimension, with the bits of the graphs made for each."""

import ctypes
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pullback import grad, hessian, hvp, jit, value_and_grad, vjp
from pullback.compiler.backend.entries.native import entry_count
from pullback.compiler.backend.kernel import Kernel
from pullback.compiler.backend.sized import shared as backend_shared
from pullback.compiler.backend.sized.shared import Sized
from pullback.compiler.ir import graph as graphs
from pullback.compiler.ir.formulas import Formulas
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.measure import UNKNOWN, Extent, Measure, Sizes
from pullback.compiler.ir.sizes import at_sizes, names_of
from pullback.compiler.ir.symint import SymSizes
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.types import Size, Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.pattern import opened
from pullback.compiler.ops.source import dimension
from pullback.compiler.settings import settings
from pullback.runtime.compiled.function import AWAITED
from pullback.runtime.compiled.sizes import MAX_FORMS

RNG = np.random.default_rng(3)


def real(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def below(limit: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, limit, shape)


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


NAMED: dict[str, tuple[Any, Any]] = {
    "mean": (lambda x: np.mean(x * x), lambda n: [real(n)]),
    "variance": (lambda x: np.var(x, ddof=1), lambda n: [real(n, 3)]),
    "deviation": (lambda x: np.std(x, axis=0), lambda n: [real(n, 3)]),
    "softmax": (softmax, lambda n: [real(n, 5)]),
    "differences": (lambda x: np.sum((x[1:] - x[:-1]) ** 2), lambda n: [real(n)]),
    "reversed": (lambda x: x[::-1] * x, lambda n: [real(n)]),
    "ends": (lambda x: x[-3:] + x[:3] * x[-1], lambda n: [real(n)]),
    "middle": (lambda x: x[5:-5] * 2, lambda n: [real(n, 4)]),
    "joined": (lambda x, y: np.concatenate([x, y, x]), lambda n: [real(n), real(n)]),
    "two names": (np.outer, lambda n: [real(n), real(3 * n + 1)]),
    "products": (lambda x: x.T @ x, lambda n: [real(n, 20)]),
    "distances": (lambda x: np.exp(-np.sum((x[:, None] - x[None]) ** 2, -1)), lambda n: [real(n, 3)]),
    "reshaped": (lambda x: x.reshape(-1).reshape(x.shape[0], 3).reshape(x.shape[0] * 3), lambda n: [real(n, 3)]),
    "gathered": (lambda x, i: x[i], lambda n: [real(50, 2), below(50, n)]),
    "from a table": (lambda x, i: x[i].sum(0), lambda n: [real(n, 2), below(n, 30)]),
    "of each row": (lambda x, i: x[np.arange(len(x)), i], lambda n: [real(n, 4), below(4, n)]),
    "along": (lambda x, i: np.take_along_axis(x, i[:, None], 1), lambda n: [real(n, 4), below(4, n)]),
    "argmax": (lambda x: np.argmax(x, axis=0), lambda n: [real(n, 3)]),
    "largest": (lambda x: np.max(x), lambda n: [real(n, 3)]),
    "numbers": (lambda x: x.sum() / (x.shape[0] - 1) + x.size * 0.5 - np.log(len(x)), lambda n: [real(n)]),
    "f32": (lambda x: x.sum() * (1 / x.shape[0]), lambda n: [real(n).astype("f4")]),
    "squared size": (lambda x: x.sum() / x.shape[0] ** 2, lambda n: [real(n)]),
    "padded": (lambda x: np.pad(x, (1, 2)), lambda n: [real(n)]),
    "rolled": (lambda x: np.roll(x, 1) - np.roll(x, -2), lambda n: [real(n)]),
    "stacked": (lambda x, y: np.stack([x, y], axis=1), lambda n: [real(n), real(n)]),
    "tiled": (lambda x: np.tile(x, 2) * np.repeat(x, 2), lambda n: [real(n)]),
    "made": (lambda x: x + np.zeros(x.shape) + np.ones(len(x)) * np.full(x.shape, 2), lambda n: [real(n)]),
    "counted": (lambda x: x * np.arange(x.shape[0]) + np.arange(2, x.shape[0] + 2), lambda n: [real(n)]),
    "spaced": (lambda x: x * np.linspace(0.1, 2.3, len(x)) + np.linspace(-1, 1, x.size, False), lambda n: [real(n)]),
    "unit": (lambda x: x @ (np.eye(len(x)) + np.eye(len(x), k=1) - np.identity(x.shape[0]) * 3), lambda n: [real(n)]),
    "below": (lambda x: x @ (np.tri(len(x)) + np.tri(x.size, k=-2)), lambda n: [real(n)]),
    "einsum": (lambda x, y: np.einsum("ij,ik->jk", x, y), lambda n: [real(n, 3), real(n, 4)]),
    "norm": (lambda x: np.linalg.norm(x, axis=1), lambda n: [real(n, 3)]),
    "diagonal": (lambda x: np.diag(x) + np.tril(x[:, None] * x), lambda n: [real(n)]),
    "tree": (lambda p: {"a": p["x"] + 1, "b": [p["y"]]}, lambda n: [{"x": real(n), "y": real(n, 2)}]),
    "batch": (np.matmul, lambda n: [real(n, 3, 4), real(n, 4, 5)]),
    "same shapes": (lambda x, y: x + y if x.shape == y.shape else x, lambda n: [real(n), real(n)]),
    "average": (lambda x, w: np.average(x, weights=w), lambda n: [real(n), abs(real(n))]),
    "every other": (lambda x: x[::2] * x[::2].shape[0], lambda n: [real(n)]),
    "half": (lambda x: x[: x.shape[0] // 2] + x.shape[0] % 2, lambda n: [real(n)]),
    "in rows": (lambda x: x.reshape(-1, 3) * 2, lambda n: [real(3 * n)]),
    "split": (lambda x: np.split(x, 2)[0] - np.split(x, 2)[1], lambda n: [real(2 * n)]),
    "counts": (lambda x: np.count_nonzero(x > 0) / x.size, lambda n: [real(n)]),
}

FROZEN: dict[str, tuple[Any, Any]] = {
    "range() or an index of it": (lambda x: sum(x[i] for i in range(x.shape[0])), lambda n: [real(n)]),
    "int() of it": (lambda x: x * int(x.shape[0]), lambda n: [real(n)]),
    "float() or a function of math of it": (lambda x: x * float(x.shape[0]), lambda n: [real(n)]),
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def reasons(function: Any, *args: Any) -> tuple[str, ...]:
    return function.compiled(function.flatten(args, {})[0]).reasons


def forms(function: Any) -> list[Any]:
    return [form for family in function.naming.families.values() for form in family.forms]


@pytest.mark.parametrize("name", NAMED)
def test_one_graph_serves_all_sizes_with_the_same_bits(name):
    function, args = NAMED[name]
    shared, single = jit(function), jit(function, sizes="static")
    for n in (40, 33, 18, 64):
        values = args(n)
        assert same(shared(*values), single(*values)), n
    assert len(forms(shared)) == 1 and not forms(single)


@pytest.mark.parametrize("name", [n for n in NAMED if n not in ("argmax", "tree", "counts")])
def test_gradients_have_the_same_bits(name):
    function, args = NAMED[name]
    floats = tuple(k for k, a in enumerate(args(20)) if a.dtype.kind == "f")

    def total(*values):
        made = function(*values)
        return np.sum(made * made)

    shared, single = (value_and_grad(total, argnums=floats, sizes=s) for s in ("auto", "static"))
    for n in (40, 33, 50):
        values = args(n)
        assert same(shared(*values), single(*values)), n
    assert len(forms(shared)) == 1


@pytest.mark.parametrize("what", FROZEN)
def test_a_size_whose_number_matters_is_specialised_and_reported(what):
    function, args = FROZEN[what]
    shared = jit(function)
    for n in (20, 25, 30):
        values = args(n)
        assert np.allclose(shared(*values), function(*values), rtol=1e-12)
    assert not forms(shared)
    (reason,) = reasons(shared, *args(35))
    assert reason.startswith(f"x.shape[0] has no name: {what} at {__file__}:")


def test_only_the_frozen_size_is_specialised():
    def rows(x):
        return sum(x[:, k] for k in range(x.shape[1]))

    shared = jit(rows)
    for shape in ((20, 30), (25, 31), (40, 31), (50, 31), (50, 30)):
        x = real(*shape)
        assert np.allclose(shared(x), x.sum(1), rtol=1e-12)
    assert [form.names for form in forms(shared)] == [("n", None), ("n", None)]  # one for 31, one for 30


def test_parts_of_sizes_freeze_them_too():
    shared = jit(lambda x: sum(x[2 * k] for k in range(x.shape[0] // 2)))
    for n in (20, 25, 30):
        x = real(n)
        assert np.allclose(shared(x), x[: n // 2 * 2 : 2].sum())
    assert not forms(shared)


def test_a_branch_on_a_size_is_a_guard():
    shared = jit(lambda x: x * 2 if x.shape[0] > 100 else x * 3)
    for n in (50, 60, 70, 200, 300, 55, 101, 100):
        assert shared(np.ones(n))[0] == (2 if n > 100 else 3)
    assert {str(g) for form in forms(shared) for g in form.sizes.guards} == {"n > 100", "101 > n"}


def test_names_follow_what_changes_together():
    shared = jit(lambda x, y, z: x.sum() + y.sum() + z.sum())
    shared(real(20), real(20), real(30))
    shared(real(25), real(25), real(30))
    assert forms(shared)[0].names == ("n", "n", None)
    shared(real(40), real(41), real(30))
    shared(real(50), real(50), real(50))
    assert forms(shared)[-1].names == ("n", "m", "k") or len(forms(shared)) >= 2


def test_equalities_are_checked():
    shared = jit(lambda x, y: x + y)
    assert same(shared(np.ones(20), np.ones(20)), np.full(20, 2.0))
    assert same(shared(np.ones(30), np.ones(30)), np.full(30, 2.0))
    with pytest.raises(TypeError, match="broadcast"):
        shared(np.ones(40), np.ones(41))
    assert same(shared(np.ones(40), np.ones(1)), np.full(40, 2.0))
    assert same(shared(np.ones(40), np.ones(40)), np.full(40, 2.0))
    assert len(forms(shared)) == 1


def test_a_user_error_of_one_call_does_not_end_sharing():
    shared = jit(lambda x, y: x @ y)
    shared(real(20, 30), real(30))
    with pytest.raises(TypeError, match="shapes"):
        shared(real(25, 31), real(30))
    shared(real(25, 30), real(30))
    shared(real(26, 30), real(30))
    assert len(forms(shared)) == 1


def test_small_sizes_are_specialised():
    shared = jit(lambda x: x * 2)
    for n in (2, 3, 16, 1, 0):
        assert shared(np.ones(n)).shape == (n,)
    assert not forms(shared)


def test_names_that_the_user_gives():
    @jit(sizes={"x": ("n", 3), "y": ("n",)})
    def weighed(x, y):
        return y @ x

    for n in (20, 30, 5):
        x, y = real(n, 3), real(n)
        assert np.allclose(weighed(x, y), y @ x)
    assert len(forms(weighed)) == 1 and "f64[n,3]" in show(forms(weighed)[0].graph)
    with pytest.raises(TypeError, match=r"x.shape\[1\] is 4, but sizes says 3"):
        weighed(real(20, 4), real(20))
    with pytest.raises(TypeError, match=r"y.shape\[0\] is 21, .* it is n, which is 20 in x.shape\[0\]"):
        weighed(real(20, 3), real(21))
    with pytest.raises(TypeError, match="x has 1 axes"):
        weighed(real(20), real(20))


@pytest.mark.parametrize("rule", ["dynamic", {"x": 3}, {"x": ("n", 1.5)}, {1: ("n",)}, 7])
def test_bad_rules_are_refused(rule):
    with pytest.raises(TypeError, match="sizes"):
        jit(lambda x: x, sizes=rule)


def test_a_name_must_be_an_identifier():
    with pytest.raises(ValueError, match="identifier"):
        jit(lambda x: x, sizes={"x": ("n+1",)})


def test_hidden_arrays_and_numbers_still_count():
    scale = [2.0, real(3)]

    @jit
    def scaled(x):
        return x * scale[0] + scale[1]

    for n in (20, 30, 40):
        assert np.allclose(scaled(np.ones((n, 3))), scale[0] + scale[1])
    scale[0] = 5.0
    scale[1][0] = 9.0
    for n in (20, 30, 50):
        assert np.allclose(scaled(np.ones((n, 3))), np.broadcast_to(scale[0] + scale[1], (n, 3)))


def test_derivatives_of_derivatives():
    def energy(x):
        return np.sum(np.sin(x) * x) / x.shape[0]

    second, product = hessian(energy), hvp(energy)
    for n in (20, 22, 25):
        x, v = real(n), real(n)
        whole = second(x)
        assert np.allclose(whole @ v, product(x, v))
        assert np.allclose(np.diag(whole), (2 * np.cos(x) - np.sin(x) * x) / n)
        _, pullback = vjp(np.tanh, x)
        assert np.allclose(pullback(v)[0], v / np.cosh(x) ** 2)


def test_a_function_within_another():
    inner = grad(lambda x: np.mean(x**2))
    outer = jit(lambda x: inner(x) * x.shape[0])
    for n in (20, 30, 40):
        x = real(n)
        assert np.allclose(outer(x), 2 * x)
    assert len(forms(outer)) == 1


def test_reasons():
    def double(x):
        return x * 2

    shared = jit(double)

    def why(x):
        shared(x)
        return reasons(shared, x)

    assert why(real(20)) == ("the first call",)
    assert why(real(30)) == ("x.shape[0] is 30 and was 20: it is n from now on",)
    assert why(real(40)) == ("another size of the same graph: n = 40",)
    assert why(real(4)) == ("arguments of another structure, dtype, rank or size up to 16",)
    assert why(real(4).astype("f4")) == ("arguments of another structure, dtype, rank or size up to 16",)


def test_forms_are_bounded():
    shared = jit(lambda x: [x * k for k in (1, 2, 3) if x.shape[0] != 20 + k] + [x * (x.shape[0] > 30)])
    for n in range(17, 17 + 3 * MAX_FORMS):
        shared(np.ones(n))
    assert len(forms(shared)) <= MAX_FORMS


def test_numpy_is_itself_again():
    assert len.__module__ == "builtins" and type(len) is type(print)
    assert np.zeros.__module__ == "numpy" and type(np.zeros) is type(print)


def test_threads():
    shared = jit(lambda x: np.sum(x * np.arange(len(x))))
    found: list[bool] = []

    def work(start: int) -> None:
        for n in range(start, start + 12):
            x = np.ones(n)
            found.append(bool(shared(x) == n * (n - 1) / 2 and len([1, 2]) == 2 and np.zeros(3).shape == (3,)))

    threads = [threading.Thread(target=work, args=(20 + k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(found) and len(found) == 48


# ---- one kernel


def kernel_of(function: Any, *args: Any) -> Any:
    return function.compiled(function.flatten(args, {})[0]).kernel


def codes(function: Any) -> int:
    return sum(form.shared.count for form in forms(function))


SINGLE = ("two names", "products", "distances", "tree")  # their loops take other forms at other sizes


@pytest.mark.parametrize("name", [n for n in NAMED if n not in SINGLE])
def test_one_kernel_serves_all_sizes(name):
    function, args = NAMED[name]
    shared, single = jit(function), jit(function, sizes="static")
    shared(*args(50))
    for n in (70, 75, 200, 100, 130):
        values = args(n)
        assert same(shared(*values), single(*values)), n
        assert isinstance(kernel_of(shared, *values), Sized)
    assert codes(shared) <= 2


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_vector_widths(bits):
    def loss(x, w):
        return np.sum(np.exp(x @ w)) / len(x) + np.max(x) - np.sum(x[::-1, 0] * x[:, 1])

    with settings.override(vector_bits=bits):
        shared, single = (value_and_grad(loss, argnums=(0, 1), sizes=s) for s in ("auto", "static"))
        for n in (40, 33, 64, 100, 19, 41):
            x, w = real(n, 5), real(5)
            assert same(shared(x, w), single(x, w)), n
        assert isinstance(kernel_of(shared, real(41, 5), real(5)), Sized)


def test_every_tail():
    def folds(x):
        return [np.sum(x * x), np.max(x), np.argmax(x), np.tanh(x)]

    shared, single = jit(folds), jit(folds, sizes="static")
    for n in (100, *range(64, 100)):
        x = real(n)
        assert same(shared(x), single(x)), n
    assert codes(shared) == 1


def test_memory_grows_and_is_kept():
    def smooth(x):
        y = np.cumsum(np.exp(x[:, ::-1] - np.max(x, axis=1, keepdims=True)), axis=0)
        return np.sum(y * y, axis=0) @ np.ones((x.shape[1], 3))

    shared = jit(smooth)
    for n in (100, 120, 5000, 110, 4000, 90, 6000):
        x = real(n, 30) / 10
        assert np.allclose(shared(x), smooth(x), rtol=1e-10)


def test_errors_tell_the_sizes_of_the_call():
    shared = jit(lambda x, i: x[i] * 2)
    for n in (20, 30, 40, 50):
        x, i = real(n), np.array([0, 1, n - 1] * 10)
        for _ in range(AWAITED + 3):
            shared(x, i)
        i[7] = n
        with pytest.raises(IndexError, match=f"index {n} is out of bounds for axis 0 with size {n}"):
            shared(x, i)
        i[7] = -n
        assert shared(x, i)[7] == x[0] * 2
    assert isinstance(kernel_of(shared, x, i), Sized)


def test_native_entries_come_with_sizes_that_are_called_often():
    shared: Any = jit(lambda x: x * 2 + 1)
    shared(np.ones(20))
    for n in (30, 40, 50):
        x = np.ones(n)
        before = entry_count(shared)
        for k in range(AWAITED + 3):
            assert same(shared(x), np.full(n, 3.0))
            assert entry_count(shared) == before + (k >= AWAITED)


def test_out_and_c_functions_of_shared_code():
    shared: Any = jit(lambda x: x * 2 + len(x))
    for n in (20, 30, 40):
        x, y = np.ones(n), np.zeros(n)
        for _ in range(3):
            assert shared(x, out=y) is y and same(y, np.full(n, 2.0 + n))
            y[:] = 0
    made = shared.cfunc(np.ones(40))
    x, y = np.ones(40), np.zeros(40)
    pointer = ctypes.POINTER(ctypes.c_double)
    assert made.ctypes(x.ctypes.data_as(pointer), y.ctypes.data_as(pointer)) == 0 and same(y, np.full(40, 42.0))


def test_updates_in_place():
    def step(table, rows, target):
        return table - 0.1 * grad(lambda t: np.sum((t[rows] - target) ** 2))(table)

    shared, single = jit(step), jit(step, sizes="static")
    for n in (100, 200, 300, 50):
        table, rows, target = real(n, 4), below(n, 30), real(30, 4)
        wanted = single(table, rows, target)
        assert shared(table, rows, target, out=table) is table and same(table, wanted)


@pytest.mark.parametrize("n", [70_000, 150_001, 300_000])
def test_long_statements_run_in_chunks(n):
    def loss(x, w):
        return np.sum(np.tanh(x @ w)) / len(x) + np.max(x)

    shared, single = (value_and_grad(loss, argnums=(0, 1), sizes=s) for s in ("auto", "static"))
    for size in (n, n + 5000, n + 6001):
        x, w = real(size, 3), real(3)
        assert same(shared(x, w), single(x, w))
    assert isinstance(kernel_of(shared, x, w), Sized)


def test_without_native_entries():
    with settings.override(disable_native_entry=True):
        shared = jit(lambda x: np.sum(x * x))
        for n in (20, 30, 40, 41):
            assert np.isclose(shared(np.ones(n)), n)


def test_other_sizes_in_other_threads():
    def smooth(x):
        return np.sum(np.cumsum(x, axis=0) ** 2, axis=0)

    shared = jit(smooth)
    shared(real(300, 9))
    shared(real(310, 9))
    wrong: list[int] = []

    def work(n: int) -> None:
        x = real(n, 9)
        wanted = smooth(x)
        wrong.extend(n for _ in range(50) if not np.allclose(shared(x), wanted))

    threads = [threading.Thread(target=work, args=(260 + 50 * k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_what_cannot_be_shared_has_code_of_its_own(monkeypatch):
    monkeypatch.setattr(backend_shared.emitting, "emit", lambda *args: 1 / 0)
    shared = jit(lambda x: x * 2)
    for n in (20, 30, 40, 50, 60, 70):
        assert same(shared(np.ones(n)), np.full(n, 2.0))
    assert any("code of its own" in r for r in reasons(shared, np.ones(30)))
    assert type(kernel_of(shared, np.ones(70))) is Kernel


# ---- extents


@given(st.integers(-300, 300), st.integers(-300, 300), st.integers(1, 70), st.integers(-50, 50))
def test_extents_compute_like_numbers(a, b, divisor, c):
    sizes = Sizes({"a": a, "b": b}, least={"a": UNKNOWN, "b": UNKNOWN})
    x, y = (Extent(Size.named(k), sizes) for k in "ab")

    def value(e: Any) -> int:
        return e if isinstance(e, int) else e.size.at(sizes.complete({"a": a, "b": b}))

    for e, n in ((x + c, a + c), (x * y - c, a * b - c), (-x + 3 * y, 3 * b - a), (c - x, c - a)):
        assert value(e // divisor) == n // divisor and value(e % divisor) == n % divisor
        assert value(-(-e // divisor)) == -(-n // divisor)
        assert (e > c) == (n > c) and (e == c) == (n == c) and (e <= y) == (n <= b)
    assert sizes.hold({"a": a, "b": b})


def test_remainders_are_guarded():
    sizes = Sizes({"a": 40})
    x: Any = Extent(Size.named("a"), sizes)
    assert not x % 8 and x % 7 and x // 8 == 5
    assert sizes.hold({"a": 40}) and not sizes.hold({"a": 41}) and not sizes.hold({"a": 56})


def test_extents_have_no_digits():
    sizes = Sizes({"a": 40})
    x: Any = Extent(Size.named("a"), sizes)
    wrongs = (lambda: range(x), lambda: [0] * x, lambda: int(x), lambda: [1, 2][x], lambda: x / 2, lambda: f"{x:d}")
    for wrong in wrongs:
        with pytest.raises(TypeError):
            wrong()
    assert f"{x}" == f"{x + 0}" != f"{x + 1}"


def test_patterns():
    graph = parse("graph @f(%x: f64[n,3]) {\n  %0: f64[n,3] = tanh %x\n  return %0\n}")
    sizes = SymSizes()
    made = lower(at_sizes(graph, {"n": sizes.symbol(40)}), 256)
    pattern = opened(made)
    told = pattern.match(made)
    assert told is not None and len(told) == len(pattern.told.names) > 0
    formulas = Formulas()
    formulas.add(sizes, told, "code")
    assert formulas.at([10**7]) is None  # that is cut into chunks
    for n in (37, 41, 47):
        found = formulas.at([n])
        assert found is not None and pattern.match(lower(at_sizes(graph, {"n": n}), 256)) == found[0], n
    other = parse("graph @f(%x: f64[60,3]) {\n  %0: f64[60,3] = sin %x\n  return %0\n}")
    assert pattern.match(lower(other, 256)) is None
    assert opened(lower(other, 256)).told.names == ()


# ---- the graph


def _graph():
    n = Size.named("n")
    b = Builder("mean", [Type("f64", (n,))], ["x"])
    (count,) = b.emit(dimension, size=n)
    return b.finish([b.params[0], count])


def test_sizes_in_graphs():
    graph = _graph()
    assert names_of(graph) == {"n"}
    assert show(parse(show(graph))) == show(graph)
    assert graphs.evaluate(graph, [np.ones(5)])[1] == 5
    fixed = verify(at_sizes(graph, {"n": 7}))
    assert "f64[7]" in show(fixed) and "const {type=i64[], value=7}" in show(fixed)
    with pytest.raises(TypeError, match="not f64"):
        graphs.evaluate(fixed, [np.ones(5)])


def test_sums_of_sizes_are_checked_by_the_reference():
    n: Any = Size.named("n")
    b = Builder("pair", [Type("f64", (n,)), Type("f64", (n + 1,))], ["x", "y"])
    graph = b.finish([b.params[1]])
    assert graphs.evaluate(graph, [np.ones(3), np.ones(4)])[0].shape == (4,)
    with pytest.raises(TypeError, match=r"\[5\]"):
        graphs.evaluate(graph, [np.ones(3), np.ones(5)])


def test_comparisons_are_decided_or_noted():
    sizes = Sizes({"n": 40, "m": 50})
    n, m = (Measure(Size.named(k), sizes) for k in "nm")
    assert n > 0 and n >= 17 and not n < 17 and n != 16 and n * m > n and n + 1 != n and bool(n)
    assert not sizes.guards
    assert n > 20 and m > n and not n > m and n != 100 and n + 5 != m
    assert {str(g) for g in sizes.guards} == {"n > 20", "m > n", "m+1 > n", "n != 100", "n+5 != m"}
    assert all(g.holds({"n": 40, "m": 50}) for g in sizes.guards)
    assert not all(g.holds({"n": 40, "m": 30}) for g in sizes.guards)
