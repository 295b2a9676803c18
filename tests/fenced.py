"""Kernels between pages that cannot be read or written: a vector beyond an argument, a result or the arena ends here.

    python -m tests.fenced 512 chunks       runs every function of the corpus so, with the thresholds of "chunks"
    python -m tests.fenced 512 -avx512f     the same as on a processor without AVX-512, where LLVM halves the vectors
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pytest import MonkeyPatch

from pullback import set_num_threads
from pullback.compiler.backend import machine, process
from pullback.compiler.backend.code import library_symbols
from pullback.compiler.backend.emit import program as emit
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.settings import settings
from tests.corpus import CASES
from tests.test_same_bits import THRESHOLDS, bits, derived, traced

_libc = ctypes.CDLL(None)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_PAGE = mmap.PAGESIZE
_blocks: dict[int, mmap.mmap] = {}


class Fenced:
    """Room for `size` bytes with a page on each side that nobody may touch; it begins or ends at one of them."""

    def __init__(self, size: int, at_end: bool) -> None:
        self.pages = max(-(-size // _PAGE), 1)
        self.room = mmap.mmap(-1, (self.pages + 2) * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.room))
        for fence in (start, start + (self.pages + 1) * _PAGE):
            assert _libc.mprotect(fence, _PAGE, 0) == 0
        self.offset = (self.pages + 1) * _PAGE - size if at_end else _PAGE
        self.address = start + self.offset


_keep: list[mmap.mmap] = []


def array(values: np.ndarray, at_end: bool) -> np.ndarray:
    """A copy of an array between fences."""
    block = Fenced(values.nbytes, at_end)
    _keep.append(block.room)
    made = np.frombuffer(block.room, values.dtype, values.size, block.offset).reshape(values.shape)
    made[...] = values
    return made


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
def _malloc(size: int) -> int:
    """Memory for an arena: it takes 8 bytes before a multiple of 64, and 120 bytes more than it uses."""
    block = Fenced(size - 120, True)
    _blocks[block.address] = block.room
    return block.address


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _free(address: int) -> None:
    """It is kept until the end: nobody may touch it again, which nobody checks."""


def main(width: int, thresholds: Sequence[str]) -> None:
    """Run the corpus, and compare with the same kernels on ordinary memory."""
    patch = MonkeyPatch()
    if "-avx512f" in thresholds:
        features = machine._feature_text
        patch.setattr(machine, "_feature_text", lambda: f"{features()},-avx512f")
    for name in set(thresholds) & set(THRESHOLDS):
        for lower in THRESHOLDS[name]:
            lower(patch.setattr)
    patch.setattr(emit, "ON_STACK", 0)
    symbols = process.allocator_symbols()
    places = {"malloc": ctypes.cast(_malloc, ctypes.c_void_p).value, "free": ctypes.cast(_free, ctypes.c_void_p).value}
    set_num_threads(1)
    options: dict[str, Any] = {"vector_bits": width, "level": 0}
    with TemporaryDirectory() as kept, settings.override(**options, cache=True, cache_dir=kept):
        run(symbols, places)  # the code of both kernels of a function is the same, bound to other functions of C
    print(f"inside: {len(_blocks)} arenas")


def run(symbols: dict[str, int], places: dict[str, Any]) -> None:
    """Run each function on ordinary memory, then on arrays that begin and on arrays that end at a fence."""
    for name, written in CASES.items():
        graph, args = derived(*traced(written), min(written.orders, 1))
        want = compile_graph(graph).run(args)
        with MonkeyPatch.context() as inner:
            inner.setattr(process, "allocator_symbols", lambda: {**symbols, **places})
            library_symbols.cache_clear()
            kernel = compile_graph(graph)
        library_symbols.cache_clear()
        print(name, flush=True)
        for at_end in (False, True):
            given = [array(a, at_end) for a in args]
            into = {k: array(np.zeros_like(w), at_end) for k, w in enumerate(want)}
            assert bits(kernel.run(given, into)) == bits(want), name
            del given, into


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
