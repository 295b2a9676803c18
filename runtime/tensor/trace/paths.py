"""Whether steps go the same way again: looks in the middle of a trace go in, and whether it is run there comes out.

    while error > tolerance:          each step turns so often, and has a way of its own
        y, error = attempt(y)
        ...                           but the turns are all alike

A step that comes again is one kernel, so looks leave it whole.  Where hardly a step is like another there is nothing to
come again but the stretches between looks, so the trace is run at each look: see reverse/segments.py.
"""

from __future__ import annotations

from collections import OrderedDict

DEAR, NEW = 4, 16
"""A step that is left whole and is new costs about four times what leaving one whole saves where it comes again; with
this much lost the next ones are run at each look."""

AGAIN, OFTEN = 8, 64
"""So many steps in a row must come again, at first and at most, for the next ones to be left whole after some were not.
"""

WAYS = 256
"""So many ways are known by which steps went that began alike."""

KEPT = 4096
"""Of so many first looks it is known whether steps go the same way."""


class _Habit:
    """What steps do that begin with the same look.

    whole   whether looks leave the trace whole, else it is run at each
    doubt   how much spoke for the other
    needed  how many must, for it to be left whole: one the first time, and more each time that it was wrong
    longest how many values the longest step had that was left whole
    ways    hashes of the ways of steps that were run at each look
    """

    __slots__ = ("whole", "doubt", "needed", "longest", "ways")

    def __init__(self) -> None:
        self.whole, self.doubt, self.needed, self.longest = False, 0, 1, 0
        self.ways: OrderedDict[int, None] = OrderedDict()

    def note(self, new: bool, length: int = 0) -> None:
        """Note whether a step went a way that none has gone before; one that is longer than all may be growing, where
        several traces of a step become one."""
        if self.whole:
            self.doubt = self.doubt + (1 if length > self.longest else DEAR) if new else max(self.doubt - 1, 0)
            self.longest = max(self.longest, length)
        else:
            self.doubt = 0 if new else self.doubt + 1
        if self.doubt >= (NEW if self.whole else self.needed):
            if self.whole:
                self.needed = min(max(2 * self.needed, AGAIN), OFTEN)
            self.whole, self.doubt = not self.whole, 0

    def is_new(self, way: int) -> bool:
        """Whether no step went this way; from now on one has."""
        new = way not in self.ways
        self.ways[way] = None
        if len(self.ways) > WAYS:
            self.ways.popitem(last=False)
        return new


_habits: OrderedDict[int, _Habit] = OrderedDict()


class Way:
    """The way of a step that has begun: its first look -> whether looks leave the trace whole, and where it was run."""

    __slots__ = ("habit", "whole", "cuts")

    def __init__(self, first: int) -> None:
        habit = _habits.get(first)
        if habit is None:
            habit = _habits[first] = _Habit()
            while len(_habits) > KEPT:
                _habits.popitem(last=False)
        self.habit, self.whole, self.cuts = habit, habit.whole, 0

    def cut(self, look: int) -> None:
        """Note that the trace is run at a look."""
        self.cuts = hash((self.cuts, look))

    def end(self, path: int, new: bool = False, length: int = 0) -> None:
        """Note that the step is over, with a trace of this path, whether that is new, and how many values it has; there
        is no way then."""
        habit = self.habit
        if self.whole == habit.whole:
            habit.note(new if self.whole else habit.is_new(hash((self.cuts, path))), length)


__all__ = ["Way"]
