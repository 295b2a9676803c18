"""The thread pool: every chunk once, the first failure told, forks, signals, no cost while idle."""

import os
import random
import signal
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pullback
from pullback.compiler.backend import process, threads
from pullback.compiler.backend.entries.calls import launcher
from pullback.compiler.backend.entries.native import NativeFunction, install
from pullback.compiler.backend.entries.specs import ArrayResult, ArraySpec
from pullback.compiler.backend.entries.text import entry_text
from pullback.compiler.backend.kernel import site_error
from pullback.compiler.backend.linking.module import link
from pullback.compiler.backend.machine import compile_object
from pullback.compiler.settings import settings
from tests import regions

MILLISECOND = 1_000_000  # counts of the loop in `regions`, or more, on machines of today


@pytest.fixture(autouse=True)
def _same_number_afterwards():
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def script(text: str, *, timeout: float = 60, **variables: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(text)],
        capture_output=True, text=True, timeout=timeout, env={**os.environ, **variables})
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return done.stdout


PRELUDE = f"""
import os, sys, signal, threading, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import numpy as np
from tests import regions
from pullback.compiler.backend import threads
def marked(chunks, wait=0):
    words = regions.frame(chunks, wait)
    assert regions.run("mark", words, chunks) == (0, [0] * 4), "a failure"
    return bool((words[1:] == 1).all())
"""


# ---- chunks


@pytest.mark.parametrize("count", range(1, 9))
def test_every_chunk_runs_once(count):
    threads.set_num_threads(count)
    for chunks in (0, 1, 2, 3, 8, 61, 1000):
        for wait in (0, 300):
            words = regions.frame(chunks, wait)
            assert regions.run("mark", words, chunks) == (0, [0, 0, 0, 0])
            assert (words[1:] == 1).all()


def test_helpers_take_part_and_no_more_than_were_asked_for():
    for count in (4, 2, 3):
        threads.set_num_threads(count)
        seen = set()
        for _ in range(10):
            words = regions.frame(64, 2 * MILLISECOND)
            regions.run("burn", words, 64)
            found = set(words[1:].tolist())
            assert threading.get_ident() in found and len(found) <= count
            seen |= found
            if len(found) == count:
                break
        assert len(seen) > 1


@pytest.mark.parametrize(("count", "work"), [(1, regions.LONG), (4, 1000)])
def test_one_thread_and_short_regions_stay_on_the_calling_thread(count, work):
    threads.set_num_threads(count)
    words = regions.frame(64, 10_000)
    regions.run("burn", words, 64, work)
    assert set(words[1:].tolist()) == {threading.get_ident()}


def test_a_region_inside_a_region_runs_on_its_thread():
    threads.set_num_threads(4)
    words = regions.frame(8, 1000)
    for _ in range(50):
        assert regions.run("nest", words, 32)[0] == 0
    assert (words[1:] == 50 * 32).all()


def test_several_python_threads_at_once():
    threads.set_num_threads(3)
    wrong = []

    def work(seed):
        rng = random.Random(seed)
        for _ in range(300):
            chunks = rng.randrange(1, 40)
            words = regions.frame(chunks, rng.choice((0, 50, 2000)))
            status, _ = regions.run("mark", words, chunks)
            if status or not (words[1:] == 1).all():
                wrong.append((seed, chunks, words))

    callers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert not wrong


def test_sleeping_helpers_are_woken():
    threads.set_num_threads(8)
    for _ in range(20):
        time.sleep(0.003)
        words = regions.frame(40, 20_000)
        regions.run("mark", words, 40)
        assert (words[1:] == 1).all()


def test_short_regions_wake_helpers_only_in_a_series():
    threads.set_num_threads(2)
    alone, series = regions.frame(8, 1000), regions.frame(8, MILLISECOND)
    regions.run("burn", alone, 8)
    for _ in range(10):
        time.sleep(0.01)
        regions.run("burn", alone, 8, 50_000)
        assert set(alone[1:].tolist()) == {threading.get_ident()}
    quick, seen = regions.frame(8), set()
    for _ in range(100):
        regions.run("burn", quick, 8, 50_000)
        regions.run("burn", series, 8, 50_000)
        seen |= set(series[1:].tolist())
    assert len(seen) == 2


