"""Whole calls as events: what a function of tensors records is noted the first time, and recognised from then on.

A call is described by what it can depend on: the function, the mode, the kinds of its tensors and whether they
require gradients, the classes of numbers that are inputs, and everything else by value.  Where an equal call follows
the same state of the trace, or any state, nothing runs: its results are *late* tensors, which have a number on the
tape and no more until somebody looks.  So a function that is recorded must depend on its arguments and the mode only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper, wraps
from typing import Any

import numpy as np

from ....compiler.backend import process
from .. import recorder
from ..trace import plans
from ..trace.chunks import end_chunk, may_end
from ..trace.crowd import crowd
from ..trace.handing import forget_storages
from ..trace.locks import wait_for
from ..trace.states import Call, State, forest
from ..trace.tape import BOUND, Tape, tapes
from ..trace.undo import mend
from ..value.aliases import adopt_all, through_owners
from ..value.by_value import through_values
from ..value.given import asked
from ..value.memory import leave, leave_all, tensor_types
from ..value.numbers import number_of
from .apart import apart, strange
from .cutting import is_cut
from .dynamic_calls import learn_sizes, template_for
from .first_run import FirstRun
from .follow import check_renewed, check_through, follow, grads_fit, instance
from .naming import renamed
from .natively import NativeCall, take_over, tell
from .patterns import tell_pattern
from .reading import Over, Reading, Unknown, check

NOT_RECORDED = object()


class Recorded:
    """A function whose calls are events.

    numbers   names of parameters whose numbers are inputs: what the function does must not depend on their values
    exact     what it does depends on the whole trace
    ahead     of one that is exact: (tape, reading) -> the state that it leads to, if that can be told beforehand
    parts     of one that is exact: (tape, args, kwargs) -> whether it was done in several parts, each `in_parts`
    ends      whether it is a backward as a whole, after which a long trace may be run
    patterns  what native code was told of its calls wherever they stand, and how many it was not told of since
    writes    it gives its first argument other values, and does nothing else
    prepared  (args) -> args that can be described, in place of such as tell by their values what the call is
    pure      it asks of its arguments for their values, and where they lie if that is where its results will
    at_once   (args) -> what the call gives, done at once where it is of plain data alone, or NotImplemented
    shares    so they do, or it writes to arguments
    alters    it may write to arguments, or use their history up
    cuts      of which values that are known ("all", "integers") its result is cut at once, and is no part of a trace
    """

    def __init__(
        self, function: Callable[..., Any], numbers: Sequence[str] = (), exact: bool = False, cuts: str = "",
        ahead: Any = None, parts: Any = None, in_parts: bool = False, pure: bool = False,
    ) -> None:
        self.parts, self.in_parts = parts, in_parts
        self.function, self.numbers = function, frozenset(numbers)
        self.exact, self.cuts, self.ahead, self.ends = exact, cuts, ahead, exact and not in_parts
        self.prepared, self.writes = getattr(function, "prepared", None), getattr(function, "writes", False)
        self.at_once = getattr(function, "at_once", None)
        self.name = function.__name__.strip("_") if function.__name__[:2] == "__" else function.__name__
        code = getattr(function, "__code__", None)
        self.parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
        self.native: Any = None
        self.shares = not pure or "out" in self.parameters or (self.name.endswith("_") and not self.writes)
        self.alters = exact or not (pure or cuts) or "out" in self.parameters or self.name.endswith("_") or self.writes
        self.patterns: list[Any] = []
        self.untold = 0

    def forget_numbers(self) -> None:
        """From now on numbers are told by their values."""
        self.numbers = frozenset()

    def slow(self, *args: Any, **kwargs: Any) -> Any:
        """The call, where it was not recognised."""
        if (apart.on or strange(args, kwargs)) and (made := apart.called(self, args, kwargs)) is not NotImplemented:
            return made
        tape: Any = tapes.tape
        if recorder.SUPPORTED and tape.special is None:
            take_over(tape)
        if self.at_once and not tape.depth and (made := self.at_once(*args, **kwargs)) is not NotImplemented:
            return made
        if self.prepared is not None and (given := self.prepared(args)) is not args:
            return (self.native or self.slow)(*given, **kwargs)
        for n, a in enumerate(args):
            if not isinstance(a, np.generic):
                if type(a) is tensor_types[0] and a._owner is not None:
                    return through_owners(self, tape, args, kwargs)
                if type(a) in (list, tuple) and adopt_all(a):
                    return (self.native or self.slow)(*args, **kwargs)
                continue
            if type(a) is np.float64 or (self.parameters[n : n + 1] and self.parameters[n] in self.numbers):
                again = self.native or self.slow
                return again(*args[:n], number_of(a), *args[n + 1 :], **kwargs)
        if kwargs and (named := renamed(self.function, kwargs)) is not kwargs:
            return (self.native or self.slow)(*args, **named)
        if not (self.shares or tape.depth or tape.mode > 1 or crowd.on):
            made = through_values(self, args, kwargs)
            if made is not NotImplemented:
                return made
        if crowd.on:  # from here on few calls before the lock: another thread may come to write to what this one reads
            return crowd.turn(tape, partial(self.function, *args, **kwargs))
        if tape.depth:
            wait_for(tape)
        if tape.depth or tape.mode > 1 or (self.cuts and is_cut(args, tape, self.cuts)):
            return self.function(*args, **kwargs)
        if self.native is not None and not tape.mode & 1 and leave_all(args, tape):
            return self.native(*args, **kwargs)
        if self.writes and tape.mode == 1 and args and type(args[0]) in tensor_types:
            made = args[0]._write_taken_up(self.native or self.slow, args, kwargs)
            if made is not NotImplemented:
                return made
        if self.parts is not None and self.parts(tape, args, kwargs):
            return None
        with tape.lock:
            if tape.count >= BOUND:
                tape.flush()
            try:
                made = self._recorded(tape, args, kwargs)
            except BaseException as error:
                mend(tape, error)
                raise
            if self.ends and made is not NOT_RECORDED:
                end_chunk(tape)
        return self.function(*args, **kwargs) if made is NOT_RECORDED else made  # what it calls may be understood

    def _recorded(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the call gives, as an event if it can be one."""
        case = None
        try:
            reading = self._read(tape, args, kwargs)
            state = self._known(tape, reading)
            if state is None:
                if self.exact:
                    case = self._case(tape, reading)
                    if forest.missed.is_hopeless(case):  # but what is known is followed, however much else was missed
                        return NOT_RECORDED
                state = self._next(tape, reading)
            check_through(state, reading)
        except Over:  # a value is looked at, and there is none on the side
            tape.flush()
            return self._recorded(tape, args, kwargs)
        except Unknown as error:
            self._missed(error, case)
            return self._plainly(tape, args, kwargs) if self.exact else NOT_RECORDED
        if state is not None:
            return follow(tape, state, reading)
        if reading.floats and forest.varied.is_one_of_many(reading.bare(), hash(reading.form)):
            return self._with_inputs(tape, reading, args, kwargs)
        if not self.exact and forest.missed.is_hopeless(self._case(tape, reading)):
            return NOT_RECORDED
        with process.uncollected():
            return self._run(tape, reading, args, kwargs)

    def _with_inputs(self, tape: Tape, plain: Reading, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same where the call has other floats than many before: those that change are inputs of it."""
        moving = () if self.exact else forest.varied.moves(plain.bare(), plain.floats)
        try:
            reading = self._read(tape, args, kwargs, moving) if moving else plain
            if not moving or reading.region < 0 or forest.missed.is_hopeless(self._case(tape, reading)):
                return self._plainly(tape, args, kwargs)
            state = self._known(tape, reading) or self._next(tape, reading)
            check_through(state, reading)
        except Unknown as error:
            self._missed(error)
            return self._plainly(tape, args, kwargs)
        return follow(tape, state, reading) if state is not None else self._run(tape, reading, args, kwargs)

    def _read(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], moving: Any = ()) -> Reading:
        """The call, described.  Where that reads what another thread recorded, the lock is let go, and the trace may be
        run meanwhile."""
        while True:
            serial = tape.serial
            try:
                reading = Reading(self, tape, args, kwargs, moving)
            except Over:
                tape.flush()
            else:
                if tape.serial == serial:
                    return reading

    def _case(self, tape: Tape, reading: Reading) -> int:
        """What calls have in common that are understood, or are not."""
        return hash((tape.state.path, reading.form, *reading.places) if self.exact else reading.form)

    def _missed(self, error: Unknown, case: int | None = None) -> None:
        plans.because(self.function.__name__, str(error))
        if case is not None:
            forest.missed.add(case)

    def _plainly(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function; what it records are single events."""
        if self.exact:
            return self.function(*args, **kwargs)
        tape.depth += 1
        try:
            made = self.function(*args, **kwargs)
        except BaseException:
            tape.storages = []
            raise
        finally:
            tape.depth -= 1
        forget_storages(tape, made)
        return made

    def _known(self, tape: Tape, reading: Reading) -> State | None:
        """The state that the call led to before, if it has stood here."""
        if reading.form.template is None and not self.exact:
            reading.form.template = template_for(reading)
        template = reading.form.template
        if template is not None and (reading.numbers or template.checks):
            check(template, reading)
        if template is not None and template.renewed:
            check_renewed(template, reading)
        for state in tape.state.children.get((reading.form, *reading.places), ()):
            if not self.exact or grads_fit(tape, state, reading):
                self._tell(tape, state, reading)
                return state
        return None

    def _tell(self, tape: Tape, state: State, reading: Reading) -> None:
        """Let native code recognise the call, which is worth its time for what comes again."""
        event: Call = state.event  # type: ignore[assignment]
        told = self.native is None or state.call is not None or event.template.through
        if not told and not (self.ends and may_end(tape, state)):
            tell(state, reading)

    def _next(self, tape: Tape, reading: Reading) -> State | None:
        """The state that the call leads to where it has not stood before, if that can be told without running it."""
        template = reading.form.template
        if self.exact:
            found = self.ahead and self.ahead(tape, reading)
        else:
            found = template and instance(template, tape, reading)
            if template is not None and not template.through:
                tell_pattern(reading, template, tape)
        if not found:
            return None
        state = tape.state.add((reading.form, *reading.places), found, kept=False)
        if forest.recurs:
            self._tell(tape, state, reading)
        return state

    def _run(self, tape: Tape, reading: Reading, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function for the first time, and learn from it."""
        tape.catch_up()
        if not tape.mode & 1:
            for t in reading.tensors:
                if t._storage is not None or self.alters:
                    leave(t, tape)
        key, case = (reading.form, *reading.places), self._case(tape, reading)
        noted, run = len(tape.journal), FirstRun(tape, reading)
        tape.call = run
        tape.depth += 1
        failed = False
        try:
            made = self._called(run, args, kwargs)
        except BaseException as error:
            run.give_up()
            tape.storages = []
            failed = bool(reading.given) and not run.written and isinstance(error, Exception)
            if not failed:
                raise
        finally:
            tape.depth -= 1
        if failed:  # perhaps at what stands for a number
            made = self._plainly(tape, args, kwargs)
            forest.varied.learned(reading, None)
            return made
        if not self.exact:
            forget_storages(tape, made)
        try:
            template = run.understand(made)
            run.check_open()  # still: to read what another thread recorded lets go of the lock
        except Unknown as error:
            self._missed(error, case)
            run.give_up()
            if reading.given and run.numbers.asked():
                forest.varied.learned(reading, None)
            return made
        if reading.given:
            forest.varied.learned(reading, [template.bounds[k] for k in reading.given])
        tape.call = None
        forest.missed.forget(case)
        if not self.exact and not run.alike:
            reading.form.template = template
        event = Call(template, run.arguments, tuple(run.entered), run.base)
        tape.go(run.state.add(key, State(run.state, event, tape.count)))
        if not template.through:  # of memory that others read the event does not tell
            tape.journal = tape.journal[:noted]  # another list: whoever has read the old one begins anew
        if self.native is not None and self.exact and not may_end(tape, tape.state):
            tell(tape.state, reading)
        if reading.form.template is template:
            learn_sizes(reading, template)
        return made

    def _called(self, run: FirstRun, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function's result; numbers that are to be inputs tell what is asked of them."""
        if not run.numbers.given:
            return self.function(*args, **kwargs)
        positional, named = run.reading.form.arguments
        given = [run.numbers.handed(form, a) for form, a in zip(positional, args, strict=True)]
        return asked(self.function(*given, **{name: run.numbers.handed(named[name], a) for name, a in kwargs.items()}))


def recorded(
    function: Callable[..., Any], numbers: Sequence[str] = (), exact: bool = False, cuts: str = "",
    ahead: Any = None, parts: Any = None, in_parts: bool = False, pure: bool = False,
) -> Callable[..., Any]:
    """`function`, whose calls are events."""
    known = _known.get(function)
    if known is not None:
        return known
    made = Recorded(function, numbers, exact, cuts, ahead, parts, in_parts, pure)
    slow = made.slow
    if recorder.SUPPORTED:
        native: Any = update_wrapper(NativeCall(function, slow), function)
        made.native, native.of = native, made
        _known[function] = _known[native] = native
        return native

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return slow(*args, **kwargs)

    _known[function] = _known[call] = call
    return call


_known: dict[Any, Callable[..., Any]] = {}

if recorder.SUPPORTED:
    NativeCall.__reduce__ = lambda self: self.__qualname__  # copies and pickles are the function itself


__all__ = ["Recorded", "recorded"]
