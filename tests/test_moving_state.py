"""What a function reads is read again at each call or refused: containers, objects, generators, clocks, files."""

import argparse
import array
import collections
import contextvars
import ctypes
import dataclasses
import datetime
import functools
import itertools
import os
import pathlib
import random
import secrets
import threading
import time
import types
import uuid
import weakref
from collections.abc import Callable
from datetime import datetime as moment
from time import perf_counter
from typing import Any, cast

import numpy as np
import pytest

import pullback
from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.control import scan
from pullback.runtime.transforms import grad, jit

Change = Callable[[float], Any]


class Rates:
    """An object whose attribute is read in every way that syntax has."""

    shared = 1.0

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    @property
    def twice(self) -> float:
        return 2 * self.rate

    def __getitem__(self, key: Any) -> float:
        return self.rate

    def __call__(self, x: Any) -> Any:
        return x * self.rate

    def __getattr__(self, name: str) -> float:
        if name != "thrice":
            raise AttributeError(name)
        return 3 * self.rate

    def __iter__(self) -> Any:
        return iter([self.rate])

    def __len__(self) -> int:
        return int(self.rate)

    def __contains__(self, x: Any) -> bool:
        return self.rate > 5


class Described:
    def __get__(self, owner: Any, kind: Any) -> Any:
        return owner.held

    def __set__(self, owner: Any, value: Any) -> None:
        owner.held = value


class Slots:
    __slots__ = ("rate",)
    described = Described()


class Described2:
    described = Described()


class Many(list):
    pass


class Open(dict):
    def __getattr__(self, name: str) -> Any:
        return self[name]


class Config(collections.UserDict):
    pass


@dataclasses.dataclass
class Pair:
    rate: float = 1.0
    inner: Any = None


def containers() -> dict[str, tuple[Callable[[Any], Any], Any, Change]]:
    """By name: what is read of a container, the container, and how it changes."""
    held: dict[str, tuple[Callable[[Any], Any], Any, Change]] = {}
    for kind in (collections.OrderedDict, collections.UserDict, collections.Counter, Open, Config):
        made: Any = cast(Any, kind)(a=1.0)
        held[kind.__name__] = (lambda c: c["a"], made, functools.partial(made.__setitem__, "a"))
    made = collections.defaultdict(float, a=1.0)
    held["defaultdict"] = (lambda c: c["a"], made, functools.partial(made.__setitem__, "a"))
    made = collections.ChainMap({}, {"a": 1.0})
    held["ChainMap"] = (lambda c: c["a"], made, functools.partial(made.__setitem__, "a"))
    for name, made in (("UserList", collections.UserList([1.0])), ("subclass of list", Many([1.0])),
                       ("deque", collections.deque([1.0])), ("array", array.array("d", [1.0])),
                       ("array of objects", np.array([1.0, None], object)),
                       ("masked array", np.ma.masked_array([1.0, 2.0], [False, True]))):
        held[name] = (lambda c: float(c[0]), made, functools.partial(made.__setitem__, 0))
    bytes_ = bytearray(b"\1")
    held["bytearray"] = (lambda c: c[0], bytes_, lambda v: bytes_.__setitem__(0, int(v)))
    held["memoryview"] = (lambda c: c[0], memoryview(bytes_), lambda v: bytes_.__setitem__(0, int(v)))
    numbers = {1.0}
    held["set"] = (sum, numbers, numbers.add)
    table = {"a": 1.0}
    change = functools.partial(table.__setitem__, "a")
    held["values of a dict"] = (sum, table.values(), change)
    held["mappingproxy"] = (lambda c: c["a"], types.MappingProxyType(table), change)
    held["method of a dict"] = (lambda c: c("a"), table.get, change)
    variable = contextvars.ContextVar("variable", default=1.0)
    held["ContextVar"] = (lambda c: c.get(), variable, variable.set)
    module: Any = types.ModuleType("not_in_sys_modules")
    local, number, pair, slots = threading.local(), ctypes.c_double(1.0), Pair(inner=Pair()), Slots()
    for name, holder in (("SimpleNamespace", types.SimpleNamespace()), ("Namespace", argparse.Namespace()),
                         ("module", module), ("local", local), ("slots", slots), ("dataclass", pair)):
        holder.rate = 1.0
        held[name] = (lambda c: c.rate, holder, functools.partial(setattr, holder, "rate"))
    held["ctypes"] = (lambda c: c.value, number, functools.partial(setattr, number, "value"))
    held["dataclass within"] = (lambda c: c.inner.rate, pair, functools.partial(setattr, pair.inner, "rate"))
    described = Described2()
    described.described = 1.0
    held["descriptor"] = (lambda c: c.described, described, functools.partial(setattr, described, "described"))
    deep = {"a": [{"b": collections.deque([collections.OrderedDict(c=1.0)])}]}
    innermost = deep["a"][0]["b"][0]
    held["nested"] = (lambda c: c["a"][0]["b"][0]["c"], deep, functools.partial(innermost.__setitem__, "c"))
    cyclic: list[Any] = [1.0]
    cyclic.append(cyclic)
    held["cyclic"] = (lambda c: c[1][1][0], cyclic, functools.partial(cyclic.__setitem__, 0))
    rates = Rates()
    change = functools.partial(setattr, rates, "rate")
    for name, read in (("property", lambda c: c.twice), ("item", lambda c: c["a"]), ("call", lambda c: c(1.0)),
                       ("getattr", lambda c: c.thrice), ("iter", sum), ("len", len), ("in", lambda c: 2.0 * (1 in c)),
                       ("dynamic", lambda c: getattr(c, "ra" + "te")), ("vars", lambda c: vars(c)["rate"])):
        held[name] = (read, rates, change)
    held["weakref"] = (lambda c: c().rate, weakref.ref(rates), change)
    held["weakref.proxy"] = (lambda c: c.rate, weakref.proxy(rates), change)
    held["in a deque"] = (lambda c: c[0].rate, collections.deque([rates]), change)
    held["class"] = (lambda c: c.shared, Rates, functools.partial(setattr, Rates, "shared"))
    held["kept"] = (lambda c: 0.0, rates, lambda v: None)  # the object of the weak references
    return held


