"""Recording: what operations do is noted on the thread's tape, and run when somebody needs a value.

A trace is what was recorded since the last run: a path in a tree of states.  The tape holds its values by number,
and no more than the interpreter's counts of references tells whether anybody else does: those that nobody refers
to any more are not handed out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from ....compiler.locks import reentrant_lock
from ..calls.places import Place, here, place_for
from ..recorder import BOUND, serials
from ..value.cells import Cell, DualCell, Kind, LaneCell, newest
from ..value.slots import TapeBase
from .crowd import crowd
from .failures import failure, note_failure
from .first_time import NOT_LOOKED, leaves_history
from .fragments.fragments import Fragment
from .handing import hand_over
from .kept import Kept
from .locks import Locked
from .opened import enrol, is_irregular, tape_of
from .paths import Way
from .planning import planned
from .states import Again, Call, State, Step, forest
from .undo import mend, take_back

LONG = 1024
"""A trace with fewer values ends where a training step does; one with BOUND is run in the middle."""

STATES = 30_000
"""When there are more states, all are forgotten."""

ITS_OWN = (TypeError, ValueError, LookupError, ArithmeticError, AssertionError)  # others are memory's and signals'


class Tape(TapeBase):
    """The trace that a thread is recording.  Another thread that needs a value of it runs it under its lock.

    call     the call of a recorded function that runs for the first time
    again    the steps of one that runs again, because its nodes are wanted
    caught   the last state up to which all tensors have what they need for backward
    done     the states after it of which that is so as well
    place    where the last operation was recorded
    ages     gives nodes of the thread their numbers
    noded    whether there are nodes of this trace in earnest
    goes_on  whether a step has ended and the trace has not
    journal  what Python code has changed because of values that are still to be computed, see undo.py
    failed   the trace that could not be run once; patience a trace's serial and how long it may get, see chunks.py
    way      how the step has gone in which somebody has looked, see paths.py; over what its calls wrote over
    alone    the serial of a trace that ended because somebody looked at the only value with a history, see peeking.py
    holders  of memory that tensors share, as in value/memory.py; and up to where none is missing, as in follow.py: seen
    visits   how often other threads hold the lock; `depth` counts that as well, and recorded functions that run
    parts    backwards that are done in part; attached a trace's serial, and what is attached to its values: in_parts.py
    busy     its thread makes nodes, and must find the trace as it was when it lets go of the lock
    repeat.py has what makes the nodes that late tensors lack: catch_up, remember and recall.
    """

    catch_up: Callable[..., Any]
    remember: Callable[..., list[Any]]
    parts: Any
    holders: Any = None
    seen: Any = -1, False, None
    recall: Callable[[list[Any]], Any]

    def __init__(self, records: bool = True) -> None:
        super().__init__()
        self.done: set[State] = set()
        self.visits, self.busy, self.alone, self.patience = 0, False, (-1, 0), (-1, 0)
        self.peeked: Any = 0, list[int](), dict[int, Any]()
        self.way: Way | None = None
        self.over: Any = None, None
        self.lock, self.owner = reentrant_lock(), threading.get_ident()
        self.ages = count().__next__
        self.journal, self.storages = list[Any](), list[Any]()
        self.failed, self.parts, self.attached = 0, None, (0, dict[int, Any]())
        self.call: Any = None
        self.again: Any = None
        self.looked: Any = NOT_LOOKED
        self.place: Place | None = None
        self.serial, self.mode = serials(), 1 | is_irregular()
        if records:
            enrol(self)
            self.begin()

    def begin(self) -> None:
        """Start another trace."""
        if forest.states > STATES:
            forest.forget()
        self.restart(serials(), forest.root)
        self._begun()

    def _begun(self) -> None:
        self.noded = self.goes_on = False
        if self.peeked[2]:
            self.peeked = 0, [], {}
        if self.done or self.journal or self.attached[1]:
            self.done, self.journal, self.attached, self.holders = set(), [], (0, {}), None

    # ---- values

    def number_of(self, cell: Cell) -> int | None:
        """The number of a cell that is on this trace.  Another thread may enter it into its own at any time."""
        n = cell.number
        return n if cell.serial == self.serial and n < self.count and self.cell(n) is cell else None

    def cell_at(self, number: int, kind: Kind) -> Cell:
        """The cell of a value, made when it is first asked for."""
        cell = self.cell(number)
        if cell is None:
            cell = Cell(kind, None, self.serial, number)
            self.put(number, self.value(number), cell)
        return cell

    def add(self, value: Any, cell: Cell | None) -> int:
        """Append a value; its number."""
        n = self.count
        self.put(n, value, cell)
        self.count = n + 1
        if cell is not None:
            cell.serial, cell.number = self.serial, n
        return n

    def origin(self, n: int) -> int:
        """The value that value `n` is again, or itself."""
        at = self.state
        while at.parent is not None and at.parent.values > n:
            at = at.parent
        event = at.event if n < self.state.values else None  # a call that is under way has entered it
        other = None
        if isinstance(event, Again):
            other = event.number
        elif isinstance(event, Call):
            again = {m: b for m, b, _ in event.entered}
            again.update((event.number(a), event.number(b)) for a, b in event.template.aliases)
            other = again.get(n)
        return n if other is None else self.origin(other)

    # ---- events

    def read(self, cell: Cell) -> int:
        """The number of a value that an operation reads."""
        n = self.number_of(cell)
        if n is not None:
            return n
        call = self.call
        if call is not None:
            if cell.serial or cell.home is not None:
                call.refuse("reads a tensor that is no argument")
            n = self.add(None, cell)
            call.constants.append((n, cell))
        else:
            n = self.add(None, cell)
            self.go(self.state.after_entering(cell.kind))
        return n

    def go(self, state: State) -> None:
        """Follow an event that has happened in earnest."""
        if self.caught is self.state:
            self.caught = state
        else:
            self.done.add(state)
        self.state = state

    def step(self, fragment: Fragment, cells: Sequence[Cell], place: Place | None) -> list[Cell]:
        """Append one operation."""
        numbers = tuple([self.read(c) for c in cells])
        self.place = place = place or place_for(fragment)
        first, serial = self.count, self.serial
        made = [Cell(kind, None, serial, n) for n, kind in enumerate(fragment.results, first)]
        for n, cell in enumerate(made, first):
            self.put(n, None, cell)
        self.count = first + len(made)
        call = self.call
        if call is not None:
            call.steps.append(Step(fragment, numbers, first, place))
        else:
            self.go(self.state.after_step(fragment, numbers, place))
        return made

    def blur(self) -> None:
        """Note that something happened which is no event, though a backward may depend on it."""
        if self.count and self.call is None and self.again is None:
            self.go(self.state.blur())

    # ---- running

    def flush(self, step: bool = False) -> None:
        """Compute what is still referred to, and forget the rest.

        After a training `step` the trace goes on where history is left that backward has not used up.
        """
        path = self.state.path
        if self.call is None and not self.noded and self.rerun(forest.root, False) is True:
            if self.way is not None:
                self.way = self.way.end(path)
            return self._begun() if self.goes_on or self.done or self.journal or self.attached[1] else None
        with self.lock:
            if not self.count:
                return
            self.depth += 1  # so that whoever records meanwhile waits for the lock
            try:
                if self.call is None and not self.noded and self._is_done(step):
                    return
                if self.call is not None:
                    self.call.give_up()
                self._run(step)
            except BaseException as error:
                self.fail(error)
                raise
            finally:
                self.depth -= 1

    def _is_done(self, step: bool) -> bool:
        """Whether native code ran the trace as the last time, or it is to go on."""
        state, made = self.state, self.rerun(forest.root, True)
        if made is True:
            if self.way is not None:
                self.way = self.way.end(state.path)
            self._begun()
        elif type(made) is list:  # a kernel that failed fails again the other way, which raises its error
            state.runs += 1
            self._note(state.plan[-1], made)
            self.begin()
        elif step and self.count < LONG and leaves_history(self):
            self.goes_on, self.way = True, None
        else:
            return False
        return True

    def fail(self, error: BaseException) -> None:
        """Keep a trace that was interrupted, for whoever reads next; what fails twice, or by itself, is taken back."""
        if isinstance(error, ITS_OWN) or (self.failed == self.serial and isinstance(error, Exception)):
            note_failure(self.serial, error)
            take_back(self, 0, error)
            self.begin()
        else:
            self.failed = self.serial

    def _run(self, step: bool = False) -> None:
        live = self.live()
        if not any(live):
            return self.begin()
        plan, kept, over = planned(self, live)
        if self.way is not None and (step or over):
            self.way = self.way.end(self.state.path, self.state.plans.get(plan.live) is not plan, self.count)
        late = plan.replay(self)
        self._note(plan, hand_over(self, plan, plan.run(self)) if late is None else late, kept)
        self.begin()

    def _note(self, plan: Any, late: list[Any], kept: Kept | None = None) -> None:
        """Note of late tensors how they were made."""
        record = self.remember(plan, late, kept) if late else None
        for tensor in late:
            tensor._record, tensor._place = record, tensor._number


class _Tapes(threading.local):
    """The `tape` of each thread, with the choices that it made. What is collected while one is made may need it."""

    def __getattr__(self, name: str) -> Tape:
        return self.__dict__.setdefault("tape", Tape())

    def __reduce__(self) -> str:
        return "tapes"


tapes = _Tapes()


def record(fragment: Fragment, cells: Sequence[Cell], place: Place | None = None) -> list[Cell]:
    """Append an operation to this thread's tape and return its results; `place` is where it comes from, if not here."""
    tape = tapes.tape
    if tape.again is not None:
        return tape.again.step(fragment, cells)
    for cell in cells:
        if cell.array is None and cell.serial != tape.serial:
            if type(cell) is not Cell:
                unrepeatable()
                return newest(cells).record(fragment, cells, place)
            force(cell)
    if crowd.on:
        return crowd.turn(tape, lambda: _append(tape, fragment, cells, place))
    with tape.lock:
        return _append(tape, fragment, cells, place)


