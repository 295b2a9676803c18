"""Tapes: records in memory, which a tape that grows asks for.

    @NAME.tape.K     {where the records are, the same if it is ours to free, how many bytes there are}, on the stack

A push compares the bytes it needs with those there are; the function that asks for more is far from the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...loops import Buffer, Element, Variable
from ...lowering.nests.roots import inside
from ...lowering.program import Pop, Push, Statement, Tape
from ...lowering.regions.stack import FIRST
from ..text.registers import Reg
from .scalars import Scalars

GROW = """
define internal i64 @pullback_tape_grow(ptr %tape, i64 %need) nounwind noinline cold {
entry:
  %owned = getelementptr i8, ptr %tape, i64 8
  %capacity = getelementptr i8, ptr %tape, i64 16
  %size = shl i64 %need, 1
  %held = load i64, ptr %capacity, align 8
  %old = load ptr, ptr %owned, align 8
  %new = call ptr @realloc(ptr %old, i64 %size)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %none, label %have
none:
  ret i64 -1
have:
  %first = icmp eq ptr %old, null
  br i1 %first, label %move, label %done
move:
  %from = load ptr, ptr %tape, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %from, i64 %held, i1 false)
  br label %done
done:
  store ptr %new, ptr %tape, align 8
  store ptr %new, ptr %owned, align 8
  store i64 %size, ptr %capacity, align 8
  ret i64 0
}
"""


class Tapes(Scalars):
    """The tapes of a function; `grown` are the descriptors of those that grow."""

    grown: dict[Tape, str]

    def stop_unless_zero(self, call: str) -> None:
        """End the function with the status of a call unless that is 0."""
        raise NotImplementedError

    def copy_bytes(self, to: str, source: str, size: int) -> None:
        """Copy memory."""
        raise NotImplementedError

    def begin_tapes(self, body: Sequence[Statement]) -> None:
        """Descriptors of the tapes that grow, filled where the function begins."""
        w = self.w
        for s in inside(body):
            if not isinstance(s, Push | Pop) or not s.tape.grows or s.tape in self.grown:
                continue
            place = self.grown[s.tape] = w.alloca(24, 8)
            w.declarations["realloc"] = "declare ptr @realloc(ptr, i64)"
            w.declarations["free"] = "declare void @free(ptr)"
            w.declarations["pullback_tape_grow"] = GROW
            w.lines.append(f"  store ptr {self.pointers[s.tape.buffer]}, ptr {place}, align 8")
            w.lines.append(f"  store ptr null, ptr {w.gep(place, 'i64', 1)}, align 8")
            w.lines.append(f"  store i64 {FIRST}, ptr {w.gep(place, 'i64', 2)}, align 8")

    def free_tapes(self) -> None:
        """Give back what tapes asked for."""
        w = self.w
        for place in self.grown.values():
            owned = w.fresh("ptr").text
            at = w.fresh("ptr").text
            w.lines += [f"  {at} = getelementptr i8, ptr {place}, i64 8", f"  {owned} = load ptr, ptr {at}, align 8",
                        f"  call void @free(ptr {owned})"]

    def push(self, s: Push) -> None:
        """Write a record."""
        w, top = self.w, self.make(s.top)
        values = [(self.make(v) if isinstance(v, Element) else v, at) for v, at in s.record]
        if s.tape.grows:
            self._make_room(self.grown[s.tape], w.add(top, w.number(s.size, "i64")))
        base = w.gep(self._base(s.tape), "bool", top)
        for value, at in values:
            place = w.gep(base, "bool", at)
            if isinstance(value, Reg):
                w.store(place, value)
            else:
                self.copy_bytes(place, self.pointers[value], size_of(value))

    def pop(self, s: Pop) -> None:
        """Name what a record holds."""
        w = self.w
        base = w.gep(self._base(s.tape), "bool", self.make(s.top))
        for name, at in s.record:
            place = w.gep(base, "bool", at)
            if isinstance(name, Variable):
                self.bind(name, w.load(place, name.dtype))
            else:
                self.pointers[name], self.levels[name] = place, w.level

    def _make_room(self, place: str, needed: Reg) -> None:
        w = self.w
        room = w.load(w.gep(place, "i64", 2), "i64")
        grow, on = w.label("grow"), w.label("on")
        w.cbr(w.gt(needed, room), grow, on)
        w.start(grow)
        with w.forgotten():
            self.stop_unless_zero(f"call i64 @pullback_tape_grow(ptr {place}, {needed.typed})")
        w.br(on)
        w.start(on)

    def _base(self, tape: Tape) -> str:
        if not tape.grows:
            return self.pointers[tape.buffer]
        base = self.w.fresh("ptr").text
        self.w.lines.append(f"  {base} = load ptr, ptr {self.grown[tape]}, align 8")
        return base


def size_of(buffer: Buffer) -> int:
    """The bytes that the elements of a buffer take."""
    count = 1
    for d in buffer.type.static_shape():
        count *= d
    return count * buffer.type.numpy.itemsize


__all__ = ["Tapes", "size_of"]