CASES = containers()


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_of_a_container_is_read_at_each_call(name: str) -> None:
    read, held, change = CASES[name]
    f = jit(lambda x: x * read(held))
    for value in (7.0, 9.0):
        assert f(2.0) == 2.0 * read(held)
        change(value)
    assert f(2.0) == 2.0 * read(held)


@pytest.mark.parametrize("name", ["deque", "set", "UserDict", "array", "dataclass within", "module", "ContextVar"])
def test_the_same_of_arguments_that_are_static(name: str) -> None:
    read, held, change = CASES[name]
    f = jit(lambda x, c: x * read(c))
    for value in (11.0, 13.0):
        assert f(2.0, held) == 2.0 * read(held)
        change(value)
    assert f(2.0, held) == 2.0 * read(held)


def test_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    get = os.getenv
    f = jit(lambda x: x * float(os.environ["RATE"]) + float(os.getenv("RATE") or 0) * float(get("RATE") or 0))
    for rate in (2.0, 3.0):
        monkeypatch.setenv("RATE", str(rate))
        assert f(1.0) == rate + rate * rate


def test_names_that_come_to_mean_something_else() -> None:
    space: dict[str, Any] = {"sin": np.sin, "floor": int}
    exec("f = lambda x: sin(x) + abs(-3.0) * len((1, 2)) + floor(2.5)", space)
    f = jit(space["f"])
    assert f(1.0) == pytest.approx(np.sin(1.0) + 8.0, rel=1e-14)
    space["abs"] = lambda x: 7.0
    assert f(1.0) == pytest.approx(np.sin(1.0) + 16.0, rel=1e-14)
    space["len"], space["sin"], space["floor"] = lambda x: 1, np.cos, lambda x: 5
    assert f(1.0) == pytest.approx(np.cos(1.0) + 12.0, rel=1e-14)
    del space["abs"]
    assert f(1.0) == pytest.approx(np.cos(1.0) + 8.0, rel=1e-14)


def test_attributes_of_functions_are_read_at_each_call() -> None:
    def f(x):
        return x * f.rate  # type: ignore[attr-defined]

    g = jit(f)
    for rate in (2.0, 3.0):
        f.rate = rate  # type: ignore[attr-defined]
        assert g(1.0) == rate


@dataclasses.dataclass(frozen=True)
class Setting:
    rate: Any
    more: Any = dataclasses.field(default=None, compare=False)


