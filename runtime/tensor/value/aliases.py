"""`p.data` before anybody has looked at it: a tensor goes in, and one comes out that says whose memory it is.

    p.data.sub_(0.1 * p.grad)        a write to p that keeps no gradient, and that backward need not know of

Most of what is read so is written to once and dropped, so nothing is made for it. A function that writes into it writes
into its owner, where nobody could tell the difference: where no node that is of use has saved what the owner holds.
Whatever else is done with it makes it an alias in earnest first. An owner has one such at most, and makes it an alias
before it gets other memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any
from weakref import ref

from ..reverse.modes import mode, watch
from ..trace.crowd import crowd
from ..trace.spent import is_useful
from .memory import has_history, leave, settle, tensor_types
from .slots import LEAF, PART, SPECIAL, VIEWED
from .storage import Counter


def may_wait(x: Any) -> bool:
    """Whether the `data` of a tensor may be a tensor that has nothing yet."""
    if type(x) not in tensor_types or x._flags & (SPECIAL | PART | VIEWED) or x._storage is not None:
        return False
    return not (has_history(x) or x._inference or x._counter or watch.duals or watch.lanes or crowd.on)


def waiting(owner: Any) -> Any:
    """A tensor that will be an alias of `owner` when somebody looks at it."""
    tell_alias(owner)
    cls: Any = tensor_types[0]
    made = cls.__new__(cls)
    made._kind, made._node, made._flags = owner._kind_of(), None, PART
    made._owner, owner._waiting = owner, ref(made)
    return made


def tell_alias(owner: Any) -> None:
    """Make an alias in earnest of what waits to be one."""
    known = owner._waiting
    made = known and known()
    if made is not None:
        adopt(made)


def adopt(made: Any) -> None:
    """Let a tensor that waits be an alias of its owner."""
    owner = made._owner
    if owner is None:
        return
    cell, storage = owner._read(), owner._shared()
    made._storage, made._steps, made._whole, made._seen = storage, owner._path, None, storage.edition
    made._cell, made._counter, made._owner, owner._waiting = cell, Counter(), None, None
    made._flags &= ~PART


def through_owners(recorded: Any, tape: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a recorded function gives of arguments of which some wait: of their owners, where that is the same."""
    function, given = recorded.native or recorded.slow, (*args, *kwargs.values())
    target, owner = args[0], _owner(args[0])
    if not (any(map(_is_kept, given)) or recorded.exact or tape.mode > 1):
        if recorded.writes and owner is not None and _may_write(owner, tape):
            made = _without_history(function, args, kwargs)
            owner._written -= 1  # backward need not know of it
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
    if value._storage is not None or not _may_write(owner, tape, passing):
        return False
    _without_history(tensor_types[0].copy_, (owner, value), {})
    owner._written -= 1  # backward need not know of it
    return True


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


__all__ = ["adopt", "may_wait", "replaced", "tell_alias", "through_owners", "waiting"]
