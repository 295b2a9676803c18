"""`p.data`, `p.detach()` and `x[i]` before anybody has looked at them: a tensor goes in, and one comes out that says
whose memory it is, and where in it.

    p.data.sub_(0.1 * p.grad)        a write to p that keeps no gradient, and that backward need not know of
    table[i, j] += 1                 a part of plain data that is read, and written

Most of what is read so is read or written to once and dropped, so nothing is made for it. A function that writes into
an alias writes into its owner, where nobody could tell the difference: where no node that is of use has saved what the
owner holds. Whatever else is done with it makes it an alias, or a view, in earnest first. An owner makes them so before
it gets other memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any
from weakref import ref

import numpy as np

from ..reverse.modes import mode
from ..trace.crowd import crowd
from ..trace.spent import is_useful
from ..trace.tape import tapes
from .cells import Cell, cell_of, shown
from .memory import has_history, leave, settle, stands_in, tensor_types
from .paths import Path
from .slots import LEAF, PART, SPECIAL, VIEWED
from .storage import NO_GRAD, Counter

MANY = 64
"""So many wait for an owner; then all are made in earnest, which makes it one that shares its memory."""

SEEN, UNSEEN = "seen", "unseen"
"""The keys of aliases: whether backward counts what is written to them."""


def may_wait(x: Any) -> bool:
    """Whether the `data` of a tensor, or a part of it, may be a tensor that has nothing yet."""
    if type(x) not in tensor_types or x._flags & (SPECIAL | PART | VIEWED) or x._storage is not None:
        return False
    if tapes.tape.mode > 1 or crowd.on:  # as within vmap, and where tangents are followed
        return False
    return not (has_history(x) or x._inference or x._counter or stands_in(x))


def waiting(owner: Any, counted: bool = False) -> Any:
    """A tensor that will be an alias of `owner` when somebody looks at it."""
    return _made(owner, owner._kind_of(), SEEN if counted else UNSEEN, "")


def waiting_part(owner: Any, kind: Any, key: tuple[Any, ...], path: Path) -> Any:
    """A tensor of a kind that will be a view of `owner`, which is plain, when somebody looks at it."""
    return _made(owner, kind, (key, path, owner._written), "" if mode.enabled else NO_GRAD)


def _made(owner: Any, kind: Any, key: Any, origin: str) -> Any:
    cls: Any = tensor_types[0]
    made = cls.__new__(cls)
    made._kind, made._node, made._flags, made._owner, made._key = kind, None, PART, owner, key
    if origin:
        made._origin = origin
    others = owner._waiting
    if others is None:
        owner._waiting = [ref(made)]
        return made
    while others and others[-1]() is None:
        others.pop()
    if len(others) >= MANY:
        tell_alias(owner)
        others = owner._waiting = []
    others.append(ref(made))
    return made


def tell_alias(owner: Any) -> None:
    """Make in earnest what waits to be an alias or a part."""
    known, owner._waiting = owner._waiting, None
    for each in known or ():
        made = each()
        if made is not None:
            adopt(made)


def adopt(made: Any) -> None:
    """Let a tensor that waits be an alias, or a part, of its owner."""
    owner, key = made._owner, made._key
    if owner is None:
        return
    if type(key) is tuple:
        storage = owner._shared()
        storage.viewed = True
        made._storage, made._steps, made._whole, made._part, made._seen = storage, key[1], owner, key[1], -1
        made._cell = Cell(made._kind, None)
        made._owner = made._key = None
        made._flags &= ~PART
        made._read()
        if storage.version != key[2]:  # it is read anew, as a view is whose memory was written to
            made._seen = -1
        return
    cell, storage = owner._read(), owner._shared()
    made._storage, made._steps, made._whole, made._seen = storage, owner._path, None, storage.edition
    made._cell, made._counter, made._owner, made._key = cell, Counter() if key is UNSEEN else None, None, None
    made._flags &= ~PART


def adopt_all(several: Sequence[Any]) -> bool:
    """Let parts that wait in a list be parts in earnest; whether there were any."""
    found = [a for a in several if type(a) in tensor_types and type(a._key) is tuple]
    for a in found:
        adopt(a)
    return bool(found)


def whole_number(k: Any) -> Any:
    """The number that an index is which is known, as Python's; whatever else as it is."""
    if type(k) is int or k is None:
        return k
    if isinstance(k, np.integer):
        return int(k)
    if type(k) not in tensor_types or (k._kind if k._is_late else k._cell.kind).shape:
        return k
    array = array_of(k) if k._is_late else k._cell.array if k._storage is None and type(k._cell) is Cell else None
    return int(array) if array is not None and array.dtype.kind == "i" else k


