"""Which functions are being traced in this thread, and what each has met so far.

A `Tracing` owns the builder of one function. Arrays that the function meets beside its arguments are never
built in: each becomes one more parameter, and so does every value of an enclosing trace.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np

from ..ir.graph import Builder, Value, Where
from ..ir.primitive import Effect
from ..ir.types import KNOWN, TRACED, type_of
from ..ops.complex.complexes import complex_
from .errors import NeedsValues, TooManyOperations, TraceError, message
from .sizes import Sizes, plain

MOST = 1_000_000
"""Operations above which a function is not traced: it is a loop that was not seen to be one, or a recursion."""

UNMASKED = "take np.where(mask, 0.0, x) and divide sums by np.sum(~mask); m.data and m.filled(value) are plain arrays"
PLAIN = "take np.asarray(m), with @ where * was a product"
"""What to do in place of masked arrays and of matrices."""


class Tracing:
    """One function being traced.

    extras    what the parameters after the arguments stand for: ndarrays, or values of enclosing traces
    refusal   the latest error of ours, which NumPy may have replaced by one of its own
    sizes     the sizes that are known by name, if there are any
    athand    the numbers behind the values, where a function is traced for those of one call
    frozen    what it holds for, where it may hold for some calls only; None where it must hold for all
    stores    whether memory that it makes is to take traced numbers
    locate    gives the user's line where his code is walked, not run: there is no frame of it to be seen
    notes     what is worth telling of how it was traced
    most      the most operations that it may have
    broken    a refusal that ends it, also where the function has caught it
    lines     of the functions that its operations come from, by the address of their code
    """

    __slots__ = (
        "builder", "name", "where", "alive", "extras", "refusal", "sizes", "athand", "frozen", "stores", "locate",
        "notes", "most", "broken", "lines", "_known", "_parts",
    )

    def __init__(self, name: str, where: Where | None = None, sizes: Sizes | None = None) -> None:
        self.builder, self.name, self.where = Builder(name), name, where
        self.alive, self.sizes = True, sizes
        self.athand: Any = None
        self.frozen: list[Any] | None = None
        self.stores = False
        self.locate: Callable[[], Where] | None = None
        self.notes: list[str] = []
        self.most = MOST
        self.broken: Exception | None = None
        self.lines: dict[int, _Lines] = _stack.active[-1].lines if _stack.active else {}
        self.extras: list[tuple[Value, Any]] = []
        self.refusal: tuple[Where | None, Exception] | None = None
        self._known: dict[Any, Value] = {}
        self._parts: dict[Any, tuple[Any, Any]] = {}  # of complex ones, which are made of them wherever they are read

    def emit(self, prim: Any, *values: Value, **attrs: Any) -> Value:
        """Emit a primitive with one result, stamped with the user's line."""
        self.builder.where = user_line()
        if len(self.builder.body) > self.most:
            raise self._too_long()
        if self.sizes is not None:
            attrs = {name: plain(each) for name, each in attrs.items()}
        made = self.builder.emit(prim, *values, **attrs)[0]
        if self.athand is not None and prim.effect is not Effect.PURE:
            return self.athand.watched(made)
        return made

    def _too_long(self) -> TraceError:
        """What to raise when there are too many operations."""
        if self.most < MOST:
            return NeedsValues(message("a loop would be unrolled into many operations", self.builder.where))
        fix = "let the loop be one: `for` over range(n) or an array, pullback.fori_loop, scan or while_loop"
        return TooManyOperations(message(f"{self.name!r} takes more than {MOST:,} operations", self.builder.where, fix))

    def array(self, given: np.ndarray) -> Value:
        """The parameter that stands for an array which is no argument."""
        value = self._known.get(id(given))
        if value is None:
            check_dtype(given)
            if given.dtype.kind == "c":
                parts = self._parts.setdefault(id(given), (np.real(given), np.imag(given)))
                return self.emit(complex_, *map(self.array, parts))
            value = self._extra(id(given), type_of(given), given)
        return value

    def outer(self, array: Any) -> Value:
        """The parameter that stands for a value of an enclosing trace."""
        value = self._known.get(array.value)
        if value is None and array.value.type.is_complex:
            parts = self._parts.get(array.value)
            if parts is None:
                parts = self._parts[array.value] = array.parts
            return self.emit(complex_, *map(self.outer, parts))
        return value or self._extra(array.value, array.value.type, array)

    def _extra(self, key: Any, type: Any, given: Any) -> Value:
        value = self._known[key] = self.builder.param(type)
        self.extras.append((value, given))
        return value


def check_dtype(given: Any) -> None:
    """Refuse arrays and scalars that no graph can hold, and those whose operators are not an array's."""
    if type(given) is not np.ndarray and isinstance(given, np.ndarray):
        _check_class(given)
    if given.dtype not in TRACED:
        verdict = f"an array of dtype {given.dtype} takes part in a traced computation"
        fix = f"convert it with .astype(float); known are {KNOWN}"
        raise TraceError(message(verdict, user_line(), fix, shape=given.shape))


