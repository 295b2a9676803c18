"""Calls that are known wherever they stand, in the words of native code; and the states of those that it noted.

A program whose structure is another one at each step never comes to the same state twice.  So the second time that
calls of a form follow their template where none has stood before, native code is told what all of them do.  It notes
them, and the states come when somebody asks for the tape's: for backward, or to run the trace.
"""

from __future__ import annotations

from typing import Any

from .. import recorder
from ..recorder import Need, Search, find_places, forget_places
from ..trace.states import Call, State, Template
from ..trace.tape import Tape
from ..value.memory import lies_dense
from ..value.slots import HISTORY, LEAF, OPEN
from .natively import OFTEN, Gives, Needs, can_be_told, describe, tell
from .places import Codes, Place
from .reading import Reading

FEW, OTHERS = 32, 1024
"""So many patterns are told of one function; and when so many calls came to which none of them applied, others may be.
A program may come by many shapes, as in an evaluation, and by a new one then that stays."""

MOST_RESULTS = 256
"""So many tensors a call makes at most that follows a pattern."""


CODES = 2000
"""So much code is kept, of which calls were noted."""


class Pattern:
    """What all calls of a form do.

    state    what native code reads: it has no parent, and stands in no tree
    tensors  how many the calls read; `numbers` likewise; and how many values are made
    there    what is noted of the tensors if all are on the trace
    classes  of the tensors, by which states are told
    """

    __slots__ = ("recorded", "form", "template", "classes", "kinds", "tensors", "there", "numbers", "values", "state")

    def __init__(self, reading: Reading, template: Template) -> None:
        self.recorded, self.form, self.template = reading.recorded, reading.form, template
        self.classes = tuple(reading.classes)
        self.kinds = tuple([t._kind if t._is_late else t._cell.kind for t in reading.tensors])
        self.tensors, self.numbers = len(reading.tensors), len(reading.numbers)
        self.there, self.values = (Search.THERE,) * self.tensors, len(template.kinds)
        self.state = State(None, None, self.values)
        count = self.tensors + self.numbers
        any_call = Call(template, tuple(range(-1, -1 - count, -1)), (), 0)
        describe(self.state, _AnyNeeds(any_call, self), Gives(any_call), self.form)

    def after(
        self, before: State, base: int, where: Place | None, numbers: tuple[int, ...], agains: tuple[int, ...]
    ) -> State:
        """The state after a call whose tensors have these numbers."""
        entered: tuple[Any, ...] = ()
        key: tuple[Any, ...] = (self.form, *numbers)
        if agains != self.there:
            places: list[Any] = list(numbers)
            found = []
            for k, again in enumerate(agains):
                if again != Search.THERE:
                    of = None if again == Search.FIRST else again
                    places[k] = None if of is None else (of,)
                    found.append((numbers[k], of, self.kinds[k]))
            entered, key = tuple(found), (self.form, *places)
        known = before.children.get(key)
        if known and known[0].values == base + self.values:
            state = known[0]
            if state.call is None:
                state.met += 1
                if state.met >= OFTEN:  # beginnings of traces recur by chance as well
                    tell(state, self)
            return state
        arguments = numbers if not self.numbers else (*numbers, *range(base - self.numbers, base))
        call = Call(self.template, arguments, entered, base, where)
        return before.add(key, State(before, call, base + self.values), kept=False)


class _AnyNeeds(Needs):
    """What calls of a form need, with their tensors counted."""

    def __init__(self, call: Call, pattern: Pattern) -> None:
        super().__init__(call, pattern)
        self.met: set[int] = set()

    def _number(self, k: int) -> tuple[int, int]:
        return Need.SOME, k

    def _tensor(self, n: int, flags: int) -> None:
        k = -1 - n
        if k in self.met:
            self.words.append((Need.SAME, k))
        else:
            self.met.add(k)
            kind = self.reading.kinds[k]
            self.keep.append(kind)
            self.words.append((Need.ANY, k, id(kind), flags))

    def checks(self) -> None:
        for k, test in self.call.template.checks:
            self.keep.append(test)
            self.words.append((Need.TESTED, k, id(test)))
        self.bounds()


_patterns: dict[int, Pattern] = {}
codes = Codes()


def tell_pattern(reading: Reading, template: Template, tape: Tape) -> None:
    """Let native code recognise calls like this one wherever they stand, if all that they do can be said in its words.

    Calls whose results may be cut at once are left to Python, which looks where their argument stands.
    """
    recorded, form = reading.recorded, reading.form
    told = recorded.patterns
    if len(told) >= FEW:
        recorded.untold += 1
        if recorded.untold < OTHERS:
            return
        _take_back(recorded)
    if recorded.native is None or any(p.form is form for p in told) or not can_be_told(template):
        return
    if recorded.exact or template.grads or form.mode > 1:
        return
    if len(reading.tensors) > Search.MOST or len(reading.numbers) > Search.FEW or len(template.results) > MOST_RESULTS:
        return
    if any(what & OPEN for what in reading.classes) or not all(lies_dense(t, tape) for t in reading.tensors):
        return
    cut = recorded.cuts and recorded.cuts != "many"
    if cut and not (form.mode & 1 and reading.classes and reading.classes[0] & (LEAF | HISTORY)):
        return
    pattern = form.pattern
    if pattern is None or pattern.template is not template:
        pattern = form.pattern = Pattern(reading, template)
    native, state = recorded.native, pattern.state
    _patterns[id(state)] = pattern
    if pattern not in told:  # another thread may have told it; from here on no call, until it is
        state.sibling, native.pattern = native.pattern, state
        told.append(pattern)


def _take_back(recorded: Any) -> None:
    """Let native code know no patterns of a function, until they are told again; tapes may have notes of them.

    There is no call before the last, so that no other thread finds one half.
    """
    recorded.native.pattern, recorded.untold = None, 0
    recorded.patterns.clear()


def forget_patterns() -> list[Any]:
    """Recognise no calls by patterns any more; what `drop_patterns` is to be told when what was noted is settled."""
    for pattern in _patterns.values():
        _take_back(pattern.recorded)
        pattern.form.pattern = None
    return list(_patterns)


def drop_patterns(forgotten: list[Any]) -> None:
    """Let forgotten patterns go; no tape has notes of them. But another thread may just have told one again."""
    for key in forgotten:
        known = _patterns.get(key)
        if known is not None and known not in known.recorded.patterns:
            _patterns.pop(key, None)


def settle(tape: Any) -> None:
    """Make the states of the calls that native code noted.

    Nothing is lost where this is interrupted: the notes stay until their last state is there. Finalizers may run in the
    middle of it, record, and settle what there is: then it begins again, though there were as many notes.
    """
    with tape.lock:
        while notes := tape.notes():
            begin = state = tape.known
            serial, at, end = tape.serial, 0, len(notes)
            while at < end:
                pattern = _patterns[notes[at]]
                base, where = notes[at + 1], codes.place(notes[at + 2], notes[at + 3])
                middle = at + 4 + pattern.tensors
                after = middle + pattern.tensors
                state = pattern.after(state, base, where, notes[at + 4 : middle], notes[middle:after])
                at = after
            if tape.known is begin and tape.serial == serial and tape.settled(end, state):
                break
        if len(codes.known) > CODES:
            forget_places()
            codes.forget()


if recorder.SUPPORTED:
    Tape.settle = settle  # type: ignore[method-assign]
    find_places(codes.inside)


__all__ = ["drop_patterns", "forget_patterns", "settle", "tell_pattern"]
