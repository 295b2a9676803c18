"""What a traced function changes outside of itself is refused at its line and undone; its prints come at each call."""

import array
import collections
import contextvars
import copy
import functools
import io
import logging
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import pullback
from pullback import hvp
from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.control import scan
from pullback.runtime.transforms import grad, jit, value_and_grad

HISTORY: Any = [3, 1, 2]
TABLE: Any = {"a": 1}
NUMBERS: Any = {1, 2}
COUNTS: Any = collections.Counter("aab")
QUEUE: Any = collections.deque([1])
ORDERED: Any = collections.OrderedDict(a=1)
LISTS: Any = collections.defaultdict(list)
USERS: Any = collections.UserDict(a=1)
BYTES, DOUBLES, W = bytearray(2), array.array("d", [0.0]), np.ones(3)
VARIABLE: Any = contextvars.ContextVar("VARIABLE", default=0)
TOTAL: Any = 0


class Model:
    count = 0
    registry: ClassVar[Any] = {}

    def __init__(self) -> None:
        self.log: Any = []
        self.steps: Any = 0
        self.last: Any = None

    def keep(self, x):
        self.last = x
        return x * x

    def note(self, x):
        self.log.append(x)
        return x * x

    def __call__(self, x):
        self.steps += 1
        return x * x


MODEL = Model()


def then(*parts: Any) -> Any:
    return parts[-1]


def state() -> Any:
    held = (HISTORY, TABLE, NUMBERS, COUNTS, QUEUE, ORDERED, LISTS, USERS.data, BYTES, DOUBLES, W.tolist(), TOTAL)
    others = (VARIABLE.get(), vars(MODEL), Model.count, Model.registry, calls.count, kept.__defaults__)
    return copy.deepcopy((held, others))


def to_global(x):
    global TOTAL
    TOTAL = x
    return x * x


def to_global_number(x):
    global TOTAL
    TOTAL += 1
    return x * x


def nonlocal_() -> Callable[[Any], Any]:
    n = 0

    def f(x):
        nonlocal n
        n = n + 1
        return x * x

    return f


def calls(x):
    calls.count += 1
    return x * x


calls.count = 0  # type: ignore[attr-defined]


def kept(x, history=[]):  # noqa: B006
    history.append(x)
    return x * x


def to_class(x):
    Model.count += 1
    return x * x


def item(x):
    TABLE["b"] = x
    return x * x


def deleted(x):
    del HISTORY[0]
    return x * x


def in_branch(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x):
        if x > 0:
            change(x)
        return x * x

    return f


def in_loop(x):
    for _ in range(200):
        MODEL.log.append(0)
        x = x * 1.01
    return x


