"""Traces that end as one before: run, noted and begun again natively; and what is used again of what died."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor import recorder
from pullback.runtime.tensor.recorder import Input, Replay, Source, replay
from pullback.runtime.tensor.recorder.layout import HISTORY
from pullback.runtime.tensor.recorder.objects import arrays_text
from pullback.runtime.tensor.trace import background, plans
from pullback.runtime.tensor.trace.tape import tapes
from tests.recorder_bench import Bench, Cell, Parameter, Tensor, installed
from tests.test_recorder_replay import kernel_of, late, read, reads


@pytest.fixture
def bench() -> Iterator[Bench]:
    with installed() as made:
        yield made


class Known:
    """f(x, y), whose result is x + 1.5 y, ends in a state that native code knows; the result has a late node."""

    def __init__(self, bench: Bench, held: tuple[int, ...] | None) -> None:
        self.bench = bench
        self.state = bench.event([bench.input(0), bench.input(1)], [bench.result(2, HISTORY)], 3, count=2)
        kernel = kernel_of((4,), third=None)
        self.replay = Replay(
            kernel, [Input(Source.CELL, 0), Input(Source.CELL, 1), Input(Source.CONSTANT, np.full(4, 1.5))],
            [(2, bench.kind), (3, bench.kind)])  # fmt: skip
        self.tensors = [bench.tensor(array=np.arange(4.0) + n) for n in range(2)]
        self.call()
        self.replay.stay(self.state, bench.tape.live(), held, "plan")

    def call(self) -> Any:
        self.bench.restart()
        return self.bench.f(*self.tensors)


def test_what_a_rerun_notes(bench: Bench) -> None:
    known = Known(bench, (1, 0))
    z = known.call()
    bench.tape.put(3, None, None)
    known.replay.stay(known.state, bench.tape.live(), (1, 0), "plan")
    assert bench.tape.rerun(bench.root, True) is True
    x, y = known.tensors
    assert z._record == [known.state, (1, 0), y, x] and z._place == 2 and z._cell.array.tolist() == [1.5, 4.0, 6.5, 9.0]
    assert bench.tape.count == 0 and bench.tape.state is bench.root
    assert known.state.runs == 1 and recorder.serials() == bench.tape.serial + 1


def test_what_python_is_to_note(bench: Bench) -> None:
    known = Known(bench, None)
    z = known.call()
    bench.tape.put(3, None, None)
    known.replay.stay(known.state, bench.tape.live(), None, "plan")
    assert bench.tape.rerun(bench.root, True) == [z]
    assert z._record is None and bench.tape.count == 4 and known.state.runs == 0


def test_reruns_that_are_refused(bench: Bench) -> None:
    known = Known(bench, ())
    for wrong in ((), (bench.root,), (bench.root, True, 3)):
        with pytest.raises(TypeError, match="rerun"):
            bench.tape.rerun(*wrong)
    z = known.call()
    other = recorder.TapeBase()  # so that another thread may want the lock
    assert bench.tape.rerun(bench.root, False) is NotImplemented and z._is_late
    del other
    known.replay.stay(known.state, bench.tape.live(), (99,), "plan")
    with pytest.raises(IndexError):
        bench.tape.rerun(bench.root, True)
    assert z._is_late and bench.tape.count == 3


def test_still_gives_the_mode() -> None:
    tape = recorder.TapeBase()
    tape.mode = 5
    assert (tape.still(), tape.mode) == (5, 4) and (tape.still(), tape.mode) == (4, 4)


ALONE = """
import threading, pullback as torch
from pullback.runtime.tensor.trace import background
from pullback.runtime.tensor.trace.tape import tapes

class Counted:
    count = 0
    def __init__(self, lock): self.lock = lock
    def __enter__(self): Counted.count += 1; return self.lock.__enter__()
    def __exit__(self, *error): return self.lock.__exit__(*error)
    def __getattr__(self, name): return getattr(self.lock, name)

torch.manual_seed(0)
w, x = torch.nn.Parameter(torch.randn(3)), torch.randn(5, 3)
descent = torch.optim.SGD([w], lr=0.01)

def step():
    descent.zero_grad()
    loss = ((x @ w - 1) ** 2).sum()
    loss.backward()
    descent.step()
    return loss.item()

