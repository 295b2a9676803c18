"""Whole numbers that select: a batch, an item, a key; what Python gives, from one form where one can serve."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, value_and_grad, vmap
from pullback.compiler.backend.entries.native import entry_count
from pullback.runtime.compiled import function as functions
from pullback.runtime.compiled import variants

RNG = np.random.default_rng(3)
X, Y, W = RNG.normal(size=(100, 5)), RNG.normal(size=100), RNG.normal(size=5)
PLACES = (0, 1, 2, 3, 4, 5, -1, -2, -5, -6, 97, 99, 100, 2, -1, 0)
SCOPE = {
    "X": X, "Y": Y, "floats": [1.5, 2.5, 3.5], "whole": [3, 1, 2], "pair": (1.0, 2.0), "texts": ["a", "bbb", "cc"],
    "unlike": [[1.0], [2.0, 3.0]], "table": {0: 1.0, 1: 2.0, 5: 7.0}, "named": {0: "a", 1: "bb"},
}


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """An item for every trace."""
    made: list[Any] = []
    trace = functions.trace
    monkeypatch.setattr(functions, "trace", lambda *args: made.append(args) or trace(*args))
    return made


def define(text: str, **given: Any) -> Callable[..., Any]:
    """The function of a text, whose source can be found."""
    file = f"<selecting {text}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {"np": np, **given}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (IndexError, KeyError, ValueError, ZeroDivisionError) as error:
        return error


def agree(made: Any, wanted: Any) -> bool:
    if isinstance(wanted, Exception):
        return isinstance(made, type(wanted))
    same = np.asarray(made).dtype == np.asarray(wanted).dtype
    return same and np.allclose(made, wanted, rtol=1e-12, atol=1e-12, equal_nan=True)


def forms(function: Any) -> int:
    return len(function.report().forms)


# ---- one form for all numbers

ONE = {
    "window": "return np.sum((X[k * 32 : (k + 1) * 32] @ w - Y[k * 32 : (k + 1) * 32]) ** 2)",
    "row": "return np.sum(X[k] * w)",
    "column": "return X[:, k][0] * w[0]",
    "element": "return w[k] * 2",
    "floats": "return floats[k] * w[0]",
    "whole": "return w[whole[k]]",
    "pair": "return pair[k] * w[0]",
    "table": "return table[k] * w[0]",
    "eye": "return np.sum(np.eye(5)[k] * w)",
    "power": "return np.sum(w ** k)",
    "loop": "s = w[0]\n    for _ in range(k): s = np.sin(s)\n    return s",
    "branch": "return w[0] if k % 10 == 0 else 2 * w[1]",
    "stored": "z = np.zeros(5)\n    z[k] = w[0]\n    return np.sum(z * np.arange(5))",
}
INSIDE = {"window": (0, 1, 2)}


@pytest.mark.parametrize("kind", [int, np.int64])
@pytest.mark.parametrize("name", ONE)
def test_one_form_selects(name: str, kind: type) -> None:
    f = define(f"def f(w, k):\n    {ONE[name]}", **SCOPE)
    value = jit(f)
    with np.errstate(all="ignore"):
        for k in INSIDE.get(name, PLACES):
            if name != "loop" or k < 20:
                assert agree(outcome(value, W, kind(k)), outcome(f, W, kind(k))), k
    assert forms(value) == 1


@pytest.mark.parametrize("name", ["window", "row", "floats", "table", "power"])
def test_one_gradient_selects(name: str) -> None:
    f = define(f"def f(w, k):\n    {ONE[name]}", **SCOPE)
    slope, second = grad(f), jit(lambda w, k: grad(lambda v: np.sum(grad(f)(v, k) * np.arange(5.0)))(w))
    for k in (1, 0, 1):
        steps = [np.eye(5)[i] * 1e-5 for i in range(5)]
        numbers = [(f(W + h, k) - f(W - h, k)) / 2e-5 for h in steps]
        np.testing.assert_allclose(slope(W, k), numbers, rtol=1e-6, atol=1e-7)
        turned = [np.sum((slope(W + h, k) - slope(W - h, k)) * np.arange(5.0)) / 2e-5 for h in steps]
        np.testing.assert_allclose(second(W, k), turned, rtol=1e-6, atol=1e-6)
    assert forms(slope) == 1


def test_epochs_of_batches_are_one_compilation() -> None:
    f = define("def f(w, X, Y, k):\n    r = X[k * 5 : k * 5 + 5] @ w - Y[k * 5 : (k + 1) * 5]\n    return r @ r")
    step = value_and_grad(f)
    for _ in range(2):
        for k in range(20):
            value, slope = step(W, X, Y, k)
            rest = X[k * 5 : k * 5 + 5] @ W - Y[k * 5 : k * 5 + 5]
            assert value == pytest.approx(rest @ rest)
            np.testing.assert_allclose(slope, 2 * rest @ X[k * 5 : k * 5 + 5])
    assert forms(step) == 1


# ---- windows that Python makes shorter

WINDOWS = {
    "mean": "return np.mean((X[k * 32 : (k + 1) * 32] @ w) ** 2)",
    "three": "return np.sum(X[k : k + 3] @ w)",
    "shape": "return X[k : k + 3] * w",
    "after a branch": "if np.sum(w) > 1e9: return w[0]\n    return np.mean(X[k * 32 : (k + 1) * 32] @ w)",
    "in a branch": "return np.sum(X[k : k + 30] @ w) if np.sum(w) < 1e9 else 2.0 * w[0]",
    "in a loop": "s = w[0]\n    for i in range(3): s += np.sum(X[k + i * 7 : k + i * 7 + 7] @ w) * i\n    return s",
    "in a long loop": "s = 0 * w[0]\n    for i in range(k): s = s + np.sum(X[i * 25 : i * 25 + 25] @ w)\n    return s",
    "stored": "z = np.zeros(8)\n    z[k : k + 2] = w[0]\n    return np.sum(z * np.arange(8))",
    "tried": "try: return np.sum(X[k * 32 : (k + 1) * 32] @ w)\n    except IndexError: return 3 * w[1]",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", [0, 3, -2, 200])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_python_s_wherever_they_stand(name: str, first: int) -> None:
    f = define(f"def f(w, k):\n    {WINDOWS[name]}", **SCOPE)
    value = jit(f)
    for k in (first, 0, 1, 2, 3, 4, -1, -3, -4, 97, 98, 100, 101, -100, -101, 1, 0, 3, -3):
        wanted = f(W, k)
        made = value(W, k)
        assert np.shape(made) == np.shape(wanted)
        np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-12)


def test_a_gradient_of_the_last_batch_which_is_shorter() -> None:
    f = define(f"def f(w, k):\n    {WINDOWS['mean']}", **SCOPE)
    slope = grad(f)
    for k in (3, 0, 1, 3, 2, 0):
        batch = X[k * 32 : (k + 1) * 32]
        np.testing.assert_allclose(slope(W, k), 2 * (batch @ W) @ batch / len(batch))
    assert forms(slope) == 2


def test_windows_in_what_a_compiled_function_calls() -> None:
    f = define(f"def f(w, k):\n    {WINDOWS['mean']}", **SCOPE)
    outer = jit(lambda w, k: np.sum(grad(f)(w, k) ** 2))
    for k in (0, 3, 1, 3):
        assert outer(W, k) == pytest.approx(np.sum(grad(f)(W, k) ** 2))


def test_lanes_take_windows_inside() -> None:
    f = define("def f(w, k):\n    return np.sum(X[k : k + 3] @ w)", **SCOPE)
    places = np.array([0, 5, 97])
    np.testing.assert_allclose(vmap(f, in_axes=(None, 0))(W, places), [f(W, k) for k in places])


def test_numbers_inside_containers() -> None:
    f = define("def f(w, at):\n    return np.sum(X[at['rows'][0]] * w) * floats[at['item']]", **SCOPE)
    value = jit(f)
    for k in range(3):
        at = {"rows": [k, 7], "item": k}
        assert value(W, at) == pytest.approx(f(W, at))
    assert forms(value) == 1


def test_numbers_of_a_closure_are_read_again() -> None:
    scope = dict(SCOPE, k=0)
    f = define("def f(w):\n    return np.sum(X[k * 32 : (k + 1) * 32] @ w)", **scope)
    value = jit(f)
    for k in (0, 1, 3, 0, 2):
        f.__globals__["k"] = k
        assert value(W) == pytest.approx(np.sum(X[k * 32 : (k + 1) * 32] @ W))


# ---- one form for every number

EACH = {
    "size": "return np.sum(np.zeros(abs(k)) + w[0])",
    "texts": "return len(texts[k]) * w[0]",
    "written": "return len(f'{k}') * w[0]",
    "named": "return len(named[k]) * w[0]",
    "unlike": "return len(unlike[k]) * w[0]",
    "whole power": "return (2 ** k) * w[0]",
    "up to": "return np.sum(X[:k] @ w)",
    "default": "return table.get(k, 9.0) * w[0]",
}


@pytest.mark.parametrize("kind", [int, np.int64])
@pytest.mark.parametrize("name", EACH)
def test_one_form_for_every_number(name: str, kind: type) -> None:
    f = define(f"def f(w, k):\n    {EACH[name]}", **SCOPE)
    value = jit(f)
    for k in (*PLACES, *PLACES):
        assert agree(outcome(value, W, kind(k)), outcome(f, W, kind(k))), k


def test_many_numbers_are_found_by_one_look(traces: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    value = jit(define("def f(w, k):\n    return len(f'{k}') * w[0]"))
    for _ in range(2):
        for k in range(30):
            value(W, k)
    tried: list[Any] = []
    made = variants.Variants.made
    monkeypatch.setattr(variants.Variants, "made", lambda *args: tried.append(args) or made(*args))
    before = len(traces)
    for k in range(30):
        assert value(W, k) == len(f"{k}") * W[0]
    assert len(traces) == before and len(tried) <= 30


def test_more_numbers_than_there_is_room_for(traces: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "MOST", 10)
    monkeypatch.setattr(variants, "IDLE", 50)
    value = jit(define("def f(w, k):\n    return len(f'{k}') * w[0]"))
    for _ in range(3):
        for k in range(14):
            assert value(W, k) == len(f"{k}") * W[0]

    def kept() -> set[str]:
        return {str(form.frozen[0].value) for form in value.report().forms}

    before = kept()
    for k in range(14):
        value(W, k)
    assert kept() == before and len(before) == 10
    for _ in range(80):
        value(W, 100)
    assert "100" in kept() and len(kept()) == 10


def test_hidden_numbers_met_lately_are_kept(traces: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MAX_VARIANTS", 4)
    f = define("def f(w):\n    return w * k", k=0)
    value: Any = jit(f)
    for k in (0, 1, 2, 3, 0, 4):
        f.__globals__["k"] = k
        assert value(2.0) == 2.0 * k
    (group,) = value._groups.values()
    assert len(group.variants) == 4
    before = len(traces)
    f.__globals__["k"] = 0
    assert value(2.0) == 0.0 and len(traces) == before


# ---- other objects


class Frame:
    """What a data frame is to NumPy."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.ones((2, 2), dtype)


