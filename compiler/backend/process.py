"""Calls into the operating system and into the interpreter's C library; no other file makes any.

A port to another system starts here.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

PAGE_SIZE: int = mmap.PAGESIZE

_ALLOCATOR = ("malloc", "calloc", "realloc", "free", "aligned_alloc", "malloc_usable_size", "memset", "memcpy",
              "memmove", "memcmp")


def open_library(path: str | None = None) -> ctypes.CDLL:
    """The shared library at `path`, or the running process; an OSError says why it cannot be."""
    return ctypes.CDLL(path)


def library_symbol(library: ctypes.CDLL, name: str) -> int:
    """The address of a function or variable of a library; a ValueError names a missing one."""
    return ctypes.addressof(ctypes.c_char.in_dll(library, name))


def interpreter_symbol(name: str) -> int:
    """The address of a function or variable of the interpreter's C interface."""
    return library_symbol(ctypes.pythonapi, name)


def allocator_symbols() -> dict[str, int]:
    """The addresses of the C library's memory functions, by name."""
    library = open_library()
    return {name: library_symbol(library, name) for name in _ALLOCATOR}


def python_callable(address: int, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Native code as a callable that holds the interpreter's lock and may set an exception."""
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


def native_callable(address: int, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Native code as a callable that runs without the interpreter's lock."""
    return ctypes.CFUNCTYPE(result, *arguments)(address)


class Callback(NamedTuple):
    """A Python function of words as a C function; it has its address as long as this lives."""

    address: int
    keep: Any


def callback(function: Callable[..., int], words: int) -> Callback:
    """A function that native code can call, from any thread: it takes the interpreter's lock."""
    made = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * words)(function)
    return Callback(ctypes.cast(made, ctypes.c_void_p).value or 0, made)


def read_words(address: int, count: int) -> list[int]:
    """64-bit words in memory."""
    return list((ctypes.c_uint64 * count).from_address(address))


def read_bytes(address: int, size: int) -> bytes:
    """A copy of memory."""
    return ctypes.string_at(address, size)


def memory(address: int, size: int) -> memoryview:
    """Memory of our own, to read and to write."""
    return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")


def map_memory(size: int) -> int:
    """The address of new pages of zeros, to read and to write."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)
    found = _pages().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if found in (None, ctypes.c_void_p(-1).value):
        raise MemoryError(f"there are no pages for {size:,} bytes of compiled code")
    return found


def make_code(address: int, size: int) -> None:
    """Let pages be read and run, and written no more."""
    if _pages().mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise MemoryError("this system does not let a process run code that it has made in memory")


def unmap(address: int, size: int) -> None:
    """Give pages back."""
    _pages().munmap(address, size)


@functools.cache
def _pages() -> ctypes.CDLL:
    """The functions of the C library that deal with pages."""
    library = ctypes.PyDLL(None)
    word, number = ctypes.c_void_p, ctypes.c_int
    library.mmap.restype, library.mmap.argtypes = word, [word, ctypes.c_size_t, number, number, number, ctypes.c_long]
    library.mprotect.argtypes = [word, ctypes.c_size_t, number]
    library.munmap.argtypes = [word, ctypes.c_size_t]
    return library


def read_word(address: int) -> int:
    """The 64-bit word at an address."""
    return ctypes.c_uint64.from_address(address).value


def take_word(address: int) -> int:
    """The 64-bit word at an address, which becomes 0."""
    word = ctypes.c_uint64.from_address(address)
    found, word.value = word.value, 0
    return found


def free(block: int) -> None:
    """Free memory that malloc gave."""
    python_callable(allocator_symbols()["free"], None, ctypes.c_void_p)(block)


def write_bytes(address: int, data: bytes) -> None:
    """Put bytes into memory of our own."""
    ctypes.memmove(address, data, len(data))


def write_words(address: int, words: Sequence[int]) -> None:
    """Put 64-bit words into memory of our own."""
    (ctypes.c_uint64 * len(words)).from_address(address)[:] = list(words)


def write_word(address: int, word: int) -> None:
    """Store a 64-bit word, aligned, so that others see the old one or the new one."""
    ctypes.c_uint64.from_address(address).value = word


_semaphores: list[ctypes.Array] = []


def semaphore() -> int:
    """The address of a new semaphore, which stays for ever."""
    _semaphores.append((ctypes.c_uint64 * 8)())
    address = ctypes.addressof(_semaphores[-1])
    reset(address)
    return address


def reset(semaphore: int) -> None:
    """Let a semaphore be as new; nobody may be waiting for it."""
    ctypes.pythonapi.sem_init(ctypes.c_void_p(semaphore), 0, 0)


def post(semaphore: int) -> None:
    """Let one who waits go on."""
    ctypes.pythonapi.sem_post(ctypes.c_void_p(semaphore))


def wait(semaphore: int) -> None:
    """Wait, without the interpreter's lock, for a `post`, or for a signal to this thread."""
    _waiting().sem_wait(ctypes.c_void_p(semaphore))


@functools.cache
def _waiting() -> ctypes.CDLL:
    return open_library()


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from looking at what is being made: a compilation makes objects by the ten thousand,
    which live until its end and form no cycles, and half of its time went into finding that out."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
