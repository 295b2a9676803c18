"""Tensors that several threads use: one trains a model, another one reads it; traces enter each other's tensors."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import natively, reading
from pullback.runtime.tensor.recorder.layout import HISTORY, LEAF
from pullback.runtime.tensor.trace import locks
from pullback.runtime.tensor.trace.states import forest
from pullback.runtime.tensor.trace.tape import Tape, tapes
from pullback.runtime.tensor.value import storage as storages
from pullback.runtime.tensor.value.cells import cell_of
from pullback.runtime.tensor.value.storage import Storage
from tests.recorder_bench import Bench, Cell, installed
from tests.recorder_bench import Tape as BenchTape

DATA = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32).tolist()

# ---- a model that is read while it is trained


@pytest.fixture
def turns() -> Iterator[None]:
    """Threads take turns often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def trained(model: Any, steps: int) -> list[Any]:
    optimiser, data = torch.optim.SGD(model.parameters(), lr=0.01), torch.tensor(DATA)
    for k in range(steps):
        optimiser.zero_grad()
        loss = model(data).pow(2).sum() + model[0].weight.pow(2).sum() * 0.1
        loss.backward()
        optimiser.step()
        if k % 3 == 0:
            assert loss.item() >= 0.0
    return [p.tolist() for p in model.parameters()]


def fresh() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


def forward(model: Any) -> None:
    with torch.no_grad():
        assert model(torch.tensor(DATA)).shape == (6, 3)


def gradients(model: Any) -> None:
    try:
        torch.autograd.grad(model(torch.tensor(DATA)).sum(), list(model.parameters()))
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)


WATCHERS: list[Callable[[Any], Any]] = [
    lambda model: (model[0].weight.detach() * 2).sum().item(),
    lambda model: [p.sum().item() for p in model.parameters()],
    lambda model: {name: value.clone() for name, value in model.state_dict().items()}["0.bias"].tolist(),
    lambda model: model[2].weight.detach().numpy().sum(),
    lambda model: torch.stack([p.norm() for p in model.parameters()]).tolist(),
    lambda model: deepcopy(model)(torch.tensor(DATA)).tolist(),
    lambda model: [(p.requires_grad, p.is_leaf, p.grad_fn, repr(p)) for p in model.parameters()],
    forward,
    gradients,
]


