"""The machine code of a kernel: where it comes from, what lies beside it, and which of its tiers runs."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from .. import watch
from ..locks import cached_property, reentrant_lock
from ..ops.external import Numbered, remade
from ..settings import settings
from . import gemm, process, threads, tiers
from .disk import cache, store
from .libraries import blas, lapack
from .linking import external
from .linking.module import Linked, link
from .machine import compile_aside, compile_object


class Facts(NamedTuple):
    """What must be known of a kernel before it is loaded; it is kept with its code on disk.

    long    a call takes long enough to let other threads run Python
    arena   bytes that it keeps between calls
    calls   the libraries of functions that it calls
    aliases (k, j) where result k may be the memory of input j
    recipes of the functions of Python that it calls
    """

    long: bool
    arena: int
    calls: Sequence[str] = ()
    aliases: Sequence[Sequence[int]] = ()
    recipes: Sequence[str] = ()


class Beside(NamedTuple):
    """Text for the module of a kernel or one of its own, what it refers to, and what it exports.

    `next` is the text for a process that finds the better code on disk, and begins with it.
    """

    text: str = ""
    symbols: Mapping[str, int] = MappingProxyType({})
    exports: tuple[str, ...] = ()
    next: str = ""


_BETTER = "better"
"""What the code of level `tiers.BETTER` is called on disk, whether a thread made it or a setting asked for it."""


class Code:
    """The code of the kernel `name`, a function of `count` pointers.

    plan       makes the plan of its tiers, and `make` the facts and the LLVM text; not called if the code is on disk
    key        makes what the code depends on; None, for it or from it, to leave the disk alone
    level      that of the code that runs now
    cached     what came from disk
    problem    why there is no better code, if making it failed
    """

    def __init__(
        self, name: str, count: int, plan: Callable[[], tiers.Plan], times: watch.Times,
        make: Callable[[], tuple[Facts, str]], key: Callable[[], tuple[str | bytes, ...] | None] | None,
    ) -> None:
        self.name, self.count, self.times = name, count, times
        self.level = self.calls = 0
        self._plan, self._make = plan, make
        parts = None if key is None else key()
        self._key = None if parts is None else cache.key_of(*parts)
        self._kept = self._key is not None
        self._first = _BETTER if settings.level == tiers.BETTER else f"first, of {settings.level}"
        self.cached: list[str] = []
        self.problem = self._next = ""
        self._stored: store.Stored | None = None
        self._functions: list[Numbered | None] = []
        self._linked: list[Linked] = []
        self._lock = reentrant_lock()

    @property
    def tiered(self) -> bool:
        """Whether the kernel is entered through a cell."""
        return self.calls > 0

    # ---- making

    def find(self) -> None:
        """Look for the code on disk, the better one first of all; if it is not there, make its text."""
        if self._kept:
            with self._timed("cache"):
                self._stored = self._read(_BETTER) if settings.level is None else None
                self._stored = self._stored or self._read(self._first)
        if self._kept:
            watch.log("cache", self.name, "found on disk" if self._stored is not None else "not found on disk")
        if self._stored is None:
            self.level, self.calls = self._plan()
            self._made  # noqa: B018 - it is made by asking for it
        else:
            self.level, self.calls = map(int, self._stored.facts["plan"])

    def _read(self, which: str) -> store.Stored | None:
        found = store.read(self._place(which))
        if found is None or not {*Facts._fields, "plan"} < set(found.facts):
            return None
        self._functions = [*map(remade, found.facts["recipes"])]
        return None if None in self._functions else found

    @cached_property
    def _made(self) -> tuple[Facts, str]:
        return self._make()

    @cached_property
    def facts(self) -> Facts:
        """What is known of the kernel before it is loaded."""
        if self._stored is None:
            return self._made[0]
        return Facts(**{name: self._stored.facts[name] for name in Facts._fields})

    def _place(self, which: str) -> str:
        assert self._key is not None
        return cache.key_of(which, self._key)

    def _timed(self, stage: str) -> watch.timed:
        return watch.timed(stage, self.name, self.times)

    # ---- loading

    def load(self, beside: Beside | None = None) -> Linked:
        """The code in memory, or what lies beside it: in one module if that saves one, for level 0 suits both."""
        with self._lock:
            if not self._linked and (beside is None or self.level == 0):
                return self._load(beside or Beside())
            if beside is None:
                return self._linked[0]
            if not self._linked:
                self._load(Beside())
            return self._load_apart(beside)

    def _load(self, beside: Beside) -> Linked:
        more = (tiers.text(self.name, self.count, self.calls) if self.tiered else "") + beside.text
        self._next = self._declaration(False) + beside.next if self.tiered and beside.next else ""
        objects = self._from_disk(more)
        if objects is None:
            text = self._made[1]
            with self._timed("codegen"):
                objects = compile_object(text + more, self.level)
            self._write(self._first, objects, more)
        symbols = (tiers.symbols() if self.tiered else {}) | dict(beside.symbols)
        exports = (*(tiers.names(self.name) if self.tiered else ()), *beside.exports)
        linked = self._link(objects, symbols, exports)
        if self.tiered:
            tiers.watch(self)
        return linked

    def _from_disk(self, more: str) -> bytes | None:
        """The object on disk that was made with the same text beside it, if there is one."""
        found, beside = self._stored, _hash(more)
        if found is not None and found.facts["beside"] != beside:  # another entry's
            with self._timed("cache"):
                found = self._read(self._apart(beside))
        if found is None or found.facts["beside"] != beside:
            return None
        self.cached.append(f"level {self.level}")
        return found.objects

    def _apart(self, beside: str) -> str:
        """Where the first code is kept with other text beside it than what came first: each entry has its own."""
        return f"{self._first} beside {beside}"

    def _write(self, which: str, objects: bytes, more: str) -> None:
        if self._kept:
            plan, beside = (tiers.BETTER, 0) if which == _BETTER else (self.level, self.calls), _hash(more)
            facts = {**self.facts._asdict(), "plan": plan, "beside": beside}
            if which == self._first and self._stored is not None:
                which = self._apart(beside)
            with self._timed("cache"):
                store.write(self._place(which), objects, facts)

    def _link(self, objects: bytes, symbols: Mapping[str, int], exports: Sequence[str]) -> Linked:
        arena = f"{self.name}.arena" if self.facts.arena else ""
        with self._timed("link"):
            found = {**library_symbols(*self.facts.calls), **symbols}
            linked = link(objects, found, [self.name, *([arena] if arena else []), *exports])
        if arena:
            weakref.finalize(self, _free_arena, linked.address(arena), linked).atexit = False
        self._linked.append(linked)
        return linked

    def _load_apart(self, beside: Beside) -> Linked:
        text = self._declaration(self.tiered) + beside.text
        name = f"{self.name}.code" if self.tiered else self.name
        with self._timed("codegen"):
            objects = cache.kept_object(text) if self._kept else compile_object(text, 0)
        with self._timed("link"):
            return link(objects, {name: self._linked[0].address(name), **beside.symbols}, beside.exports)

    def _declaration(self, tiered: bool) -> str:
        """What text in another module must know of the kernel."""
        if tiered:
            return f"@{self.name}.code = external global ptr\n"
        return f"declare i64 @{self.name}({', '.join(['ptr'] * self.count)})\n"

    def call_text(self, given: str, tiered: bool | None = None) -> str:
        """Instructions that call the kernel, for text beside it: %status is what it returns."""
        if self.tiered if tiered is None else tiered:
            return f"  %code = load ptr, ptr @{self.name}.code\n  %status = call i64 %code({given})"
        return f"  %status = call i64 @{self.name}({given})"

    def address(self) -> int:
        """Where the kernel is entered, for as long as this object lives."""
        return self.load().address(f"{self.name}.call" if self.tiered else self.name)

    # ---- better code

    def is_hot(self) -> bool:
        """Whether better code is worth making."""
        return process.read_word(self._linked[0].address(f"{self.name}.hot")) != 0

    def upgrade(self) -> None:
        """Make better code, and let calls from now on run it. This is called by the thread of `tiers`."""
        try:
            linked = self._link(self._better(), {}, ())
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
            return
        first = self._linked[0]
        process.write_word(first.address(f"{self.name}.code"), linked.address(self.name))
        self.level = tiers.BETTER
        if self.facts.arena:
            _free_arena(first.address(f"{self.name}.arena"), first)

    def _better(self) -> bytes:
        found = store.read(self._place(_BETTER)) if self._kept else None
        if found is not None:
            self.cached.append(f"level {tiers.BETTER}")
            return found.objects
        text = self._made[1]
        with self._timed("codegen in the background"):
            objects = compile_aside(text, tiers.BETTER, tiers.busy)
        self._write(_BETTER, objects, "")
        if self._kept and self._next:
            cache.kept_object(self._next)
        return objects


@functools.cache
def library_symbols(*calls: str) -> dict[str, int]:
    """The functions of the C and mathematical libraries that kernels call, and of those named."""
    found = dict(process.allocator_symbols())
    for name in calls:
        if name == "threads":
            found |= threads.symbols()
        elif name == "blas":
            found |= blas.symbols()
        elif name == "external":
            found |= external.symbols()
        elif name == "lapack":
            found |= lapack.symbols()
        else:
            found |= gemm.symbols(name.removeprefix("gemm "))
    library = process.open_library()
    for name in ("sin", "cos", "sinf", "cosf", "tan", "tanf", "fma", "fmaf", "fmod", "fmodf"):
        found[name] = process.library_symbol(library, name)
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _free_arena(memory: int, linked: Linked) -> None:
    """Free what a kernel kept between calls; `linked` is here so that it is still in memory."""
    block = process.take_word(memory)
    if block:
        process.free(block)


__all__ = ["Beside", "Code", "Facts", "library_symbols"]
