"""Linking object files into the process, and unloading them when nobody needs them any more.

An engine (LLVM's LLJIT) of its own would cost every kernel 110 KiB more, and one engine for all
would keep 8 KiB of every dropped kernel for ever. So an engine hosts up to `KERNELS_PER_ENGINE`
modules and closes when the last of them has been dropped.

All engines are touched under one lock. A module is dropped by the garbage collector, which may run
at any moment, also inside `link`: dropping only queues the module, and whoever holds the lock
unloads it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Mapping

import llvmlite.binding as llvm

from .machine import CompilerError, target_machine

KERNELS_PER_ENGINE = 32


class Linked:
    """A module in memory; it stays there as long as this object lives."""

    def __init__(self, addresses: Mapping[str, int]) -> None:
        self._addresses = dict(addresses)
        self._unload: weakref.finalize | None = None

    def address(self, name: str) -> int:
        """The address of an exported function or variable."""
        return self._addresses[name]

    @property
    def exports(self) -> tuple[str, ...]:
        """The names that have addresses."""
        return tuple(self._addresses)

    def close(self) -> None:
        """Unload now. No call may be running in the module, nor any come after."""
        self._addresses.clear()
        if self._unload is not None:
            self._unload()


class _Engine:
    """One LLJIT; it closes when neither a module it hosts nor the linker refers to it."""

    def __init__(self) -> None:
        target_machine()  # starts LLVM's native target, which the engine looks up
        self._jit = llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
        self.hosted = 0

    def link(self, objects: bytes, symbols: Mapping[str, int],
             exports: Iterable[str]) -> llvm.ResourceTracker:
        library = llvm.JITLibraryBuilder().add_object_img(objects)
        for name, address in symbols.items():
            library.import_symbol(name, address)
        for name in exports:
            library.export_symbol(name)
        self.hosted += 1
        return library.link(self._jit, f"module{self.hosted}")

    @property
    def full(self) -> bool:
        return self.hosted >= KERNELS_PER_ENGINE


class _Linker:
    """The engine that takes the next module, the lock, and the modules waiting to be unloaded."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._engine: _Engine | None = None
        self._dropped: deque[tuple[_Engine, llvm.ResourceTracker]] = deque()

    def link(self, objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]) -> Linked:
        names = tuple(exports)
        with self.lock:
            self._unload_dropped()
            engine = self._engine
            if engine is None or engine.full:
                engine = self._engine = _Engine()
            try:
                tracker = engine.link(objects, symbols, names)
            except RuntimeError as error:
                raise CompilerError(
                    "generated code could not be linked. This is a bug in pullback, not in your "
                    f"program: please report it with this message: {error}") from None
        linked = Linked({name: tracker[name] for name in names})
        linked._unload = weakref.finalize(linked, self._drop, engine, tracker)
        linked._unload.atexit = False  # daemon threads may run kernels until the very end
        return linked

    def _drop(self, engine: _Engine, tracker: llvm.ResourceTracker) -> None:
        self._dropped.append((engine, tracker))
        while self._dropped and self.lock.acquire(blocking=False):
            try:
                self._unload_dropped()
            finally:
                self.lock.release()

    def _unload_dropped(self) -> None:
        while self._dropped:
            _, tracker = self._dropped.popleft()  # the engine closes when nothing refers to it
            tracker.close()


_linker = _Linker()


def _before_fork() -> None:
    """Wait until no thread is inside LLVM: the child would inherit its locks and nobody's key."""
    _linker.lock.acquire()
    llvm.ffi.lib._lock.__enter__()


def _after_fork() -> None:
    llvm.ffi.lib._lock.__exit__()
    _linker.lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def link(objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]) -> Linked:
    """Load an object file, its undefined names bound to `symbols`, and look up `exports`."""
    return _linker.link(objects, symbols, exports)
