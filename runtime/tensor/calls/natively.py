"""Events in the words of native code, which then recognises calls by itself.

A state that a call led to gets descriptors of what the call needs (each argument, and the gradients that it adds to)
and of what it gives (what it returns, tensors that take another value, gradients).  Where native code finds none that
fits, the call goes the way of `calls.Recorded.slow`, so what cannot be said in its words is only slower.
"""

from __future__ import annotations

import threading
from math import inf
from struct import pack, unpack
from typing import Any

from ....compiler.locks import reentrant_lock
from .. import recorder
from ..recorder import Give, Need, Range, words
from ..trace.states import Call, State
from ..trace.tape import tapes
from ..value.cells import Cell
from ..value.memory import tensor_types, usable
from ..value.slots import HISTORY, HOOKED, LEAF, OPEN, SPECIAL, VIEWED

CHILDREN = 8
"""So many states that the same function leads to from one state are told."""

OFTEN = 4
"""A state that comes so often is told in the place of an older one, and so is one that notes of calls led to."""

SHARED = 64
TENSOR, NUMBER, STATIC, SEQUENCE, RESULT, NOTHING = "tensor", "number", "static", "sequence", "result", "nothing"

_RANGES = {"i32": Range.I32, "i64": Range.I64, "f32": Range.F32, "f64": Range.F64}

Words = tuple[int, ...]


def tell(state: State, reading: Any) -> None:
    """Let native code recognise the call that led to a state; a `reading` tells its form and the classes of its
    tensors."""
    event: Any = state.event
    parent: Any = state.parent
    recorded = reading.recorded.native
    if not can_be_told(event.template):
        return
    with _telling:
        if state.call is not None or not _has_room(state, recorded):
            return
        describe(state, Needs(event, reading), Gives(event), reading.form)
        if state.call is None:  # finalizers may record, too
            state.call = recorded
            state.sibling, parent.first = parent.first, state


_telling = reentrant_lock()
"""Threads share the states, and a state must stand among its siblings once."""


def _has_room(state: Any, recorded: Any) -> bool:
    """Whether a state may be told, for which the oldest one is taken back where there are many."""
    told, at = [], state.parent.first
    while at is not None:
        told += [at] if at.call is recorded else []
        at = at.sibling
    if len(told) < CHILDREN:
        return True
    state.met += 1
    if state.met >= OFTEN:
        _take_back(told[-1])
    return state.met >= OFTEN


def _take_back(state: Any) -> None:
    """Let native code not recognise the call that led to a state, until it is told again."""
    parent, at = state.parent, state.parent.first
    if at is state:
        parent.first = state.sibling
    while at is not None:
        if at.sibling is state:
            at.sibling = state.sibling
        at = at.sibling
    state.call = state.sibling = None
    state.met = 0


def describe(state: State, needs: Needs, gives: Gives, form: Any) -> None:
    """Write down in a state what a call of this form needs and gives."""
    positional, named = form.arguments
    for part in (*positional, *named.values()):
        needs.argument(part)
    needs.gradients()
    needs.checks()
    state.needs, state.gives = words(*needs.words), words(*gives.words)
    state.keep = form.arguments, needs.keep, gives.keep
    state.count, state.mode = len(positional) + len(named), form.mode
    state.names = tuple(named) or None


def can_be_told(template: Any) -> bool:
    """Whether native code knows all numbers that a call takes."""
    return set(template.dtypes) <= {*_RANGES, "bool"}


class Needs:
    """The descriptors of a call's arguments; a tensor is entered where it is met first."""

    def __init__(self, call: Call, reading: Any) -> None:
        self.call, self.reading = call, reading
        self.to_enter = {n: (again, kind) for n, again, kind in call.entered}
        self.words: list[Words] = []
        self.keep: list[Any] = []

    def argument(self, form: Any) -> None:
        what = form[0]
        if what is TENSOR:
            self._tensor(self.call.arguments[form[1]], self.reading.classes[form[1]])
        elif what is NUMBER:
            dtype = self.call.template.dtypes[form[1]]
            cls = self.reading.form.numbers[form[1]]
            fits = Range.ANY if cls is bool else _RANGES.get(dtype, Range.ANY)
            self.words.append((*self._number(form[1]), id(cls), fits))
        elif what is SEQUENCE:
            self.keep.append(form[1])
            self.words.append((Need.SEQUENCE, id(form[1]), len(form[2])))
            for part in form[2]:
                self.argument(part)
        else:
            self.words.append((Need.STATIC, id(form[1])))

    def _number(self, k: int) -> tuple[int, int]:
        return Need.NUMBER, self.call.arguments[k - len(self.call.template.dtypes)]

    def _tensor(self, n: int, flags: int) -> None:
        entered = self.to_enter.pop(n, None)
        if entered is None:
            self.words.append((Need.VALUE, n, 0, flags))
        elif entered[0] is None:
            self.keep.append(entered[1])
            self.words.append((Need.INPUT, n, id(entered[1]), flags))
        else:
            self.words.append((Need.ALIAS, n, entered[0], flags))

    def checks(self) -> None:
        """What must have been asked of the values of arguments."""
        for k, test in self.call.template.checks:
            self.keep.append(test)
            self.words.append((Need.CHECK, self.call.arguments[k], id(test)))
        self.bounds()

    def bounds(self) -> None:
        """Between which numbers those must lie that the function has compared with others."""
        for k, bounds in enumerate(self.call.template.bounds):
            if bounds is None:
                continue
            low, high, apart = bounds
            n = self._number(k)[1]
            ranges = [(Need.BETWEEN, low, high)] if (low, high) != (-inf, inf) else []
            for tag, *numbers in (*ranges, *[(Need.APART, x, x) for x in apart]):
                self.words.append((tag, n, *unpack("<2q", pack("<2d", *numbers))))

    def gradients(self) -> None:
        """What the leaves' gradients must be."""
        call = self.call
        for leaf, before, _ in call.template.grads:
            n = call.number(leaf)
            said = LEAF | HOOKED if call.template.call.in_parts else LEAF
            self.words.append((Need.GRAD, n, self.reading.tape.value(n)._flags & said))
            if before is None:
                self.words.append((Need.STATIC, id(None)))
            else:
                n = call.number(before)
                have = self.reading.tape.value(n)
                self._tensor(n, 0 if n in self.to_enter else class_of(have))
        self.words += [(Need.STILL, n) for n in call.template.still]


