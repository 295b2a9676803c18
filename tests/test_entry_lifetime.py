"""Native entries own nothing they should not, and may be dropped, reset and called by many at once."""

from __future__ import annotations

import copy as copying
import gc
import pickle
import sys
import threading
import time
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend import process, python_abi
from pullback.compiler.backend.entries.native import entry_count, install, reset
from pullback.compiler.backend.entries.specs import (
    ArrayResult,
    ArraySpec,
    ConstantResult,
    FloatResult,
    FloatSpec,
    ListSpec,
    ScalarResult,
    StaticSpec,
)
from pullback.compiler.backend.entries.type_text import ADVANCE, VECTORCALL
from tests.entries import (
    KEYS,
    TWICE,
    Recorded,
    copy,
    elementwise,
    function,
    gradients,
    linked_entry,
    parameters,
    slow,
    total_references,
    twice,
)

# References and memory

def test_a_hundred_thousand_calls_leak_nothing() -> None:
    f, g, h = twice(), copy(("f64", (3,)), ("i32", (2,))), gradients()
    number, three, two, params = 1.5, np.ones(3), np.ones(2, np.int32), parameters()
    watched = [f, g, h, number, three, two, params, *params.values(), *KEYS, None, float,
               np.ndarray, np.dtype(np.float64), np.dtype(np.int32)]
    before, blocks = total_references(watched), sys.getallocatedblocks()
    for _ in range(100_000):
        f(number)
    for _ in range(30_000):
        g(three, two)
        h(params)
        f(three)
        f(number, key=three)
    assert total_references(watched) == before
    assert abs(sys.getallocatedblocks() - blocks) < 100


def test_results_are_owned_by_the_caller_alone() -> None:
    loss, got = gradients()(parameters())
    one = {"a": np.ones(2)}
    assert sys.getrefcount(got) == sys.getrefcount(one)
    assert sys.getrefcount(got["b1"]) == sys.getrefcount(one["a"])
    assert loss == 1.0


def test_functions_are_collected_and_their_modules_unloaded() -> None:
    f = twice()
    f.itself = f
    f.bound = types.MethodType(f, 1)
    linked = weakref.ref(f._owners[0].linked)
    function_alive = weakref.ref(f)
    del f
    gc.collect()
    assert function_alive() is None and linked() is None


def test_a_cycle_through_a_static_is_collected() -> None:
    class Thing:
        pass

    thing: Any = Thing()
    f = function(elementwise([], [], []), (StaticSpec(thing),), ConstantResult(thing))
    thing.f = f
    alive = weakref.ref(thing)
    del thing, f
    gc.collect()
    assert alive() is None


def test_a_function_may_be_called_while_its_cycle_is_collected() -> None:
    results = []

    class Last:
        def __init__(self, f: Recorded) -> None:
            self.f = f

        def __del__(self) -> None:
            results.append(self.f(1.0))

    f = twice()
    f.last = Last(f)
    del f
    gc.collect()
    assert results == [2.0]


def test_a_function_may_be_reset_and_dropped_while_it_runs() -> None:
    class Suicidal(Recorded):
        def __failed__(self, site: int, report: tuple[int, ...]) -> None:
            reset(self)
            functions.clear()
            gc.collect()
            raise IndexError(site)

    functions = []
    for _ in range(50):
        functions.append(Suicidal())
        install(functions[0], *linked_entry(TWICE, (FloatSpec(),), FloatResult(0)))
        with pytest.raises(IndexError, match="5"):
            functions[0](-1.0)
        assert not functions


def test_a_slow_path_may_install_reset_and_call_again() -> None:
    class Lazy(Recorded):
        def __slow__(self, *args: object, **kwargs: object) -> object:
            reset(self)
            install(self, *linked_entry(TWICE, (FloatSpec(),), FloatResult(0)))
            return self(*args)

    f = Lazy()
    assert f(1.0) == 2.0
    assert entry_count(f) == 1 and f(2.0) == 4.0


# The type

def test_functions_are_methods() -> None:
    class Layer:
        __slots__ = ()
        forward = twice()
        static = staticmethod(twice())

    layer = Layer()
    assert layer.forward(1.0) == slow(layer, 1.0)
    assert layer.forward.__self__ is layer and layer.forward.__func__ is Layer.forward
    assert Layer.forward is vars(Layer)["forward"] and Layer.forward(1.0) == 2.0
    assert layer.static(1.0) == 2.0
    bound = layer.forward
    install(Layer.forward, *linked_entry(
        elementwise(["f64"], [1], [0]), (StaticSpec(layer), FloatSpec()), FloatResult(0)))
    assert layer.forward(7.0) == bound(7.0) == 7.0 and Layer().forward(7.0)[0] == "slow"