# ---- failures


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_the_lowest_chunk_that_fails_is_told(count):
    threads.set_num_threads(count)
    rng = random.Random(count)
    for _ in range(200):
        chunks = rng.randrange(1, 50)
        words = regions.frame(chunks, rng.choice((0, 0, 3000)))
        failing = sorted(rng.sample(range(chunks), rng.randrange(0, min(6, chunks) + 1)))
        words[1:][failing] = np.array(failing, np.int64) + 7
        status, report = regions.run("fail", words, chunks)
        first = failing[0] if failing else chunks
        assert (words[1 : first + 1] == 1000).all()
        if failing:
            assert (status, report) == (first + 7, [first, 0, 0, first + 7])
        else:
            assert status == 0


def test_no_memory_is_a_failure_like_others():
    threads.set_num_threads(4)
    words = regions.frame(10)
    words[5] = -1
    assert regions.run("fail", words, 10)[0] == -1


# ---- cost


def test_a_region_costs_little_and_idle_helpers_nothing():
    threads.set_num_threads(2)
    words = regions.frame(8)
    times = []
    for _ in range(300):
        start = time.perf_counter()
        regions.run("mark", words, 8)
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 100e-6  # with a call through ctypes; 1 us or so on a machine with time
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.4)
    assert time.process_time() - before < 0.05


def test_helpers_compute_as_the_caller_does():
    """Rounding and denormals are modes of a thread; a region has the caller's."""
    library = process.open_library("libm.so.6" if sys.platform == "linux" else None)
    upward = 0x800 if sys.maxsize and os.uname().machine == "x86_64" else 0x400000
    threads.set_num_threads(4)
    nearest, up = regions.frame(100, MILLISECOND), regions.frame(100, MILLISECOND)
    regions.run("third", nearest, 100)
    try:
        assert library.fesetround(upward) == 0
        regions.run("third", up, 100)
    finally:
        library.fesetround(0)
    assert len(set(nearest[1:].tolist())) == len(set(up[1:].tolist())) == 1
    assert up[1] == nearest[1] + 1


# ---- processes


def test_children_of_fork_run_regions():
    assert script("""
        threads.set_num_threads(4)
        assert marked(100, 1000)
        stop = False
        def more():
            while not stop:
                marked(50, 5000)
        busy = threading.Thread(target=more)
        busy.start()
        for _ in range(6):
            child = os.fork()
            if not child:
                assert threads.get_num_threads() == 4
                fine = marked(64, 20000)
                words = regions.frame(64, 2_000_000)
                regions.run("burn", words, 64)
                fine &= len(set(words[1:].tolist())) > 1
                grandchild = os.fork()
                if not grandchild:
                    os._exit(not marked(64, 20000))
                fine &= os.waitpid(grandchild, 0)[1] == 0
                os._exit(not fine)
            assert os.waitpid(child, 0)[1] == 0
            assert marked(64, 1000)
        stop = True
        busy.join()
        print("all well")
    """) == "all well\n"


def test_a_handler_that_forks_inside_a_region():
    assert script("""
        threads.set_num_threads(3)
        def fork(*_):
            global child
            child = os.fork()
        child = None
        assert marked(8, 1000)  # the pool is compiled: the alarm finds the region
        signal.signal(signal.SIGALRM, fork)
        words = regions.frame(200, 2_000_000)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            regions.interruptible("mark", words, 200)
        except RuntimeError as error:
            assert child == 0 and "fork" in str(error)
            os._exit(not marked(64, 1000))
        assert (words[1:] == 1).all()  # a child may have all of it, too: if no helper was at work just then
        if not child:
            os._exit(not marked(64, 1000))
        assert os.waitpid(child, 0)[1] == 0
        print("all well")
    """) == "all well\n"


