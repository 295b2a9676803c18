"""What a call can depend on: its arguments, described.

    mul(x, 2.0)     f32[3] that requires a gradient, number of class float      where x is value 4, or is read first

A description holds wherever the call stands in a trace; where its tensors are on the tape comes to that.
"""

from __future__ import annotations

import math
from math import inf
from typing import Any

import numpy as np

from ....compiler.frontend.patched.patches import unpatched
from ....compiler.ir.types import CARRIED, HALVES, INTEGERS, STORED
from ..trace.crowd import crowd
from ..trace.fragments.fragments import Operation
from ..trace.peeking import peek
from ..trace.states import NUMBER, SEQUENCE, STATIC, TENSOR, Template, forest
from ..trace.tape import Tape
from ..value.cells import Kind
from ..value.dtypes import DType, device
from ..value.memory import has_history, layout_of, leave, tensor_types, usable
from ..value.slots import HOOKED, LEAF, OPEN, PART, SPECIAL, VIEWED

copysign = unpatched(math.copysign)  # this file may be loaded amid a trace

SHARED = 64
"""Added to the flags of an argument whose memory others may share."""

UNUSUAL = LEAF | SPECIAL | VIEWED

FLOAT_MAX = float(np.finfo(np.float32).max)

PLAIN = (int, bool, str, type(None), type(Ellipsis), DType, device, Operation)
NUMBERS = (int, float, bool)

class Form:
    """A description of calls, the template that they follow once it is known, and how native code is told of that."""

    __slots__ = ("recorded", "mode", "arguments", "template", "numbers", "hint", "pattern")

    def __init__(self, recorded: Any, mode: int, arguments: Any, numbers: tuple[type, ...]) -> None:
        self.recorded, self.mode, self.arguments, self.numbers = recorded, mode, arguments, numbers
        self.template: Template | None = None
        self.hint: Any = None
        self.pattern: Any = None


_forms: dict[Any, Form] = {}

FORMS = 20_000
"""So many descriptions are kept."""


CHANGING = "has an argument that must be looked at each time"


class Unknown(Exception):
    """Raised where a call cannot be described or what it did is not understood."""


class Over(Unknown):
    """Raised where a leaf is read that was just written to, so that the step is over, or where a value is to be looked
    at: the trace is to be run."""


class Reading:
    """The arguments of a call, described.

    tensors   in the order in which they are met, each once
    places    where they are on the tape: a number; None, to be entered; or (number,) of the value that they are again
    cells     theirs, None of those that are late
    numbers   those that are inputs
    floats    the others, of which those are inputs, too, that are `moving`
    shared    of tensors that share memory, how they lie in it, and with whom
    given     which of `numbers` these are, and in which region of those for which the function does the same they lie
    """

    __slots__ = (
        "recorded", "tape", "key", "tensors", "classes", "places", "cells", "numbers", "floats", "moving", "given",
        "region", "seen", "form", "shared",
    )  # fmt: skip

    def __init__(
        self, recorded: Any, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], moving: Any = ()
    ) -> None:
        self.recorded, self.tape, self.moving = recorded, tape, moving
        self.given: list[int] = []
        self.key: list[Any] = [recorded, tape.mode, len(args)]
        self.tensors: list[Any] = []
        self.classes: list[int] = []
        self.places: list[Any] = []
        self.cells: list[Any] = []
        self.numbers: list[float] = []
        self.floats: list[float] = []
        self.seen: dict[int, int] = {}
        self.shared: list[Any] = []
        declared, names = recorded.numbers, recorded.parameters
        named_first = len(names) if declared else 0
        positional = [self._read(a, n < named_first and names[n] in declared) for n, a in enumerate(args)]
        named = {}
        for name, a in kwargs.items():
            self.key.append(name)
            named[name] = self._read(a, name in declared)
        self.region = 0
        if moving:
            self.region = forest.varied.region(tuple(self.key), [self.numbers[k] for k in self.given])
            self.key.append(self.region)
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
            self.floats.append(value)
            if len(self.floats) - 1 in self.moving:
                self.key += ("given", cls)
                self.given.append(len(self.numbers))
                self.numbers.append(value)
                return NUMBER, len(self.numbers) - 1
            self.key += (cls, value, copysign(1.0, value))
        elif issubclass(cls, np.generic):
            self.key += (cls, value.tobytes())
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

    def bare(self) -> int:
        """What calls have in common that differ in numbers only."""
        return hash(tuple([float if type(k) is float else k for k in self.key]))

    def _tensor(self, t: Any) -> Any:
        known = self.seen.get(id(t))
        if known is not None:
            self.key.append(known)
            return TENSOR, known
        tape, flags = self.tape, t._flags
        if t._is_late and not flags & UNUSUAL and t._serial == tape.serial and tape.value(t._number) is t:
            kind, place, what = t._kind, t._number, has_history(t)  # the result of a call before, as most are
            cell = None
            self.key += (kind, what)
        else:
            quiet = not tape.mode & 1 and (t._storage is not None or self.recorded.alters)
            if quiet or (flags & VIEWED and self.recorded.writes and not self.tensors):
                leave(t, tape)  # a view that nobody holds any more, as of `p.grad.detach().norm()`, is none
            if (t._storage is not None or flags & (SPECIAL | PART)) and not usable(t, tape):
                raise Unknown(CHANGING)
            kind, place, cell = place_of(t, tape)
            shared = SHARED if t._storage is not None or t._flags & (SPECIAL | VIEWED) else 0
            what = t._flags & (LEAF | OPEN | HOOKED) | has_history(t) | shared
            self.key += (kind, what)
            if shared:
                self.shared.append((layout_of(t, tape), self._sharing(t)))
                self.key += self.shared[-1]
            if place is None:
                place = self._met(cell)
        self.classes.append(what)
        self.places.append(place)
        self.cells.append(cell)
        self.tensors.append(t)
        k = self.seen[id(t)] = len(self.tensors) - 1
        return TENSOR, k

    def _sharing(self, t: Any) -> Any:
        """How a tensor shares memory: as a part, with which argument before, and whether backward knows of writes.

        A late one of which there are views is described as it will be when it gets its storage, because calls are
        learned where tensors have theirs, and the next time the same tensors are late.
        """
        storage = t._storage
        if t._is_late:
            return (True, None, True) if t._flags & (SPECIAL | VIEWED) == VIEWED else None
        if storage is None:
            return None
        first = next((k for k, x in enumerate(self.tensors) if x._storage is storage), None)
        return is_whole(t), first, t._counter is None

    def _met(self, cell: Any) -> Any:
        """The place of a value that is read first here: it may be that of an argument before, too."""
        n = self.tape.count
        for place, known in zip(self.places, self.cells, strict=True):
            if place is None and known is cell:
                return (n,)
            n += type(place) is not int
        return None