def test_subclasses_have_attributes_and_may_be_refined() -> None:
    class More(Recorded):
        def __init__(self, title: str, *, note: str = "") -> None:
            self.title, self.note = title, note

        def __repr__(self) -> str:
            return f"<{self.title}>"

    class Most(More):
        pass

    for kind in (More, Most):
        f = kind("name", note="x")
        install(f, *linked_entry(TWICE, (FloatSpec(),), FloatResult(0)))
        assert (f(1.0), f.title, f.note, repr(f), callable(f)) == (2.0, "name", "x", "<name>", True)
        assert weakref.ref(f)() is f and gc.is_tracked(f)
        assert kind.__flags__ & python_abi.HAVE_VECTORCALL


def test_calls_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match="defines __call__ or __get__"):
        type("Bad", (Recorded,), {"__call__": lambda self: None})
    with pytest.raises(TypeError, match="defines __call__ or __get__"):
        type("Bad", (Recorded,), {"__get__": lambda self, *a: None})

    class Mixin:
        def __call__(self) -> None:
            return None

    with pytest.raises(TypeError, match="defines __call__ or __get__"):
        type("Bad", (Mixin, Recorded), {})


def test_copies_and_pickles_take_no_addresses_along() -> None:
    f = twice()
    with pytest.raises(TypeError, match="pickle"):
        copying.copy(f)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(f)


# Threads

def test_threads_call_install_and_reset_one_function() -> None:
    f = twice()
    params, h = parameters(), gradients(release_gil=True)
    stop = time.monotonic() + 1.5

    def call() -> int:
        calls_made = 0
        while time.monotonic() < stop:
            for _ in range(200):
                assert f(2.0) in (4.0, slow(2.0))
                assert h(params)[0] == 1.0
                with pytest.raises(IndexError) if f(2.0) == 4.0 else pytest.raises(Exception):
                    if f(-1.0) == slow(-1.0):
                        raise IndexError
            calls_made += 200
        return calls_made

    def change() -> int:
        while time.monotonic() < stop:
            reset(f)
            install(f, *linked_entry(TWICE, (FloatSpec(),), FloatResult(0)))
        return 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            work = [pool.submit(call) for _ in range(6)] + [pool.submit(change) for _ in range(2)]
            assert all(each.result() for each in work)
    finally:
        sys.setswitchinterval(interval)


WAIT = """
define i64 @k(ptr %flag, ptr %x, ptr %y, ptr %report) nounwind {
entry:
  br label %wait
wait:
  %turns = phi i64 [ 0, %entry ], [ %more, %wait ]
  %more = add i64 %turns, 1
  %seen = load atomic volatile i64, ptr %flag seq_cst, align 8
  %go = icmp ne i64 %seen, 0
  %late = icmp ugt i64 %turns, 20000000000
  %stop = or i1 %go, %late
  br i1 %stop, label %work, label %wait
work:
  %v = load double, ptr %x
  store double %v, ptr %y
  ret i64 0
}
"""


def test_others_run_and_may_drop_the_arguments_while_a_kernel_runs() -> None:
    f = function(WAIT, (ArraySpec("i64", ()), ListSpec((ArraySpec("f64", (500_000,)),))),
                 ScalarResult(0, "f64"), release_gil=True)
    flag, held = np.zeros((), np.int64), [np.full(500_000, 6.5)]
    got: list[object] = []
    alive = weakref.ref(f)
    thread = threading.Thread(target=lambda g: got.append(g(flag, held)), args=(f,))
    thread.start()
    time.sleep(0.05)
    reset(f)
    held.clear()
    del f
    gc.collect()
    spoil = [np.zeros(500_000) for _ in range(4)]
    assert not got
    flag[()] = 1
    thread.join()
    assert got == [6.5] and len(spoil) == 4
    del thread
    gc.collect()
    assert alive() is None


def test_the_entry_that_is_hit_becomes_the_first() -> None:
    f, firsts = Recorded(), []
    for size in range(1, 6):
        spec, result = ArraySpec("f64", (size,)), ArrayResult(0, "f64", (size,))
        linked, entry = linked_entry(elementwise(["f64"], [size], [0]), (spec,), result)
        install(f, linked, entry)
        firsts.append(linked.address(entry.name))
    arrays = [np.arange(1.0, size + 1) for size in range(1, 6)]

    def first() -> int:
        return firsts.index(process.read_word(id(f) + VECTORCALL))

    def all_accept() -> bool:
        return all(np.array_equal(f(x), x) for x in arrays) and f(1.0)[0] == "slow"

    assert first() == 4
    for k in (0, 2, 4, 1, 1, 3, 0):
        for _ in range(ADVANCE):
            assert np.array_equal(f(arrays[k]), arrays[k])
        assert first() == k and all_accept()
    reset(f)
    assert f(arrays[0])[0] == "slow"
    install(f, *linked_entry(TWICE, (FloatSpec(),), FloatResult(0)))
    assert f(1.0) == 2.0 and f(arrays[0])[0] == "slow"
