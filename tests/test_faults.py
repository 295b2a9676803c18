"""What fails in the middle of a step takes nothing along: tests.faults says how that is tried."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.trace.tape import Tape, flush
from tests.faults import KINDS, Job, NoMemory, Signal, differing, places, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_signals_anywhere_in_a_step(kind: str) -> None:
    draw = random.Random(kind)
    for warm in (1, 4):
        optimiser = draw.choice(["sgd", "momentum", "adam", "nadam"])
        count = places(kind, optimiser, warm)
        for at in sorted(draw.sample(range(1, count + 1), min(count, 4))):
            assert not (found := wrong(kind, optimiser, warm, Signal(at))), found


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_memory_refused_in_a_step(optimiser: str) -> None:
    for warm in (1, 4):
        for at in range(1, 40, 5):
            assert not (found := wrong("plain", optimiser, warm, NoMemory(at))), found


# ---- the parameters are what they were before a step that failed


@pytest.mark.parametrize("error", [MemoryError, TimeoutError, KeyboardInterrupt])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam", "asgd"])
@pytest.mark.parametrize("warm", [0, 5])
def test_a_step_that_fails_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], optimiser: str, warm: int
) -> None:
    def failing(self: Tape, *_: Any) -> Any:
        raise error("no")

    job, other = Job("norm", optimiser), Job("norm", optimiser)
    for k in range(warm):
        job.step(k)
        other.step(k)
    loss = job.model(job.data).pow(2).mean()
    job.optimisers[0].zero_grad()
    loss.backward()
    with monkeypatch.context() as patch:
        patch.setattr(Tape, "_run", failing)
        patch.setattr(Tape, "rerun", lambda self, *_: NotImplemented)
        with pytest.raises(error, match="no"):
            job.optimisers[0].step()
    assert loss.item() > 0.0 and torch.is_grad_enabled()
    for p, q in zip(job.model.parameters(), other.model.parameters(), strict=True):
        assert p.tolist() == q.tolist() and p.grad is not None and p._version == q._version
    assert repr(job.optimisers[0].state_dict()) == repr(other.optimisers[0].state_dict())
    job.optimisers[0].step()  # which finds the gradients
    assert job.model[0].weight.tolist() != other.model[0].weight.tolist()
    twin = job.twin()
    job.step(9)
    twin.step(9)
    assert not differing(job.values(), twin.values())


def test_a_trace_that_fails_twice_leaves_what_was_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Tape, *_: Any) -> Any:
        raise MemoryError("no")

    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    part = x[:1]
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(Tape, "_run", failing)
            patch.setattr(Tape, "rerun", lambda self, *_: NotImplemented)
            x.mul_(2.0)
            (w * x).sum().backward()
            with torch.no_grad():
                w.sub_(w.grad)
            with pytest.raises(MemoryError):
                part.add_(1.0)  # which runs what was recorded before
            with pytest.raises(MemoryError):
                flush()
        assert x.tolist() == [1.0, 2.0] and part.tolist() == [1.0] and w.tolist() == [3.0, 4.0] and w.grad is None


# ---- threads that train one model


def worked(threads: list[Callable[[], Any]]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run(work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(work,)) for work in threads]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return errors


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_threads_train_one_model(optimiser: str) -> None:
    job, over = Job("plain", optimiser), threading.Event()

    def train() -> None:
        data = torch.tensor(np.ones((3, 4), np.float32))
        for k in range(25):
            job.optimisers[0].zero_grad()
            loss = job.model(data).pow(2).sum()
            loss.backward()
            job.optimisers[0].step()
            assert k % 5 or loss.item() >= 0.0

    def watch() -> None:
        while not over.wait(0.001):
            job.optimisers[0].zero_grad()
            assert np.isfinite(job.model[0].weight.sum().item())
            assert deepcopy(job.model)[0].bias.shape == (6,)
            assert {name: v.clone().tolist() for name, v in job.model.state_dict().items()}

    def trains() -> None:
        try:
            errors.extend(worked([train] * 4))
        finally:
            over.set()

    errors: list[BaseException] = []
    errors += worked([trains, watch])
    assert not errors, repr(errors[0])
    assert all(np.isfinite(p.tolist()).all() for p in job.model.parameters())
    deadline, again = time.monotonic() + 20, False
    while not again and time.monotonic() < deadline:  # one thread trains alone now: soon its calls are recognised again
        time.sleep(0.15)
        for k in range(6):
            job.step(k)
        before = torch.explain()["replayed"]
        job.step(6)
        again = torch.explain()["replayed"] > before
    assert again


def test_a_child_of_a_fork_goes_on_while_threads_train() -> None:
    job, over, codes = Job("plain", "adam"), threading.Event(), []

    def train() -> None:
        k = 0
        while not over.is_set():
            job.step(k := k + 1)

    def fork() -> None:
        try:
            for _ in range(3):  # while the threads trace, compile and train
                time.sleep(0.05)
                child = os.fork()
                if child == 0:
                    signal.alarm(60)
                    own = Job("plain", "sgd")
                    own.step(0)
                    own.step(1)
                    os._exit(0 if np.isfinite(own.model[0].weight.tolist()).all() else 3)
                codes.append(os.waitpid(child, 0)[1])
        finally:
            over.set()

    assert not worked([train, train, fork])
    assert codes == [0, 0, 0]
