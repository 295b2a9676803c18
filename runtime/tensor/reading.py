"""What a call can depend on: its arguments, described.

    mul(x, 2.0)     f32[3] that requires a gradient, number of class float      where x is value 4, or is read first

A description holds wherever the call stands in a trace; where its tensors are on the tape comes to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign
from sys import getrefcount
from typing import Any

import numpy as np

from ...compiler.ir.types import INTEGERS, SMALL, STORED
from .cells import Kind
from .dtypes import DType, device
from .fragments import Operation
from .slots import HISTORY, LEAF, OPEN, PART, SPECIAL, VIEWED
from .states import NUMBER, SEQUENCE, STATIC, TENSOR, Call, State, Template
from .tape import Tape

SHARED = 64
"""Added to the flags of an argument whose memory others may share."""

UNUSUAL = LEAF | SPECIAL | VIEWED

FLOAT_MAX = float(np.finfo(np.float32).max)

PLAIN = (int, bool, str, type(None), type(Ellipsis), DType, device, Operation)
NUMBERS = (int, float, bool)

tensor_types: list[type] = []
"""The classes whose instances a call may be described by; others may have a will of their own."""


class Form:
    """A description of calls, and the template that they follow once it is known."""

    __slots__ = ("recorded", "mode", "arguments", "template", "numbers", "hint")

    def __init__(self, recorded: Any, mode: int, arguments: Any, numbers: tuple[type, ...]) -> None:
        self.recorded, self.mode, self.arguments, self.numbers = recorded, mode, arguments, numbers
        self.template: Template | None = None
        self.hint: Any = None


_forms: dict[Any, Form] = {}

FORMS = 20_000
"""So many descriptions are kept."""


class Unknown(Exception):
    """Raised where a call cannot be described or what it did is not understood."""


class Over(Unknown):
    """Raised where a leaf is read that was just written to: the step is over, and the trace is to be run."""


class Reading:
    """The arguments of a call, described.

    tensors   in the order in which they are met, each once
    places    where they are on the tape: a number; None, to be entered; or (number,) of the value that they are again
    numbers   those that are inputs
    """

    __slots__ = ("recorded", "tape", "key", "tensors", "classes", "places", "numbers", "seen", "form")

    def __init__(self, recorded: Any, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.recorded, self.tape = recorded, tape
        self.key: list[Any] = [recorded, tape.mode, len(args)]
        self.tensors: list[Any] = []
        self.classes: list[int] = []
        self.places: list[Any] = []
        self.numbers: list[float] = []
        self.seen: dict[int, int] = {}
        declared, names = recorded.numbers, recorded.parameters
        named_first = len(names) if declared else 0
        positional = [self._read(a, n < named_first and names[n] in declared) for n, a in enumerate(args)]
        named = {}
        for name, a in kwargs.items():
            self.key.append(name)
            named[name] = self._read(a, name in declared)
        key = tuple(self.key)
        form = _forms.get(key)
        if form is None:
            if len(_forms) > FORMS:
                _forms.clear()
            form = _forms[key] = Form(recorded, tape.mode, (positional, named), tuple(map(type, self.numbers)))
        self.form = form

    def _read(self, value: Any, declared: bool) -> Any:
        """Describe one argument; how to find it again among the tensors and numbers."""
        cls = type(value)
        if cls in tensor_types:
            return self._tensor(value)
        if cls in NUMBERS and declared:
            self.key += ("number", cls)
            self.numbers.append(value)
            return NUMBER, len(self.numbers) - 1
        if cls in PLAIN:
            self.key += (cls, value)
        elif cls is float:
            self.key += (cls, value, copysign(1.0, value))
        elif cls is complex:
            self.key += (cls, repr(value))
        elif issubclass(cls, (tuple, list)):
            self.key += (cls, len(value))
            return SEQUENCE, cls, [self._read(v, declared) for v in value]
        elif cls is slice:
            self.key.append(cls)
            for part in (value.start, value.stop, value.step):
                if part is not None and type(part) is not int:
                    raise Unknown("has a slice with bounds that are no ints")
                self.key.append(part)
        else:
            raise Unknown(f"has an argument of class {cls.__name__}")
        return STATIC, value

    def _tensor(self, t: Any) -> Any:
        known = self.seen.get(id(t))
        if known is not None:
            self.key.append(known)
            return TENSOR, known
        tape, flags = self.tape, t._flags
        if t._is_late and not flags & UNUSUAL and t._serial == tape.serial and tape.value(t._number) is t:
            kind, place, what = t._kind, t._number, has_history(t)  # the result of a call before, as most are
            self.key += (kind, what)
        else:
            if not tape.mode & 1:
                leave(t, tape)
            if (t._storage is not None or flags & (SPECIAL | PART)) and not usable(t, tape):
                raise Unknown("has an argument that must be looked at each time")
            kind, place = place_of(t, tape)
            shared = SHARED if t._storage is not None or t._flags & (SPECIAL | VIEWED) else 0
            what = t._flags & (LEAF | OPEN) | has_history(t) | shared
            self.key += (kind, what)
            if shared:
                self.key.append(_layout(t, tape))
            if place is None:
                place = self._met(t._cell)
        self.classes.append(what)
        self.places.append(place)
        self.tensors.append(t)
        k = self.seen[id(t)] = len(self.tensors) - 1
        return TENSOR, k

    def _met(self, cell: Any) -> Any:
        """The place of a value that is read first here: it may be that of an argument before, too."""
        n = self.tape.count
        for t, place in zip(self.tensors, self.places, strict=True):
            if place is None and t._cell is cell:
                return (n,)
            n += type(place) is not int
        return None


def has_history(t: Any) -> int:
    """HISTORY if the tensor has a node, which may not have been made."""
    return HISTORY if t._flags & HISTORY or t._node is not None else 0


def place_of(t: Any, tape: Tape) -> tuple[Kind, Any]:
    """The kind of a tensor, and where it is on the tape."""
    ends = t._flags & LEAF and tape.mode & 1 and not tape.goes_on
    if ends and t._serial == tape.serial and (t._is_late or t._cell.array is None):
        raise Over
    n = t._number  # which another thread may change, as it may the serial
    if t._serial == tape.serial and n < tape.count and tape.value(n) is t:
        return t._kind if t._is_late else t._cell.kind, n
    if t._is_late:
        t._late_cell()
    cell = t._cell
    n = tape.number_of(cell)
    if n is not None:
        if ends and cell.array is None:
            raise Over
        return cell.kind, (n,)
    if cell.array is None:
        raise Unknown("has an argument that must be looked at each time")
    return cell.kind, None


def is_simple(t: Any) -> bool:
    """Whether a gradient is a tensor that nobody else shares, so that it may be added to in place."""
    return type(t) in tensor_types and t._storage is None and not t._flags & (SPECIAL | PART | VIEWED | LEAF)


def usable(t: Any, tape: Tape) -> bool:
    """Whether a tensor that shares memory, or is a late view, is what its cell says and behaves like any other.

    What it is else, this trace tells where it made the tensor.
    """
    if t._is_late:
        return t._serial == tape.serial
    if t._flags & PART:
        t._tell()
    flags = t._flags
    if t._inference or t._hooks or t._posts or ((end := t._accumulator and t._accumulator()) and end.hooks):
        return False
    steps = t._steps
    if not steps and t._storage is not None:
        settle(t)  # which counts references: there must be no variable for it here
        flags = t._flags
    storage = t._storage
    if storage is None:
        t._flags = flags & ~OPEN
        return True
    if t._seen != storage.edition:
        return False
    if storage.array is not None:
        t._read()
        t._flags |= OPEN
    elif flags & OPEN:
        t._flags = flags & ~OPEN
    if t._serial == tape.serial:
        return True
    base = t._whole
    if t._origin or (base is not None and t._node is None and (base._flags & LEAF or has_history(base))):
        return False
    return not steps or t._is_dense()


def _layout(t: Any, tape: Tape) -> Any:
    """How a view lies in memory, if not densely: what made it says so, whose own arguments are so described."""
    if not t._is_late:
        return tape.state if t._path and not t._is_dense() else None
    if not t._flags & SPECIAL:
        return None
    event = _made_by(t._number, tape).event
    if type(event) is not Call:
        return tape.state
    ref = t._number - event.base
    return None if ref in event.template.dense else (event.template, ref)


def lies_dense(t: Any, tape: Tape) -> bool:
    """Whether the elements of a tensor follow each other in memory."""
    return not (t._storage is not None or t._flags & (SPECIAL | VIEWED)) or _layout(t, tape) is None


def leave(t: Any, tape: Tape) -> None:
    """Let a tensor that may be written to share its memory with nobody, where that is so in truth."""
    if t._flags & VIEWED:
        views = [v for v in _values(tape) if v._flags & SPECIAL and v._is_late and getrefcount(v) > BEHIND]
        if not any(_is_of(v, t, tape) for v in views):
            t._flags &= ~VIEWED
    if t._storage is not None and not t._is_late:
        settle(t, tape)


def _is_of(v: Any, t: Any, tape: Tape) -> bool:
    """Whether a late view may be one of the memory of this tensor."""
    n = v._number
    while True:
        event = _made_by(n, tape).event
        part = event.template.parts.get(n - event.base) if type(event) is Call else None
        if part is None or part.of >= 0:
            return part is None
        n = event.number(part.of)  # type: ignore[union-attr]
        owner = tape.value(n)
        if not owner._is_late or not owner._flags & SPECIAL:
            return owner is t


def _made_by(n: int, tape: Tape) -> State:
    """The state in which a value was made."""
    at = tape.state
    while at.parent is not None and at.parent.values > n:
        at = at.parent
    return at


def settle(t: Any, tape: Tape | None = None) -> None:
    """Let a tensor whose memory nobody shares any more be as before it was shared.

    Views that only the tape holds share nothing that anybody could see.
    """
    storage = t._storage
    if storage is None or storage.array is not None or t._path or t._base is not None or not t._counted:
        return
    views, homes = 0, {id(t._cell)} if t._cell.home is storage else set()
    if tape is not None:
        for v in _values(tape):
            if v is not t and not v._is_late and v._storage is storage and getrefcount(v) <= BEHIND:
                views += 1
                if v._cell.home is storage:
                    homes.add(id(v._cell))
    # The references are: the tensor's, the local name's, the call's, those of views and of cells.
    if getrefcount(storage) == 3 + views + len(homes) and t._seen == storage.edition:
        if t._cell.home is storage:
            t._cell.home = None
        t._storage, t._written, storage.dropped = None, storage.version, views > 0


BEHIND = 4
"""A tensor that only the tape holds has so many references while one looks: its, two variables' and the call's."""


def _values(tape: Tape) -> Iterator[Any]:
    """The tensors of a trace, one at a time."""
    for n in range(tape.count):
        v = tape.value(n)
        if type(v) in tensor_types:
            yield v


def enter(tape: Tape, t: Any, place: Any) -> int:
    """Give a tensor a number of its own on the tape."""
    n = tape.count
    cell = t._cell
    tape.put(n, t, cell)
    tape.count = n + 1
    if place is None:
        cell.serial, cell.number = tape.serial, n
    t._serial, t._number = tape.serial, n
    return n


def fits(value: Any, dtype: str) -> bool:
    """Whether a number is one of these."""
    if dtype in INTEGERS or dtype in SMALL:
        info = np.iinfo(STORED[dtype])
        return info.min <= value <= info.max
    return dtype != "f32" or type(value) is not float or -FLOAT_MAX < value < FLOAT_MAX


def check(template: Template, reading: Reading) -> None:
    """Ask of the values of arguments what the function would ask."""
    for value, dtype in zip(reading.numbers, template.dtypes, strict=True):
        if not fits(value, dtype):
            raise Unknown("has an argument that must be looked at each time")
    for k, test in template.checks:
        t = reading.tensors[k]
        if t._is_late or t._cell.array is None:
            raise Unknown("has an argument that must be looked at each time")
        cell = t._cell
        if cell.checked is not test:
            test(cell.array)
            cell.checked = test


def forget_forms() -> None:
    """Forget all descriptions."""
    _forms.clear()
