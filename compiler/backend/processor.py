"""What LLVM says of the processor this process runs on, and of itself: from it where it is loaded, else from disk.

    cpu_name(), cpu_features(), llvm_version()

A process that finds its code on disk needs nothing of LLVM but these for its keys, and LLVM takes as long to load as
all the rest that such a process does before its first call. What it has said is kept like code, under a key of LLVM's
file and of what the processor says of itself, by the instruction that LLVM would ask: an emulator that has fewer
instructions than the machine below it says so, and files about the machine do not. On other processors LLVM is asked.

Source: Intel's manual, volume 2, CPUID and XGETBV; the leaves are those that LLVM's lib/TargetParser/Host.cpp reads.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from ..later import later
from ..settings import settings
from . import process
from .disk import store

if TYPE_CHECKING:
    import llvmlite.binding as llvm
else:
    llvm = later(None, "llvmlite.binding")

_CPUID = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
"""push rbx; mov r8, rdx; mov eax, edi; mov ecx, esi; cpuid; mov [r8], eax; mov [r8+4], ebx; mov [r8+8], ecx;
mov [r8+12], edx; pop rbx; ret"""

_XGETBV = bytes.fromhex("4989f8 31c9 0f01d0 418900 c3")
"""mov r8, rdi; xor ecx, ecx; xgetbv; mov [r8], eax; ret"""

_FURTHER = 0x80000000
_LEAVES = (
    (0, 0), (1, 0), (7, 0), (7, 1), (0xD, 1), (0x14, 0), (0x19, 0), (0x1E, 1), (0x24, 0), (_FURTHER, 0),
    (_FURTHER + 1, 0), (_FURTHER + 8, 0),
)
"""Leaves and parts of them; the first of each range says which is its last."""

_SAVES = 1 << 27
"""The bit of leaf 1 that says whether the system saves registers, so that it can be asked which."""


class Processor(NamedTuple):
    """A processor in LLVM's spelling, and LLVM's version."""

    name: str
    features: frozenset[str]
    version: str


@functools.cache
def _known() -> Processor:
    """What LLVM says; from disk where it is not loaded and has said it of this processor."""
    key = _key() if settings.cache and "llvmlite.binding" not in sys.modules else None
    found = store.read(key) if key else None
    if found is not None and {*Processor._fields} <= {*found.facts}:
        facts = found.facts
        return Processor(facts["name"], frozenset(facts["features"]), facts["version"])
    features = sorted(name for name, present in llvm.get_host_cpu_features().items() if present)
    version = ".".join(map(str, llvm.llvm_version_info))
    made = Processor(llvm.get_host_cpu_name(), frozenset(features), version)
    if key:
        store.write(key, b"", made._replace(features=features)._asdict())  # type: ignore[arg-type]
    return made


def _key() -> str | None:
    """What LLVM's answers depend on; None if it cannot be told."""
    package = find_spec("llvmlite")
    library = os.path.join(((package and package.submodule_search_locations) or [""])[0], "binding", "libllvmlite.so")
    try:
        status = os.stat(library)
        said = _said()
    except (OSError, MemoryError):
        return None
    parts = ["processor", library, f"{status.st_size} {status.st_mtime_ns}", *map(str, said)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if said else None


def _said() -> list[list[int]]:
    """What the processor says of itself, as far as all its cores say the same; nothing on one of another kind."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return []
    begin, number, found = process.map_memory(process.PAGE_SIZE), ctypes.c_uint32, (ctypes.c_uint32 * 4)()
    process.write_bytes(begin, _CPUID + _XGETBV)
    process.make_code(begin, process.PAGE_SIZE)
    ask = process.python_callable(begin, None, number, number, ctypes.c_void_p)
    said, last = [], _FURTHER
    for leaf, part in _LEAVES:
        if leaf <= last or leaf == _FURTHER:  # behind the last one may stand what is another for each core
            ask(leaf, part, ctypes.addressof(found))
            said.append([leaf, *found])
            last = found[0] if leaf in (0, _FURTHER) else last
    said[1][2] = 0  # the core that was asked
    if said[1][3] & _SAVES:
        process.python_callable(begin + len(_CPUID), None, ctypes.c_void_p)(ctypes.addressof(found))
        said.append([found[0]])
    process.unmap(begin, process.PAGE_SIZE)
    return said


def cpu_name() -> str:
    """LLVM's name of the host's processor."""
    return _known().name


def cpu_features() -> frozenset[str]:
    """The features the host's processor has, in LLVM's spelling."""
    return _known().features


def llvm_version() -> str:
    """The version of LLVM."""
    return _known().version


@functools.cache
def has_fma() -> bool:
    """Whether a multiplication and an addition can be one instruction with one rounding."""
    return "fma" in cpu_features() or platform.machine().lower() in ("aarch64", "arm64")


@functools.cache
def has_masks() -> bool:
    """Whether vectors are chosen from by masks, which take half a multiplication's time and none of its place."""
    return "avx512vl" in cpu_features()


@functools.cache
def vector_bits() -> int:
    """The width of the widest vector registers that have all the operations kernels use."""
    features = cpu_features()
    if {"avx512f", "avx512dq", "avx512vl", "avx512bw"} <= features:
        return 512
    return 256 if "avx" in features else 128


__all__ = ["cpu_features", "cpu_name", "has_fma", "has_masks", "llvm_version", "vector_bits"]
