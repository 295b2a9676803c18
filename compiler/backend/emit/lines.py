"""Lines as LLVM functions: one after the other, each reads and writes the frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ...loops import Apply, Buffer, Element, Load, Number
from ...lowering.origins import stamp
from ...lowering.program import Lines
from .. import elementary
from ..text.levels import LevelWriter
from ..text.registers import Reg
from ..text.writer import Writer
from .element import OFTEN


def emit_lines(w: LevelWriter, pointers: dict[Buffer, str], s: Lines, name: str, stop: Callable[[str], None]) -> None:
    """Write `s`, its pieces as functions beside the function `name` if there are several; `stop` ends with a status."""
    called = _called(s)
    if not s.slots:
        body = _Piece(w, w.declarations, called, {e: _load(w, pointers, e) for e in s.loads})
        for e in s.pieces[0] if s.pieces else ():
            body.make(e)
        _write_checks(w, s, body.make, stop)
        for buffer, e in s.stores:
            w.store(pointers[buffer], body.make(e))
        return
    frame = pointers[s.frame]
    for e in s.loads:
        w.store(w.gep(frame, "i64", s.slots[e]), _load(w, pointers, e))
    for number, piece in enumerate(s.pieces):
        function = f"{name}.piece{number}"
        w.declarations[function] = _function(w, function, piece, called, s.slots)
        w.call(function, "void", [("ptr", frame)])

    def find(e: Element) -> Reg:
        return w.number(e.value, e.dtype) if isinstance(e, Number) else w.load(w.gep(frame, "i64", s.slots[e]), e.dtype)

    _write_checks(w, s, find, stop)
    for buffer, e in s.stores:
        w.store(pointers[buffer], find(e))


def _write_checks(w: LevelWriter, s: Lines, find: Callable[[Element], Reg], stop: Callable[[str], None]) -> None:
    """End with the first check that fails: one branch for all."""
    status, report = w.number(0, "i64"), w.number(0, "i64")
    for check in reversed(s.checks):
        fails = find(check.fails)
        status = w.select(fails, w.number(check.site, "i64"), status)
        report = w.select(fails, find(check.report), report)
    if s.checks:
        bad, good = w.label("failed"), w.label("good")
        w.cbr(w.ne(status, w.number(0, "i64")), bad, good)
        w.start(bad)
        w.store("%report", report)
        stop(status.text)
        w.start(good)


def _called(s: Lines) -> set[str]:
    """The elementary functions that are written so often that each becomes a function; others share their parts."""
    counts = Counter(e.spelling for piece in s.pieces for e in piece if isinstance(e, Apply))
    return {spelling for spelling, n in counts.items() if n > OFTEN}


def _load(w: Writer, pointers: dict[Buffer, str], e: Load) -> Reg:
    return w.load(w.gep(pointers[e.buffer], e.dtype, e.offset.constant), e.dtype)


def _function(
    w: Writer, name: str, piece: Sequence[Element], called: set[str], slots: Mapping[Element, int]
) -> str:
    inner = Writer(w.has_fma)
    body = _Piece(inner, w.declarations, called, {}, slots)
    for e in piece:
        value = body.make(e)
        if e in slots:
            inner.store(inner.gep("%frame", "i64", slots[e]), value)
    w.declarations |= inner.declarations
    return "\n".join([f"define internal void @{name}(ptr %frame) nounwind noinline {{", "entry:", *inner.lines,
                      "  ret void", "}"])


class _Piece:
    """The values of one function."""

    def __init__(self, w: Writer, declarations: dict[str, str], called: set[str], made: Mapping[Load, Reg],
                 slots: Mapping[Element, int] = MappingProxyType({})) -> None:
        self.w, self.declarations, self.called, self.slots = w, declarations, called, slots
        self.made: dict[Element, Reg] = {**made}

    def make(self, e: Element) -> Reg:
        """The value of `e`: made here, or read from the frame."""
        found = self.made.get(e)
        if found is None:
            found = self.made[e] = self._apply(e) if isinstance(e, Apply) else self._read(e)
            stamp(self.w.lines, found.text, e)
        return found

    def _read(self, e: Element) -> Reg:
        if isinstance(e, Number):
            return self.w.number(e.value, e.dtype)
        return self.w.load(self.w.gep("%frame", "i64", self.slots[e]), e.dtype)

    def _apply(self, e: Apply) -> Reg:
        args = [self._argument(a) for a in e.args]
        return elementary.applied(self.w, e.spelling, e.dtype, args, e.spelling in self.called, self.declarations)

    def _argument(self, e: Element) -> Reg:
        """What another piece made is in the frame."""
        if e not in self.made and e in self.slots:
            self.made[e] = self._read(e)
        return self.make(e)
