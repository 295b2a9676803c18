"""Linking by LLVM, for processors whose objects `elf` does not know: an object file goes in, code in memory comes out.

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
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import llvmlite.binding as llvm

from ..machine import target_machine

KERNELS_PER_ENGINE = 32


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

    def link(
        self, objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]
    ) -> tuple[dict[str, int], Callable[[], None]]:
        names = tuple(exports)
        with self.lock:
            self._unload_dropped()
            engine = self._engine
            if engine is None or engine.full:
                engine = self._engine = _Engine()
            tracker = engine.link(objects, symbols, names)
        return {name: tracker[name] for name in names}, partial(self._drop, engine, tracker)

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
os.register_at_fork(
    before=_linker.lock.acquire, after_in_parent=_linker.lock.release, after_in_child=_linker.lock.release)


def link(
    objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]
) -> tuple[dict[str, int], Callable[[], None]]:
    """The addresses of the exports, and what unloads the module; a RuntimeError says why it cannot be linked."""
    return _linker.link(objects, symbols, exports)


__all__ = ["link"]
