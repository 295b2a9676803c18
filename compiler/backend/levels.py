"""A writer with levels: code is written at the outermost loop in which all it reads is known.

Inside `loop` everything is one level deeper.  `at(level)` writes to an outer level, just before the loop that is
being written there, so what does not change inside a loop is made before it.  No pass of LLVM hoists anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..ir.measure import Extent
from .registers import Reg
from .writer import Writer


class _Values:
    """Value numbering by level: what an outer level made is known in all inner ones."""

    def __init__(self) -> None:
        self.levels: list[dict[str, Reg]] = [{}]
        self.now = 0

    def get(self, key: str) -> Reg | None:
        for known in self.levels[: self.now + 1]:
            found = known.get(key)
            if found is not None:
                return found
        return None

    def __setitem__(self, key: str, value: Reg) -> None:
        self.levels[self.now][key] = value

    def pop(self, key: str, default: Any = None) -> Any:
        return self.levels[self.now].pop(key, default)


class LevelWriter(Writer):
    """One function's text as a nest of loops."""

    def __init__(self, fma: bool) -> None:
        super().__init__(fma)
        self._numbered = _Values()
        self._values = self._numbered  # type: ignore[assignment]
        #: per level: the pieces of its text, of which the last is open, and the block it is in
        self._pieces: list[list[list[str]]] = [[self.lines]]
        self._blocks = [self.block]
        self.level = 0

    def number(self, value: Any, dtype: str, width: int = 1) -> Reg:
        """A literal, or the register of a number that is told."""
        if isinstance(value, Extent):
            return self.splat(Reg("i64", 1, f"{value}"), width)
        return super().number(value, dtype, width)

    @property
    def depth(self) -> int:
        """The level of the innermost loop being written."""
        return len(self._pieces) - 1

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """What is made inside, at the outermost level, is not known after: it stands in a block that may not run."""
        before = dict(self._numbered.levels[0])
        yield
        self._numbered.levels[0] = before

    @contextmanager
    def at(self, level: int) -> Iterator[None]:
        """Write to `level`, an outer one."""
        before = self.level
        if level == before:
            yield
            return
        self._switch(level)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, level: int) -> None:
        self._blocks[self.level] = self.block
        self.level = self._numbered.now = level
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
        latch = self.block
        inside = [line for piece in self._pieces[-1] for line in piece]
        self._leave()
        starts = [start or self.number(0, "i64"), *carries]
        if empty:  # what is made before the loop stands before this, so it is known after it
            self.cbr(self.value("bool", 1, f"icmp ult {starts[0].typed}, {end}"), head, done)
        else:
            self.br(head)
        before = self.block
        nexts = [following, *outs]
        self.lines.append(f"{head}:")
        for phi, first, later in zip([index, *phis], starts, nexts, strict=True):
            edges = f"[{first.text}, %{before}], [{later.text}, %{latch}]"
            self.lines.append(f"  {phi.text} = phi {phi.type} {edges}")
        self.lines.extend(inside)
        self._pieces[self.level].append([])
        self.lines = self._pieces[self.level][-1]
        self.start(done)
        return [self._either(c, before, o, latch) for c, o in zip(carries, outs, strict=True)] if empty else outs

    def _either(self, first: Reg, before: str, last: Reg, latch: str) -> Reg:
        """What a carry is after a loop that may not have run."""
        made = self.fresh(first.dtype, first.width)
        self.lines.append(f"  {made.text} = phi {made.type} [{first.text}, %{before}], [{last.text}, %{latch}]")
        return made

    def _enter(self, head: str) -> None:
        self._blocks[self.level] = self.block
        self._pieces.append([[]])
        self._blocks.append(head)
        self._numbered.levels.append({})
        self.level = self._numbered.now = self.depth
        self.lines, self.block = self._pieces[-1][-1], head

    def _leave(self) -> None:
        self._pieces.pop()
        self._blocks.pop()
        self._numbered.levels.pop()
        self.level = self._numbered.now = self.depth
        self.lines, self.block = self._pieces[-1][-1], self._blocks[-1]

    def text(self) -> list[str]:
        """All lines, once no loop is open."""
        return [line for piece in self._pieces[0] for line in piece]
