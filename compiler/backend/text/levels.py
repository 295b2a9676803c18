"""A writer with levels: code is written at the outermost loop in which all it reads is known.

Inside `loop` everything is one level deeper.  `at(level)` writes to an outer level, just before the loop that is
being written there, so what does not change inside a loop is made before it.  No pass of LLVM hoists anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ...ir.measure import Extent
from ...loops import Buffer, ToldFloat, Variable
from .registers import Reg, literal
from .writer import Writer

HERE = nullcontext()


class _Values:
    """Value numbering by level: what an outer level made is known in all inner ones.

    here   what is made at the level that is written to
    known  that, and what the levels around it have made, the outermost first
    """

    def __init__(self) -> None:
        self.levels: list[dict[Hashable, Reg]] = [{}]
        self.move(0)

    def move(self, level: int) -> None:
        """Write to a level from now on."""
        self.known = self.levels[: level + 1]
        self.here = self.known[-1]

    def get(self, key: Hashable) -> Reg | None:
        for known in self.known:
            if key in known:
                return known[key]
        return None

    def __setitem__(self, key: Hashable, value: Reg) -> None:
        self.here[key] = value

    def pop(self, key: Hashable, default: Any = None) -> Any:
        return self.here.pop(key, default)


class LevelWriter(Writer):
    """One function's text as a nest of loops."""

    def __init__(self, fma: bool) -> None:
        super().__init__(fma)
        #: what is known by some key, a register each
        self.numbered = _Values()
        #: where cells stand, each with a number of its own
        self.places: dict[Hashable, int] = {}
        self._values = self.numbered  # type: ignore[assignment]
        #: memory on the stack, and what is to happen once where the function begins
        self.taken: list[str] = []
        #: per level: the pieces of its text, of which the last is open, and the block it is in
        self._pieces: list[list[list[str]]] = [[self.lines]]
        self._blocks = [self.block]
        self.level = 0

    def number(self, value: Any, dtype: str, width: int = 1) -> Reg:
        """A literal, or the register of a number that is told."""
        if isinstance(value, Extent):
            return self.splat(Reg("i64", 1, f"{value}"), width)
        if isinstance(value, ToldFloat):
            told = self.unbits(Reg("i64", 1, f"{value.bits}"))
            return self.splat(self.cast(told, dtype), width)
        return literal(value, dtype, width)

    @property
    def depth(self) -> int:
        """The level of the innermost loop being written."""
        return len(self._pieces) - 1

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """What is made inside, at this level, is not known after: it stands in a block that may not run."""
        level, levels = self.level, self.numbered.levels
        before = dict(levels[level])
        yield
        levels[level] = before
        self.numbered.move(self.level)

    def alloca(self, size: int, align: int = 64) -> str:
        """Memory on the stack, however often what is being written runs."""
        name = self.fresh("i64").text
        self.taken.append(f"  {name} = alloca i8, i64 {size}, align {align}")
        return name

    # ---- numbers in registers

    def hold(self, number: Variable | Buffer, value: Reg) -> None:
        """`value` is a number, or what a buffer of one element holds, as far as what is made here is known."""
        self.numbered[f"held {id(number)}"] = value

    def held(self, number: Variable | Buffer) -> Reg | None:
        """The register of a number, or of what a buffer of one element holds; None if it is in none."""
        return self.numbered.get(f"held {id(number)}")

    def at(self, level: int) -> AbstractContextManager[None]:
        """Write to `level`, an outer one."""
        return HERE if level == self.level else self._outside(level)

    @contextmanager
    def _outside(self, level: int) -> Iterator[None]:
        before = self.level
        self._switch(level)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, level: int) -> None:
        self._blocks[self.level] = self.block
        self.level = level
        self.numbered.move(level)
        self.lines, self.block = self._pieces[level][-1], self._blocks[level]

    def loop(
        self,
        end: int | Reg,
        step: int,
        carries: list[Reg],
        body: Callable[[Reg, list[Reg]], list[Reg]],
        start: Reg | None = None,
        empty: bool = False,
    ) -> list[Reg]:
        """for index in range(start or 0, end, step), at least once; the body takes and gives the carries.

        With `empty` it may run not at all; then the carries stay what they are.
        """
        head, done = self.label("loop"), self.label("done")
        index = self.fresh("i64")
        phis = [self.fresh(c.dtype, c.width) for c in carries]
        self._enter(head)
        outs = body(index, phis)
        following = self.value("i64", 1, f"add nuw nsw i64 {index.text}, {step}")
        more = self.value("bool", 1, f"icmp ult {following.typed}, {end.text if isinstance(end, Reg) else end}")
        self.cbr(more, head, done)
        latch, inside = self._leave()
        starts = [start or self.number(0, "i64"), *carries]
        if empty:  # what is made before the loop stands before this, so it is known after it
            last = end.text if isinstance(end, Reg) else end
            self.cbr(self.value("bool", 1, f"icmp ult {starts[0].typed}, {last}"), head, done)
        else:
            self.br(head)
        before = self.block
        self._close(head, [index, *phis], starts, before, [following, *outs], latch, inside)
        self.start(done)
        return [self._either(c, before, o, latch) for c, o in zip(carries, outs, strict=True)] if empty else outs

    def repeat(
        self,
        carries: list[Reg],
        test: Callable[[list[Reg]], Reg],
        body: Callable[[Reg, list[Reg]], list[Reg]],
    ) -> tuple[Reg, list[Reg]]:
        """As many rounds of the body as the test says, which comes first; their number, and the carries after them."""
        head, inner, done = self.label("while"), self.label("round"), self.label("done")
        index = self.fresh("i64")
        phis = [self.fresh(c.dtype, c.width) for c in carries]
        self._enter(head)
        self.cbr(test(phis), inner, done)
        self.start(inner)
        outs = body(index, phis)
        following = self.value("i64", 1, f"add nuw nsw i64 {index.text}, 1")
        self.br(head)
        latch, inside = self._leave()
        before = self.block
        self.br(head)
        starts = [self.number(0, "i64"), *carries]
        self._close(head, [index, *phis], starts, before, [following, *outs], latch, inside)
        self.start(done)
        return index, phis

    def _close(
        self, head: str, phis: list[Reg], starts: list[Reg], before: str,
        nexts: list[Reg], latch: str, inside: list[str],
    ) -> None:
        """Write a loop into the level around it."""
        self.lines.append(f"{head}:")
        for phi, first, later in zip(phis, starts, nexts, strict=True):
            edges = f"[{first.text}, %{before}], [{later.text}, %{latch}]"
            self.lines.append(f"  {phi.text} = phi {phi.type} {edges}")
        self.lines.extend(inside)
        self._pieces[self.level].append([])
        self.lines = self._pieces[self.level][-1]

    def _either(self, first: Reg, before: str, last: Reg, latch: str) -> Reg:
        """What a carry is after a loop that may not have run."""
        made = self.fresh(first.dtype, first.width)
        self.lines.append(f"  {made.text} = phi {made.type} [{first.text}, %{before}], [{last.text}, %{latch}]")
        return made

    def _enter(self, head: str) -> None:
        self._blocks[self.level] = self.block
        self._pieces.append([[]])
        self._blocks.append(head)
        self.numbered.levels.append({})
        self.level = self.depth
        self.numbered.move(self.level)
        self.lines, self.block = self._pieces[-1][-1], head

    def _leave(self) -> tuple[str, list[str]]:
        """End a level: the block it ended in, and its text."""
        latch, inside = self.block, [line for piece in self._pieces.pop() for line in piece]
        self._blocks.pop()
        self.numbered.levels.pop()
        self.level = self.depth
        self.numbered.move(self.level)
        self.lines, self.block = self._pieces[-1][-1], self._blocks[-1]
        return latch, inside

    def text(self) -> list[str]:
        """All lines, once no loop is open."""
        return self.taken + [line for piece in self._pieces[0] for line in piece]