def _append(tape: Tape, fragment: Fragment, cells: Sequence[Cell], place: Place | None) -> list[Cell]:
    if tape.count >= BOUND:
        tape.flush()
    try:
        return tape.step(fragment, cells, place)
    except BaseException as error:
        mend(tape, error)
        raise


def force(cell: Cell) -> Cell:
    """The cell, with its array computed."""
    if cell.array is None:
        while type(cell) is DualCell:
            cell = cell.primal
        if type(cell) is LaneCell:
            cell.level.refuse()
        if cell.array is not None:
            return cell
        compute(cell.serial)
        if cell.array is None:
            raise RuntimeError("this tensor has no value, because what computes it failed") from failure(cell.serial)
    return cell


def compute(serial: int) -> None:
    """Run the trace of this serial, if it has not been run."""
    mine = tapes.tape
    if mine.serial == serial:
        mine.flush()
    elif (tape := tape_of(serial)) is not None:
        if crowd.on:  # whose turn has ended then, and mostly its trace
            crowd.turn(mine, lambda: _run_other(mine, tape, serial))
        else:
            _run_other(mine, tape, serial)


def _run_other(mine: Tape, tape: Tape, serial: int) -> None:
    """Run a trace of another thread."""
    with Locked(mine, tape):
        if tape.serial == serial:
            tape.flush()


def unrepeatable() -> None:
    """Note that the call under way does not depend on its arguments only."""
    call = tapes.tape.call
    if call is not None:
        call.refuse("draws random numbers, or warns")


def flush() -> None:
    """Run what this thread has recorded."""
    tapes.tape.flush()


__all__ = ["Locked", "Place", "Tape", "compute", "flush", "force", "here", "record", "tapes"]
