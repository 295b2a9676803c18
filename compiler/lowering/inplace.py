"""Which results may lie where inputs do.

A result may be the memory of an input of its type if every element of the input has been read before that element
of the result is written: in a statement before, or in the same turn of the same loops. Where that helps, statements
that write results are put behind those that read inputs. Scratch buffers follow one another by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from ..loops import Affine, Axis, Buffer, Element, Guarded, Load
from .fuse import children, reachable
from .program import InPlace, Lines, Multiply, Nest, Rows, Store, tested, tops
from .reads import reads, same_row

Statement = Nest | Rows | Multiply | Lines


def in_place(
    body: Sequence[Statement], inputs: Sequence[Buffer], results: Sequence[Buffer]
) -> tuple[list[Statement], tuple[tuple[int, int], ...]]:
    """The statements in an order that suits, and (k, j) where result k may be the memory of input j."""
    candidates = _candidates(body, inputs, results)
    if not candidates:
        return list(_settled(body, set())), ()
    order = Order(body)
    pairs: dict[int, int] = {}
    for k, j in candidates:
        if k not in pairs and j not in pairs.values() and order.allow(results[k], inputs[j]):
            pairs[k] = j
    found = {(results[k], inputs[j]) for k, j in pairs.items()}
    return list(_settled(order.statements(), found)), tuple(sorted(pairs.items()))


def _settled(body: Sequence[Statement], pairs: set[tuple[Buffer, Buffer]]) -> Iterator[Statement]:
    """The statements, of which those that copy an input do not run where it is there already."""
    for s in body:
        buffers = copied(s)
        if buffers is not None:
            assert isinstance(s, Nest)
            yield replace(s, cases=((InPlace(*buffers), False),) if buffers in pairs else ())
        else:
            yield s


def copied(s: Statement) -> tuple[Buffer, Buffer] | None:
    """Where to and where from a nest copies, if it does nothing else."""
    if not isinstance(s, Nest) or len(s.stores) != 1 or s.folds or s.asserts or tested(s):
        return None
    (store,) = s.stores
    e = store.value
    if not isinstance(e, Load) or e.gathered or store.gathered or store.add or e.offset != store.offset:
        return None
    return store.buffer, e.buffer


# ---- which input for which result


def _candidates(
    body: Sequence[Statement], inputs: Sequence[Buffer], results: Sequence[Buffer]
) -> list[tuple[int, int]]:
    """Pairs to try: of a result, an input that is read where it is stored; those nearest in the expression first."""
    stored = {s.buffer: s for nest in _nests(body) for s in (*nest.stores, *nest.after) if not s.gathered}
    types = {b.type for b in inputs}
    number = {b: j for j, b in enumerate(inputs)}
    ranked: list[tuple[int, int, int, int]] = []
    for k, out in enumerate(results):
        if out in stored and out.type in types:
            near = _depths(stored[out])
            mine = [(depth, b) for b, depth in near.items() if b in number and b.type == out.type]
            ranked += [(depth, order, k, number[b]) for order, (depth, b) in enumerate(mine)]
    return [(k, j) for _, _, k, j in sorted(ranked)]


def _nests(body: Sequence[Statement]) -> Iterator[Nest]:
    for s in body:
        yield from s.body if isinstance(s, Rows) else (s,) if isinstance(s, Nest) else ()


def _depths(s: Store) -> dict[Buffer, int]:
    """How far below the top of a stored element other buffers are read at the same place; the leftmost come first."""
    found: dict[Buffer, int] = {}
    seen: set[int] = set()
    level, depth = [s.value], 0
    while level:
        below = []
        for e in level:
            if isinstance(e, Load) and not e.gathered and e.offset == s.offset:
                found.setdefault(e.buffer, depth)
            if id(e) not in seen:
                seen.add(id(e))
                below += children(e)
        level, depth = below, depth + 1
    return found


# ---- order


class Order:
    """What must run before what; pairs that are allowed add to it.

    asserts  whether what is overwritten must be whole if an assertion fails
    """

    def __init__(self, body: Sequence[Statement], asserts: bool = True) -> None:
        self.body = body
        self.after: list[set[int]] = [set() for _ in body]
        self.readers: dict[Buffer, list[int]] = {}
        self.writers: dict[Buffer, list[int]] = {}
        last: dict[Buffer, list[int]] = {}  # readers since the last writer
        for at, statement in enumerate(body):
            read, written = read_by(statement), writes(statement)
            for b in read | written:
                for before in self.writers.get(b, ())[-1:]:
                    self.after[before].add(at)
            for b in written:
                for before in last.pop(b, ()):
                    self.after[before].add(at)
                self.writers.setdefault(b, []).append(at)
            for b in read:
                self.readers.setdefault(b, []).append(at)
                last.setdefault(b, []).append(at)
        for each in range(len(body)):
            self.after[each].discard(each)
        self.failing = [at for at, s in enumerate(body) if asserts and any(n.asserts for n in _nests([s]))]

    def allow(self, out: Buffer, given: Buffer) -> bool:
        """Let `out` be the memory of `given`, if it may."""
        idle = {at for at, s in enumerate(self.body) if copied(s) == (out, given)}
        changes = self.writers.get(given, [])
        idle = set() if changes else idle
        writers, readers = (
            [at for at in used.get(b, ()) if at not in idle] for used, b in ((self.writers, out), (self.readers, given))
        )
        readers += changes
        both = set(readers).intersection(writers)
        before = {*readers, *self.failing} - both
        if not (writers or idle) or not both.isdisjoint(self.failing) or before & self._following(writers):
            return False
        if both and not read_first([self.body[at] for at in writers], out, given):
            return False
        for at in before:
            self.after[at].update(writers)
        return True

    def _following(self, first: Sequence[int]) -> set[int]:
        """The statements that must run after some, and these."""
        found, stack = set(first), list(first)
        while stack:
            for at in self.after[stack.pop()]:
                if at not in found:
                    found.add(at)
                    stack.append(at)
        return found

    def statements(self) -> list[Statement]:
        """The statements in order; where there is a choice, as they were."""
        waits = [0] * len(self.body)
        for following in self.after:
            for at in following:
                waits[at] += 1
        ready = [at for at, n in enumerate(waits) if not n]
        heapify(ready)
        order: list[Statement] = []
        while ready:
            at = heappop(ready)
            order.append(self.body[at])
            for following in self.after[at]:
                waits[following] -= 1
                if not waits[following]:
                    heappush(ready, following)
        return order


def read_by(statement: Statement) -> set[Buffer]:
    """What a statement reads; what it adds to is among that which it writes."""
    if isinstance(statement, Multiply):
        return {statement.left.buffer, statement.right.buffer}
    read: set[Buffer] = set()
    for nest in _nests([statement]):
        read |= {e.buffer for e in reachable(tops(nest)) if isinstance(e, Load)}
        read |= tested(nest)
    return read


def writes(statement: Statement) -> set[Buffer]:
    """What a statement writes."""
    if isinstance(statement, Multiply):
        return {statement.out.buffer}
    if isinstance(statement, Lines):
        return {statement.frame, *(buffer for buffer, _ in statement.stores)}
    return {s.buffer for nest in _nests([statement]) for s in (*nest.stores, *nest.folds, *nest.after)}


# ---- within statements


def read_first(statements: Sequence[Statement], out: Buffer, given: Buffer) -> bool:
    """Whether statements, run one after the other, read each element of `given` before that of `out` is written."""
    for at, s in enumerate(statements):
        if out in writes(s):
            if given in read_by(s) | writes(s) and not _reads_first(s, out, given):
                return False
            if any(given in writes(later) for later in statements[at + 1 :]):
                return False
            if any(given in read_by(later) and not _apart(s, later, out, given) for later in statements[at + 1 :]):
                return False
    return True


def _apart(first: Statement, later: Statement, out: Buffer, given: Buffer) -> bool:
    """Whether what one statement writes ends before that begins which another one reads, or begins after it ends."""
    stores = [s for n in _nests([first]) for s in (*n.stores, *n.after, *n.folds) if s.buffer is out]
    loads = [e for n in _nests([later]) for e in reachable(tops(n)) if isinstance(e, Load) and e.buffer is given]
    if any(isinstance(s, Multiply | Lines) for s in (first, later)) or any(getattr(x, "gathered", ()) for x in stores):
        return False
    if any(e.gathered for e in loads):
        return False
    written, read = [s.offset.range() for s in stores], [e.offset.range() for e in loads]
    return all(high < start or end < low for low, high in written for start, end in read)


@dataclass(frozen=True)
class _Place:
    """Where a nest writes a result: a store, those that are made in the same turn before it, and all it makes else."""

    store: Store
    before: list[Element]
    others: list[Element]
    axes: tuple[Axis, ...]


def _reads_first(statement: Statement, out: Buffer, given: Buffer) -> bool:
    """Whether a statement that reads or writes `given` has done so with each element before it writes that of `out`."""
    if isinstance(statement, Multiply | Lines):
        return False
    nests = statement.body if isinstance(statement, Rows) else (statement,)
    writing = [at for at, nest in enumerate(nests) if out in writes(nest)]
    reading = [at for at, nest in enumerate(nests) if given in read_by(nest)]
    changing = [at for at, nest in enumerate(nests) if given in writes(nest)]
    if len(writing) != 1 or max(reading, default=-1) > writing[0] or max(changing, default=-1) >= writing[0]:
        return False
    if changing and isinstance(statement, Rows) and statement.axes:
        return False
    place = _place(nests[writing[0]], out)
    if place is None or (writing[0] in reading and not _same_turn(place, given)):
        return False
    if not isinstance(statement, Rows):
        return True
    loads = [r for at in reading for r in reads(nests[at]) if r.load.buffer is given]
    rows = [a for a in statement.axes if a.extent > 1]
    return all(same_row(r, row, place.store.offset, row) for r in loads for row in rows)


def _place(nest: Nest, out: Buffer) -> _Place | None:
    """Where a nest writes a result, if one store writes each element once."""
    stores = [s for s in (*nest.stores, *nest.after) if s.buffer is out]
    if len(stores) != 1 or stores[0].add or stores[0].gathered or any(f.buffer is out for f in nest.folds):
        return None
    (store,) = stores
    kept = len(nest.axes) - nest.reduced
    group, axes = (nest.stores, nest.axes) if store in nest.stores else (nest.after, nest.axes[:kept])
    before = [s.value for s in group[: group.index(store) + 1]]
    mine = {id(e) for e in before}
    return _Place(store, before, [e for e in tops(nest) if id(e) not in mine], axes)


def _same_turn(place: _Place, given: Buffer) -> bool:
    """Whether an input is read only at the place that is written, before it is, and each place is written once."""
    early = [e for e in reachable(place.before) if isinstance(e, Load) and e.buffer is given]
    if any(e.gathered or e.offset != place.store.offset for e in early):
        return False
    known, late = _always(place.before), reachable(place.others)
    for e in reachable([e.inside for e in late if isinstance(e, Guarded)]):
        if isinstance(e, Load) and e.buffer is given:
            return False
    known_late = all(id(e) in known for e in late if isinstance(e, Load) and e.buffer is given)
    return known_late and _once(place.store.offset, place.axes)


def _always(made: Sequence[Element]) -> set[int]:
    """The elements that are made with others whatever holds, and so known after them."""
    found: set[int] = set()
    stack = list(made)
    while stack:
        e = stack.pop()
        if id(e) not in found:
            found.add(id(e))
            stack += [e.outside] if isinstance(e, Guarded) else children(e)
    return found


def _once(offset: Affine, axes: Sequence[Axis]) -> bool:
    """Whether an offset is another one in every step of the axes."""
    reach = 1
    for factor, steps in sorted((abs(offset.factor(a)), a.extent) for a in axes if a.extent > 1):
        if factor < reach:
            return False
        reach += factor * (steps - 1)
    return True


__all__ = ["Order", "Statement", "copied", "in_place", "read_first", "writes"]
