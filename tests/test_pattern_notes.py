"""Calls that native code noted, and whose states are made in the middle of other things; and what they leave behind."""

from __future__ import annotations

import copy
import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import patterns
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.recorder import BOUND, forget_places
from pullback.runtime.tensor.recorder.calls import place_text
from pullback.runtime.tensor.trace import plans, states, tape
from tests.test_patterns import recognising, trained

functional = torch.nn.functional
mine: Any = tape.tapes


@pytest.fixture(autouse=True)
def afresh() -> None:
    forget_calls()


def noted(steps: int = 3) -> tuple[Any, Any, Any]:
    """A leaf, a value of notes that nobody has settled, and what it must be; the last one of some structures."""
    rng, x, y, want = np.random.default_rng(2), None, None, None
    for k in range(steps + 4):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y, want = x, np.array([1.0, 2.0])
        for n in [0, 1, 2, *rng.integers(0, 3, 6 + k)]:
            y, want = (y * 1.5, y + x, y - 0.25)[n], (want * 1.5, want + np.array([1.0, 2.0]), want - 0.25)[n]
        if k < steps + 3:
            y.sum().backward()
            assert x.grad is not None and np.allclose(y.tolist(), want)
    assert mine.tape.notes(), "there must be calls that no state follows"
    return x, y, want