@pytest.mark.parametrize("daemon", ["False", "True"])
def test_a_process_ends_at_once(daemon):
    assert script(f"""
        threads.set_num_threads(4)
        assert marked(100, 1000)
        if {daemon}:
            def more():
                while True:
                    marked(50, 1000)
            threading.Thread(target=more, daemon=True).start()
            time.sleep(0.05)
        print("done")
    """, timeout=20) == "done\n"


def test_threads_start_with_the_first_region_that_wants_them():
    assert script("""
        def count():
            return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
        before = count()
        threads.symbols()
        assert marked(1)
        regions.run("mark", regions.frame(8), 8, 1000)
        assert count() == before
        threads.set_num_threads(3)
        marked(2)
        assert count() in (1, before + 1)
        marked(8)
        assert count() in (1, before + 2)
        print("few")
    """) == "few\n"


# ---- signals

INTERRUPTED = """
    threads.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else {count})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for _ in range(5):
        words = regions.frame({chunks}, {wait})
        try:
            print("ready", flush=True)
            regions.interruptible({name!r}, words, {chunks})
        except KeyboardInterrupt:
            print(time.monotonic_ns(), flush=True)
    assert marked(100, 1000)
"""


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("name", "chunks", "wait"), [("mark", 100_000, 2 * MILLISECOND), ("poll", 6, MILLISECOND)])
def test_a_long_region_hears_of_an_interrupt_in_time(count, name, chunks, wait):
    text = PRELUDE + textwrap.dedent(INTERRUPTED.format(count=count, name=name, chunks=chunks, wait=wait))
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        late = []
        try:
            for _ in range(5):
                assert child.stdout.readline() == "ready\n"
                time.sleep(0.1)
                sent = time.monotonic_ns()
                child.send_signal(signal.SIGINT)
                late.append(int(child.stdout.readline()) - sent)
            assert child.wait(20) == 0
        finally:
            child.kill()
    assert statistics.median(late) < 500e6  # of 200 s that the longer one takes


