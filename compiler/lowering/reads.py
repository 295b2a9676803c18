"""What a statement loads and writes, and whether two places lie in the same row of an axis."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

from ..ir.measure import OpenExtent
from ..ir.types import exactly
from ..loops import Affine, Axis, Buffer, Element, Guarded, Load
from .nests.inside import children, reachable
from .program import Multiply, Nest, tested, tops


class Read(NamedTuple):
    """A load, and the steps of axes at which it is made, where guards leave out some."""

    load: Load
    steps: Mapping[Axis, tuple[int, int]]


def reads(statement: Nest | Multiply) -> list[Read]:
    """All that a statement loads."""
    if isinstance(statement, Multiply):
        return []
    made = tops(statement)
    if not any(isinstance(e, Guarded) for e in reachable(made)):
        return [Read(e, {}) for e in reachable(made) if isinstance(e, Load)]
    found: list[Read] = []
    pending: list[tuple[Element, tuple[tuple[Axis, tuple[int, int]], ...]]] = [(e, ()) for e in made]
    seen: set[tuple[int, Any]] = set()
    while pending:
        e, steps = pending.pop()
        if (id(e), steps) in seen:
            continue
        seen.add((id(e), steps))
        if isinstance(e, Load):
            found.append(Read(e, dict(steps)))
        if isinstance(e, Guarded):
            pending += [(e.outside, steps), (e.inside, _narrowed(dict(steps), e))]
        else:
            pending += [(part, steps) for part in children(e)]
    return found


def _narrowed(steps: dict[Axis, tuple[int, int]], e: Guarded) -> tuple[tuple[Axis, tuple[int, int]], ...]:
    """The steps of axes that are left inside a guard; a guard of several axes leaves all."""
    for index, lo, hi in e.ranges:
        if len(index.terms) == 1 and index.terms[0][1] > 0:
            ((axis, factor),) = index.terms
            first, last = steps.get(axis, (0, axis.extent - 1))
            least, most = -(-(lo - index.constant) // factor), (hi - 1 - index.constant) // factor
            steps[axis] = max(first, least), min(last, most)
    return tuple(sorted(steps.items(), key=lambda item: id(item[0])))


def _reach(offset: Affine, steps: Mapping[Axis, tuple[int, int]]) -> tuple[int, int]:
    """The least and the greatest value of an offset at the steps."""
    low = high = offset.constant
    for axis, f in offset.terms:
        ends = [f * step for step in steps.get(axis, (0, axis.extent - 1))]
        if any(isinstance(end, OpenExtent) for end in ends):  # there is a step, where it matters
            low, high = (low + ends[0], high + ends[1]) if f >= 0 else (low + ends[1], high + ends[0])
        else:
            low, high = low + min(ends), high + max(ends)
    return low, high


def single_steps(found: list[Read], rows: Set[Axis]) -> tuple[dict[int, dict[Axis, int]], set[Buffer]]:
    """By the id of a load, the axes but `rows` that guards leave one step of; and buffers read at several steps."""
    made: dict[int, dict[Axis, int]] = {}
    torn: set[Buffer] = set()
    for read in found:
        alone = {
            axis: first
            for axis, _ in read.load.offset.terms
            for first, last in [read.steps.get(axis, (0, axis.extent - 1))]
            if first == last and axis not in rows
        }
        if made.setdefault(id(read.load), alone) != alone:
            torn.add(read.load.buffer)
    return made, torn


def operands(statement: Nest | Multiply) -> set[Buffer]:
    """What a statement reads other than by loads."""
    if isinstance(statement, Multiply):
        return {statement.left.buffer, statement.right.buffer}
    return tested(statement)


def runs_alone(statement: Nest | Multiply) -> bool:
    """Whether a statement shares rows with no other: a call, or what does not always run or writes over something."""
    if isinstance(statement, Multiply):
        return True
    return bool(statement.cases) or any(s.over or (s.gathered and not s.fold) for s in statement.stores)


def written(statement: Nest | Multiply) -> list[tuple[Buffer, Affine]]:
    if isinstance(statement, Multiply):
        return [(statement.out.buffer, Affine())]
    return [(s.buffer, s.offset) for s in (*statement.stores, *statement.folds, *statement.after)]


def same_row(read: Read, axis: Axis, made: Affine, row: Axis) -> bool:
    """Whether the load reads, in each step of `axis`, what was made in the same step of `row`."""
    size, load = made.factor(row), read.load
    if load.gathered or size <= 0 or load.offset.factor(axis) != size:
        return False
    return _within_row(made, row, size, {}) and _within_row(load.offset, axis, size, read.steps)


def _within_row(offset: Affine, axis: Axis, size: int, steps: Mapping[Axis, tuple[int, int]]) -> bool:
    """Whether the rest of an offset stays inside one row; axes that walk whole rows of other axes may be there."""
    whole, start, rest = size * axis.extent, offset.constant, []
    for a, f in offset.terms:
        first, last = steps.get(a, (0, a.extent - 1))
        if a is not axis and first == last:
            start += f * first
        elif a is not axis:
            rest.append((a, f))
    inner = tuple((a, f) for a, f in rest if abs(f) < size)
    outer = all(exactly(f, whole) is not None for _, f in rest if abs(f) >= size)
    if not isinstance(whole, OpenExtent):
        start = (start + size) % whole - size
    low, high = _reach(Affine(inner, start), steps)
    return outer and low >= 0 and high < size


__all__ = ["Read", "operands", "reads", "runs_alone", "same_row", "single_steps", "written"]
