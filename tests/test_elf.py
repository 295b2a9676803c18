"""Objects put into memory: every kind of relocation, what is near and far, and what cannot be linked."""

from __future__ import annotations

import ctypes
import os
import platform
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend import process, processor
from pullback.compiler.backend.linking import elf, engines
from pullback.compiler.backend.linking.module import link
from pullback.compiler.backend.machine import CompilerError, compile_object

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="objects of x86-64")


def called(address: int, *arguments: int) -> int:
    word = ctypes.c_int64
    return process.native_callable(address, word, *[word] * len(arguments))(*arguments)


TEXT = """
@there = external global i64
@here = global i64 5
@hidden = internal global i64 7
@zeros = internal global [100 x i64] zeroinitializer, align 64
@pointers = global [4 x ptr] [ptr @here, ptr @there, ptr @twice, ptr getelementptr (i8, ptr @text, i64 3)]
@text = private unnamed_addr constant [6 x i8] c"abcde\\00"
declare i64 @outside(i64)
define i64 @twice(i64 %x) nounwind noinline {
  %y = add i64 %x, %x
  ret i64 %y
}
define i64 @globals(i64 %x) nounwind {
  %a = load i64, ptr @there
  %b = load i64, ptr @here
  %c = load i64, ptr @hidden
  %slot = getelementptr [100 x i64], ptr @zeros, i64 0, i64 %x
  %d = load i64, ptr %slot
  store i64 %x, ptr %slot
  %e = add i64 %a, %b
  %f = add i64 %c, %d
  %g = add i64 %e, %f
  ret i64 %g
}
define i64 @calls(i64 %x) nounwind {
  %a = call i64 @twice(i64 %x)
  %b = call i64 @outside(i64 %a)
  ret i64 %b
}
define ptr @address() nounwind {
  ret ptr @outside
}
define i64 @letter(i64 %k) nounwind {
  %p = getelementptr i8, ptr @text, i64 %k
  %c = load i8, ptr %p
  %w = zext i8 %c to i64
  ret i64 %w
}
define i64 @chosen(i64 %x) nounwind {
  switch i64 %x, label %other [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e
                                i64 5, label %f i64 6, label %g i64 7, label %h ]
a: ret i64 12
b: ret i64 902
c: ret i64 7
d: ret i64 -5
e: ret i64 33
f: ret i64 1
g: ret i64 78
h: ret i64 64
other: ret i64 0
}
define double @scaled(double %x) nounwind {
  %y = fmul double %x, 3.25
  %z = fadd double %y, 0.1
  ret double %z
}
"""
NAMES = ("globals", "calls", "address", "letter", "chosen", "scaled", "here", "pointers", "twice")


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("level", [0, 2])
def test_every_reference_is_bound(level: int, far: bool) -> None:
    """What is outside is near where the system has put our pages, or far from everything."""
    objects = compile_object(TEXT, level)
    assert elf.is_ours(objects)
    pages = [distant(4096)] if far else [process.map_memory(4096)]
    there = pages[0]
    process.write_words(there, [11])
    outside = there + 64
    process.write_bytes(outside, b"\x48\x8d\x47\x01\xc3")  # rdi + 1
    process.make_code(there, 4096)
    linked = link(objects, {"there": there, "outside": outside}, NAMES)
    at = linked.address
    assert [called(at("globals"), 3) for _ in range(2)] == [23, 26]
    process.write_word(at("here"), 6)
    assert called(at("globals"), 4) == 24
    assert called(at("calls"), 20) == 41
    assert called(at("address")) == outside
    assert bytes(called(at("letter"), k) for k in range(5)) == b"abcde"
    assert [called(at("chosen"), k) for k in (*range(9), -1)] == [12, 902, 7, -5, 33, 1, 78, 64, 0, 0]
    number = process.native_callable(at("scaled"), ctypes.c_double, ctypes.c_double)
    assert number(2.0) == 2.0 * 3.25 + 0.1
    here, other, twice, letter = process.read_words(at("pointers"), 4)
    assert (here, other, twice) == (at("here"), there, at("twice")) and process.read_bytes(letter, 2) == b"de"
    process.unmap(there, 4096)


def distant(size: int) -> int:
    """Pages that lie far from where the system puts them by itself."""
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    wanted = 0x10_0000_0000
    found = library.mmap(ctypes.c_void_p(wanted), ctypes.c_size_t(size), 3, 0x100022, -1, ctypes.c_long(0))
    assert found == wanted
    return found


def test_code_is_not_written_to_and_variables_are_not_run() -> None:
    linked = link(compile_object(TEXT), {"there": id(None), "outside": id(None)}, NAMES)

    def rights(address: int) -> str:
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            first, last = (int(each, 16) for each in line.split()[0].split("-"))
            if first <= address < last:
                return line.split()[1]
        return ""

    assert rights(linked.address("calls")) == "r-xp"
    assert rights(linked.address("here")) == "rw-p"
    address = linked.address("calls")
    linked.close()
    assert not rights(address).startswith("r-x")


