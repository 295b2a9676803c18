"""Which results may lie where inputs do.

A result may be the memory of an input of its type if every element of the input has been read before that element
of the result is written: in a statement before, or in the same turn of the same loops. Where that helps, statements
that write results are put behind those that read inputs. Scratch buffers follow one another by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from ..loops import Buffer, Load
from .access import Access, Statement, nests_of
from .nests.inside import children
from .program import InPlace, Nest, Store, tested


def in_place(
    body: Sequence[Statement], inputs: Sequence[Buffer], results: Sequence[Buffer]
) -> tuple[list[Statement], tuple[tuple[int, int], ...]]:
    """The statements in an order that suits, and (k, j) where result k may be the memory of input j."""
    candidates = _candidates(body, inputs, results)
    if not candidates:
        return list(_settled(body, set())), ()
    order = Order(body)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for k, j in candidates:
        if k not in pairs and j not in taken and order.allow(results[k], inputs[j]):
            pairs[k] = j
            taken.add(j)
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
    if not isinstance(e, Load) or e.gathered or store.gathered or store.fold or e.offset != store.offset:
        return None
    return store.buffer, e.buffer


# ---- which input for which result


def _candidates(
    body: Sequence[Statement], inputs: Sequence[Buffer], results: Sequence[Buffer]
) -> list[tuple[int, int]]:
    """Pairs to try: of a result, an input that is read where it is stored; those nearest in the expression first."""
    stored = {s.buffer: s for nest in nests_of(body) for s in (*nest.stores, *nest.after) if not s.gathered}
    types = {b.type for b in inputs}
    number = {b: j for j, b in enumerate(inputs)}
    ranked: list[tuple[int, int, int, int]] = []
    for k, out in enumerate(results):
        if out in stored and out.type in types:
            near = _depths(stored[out])
            mine = [(depth, b) for b, depth in near.items() if b in number and b.type == out.type]
            ranked += [(depth, order, k, number[b]) for order, (depth, b) in enumerate(mine)]
    return [(k, j) for _, _, k, j in sorted(ranked)]


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
        self.body, self.access = body, Access()
        self.after: list[set[int]] = [set() for _ in body]
        self.readers: dict[Buffer, list[int]] = {}
        self.writers: dict[Buffer, list[int]] = {}
        last: dict[Buffer, list[int]] = {}  # readers since the last writer
        for at, statement in enumerate(body):
            read, written = self.access.read_by(statement), self.access.writes(statement)
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
        self.failing = [at for at, s in enumerate(body) if asserts and any(n.asserts for n in nests_of([s]))]

    def allow(self, out: Buffer, given: Buffer) -> bool:
        """Let `out` be the memory of `given`, if it may."""
        changes = self.writers.get(given, [])
        idle = set() if changes else {at for at in self.writers.get(out, ()) if copied(self.body[at]) == (out, given)}
        writers, readers = (
            [at for at in used.get(b, ()) if at not in idle] for used, b in ((self.writers, out), (self.readers, given))
        )
        readers += changes
        both = set(readers).intersection(writers)
        before = {*readers, *self.failing} - both
        if not (writers or idle) or not both.isdisjoint(self.failing) or before & self._following(writers):
            return False
        if both and not self.access.read_first([self.body[at] for at in writers], out, given):
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


__all__ = ["Order", "copied", "in_place"]