class Gives:
    """The descriptors of what a call gives."""

    def __init__(self, call: Call) -> None:
        self.call = call
        template = call.template
        self.results = {ref: (Give.RESULT, call.number(ref), id(kind), flags) for ref, kind, flags in template.results}
        kinds = dict(enumerate(template.kinds))
        self.words: list[Words] = []
        self.keep: list[Any] = [kind for _, kind, _ in template.results]
        self._form(template.gives)
        self.words += self.results.values()
        for target, ref in template.assigns:
            self.keep.append(kinds[ref])
            tag = Give.RENEW if ref in template.renewed else Give.ASSIGN
            self.words.append((tag, call.number(target), call.number(ref), id(kinds[ref])))
        for leaf, _, ref in template.grads:
            kind = kinds.get(ref)
            self.keep.append(kind)
            self.words.append((Give.PUT_GRAD, call.number(leaf), call.number(ref), id(kind)))
        self.words += [(Give.VIEWED, call.number(ref)) for ref in template.viewed]

    def _now(self, k: int) -> int:
        """The number of a tensor among the arguments, which has another one where the call renews it."""
        again = {target: ref for target, ref in self.call.template.assigns if ref in self.call.template.renewed}
        return self.call.number(again.get(-1 - k, -1 - k))

    def _form(self, form: Any) -> None:
        what = form[0]
        if what is RESULT:
            self.words.append(self.results.pop(form[1], (Give.VALUE, self.call.number(form[1]))))
        elif what is TENSOR:
            self.words.append((Give.VALUE, self._now(form[1])))
        elif what is NOTHING:
            self.words.append((Give.NONE,))
        else:
            cls = form[1]
            made = cls if cls in (tuple, list) else getattr(cls, "_make", cls)
            self.keep.append(made)
            self.words.append((Give.TUPLE, id(made), len(form[2])))
            for part in form[2]:
                self._form(part)


def class_of(t: Any) -> int:
    """What native code compares of a tensor's flags."""
    history = HISTORY if t._flags & HISTORY or t._node is not None else 0
    shared = SHARED if t._storage is not None or t._flags & (SPECIAL | VIEWED) else 0
    return t._flags & (LEAF | OPEN | HOOKED) | history | shared


NativeCall: Any = None

if recorder.SUPPORTED:

    class Known(recorder.RecordedBase):
        """A recorded function whose calls native code recognises."""

    recorder.mark(Known)
    NativeCall = Known


def recordable(cls: type) -> None:
    """Let calls be described by instances of this class; results are of the first."""
    tensor_types.append(cls)
    known = recorder.installed()
    take_over(known[0] if known else tapes.tape)


def take_over(tape: Any) -> None:
    """Recognise calls natively on this tape, if it is the main thread's, or that on which it was done has ended."""
    tape.special = lambda t: t._owner is None and usable(t, tape)
    known = recorder.installed()
    owner = known[0].owner if known else tape.owner
    mine = tape.owner in (threading.main_thread().ident, owner)
    if recorder.SUPPORTED and (mine or all(t.ident != owner for t in threading.enumerate())):
        recorder.install(tape, State, Cell, tensor_types[0], tensor_types[-1])


def native_operators(*classes: type) -> None:
    """Make slots of the operators that these classes define, which are quicker than methods."""
    if recorder.SUPPORTED:
        for cls in classes:
            found = {name: value for name, value in vars(cls).items() if recorder.is_operator(name)}
            recorder.operators(found)
            for name in found:
                delattr(cls, name)
