"""Objects, linking and unloading: what is kept, what is freed, and who may do it at once."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pullback.compiler.backend import machine, process, processor
from pullback.compiler.backend.linking import engines
from pullback.compiler.backend.linking.module import Linked, link
from pullback.compiler.backend.machine import CompilerError, assembly, compile_object

ADD = """
@k.cell = global i64 0
define i64 @k(i64 %x) nounwind {{
  %y = add i64 %x, {constant}
  ret i64 %y
}}
"""


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text is compiled, also one that came lately."""
    monkeypatch.setattr(machine, "KEPT", 0)
    machine.forget()


def kernel(constant: int, level: int = 0) -> Linked:
    return link(compile_object(ADD.format(constant=constant), level), {}, ["k", "k.cell"])


def run(linked: Linked, argument: int) -> int:
    return process.native_callable(linked.address("k"), ctypes.c_int64, ctypes.c_int64)(argument)


def resident_kib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * process.PAGE_SIZE / 1024


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


def script(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_computes_the_same(level: int) -> None:
    linked = kernel(40 + level, level)
    assert run(linked, 2) == 42 + level
    assert machine.target_machine(level) is machine.target_machine(level)


def test_the_processor_is_known() -> None:
    assert processor.cpu_name()
    assert processor.vector_bits() in (128, 256, 512)
    assert (processor.vector_bits() == 128) == ("avx" not in processor.cpu_features())
    assert processor.has_fma() == ("fma" in processor.cpu_features())


def test_wide_vectors_are_not_split() -> None:
    width = processor.vector_bits() // 64
    text = assembly(f"""
define void @f(ptr %x) nounwind {{
  %v = load <{width} x double>, ptr %x, align 8
  %w = fmul <{width} x double> %v, %v
  store <{width} x double> %w, ptr %x, align 8
  ret void
}}""")
    assert text.count("mulpd") == 1


@pytest.mark.parametrize("text", [
    "define i64 @k( { nonsense",
    "define i64 @k() { ret i32 0 }",
    "define i64 @k() { entry: br label %missing }",
    "define i64 @k(i64 %x) { %y = add i64 %z, 1\n %z = add i64 %y, 1\n ret i64 %z }",
])
def test_rejected_text_is_our_error_and_nothing_is_printed(
        text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CompilerError, match="bug in pullback, not in your program: please report"):
        compile_object(text)
    assert capfd.readouterr() == ("", "")
    assert run(kernel(1), 1) == 2


def test_missing_symbols_are_our_error(capfd: pytest.CaptureFixture[str]) -> None:
    text = "declare i64 @nowhere()\ndefine i64 @k() { %x = call i64 @nowhere()\n ret i64 %x }"
    with pytest.raises(CompilerError, match="bug in pullback"):
        link(compile_object(text), {}, ["k"])
    with pytest.raises(CompilerError, match="bug in pullback"):
        link(compile_object(ADD.format(constant=1)), {}, ["k", "absent"])
    assert capfd.readouterr() == ("", "")
    assert run(kernel(1), 1) == 2


def test_symbols_are_bound_wherever_they_are() -> None:
    there = ctypes.c_int64(17)
    text = "@there = external global i64\ndefine i64 @k() { %x = load i64, ptr @there\n ret i64 %x }"
    linked = link(compile_object(text), {"there": ctypes.addressof(there)}, ["k"])
    assert process.native_callable(linked.address("k"), ctypes.c_int64)() == 17


def test_names_may_repeat_in_other_modules() -> None:
    modules = [kernel(constant) for constant in range(100)]
    assert [run(linked, 1000) for linked in modules] == list(range(1000, 1100))
    del modules[::2]
    gc.collect()
    assert [run(linked, 0) for linked in modules] == list(range(1, 100, 2))


def by_llvm(constant: int) -> Linked:
    return Linked(*engines.link(compile_object(ADD.format(constant=constant), 0), {}, ["k", "k.cell"]))


def test_engines_are_closed_with_the_last_of_their_modules() -> None:
    modules = [by_llvm(constant) for constant in range(3 * engines.KERNELS_PER_ENGINE)]
    assert [run(linked, 1) for linked in modules] == [constant + 1 for constant in range(len(modules))]
    kept = {weakref.ref(linked._unload.peek()[1].args[0]) for linked in modules}  # type: ignore
    assert len(kept) in (3, 4)
    modules.clear()
    gc.collect()
    assert sum(engine() is not None for engine in kept) <= 1


def test_closing_by_hand() -> None:
    linked = kernel(1)
    linked.close()
    linked.close()
    with pytest.raises(KeyError):
        linked.address("k")


def test_dropped_kernels_leave_nothing() -> None:
    """2,000 kernels, compiled and dropped one by one, after a warm-up."""
    for constant in range(200):
        kernel(constant)
    gc.collect()
    memory, maps = resident_kib(), mappings()
    for constant in range(2000):
        assert run(kernel(constant), 1) == constant + 1
    gc.collect()
    assert (resident_kib() - memory) / 2000 < 1.0
    assert mappings() - maps < 100


def test_texts_that_came_lately_are_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [ADD.format(constant=constant) for constant in range(4)]
    wanted = [compile_object(text, 0) for text in texts]
    monkeypatch.setattr(machine, "KEPT", len(wanted[0]) * 3)
    calls, generate = [], machine._generate
    monkeypatch.setattr(machine, "_generate", lambda text, *rest: calls.append(text) or generate(text, *rest))
    for k in (0, 1, 2, 0, 1, 2):
        assert compile_object(texts[k], 0) == wanted[k]
    assert calls == texts[:3]
    assert compile_object(texts[3], 0) == wanted[3]  # for which the oldest goes
    assert [compile_object(texts[k], 0) for k in (2, 0)] == [wanted[2], wanted[0]]
    assert calls == [*texts, texts[0]]
    compile_object(texts[2], 1)
    assert calls[-1] == texts[2], "at another level it is another object"
    assert sum(map(len, machine._lately.values())) <= machine.KEPT


def test_live_kernels_are_small() -> None:
    live = [kernel(constant) for constant in range(64)]
    memory = resident_kib()
    live += [kernel(constant) for constant in range(320)]
    assert (resident_kib() - memory) / 320 < 64
    live.clear()
    gc.collect()
    memory = resident_kib()
    live = [kernel(constant) for constant in range(320)]
    assert (resident_kib() - memory) / 320 < 32


def test_eight_threads_link_and_drop_at_once() -> None:
    start = threading.Barrier(8)

    def work(seed: int) -> int:
        start.wait()
        kept = []
        for step in range(40):
            linked = kernel(1000 * seed + step)
            assert run(linked, 1) == 1000 * seed + step + 1
            if step % 3:
                kept.append((linked, 1000 * seed + step))
        return sum(run(linked, 5) == constant + 5 for linked, constant in kept)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [26] * 8
    finally:
        sys.setswitchinterval(interval)


def test_dropping_inside_the_linker_does_not_wait_for_itself() -> None:
    linked = by_llvm(1)
    with engines._linker.lock:
        del linked
        gc.collect()
    assert run(by_llvm(2), 2) == 4
    assert not engines._linker._dropped


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_fork_can_compile_while_threads_of_its_parent_do() -> None:
    stop = threading.Event()

    def compile_on() -> None:
        while not stop.is_set():
            kernel(3)

    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        old = kernel(7)
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if run(old, 1) == 8 and run(kernel(9), 1) == 10 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_the_process_ends_well_with_live_kernels() -> None:
    done = script("""
import atexit, ctypes
from pullback.compiler.backend.machine import compile_object
from pullback.compiler.backend.linking.module import link
linked = link(compile_object("define i64 @k() { ret i64 3 }"), {}, ["k"])
k = ctypes.CFUNCTYPE(ctypes.c_int64)(linked.address("k"))
atexit.register(lambda: print(k()))
class Late:
    def __del__(self, k=k):
        print(k() + 1)
late = Late()
late.itself = late
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n4\n", "")


def test_importing_starts_nothing() -> None:
    done = script("""
import os, signal, threading
before = len(os.listdir("/proc/self/fd")), signal.getsignal(signal.SIGINT)
from pullback.compiler.backend.linking import module
from pullback.compiler.backend.entries import native
after = len(os.listdir("/proc/self/fd")), signal.getsignal(signal.SIGINT)
assert before == after and threading.active_count() == 1
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_interpreter_and_the_allocator_have_addresses() -> None:
    assert process.interpreter_symbol("PyFloat_Type") == id(float)
    symbols = process.allocator_symbols()
    take = process.native_callable(symbols["malloc"], ctypes.c_void_p, ctypes.c_size_t)
    give = process.native_callable(symbols["free"], None, ctypes.c_void_p)
    block = take(64)
    assert block
    give(block)
    with pytest.raises(ValueError, match="no_such_function"):
        process.interpreter_symbol("no_such_function")
    with pytest.raises(OSError, match="no-such-library"):
        process.open_library("no-such-library.so")
