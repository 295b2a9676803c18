"""How long a statement runs, and where it may be cut into chunks that run in any order, on any number of threads.

Cuts depend on sizes alone, never on the number of threads.
"""

from __future__ import annotations

from math import trunc
from typing import Any, NamedTuple

from ...ir.measure import volume
from ...ir.symint import larger
from ...loops import Axis, Guarded
from ..program import Nest, Rows, tops
from .inside import reachable
from .schedule import Facts, cost

STRAIGHT = 4  # vectors up to which a whole axis is written without a loop
CHOSEN = 16  # the same where a vector would else be chosen from several arrays by masks
SHORT = 40_000  # nanoseconds of a statement up to which nobody need share or interrupt it
CHUNK = 50_000  # nanoseconds of one chunk
LOOK = 500_000  # nanoseconds between two looks for signals
LANE = 0.012  # nanoseconds of one multiplication in a tile


class Cut(NamedTuple):
    """The `whole` steps of a statement's outermost axis that are done in chunks of `step`; those after are a rest."""

    whole: int
    step: int
    work: int

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.whole // self.step)


class Pause(NamedTuple):
    """Where a long statement looks for signals: after about so many steps of an axis."""

    axis: Axis
    steps: Any


def turn(nest: Nest, axis: Axis) -> int:
    """How many steps of a loop over an axis one turn makes."""
    if axis is nest.vector:
        return nest.width * nest.unroll
    return nest.rows if axis is nest.tile else 1


def in_turns(nest: Nest, axis: Axis) -> int:
    """How many steps of an axis are made in whole turns of a loop."""
    straight = nest.unroll if nest.tile is not None else CHOSEN if _chooses(nest, axis) else STRAIGHT
    if axis is nest.vector and -(-axis.extent // nest.width) <= straight:
        return 0
    return axis.extent - axis.extent % turn(nest, axis)


def _chooses(nest: Nest, axis: Axis) -> bool:
    """Whether each vector of an axis lies on one side of every guard, so that written out it needs none."""
    found = False
    for e in reachable(tops(nest)):
        for index, lo, hi in e.ranges if isinstance(e, Guarded) else ():
            if index.factor(axis):
                found = True
                ends = (lo - index.constant, hi - index.constant)
                if index.terms != ((axis, 1),) or any(end % nest.width for end in ends):
                    return False
    return found and nest.tile is None


def cut(statement: Nest | Rows) -> Cut | None:
    """How to run a long statement in chunks; None if it is short, or must run from beginning to end."""
    nests = statement.body if isinstance(statement, Rows) else (statement,)
    work = nanoseconds(statement)
    free = isinstance(statement, Rows) or len(statement.axes) > statement.reduced
    if work < SHORT or not free or not statement.axes or any(map(_adds, nests)):
        return None
    axis = statement.axes[0]
    if isinstance(statement, Rows):
        unit = statement.width if axis is statement.vector else 1
        whole = axis.extent - axis.extent % unit
    else:
        unit, whole = turn(statement, axis), in_turns(statement, axis)
    if whole < 2 * unit:
        return None
    steps = whole // unit
    return Cut(whole, unit * -(-steps // max(2, min(steps, work // CHUNK))), work)


def pause(statement: Nest | Rows, chunks: Cut | None) -> Pause | None:
    """Where a statement, or one of its chunks, looks for signals; None if it is short."""
    left = nanoseconds(statement)
    for axis in statement.axes:
        extent = axis.extent
        if axis is statement.axes[0] and chunks is not None:
            left, extent = left * chunks.step / extent, chunks.step
        if left < 2 * LOOK:
            return None
        left /= extent
        if left < LOOK or axis is statement.axes[-1]:
            return Pause(axis, max(trunc(LOOK / left), 1))
    return None


def _adds(nest: Nest) -> bool:
    return any(s.fold or (s.gathered and not s.over) for s in nest.stores)


def nanoseconds(statement: Nest | Rows) -> int:
    """About how long a statement runs."""
    if isinstance(statement, Rows):
        return volume(a.extent for a in statement.axes) * sum(map(nanoseconds, statement.body))
    steps = volume(a.extent for a in statement.axes)
    if statement.tile is not None:
        return trunc(steps * LANE)
    lanes = statement.width if statement.vector is not None else 1
    return larger(trunc(steps * cost(statement, Facts(statement)) / (8 * lanes)), 1)


__all__ = ["STRAIGHT", "Cut", "Pause", "cut", "in_turns", "nanoseconds", "pause", "turn"]
