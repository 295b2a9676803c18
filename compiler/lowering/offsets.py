"""Indices as what is known of them when code is written, and what is only known when it runs."""

from __future__ import annotations

from ..bounds import whole
from ..loops import Affine, Apply, Element, Number, Position


def walked(index: Affine) -> Affine:
    """An index without the axes of one step, which stand at zero."""
    if all(a.extent != 1 for a, _ in index.terms):
        return index
    return Affine(tuple((a, f) for a, f in index.terms if a.extent != 1), index.constant)


def parted(index: Element) -> tuple[Affine, list[tuple[Element, int]]]:
    """An index as an affine one and the sum of what is only known at run time, times numbers."""
    known, rest = Affine(), []
    pending: list[tuple[Element, int]] = [(index, 1)]
    while pending:
        e, factor = pending.pop()
        if isinstance(e, Position):
            known = known + e.index * factor
        elif isinstance(e, Number):
            known = known + whole(e) * factor
        elif isinstance(e, Apply) and e.spelling == "add":
            pending += [(a, factor) for a in reversed(e.args)]
        elif isinstance(e, Apply) and e.spelling == "mul" and isinstance(e.args[1], Number):
            pending.append((e.args[0], factor * whole(e.args[1])))
        else:
            rest.append((e, factor))
    return known, rest


__all__ = ["parted", "walked"]
