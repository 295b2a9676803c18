"""Whole traces run natively: inputs gathered, a kernel called, results handed out."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend import pool
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.elementwise import add, mul, neg
from pullback.compiler.ops.index import check_indices, take
from pullback.compiler.ops.reduce import spread
from pullback.runtime.tensor.recorder import Input, Replay, Source
from pullback.runtime.tensor.recorder.layout import HISTORY
from tests.recorder_bench import Bench, Cell, Tensor, installed

CELL, CONSTANT, NUMBER = Source.CELL, Source.CONSTANT, Source.NUMBER


@pytest.fixture
def bench() -> Iterator[Bench]:
    with installed() as made:
        yield made


def kernel_of(shape: tuple[int, ...], dtype: str = "f64", third: tuple[int, ...] | None = ()) -> Any:
    """(x, y, z) -> x + y * z, -x"""
    whole = Type(dtype, shape)
    b = Builder("step", [whole, whole, Type(dtype, shape if third is None else third)])
    x, y, z = b.params
    if third == ():
        z = spread(b, z, shape=shape, axes=())
    return compile_graph(b.finish([add(b, x, mul(b, y, z)), neg(b, x)]))


def late(bench: Bench, n: int, flags: int = 0) -> Any:
    """A late tensor, value n of the trace."""
    made = Tensor()
    made._serial, made._number, made._flags, made._kind = bench.serial, n, flags, bench.kind
    bench.tape.put(n, made, None)
    return made


def read(bench: Bench, n: int, array: Any) -> Any:
    """A computed tensor, value n of the trace."""
    made = bench.tensor(array=array)
    made._serial, made._number = bench.serial, n
    made._cell.serial, made._cell.number = bench.serial, n
    bench.tape.put(n, made, made._cell)
    return made


def reads(bench: Bench, *arrays: Any) -> None:
    """Computed tensors as the first values of the trace."""
    for n, array in enumerate(arrays):
        read(bench, n, array)


@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (200, 100), (0, 4)])
def test_results_are_handed_to_late_tensors(bench, shape):
    x, y = np.random.default_rng(1).normal(size=(2, *shape))
    x, y = np.asarray(x), np.asarray(y)
    replay = Replay(kernel_of(shape), [Input(CELL, 0), Input(CELL, 1), Input(NUMBER, 2, "f64")],
                    [(3, bench.kind), (4, bench.kind)])
    for factor in (2.5, 3, True):
        bench.restart()
        reads(bench, x, y)
        bench.tape.put(2, factor, None)
        a, b = late(bench, 3), late(bench, 4, HISTORY)
        assert replay(bench.tape) == [b]
        assert np.array_equal(a._cell.array, x + y * factor) and np.array_equal(b._cell.array, -x)
        assert a._cell.array.shape == shape and a._cell.array.dtype == np.float64
        assert type(a._cell) is Cell and a._cell.kind is bench.kind and a._cell.home is None
        assert (a._cell.serial, a._cell.stale, a._cell.version) == (0, 0, 0)
        assert a._cell.array.flags.c_contiguous and a._cell.array.flags.writeable


@pytest.mark.parametrize("dtype, given, got", [
    ("f32", 1.5, 1.5), ("f32", 2, 2.0), ("i64", 2**40, 2**40), ("i32", -3, -3), ("i64", True, 1), ("f64", 7, 7.0),
])  # fmt: skip
def test_python_numbers_are_read_as_the_kernel_wants_them(bench, dtype, given, got):
    kernel = kernel_of((2,), dtype)
    sources = [Input(CELL, 0), Input(CELL, 1), Input(NUMBER, 2, dtype)]
    replay = Replay(kernel, sources, [(3, bench.kind), (4, bench.kind)])
    zeros = np.zeros(2, kernel.inputs[0].numpy)
    reads(bench, zeros, zeros + 1)
    bench.tape.put(2, given, None)
    a = late(bench, 3)
    assert replay(bench.tape) == [] and a._cell.array.tolist() == [got, got]


def test_constants_and_cells_without_tensors(bench):
    replay = Replay(kernel_of((2,), third=None), [Input(CONSTANT, np.ones(2)), Input(CELL, 0), Input(CELL, 0)],
                    [(1, bench.kind), (2, bench.kind)])
    read(bench, 0, np.array([3.0, 4.0]))
    cell = Cell(bench.kind, None, bench.serial, 1)
    bench.tape.put(1, None, cell)
    bench.tape.put(2, None, None)
    assert replay(bench.tape) == []
    assert cell.array.tolist() == [10.0, 17.0]
    assert bench.tape.cell(2).array is not None  # others may be views of it
    a = late(bench, 1, HISTORY)
    a._cell = Cell(bench.kind, None, bench.serial, 1)  # made before, though the node is late
    bench.tape.put(1, a, a._cell)
    assert replay(bench.tape) == [a] and a._cell.array.tolist() == [10.0, 17.0]


@pytest.mark.parametrize("wrong", [
    np.zeros(3), np.zeros((2, 1)), np.zeros(2, np.float32), np.zeros(4)[::2], [0.0, 0.0], None,
])  # fmt: skip
def test_inputs_that_are_not_as_expected_are_left_to_python(bench, wrong):
    replay = Replay(kernel_of((2,)), [Input(CELL, 0), Input(CELL, 1), Input(NUMBER, 2, "f64")],
                    [(3, bench.kind), (4, bench.kind)])
    good = np.zeros(2)
    reads(bench, good, wrong)
    bench.tape.put(2, 1.0, None)
    a = late(bench, 3)
    count = sys.getrefcount(good)
    assert replay(bench.tape) is None and a._is_late and sys.getrefcount(good) == count
    bench.tape.put(1, None, None)
    assert replay(bench.tape) is None
    bench.tape.put(1, None, Cell(bench.kind, good))
    bench.tape.put(2, None, None)
    assert replay(bench.tape) is None
    bench.tape.put(2, "text", None)
    with pytest.raises(TypeError):
        replay(bench.tape)
    bench.restart()
    assert replay(bench.tape) is None


def stepped(shape: tuple[int, ...] = (4,)) -> Any:
    """(p, g) -> p - g, whose result may be the memory of p"""
    b = Builder("update", [Type("f64", shape)] * 2)
    p, g = b.params
    kernel = compile_graph(b.finish([add(b, p, neg(b, g))]))
    assert kernel.aliases == {0: 0}
    return kernel


def test_memory_that_nobody_else_knows_is_written_over(bench):
    replay = Replay(stepped(), [Input(CELL, 0), Input(CELL, 1)], [(2, bench.kind)])

    def update(array: np.ndarray, keep: Any = None) -> np.ndarray:
        bench.restart()
        p = read(bench, 0, array)
        read(bench, 1, np.ones(4))
        kept = {"cell": p._cell, "array": array, "view": array[:2]}.get(keep)
        del p._cell, array
        p._number = 2
        bench.tape.put(2, p, None)
        assert replay(bench.tape) == []
        del kept
        return p._cell.array

    def address(array: np.ndarray) -> int:
        return array.__array_interface__["data"][0]

    def fresh(places: list[int]) -> np.ndarray:
        array = np.array([0.0, 1.0, 2.0, 3.0])
        places.append(address(array))
        return array

    for keep in (None, "cell", "array", "view"):
        place: list[int] = []
        now = update(fresh(place), keep)
        assert now.tolist() == [-1.0, 0.0, 1.0, 2.0]
        assert (address(now) == place[0]) is (keep is None)
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    assert update(frozen).tolist() == [-1.0, 0.0, 1.0, 2.0] and frozen.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_large_results_come_from_the_pool(bench):
    size = pool.LARGE // 8 + 1
    replay = Replay(stepped((size,)), [Input(CELL, 0), Input(CELL, 1)], [(2, bench.kind)])
    x = np.arange(float(size))
    reads(bench, x, np.ones(size))
    a = late(bench, 2)
    assert replay(bench.tape) == [] and np.array_equal(a._cell.array, x - 1)
    assert a._cell.array.__array_interface__["data"][0] % 4096 == 2048


def test_a_kernel_that_fails_raises_its_error_and_hands_nothing_out(bench):
    b = Builder("pick", [Type("f64", (3,)), Type("i64", (2,))])
    x, i = b.params
    kernel = compile_graph(b.finish([take(b, x, check_indices(b, i, axis=0, size=3), axis=0)]))
    replay = Replay(kernel, [Input(CELL, 0), Input(CELL, 1)], [(2, bench.kind)])
    x_array, bad = np.arange(3.0), np.array([0, 9])
    reads(bench, x_array, bad)
    a = late(bench, 2)
    count = sys.getrefcount(x_array), sys.getrefcount(bad)
    with pytest.raises(IndexError):
        replay(bench.tape)
    assert a._is_late and count == (sys.getrefcount(x_array), sys.getrefcount(bad))


def test_wrong_arguments_of_the_method_are_refused(bench):
    for arguments in ((), (1, 2, True, b"", "text"), (0, 1, True, b"", b""), ("a", 1, True, b"", b"")):
        with pytest.raises((TypeError, ValueError)):
            bench.tape.replay(*arguments)


def test_replays_leak_nothing(bench):
    replay = Replay(kernel_of((2, 3)), [Input(CELL, 0), Input(CELL, 1), Input(NUMBER, 2, "f64")],
                    [(3, bench.kind), (4, bench.kind)])
    x, y, number = np.ones((2, 3)), np.ones((2, 3)), 1.25
    watched = x, y, number, bench.kind, None, Cell
    spare = [Tensor() for _ in range(2100)], [Cell(None, None) for _ in range(2100)]  # dead ones are kept, but no more
    del spare

    def run() -> None:
        bench.restart()
        reads(bench, x, y)
        bench.tape.put(2, number, None)
        a, b = late(bench, 3), late(bench, 4, HISTORY)
        assert replay(bench.tape) == [b] and a._cell.array[0, 0] == 2.25

    run()
    gc.collect()
    before, blocks = [sys.getrefcount(each) for each in watched], sys.getallocatedblocks()
    for _ in range(1000):
        run()
    gc.collect()
    after = [sys.getrefcount(each) for each in watched]
    grown = [a - b for a, b in zip(after, before, strict=True)]
    assert all(abs(n) < 300 for n in grown), grown  # a leak would be 1000; other tests leave tensors that die meanwhile
    assert sys.getallocatedblocks() - blocks < 300


def test_a_state_remembers_the_run_that_ended_in_it(bench):
    replay = Replay(stepped(), [Input(CELL, 0), Input(CELL, 1)], [(2, bench.kind)])
    state = bench.event([bench.input(0), bench.input(1)], [bench.result(2)], 3, count=2)
    x, y = bench.tensor(array=np.ones(4)), bench.tensor(array=np.ones(4))
    bench.restart()
    z = bench.f(x, y)
    root = bench.root
    assert bench.tape.rerun(root, True) is NotImplemented
    replay.stay(state, bench.tape.live(), None, "more")
    assert state.plan[-1] == "more"
    assert bench.tape.rerun(root, True) is True and z._cell.array.tolist() == [0.0] * 4
    assert state.runs == 1 and bench.tape.count == 0 and bench.tape.state is root
    bench.restart()
    bench.f(x, y)  # whose result nobody wants
    assert bench.tape.rerun(root, True) is NotImplemented and replay.settled(NotImplemented) is None
    bench.restart()
    z = bench.f(x, y)
    y._cell.array = np.zeros(3)
    assert bench.tape.rerun(root, True) is NotImplemented and z._is_late
    state.live = state.plan = 3
    assert bench.tape.rerun(root, True) is NotImplemented
    bench.tape.restart(bench.serial, None)
    assert bench.tape.rerun(root, True) is NotImplemented
