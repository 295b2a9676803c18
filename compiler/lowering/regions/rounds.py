"""Loops: carries in registers, arrays that stay where they are or take turns with another place."""

from __future__ import annotations

from typing import Any

from ...bounds import interval
from ...ir.graph import Op, Value
from ...ir.measure import OpenExtent
from ...loops import Buffer, Element, Number, Variable
from ...ops.control import scan
from ..nests.roots import axes
from ..nests.roots import inside as statements_inside
from ..program import Carry, Loop, Pointer, Statement
from ..storage import nbytes
from .handing import Handing
from .state import Body, Known
from .steps import is_array
from .tapes import plus


def write_loop(body: Body, op: Op, at: int) -> None:
    """The statements of `op`, a scan or a loop."""
    _Rounds(body, op).write()


class _Rounds:
    """One loop: the arguments that are carried as numbers and as arrays, by the number of the carry."""

    def __init__(self, body: Body, op: Op) -> None:
        self.body, self.op = body, op
        self.prim = op.prim
        self.carried: tuple[Value, ...] = op.prim.carries(op)  # type: ignore[attr-defined]
        self.rest: tuple[Value, ...] = op.prim.rest(op)  # type: ignore[attr-defined]
        self.region = op.regions[0]
        handed_on = zip(self.region.params[1:], self.region.results, strict=False)
        self.still = {k for k, (p, r) in enumerate(handed_on) if p is r}
        self.count = body.number(op.args[0]) if op.prim is scan else None
        self.backwards = bool(op.attrs.get("backwards"))

    def write(self) -> None:
        """Append the loop, and what brings its results home."""
        body, op = self.body, self.op
        name = body.made.name
        starts: dict[int, Buffer] = {}
        inside: list[Known] = []
        owned: dict[Value, Buffer] = {}
        for k, (a, r) in enumerate(zip(self.carried, op.results, strict=False)):
            p = self.region.params[1 + k]
            if k in self.still:
                inside.append(body.env[a])
                body.env[r] = body.env[a]
            elif is_array(a.type):
                starts[k] = body.in_place_of(r, a)
                owned[p] = Buffer(name(p.hint or r.hint or "c"), a.type)
                inside.append(owned[p])
            else:
                inside.append(self._inside(a, p))
        high = None if self.count is None else _last(self.count)
        index = Variable(name(self.region.params[0].hint or "i"), "i64", 0, high)
        rest = [body.env[a] for a in self.rest]
        test, more = (), None
        if self.count is None:
            checked = body.inner(op.regions[1], [*inside, *rest], {})
            test, more = tuple(checked.out), checked.number(checked.graph.results[0])
        inner = body.inner(self.region, [index, *inside, *rest], owned)
        carries = self._carries(inner, inside)
        pointers = self._pointers(inner, {k: owned[self.region.params[1 + k]] for k in starts}, starts)
        rounds = None
        if self.count is None:
            rounds = body.env[op.results[-1]] = Variable(name(op.results[-1].hint or "rounds"), "i64", 0)
        moved = {k for k, p in pointers.items() if k in starts}
        for k in starts:
            if k not in moved:
                body.view(owned[self.region.params[1 + k]], starts[k])
        if index.name in {axis.name for s in statements_inside(inner.out) for axis in axes(s)}:
            index.name = name("round")
        statements = tuple(inner.out)
        if self.count is not None:
            statements, more_carries = self._handed_on(index, self.count, inner, carries, pointers)
            carries += more_carries
        body.out.append(Loop(index, self.count, self.backwards, carries, tuple(pointers.values()), statements, test,
                             more, rounds))
        self._bring_home([(starts[k], pointers[k].after) for k in sorted(moved)])

    def _handed_on(
        self, index: Variable, count: Element, inner: Body, carries: tuple[Carry, ...], pointers: dict[int, Pointer]
    ) -> tuple[tuple[Statement, ...], tuple[Carry, ...]]:
        """The body with elements in registers that one round writes and the next one reads, and what carries them."""
        first = plus(count, -1) if self.backwards else Number(0, "i64")
        handing = Handing(index, first, -1 if self.backwards else 1, inner.out, self.body.made.root)
        barred = {b for p in pointers.values() for b in (p.inside, p.next)}
        handing.hand_on(self.body.made.name, {c.inside for c in carries}, barred, self.body.out)
        return tuple(handing.body), tuple(handing.carries)

    def _bring_home(self, moves: list[tuple[Buffer, Buffer]]) -> None:
        """Bring arrays that took turns back to where they began: through other memory if there are several."""
        body = self.body
        if len(moves) > 1:
            held = [(home, body.memory(home.type)) for home, _ in moves]
            for (_, after), (_, other) in zip(moves, held, strict=True):
                body.copy(other, after)
            moves = held
        for home, source in moves:
            body.copy(home, source)

    def _inside(self, a: Value, p: Value) -> Known:
        known = self.body.env[a]
        name = Variable(self.body.made.name(p.hint or "c"), "i64" if a.type.is_tape else a.type.dtype)
        if isinstance(known, Element):
            return name
        name.low = 0
        return known._replace(bytes=name)  # type: ignore[union-attr]

    def _carries(self, inner: Body, inside: list[Known]) -> tuple[Carry, ...]:
        """The numbers, tops of tapes among them."""
        body, made = self.body, []
        for k, (a, r) in enumerate(zip(self.carried, self.op.results, strict=False)):
            if is_array(a.type) or k in self.still:
                continue
            start, here, last = body.env[a], inside[k], inner.env[inner.graph.results[k]]
            if a.type.is_tape:
                if last.tape is not start.tape:  # type: ignore[union-attr]
                    raise TypeError("a loop carries one tape and gives another")
                start, here, last = start.bytes, here.bytes, last.bytes  # type: ignore[union-attr]
            after = Variable(body.made.name(r.hint or here.name), here.dtype, here.low)  # type: ignore[union-attr]
            made.append(Carry(here, start, last, after))  # type: ignore[arg-type]
            body.env[r] = body.env[a]._replace(bytes=after) if a.type.is_tape else after  # type: ignore[union-attr]
        return tuple(made)

    def _pointers(self, inner: Body, owned: dict[int, Buffer], starts: dict[int, Buffer]) -> dict[int, Pointer]:
        """What is to be told apart from round to round: arrays that do not end where they began, and where they do.

        Memory in which one ends and none began is that in the next round of which one began and none ends.
        """
        body, used = self.body, set()
        ends: dict[int, Buffer] = {}
        for k in owned:
            r = inner.graph.results[k]
            lies = inner.own(r, used)
            if lies is None:
                lies = inner.memory(r.type)
                inner.copy(lies, inner.buffer(r))
            ends[k] = lies
        made: dict[int, Pointer] = {}
        free = [b for b in owned.values() if b not in ends.values()]
        for k, end in ends.items():
            if end is owned[k]:
                continue
            made[k] = Pointer(owned[k], starts[k], end, Buffer(body.made.name("after"), owned[k].type))
            if end in owned.values():
                continue
            other = next(b for b in free if nbytes(b) == nbytes(end))
            free.remove(other)
            del body.made.scratch[end]
            spare = body.memory(end.type)
            made[-1 - k] = Pointer(end, spare, other, Buffer(body.made.name("after"), end.type))
        for pointer in made.values():
            for b in (pointer.inside, pointer.after):
                body.made.base[b] = b
        return made


def _last(count: Element) -> Any:
    """The greatest index of a loop: a number, or an open extent."""
    if isinstance(count, Number) and isinstance(count.value, OpenExtent):
        return count.value - 1
    return max(interval(count)[1] - 1, 0)


__all__ = ["write_loop"]
