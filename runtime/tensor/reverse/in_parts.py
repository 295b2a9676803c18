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
from ..value.core import Core, wrap
from ..value.slots import HOOKED
from .accumulate import keep, tensor_of
from .backward import Walk, go_on, roots_of, walk
from .hook_calls import call_posts, checked
from .hooks import RemovableHandle, Watched, attached_to
from .joined import Joined
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

BEFORE, AFTER, RESULT, FUNCTION = "before", "after", "result", "function"

WATCHED_AT = -1
"""What watches value n is attached at -1 - n, beside the call of a Function of which it is a result."""


class BackwardParts:
    """Walks under way: of the backward at each level, one inside of another's hooks, and the nodes that it comes to.

    level    how many are under way
    paused   where the part that ran last has paused
    """

    def __init__(self) -> None:
        self.walks: list[tuple[Walk, set[Node]]] = []
        self.level, self.paused = 0, NOT_RUN


NOT_RUN: Any = object()

WHERE: dict[type, str] = {Watched: RESULT, Joined: FUNCTION}


def _carry(root: Any, level: int) -> Any:
    """Carry the cotangent of a scalar back until hooks of a leaf are to run; the gradient that arrives there."""
    parts, task = _parts(), set[Node]()
    parts.walks[level:] = [(walk(roots_of([root], [None], False), False, False, None, False, {}, task, True), task)]
    return _until_pause(parts, level, None)


def _carry_on(made: Any, level: int) -> Any:
    """Go on after a pause, with the gradient that hooks have made of what arrived; None after the hooks of a leaf, and
    after a Function those of its arguments."""
    tape = tapes.tape
    if tape.call is None and tape.again is None:
        tape.catch_up()
    if isinstance(made, tuple):
        flows = [(k, (t if t._apart else t._read(), None)) for k, t in enumerate(made) if t is not None]
        return _until_pause(_parts(), level, flows)
    return _until_pause(_parts(), level, None if made is None else (made._read(), None))


def _parts() -> BackwardParts:
    tape: Any = tapes.tape
    if tape.parts is None:
        tape.parts = BackwardParts()
    return tape.parts


def _until_pause(parts: BackwardParts, level: int, flow: Any) -> Any:
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
    where = WHERE.get(type(at)) or (AFTER if arrived is None else BEFORE)
    tape: Any = tapes.tape
    if tape.call is not None:
        tape.call.pauses_at(_number_of(tape, at), where)
    parts.paused = at, where
    if where is FUNCTION:
        return tuple([None if each is None else tensor_of(each) for each in arrived])  # type: ignore[union-attr]
    return None if arrived is None else tensor_of(arrived)


def _number_of(tape: Tape, at: Any) -> int | None:
    """The value of the trace at which a walk pauses, if it is one."""
    if type(at) in WHERE:
        return at.number if at.serial == tape.serial else None
    return at._number if at._serial == tape.serial and tape.value(at._number) is at else None


def watch_result(t: Core) -> Watched | None:
    """What hangs on a result of the trace under way, at whose gradient backward is to pause; None if it is none."""
    tape: Any = tapes.tape
    n = t._number
    if t._serial != tape.serial or n >= tape.count or tape.value(n) is not t or tape.depth or tape.again is not None:
        return None
    attached = attached_to(tape)
    number = WATCHED_AT - n
    if number not in attached:
        attached[number] = Watched(tape.serial, n)
        WATCH(t)
    return attached.get(number)


def _watch(result: Any) -> None:
    """Hang on the node of a result what watches it."""
    tape: Any = tapes.tape
    under, home = (tape.call, tape) if tape.again is None else (tape.again.call, tape.again.tape)
    known = attached_to(home)
    hooks = result._open().hooked()
    if under is None:  # the call is no event, so it is the node that backward must look at
        known.pop(WATCHED_AT - result._number, None)
    else:
        hooks.watched[result._index] = known[WATCHED_AT - under.arguments[0]]


CARRY, CARRY_ON, WATCH = (recorded(part, exact=True, in_parts=True) for part in (_carry, _carry_on, _watch))


def back_in_parts(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a backward could be done in parts, and has been: of a scalar, once, where tensors have hooks."""
    attached = tape.attached[1] if tape.attached[0] == tape.serial else None
    if not (_hooked or attached) or kwargs or len(args) != 1 or tape.state.blurred or tape.again is not None:
        return False
    here = [t for t in list(_hooked.values()) if t._serial == tape.serial]
    attachments = list(attached.values()) if attached else []
    results = [each for each in attachments if type(each) is Watched]
    hooks = [hook for t in here for hook in (t._hooks or {}).values()]
    hooks += [hook for each in results for hook in each.hooks.values()]
    asks = any(getattr(hook, "needs_nodes", False) for hook in hooks)  # such as which nodes backward comes to
    if asks or not (here or attachments):
        return False
    calls = [each for each in attachments if type(each) is Joined]
    moved = any((t := each.keeper()) is not None and t._number != each.number for each in results)
    if moved or not all(each.is_as_saved() for each in calls):  # what was written to since
        tape.catch_up()
        return False
    root = args[0]
    kind = root._kind_of()
    if kind.size != 1 or not kind.is_float or kind.is_complex:
        return False
    parts = _parts()
    level, serial, before, task = parts.level, tape.serial, mode.enabled, mode.task
    parts.level, mode.enabled, mode.task = level + 1, False, set[Node]()
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
        elif where is FUNCTION:
            made = at.pull(made)
            if any(t is not None and t._apart for t in made):  # a sparse gradient, which no event knows
                tape.blur()
        else:
            for hook in list(((at.hooks if where is RESULT else at._hooks) or {}).values()):
                new = hook(made)
                made = made if new is None else checked(new, made._kind_of(), "register_hook")
            keeper = at.keeper() if where is RESULT else None
            if keeper is not None:
                keep(keeper, wrap(made._read()))
        parts.paused = NOT_RUN
        made = (CARRY_ON if tape.serial == serial and not tape.state.blurred else _carry_on)(made, level)


def _pause_of(tape: Tape, parts: BackwardParts) -> Any:
    """Where the last part has paused: at a watched result, at a Function, or at a leaf, before its hooks or after."""
    if parts.paused is not NOT_RUN:
        return parts.paused
    n, where = tape.state.event.template.pause or (None, None)
    if n is None:
        return None
    if where in (RESULT, FUNCTION):
        return attached_to(tape)[n if where is FUNCTION else WATCHED_AT - n], where
    return tape.value(n), where


__all__ = ["back_in_parts", "note_hooks", "watch_result"]
