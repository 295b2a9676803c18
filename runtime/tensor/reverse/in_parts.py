"""Backward where tensors have hooks: it is recorded in parts, between which the hooks run.

    loss.backward()      carry(loss)       down to the first leaf with hooks: what its gradient will be
                         hook(gradient)    Python code, whose calls are recorded like any other
                         carry_on(made)    adds that to the leaf's gradient
                         carry_on(None)    down to the next such leaf, or the end

Each part is a call that is an event, so a step with hooks is still one trace.  Where a part is new, nodes are walked;
where all are known, there are none.  What a part that has run left for the next one is a walk that pauses; where the
parts before were only recognised, catching up runs them again, which makes it.

Results of the trace may have hooks, too, or keep their gradient.  That they do is an event of its own (`WATCH`), so
that backward is recognised only where the same results are watched; who waits there is no part of it.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import WeakValueDictionary, ref

from ..calls.calls import recorded
from ..trace.tape import Tape, tapes
from ..value.cells import Cell
from ..value.core import Core, wrap
from ..value.slots import HOOKED
from .accumulate import keep, tensor_of
from .backward import Walk, go_on, roots_of, walk
from .hook_calls import call_posts, checked
from .hooks import RemovableHandle, Watched
from .modes import mode
from .nodes import Node

_hooked: WeakValueDictionary[int, Core] = WeakValueDictionary()
"""Leaves that have hooks."""


def note_hooks(leaf: Core, handle: RemovableHandle) -> None:
    """Note that a leaf has hooks, until the last is removed. A trace in which that changes is recognised no more."""
    leaf._flags |= HOOKED
    _hooked[id(leaf)] = leaf
    tapes.tape.blur()
    handle._then = partial(_look_again, ref(leaf))


def _look_again(known: ref[Core]) -> None:
    leaf = known()
    if leaf is not None and not leaf._hooks and not leaf._posts:
        tapes.tape.catch_up()  # which may run parts again that have paused there
        leaf._flags &= ~HOOKED
        _hooked.pop(id(leaf), None)
        tapes.tape.blur()

BEFORE, AFTER, RESULT = "before", "after", "result"


class BackwardParts:
    """Walks under way: of the backward at each level, one inside of another's hooks, and the nodes that it comes to.

    level    how many are under way
    paused   where the part that ran last has paused
    """

    def __init__(self) -> None:
        self.walks: list[tuple[Walk, set[Node]]] = []
        self.level, self.paused = 0, NOT_RUN


NOT_RUN: Any = object()


def _carry(root: Any, level: int) -> Any:
    """Carry the cotangent of a scalar back until hooks of a leaf are to run; the gradient that arrives there."""
    parts, task = _parts(), set[Node]()
    parts.walks[level:] = [(walk(roots_of([root], [None], False), False, False, None, False, {}, task), task)]
    return _until_pause(parts, level, None)


def _carry_on(made: Any, level: int) -> Any:
    """Go on after a pause, with the gradient that hooks have made of what arrived at the leaf; None after its hooks."""
    tape = tapes.tape
    if tape.call is None and tape.again is None:
        tape.catch_up()
    return _until_pause(_parts(), level, None if made is None else (made._read(), None))


def _parts() -> BackwardParts:
    tape: Any = tapes.tape
    if tape.parts is None:
        tape.parts = BackwardParts()
    return tape.parts


def _until_pause(parts: BackwardParts, level: int, flow: tuple[Cell, None] | None) -> Any:
    steps, task = parts.walks[level]
    before, outer, mode.enabled, mode.task = mode.enabled, mode.task, False, task
    try:
        pause = go_on(steps, flow)
    finally:
        mode.enabled, mode.task = before, outer
    if pause is None:
        parts.paused = None
        return None
    at, arrived = pause
    where = RESULT if type(at) is Watched else AFTER if arrived is None else BEFORE
    tape: Any = tapes.tape
    if tape.call is not None:
        tape.call.pauses_at(_number_of(tape, at), where)
    parts.paused = at, where
    return None if arrived is None else tensor_of(arrived)


def _number_of(tape: Tape, at: Any) -> int | None:
    """The value of the trace at which a walk pauses, if it is one."""
    if type(at) is Watched:
        return at.number if at.serial == tape.serial else None
    return at._number if at._serial == tape.serial and tape.value(at._number) is at else None


def watched_of(tape: Tape) -> dict[int, Watched]:
    """What is attached to results of the trace that the tape records, by their numbers."""
    if tape.watched[0] != tape.serial:
        tape.watched = tape.serial, {}
    return tape.watched[1]


def watch_result(t: Core) -> Watched | None:
    """What hangs on a result of the trace under way, at whose gradient backward is to pause; None if it is none."""
    tape: Any = tapes.tape
    n = t._number
    if t._serial != tape.serial or n >= tape.count or tape.value(n) is not t or tape.depth or tape.again is not None:
        return None
    watched = watched_of(tape)
    if n not in watched:
        watched[n] = Watched(tape.serial, n)
        WATCH(t)
    return watched.get(n)


def _watch(result: Any) -> None:
    """Hang on the node of a result what watches it."""
    tape: Any = tapes.tape
    under, home = (tape.call, tape) if tape.again is None else (tape.again.call, tape.again.tape)
    known = watched_of(home)
    node = result._node
    hooks = node.hooked()
    if under is None:  # the call is no event, so it is the node that backward must look at
        known.pop(result._number, None)
    else:
        n = under.arguments[0]
        hooks.watched[result._index] = known[n]


CARRY, CARRY_ON, WATCH = (recorded(part, exact=True, in_parts=True) for part in (_carry, _carry_on, _watch))


def back_in_parts(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a backward could be done in parts, and has been: of a scalar, once, where tensors have hooks."""
    watched = tape.watched[1] if tape.watched[0] == tape.serial else None
    if not (_hooked or watched) or kwargs or len(args) != 1 or tape.state.blurred or tape.again is not None:
        return False
    here = [t for t in list(_hooked.values()) if t._serial == tape.serial]
    results = list(watched.values()) if watched else []
    tables = [t._hooks or {} for t in here] + [each.hooks for each in results]
    hooks = [hook for table in tables for hook in table.values()]
    if not tables or any(getattr(hook, "needs_nodes", False) for hook in hooks):  # such as ask which nodes it comes to
        return False
    if any((t := each.keeper()) is not None and t._number != each.number for each in results):  # written to since
        tape.catch_up()
        return False
    root = args[0]
    kind = root._kind_of()
    if kind.size != 1 or not kind.is_float or kind.is_complex:
        return False
    parts = _parts()
    level, serial, before, task = parts.level, tape.serial, mode.enabled, mode.task
    parts.level, mode.enabled = level + 1, False
    try:
        _run(tape, parts, root, level, serial)
    except BaseException:
        tape.catch_up()  # what was done is done, and its nodes are used up
        raise
    finally:
        parts.level, mode.enabled, mode.task = level, before, task
    return True


def _run(tape: Tape, parts: BackwardParts, root: Core, level: int, serial: int) -> None:
    parts.paused = NOT_RUN
    made = CARRY(root, level)
    while (pause := _pause_of(tape, parts)) is not None:
        at, where = pause
        if where is AFTER:
            call_posts(at)
            made = None
        else:
            for hook in list(((at.hooks if where is RESULT else at._hooks) or {}).values()):
                new = hook(made)
                made = made if new is None else checked(new, made._kind_of(), "register_hook")
            keeper = at.keeper() if where is RESULT else None
            if keeper is not None:
                keep(keeper, wrap(made._read()))
        parts.paused = NOT_RUN
        made = (CARRY_ON if tape.serial == serial else _carry_on)(made, level)


def _pause_of(tape: Tape, parts: BackwardParts) -> Any:
    """Where the last part has paused: at a watched result, or at a leaf, before its hooks or after."""
    if parts.paused is not NOT_RUN:
        return parts.paused
    n, where = tape.state.event.template.pause or (None, None)
    return None if n is None else (watched_of(tape)[n] if where is RESULT else tape.value(n), where)


__all__ = ["back_in_parts", "note_hooks", "watch_result"]
