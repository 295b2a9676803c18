"""Borders apart: a nest with guards as one without them where they all hold, and others for what is left.

    for i in 128, j in 128                          for i in 126, j in 126
      v[j + 128*i] = (f(i, j) if i in 1..127,         v[j + 128*i + 129] = f(i + 1, j + 1)
                      j in 1..127 else u[...])      for j in 128: v[j] = u[j]        and three more such nests
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from ...ir.measure import typical, volume
from ...loops import Affine, Axis, Element, Guarded, guarded
from ..access import Statement
from ..program import Nest, Rows, tops
from .inside import reachable
from .rename import Rename

LARGE = 1024  # elements from which a nest is worth several
MOST = 3  # times that a nest may be cut

Box = list[tuple[int, int]]


def peeled(body: Iterable[Statement], schedule: Callable[[Nest], tuple[Nest, ...]]) -> Iterator[Statement]:
    """The statements, with the borders of large nests as nests of their own."""
    for statement in body:
        if isinstance(statement, Nest) and not (statement.folds or statement.asserts or statement.cases):
            yield from _pieces(statement, schedule)
        elif isinstance(statement, Rows) and len(statement.axes) == 1:
            yield from _pieces_of_rows(statement)
        else:
            yield statement


def _pieces(nest: Nest, schedule: Callable[[Nest], tuple[Nest, ...]]) -> list[Nest]:
    """The nest, or nests for its parts, the largest first."""
    whole = [(0, a.extent) for a in nest.axes]
    boxes, todo, cuts = [], [whole], 0
    while todo:
        box = todo.pop(0)
        inner = _largest(nest, box)
        large = inner != box and (volume(hi - lo for lo, hi in box) >= LARGE or _is_joined(nest, box, inner))
        if cuts < MOST and large:
            cuts += 1
            todo += [inner, *_around(box, inner)]
        else:
            boxes.append(box)
    if boxes == [whole]:
        return [nest]
    bare = replace(nest, vector=None, width=1, unroll=1)
    pieces = [made for box in boxes for made in schedule(_within(bare, box))]
    return [p if p.unroll == 1 or _volume(p) >= LARGE else replace(p, unroll=1) for p in pieces]


def _is_joined(nest: Nest, box: Box, inner: Box) -> bool:
    """Whether a box is cut in two along its outermost axis, and no guard is left: two arrays one after the other."""
    if not box or box[1:] != inner[1:]:
        return False
    others = list(_around(box, inner))
    return len(others) == 1 and _largest(nest, others[0]) == others[0]


def _pieces_of_rows(rows: Rows) -> Iterator[Rows]:
    """Rows of one axis, or the first of them, the last and those between, where guards ask which row it is."""
    (axis,) = rows.axes
    if any(nest.asserts or nest.cases for nest in rows.body):
        yield rows
        return
    low, high = _stretch(axis, (0, axis.extent), [e for nest in rows.body for e in reachable(tops(nest))])
    whole = (low, high) == (0, axis.extent)
    if whole or volume([axis.extent, *(max(_volume(nest), 1) for nest in rows.body)]) < LARGE:
        yield rows
        return
    for lo, hi in [(low, high), (0, low), (high, axis.extent)]:
        if lo < hi:
            row = Axis(axis.name, hi - lo)
            inside = _Inside({}, expand={axis: Affine(((row, 1),), lo)})
            nests = [inside.nest(nest, nest.axes, nest.reduced) for nest in rows.body]
            nests = [replace(nest, vector=row) if nest.vector is axis else nest for nest in nests]
            yield replace(rows, axes=(row,), body=tuple(nests), vector=rows.vector and row)


def _volume(nest: Nest) -> int:
    return volume(a.extent for a in nest.axes)


def _largest(nest: Nest, box: Box) -> Box:
    """The part of a box with the longest stretch of each axis in which no guard changes."""
    elements = reachable(tops(nest))
    return [_stretch(axis, within, elements) for axis, within in zip(nest.axes, box, strict=True)]


def _stretch(axis: Axis, within: tuple[int, int], elements: Iterable[Element]) -> tuple[int, int]:
    """The longest stretch of an axis in which no guard of some elements changes."""
    ends = {*within}
    for e in elements:
        for index, lo, hi in e.ranges if isinstance(e, Guarded) else ():
            if len(index.terms) == 1 and index.terms[0] == (axis, 1):
                ends |= {lo - index.constant, hi - index.constant}
    inside = sorted(at for at in ends if within[0] <= at <= within[1])
    return max(pairwise(inside), key=lambda s: typical(s[1] - s[0]), default=within)


def _around(box: Box, inner: Box) -> Iterator[Box]:
    """What of a box lies around an inner one: before and after it along each axis, outermost first."""
    left = list(box)
    for k, (lo, hi) in enumerate(inner):
        for part in ((left[k][0], lo), (hi, left[k][1])):
            if part[0] < part[1]:
                yield [*left[:k], part, *left[k + 1 :]]
        left[k] = (lo, hi)


def _within(nest: Nest, box: Box) -> Nest:
    """The steps of a nest that lie in a box."""
    axes = tuple(Axis(a.name, hi - lo) for a, (lo, hi) in zip(nest.axes, box, strict=True))
    places = {
        old: Affine(((new, 1),), lo) for old, new, (lo, _) in zip(nest.axes, axes, box, strict=True)
    }
    return _Inside({}, expand=places).nest(nest, axes, nest.reduced)


class _Inside(Rename):
    """Puts other axes in place of those of a nest, and drops guards that always hold there, or never."""

    def _one(self, e: Element) -> Element:
        if not isinstance(e, Guarded):
            return super()._one(e)
        ranges = [(self.affine(index), lo, hi) for index, lo, hi in e.ranges]
        return guarded(ranges, lambda: self.made[id(e.inside)], self.made[id(e.outside)])


__all__ = ["peeled"]
