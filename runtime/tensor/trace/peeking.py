"""Values that a program asks for in the middle of a step, computed on the side so that the step stays whole.

    loss = model(x)
    if loss.item() > 100: ...      the trace is not over: backward and the optimiser's step belong to it
    loss.backward()

To run the trace there would cut it: what has a history would need its nodes, and the step would be two kernels for each
way. So what the value depends on is computed by itself, and once more with the rest when the step ends.  The trace
doesn't change, and nothing can tell that anybody looked.  That costs another forward pass, so it is done in short
traces, where steps come again (see paths.py), and not again where it took long.  Where values are asked for again and
again, as by a filter whose every step solves a system and looks whether that was singular, what the program holds is
computed along with the value, and the next goes on from there: all of them together cost one forward pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from ....compiler.frontend.patched.patches import unpatched
from ..calls.places import here
from ..value.cells import Cell
from ..value.located import owner_by_calls
from ..value.memory import tensor_types
from ..value.paths import part_of
from ..value.slots import HISTORY, PART, SPECIAL, VIEWED
from .overwritten import overwritten
from .paths import Way
from .plans import Plan, plan_for
from .spent import is_useful
from .states import Call, events
from .tape import Tape, tapes

perf_counter = unpatched(time.perf_counter)  # this file may be loaded amid a trace

SHORT = 1024
"""A trace has so many values at most."""

OFTEN = 1024
"""So many values of a trace are computed on the side; where that is not enough, none will be."""

ALONE = 2
"""So many values of a trace are computed by themselves; with more of them goes what else is held."""

TRIED = 16
"""After so many times the time that a value takes is known."""

LONG = 3e-4
"""Seconds: a value whose kernel takes longer is not computed twice, but where that is quicker than nodes are."""

NODES = 4e-5
"""Seconds that it takes to make the nodes of a call and to walk them, which a trace that ends asks for."""


idle: set[int] = set()
"""The states and values where somebody looked without that a step ended: whoever only evaluates is served better by
traces that end."""


lone: set[int] = set()
"""The states and values where somebody looked at the only value with a history, and a backward went on from that."""


def went_on(nodes: Iterable[Any]) -> None:
    """Note to which nodes a backward comes; if their trace ended because somebody looked, it will not the next time."""
    serial, key = tapes.tape.alone
    if key not in lone and any(node.serial == serial for node in nodes):
        lone.add(key)


def peek(t: Any, call: Any = None, checked: bool = False, passing: bool = False) -> np.ndarray | None:
    """The value, still to be computed, of a tensor that shares memory with nobody; None if its trace is to be run.

    call     the one that is being recorded, if the tensor was there before it
    checked  whether a call only looks if the value will do, so that a trace is under way also where it outlasts a step
    passing  whether only the caller and one more hold the tensor: if that is the tape, nothing can go on from it, and
             the nodes that it would get when its trace ends are made for nobody
    """
    tape = tapes.tape
    with tape.lock:  # another thread may run the trace, and holds it meanwhile
        if (t._storage is not None or t._flags & (SPECIAL | PART | VIEWED)) and not _is_as_made(t, tape):
            return None
        n = (t._number if t._serial == tape.serial else None) if t._is_late else tape.number_of(t._cell)
        if tape.call is not call or tape.depth != (call is not None) or tape.again is not None:
            return None
        if n is None or n >= tape.state.values:
            return None
        if (there := in_memory(t, tape)) is not None:
            return there
        if (tape.noded and call is None) or (tape.goes_on and not checked) or tape.count > SHORT:
            return None
        tape.depth += 1  # so that whoever records meanwhile waits for the lock
        try:
            return _value(tape, n, passing and t._flags & HISTORY != 0 and tape.value(n) is t)
        finally:
            tape.depth -= 1


def _is_as_made(t: Any, tape: Tape) -> bool:
    """Whether a view, or what has views, is what the trace made: nobody has written since, or it was read since."""
    storage = t._storage
    if not t._is_late:
        return storage is not None and storage.array is None and t._seen == storage.edition
    if t._flags & PART or t._serial != tape.serial:
        return False
    over = overwritten(tape)
    return not over.over or not over.has(t._number)


def in_memory(t: Any, tape: Tape) -> np.ndarray | None:
    """The value of a view of memory that is there, as of rows of data, and that nobody has written to since."""
    whole: Any = None
    if not t._is_late:
        whole, path = t._storage and t._storage.cell, t._path
    elif t._flags & SPECIAL and t._serial == tape.serial:
        owner: Any
        owner, path = owner_by_calls(t, tape) or (None, ())
        known = type(owner) is tensor_types[0] and not owner._is_late
        if known and (owner._storage is None or _is_as_made(owner, tape)):
            whole = owner._cell
    if type(whole) is not Cell or whole.array is None or whole.kind.is_complex:
        return None
    try:
        return part_of(whole.array, path)
    except ValueError:  # no step of it gives a view
        return None


def _value(tape: Tape, n: int, passing: bool) -> np.ndarray | None:
    state = tape.state
    key = hash((state.path, n, "peek"))
    if key in idle or not _is_whole(tape, key):
        return None
    if not passing and not is_useful(tape, 1 << n) and key not in lone:  # nobody goes on from another value
        tape.alone = tape.serial, key
        return None
    serial, keys, known = tape.peeked
    if serial != tape.serial:
        serial, keys, known = tape.peeked = tape.serial, [], {}
    if n in known:
        return known[n]
    if len(keys) >= OFTEN:  # no step has ended since
        idle.update(keys)
        return None
    wanted = 1 << n
    if len(keys) >= ALONE:
        wanted |= _held(tape) & ~sum([1 << k for k in known])
    plan = plan_for(state, wanted.to_bytes(state.values // 8 + 1, "little"), frozenset(known))
    if plan.looks >= TRIED and plan.seconds > LONG and plan.seconds > NODES * _calls(state):
        return None
    keys.append(key)
    made = dict(zip(plan.numbers, _computed(plan, tape, known), strict=True))
    if len(keys) > ALONE:
        known.update([(plan.program.number(k), array) for k, array in made.items()])
    return made[n]


def _is_whole(tape: Tape, key: int) -> bool:
    """Whether a look leaves the trace whole."""
    way = tape.way
    if way is None:
        code, instruction = here()  # steps that look in one place of a program are of one kind
        way = tape.way = Way(hash((id(code), instruction)))
    if not way.whole:
        way.cut(key)
    return way.whole


def _held(tape: Tape) -> int:
    """A bit for each value of the trace that somebody holds and that is still to be computed."""
    return int.from_bytes(tape.live(), "little") & ((1 << tape.state.values) - 1)


def _calls(state: Any) -> int:
    """How many calls of a trace make nodes."""
    return sum([type(s.event) is Call and s.event.template.has_nodes for s in events(state)])


def _computed(plan: Plan, tape: Tape, known: dict[int, np.ndarray]) -> list[np.ndarray]:
    begun = perf_counter()
    made = plan.values(tape, known)
    if plan.kernel is not None:
        plan.looks, plan.seconds = plan.looks + 1, min(plan.seconds, perf_counter() - begun)
    return made