def test_an_interrupt_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    after = patterns.Pattern.after
    for late in range(4):
        x, y, want = noted(late)
        left = [late]

        def interrupted(self: Any, *args: Any, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return after(self, *args)

        monkeypatch.setattr(patterns.Pattern, "after", interrupted)
        words = mine.tape.notes()
        with pytest.raises(KeyboardInterrupt):
            y.tolist()
        with pytest.raises(KeyboardInterrupt):
            y.sum().backward()
        assert mine.tape.notes()[: len(words)] == words
        monkeypatch.setattr(patterns.Pattern, "after", after)
        z = y * 2.0
        z.sum().backward()
        assert np.allclose(y.tolist(), want) and np.allclose(z.tolist(), 2 * want) and x.grad is not None


def test_what_is_recorded_while_notes_are_settled_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer settles the notes itself, and notes as many again."""
    after = patterns.Pattern.after
    for again in range(3):
        x, y, want = noted(again)
        held: list[Any] = []

        def nested(self: Any, *args: Any, y: Any = y, held: Any = held, again: int = again) -> Any:
            if not held:
                held.append(y)
                count = len(mine.tape.notes())
                assert mine.tape.state is mine.tape.known
                if again == 2:
                    held.append((y * 1.0).tolist())
                while len(mine.tape.notes()) < count:
                    held.append(held[-1] * 1.5 if type(held[-1]) is not list else y.detach() * 1.5)
            return after(self, *args)

        monkeypatch.setattr(patterns.Pattern, "after", nested)
        z = y * 2.0
        z.sum().backward()
        monkeypatch.setattr(patterns.Pattern, "after", after)
        assert len(held) > 3 and np.allclose(y.tolist(), want) and np.allclose(z.tolist(), 2 * want)
        first = 2 if again == 2 else 1
        for k, made in enumerate(held[first:], 1):
            assert np.allclose(made.tolist(), want * 1.5**k)
        assert x.grad is not None


def test_another_thread_reads_what_is_noted() -> None:
    for steps in range(3):
        x, y, want = noted(steps)
        got: list[Any] = []
        thread = threading.Thread(target=lambda y=y, got=got: got.append((y.tolist(), (y * 2.0).tolist())))
        thread.start()
        thread.join(20.0)
        assert np.allclose(got[0][0], want) and np.allclose(got[0][1], 2 * want)
        (y * 2.0).sum().backward()
        assert x.grad is not None and mine.tape.notes() == ()


def test_threads_read_while_the_main_one_records() -> None:
    box: list[Any] = []
    wrong: list[Any] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            if box:
                y, want = box[-1]
                if not np.allclose(y.tolist(), want):
                    wrong.append((y.tolist(), want))

    readers = [threading.Thread(target=read) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in readers:
            thread.start()
        rng = np.random.default_rng(4)
        for _ in range(60):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y, want = x, np.array([1.0, 2.0])
            for n in rng.integers(0, 3, 12):
                y, want = (y * 1.5, y + x, y - 0.25)[n], (want * 1.5, want + np.array([1.0, 2.0]), want - 0.25)[n]
                box.append((y, want))
            del box[:-3]
            assert np.allclose(y.tolist(), want)
    finally:
        stop.set()
        for thread in readers:
            thread.join(20.0)
        sys.setswitchinterval(interval)
    assert wrong == []


def test_what_was_noted_outlives_what_is_forgotten() -> None:
    x, y, want = noted()
    forget_calls()
    assert mine.tape.notes() == ()
    z = y * 2.0
    z.sum().backward()
    assert np.allclose(z.tolist(), 2 * want) and x.grad is not None
    _, y, want = noted()
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.tensor([1.0]) * 2.0).dtype is torch.float64
        assert y.dtype is torch.float32 and np.allclose(y.tolist(), want)
        for _ in range(4):
            assert (torch.tensor([1.0, 2.0]) * 1.5 + 1).dtype is torch.float64
            assert (torch.ones(2, dtype=torch.int32) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.ones(2, dtype=torch.int32) / 2).dtype is torch.float32
    _, y, want = noted()
    y = y * 1.5
    with recognising(False):
        assert np.allclose((y + y).tolist(), 3 * want)


def test_traces_that_are_too_long_are_run_in_the_middle() -> None:
    rng = np.random.default_rng(0)
    x = torch.tensor([1.0, 2.0])
    for steps in (50, BOUND + 500, 2 * BOUND):
        y, want = x, 0
        for n in rng.integers(0, 2, steps):
            y, want = (y + 1.0, y - x)[n], want + (1 if n == 0 else 0)
        minus = steps - want
        assert y.tolist() == [1.0 + want - minus, 2.0 + want - 2 * minus]


# ---- memory


def count_of(cls: type) -> int:
    gc.collect()
    return sum(type(each) is cls for each in gc.get_objects())


def test_structures_that_come_once_leave_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "STATES", 150)
    monkeypatch.setattr(plans, "KEPT", 4)
    forget_calls()
    forget_places()  # of the tests before
    patterns.codes.forget()
    before = count_of(states.State)
    for seed in range(3):
        trained(30, seed=seed)
        assert states.forest.states < 300 and count_of(states.State) - before < 700
        assert len(patterns._patterns) < 40 and len(patterns.codes.places) < 200


def test_forgotten_patterns_are_let_go() -> None:
    noted()
    before, some = len(patterns._patterns), count_of(patterns.Pattern)
    for k in range(12):
        torch.set_default_dtype(torch.float64 if k % 2 else torch.float32)
        noted()
    torch.set_default_dtype(torch.float32)
    noted()
    assert len(patterns._patterns) <= before + 2 and count_of(patterns.Pattern) <= some + 2


def test_code_that_is_made_as_the_program_runs_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "CODES", 40)
    forget_places()
    patterns.codes.forget()
    for k in range(200):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        scope: dict[str, Any] = {"x": x}
        for bit in f"{k:b}":
            scope["x"] = scope["x"] * 0.5 if bit == "0" else scope["x"] - 0.25
        code = "\n" * (k % 50) + "y = x * 1.5 + x\nz = y.exp()\n"
        exec(compile(code, f"<made {k}>", "exec"), scope)
        assert len(patterns.codes.known) <= 40 + 10
        if k % 10 == 9:
            scope["z"].mul_(2)
            with pytest.raises(RuntimeError, match=rf"<made {k}>:{k % 50 + 2} saved"):
                scope["z"].sum().backward()
        else:
            scope["y"].sum().backward()
            assert np.allclose(x.grad.tolist(), 2.5 * 0.5 ** f"{k:b}".count("0"))


def test_more_code_than_is_remembered() -> None:
    scopes: list[dict[str, Any]] = []
    for k in range(2 * place_text.KNOWN):
        scope: dict[str, Any] = {}
        exec(compile("def run(x):\n    return x.exp()\n", f"<file {k}>", "exec"), scope)
        scopes.append(scope)
    for k in range(2 * len(scopes)):
        y = torch.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(k % 7):
            y = y * 0.5
        y = scopes[k % len(scopes)]["run"](y)
        if k % 37 == 36:
            y.mul_(2)
            with pytest.raises(RuntimeError, match=rf"<file {k % len(scopes)}>:2 saved"):
                y.sum().backward()


def test_copies_of_functions_are_the_functions() -> None:
    noted()
    for function in (torch.tanh, torch.cat, torch.Tensor.mul, functional.linear, torch.nn.functional.relu):
        assert copy.copy(function) is function and copy.deepcopy(function) is function
    module = copy.deepcopy(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()))
    assert module(torch.ones(2)).shape == (2,)