class AllAlike:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_objects_that_are_equal_are_not_the_same() -> None:
    f = jit(lambda x, s: x * s.rate if s.more is None else x * s.more)
    assert [f(2.0, s) for s in (Setting(1.0), Setting(1.0, 3.0), Setting(1.0, 4.0))] == [2.0, 6.0, 8.0]
    g = jit(lambda x, s: x * s.rate)
    assert [g(2.0, AllAlike(r)) for r in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    which = jit(lambda x, s: {int: 1.0, float: 2.0, bool: 3.0}[type(max(s))] * x)
    assert [which(1.0, frozenset([k])) for k in (1, 1.0, True)] == [1.0, 2.0, 3.0]


# ---- what cannot be read again

RNG, OLD, PYTHON = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
HOLDER = types.SimpleNamespace(rng=np.random.default_rng(1), items=iter([1.0, 2.0, 3.0]))
NESTED = {"a": [np.random.default_rng(2)]}
ITEMS, COUNTER, DRAW, NEXT = iter([1.0] * 9), itertools.count(), RNG.normal, iter([1.0] * 9).__next__
HERE = pathlib.Path(__file__)


def endless() -> Any:
    while True:
        yield 1.0


ENDLESS = endless()


def branching(read: Callable[[], Any]) -> Callable[[Any], Any]:
    def f(x):
        if x > 0:
            return x * read()
        return x

    return f


def looping(x):
    for _ in range(300):
        x = x + RNG.normal()
    return x


def over_items(x):
    for each in ITEMS:
        x = x * each
    return x


def imports(x):
    import datetime as dates

    return x + dates.datetime.now().microsecond


def imports_by_name(x):
    from datetime import datetime as instant

    return x + instant.now().microsecond


def text_length() -> int:
    return len(open(HERE).read())


DRAWS: list[tuple[Callable[..., Any], Any]] = [
    (lambda x, rng: (x + rng.normal()) ** 2, RNG), (lambda x, rng: x + rng.normal(), OLD),
    (lambda x, rng: x + rng.gauss(0, 1), PYTHON), (lambda x, rng: x + rng.random(), random),
    (lambda x, rng: x + rng.rand(), np.random), (lambda x, d: x + d["r"].normal(), {"r": RNG}),
    (lambda x, o: x + o.rng.normal(), HOLDER), (lambda x, n: x + RNG.normal(), 1), (lambda x, n: x + DRAW(), 1),
    (lambda x, n: x + HOLDER.rng.normal(), 1), (lambda x, n: x + NESTED["a"][0].normal(), 1),
    (lambda x, n: x + OLD.normal(), 1), (lambda x, n, rng=RNG: x + rng.normal(), 1),
    (lambda x, n: x + float(RNG.bit_generator.random_raw()), 1), (lambda x, n: x + np.random.rand(), 1),
    (lambda x, n: x + pullback.randn(3).numpy(), 1),
    (lambda x, n: grad(lambda y: y * RNG.normal())(x), 1), (lambda x, n: looping(x), 1),
    (lambda x, n: scan(lambda c, e: (c + RNG.normal(), c), x, np.ones(3))[0], 1),
    (lambda x, n: branching(RNG.normal)(x), 1), (lambda x, n: branching(lambda: random.random())(x), 1),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(DRAWS)))
def test_draws_are_refused_and_undone(k: int) -> None:
    function, given = DRAWS[k]
    before = own_states()
    for transform in (jit, jit if k in (3, 4) else grad):
        np.random.rand()
        shared = random.getstate(), repr(np.random.get_state())
        with pytest.raises(TraceError, match="draws random numbers") as error:
            transform(function)(1.0, given)
        assert "pass the numbers as an argument" in str(error.value) and "test_moving_state.py:" in str(error.value)
        assert "from ," not in str(error.value)
        if threading.active_count() == 1:  # what other threads may have drawn is not drawn again
            assert shared == (random.getstate(), repr(np.random.get_state()))
    assert own_states() == before


def own_states() -> str:
    return repr((RNG.bit_generator.state, cast(Any, OLD.get_state())[1:], PYTHON.getstate()))


READS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "default_rng": (lambda x: x + np.random.default_rng().normal(), "the system's random numbers"),
    "RandomState": (lambda x: x + np.random.RandomState().normal(), "the system's random numbers"),
    "RandomState in a branch": (branching(lambda: np.random.RandomState(None).normal()), "the system's random numbers"),
    "Random": (lambda x: x + random.Random().random(), "the system's random numbers"),
    "SystemRandom": (lambda x: x + random.SystemRandom().random(), "the system's random numbers"),
    "secrets": (lambda x: x + secrets.randbelow(10), "the system's random numbers"),
    "uuid4": (lambda x: x + uuid.uuid4().int % 7, "the system's random numbers"),
    "uuid1": (lambda x: x + uuid.uuid1().int % 7, "the system's random numbers"),
    "urandom": (lambda x: x + os.urandom(1)[0], "the system's random numbers"),
    "time": (lambda x: x + time.time(), "the clock"),
    "monotonic_ns": (lambda x: x + time.monotonic_ns(), "the clock"),
    "by name": (lambda x: x + perf_counter(), "the clock"),
    "now": (lambda x: x + datetime.datetime.now().microsecond, "the clock"),
    "now by name": (lambda x: x + moment.now().microsecond, "the clock"),
    "today": (lambda x: x + datetime.date.today().day, "the clock"),
    "imported within": (imports, "the clock"),
    "imported by name within": (imports_by_name, "the clock"),
    "open": (lambda x: x + text_length(), "a file"),
    "Path": (lambda x: x + len(HERE.read_text()), "a file"),
    "loadtxt": (lambda x: x + np.sum(np.loadtxt(HERE)), "a file"),
    "input": (lambda x: x * float(input()), "the keyboard"),
    "in a branch": (branching(lambda: time.time()), "the clock"),
    "by name in a branch": (branching(perf_counter), "the clock"),
    "now in a branch": (branching(lambda: moment.now().microsecond), "the clock"),
    "open in a branch": (branching(lambda: text_length()), "a file"),
    "default_rng in a branch": (branching(lambda: np.random.default_rng().normal()), "the system's random numbers"),
    "in a gradient": (lambda x: grad(lambda y: y * time.time())(x), "the clock"),
    "in a scan": (lambda x: scan(lambda c, e: (c + time.time(), c), x, np.ones(3))[0], "the clock"),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_different_at_each_call_is_refused(name: str) -> None:
    function, what = READS[name]
    with pytest.raises(TraceError, match=f"reads {what}") as error:
        jit(function)(1.0)
    assert "test_moving_state.py:" in str(error.value) and "as an argument" in str(error.value)