def array_of(made: Any) -> np.ndarray | None:
    """What a part that waits holds; None where its owner is to be asked in another way."""
    owner, key = made._owner, made._key
    if type(key) is not tuple or owner._is_late or owner._storage is not None or owner._cell.array is None:
        return None
    return shown(owner._cell)[key[0]]


def valued(a: Any) -> Any:
    """A part that waits by its value, in memory of its own."""
    if type(a) not in tensor_types or type(a._key) is not tuple:
        return a
    array = array_of(a)
    if array is None:
        adopt(a)
        return a
    cls: Any = tensor_types[0]
    made = cls.__new__(cls)
    made._cell, made._node = cell_of(array.copy()), None
    return made


def through_owners(recorded: Any, tape: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a recorded function gives of arguments of which some wait: of their owners, where that is the same."""
    function, given = recorded.native or recorded.slow, (*args, *kwargs.values())
    if any(type(a) in tensor_types and type(a._key) is tuple for a in given):
        return _of_parts(recorded, function, tape, args, kwargs)
    target, owner = args[0], _owner(args[0])
    if not (any(map(_is_kept, given)) or recorded.exact or tape.mode > 1):
        if recorded.writes and owner is not None and _may_write(owner, tape):
            made = _without_history(function, args, kwargs)
            if target._key is UNSEEN:  # backward need not know of it
                owner._written -= 1
            return target if made is owner else made
        if recorded.writes and owner is None:  # of the others it reads values only
            return _without_history(function, args, kwargs)
        if not recorded.writes and not recorded.name.endswith("_"):
            made = _without_history(function, args, kwargs)
            if _is_new(made, given):
                return made
    stands = {id(a): _read_through(a, a is target) for a in given}
    made = function(*[stands[id(a)] for a in args], **{k: stands[id(a)] for k, a in kwargs.items()})
    return next((a for a in given if type(a) in tensor_types and made is stands[id(a)]), made)


def replaced(owner: Any, value: Any, tape: Any) -> bool:
    """Whether `owner.data = value`, of a value that nobody else holds, was done by a write to the owner: where it is
    still to be computed, and nobody could tell the difference."""
    if not (value._is_late or has_history(value)) or value._kind_of() is not owner._kind_of() or value._flags & SPECIAL:
        return False
    passing = 1 << value._number if value._is_late and value._serial == tape.serial else 0
    if value._storage is not None or any(each() is not None for each in owner._waiting or ()):
        return False  # who waits to be the memory that it had is not to get what is written
    if not _may_write(owner, tape, passing):
        return False
    _without_history(tensor_types[0].copy_, (owner, value), {})
    owner._written -= 1  # backward need not know of it
    return True


def _of_parts(recorded: Any, function: Any, tape: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """The same where some are parts: of their values, if that is the same."""
    given = (*args, *kwargs.values())
    first = args[0] if args and type(args[0]) in tensor_types else None
    kept = recorded.exact or tape.mode > 1 or any(map(_is_kept, given))
    if not (kept or recorded.shares or (recorded.writes and (kwargs or _is_of(first, given)))):
        stands = [a if recorded.writes and a is first else valued(a) for a in given]
        read = [(a, s, s._cell) for a, s in zip(given, stands, strict=True) if s is not a]
        made = function(*stands[: len(args)], **dict(zip(kwargs, stands[len(args) :], strict=True)))
        written = [(a, s) for a, s, cell in read if s._is_late or s._cell is not cell]
        for a, s in written:  # as `batch_norm` does it
            a.copy_(s)
        recorded.shares = bool(written) or recorded.shares
        if recorded.writes or _is_new(made, given):
            return made
        if written:
            return next((a for a, s in written if s is made), made)
    for a in given:
        if type(a) in tensor_types and type(a._key) is tuple:
            adopt(a)
    return function(*args, **kwargs)


def _is_of(first: Any, given: Sequence[Any]) -> bool:
    """Whether what is written to waits itself, or is what others wait for."""
    return first is None or first._owner is not None or any(_owner(a) is first for a in given)


def _without_history(function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a function gives of the owners, in a no_grad mode."""
    before, mode.enabled = mode.enabled, False
    try:
        return function(*map(_owner_of, args), **{k: _owner_of(a) for k, a in kwargs.items()})
    finally:
        mode.enabled = before


def _is_new(made: Any, given: Sequence[Any]) -> bool:
    """Whether results are in memory of their own, and are no arguments."""
    if type(made) in tensor_types:
        shared = made._storage is not None or made._flags & (SPECIAL | PART | VIEWED)
        return not (shared or any(made is _owner_of(a) for a in given))
    return all(_is_new(m, given) for m in made) if isinstance(made, (list, tuple)) else made is None


def _owner(a: Any) -> Any:
    """Whose alias an argument waits to be, None if it does not."""
    return a._owner if type(a) in tensor_types else None


def _owner_of(a: Any) -> Any:
    owner = _owner(a)
    return a if owner is None else owner


def _read_through(a: Any, first: bool) -> Any:
    """What to read in place of an argument: a late view of an owner that is late, which leaves the trace as it is."""
    owner = _owner(a)
    if owner is None:
        return a
    if owner._is_late and not first and not owner._flags & (SPECIAL | VIEWED):
        return a._late_alias(owner)
    adopt(a)
    return a


def _is_kept(a: Any) -> bool:
    """Whether gradients may flow from an argument into what is written; lists are not looked into."""
    if type(a) not in tensor_types:
        return isinstance(a, (list, tuple, dict))
    if a._owner is not None or not mode.enabled:
        return False
    if a._flags & (LEAF | SPECIAL) or has_history(a):
        return True
    base = a._base
    return base is not None and bool(base._flags & (LEAF | SPECIAL) or has_history(base))


def _may_write(owner: Any, tape: Any, passing: int = 0) -> bool:
    """Whether nobody can tell a write to the owner from one to an alias: none shares its memory, or has saved it, but
    values of the trace that are `passing`: see `is_useful`."""
    if crowd.on or tape.depth or tape.mode > 1 or tape.call is not None or tape.again is not None or tape.noded:
        return False
    if owner._storage is not None and not owner._is_late:
        settle(owner)
    if owner._flags & VIEWED:
        leave(owner, tape)
    if owner._storage is not None or owner._flags & (SPECIAL | PART | VIEWED) or has_history(owner) or owner._counter:
        return False
    if owner._is_late:
        return owner._serial == tape.serial and tape.cell(owner._number) is None and not is_useful(tape, passing)
    if owner._cell.array is None or owner._cell.home is not None or owner._cell.stale:
        return False
    on_tape = tape.number_of(owner._cell) is not None
    # The references are: the tensor's, the tuple's and the call's, and the tape's.
    (references,) = map(getrefcount, (owner._cell,))
    return references <= 3 + on_tape and not (on_tape and is_useful(tape, passing))


__all__ = [
    "adopt",
    "adopt_all",
    "array_of",
    "may_wait",
    "replaced",
    "tell_alias",
    "through_owners",
    "valued",
    "waiting",
    "waiting_part",
    "whole_number",
]