CHANGES: dict[str, Callable[..., Any]] = {
    "append a traced value": lambda x: then(HISTORY.append(x), x * x),
    "append a number": lambda x: then(HISTORY.append(0), x * x),
    "extend": lambda x: then(HISTORY.extend([x, 0]), x * x),
    "insert": lambda x: then(HISTORY.insert(0, 0), x * x),
    "sort": lambda x: then(HISTORY.sort(), x * x),
    "clear": lambda x: then(HISTORY.clear(), x * x),
    "pop": lambda x: then(HISTORY.pop(), x * x),
    "set.add": lambda x: then(NUMBERS.add(7), x * x),
    "Counter.update": lambda x: then(COUNTS.update("a"), x * x),
    "deque.append": lambda x: then(QUEUE.append(x), x * x),
    "deque.popleft": lambda x: then(QUEUE.popleft(), x * x),
    "dict.update": lambda x: then(TABLE.update(b=x), x * x),
    "setdefault": lambda x: then(TABLE.setdefault("b", 1), x * x),
    "OrderedDict": lambda x: then(ORDERED.move_to_end("a"), ORDERED.update(b=1), x * x),
    "defaultdict": lambda x: then(LISTS["a"], x * x),
    "UserDict": lambda x: then(USERS.update(b=1), x * x),
    "bytearray": lambda x: then(BYTES.__setitem__(0, 3), x * x),
    "array": lambda x: then(DOUBLES.append(3), x * x),
    "ContextVar": lambda x: then(VARIABLE.set(3), x * x),
    "out": lambda x: then(np.add(W, 1, out=W), x * x),
    "fill": lambda x: then(W.fill(3), x * x),
    "setattr": lambda x: then(setattr(MODEL, "last", x), x * x),
    "setattr of a new one": lambda x: then(setattr(MODEL, "new", 1), x * x),
    "self.log": lambda x: then(MODEL.log.append(0), x * x),
    "registry": lambda x: then(Model.registry.update(a=1), x * x),
    "self.last": MODEL.keep, "self.log of a method": MODEL.note, "self.steps": MODEL, "global": to_global,
    "global number": to_global_number, "nonlocal": nonlocal_(), "function attribute": calls, "default": kept,
    "class attribute": to_class, "item": item, "del": deleted, "in a loop": in_loop,
    "append in a branch": in_branch(lambda x: HISTORY.append(x)),
    "add in a branch": in_branch(lambda x: NUMBERS.add(7)), "deque in a branch": in_branch(lambda x: QUEUE.append(x)),
    "out in a branch": in_branch(lambda x: np.add(W, 1, out=W)),
    "Counter in a branch": in_branch(lambda x: COUNTS.update("a")), "method in a branch": in_branch(MODEL.note),
    "attribute in a branch": in_branch(MODEL.keep), "global in a branch": in_branch(to_global),
    "in a gradient": lambda x: grad(lambda y: then(HISTORY.append(y), y * y))(x),
    "in a gradient, local": lambda x: (lambda h: grad(lambda y: then(h.append(y), y * y))(x))([]),
    "in a scan": lambda x: scan(lambda c, e: then(HISTORY.append(0), (c * 2, e)), x, np.ones(3))[0],
    "in a scan, local": lambda x: (lambda h: scan(lambda c, e: then(h.append(0), (c * 2, e)), x, np.ones(3))[0])([]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_changes_outside_are_refused_and_undone(name: str) -> None:
    before = state()
    for transform in (jit, grad, value_and_grad):
        with pytest.raises(TraceError) as error:
            transform(CHANGES[name])(1.0)
        assert "test_side_effects.py:" in str(error.value) and "fix: " in str(error.value)
    assert repr(state()) == repr(before)


class Blank:
    """An object without attributes, as yet."""

    def keep(self, x):
        self.last = x
        return x * x

    __call__ = keep


class Slotted:
    __slots__ = ("last",)
    keep = Blank.keep


@pytest.mark.parametrize("transform", [jit, grad, value_and_grad])
def test_the_same_of_objects_that_have_no_attributes_yet(transform: Any) -> None:
    for made, function_of in [
        (Blank(), lambda made: made.keep),
        (Blank(), lambda made: made),
        (Slotted(), lambda made: made.keep),
        (Blank(), lambda made: functools.partial(Blank.keep, made)),
        (Slotted(), lambda made: lambda x: then(setattr(made, "last", x), x * x)),
    ]:
        with pytest.raises(TraceError, match="keeps a traced value in the attribute last of"):
            transform(function_of(made))(1.0)
        assert not hasattr(made, "last")


def test_the_same_of_objects_that_are_arguments_and_of_further_transforms() -> None:
    for change in (lambda m: m.log.append(0), lambda m: setattr(m, "last", 1)):
        with pytest.raises(TraceError, match="which is outside of it"):
            jit(lambda x, m, change=change: then(change(m), x * x))(1.0, MODEL)
    with pytest.raises(TraceError, match="keeps a traced value in HISTORY"):
        hvp(lambda x: then(HISTORY.append(x), x * x))(1.0, 1.0)
    assert HISTORY == [3, 1, 2] and MODEL.log == [] and MODEL.last is None


def test_messages_say_what_is_changed_and_where() -> None:
    with pytest.raises(TraceError) as error:
        jit(MODEL.keep)(1.0)
    text = str(error.value)
    assert text.startswith("'keep' keeps a traced value in the attribute last of a Model")
    assert "self.last = x" in text and "value = f(x); history.append(value)" in text
    with pytest.raises(TraceError) as error:
        jit(lambda x: then(COUNTS.update("a"), x))(1.0)
    assert "changes COUNTS, which is outside of it" in str(error.value) and "once and never again" in str(error.value)


def test_a_write_to_a_file_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "log", "w") as file, pytest.raises(TraceError, match="changes file"):
        jit(lambda x: then(file.write("a"), x))(1.0)


class Cached:
    @functools.cached_property
    def table(self) -> Any:
        return np.arange(3.0)

    @functools.cached_property
    def doubled(self) -> Any:
        return self.given * 2

    given: Any = 1.0


def test_what_is_remembered_without_traced_values_may_stay() -> None:
    cached = Cached()
    f = jit(lambda x: np.sum(x * cached.table))
    assert f(np.ones(3)) == 3.0 and "table" in vars(cached) and f(np.ones(3)) == 3.0

    def f2(x):
        cached.given = x
        return cached.doubled

    with pytest.raises(TraceError, match="keeps a traced value"):
        jit(f2)(1.0)
    assert "doubled" not in vars(cached)


def test_what_is_made_inside_may_change() -> None:
    def f(x):
        kept, by_name = [x], types.SimpleNamespace(total=0.0)
        kept.extend([x, 2 * x])
        by_name.total = sum(kept)

        def helper(y):
            return y + by_name.total

        helper.__name__, helper.tag = "other", 1  # type: ignore[attr-defined]
        return helper(x)

    assert jit(f)(1.0) == 5.0 and grad(f)(1.0) == 5.0


class Served:
    def __init__(self) -> None:
        self.w, self.requests = 2.0, 0


def test_attributes_that_the_function_does_not_store_may_change_meanwhile() -> None:
    """Another thread counts something on an object whose weights are read."""
    served = Served()
    lasting = [True]

    def count() -> None:
        while lasting[0]:
            vars(served)["requests"] = served.requests + 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for k in range(5):
            assert jit(lambda x, k=k: x * served.w + k)(1.0) == 2.0 + k
    finally:
        lasting[0] = False
        thread.join()


# ---- what is printed and logged


def prints_number(x):
    print(f"x is {x:.2f}", x)
    return x * x


def prints_in_branch(x):
    if x > 0:
        print("positive", x)
    return x * x


def prints_in_loop(x):
    for k in range(300):
        x = x * 1.01
        if x > 20:
            print(k)
    return x


def prints_inside(x):
    return grad(lambda y: then(print("inside"), y * y))(x)


def text_only(text: str) -> Callable[[Any], Any]:
    space: dict[str, Any] = {}
    exec(text, space)
    return space["f"]


PRINTING = [
    lambda x: then(print("here"), x * x), prints_number, prints_in_branch, prints_in_loop, prints_inside,
    text_only("def f(x):\n    print('at', x)\n    if x > 1.0: return x * x\n    return 3.0 * x"),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(PRINTING)))
