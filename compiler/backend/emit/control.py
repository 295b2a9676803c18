"""Loops and branches: numbers that they carry are phis, memory that they carry is a phi of addresses.

A loop that may run long looks for signals now and then. What fails inside leaves through one place at the end of the
function, where tapes are given back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ...ir.types import FLOATS
from ...loops import Affine, Apply, Buffer, Load
from ...lowering.nests.chunks import LOOK
from ...lowering.nests.inside import reachable, work
from ...lowering.nests.roots import roots, spellings, time, written
from ...lowering.program import (
    Branch,
    Copy,
    Fail,
    Let,
    Lines,
    Loop,
    Multiply,
    Native,
    Nest,
    Opaque,
    Pop,
    Program,
    Push,
    Rows,
    Statement,
    Store,
    View,
)
from ..libraries import lapack
from ..text.levels import LevelWriter
from ..text.registers import Reg
from .loops import look
from .tapes import Tapes, size_of

CHEAP = 10
"""Additions that two branches may take together to be made both, without a jump."""


class Control(Tapes):
    """Writes the statements of regions; `array` writes nests and what else there is of arrays."""

    def __init__(
        self, w: LevelWriter, pointers: dict[Buffer, str], program: Program, array: Callable[[Statement], None]
    ) -> None:
        super().__init__(w, pointers, Counter(spellings(program.body)))
        self.array, self.grown = array, {}
        self.roots = roots(program.body)
        self.status, self.clock = "", ""
        self.begin_tapes(program.body)

    # ---- ends

    def leave(self, status: str) -> None:
        """End the function with a status, from wherever this is."""
        if not self.status:
            self.status = self.w.alloca(8, 8)
        self.w.lines += [f"  store i64 {status}, ptr {self.status}, align 8", "  br label %leaving"]

    def end(self, leave: Callable[[str], None]) -> None:
        """The end of the function: how it is left with a status is known outside."""
        w = self.w
        self.free_tapes()
        leave("0")
        if self.status:
            w.start("leaving")
            self.free_tapes()
            status = w.fresh("i64").text
            w.lines.append(f"  {status} = load i64, ptr {self.status}, align 8")
            leave(status)

    def stop_unless_zero(self, call: str) -> None:
        w = self.w
        status = w.fresh("i64")
        w.lines.append(f"  {status.text} = {call}")
        self._leave_if(w.ne(status, w.number(0, "i64")), status.text)

    def _leave_if(self, condition: Reg, status: str, report: Callable[[], Reg] | None = None) -> None:
        w = self.w
        bad, good = w.label("bad"), w.label("good")
        w.cbr(condition, bad, good)
        w.start(bad)
        if report is not None:
            with w.forgotten():
                w.store("%report", report())
        self.leave(status)
        w.start(good)

    # ---- statements

    def write(self, body: Sequence[Statement]) -> None:
        """Write statements one after the other."""
        for s in body:
            if isinstance(s, Nest | Rows | Multiply | Lines):
                self.array(s)
            else:
                getattr(self, f"_{type(s).__name__.lower()}")(s)

    def _let(self, s: Let) -> None:
        value = self.make(s.value)
        self.bind(s.name, value)
        if isinstance(s.value, Load) or s.value.dtype in FLOATS:  # a whole number may have been checked here
            self.bound[s.name] = value, self.level(s.value)

    def _store(self, s: Store) -> None:
        w, value = self.w, self.make(s.value)
        address = self.address(s.buffer, s.offset, s.gathered)
        if s.fold:
            value = w.combine(s.fold, w.load(address, s.buffer.type.dtype), value)
        w.store(address, value)
        if not s.buffer.type.shape:
            w.hold(s.buffer, value)

    def _view(self, s: View) -> None:
        level = self.address_level(s.of, s.gathered)
        with self.w.at(level):
            self.pointers[s.buffer] = self.address(s.of, Affine((), s.offset), s.gathered)
        self.levels[s.buffer] = level

    def _copy(self, s: Copy) -> None:
        w, to, source = self.w, self.pointers[s.to], self.pointers[s.source]
        if to == source:
            return
        if len(self.roots.get(s.source, ())) > 1:
            copy, on = w.label("copy"), w.label("copied")
            w.cbr(w.value("bool", 1, f"icmp eq ptr {to}, {source}"), on, copy)
            w.start(copy)
            self.copy_bytes(to, source, size_of(s.to))
            w.br(on)
            w.start(on)
            return
        self.copy_bytes(to, source, size_of(s.to))

    def copy_bytes(self, to: str, source: str, size: int) -> None:
        if size:
            self.w.lines.append(f"  call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def _fail(self, s: Fail) -> None:
        self._leave_if(self.make(s.condition), str(s.site), lambda: self.make(s.report))

    def _opaque(self, s: Opaque) -> None:
        w, pointers = self.w, [self.pointers[b] for b in (*s.arguments, *s.results)]
        table = w.alloca(8 * max(len(pointers), 1), 8)
        for k, pointer in enumerate(pointers):
            place = w.gep(table, "i64", k)
            w.lines.append(f"  store ptr {pointer}, ptr {place}, align 8")
        w.declarations["pullback_external"] = "declare i64 @pullback_external(i64, ptr)"
        status = w.fresh("i64")
        w.lines.append(f"  {status.text} = call i64 @pullback_external(i64 {int(s.number)}, ptr {table})")
        self._leave_if(w.ne(status, w.number(0, "i64")), str(s.site))

    def _native(self, s: Native) -> None:
        sizes, buffers = [f"i64 {n}" for n in s.sizes], [f"ptr {self.pointers[b]}" for b in (*s.arguments, *s.results)]
        name = lapack.name_of(s.routine)
        kinds = ", ".join(each.split()[0] for each in (*sizes, *buffers))
        self.w.declarations[name] = f"declare i64 @{name}({kinds})"
        status = self.w.fresh("i64")
        self.w.lines.append(f"  {status.text} = call i64 @{name}({', '.join([*sizes, *buffers])})")
        self._leave_if(self.w.ne(status, self.w.number(0, "i64")), status.text)

    def _push(self, s: Push) -> None:
        self.push(s)

    def _pop(self, s: Pop) -> None:
        self.pop(s)

    # ---- branches

    def _branch(self, s: Branch) -> None:
        w = self.w
        for e in s.given:
            self.make(e)
        condition = self.make(s.condition)
        known = condition.number
        if known is not None:
            self.write(s.yes if known else s.no)
            for name, yes, no in s.results:
                self.bind(name, self.make(yes if known else no))
            return
        if not s.yes and not s.no and self._is_cheap(s):
            for name, yes, no in s.results:
                self.bind(name, w.select(condition, self.make(yes), self.make(no)))
            return
        labels, done = (w.label("yes"), w.label("no")), w.label("done")
        w.cbr(condition, *labels)
        made: list[tuple[list[Reg], str]] = []
        for k, (label, body) in enumerate(zip(labels, (s.yes, s.no), strict=True)):
            w.start(label)
            with w.forgotten():
                self.write(body)
                made.append(([self.make(values[1 + k]) for values in s.results], w.block))
            w.br(done)
        w.start(done)
        (yes, from_yes), (no, from_no) = made
        for (name, _, _), a, b in zip(s.results, yes, no, strict=True):
            self.bind(name, w.phi(a.dtype, 1, [(a, from_yes), (b, from_no)]))

    def _is_cheap(self, s: Branch) -> bool:
        """Whether making the results of both branches costs less than a wrong guess of which one is taken."""
        made = reachable([v for _, *values in s.results for v in values])
        return work([e for e in made if isinstance(e, Apply) and self._known(e) is None]) <= CHEAP

    # ---- loops

    def _loop(self, s: Loop) -> None:
        starts = [self.make(c.start) for c in s.carries]
        starts += [Reg("ptr", 1, self.pointers[p.start]) for p in s.pointers]
        if s.count is None:
            self._while(s, starts)
            return
        w = self.w
        count = self.make(s.count)
        rounds = count.number
        if rounds is not None and rounds <= 0:
            self._after(s, starts)
            return
        last = w.sub(count, w.number(1, "i64")) if s.backwards else count
        end: int | Reg = w.maximum(count, w.number(0, "i64")) if rounds is None else int(rounds)

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            return self._round(s, w.sub(last, index) if s.backwards else index, carries)

        steps = max(int(LOOK / max(time(s.body), 1)), 1)
        if rounds is not None and rounds <= 2 * steps:
            made = w.loop(end, 1, starts, body)
        else:
            made = self._in_strips(s, end, steps, starts, body)
        self._after(s, made)
        if isinstance(end, Reg):
            self._spend(end, s.body)

    def _in_strips(
        self, s: Loop, end: int | Reg, steps: int, starts: list[Reg], body: Callable[[Reg, list[Reg]], list[Reg]]
    ) -> list[Reg]:
        """A loop of loops, with a look for signals after each but the last."""
        w = self.w
        last = end if isinstance(end, Reg) else w.number(end, "i64")

        def strip(index: Reg, carries: list[Reg]) -> list[Reg]:
            until = w.minimum(w.add(index, w.number(steps, "i64")), last)
            made = w.loop(until, 1, carries, body, index)
            self._look(w.lt(until, last))
            return made

        self._open(s)
        made = w.loop(end, steps, starts, strip, empty=isinstance(end, Reg))
        self.written.pop()
        return made

    def _open(self, s: Loop) -> None:
        self.written.append((self.w.depth + 1, written(s, self.roots)))

    def _look(self, due: Reg, before: Callable[[], None] = lambda: None) -> None:
        """Leave if a signal handler raised; asked where that is due."""
        w = self.w
        ask, on = w.label("ask"), w.label("on")
        w.cbr(due, ask, on)
        w.start(ask)
        with w.forgotten():
            before()
            look(w, self.leave)
        w.br(on)
        w.start(on)

    def _round(self, s: Loop, index: Reg, carries: list[Reg]) -> list[Reg]:
        """The body of a loop."""
        self._enter(s, carries)
        self.bind(s.index, index)
        self.write(s.body)
        return self._handed_on(s)

    def _enter(self, s: Loop, carries: list[Reg]) -> None:
        self.written.append((self.w.level, written(s, self.roots)))
        for c, reg in zip(s.carries, carries, strict=False):
            self.bind(c.inside, reg)
        for p, reg in zip(s.pointers, carries[len(s.carries) :], strict=True):
            self.pointers[p.inside], self.levels[p.inside] = reg.text, self.w.level

    def _handed_on(self, s: Loop) -> list[Reg]:
        made = [self.make(c.next) for c in s.carries]
        made += [Reg("ptr", 1, self.pointers[p.next]) for p in s.pointers]
        self.written.pop()
        return made

    def _while(self, s: Loop, starts: list[Reg]) -> None:
        w = self.w

        def test(carries: list[Reg]) -> Reg:
            self._enter(s, carries)
            self.write(s.test)
            assert s.more is not None
            return self.make(s.more)

        def body(index: Reg, carries: list[Reg]) -> list[Reg]:
            self.bind(s.index, index)
            every = 1 << max(int(LOOK / max(time((*s.test, *s.body)), 1)).bit_length() - 1, 0)
            mask = w.number(every - 1, "i64")
            self._look(w.eq(w.and_(index, mask), mask))
            self.write(s.body)
            return self._handed_on(s)

        count, made = w.repeat(starts, test, body)
        if s.rounds is not None:
            self.bind(s.rounds, count)
        self._after(s, made)
        self._spend(count, (*s.test, *s.body))

    def _spend(self, rounds: Reg, body: Sequence[Statement]) -> None:
        """Count the time of a loop inside another one, each time too short to look for signals, and look after many."""
        w = self.w
        if w.level == 0:
            return
        if not self.clock:
            self.clock = w.alloca(8, 8)
            w.taken.append(f"  store i64 {LOOK}, ptr {self.clock}, align 8")
        cost = max(int(time(body)), 1)
        left = w.sub(w.load(self.clock, "i64"), w.mul(rounds, w.number(cost, "i64")))
        w.store(self.clock, left)
        self._look(w.lt(left, w.number(0, "i64")), lambda: w.store(self.clock, w.number(LOOK, "i64")))

    def _after(self, s: Loop, made: list[Reg]) -> None:
        for c, reg in zip(s.carries, made, strict=False):
            self.bind(c.after, reg)
        for p, reg in zip(s.pointers, made[len(s.carries) :], strict=True):
            self.pointers[p.after], self.levels[p.after] = reg.text, self.w.level
        if s.rounds is not None and s.count is not None:
            self.bind(s.rounds, self.make(s.count))


__all__ = ["Control"]
