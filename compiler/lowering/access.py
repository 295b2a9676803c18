"""What statements read and write, and whether they read each place of one buffer before they write that of another.

Everything is found once for a statement, in time that is linear in its elements, and looked up from then on: buffers
that are compared two by two in one large statement would else each walk all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..loops import Affine, Axis, Buffer, Element, Guarded, Load
from .nests.inside import children, reachable
from .program import Accumulate, Lines, Multiply, Nest, Rows, Store, tested, tops
from .reads import Read, reads, same_row

Statement = Nest | Rows | Multiply | Lines


class Access:
    """The accesses of statements, kept by statement."""

    def __init__(self) -> None:
        self._nests: dict[Nest, _Nest] = {}
        self._reads: dict[Statement, set[Buffer]] = {}
        self._writes: dict[Statement, set[Buffer]] = {}
        self._rows: dict[Statement, tuple[dict[Buffer, list[int]], dict[Buffer, list[int]]]] = {}

    def _nest(self, nest: Nest) -> _Nest:
        if nest not in self._nests:
            self._nests[nest] = _Nest(nest)
        return self._nests[nest]

    def read_by(self, statement: Statement) -> set[Buffer]:
        """What a statement reads; what it adds to is among that which it writes."""
        if statement not in self._reads:
            if isinstance(statement, Multiply):
                self._reads[statement] = {statement.left.buffer, statement.right.buffer}
            else:
                every = [self._nest(nest) for nest in nests_of([statement])]
                self._reads[statement] = {b for nest in every for b in (*nest.loads, *nest.tested)}
        return self._reads[statement]

    def writes(self, statement: Statement) -> set[Buffer]:
        """What a statement writes."""
        if statement not in self._writes:
            if isinstance(statement, Multiply):
                self._writes[statement] = {statement.out.buffer}
            elif isinstance(statement, Lines):
                self._writes[statement] = {statement.frame, *(buffer for buffer, _ in statement.stores)}
            else:
                self._writes[statement] = {b for nest in nests_of([statement]) for b in self._nest(nest).written}
        return self._writes[statement]

    def read_first(self, statements: Sequence[Statement], out: Buffer, given: Buffer) -> bool:
        """Whether statements, one after the other, read each element of `given` before that of `out` is written."""
        for at, s in enumerate(statements):
            if out in self.writes(s):
                used = given in self.read_by(s) or given in self.writes(s)
                if used and not self._reads_first(s, out, given):
                    return False
                later = statements[at + 1 :]
                if any(given in self.writes(each) for each in later):
                    return False
                if any(given in self.read_by(each) and not self._apart(s, each, out, given) for each in later):
                    return False
        return True

    def _apart(self, first: Statement, later: Statement, out: Buffer, given: Buffer) -> bool:
        """Whether what a statement writes ends before that begins which another one reads, or begins after it ends."""
        if any(isinstance(s, Multiply | Lines) for s in (first, later)):
            return False
        stores = [s for n in nests_of([first]) for s in self._nest(n).written.get(out, ())]
        loads = [e for n in nests_of([later]) for e in self._nest(n).loads.get(given, ())]
        if any(getattr(x, "gathered", ()) for x in stores) or any(e.gathered for e in loads):
            return False
        written, read = [s.offset.range() for s in stores], [e.offset.range() for e in loads]
        return all(high < start or end < low for low, high in written for start, end in read)

    def _reads_first(self, statement: Statement, out: Buffer, given: Buffer) -> bool:
        """Whether a statement that reads or writes `given` does so with each element before it writes that of `out`."""
        if isinstance(statement, Multiply | Lines):
            return False
        nests = statement.body if isinstance(statement, Rows) else (statement,)
        read_at, written_at = self._where(statement, nests)
        writing, reading, changing = written_at.get(out, []), read_at.get(given, []), written_at.get(given, [])
        if len(writing) != 1 or max(reading, default=-1) > writing[0] or max(changing, default=-1) >= writing[0]:
            return False
        if changing and isinstance(statement, Rows) and statement.axes:
            return False
        nest = self._nest(nests[writing[0]])
        place = nest.place(out)
        if place is None or (writing[0] in reading and not nest.same_turn(*place, given)):
            return False
        if not isinstance(statement, Rows):
            return True
        loads = [r for at in reading for r in self._nest(nests[at]).reads.get(given, ())]
        rows = [a for a in statement.axes if a.extent > 1]
        return all(same_row(r, row, place[0].offset, row) for r in loads for row in rows)

    def _where(
        self, statement: Statement, nests: Sequence[Nest]
    ) -> tuple[dict[Buffer, list[int]], dict[Buffer, list[int]]]:
        """In which of its nests a statement reads and writes each buffer."""
        if statement not in self._rows:
            found: tuple[dict[Buffer, list[int]], dict[Buffer, list[int]]] = {}, {}
            for at, nest in enumerate(nests):
                for where, buffers in zip(found, (self.read_by(nest), self.writes(nest)), strict=True):
                    for b in buffers:
                        where.setdefault(b, []).append(at)
            self._rows[statement] = found
        return self._rows[statement]


def nests_of(body: Sequence[Statement]) -> Iterator[Nest]:
    """The nests of statements."""
    for s in body:
        yield from s.body if isinstance(s, Rows) else (s,) if isinstance(s, Nest) else ()


class _Nest:
    """The accesses of one nest.

    loads    by buffer, what it reads of it; `reads` has the steps at which it does, too
    written  by buffer, what writes to it
    """

    def __init__(self, nest: Nest) -> None:
        self.nest, self.tested = nest, tested(nest)
        self.loads: dict[Buffer, list[Load]] = {}
        self.written: dict[Buffer, list[Store | Accumulate]] = {}
        for e in reachable(tops(nest)):
            if isinstance(e, Load):
                self.loads.setdefault(e.buffer, []).append(e)
        for s in (*nest.stores, *nest.folds, *nest.after):
            self.written.setdefault(s.buffer, []).append(s)
        self._all: dict[Buffer, list[Read]] | None = None
        self._turns: dict[bool, _Turn] = {}

    @property
    def reads(self) -> dict[Buffer, list[Read]]:
        if self._all is None:
            self._all = {}
            for r in reads(self.nest):
                self._all.setdefault(r.load.buffer, []).append(r)
        return self._all

    def place(self, out: Buffer) -> tuple[Store, _Turn] | None:
        """The store that writes a buffer, if one does and writes each element once, and the turn in which it does."""
        store, *more = self.written.get(out, [None])
        if more or not isinstance(store, Store) or store.fold or store.gathered:
            return None
        late = store not in self._turn(False).at
        return store, self._turn(late)

    def _turn(self, late: bool) -> _Turn:
        if late not in self._turns:
            kept = len(self.nest.axes) - self.nest.reduced
            group, axes = (self.nest.after, self.nest.axes[:kept]) if late else (self.nest.stores, self.nest.axes)
            self._turns[late] = _Turn(self.nest, group, axes)
        return self._turns[late]

    def same_turn(self, store: Store, turn: _Turn, given: Buffer) -> bool:
        """Whether a buffer is read only at the place that is written, before it is, and each place is written once."""
        offset, first = turn.first(given, self.loads[given])
        return offset == store.offset and first <= turn.at[store] and _once(store.offset, turn.axes)


class _Turn:
    """One turn of a nest: stores one after the other, then whatever else it makes.

    at      the number of each store
    safe    by load, the first store that may write where it reads: what is made after it does not need the load again
    """

    def __init__(self, nest: Nest, stores: Sequence[Store], axes: tuple[Axis, ...]) -> None:
        self.axes, self.at = axes, {s: k for k, s in enumerate(stores)}
        self._first: dict[Buffer, tuple[Affine | None, int]] = {}
        self._never = len(stores)
        numbers: dict[int, int] = {}
        for k, s in enumerate(stores):
            numbers.setdefault(id(s.value), k)
        late = sorted(tops(nest), key=lambda e: -numbers.get(id(e), self._never))
        last: dict[int, int] = {}
        guards: list[Guarded] = []
        for top in late:
            for e in _unseen(top, last, numbers.get(id(top), self._never), children):
                if isinstance(e, Guarded):
                    guards.append(e)
        inside: dict[int, int] = {}
        for e in guards:  # those that are made last come first
            _unseen(e.inside, inside, last[id(e)], children)
        known: dict[int, int] = {}
        for k, s in enumerate(stores):
            _unseen(s.value, known, k, _always)
        self.safe = {e: max(inside.get(e, -1), min(at, known.get(e, self._never))) for e, at in last.items()}

    def first(self, given: Buffer, loads: Sequence[Load]) -> tuple[Affine | None, int]:
        """The one place at which a buffer is read, None if there are several, and the first store that may be there."""
        if given not in self._first:
            offsets = {e.offset for e in loads}
            alone = len(offsets) == 1 and not any(e.gathered for e in loads)
            self._first[given] = next(iter(offsets)) if alone else None, max(self.safe[id(e)] for e in loads)
        return self._first[given]


def _unseen(
    top: Element, seen: dict[int, int], number: int, below: Callable[[Element], tuple[Element, ...]]
) -> list[Element]:
    """The elements below one that have no number yet: they get this one."""
    found: list[Element] = []
    stack = [top]
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen[id(e)] = number
            found.append(e)
            stack += below(e)
    return found


def _always(e: Element) -> tuple[Element, ...]:
    """What is made with an element whatever holds, and so known after it."""
    return (e.outside,) if isinstance(e, Guarded) else children(e)


def _once(offset: Affine, axes: Sequence[Axis]) -> bool:
    """Whether an offset is another one in every step of the axes."""
    reach = 1
    for factor, steps in sorted((abs(offset.factor(a)), a.extent) for a in axes if a.extent > 1):
        if factor < reach:
            return False
        reach += factor * (steps - 1)
    return True


__all__ = ["Access", "Statement", "nests_of"]
