"""Calls of users' `autograd.Function`s as events of a trace: what `forward` computed becomes the result of a node.

    y = Cube.apply(x)     forward(ctx, x)      Python code, whose calls are recorded like any other
                          join((x,), (y,))     an event: from here on y has a history, in which one node leads to x
    loss.backward()       carry(loss)          pauses at the node, see in_parts.py
                          backward(ctx, g)     Python code again

What was called is no part of the trace: a `Joined` beside it tells, in a table by the number of the first result.  Its
tensors are let go once backward has passed, so that none of them is wanted at the end of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..calls.calls import recorded
from ..trace.tape import Tape, tapes
from ..value.cells import Cell
from ..value.core import Core
from ..value.slots import HISTORY, LEAF, PART, SPECIAL, VIEWED
from .hooks import attached_to
from .modes import watch


class Joined:
    """A call of a Function.

    serial, number   of its first result, on the tape
    make             (itself, edges) -> the node that the results get
    back             (itself, cotangents or None) -> the gradients of the arguments, or None, by the user's backward
    ctx              what forward handed to backward
    inputs           which arguments require gradients
    kept             the tensors that forward saved, each with the version that it had then
    """

    def __init__(self, make: Callable[..., Any], back: Callable[..., Any], ctx: Any, inputs: list[int]) -> None:
        self.make, self.back, self.ctx, self.inputs = make, back, ctx, inputs
        self.serial = self.number = -1
        self.kept: tuple[tuple[Any, int], ...] = ()
        self.note(ctx._kept)

    def note(self, kept: Sequence[Any]) -> None:
        """Note what was saved as it is now."""
        self.kept = tuple([(t, _version(t)) for t in kept])

    def is_as_saved(self) -> bool:
        """Whether nobody has written to what forward saved."""
        return all(_version(t) == version for t, version in self.kept)

    def saved(self) -> tuple[Any, ...]:
        return tuple([t for t, _ in self.kept])

    def pull(self, cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of the arguments, None where there is none; the tensors of the call are let go then."""
        ctx = self.ctx
        if type(ctx)._is_spent:
            pass  # it tells so where it is asked for tensors
        elif self.is_as_saved():
            ctx._at_hand = self.saved()
        else:
            tapes.tape.catch_up()  # whoever reads what was written to hears of it
        try:
            made = self.back(self, cotangents)
        finally:
            ctx._at_hand = None
        self.kept = ()
        self.ctx = ctx._spent()
        return made


def _version(t: Any) -> int:
    """How often backward knows that a tensor was written to."""
    return 0 if t is None else t._written if t._storage is None else t._storage.version


def is_joinable(ctx: Any, args: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether a call of a Function is as usual: its results are new, and are values of the trace under way."""
    tape = tapes.tape
    if tape.depth or tape.again is not None or tape.state.blurred or watch.packers:
        return False
    if ctx._dirty or ctx._constant or len({id(r) for r in results}) < len(results):
        return False
    arguments = {id(a) for a in args}
    return (
        all(_is_new(r, tape) and id(r) not in arguments for r in results)
        and all(_is_plain(t) for t in (*args, *results, *ctx._kept) if isinstance(t, Core))
        and not any(t is not None and t._flags & (SPECIAL | PART) for t in ctx._kept)
    )


def _is_plain(t: Any) -> bool:
    """Whether a tensor has one value: no tangent, and not another one for each example of a batch."""
    return t._is_late or type(t._cell) is Cell


def _is_new(t: Any, tape: Tape) -> bool:
    """Whether a tensor is a value of the trace that shares its memory with nobody and has no history."""
    if not isinstance(t, Core) or t._storage is not None or t._flags & (SPECIAL | PART | VIEWED | LEAF | HISTORY):
        return False
    if not t._is_late and t._node is not None:
        return False
    here = t._serial == tape.serial and t._number < tape.count and tape.value(t._number) is t
    return here and t._kind_of().is_float


_joining: dict[int, Joined] = {}
"""By the id of a tape, the call that is about to be an event of it."""


def join(joined: Joined, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Give the results their history, as an event if that can be."""
    tape, first = tapes.tape, results[0]
    _joining[id(tape)] = joined
    try:
        JOIN(tuple([args[k] for k in joined.inputs]), tuple(results))
    finally:
        del _joining[id(tape)]
    for t in results:
        t._written -= 1  # for the trace they took other values, and for users nobody wrote to them
    if first._serial == tape.serial and tape.value(first._number) is first and joined.serial:
        joined.serial, joined.number = tape.serial, first._number
        joined.note(joined.saved())
        attached_to(tape)[first._number] = joined
    else:
        first._node.joined, first._node.serial = None, 0


def _join(inputs: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    tape: Any = tapes.tape
    again = tape.again
    if again is None:
        joined = _joining[id(tape)]
    else:
        joined = attached_to(again.tape)[again.call.number(again.call.template.assigns[0][1])]
    node = joined.make(joined, [t._edge() for t in inputs])
    node.serial = (tape if again is None else again.tape).serial
    for k, t in enumerate(results):
        if tape.call is not None:
            tape.call.wrote(t)
        t._node, t._index = node, k
        t._written += 1  # as the trace counts it
    tape.noded = True
    if tape.call is not None:
        tape.call.has_nodes = True
    elif again is None:
        joined.serial = 0  # the call is no event


JOIN = recorded(_join)

__all__ = ["Joined", "is_joinable", "join"]