@pytest.mark.parametrize("trains_here", [True, False])
@pytest.mark.parametrize("watch", range(len(WATCHERS)))
def test_reading_a_model_that_another_thread_trains(turns: None, watch: int, trains_here: bool) -> None:
    want, model, over, errors, made = trained(fresh(), 150), fresh(), threading.Event(), [], []

    def train() -> None:
        try:
            made.append(trained(model, 150))
        except Exception as error:
            errors.append(error)
        over.set()

    def look() -> None:
        while not over.is_set() and not errors:
            try:
                WATCHERS[watch](model)
            except Exception as error:
                errors.append(error)

    here, there = (train, look) if trains_here else (look, train)
    thread = threading.Thread(target=there)
    thread.start()
    here()
    thread.join()
    assert not errors, repr(errors[0])
    for a, b in zip(made[0], want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


def test_memory_is_not_handed_out_under_another_ones_write() -> None:
    """A thread copies what a cell holds, and another one writes before NumPy's copy becomes the memory."""
    old, new = (cell_of(np.full(3, k)) for k in (1.0, 2.0))
    storage = Storage(old)
    storage.cell = new
    assert not storage.hand_out(old, np.full(3, 1.0))
    assert storage.value().tolist() == [2.0] * 3
    array = np.full(3, 2.0)
    assert storage.hand_out(new, array) and storage.array is array


@pytest.mark.parametrize("asked", [1, 2])
def test_memory_is_not_taken_back_without_another_ones_write(monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    """A thread writes to NumPy's copy right after it was found to hold what it was made of."""
    cell, times = cell_of(np.full(3, 1.0)), []
    storage = Storage(cell)
    storage.hand_out(cell, np.full(3, 1.0))

    def holds(cell: Any, array: np.ndarray) -> bool:
        found = held(cell, array)
        times.append(found)
        if len(times) == asked:
            if storage.array is array:
                array[:] = 5.0
            else:  # the other thread finds the array gone, and writes to the cell
                storage.cell = cell_of(np.full(3, 5.0))
        return found

    held = storages.holds
    monkeypatch.setattr(storages, "holds", holds)
    storage.settle()
    assert storage.array is None and storage.value().tolist() == [5.0] * 3


# ---- what a trace knows again


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A tape that is not the only one."""
    other = BenchTape()
    with installed() as made:
        yield made
    assert other.serial != made.serial


def entered(bench: Bench, flags: int = 0) -> Any:
    """A tensor that stands on the trace as value 0, and that another thread has entered into its own as value 7."""
    bench.restart()
    x = bench.tensor()
    x._flags = flags
    bench.tape.put(0, x, x._cell)
    x._serial, x._number, x._cell.serial, x._cell.number = 999, 7, 999, 7
    return x


@pytest.mark.parametrize("flags", [0, LEAF])
def test_a_trace_finds_what_another_one_took_over(bench: Bench, flags: int) -> None:
    x = entered(bench, flags)
    assert bench.tape.reclaim(x)
    assert (x._serial, x._number, x._cell.serial, x._cell.number) == (bench.serial, 0, bench.serial, 0)


def test_what_its_trace_let_go_of_stays_so(bench: Bench) -> None:
    x = entered(bench)
    x._serial = 0
    assert bench.tape.reclaim(x) and x._serial == 0


def test_a_leaf_with_another_value_is_not_entered_again(bench: Bench) -> None:
    leaf, other = entered(bench, LEAF), bench.tensor()
    leaf._cell = Cell(bench.kind, "array")
    assert not bench.tape.reclaim(leaf) and bench.tape.reclaim(other)
    y = entered(bench)
    y._cell = Cell(bench.kind, "array")
    assert bench.tape.reclaim(y) and y._serial == 999


def test_a_history_that_is_to_be_noted_is_waited_for(bench: Bench) -> None:
    x = entered(bench, HISTORY)
    assert not bench.tape.reclaim(x)
    x._record = []
    assert bench.tape.reclaim(x)
    bench.restart()
    late = bench.tensor()
    late._flags, late._serial = HISTORY, 999
    del late._cell
    assert bench.tape.reclaim(late) and late._serial == 999


def test_reclaim_wants_a_tensor(bench: Bench) -> None:
    for given in ((), (1,), (bench.tensor(), bench.tensor())):
        with pytest.raises(TypeError, match="reclaim"):
            bench.tape.reclaim(*given)


def test_a_leaf_that_another_trace_took_over_has_one_gradient() -> None:
    for _ in range(6):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y = w * 3.0
        thread = threading.Thread(target=lambda w=w: (w * 5.0).tolist())
        thread.start()
        thread.join()
        (y + w * 4.0).sum().backward()
        assert w.grad is not None and w.grad.tolist() == [7.0, 7.0]


def test_a_leaf_that_was_written_to_meanwhile_has_one_gradient() -> None:
    def write(w: Any) -> None:
        with torch.no_grad():
            w.mul_(1.0)
        w.tolist()

    for _ in range(6):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y = w + 3.0
        thread = threading.Thread(target=write, args=(w,))
        thread.start()
        thread.join()
        (y + w * 4.0).sum().backward()
        assert w.grad is not None and w.grad.tolist() == [5.0, 5.0]


# ---- who waits for whom


def test_the_owner_of_a_tape_waits_until_others_have_looked() -> None:
    mine, found = tapes.tape, threading.Event()

    def look() -> None:
        with locks.Locked(tapes.tape, mine):
            assert mine.visits == mine.depth == 1 and mine in locks.visited
            found.set()
            over.wait(10.0)

    x = torch.tensor([1.0], requires_grad=True)
    for use in (lambda: x * 2.0, lambda: x.grad, lambda: torch.optim.SGD([x], lr=0.1).zero_grad()):
        over = threading.Event()
        found.clear()
        thread = threading.Thread(target=look)
        thread.start()
        assert found.wait(10.0)
        timer = threading.Timer(0.1, over.set)
        timer.start()
        use()
        assert over.is_set()
        thread.join()
        timer.join()
    assert mine.visits == mine.depth == 0 and mine not in locks.visited


def test_who_looks_waits_until_nodes_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Tape(records=False)
    mine.busy = True
    timer = threading.Timer(0.1, lambda: setattr(mine, "busy", False))
    timer.start()
    with locks.Locked(tapes.tape, mine):
        assert not mine.busy and mine.visits == 1
    timer.join()
    mine.busy = True
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    with tapes.tape.lock, pytest.raises(RuntimeError, match="wait for each other"), locks.Locked(tapes.tape, mine):
        raise AssertionError("nobody may look")
    assert mine.visits == 0
    for lock in (mine.lock, tapes.tape.lock):
        assert not lock._is_owned()  # type: ignore[attr-defined]


def test_a_state_is_told_once() -> None:
    x = torch.tensor([0.5] * 17)
    for _ in range(4):
        (x * 1.5).sum().item()
    pending, told = [forest.root], []
    while pending:
        state = pending.pop()
        pending += [each for states in state.children.values() for each in states]
        told += [state] if state.call is not None and state.parent is forest.root else []
    state = told[-1]
    natively.tell(state, reading.Reading(state.call.of, tapes.tape, (x, 1.5), {}))
    chain, at = [], forest.root.first
    while at is not None and len(chain) < 10_000:
        chain, at = [*chain, at], at.sibling
    assert len(chain) == len({*map(id, chain)}) and state in chain


def test_a_parameter_that_is_back_in_its_memory_shares_it_with_nobody() -> None:
    """As weights that are exchanged for their averages, for an evaluation."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    descent, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(2, 4)
    averages = [p.data.clone() for p in model.parameters()]
    for _ in range(2):
        loss = model(x).square().mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
        own = [p.data for p in model.parameters()]
        for p, average in zip(model.parameters(), averages, strict=True):
            p.data = average
        before = model(x).sum().item()
        for p, mine in zip(model.parameters(), own, strict=True):
            p.data = mine
        del own, mine
        assert model(x).sum().item() != before
    descent.step()
    assert [p._storage for p in model.parameters()] == [None, None]  # type: ignore[attr-defined]


def test_a_parameter_that_was_written_to_elsewhere_is_not_as_it_was_saved() -> None:
    w, other = torch.ones(3, requires_grad=True), torch.zeros(3)
    y = (w * w).sum()
    own = w.data
    w.data = other
    with torch.no_grad():
        w.mul_(2)
    w.data = own
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
