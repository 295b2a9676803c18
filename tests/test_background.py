"""Kernels of traces are made in the background: the same values before and after, also in children and at the end."""

import os
import subprocess
import sys
import threading
import time

import numpy as np

import pullback as torch
from pullback.compiler.backend import ending, process, tiers
from pullback.compiler.settings import settings
from pullback.runtime.tensor.trace import background


def trained(steps: int) -> list[float]:
    """The losses of a small network, whose weights and data are the same each time."""
    rng = np.random.default_rng(7)
    draw = lambda *shape: torch.tensor(rng.normal(size=shape))  # noqa: E731
    x, y = draw(16, 5), draw(16, 3)
    w, v = draw(5, 4).requires_grad_(), draw(4, 3).requires_grad_()
    descent, losses = torch.optim.SGD([w, v], lr=0.05), []
    for _ in range(steps):
        descent.zero_grad()
        loss = ((torch.tanh(x @ w) @ v - y) ** 2).mean()
        loss.backward()
        descent.step()
        losses.append(loss.item())
    return losses


def test_values_are_those_of_steps_that_wait() -> None:
    want = trained(12)
    with settings.override(background=True):
        first = trained(6)
        assert background.settle()
        after = trained(12)
    np.testing.assert_allclose(first, want[:6], rtol=1e-12)
    np.testing.assert_allclose(after, want, rtol=1e-12)


WAITING = """
import threading
import numpy as np
import pullback as torch
from pullback.compiler.settings import settings
from pullback.runtime.tensor.trace import background, plans

entered, go_on = threading.Event(), threading.Event()
plain = background._at_best

def slowly(make):
    entered.set()
    assert go_on.wait(60)
    plain(make)

def step(k):
    return ((x * 1.5 + 0.25).exp().sum() - k).item()

background._at_best = slowly
with settings.override(background=True):
    x, want = torch.tensor([1.0, 2.0, 3.0]), np.exp(np.array([1.75, 3.25, 4.75])).sum()
    for k in range(plans.WAITS + 2):  # no kernel is there, and none is waited for
        assert abs(step(k) - want + k) < 1e-4
    assert entered.wait(60)
    before = torch.explain()
    go_on.set()
    assert background.settle()
    assert abs(step(9) - want + 9) < 1e-4
after = torch.explain()
assert after["compiled"] > before["compiled"]
assert after["replayed"] > before["replayed"]
"""


def test_a_step_does_not_wait() -> None:
    """In a process of its own: where a trace was open before, the first step ends that one and asks for no kernel."""
    run = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr


def test_settings_go_with_what_is_asked_for() -> None:
    levels = []
    with settings.override(background=True, level=1):
        background.maker.ask(lambda: levels.append(settings.level))
    with settings.override(level="auto"):
        background.maker.ask(lambda: levels.append(settings.level))
    assert background.settle()
    assert sorted(levels) == [1, background.BEST]


def held_up() -> tuple[background.Maker, threading.Event]:
    """A maker that has begun with something and goes on with what waits behind it when it is told to."""
    maker, begun, go_on = background.Maker(), threading.Event(), threading.Event()

    def make() -> None:
        begun.set()
        assert go_on.wait(60)

    maker.ask(make)
    assert begun.wait(60)
    return maker, go_on


def test_what_is_missed_most_lately_is_made_next() -> None:
    """Hundreds of lengths that came once do not stand before what runs now, nor does what ran often long ago."""
    maker, go_on = held_up()
    made: list[str] = []
    old = [maker.ask(lambda k=k: made.append(f"once {k}")) for k in range(300)]
    often = maker.ask(lambda: made.append("often, long ago"))
    for _ in range(40):
        assert often.missed()
    now = maker.ask(lambda: made.append("now"))
    for _ in range(4 * background.HALF):
        assert now.missed()
    step = maker.ask(lambda: made.append("a step"), times=100)
    operation = maker.ask(lambda: made.append("an operation"))
    maker.ask(lambda: made.append("short"), short=True)
    go_on.set()
    assert maker.settle(60)
    assert made[:4] == ["short", "now", "a step", "often, long ago"]
    assert len(made) == 305 and not any(job.open for job in (*old, step, operation, now))
    maker.stop()


def test_what_nobody_has_missed_for_long_is_left_out(monkeypatch) -> None:
    now = 1000.0
    monkeypatch.setattr(background, "monotonic", lambda: now)
    maker, go_on = held_up()
    made: list[str] = []
    gone, kept = (maker.ask(lambda name=name: made.append(name)) for name in ("gone", "kept"))
    now += background.LONG
    assert kept.missed()
    now += 0.5
    go_on.set()
    deadline = time.monotonic() + 60
    while maker.open and time.monotonic() < deadline:
        time.sleep(0.001)
    assert made == ["kept"] and not gone.open
    assert kept.missed() and not gone.missed()  # who misses it asks again
    maker.ask(lambda: made.append("gone"))
    assert maker.settle(60) and made == ["kept", "gone"]
    maker.stop()