def _check_class(given: np.ndarray) -> None:
    """What is masked takes no part in sums, and products of matrices are not element by element."""
    if isinstance(given, np.ma.MaskedArray):
        kind, fix = "a masked array", UNMASKED
    elif isinstance(given, np.matrix):
        kind, fix = "an np.matrix", PLAIN
    else:
        return
    raise TraceError(message(f"{kind} meets a traced array", user_line(), fix, shape=given.shape))


class _Stack(threading.local):
    def __init__(self) -> None:
        self.active: list[Tracing] = []
        self.silent = False


_stack = _Stack()


def current() -> Tracing | None:
    """The innermost function that this thread is tracing."""
    return _stack.active[-1] if _stack.active else None


def enclosing() -> list[Tracing]:
    """The functions that this thread is tracing, the innermost first."""
    return _stack.active[::-1]


def encloses(tracing: Tracing) -> bool:
    """Whether `tracing` is one of the functions that this thread is tracing."""
    return tracing in _stack.active


@contextmanager
def running(tracing: Tracing) -> Iterator[Tracing]:
    """Make `tracing` the innermost one for a while; afterwards it is dead."""
    _stack.active.append(tracing)
    try:
        yield tracing
    finally:
        _stack.active.pop()
        tracing.alive = False


@contextmanager
def resumed(tracing: Tracing) -> Iterator[Tracing]:
    """Make `tracing` the innermost one for a while; it stays alive."""
    _stack.active.append(tracing)
    try:
        yield tracing
    finally:
        _stack.active.pop()


@contextmanager
def silenced() -> Iterator[None]:
    """Let functions be traced without their warnings, which Python gives."""
    before, _stack.silent = _stack.silent, True
    try:
        yield
    finally:
        _stack.silent = before


def silent() -> bool:
    """Whether warnings are left out of what is traced."""
    return _stack.silent


# ---- whose line it is

_LIBRARIES = [os.path.dirname(os.path.dirname(__file__)) + os.sep, os.path.dirname(np.__file__) + os.sep]
_ours: dict[str, bool] = {}


def is_library(file: str) -> bool:
    """Whether a source file is pullback's or NumPy's."""
    known = _ours.get(file)
    if known is None:
        known = _ours[file] = file.startswith(tuple(_LIBRARIES)) and file not in _PROGRAMS
    return known


def add_library(folder: str) -> None:
    """Let frames of this folder be none of the user's."""
    _LIBRARIES.append(folder + os.sep)
    _ours.clear()
    is_foreign.cache_clear()


_PROGRAMS: set[str] = set()


def add_program(file: str) -> None:
    """Let functions of this file be compiled like a user's, although it is a library's."""
    _PROGRAMS.add(file)
    _ours.clear()
    is_foreign.cache_clear()


def is_numpy(file: str) -> bool:
    return file.startswith(_LIBRARIES[1])


_STANDARD = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_SITE = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


@functools.lru_cache(maxsize=4096)
def is_foreign(file: str) -> bool:
    """Whether a source file is a library's: its code does not change while a program runs."""
    if file in _PROGRAMS:
        return False
    return is_library(file) or file.startswith((*_SITE, *_STANDARD)) or file.startswith("<frozen")


def user_line() -> Where | None:
    """The file and line in the user's code that called us: that of a library, if there is no other."""
    now = current()
    if now is not None and now.locate is not None:
        return now.locate()
    frame = own = sys._getframe(1)
    while frame is not None and is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        frame = own
        while frame is not None and is_library(frame.f_code.co_filename):
            frame = frame.f_back
    if frame is None or now is None:
        return None if frame is None else Where(frame.f_code.co_filename, frame.f_lineno)
    found = now.lines.get(id(frame.f_code))
    if found is None:
        found = now.lines[id(frame.f_code)] = _Lines(frame.f_code)
    return found.at(frame.f_lasti)


class _Lines:
    """The lines of a function that is running, by its instructions.

    Python counts them from the function's beginning each time that it is asked, which takes a program of some hundred
    lines longer than all the rest of its trace.
    """

    __slots__ = ("code", "starts", "numbers", "places")

    def __init__(self, code: CodeType) -> None:
        self.code = code  # whose address is the key, so it has to stay
        table = list(code.co_lines())
        self.starts, self.numbers = [start for start, _, _ in table], [line for _, _, line in table]
        self.places: dict[int, Where] = {}

    def at(self, instruction: int) -> Where:
        found = self.places.get(instruction)
        if found is None:
            line: Any = self.numbers[bisect_right(self.starts, instruction) - 1]
            found = self.places[instruction] = Where(self.code.co_filename, line)
        return found


def is_own(error: BaseException) -> bool:
    """Whether an exception was raised by code of ours."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    file = at.tb_frame.f_code.co_filename if at is not None else ""
    return is_library(file) and not is_numpy(file)


def raised_at(error: BaseException) -> Where | None:
    """The innermost line of the user's code that an exception passed."""
    found, first, at = None, None, error.__traceback__
    while at is not None:
        where = Where(at.tb_frame.f_code.co_filename, at.tb_lineno)
        if not is_foreign(where.file):
            found = where
        elif not is_library(where.file):
            first = where
        at = at.tb_next
    return found or first