def after(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.fixture
def alarm():
    """Put a handler of SIGALRM in place for the test."""
    before = signal.getsignal(signal.SIGALRM)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    after(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_handler_raises_is_raised(count, alarm):
    def handler(*_):
        raise LookupError("from the handler")

    alarm(handler)
    threads.set_num_threads(count)
    after(0.03)
    with pytest.raises(LookupError, match="from the handler") as caught:
        regions.interruptible("mark", regions.frame(10_000, MILLISECOND), 10_000)
    assert caught.traceback[-1].name == "handler"
    words = regions.frame(100)
    assert regions.run("mark", words, 100)[0] == 0 and (words[1:] == 1).all()


@pytest.mark.parametrize("count", [1, 3])
def test_a_handler_that_raises_nothing_changes_nothing(count, alarm):
    calls = []
    inner = regions.frame(16, 1000)

    def handler(*_):
        calls.append(regions.run("mark", inner, 16)[0])
        after(0.005)

    alarm(handler)
    threads.set_num_threads(count)
    words = regions.frame(300, MILLISECOND)
    after(0.005)
    assert regions.run("mark", words, 300)[0] == 0
    after(0)
    assert (words[1:] == 1).all()
    assert calls and not any(calls) and (inner[1:] == len(calls)).all()


class Endless(NativeFunction):
    """A compiled function whose kernel ends when a signal handler raises."""

    def __failed__(self, site, report):
        raise site_error((), site, report)


ENDLESS = """
declare i64 @pullback_poll()
define i64 @k(ptr %x, ptr %y, ptr %report) {
entry:
  br label %again
again:
  %answer = call i64 @pullback_poll()
  %calm = icmp eq i64 %answer, 0
  br i1 %calm, label %again, label %leave
leave:
  ret i64 %answer
}
"""


def test_a_compiled_function_raises_what_the_handler_raised(alarm):
    def handler(*_):
        raise LookupError("from the handler")

    alarm(handler)
    entry = entry_text("f", "k", (ArraySpec("f64", (3,)),), ArrayResult(0, "f64", (3,)), True)
    linked = link(compile_object(ENDLESS + entry.text, 0), {**entry.symbols, **threads.symbols()}, entry.exports)
    function = Endless()
    install(function, linked, entry)
    given = np.zeros(3)
    before = sys.getrefcount(given)
    for call in (lambda: function(given), lambda: raise_failure(linked, given)):
        after(0.03)
        with pytest.raises(LookupError, match="from the handler") as caught:
            call()
        assert caught.traceback[-1].name == "handler"
        del caught
        assert sys.getrefcount(given) == before


def raise_failure(linked, given):
    """What `Kernel.run` does."""
    failure = launcher(2, True)(linked.address("k"), given, np.empty(3))
    assert failure is not None
    raise site_error((), *failure)


def test_who_holds_the_interpreters_lock_is_not_interrupted(alarm):
    came = []
    alarm(lambda *_: came.append(bool((words[1:] == 1).all())))
    words = regions.frame(100, MILLISECOND)
    after(0.01)
    assert regions.run("mark", words, 100, kind=process.python_callable)[0] == 0
    assert came == [True]


def test_other_python_threads_are_not_interrupted(alarm):
    threads.set_num_threads(3)
    alarm(lambda *_: None)
    statuses = []
    callers = [threading.Thread(target=lambda: statuses.append(
        regions.run("mark", regions.frame(200, MILLISECOND), 200)[0])) for _ in range(2)]
    for each in callers:
        each.start()
    after(0.01)
    for each in callers:
        each.join()
    assert statuses == [0, 0]


def test_looking_for_signals_does_not_wait_for_busy_threads_all_the_time(alarm):
    """Where others run Python every look waits for them, so there are few; each runs the handler of one signal."""
    looks = []
    alarm(lambda *_: looks.append(1))
    running, stop = threading.Event(), threading.Event()

    def spin():
        running.set()
        while not stop.is_set():
            pass

    words = regions.frame(300, MILLISECOND)
    threads.set_num_threads(1)
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.02)
    other = threading.Thread(target=spin)
    other.start()
    try:
        running.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        start = time.perf_counter()
        regions.run("mark", words, 300)
        passed = time.perf_counter() - start
    finally:
        after(0)
        stop.set()
        other.join()
        sys.setswitchinterval(before)
    assert 1 <= len(looks) < 4 + passed / 0.05


# ---- how many


def test_the_number_of_threads():
    pullback.set_num_threads(3)
    assert pullback.get_num_threads() == 3
    pullback.set_num_threads(np.int64(2))
    assert pullback.get_num_threads() == 2


@pytest.mark.parametrize("count", [0, -1, 100_000, 1.0, "2", True, None])
def test_a_bad_number_is_refused(count):
    before = pullback.get_num_threads()
    with pytest.raises((TypeError, ValueError), match=r"set_num_threads: count .*(1|two|e\.g\.)"):
        pullback.set_num_threads(count)
    assert pullback.get_num_threads() == before


@pytest.mark.parametrize(("own", "omp", "wanted"), [
    ("3", "7", 3), ("0", "5", 5), ("", "4,2", 4), ("0", "auto", None), ("0", "", None), ("9999", "", 256)])
def test_the_default_comes_from_the_environment(own, omp, wanted, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", omp)
    if own:
        monkeypatch.setenv("PULLBACK_NUM_THREADS", own)
    else:
        monkeypatch.delenv("PULLBACK_NUM_THREADS", raising=False)
    assert threads.default_threads() == (wanted or threads.available_processors())


def test_a_bad_setting_is_refused(monkeypatch):
    monkeypatch.setenv("PULLBACK_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="PULLBACK_NUM_THREADS is 'many'"):
        _ = settings.num_threads


def test_processors_are_those_the_process_may_use(tmp_path):
    assert threads._container_share(tmp_path) == threads.MOST_THREADS
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads._container_share(tmp_path) == threads.MOST_THREADS
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads._container_share(tmp_path) == 2
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("400000\n")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert threads._container_share(tmp_path) == 4
    if hasattr(os, "sched_getaffinity"):
        assert 1 <= threads.available_processors() <= len(os.sched_getaffinity(0))
