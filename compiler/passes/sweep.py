"""A reverse sweep over one body: forward operations as they stand or split, then their pullbacks in opposite order.

A pullback gives cotangents to be added to what the arguments have. Where adding would cost as much as the whole
array, it takes the running cotangent of an argument, changes a part, and puts it back: the pullback of `read` is a
`bump` of it, that of `update` reads and clears a part.

A value that is used only where a mask holds gets a cotangent that is zero elsewhere, even where its local
derivative is infinite or NaN: the mask travels with the cotangent, and the local derivative is taken at a safe
argument outside it.  Multiplying a zero by an infinity is thereby avoided at every order, which a rule "zero
times anything is zero" would not do: its own derivative with respect to the cotangent would be wrong at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from ..ir.graph import Builder, Op, Value
from ..ir.types import Type
from ..ops.elementwise import add, or_
from ..ops.memory import bump, read, update
from ..ops.shape import slice_
from ..ops.source import number
from ..ops.tape import new_tape, pop, push
from .activity import Flow, useful, varied
from .cut import at_hand
from .masks import after_steep, guard, hidden, masks


class Cotangent(NamedTuple):
    """A cotangent and, unless None, where it can differ from zero."""

    value: Value
    mask: Value | None


Pull = Callable[[Sequence[Cotangent | None]], None]
Split = Callable[["Sweep", Op], "Pull | None"]

class Sweep:
    """The state of a sweep in the builder `b`, and the running cotangents.

    above, below   in a region, the tape that the forward part pushes to and the one that the backward part pops from
    free           in a region, what its backward part has without its having been saved
    taken          arrays whose memory later operations take over
    hidden         values whose cotangents will have masks
    split          replaces an operation with regions by its forward part, and returns what emits its backward part
    steep          what comes after a slope that may be infinite
    sharp          the masks of max and min count as those of choices do, and go with what tapes hold (see `is_sharp`)
    """

    def __init__(self, b: Builder, flow: Flow, split: Split, sharp: bool = False) -> None:
        self.b, self.flow, self.split, self.sharp = b, flow, split, sharp
        self.running: dict[Value, Cotangent] = {}
        self.varied: set[Value] = set()
        self.useful: set[Value] = set()
        self.above: Value | None = None
        self.below: Value | None = None
        self.free: set[Value] | None = None
        self.taken: set[Value] = set()
        self.hidden: set[Value] = set()
        self.steep: set[Value] = set()
        self.made: dict[Value, Op] = {}
        self._pulls: list[tuple[Op, Pull | None]] = []

    def active(self, value: Value) -> bool:
        """Whether a derivative passes through `value`."""
        return value in self.varied

    # ---- running cotangents

    def take(self, value: Value) -> Value:
        """The running cotangent of `value`, which nobody else has now; zeros if there is none."""
        return self.taking(value).value

    def taking(self, value: Value) -> Cotangent:
        """The same with its mask; zeros differ from zero nowhere."""
        return self.filled(self.running.pop(value, None), value.type)

    def filled(self, ct: Cotangent | None, type: Type) -> Cotangent:
        """A cotangent, or zeros."""
        if ct is not None:
            return ct
        return Cotangent(self.zeros(type), None if type.is_tape else number(self.b, False, Type("bool", type.shape)))

    def masks(self, cts: Iterable[Cotangent]) -> list[Value]:
        """Where they can differ from zero."""
        return [number(self.b, True, Type("bool", c.value.type.shape)) if c.mask is None else c.mask for c in cts]

    def put(self, value: Value, ct: Value) -> None:
        """The running cotangent that was taken, changed."""
        if self.active(value):
            self.running[value] = Cotangent(ct, None)

    def give(self, value: Value, ct: Value | None, mask: Value | None = None) -> None:
        """Add a cotangent to what `value` has."""
        if ct is None or not self.active(value):
            return
        have = self.running.get(value)
        if have is None:
            self.running[value] = Cotangent(ct, mask)
            return
        if have.mask is None or mask is None:
            mask = None
        elif have.mask is not mask:
            mask = or_(self.b, have.mask, mask)
        self.running[value] = Cotangent(add(self.b, have.value, ct), mask)

    def zeros(self, type: Type) -> Value:
        """The cotangent of what nobody read."""
        return new_tape(self.b) if type.is_tape else number(self.b, 0, type)

    # ---- the two directions

    def forward(
        self, body: Sequence[Op], sources: Collection[Value], targets: Collection[Value], masked: Collection[Value] = ()
    ) -> None:
        """Emit the operations of `body`, those with regions as their forward parts.

        The cotangents of the targets `masked` will come with masks.
        """
        self.varied = self.useful = varied(body, sources, self.flow)
        if any(op.regions for op in body):
            self.useful = useful(body, targets, self.flow)
            self.made = {op.results[0]: op for op in body if len(op.results) == 1}
            self.taken = {a for op in body for a in self.flow.writes.taken_over(op)}
            self.free = None if self.free is None else at_hand(body, self.free)
            self.steep = after_steep(body, () if self.above is None else sources) if self.sharp else set()
            if masked or self.sharp or any(op.prim.chooses for op in body):
                self.hidden = hidden(body, self.varied, targets, masked, self.sharp)
        for op in body:
            self.b.where = op.where
            pull = self.split(self, op) if op.regions and any(map(self.active, op.args)) else None
            if pull is None:
                self.b.append(op)
            self._pulls.append((op, pull))

    def backward(self, wanted: Iterable[Value] = ()) -> None:
        """Emit the pullbacks; the cotangents of the values wanted are kept, those of other results given up.

        In a region what has been pushed must be popped, though no cotangent comes.
        """
        keep = set(wanted)
        for op, pull in reversed(self._pulls):
            cts = [(self.running.get if r in keep else self.running.pop)(r, None) for r in op.results]
            if any(cts) or (pull is not None and self.above is not None) or self._popped(op):
                self.b.where = op.where
                if pull is not None:
                    pull(cts)
                else:
                    self._pull(op, cts)
        self.b.where = None

    def _popped(self, op: Op) -> bool:
        """Whether `op` pops records that a derivative passes through, and so must push cotangents for all of them."""
        if op.prim is not pop and not op.regions:
            return False
        return any(op.args[k] in self.varied and op.args[k] in self.useful for k, _ in self.flow.popping(op))

    def _pull(self, op: Op, cts: Sequence[Cotangent | None]) -> None:
        mask = cts[0].mask if len(cts) == 1 and cts[0] else None
        local = op if mask is None or op.prim.bounded else guard(self.b, op, mask)
        if self.sharp and op.prim.takes:
            masked = {push: self._pull_push, pop: self._pull_pop, read: self._pull_read}
            masked.get(op.prim, self._pull_write)(op, cts)
            return
        values = [c and c.value for c in cts]
        if op.prim.takes:
            op.prim.pull_into(self.b, local, values, self)
            return
        if mask is None and values[0] is not None and self.sharp and op.prim is slice_:
            mask = number(self.b, True, Type("bool", op.results[0].type.shape))
        pulled = op.prim.pull(self.b, local, values)
        for a, ct, m in zip(op.args, pulled, masks(self.b, op, mask), strict=True):
            self.give(a, ct, m)

    # ---- parts of arrays: what nobody reads of an array, or what is overwritten, is zero, element by element

    def _pull_read(self, op: Op, cts: Sequence[Cotangent | None]) -> None:
        (ct,), (x, *starts) = cts, op.args
        if ct is None or not self.active(x):
            return
        whole, mask = self.taking(x)
        if mask is not None:
            (here,) = self.masks([ct])
            if ct.mask is not None:
                here = or_(self.b, read(self.b, mask, *starts, **op.attrs), here)
            mask = update(self.b, mask, here, *starts, **op.attrs)
        self.running[x] = Cotangent(bump(self.b, whole, ct.value, *starts, **op.attrs), mask)

    def _pull_write(self, op: Op, cts: Sequence[Cotangent | None]) -> None:
        (ct,), (x, v, *starts) = cts, op.args
        if ct is None:
            return
        if self.active(v):
            mask = ct.mask and read(self.b, ct.mask, *starts, **op.attrs)
            self.give(v, read(self.b, ct.value, *starts, **op.attrs), mask)
        if op.prim is bump:
            self.give(x, ct.value, ct.mask)
        elif self.active(x):
            (mask,) = self.masks([ct])
            rest = [update(self.b, each, number(self.b, 0, v.type.with_dtype(each.type.dtype)), *starts, **op.attrs)
                    for each in (ct.value, mask)]
            self.give(x, *rest)

    # ---- records of tapes: their cotangents go from one loop to another, and their masks with them

    def _pull_pop(self, op: Op, cts: Sequence[Cotangent | None]) -> None:
        below, *records = cts
        tape = new_tape(self.b) if below is None else below.value
        floats = [self.filled(ct, v.type) for v, ct in zip(op.results[1:], records, strict=True) if v.type.is_float]
        if floats:
            tape = push(self.b, tape, *(ct.value for ct in floats), *self.masks(floats))
        self.give(op.args[0], tape)

    def _pull_push(self, op: Op, cts: Sequence[Cotangent | None]) -> None:
        (ct,), (tape, *values) = cts, op.args
        if ct is None:
            return
        floats, below = [v for v in values if v.type.is_float], ct.value
        if floats:
            types = (*(v.type for v in floats), *(v.type.with_dtype("bool") for v in floats))
            below, *made = self.b.emit(pop, below, types=types)
            for v, each, mask in zip(floats, made, made[len(floats) :], strict=False):
                self.give(v, each, mask)
        self.give(tape, below)


__all__ = ["Cotangent", "Pull", "Split", "Sweep"]