def place_of(t: Any, tape: Tape) -> tuple[Kind, Any, Any]:
    """The kind of a tensor, where it is on the tape, and its cell if it has one.

    Another thread may write to the tensor, and enter it into its own trace. What is read of it without a call between
    belongs together, since threads take turns at calls and jumps only.
    """
    if t._serial != tape.serial and not tape.reclaim(t):
        crowd.meet(t)
        raise Unknown(CHANGING)
    late = t._is_late
    cell: Any = None if late else t._cell
    n, here = t._number, t._serial == tape.serial
    ends = t._flags & LEAF and tape.mode & 1 and not tape.goes_on
    if ends and here and (late or cell.array is None):
        raise Over
    if here and n < tape.count and tape.value(n) is t:
        return t._kind if late else cell.kind, n, cell
    if late:
        if not here:  # another thread's, which is not to run this trace meanwhile
            crowd.meet(t)
            raise Unknown(CHANGING)
        t._late_cell()
        cell = t._cell
    n = tape.number_of(cell)
    if n is not None:
        if ends and cell.array is None:
            raise Over
        return cell.kind, (n,), cell
    if cell.array is None:
        raise Unknown(CHANGING)
    return cell.kind, None, cell


def is_simple(t: Any) -> bool:
    """Whether a gradient is a tensor that nobody else shares, so that it may be added to in place."""
    return type(t) in tensor_types and t._storage is None and not t._flags & (SPECIAL | PART | VIEWED | LEAF)


def is_whole(t: Any) -> bool:
    """Whether a tensor that shares memory is all of it, of which no other tensor is the base, nor NumPy a reader."""
    storage = t._storage
    return not t._is_late and storage is not None and storage.array is None and not t._steps and t._whole is None


def enter(tape: Tape, t: Any, place: Any, cell: Any, n: int) -> None:
    """Give a tensor a number of its own on the tape; `cell` is what its value was when it was described."""
    tape.put(n, t, cell)
    serial = tape.serial
    if place is None:
        cell.serial, cell.number = serial, n
    if not t._is_late and t._cell is cell:  # no call from here on: a late tensor must keep its number
        t._serial, t._number = serial, n


def fits(value: Any, dtype: str) -> bool:
    """Whether a number is one of these."""
    if dtype in INTEGERS or (dtype in CARRIED and dtype not in HALVES):
        info = np.iinfo(STORED[dtype])
        return info.min <= value <= info.max
    return dtype != "f32" or type(value) is not float or not FLOAT_MAX < abs(value) < inf


def check(template: Template, reading: Reading) -> None:
    """Ask of the values of arguments what the function would ask."""
    for value, dtype in zip(reading.numbers, template.dtypes, strict=True):
        if not fits(value, dtype):
            raise Unknown(CHANGING)
    for k, test in template.checks:
        t = reading.tensors[k]
        if t._is_late or t._cell.array is None:
            array = peek(t, checked=True)
            if array is None:
                raise Over if t._serial == reading.tape.serial else Unknown(CHANGING)
            test(array)
            continue
        cell = t._cell
        if cell.checked is not test:
            test(cell.array)
            cell.checked = test


def forget_forms() -> None:
    """Forget all descriptions."""
    _forms.clear()