def states_of_seeds(x: Any) -> Any:
    """Generators with seeds, as they are made and as they tell of themselves."""
    a, b = np.random.RandomState(3), np.random.RandomState(seed=np.array([3, 4]))
    words = cast(Any, a.get_state())[1]
    assert isinstance(a, np.random.RandomState) and cast(Any, OLD.get_state())[0] == "MT19937"
    return x * (a.normal() + b.rand()) + words[0] % 7 + np.random.RandomState(np.random.MT19937(5)).normal()


@pytest.mark.parametrize("function", [states_of_seeds, branching(lambda: states_of_seeds(1.0))])
def test_a_seed_gives_the_same_numbers_at_each_call(function: Callable[[Any], Any]) -> None:
    assert jit(function)(2.0) == pytest.approx(function(2.0), rel=1e-15)
    assert isinstance(np.random.mtrand._MT19937, type) and np.random.mtrand._MT19937 is np.random.MT19937  # type: ignore


@pytest.mark.parametrize("module", [np.random, random])
def test_seeding_what_everybody_shares_is_refused(module: Any) -> None:
    for function in (lambda x: (module.seed(0), x)[1], branching(lambda: module.seed(0) or 1.0)):
        with pytest.raises(TraceError, match="seeds the random numbers that everybody shares"):
            jit(function)(1.0)


def test_a_refusal_that_is_caught_is_none_the_less_one() -> None:
    def f(x):
        with np.errstate(all="ignore"):
            try:
                return x + time.time()
            except Exception:
                return x

    with pytest.raises(TraceError, match="reads the clock"):
        jit(f)(1.0)


ITERATED: list[tuple[Callable[..., Any], Any]] = [
    (lambda x, n: x * next(ITEMS), 1), (lambda x, n: x * next(ENDLESS), 1), (lambda x, n: x * next(COUNTER), 1),
    (lambda x, n: x * NEXT(), 1), (lambda x, n: x * next(HOLDER.items), 1), (lambda x, n: over_items(x), 1),
    (lambda x, i: x * next(i), iter([1.0, 2.0])), (lambda x, i: x * next(i), endless()),
    (lambda x, i: x * next(i[0]), [endless()]),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(ITERATED)))
def test_iterators_are_refused(k: int) -> None:
    function, given = ITERATED[k]
    with pytest.raises(TraceError, match="is an iterator") as error:
        jit(function)(1.0, given)
    assert "pass that as an argument" in str(error.value)
    assert next(ITEMS) == 1.0


def test_open_files_are_refused() -> None:
    with open(HERE) as file, pytest.raises(TraceError, match="is a file"):
        jit(lambda x: x * len(file.readline()))(1.0)


def test_generators_with_a_seed_of_their_own_are_no_draws() -> None:
    f = jit(lambda x, seed: x + np.random.default_rng(seed).normal() + random.Random(seed).random(),
            static_argnames=("seed",))
    for seed in (1, 2, 1):
        assert f(1.0, seed) == 1.0 + np.random.default_rng(seed).normal() + random.Random(seed).random()


def test_what_libraries_do_for_themselves_is_nobody_elses_business() -> None:
    table = functools.lru_cache(lambda n: np.arange(float(n)))
    f = jit(lambda x: np.sum(x * table(3)))
    assert f(np.ones(3)) == 3.0 and f(np.ones(3)) == 3.0


def test_draws_before_a_trace_are_none_of_those_within() -> None:
    pullback.randn(3)
    assert jit(lambda x: grad(lambda y: y * y)(x))(3.0) == 6.0
