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

import numpy as np

from ..ir.graph import Builder, Op, Value
from ..ir.types import Type
from ..ops.elementary import arctan2
from ..ops.elementwise import Elementwise, add, cast, div, ne, or_, select
from ..ops.scipy.called import Called
from ..ops.scipy.special import Special
from ..ops.source import const, number
from ..ops.tape import new_tape, pop, push
from .activity import Flow, useful, varied
from .cut import at_hand


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
        self, body: Sequence[Op], sources: Iterable[Value], targets: Collection[Value], masked: Collection[Value] = ()
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
        if self.sharp and op.prim in (push, pop):
            (self._pull_push if op.prim is push else self._pull_pop)(op, cts)
            return
        values = [c and c.value for c in cts]
        if op.prim.takes:
            op.prim.pull_into(self.b, local, values, self)
            return
        pulled = op.prim.pull(self.b, local, values)
        for a, ct, m in zip(op.args, pulled, masks(self.b, op, mask), strict=True):
            self.give(a, ct, m)

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


def is_sharp(body: Sequence[Op]) -> bool:
    """Whether something is hidden, and a loop or branch has a slope that may be infinite or NaN at ordinary numbers."""
    inner, pending = list[Op](), [g for op in body for g in op.regions]
    while pending:
        region = pending.pop()
        inner += region.body
        pending += [g for op in region.body for g in op.regions]
    return any(op.prim.hides for op in (*body, *inner)) and _is_steep(inner) if inner else False


def _is_steep(body: Iterable[Op]) -> bool:
    """Whether an operation has such a slope; a division by a number has none."""
    numbers: set[Value] = set()
    for op in body:
        if op.prim is const:
            numbers.update(op.results)
        elif op.results and op.results[0].type.is_float and not (op.prim is div and op.args[1] in numbers):
            if isinstance(op.prim, (Special, Called)) or op.prim is arctan2:
                return True
            if isinstance(op.prim, Elementwise) and op.prim.domain != "real":
                return True
    return False


def hidden(
    body: Sequence[Op], varied: Collection[Value], targets: Iterable[Value], masked: Collection[Value],
    sharp: bool = False,
) -> set[Value]:
    """The values whose cotangents will have masks, as far as operations tell before their pullbacks are made.

    Such a mask goes into loops and comes out of them, where it costs a choice for each factor. A choice that the user
    wrote is worth that always, max and min and what a tape holds where a slope may be infinite: if `sharp`.
    """
    found: dict[Value, bool] = {}
    for v in targets:
        found[v] = v in masked and found.get(v, True)
    for op in reversed(body):
        if sharp and op.regions:
            found.update((r, True) for r in op.results if r not in found and r.type.is_float)  # zeros come to it
        given = [found[r] for r in op.results if r in found]
        if given:
            passes = op.prim.linear or bool(op.regions) or isinstance(op.prim, Elementwise)
            mask = op.prim.chooses or (sharp and (op.prim.hides or op.prim is push)) or (passes and all(given))
            found.update((a, mask and found.get(a, True)) for a in op.args if a in varied)
    return {v for v, mask in found.items() if mask}


def guard(b: Builder, op: Op, mask: Value) -> Op:
    """`op` with safe arguments, and the results they have, wherever `mask` does not hold."""
    if not isinstance(op.prim, (Elementwise, Special, Called)):  # a mask says nothing about arguments of other elements
        return op
    prim = op.prim
    safe = [np.array(prim.safe, a.type.numpy) for a in op.args]
    results = prim.evaluate(safe, op.attrs, ())

    def keep(value: Value, other: np.ndarray) -> Value:
        return select(b, mask, value, number(b, np.asarray(other).item(), value.type))

    return Op(
        prim,
        tuple(keep(a, s) for a, s in zip(op.args, safe, strict=True)),
        op.attrs,
        op.regions,
        tuple(keep(r, s) for r, s in zip(op.results, results, strict=True)),
        op.where,
    )


def masks(b: Builder, op: Op, mask: Value | None) -> Sequence[Value | None]:
    """Where the arguments' cotangents can differ from zero, as far as it is known."""
    if mask is None:
        if not op.prim.hides:
            return [None] * len(op.args)
        mask = number(b, True, Type("bool", op.results[0].type.shape))
    if op.prim.linear:
        as_float = cast(b, mask, dtype=op.results[0].type.dtype)
        (pulled, *rest) = op.prim.pull(b, op, [as_float])
        if pulled is None:
            return [None] * len(op.args)
        return [ne(b, pulled, number(b, 0, pulled.type)), *([None] * len(rest))]
    return op.prim.masks(b, op, mask)


__all__ = ["Cotangent", "Pull", "Split", "Sweep", "guard", "hidden", "is_sharp", "masks"]