def test_a_data_frame_is_refused_in_words() -> None:
    f = define("def f(w, frame):\n    return w * np.sum(np.asarray(frame))")
    with pytest.raises(TypeError, match=r"f: argument frame is a .*Frame; pass np.asarray\(...\) of it"):
        grad(f)(2.0, Frame())
    assert grad(f)(2.0, np.asarray(Frame())) == 4.0


def test_a_table_of_pandas_stays_what_it_is() -> None:
    pandas = pytest.importorskip("pandas")
    f = define("def f(w, frame):\n    return w * np.sum(frame['a'].to_numpy())")
    assert grad(f)(2.0, pandas.DataFrame({"a": [1.0, 2.0]})) == 3.0


def test_lists_of_many_numbers_beside_arrays_from_outside() -> None:
    """They enter native code, also of other lengths, and each call reads what it is given."""
    table = np.random.default_rng(0).normal(size=(200, 3))

    def loss(w: Any, rows: Any) -> Any:
        return np.sum((table[rows] @ w) ** 2)

    function: Any = value_and_grad(loss)
    rng, w = np.random.default_rng(1), np.array([0.5, -1.0, 2.0])
    for count in (100, 37, 100, 64, 37):
        for _ in range(3):
            rows = [int(k) for k in rng.integers(-200, 200, count)]
            value, slope = function(w, rows)
            np.testing.assert_allclose(value, loss(w, rows), rtol=1e-12)
            np.testing.assert_allclose(slope, 2 * table[rows].T @ (table[rows] @ w), rtol=1e-12)
        assert entry_count(function) > 0
    with pytest.raises(IndexError):
        function(w, [200, *range(36)])
    table[3] = 7.0
    rows = [3] * 100
    np.testing.assert_allclose(function(w, rows)[0], loss(w, rows), rtol=1e-12)