def test_alignment_is_kept() -> None:
    text = "".join(f"@v{k} = global [3 x i64] zeroinitializer, align {1 << k}\n" for k in range(3, 8))
    text += "@c = constant [64 x i8] zeroinitializer, align 64\ndefine ptr @f() {\n ret ptr @c\n}\n"
    linked = link(compile_object(text), {}, [*[f"v{k}" for k in range(3, 8)], "c", "f"])
    assert all(linked.address(f"v{k}") % (1 << k) == 0 for k in range(3, 8))
    assert linked.address("c") % 64 == 0 and called(linked.address("f")) == linked.address("c")


@pytest.mark.parametrize("level", [0, 2])
def test_it_does_what_llvms_linker_does(level: int) -> None:
    """Long functions with as many constants: the same bits from both."""
    draw = random.Random(level)
    lines, names = ["declare double @sin(double)", "define double @f(double %x) nounwind {"], ["%x"]
    for k in range(2000):
        a, b = draw.choice(names[-9:]), draw.choice(names[-9:])
        number = draw.random()
        made = draw.choice([f"fadd double {a}, {number!r}", f"fmul double {a}, {b}", f"call double @sin(double {a})"])
        lines.append(f"  %v{k} = {made}")
        names.append(f"%v{k}")
    objects = compile_object("\n".join([*lines, f"  ret double {names[-1]}", "}"]), level)
    sine = {"sin": process.library_symbol(process.open_library("libm.so.6"), "sin")}
    addresses, unload = engines.link(objects, sine, ["f"])
    both = [addresses["f"], (ours := link(objects, sine, ["f"])).address("f")]
    first, second = (process.native_callable(each, ctypes.c_double, ctypes.c_double) for each in both)
    for x in np.linspace(-2, 2, 41):
        assert np.float64(first(x)).tobytes() == np.float64(second(x)).tobytes()
    unload()
    ours.close()


def test_what_cannot_be_linked() -> None:
    objects = compile_object(TEXT)
    with pytest.raises(CompilerError, match="symbols not found: there"):
        link(objects, {"outside": 1}, [])
    with pytest.raises(CompilerError, match="symbols not found: absent"):
        link(objects, {"there": 1, "outside": 1}, ["absent"])
    with pytest.raises(CompilerError, match="symbols not found: there"):
        link(objects, {"there": 1, "outside": 1}, ["there"])


def test_what_only_llvm_knows_is_linked_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    local = "@t = thread_local global i64 0\ndefine ptr @f() {\n ret ptr @t\n}\n"
    with pytest.raises(elf.Unlinkable, match="relocations of the kind 19"):
        elf.load(compile_object(local), {}, ["f"])
    monkeypatch.setattr(elf, "_KINDS", np.zeros_like(elf._KINDS))
    sine = {"sin": process.library_symbol(process.open_library("libm.so.6"), "sin")}
    body = " %y = call double @sin(double %x)\n ret double %y\n"
    text = f"declare double @sin(double)\ndefine double @f(double %x) {{\n{body}}}\n"
    made = link(compile_object(text), sine, ["f"])
    assert process.native_callable(made.address("f"), ctypes.c_double, ctypes.c_double)(0.5) == np.sin(0.5)
    made.close()


def test_objects_of_other_machines_are_llvms() -> None:
    assert not elf.is_ours(b"")
    assert not elf.is_ours(b"\x7fELF")
    objects = bytearray(compile_object(TEXT))
    objects[18] = 183
    assert not elf.is_ours(bytes(objects))


# ---- LLVM is not loaded where nothing is compiled

PROGRAM = """
import sys
import numpy as np
from pullback import grad, value_and_grad
f = value_and_grad(lambda w, x: np.sum(np.tanh(x @ w)))
for _ in range(3):
    value, slope = f(np.linspace(0, 1, 12).reshape(4, 3), np.ones((5, 4)))
print(value, slope.tobytes().hex(), "llvmlite" in sys.modules)
"""


def ran(**environment: Any) -> list[str]:
    given = os.environ | {"PULLBACK_CACHE": "1", **environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=given, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_process_that_finds_its_code_does_not_load_llvm(tmp_path: Path) -> None:
    kept = {"PULLBACK_CACHE_DIR": str(tmp_path / "kept")}
    first, second = ran(**kept), ran(**kept)
    assert first[:2] == second[:2] and [first[2], second[2]] == ["True", "False"]
    assert ran(**kept, PULLBACK_LEVEL="1")[:2] == first[:2]


def test_what_llvm_says_of_the_processor_is_that_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulator that has fewer instructions is another processor."""
    first, said = processor._key(), processor._said()
    assert first is not None and first == processor._key()
    fewer = [[*each] for each in said]
    fewer[2][2] &= ~(1 << 16)
    monkeypatch.setattr(processor, "_said", lambda: fewer)
    assert processor._key() not in (None, first)
    monkeypatch.setattr(processor, "_said", list)
    assert processor._key() is None
    before = processor._known()
    processor._known.cache_clear()
    assert processor._known() == before and before.features


@pytest.mark.parametrize("core", sorted(os.sched_getaffinity(0))[:4])
def test_every_core_says_the_same(core: int) -> None:
    allowed, said = os.sched_getaffinity(0), processor._said()
    os.sched_setaffinity(0, {core})
    try:
        assert processor._said() == said
    finally:
        os.sched_setaffinity(0, allowed)