losses = [step() for _ in range(20)]
background.settle()
losses += [step() for _ in range(20)]
tapes.tape.lock = Counted(tapes.tape.lock)
losses += [step() for _ in range(10)]
alone, end, begun = Counted.count, threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: (torch.ones(2).sum().item(), begun.set(), end.wait()))
thread.start(); begun.wait()
losses += [step() for _ in range(10)]
end.set(); thread.join()
assert all(a > b for a, b in zip(losses, losses[1:])), losses
print(alone, Counted.count > alone)
"""


def test_a_tape_that_is_alone_needs_no_lock() -> None:
    ran = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.split() == ["0", "True"]


def test_what_is_wanted_may_change_and_change_back() -> None:
    x = torch.randn(4)

    def run(times: int, keep: bool) -> None:
        for _ in range(times):
            y = x * 3 + 1
            z = y.exp() if keep else (y := y.exp())
            assert np.allclose(z.numpy(), np.exp(x.numpy() * 3 + 1), rtol=1e-5) and y.shape == z.shape

    for keep in (False, True) * 3:
        run(10, keep)
        background.settle()
    before = plans.explain()["replayed"]
    for keep in (False, True, False):
        run(10, keep)
    assert plans.explain()["replayed"] - before == 30


def test_histories_of_results_that_have_run() -> None:
    w = torch.nn.Parameter(torch.ones(2))
    descent = torch.optim.SGD([w], lr=0.1)
    for k in range(30):
        descent.zero_grad()
        loss = (w * 2).sum()
        other = loss * 3
        other.backward()
        descent.step()
        assert type(other.grad_fn).__name__ == "MulBackward0" and other.grad_fn.next_functions[0][0] is loss.grad_fn
        if k == 10:
            background.settle()
    before = w._number
    assert type(loss.grad_fn).__name__ == "SumBackward0" and w._number == before and tapes.tape.count == 0


# ---- what died


def addresses(bench: Bench, runner: Replay) -> tuple[Any, int]:
    bench.restart()
    reads(bench, np.ones(4), np.ones(4))
    bench.tape.put(2, None, read(bench, 2, np.ones(4))._cell)
    a = late(bench, 3)
    runner(bench.tape)
    return a, a._cell.array.ctypes.data


@pytest.fixture
def runner(bench: Bench) -> Replay:
    sources = [Input(Source.CELL, n) for n in range(3)]
    return Replay(kernel_of((4,), third=None), sources, [(3, bench.kind), (4, bench.kind)])


def test_arrays_are_used_again(bench: Bench, runner: Replay) -> None:
    a, first = addresses(bench, runner)
    del a
    again = {addresses(bench, runner)[1] for _ in range(20)}
    assert first in again and len(again) <= 3


@pytest.mark.parametrize("way", ["view", "itself", "weak", "buffer", "read only", "reshaped", "replaced"])
def test_arrays_that_somebody_knows_are_not(bench: Bench, runner: Replay, way: str) -> None:
    for _ in range(10):
        addresses(bench, runner)
    a, address = addresses(bench, runner)
    array = a._cell.array
    keep: Any = None
    if way == "read only":
        array.flags.writeable = False
    elif way == "reshaped":
        array.shape = (2, 2)
    elif way == "replaced":
        keep, a._cell.array = array, np.zeros(3)
    else:
        ways = {"view": lambda x: x[1:], "itself": lambda x: x, "weak": weakref.ref, "buffer": memoryview}
        keep = ways[way](array)
    before = np.array(array)
    del array, a
    if way in ("read only", "reshaped", "weak"):
        assert all(x[0]._cell.array.flags.writeable for x in [addresses(bench, runner)])
        assert addresses(bench, runner)[0]._cell.array.shape == (4,)
        assert keep is None or keep() is None
        return
    assert all(addresses(bench, runner)[1] != address for _ in range(20))
    if way in ("itself", "replaced"):
        assert np.array_equal(keep, before)


def test_no_more_arrays_are_kept_than_these(bench: Bench) -> None:
    shape = (50, 60)
    kernel = kernel_of(shape, third=None)
    runner = Replay(kernel, [Input(Source.CELL, n) for n in range(3)], [(3, bench.kind), (4, bench.kind)])
    places = replay._places
    made = []
    for _ in range(30):
        bench.restart()
        reads(bench, *np.ones((3, *shape)))
        made.append(late(bench, 3))
        runner(bench.tape)
    made.clear()
    bench.restart()
    kept = [int(p[0]) for p in places if p[1] == 8 * 3000]
    assert kept and max(kept) == arrays_text.KEPT
    assert sum(int(p[0]) * int(p[1]) for p in places) <= arrays_text.MEMORY


def test_cells_die_and_are_used_again(bench: Bench, runner: Replay) -> None:
    died: list[Any] = []
    cell = Cell(bench.kind, np.ones(2), 7, 8)
    cell.stale, cell.version, cell.home, cell.checked = 3, 4, [cell], "checked"
    known = weakref.ref(cell, died.append)
    del cell
    gc.collect()
    assert known() is None and died == [known]
    for _ in range(5):
        a, _ = addresses(bench, runner)
        fresh = a._cell
        assert (fresh.serial, fresh.number, fresh.stale, fresh.version) == (0, 0, 0, 0)
        assert fresh.home is None and fresh.checked is None
        assert gc.is_tracked(fresh) and fresh.kind is bench.kind


def test_classes_that_cannot_be_used_again_are_refused(bench: Bench) -> None:
    class Mortal(recorder.CellBase):
        __slots__ = ()

        def __del__(self) -> None: ...

    class Wide(recorder.CellBase):
        __slots__ = ("more",)

    for cls, said in ((Mortal, "__del__"), (Wide, "fields of its own")):
        with pytest.raises(TypeError, match=said):
            recorder.install(bench.tape, type(bench.root), cls, Tensor, Parameter)