def test_traced_numbers_are_asked_for_many_attributes() -> None:
    """NumPy asks each number of a list for some that there are not: no advice is made for those."""
    def probed(x: Any) -> Any:
        assert not hasattr(x, "__no_such_protocol__")
        return x * 2

    assert jit(probed)(1.5) == 3.0
    with pytest.raises(AttributeError, match="did you mean sum"):
        jit(lambda x: x.summ())(np.ones(3))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float64, np.float32])
def test_numpys_numbers_enter_native_code(kind: Any) -> None:
    """A batch's number out of a permutation is NumPy's, and a rate out of a formula: each call reads its own."""
    function: Any = value_and_grad(lambda w, k, pair: np.sum(w * k) + w[0] * pair["a"], 0)
    for value in (3, 5, -2, 7):
        for _ in range(2):
            made, slope = function(W, kind(value), {"a": kind(value + 1)})
        np.testing.assert_allclose(made, np.sum(W * value) + W[0] * (value + 1), rtol=1e-6)
        np.testing.assert_allclose(slope, value + (np.arange(5) == 0) * (value + 1.0), rtol=1e-6)
    assert entry_count(function) == 1
    assert function(W, 3, {"a": kind(4)})[0] == pytest.approx(np.sum(W * 3) + W[0] * 4)
    assert type(jit(lambda x: x)(kind(3))) is kind
