"""Numbers of regions as LLVM values: each made once, in the outermost loop where all that it reads is known.

An element of an array that is not written in a loop is loaded before the loop. What is made in a branch is forgotten
after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...loops import Affine, Apply, Buffer, Element, Load, Number, Position, Variable
from ...lowering.origins import stamp
from ...lowering.regions.handing import split
from .. import elementary
from ..text.levels import LevelWriter
from ..text.registers import Reg

OFTEN = 12
"""Times that an elementary function is spelled out in loops; one that is needed more often becomes a function."""

ONCE = 3
"""The same for code that each call runs once: a pendulum of four links, with eight sines, builds in a tenth less time
and takes 1.8 µs where it took 2.0."""


class Scalars:
    """The numbers of a function, and where its buffers lie.

    bound     the registers of variables, and the levels at which they are known
    pointers  the addresses of buffers; `levels` has those which are not known from the beginning
    written   of each open loop, its level and the buffers that it writes
    """

    def __init__(self, w: LevelWriter, pointers: dict[Buffer, str], counts: Counter[str]) -> None:
        self.w, self.pointers, self.counts = w, pointers, counts
        self.levels: dict[Buffer, int] = {}
        self.bound: dict[Variable, tuple[Reg, int]] = {}
        self.written: list[tuple[int, frozenset[Buffer]]] = []
        self.roots: dict[Buffer, frozenset[Buffer]] = {}
        self._level: dict[Element, int] = {}

    def bind(self, name: Variable, value: Reg) -> None:
        """From here on a variable is this register."""
        self.bound[name] = value, self.w.level
        self.w.hold(name, value)

    def make(self, e: Element) -> Reg:
        """The register of a number."""
        stack, known = [e], self._known
        while True:
            top = stack[-1]
            found = known(top)
            if found is None:
                parts = _parts(top)
                args = [known(a) for a in parts]
                if None in args:
                    stack += [a for a, arg in zip(parts, args, strict=True) if arg is None]
                    continue
                found = self._new(top, args)
            stack.pop()
            if not stack:
                return found

    def level(self, e: Element) -> int:
        """The level at which an element is known; what it is made of has been made."""
        if isinstance(e, Variable):
            return self.bound[e][1]
        return self._level.get(e, 0)

    def _known(self, e: Element) -> Reg | None:
        if isinstance(e, Apply):
            return self.w.numbered.get(id(e))
        if isinstance(e, Number):
            return self.w.number(e.value, e.dtype)
        if isinstance(e, Variable):
            return self.bound[e][0]
        return self.w.numbered.get(id(e))

    def _new(self, e: Element, args: list[Any]) -> Reg:
        """What is not known yet, where its arguments are."""
        if self.w.level == 0:  # as all of code without loops is
            made = self.w.numbered[id(e)] = self._make(e, args)
            stamp(self.w.lines, made.text, e)
            return made
        level = max([self.level(a) for a in _parts(e)], default=0)
        if isinstance(e, Load):
            level = max(level, self._settled(e.buffer), self.levels.get(e.buffer, 0))
        with self.w.at(level):
            made = self._make(e, args)
            stamp(self.w.lines, made.text, e)
            self.w.numbered[id(e)] = made
        self._level[e] = level
        return made

    def _settled(self, buffer: Buffer) -> int:
        """The outermost level at which what a buffer holds is what it holds now."""
        roots = self.roots.get(buffer, frozenset((buffer,)))
        return max((level for level, written in self.written if not written.isdisjoint(roots)), default=0)

    def _make(self, e: Element, args: list[Any]) -> Reg:
        if isinstance(e, Apply):
            return self._apply(e, args)
        if isinstance(e, Load):
            held = self.w.held(e.buffer)
            return held if held is not None else self.w.load(self.address(e.buffer, e.offset, e.gathered), e.dtype)
        assert isinstance(e, Position) and not e.index.terms, e
        return self.w.number(e.index.constant, "i64")

    # ---- operations

    def _apply(self, e: Apply, args: list[Reg]) -> Reg:
        often = self.counts[e.spelling] > (OFTEN if self.w.level > 0 else ONCE)
        return elementary.applied(self.w, e.spelling, e.dtype, args, often, self.w.declarations, self.w.level > 0)

    # ---- memory

    def address(self, buffer: Buffer, offset: Affine, gathered: Sequence[tuple[Element, int]]) -> str:
        """The address of an element: what is known in outer loops is added there."""
        w, ptr, dtype = self.w, self.pointers[buffer], buffer.type.dtype
        terms, constant = split(gathered)
        level = self.levels.get(buffer, 0)
        for e, _ in terms:
            self.make(e)
        for e, stride in sorted(terms, key=lambda term: self.level(term[0])):
            level = max(level, self.level(e))
            with w.at(level):
                ptr = w.gep(ptr, dtype, w.mul(self.make(e), w.number(stride, "i64")))
        return w.gep(ptr, dtype, offset.constant + constant)

    def address_level(self, buffer: Buffer, gathered: Sequence[tuple[Element, int]]) -> int:
        """The level at which such an address is known."""
        terms, _ = split(gathered)
        for e, _ in terms:
            self.make(e)
        return max([self.levels.get(buffer, 0), *(self.level(e) for e, _ in terms)])


def _parts(e: Element) -> Sequence[Element]:
    if isinstance(e, Apply):
        return e.args
    if isinstance(e, Load):
        return [g for g, _ in e.gathered]
    return ()


__all__ = ["Scalars"]
