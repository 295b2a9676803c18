"""Another thread runs a trace, or makes what its tensors lack, just while its own thread goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import pullback as torch
from pullback.runtime.tensor.calls import call_nodes
from pullback.runtime.tensor.trace import tape

WAIT = 0.2
"""So many seconds the other side has for what it must not do now."""


def program(steps: int) -> tuple[Any, Any]:
    """A leaf, and 4 ** steps times it; the same program each time."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(steps):
        y = (y + y) * 2.0
    return x, y


def known(steps: int) -> None:
    """Let the program be known, with its kernels."""
    for k in range(6):
        x, y = program(steps)
        assert y.tolist() == [4.0**steps, 2 * 4.0**steps]
        x, y = program(steps)
        (y * 1.5).sum().backward()
        assert x.grad.tolist() == [1.5 * 4.0**steps] * 2, k


def in_thread(action: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(action()))
    thread.start()
    return thread, made


def test_a_trace_that_ends_while_a_cell_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    known(3)
    _, y = program(3)
    origin, threads = tape.Tape.origin, []

    def slowly(self: Any, n: int) -> int:
        if not threads:
            threads.append(threading.Thread(target=lambda: tape.compute(y._serial)))
            threads[0].start()
            threads[0].join(WAIT)
        return origin(self, n)

    monkeypatch.setattr(tape.Tape, "origin", slowly)
    y._cell  # noqa: B018
    for thread in threads:
        thread.join(10.0)
    assert len(threads) == 1 and y.tolist() == [64.0, 128.0]


def test_a_call_that_comes_while_another_thread_makes_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    known(2)
    x, y = program(2)
    begun, went_on, make = threading.Event(), threading.Event(), call_nodes.Maker.make

    def slowly(self: Any, call: Any) -> None:
        begun.set()
        went_on.wait(WAIT)
        make(self, call)

    monkeypatch.setattr(call_nodes.Maker, "make", slowly)
    thread, made = in_thread(lambda: type(y.grad_fn).__name__)
    assert begun.wait(10.0)
    z = y * 1.5
    went_on.set()
    thread.join(10.0)
    monkeypatch.setattr(call_nodes.Maker, "make", make)
    assert made == ["MulBackward0"] and type(z.grad_fn).__name__ == "MulBackward0"
    z.sum().backward()
    assert x.grad.tolist() == [24.0, 24.0] and z.tolist() == [24.0, 48.0]


def test_a_call_that_comes_while_another_thread_runs_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    x, rerun = torch.tensor([1.0, 2.0]), tape.Tape.rerun
    for _ in range(6):
        y = ((x + x) * 2.0) + x
        assert y.tolist() == [5.0, 10.0]
        z = (((x + x) * 2.0) + x) * 1.5
        assert z.tolist() == [7.5, 15.0]
    begun, went_on, ran = threading.Event(), threading.Event(), []

    def slowly(self: Any, *args: Any) -> Any:
        made = rerun(self, *args)
        if made is True and not ran:
            ran.append(made)
            begun.set()
            went_on.wait(WAIT)
        return made

    y = ((x + x) * 2.0) + x
    monkeypatch.setattr(tape.Tape, "rerun", slowly)
    thread, made = in_thread(y.tolist)
    assert begun.wait(10.0)
    z = y * 1.5
    went_on.set()
    thread.join(10.0)
    assert ran == [True], "the trace must be known"
    assert made == [[5.0, 10.0]] and z.tolist() == [7.5, 15.0]
