"""Recording: operations are appended to the thread's tape and run when somebody needs a value.

A trace is what was recorded since the last run.  Its values are numbered in the order in which they came, and
its key is the list of fragments and numbers, so two traces of equal structure have equal keys, whatever their
tensors hold.  The tape keeps no result alive: those that nobody refers to any more are not handed out.
"""

from __future__ import annotations

import sys
import threading
from itertools import count
from types import CodeType
from typing import NamedTuple
from weakref import ref

from ...compiler.ir.graph import Where
from .cells import Cell
from .fragments import Fragment
from .plans import Step, run

BOUND = 512
"""A longer trace is run, so that memory stays bounded and so does the time a key takes."""

_HERE = __name__.rpartition(".tensor.")[0]


class Place(NamedTuple):
    """A place in running code, from which the line can be told when somebody asks."""

    code: CodeType
    instruction: int

    @property
    def where(self) -> Where:
        for start, end, line in self.code.co_lines():
            if start <= self.instruction < end and line is not None:
                return Where(self.code.co_filename, line)
        return Where(self.code.co_filename, self.code.co_firstlineno)

    def __str__(self) -> str:
        return str(self.where)


class Trace:
    """What was recorded since the last run, as steps over numbered values."""

    __slots__ = ("tape", "key", "inputs", "steps", "places", "results", "error", "has_backward")

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.key: list[int] = []
        self.inputs: list[tuple[int, Cell]] = []
        self.steps: list[Step] = []
        self.places: list[Place] = []
        self.results: list[ref[Cell] | None] = []
        self.error: Exception | None = None
        self.has_backward = False

    def enter(self, cell: Cell) -> int:
        """The number of a computed value that the trace reads."""
        number = len(self.results)
        cell.at = (self, number)
        self.key.append(-1 - cell.kind.number)
        self.inputs.append((number, cell))
        self.results.append(None)
        return number

    def add(self, fragment: Fragment, cells: list[Cell]) -> list[Cell]:
        """Append one step; its results are still to be computed."""
        numbers, results = [], self.results
        for cell in cells:
            at = cell.at
            numbers.append(at[1] if at is not None and at[0] is self else self.enter(cell))
        first = len(results)
        self.key += (fragment.number, *numbers)
        self.steps.append((fragment, numbers, first))
        made = [Cell(kind, None, (self, n)) for n, kind in enumerate(fragment.results, first)]
        results += map(ref, made)
        return made

    def run(self) -> None:
        """Compute what is still referred to, and forget the rest."""
        live = [(k, c) for k, r in enumerate(self.results) if r is not None and (c := r()) is not None]
        try:
            if live:
                numbers = tuple([k for k, _ in live])
                arrays = run(self.key, self.inputs, self.steps, numbers, self.places)
                for (_, cell), array in zip(live, arrays, strict=True):
                    cell.array, cell.at = array, None
        except Exception as error:
            self.error = error
            self.clear()
            raise
        self.clear()

    def clear(self) -> None:
        """Let go of what was recorded."""
        self.key, self.inputs, self.steps, self.places, self.results = [], [], [], [], []


class Tape:
    """The trace that a thread is recording.  Another thread that needs a value of it runs it under its lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.trace = Trace(self)

    def flush(self) -> None:
        with self.lock:
            trace, self.trace = self.trace, Trace(self)
            try:
                trace.run()
            except KeyboardInterrupt:
                self.trace = trace  # nothing of it is lost: whoever reads next runs it again
                raise


class _Tapes(threading.local):
    def __init__(self) -> None:
        self.tape = Tape()


_tapes = _Tapes()


def record(fragment: Fragment, cells: list[Cell], place: Place | None = None) -> list[Cell]:
    """Append an operation to this thread's tape and return its results; `place` is where it comes from, if not here."""
    tape = _tapes.tape
    trace = tape.trace
    for cell in cells:
        if cell.array is None and cell.at[0] is not trace:  # type: ignore[index]
            force(cell)
    with tape.lock:
        if len(tape.trace.steps) >= BOUND:
            tape.flush()
        trace = tape.trace
        made = trace.add(fragment, cells)
        trace.places.append(place or _place_for(fragment))
    return made


def force(cell: Cell) -> Cell:
    """The cell, with its array computed."""
    if cell.array is None:
        at = cell.at
        if at is not None:
            trace = at[0]
            with trace.tape.lock:
                if trace is trace.tape.trace:
                    trace.tape.flush()
        if cell.array is None:
            cause = at[0].error if at is not None else None
            raise RuntimeError("this tensor has no value, because what computes it failed") from cause
    return cell


def flush() -> None:
    """Run what this thread has recorded."""
    _tapes.tape.flush()


def begin_backward() -> None:
    """Let a trace hold one backward at most, so that a loop that reads nothing has a period too."""
    trace = _tapes.tape.trace
    if trace.has_backward:
        flush()
    _tapes.tape.trace.has_backward = True


def _place_for(fragment: Fragment) -> Place:
    """The innermost place outside this package, which for a fragment is mostly as many frames up as the last time.

    To ask for one frame is quick; to walk through all makes Python keep an object for each.
    """
    hint = fragment.hint
    if hint is not None:
        depth, place = hint
        try:
            frame = sys._getframe(depth)
        except ValueError:
            frame = None
        if frame is not None and frame.f_code is place.code:
            instruction = frame.f_lasti
            return place if instruction == place.instruction else Place(place.code, instruction)
    depth, place = _innermost(2)
    fragment.hint = depth - 1, place
    return place


def _innermost(depth: int) -> tuple[int, Place]:
    """How many frames up from here the innermost place outside this package is, and the place."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_HERE):
        frame, depth = frame.f_back, depth + 1
    return depth, Place(frame.f_code, frame.f_lasti)


def here() -> Place:
    """The place in the user's code that runs now."""
    return _innermost(2)[1]


def place_of(cell: Cell) -> Place | None:
    """The place of the operation that was just recorded with this result."""
    at = cell.at
    return at[0].places[-1] if at is not None and at[0].places else None


sequence = count().__next__
"""Numbers in the order of recording, the same for all threads."""