def test_what_is_printed_is_printed_at_each_call(k: int, capsys: pytest.CaptureFixture[str]) -> None:
    function = PRINTING[k]
    wanted = [function(x) for x in (2.0, 2.0, 0.5, -1.0, 2.0)]
    said = capsys.readouterr().out
    f, slope = jit(function), grad(function)
    assert [f(x) for x in (2.0, 2.0, 0.5, -1.0, 2.0)] == wanted
    assert capsys.readouterr().out == said
    for x in (2.0, 2.0, 0.5, -1.0, 2.0):
        slope(x)
    assert capsys.readouterr().out == said


def test_prints_of_calls_with_tensors_and_none_where_python_is_not_called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def f(x):
        print("here")
        return np.sum(x * x)

    x = pullback.tensor([1.0, 2.0], requires_grad=True)
    g = jit(f)
    for _ in range(2):
        g(x).backward()
    assert x.grad.tolist() == [4.0, 8.0] and capsys.readouterr().out == "here\nhere\n"
    with pullback.no_grad():
        assert g(x) == 5.0 and capsys.readouterr().out == "here\n"
    for use in (lambda: g.cfunc(1.0), lambda: pullback.build(g, (1.0,), name="printing", out=tmp_path)):
        with pytest.raises(TypeError, match="prints, logs or warns"):
            use()
    assert "require" in g.ir("graph", 1.0)


def test_what_is_logged_is_logged_at_each_call() -> None:
    log, stream = logging.getLogger("test_side_effects"), io.StringIO()
    log.addHandler(logging.StreamHandler(stream))
    log.setLevel(logging.INFO)

    def f(x):
        log.debug("not said")
        if x > 1.0:
            log.info("large")
        return x * x

    g = jit(f)
    assert [g(x) for x in (2.0, 0.5, 2.0)] == [4.0, 0.25, 4.0]
    assert stream.getvalue() == "large\nlarge\n"


def test_writing_to_standard_output_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "out", "w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(TraceError, match=r"changes sys\.stdout"):
            jit(lambda x: then(sys.stdout.write("a"), x))(1.0)