def test_a_trace_that_was_left_out_is_asked_for_again(monkeypatch) -> None:
    now = 1000.0
    with settings.override(background=True):
        x = torch.arange(7.0)
        assert background.settle()
        begun, go_on = threading.Event(), threading.Event()
        background.maker.ask(lambda: begun.set() or go_on.wait(60))  # type: ignore[func-returns-value]
        assert begun.wait(60)
        monkeypatch.setattr(background, "monotonic", lambda: now)
        want = [((x * 3 - 1).exp().sum() / 7).item() for _ in range(12)]
        asked = list(background.maker.waiting)
        assert asked
        now += 2 * background.LONG
        go_on.set()
        deadline = time.monotonic() + 60
        while background.maker.open and time.monotonic() < deadline:
            time.sleep(0.001)
        assert all(job.left for job in asked)
        before = torch.explain()["compiled"]
        want += [((x * 3 - 1).exp().sum() / 7).item() for _ in range(3)]
        assert background.settle()
        assert torch.explain()["compiled"] > before
        want.append(((x * 3 - 1).exp().sum() / 7).item())
    np.testing.assert_allclose(want, want[0], rtol=1e-6)


CHILD = """
import os, sys
import pullback as torch
from pullback.runtime.tensor.trace import background, plans
x = torch.ones(4)
step = lambda: (x * 2 + 1).sin().sum().item()
value = step()
step()
pid = os.fork()
for _ in range(3):
    assert abs(step() - value) < 1e-6
assert background.settle()
count = torch.explain()["compiled"]
assert count >= 1, count
if pid:
    assert os.waitpid(pid, 0)[1] == 0
print("child" if not pid else "parent", "done", flush=True)
"""


def test_children_compile_for_themselves_and_processes_end() -> None:
    environment = {**os.environ, "PULLBACK_BACKGROUND": "1"}
    run = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.split()) == ["child", "done", "done", "parent"]


FORKING = """
import os, threading, time
import llvmlite.binding.ffi
import pullback.compiler.backend.machine
from pullback.compiler import later
begun = threading.Event()

def load():
    with later.loading:  # as a thread that compiles loads LLVM
        begun.set()
        time.sleep(0.5)
        with llvmlite.binding.ffi.lib._lock:
            pass

threading.Thread(target=load).start()
begun.wait()
pid = os.fork()
if pid:
    assert os.waitpid(pid, 0)[1] == 0
with later.loading, llvmlite.binding.ffi.lib._lock:
    print("child" if not pid else "parent", "done", flush=True)
"""


def test_a_fork_waits_for_a_thread_that_loads_llvm() -> None:
    """And holds nothing meanwhile that the thread waits for."""
    run = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.split()) == ["child", "done", "done", "parent"]


ENDING = """
import sys
import numpy as np
from pullback import grad
from pullback.compiler.backend import ending, process, tiers
ending.SHARE = ending.MOST = float(sys.argv[1])
slopes = [grad(lambda x, k=k: np.sum(np.sin(x * k) * np.exp(-x * x))) for k in (1.5, 2.5, 3.5)]
x = np.linspace(0, 1, 400)
for slope in slopes:
    slope(x)
for _ in range(max(slope._latest.kernel.code.calls for slope in slopes)):
    for slope in slopes:
        slope(x)
print([slope.report().forms[0].cached for slope in slopes])
"""


def test_what_waits_when_the_process_ends_is_made_for_the_next_one(tmp_path) -> None:
    def run(share: float, **more: str) -> str:
        given = os.environ | {"PULLBACK_CACHE": "1", "PULLBACK_CACHE_DIR": str(tmp_path / "kept"), **more}
        command = [sys.executable, "-c", ENDING, str(share)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=given)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    assert run(1e6) == str([()] * 3)
    assert run(0.0) == str([("level 2",)] * 3)


class Kernel:
    """One that lets another become hot, and the process end, while better code is made for it."""

    hot = made = False

    def __init__(self, worker: tiers._Worker, after: "Kernel | None" = None) -> None:
        self.worker, self.after = worker, after

    def is_hot(self) -> bool:
        return self.hot and not self.made

    def upgrade(self) -> None:
        self.made = True
        if self.after is not None:
            self.after.hot, self.worker._until, self.worker._stopping = True, time.monotonic() + 60, True


def test_what_becomes_hot_while_the_last_is_made_is_made_at_the_end() -> None:
    worker = tiers._Worker()
    last = Kernel(worker)
    first = Kernel(worker, last)
    worker.watch(first)
    worker.watch(last)
    thread = worker._thread
    assert thread is not None
    first.hot = True
    process.post(worker.semaphore)
    thread.join(30)
    assert not thread.is_alive() and first.made and last.made


def test_code_is_begun_at_the_end_for_a_share_of_the_time_of_the_process(monkeypatch) -> None:
    monkeypatch.setattr(ending, "_began", 100.0)
    monkeypatch.setattr(ending.cache, "enabled", lambda: True)
    for now, until in ((101.0, 101.1), (104.0, 104.4), (1000.0, 1000.5)):
        monkeypatch.setattr(ending.time, "monotonic", lambda now=now: now)
        assert abs(ending.until() - until) < 1e-9
    monkeypatch.setattr(ending.cache, "enabled", lambda: False)
    assert ending.until() == 1000.0
