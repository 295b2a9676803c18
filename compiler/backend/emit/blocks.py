"""Vectors of elements that lie apart in memory, from contiguous ones, and back: blocks turned, every n-th one picked.

    a0 a1 a2 a3          a0 b0 c0 d0         A vector whose lanes lie far apart in memory would be gathered lane by
    b0 b1 b2 b3   from   a1 b1 c1 d1         lane.  Where neighbours lie along the tile axis, so many contiguous
    c0 c1 c2 c3          a2 b2 c2 d2         vectors are read as there are lanes, and exchanged two by two: in each
    d0 d1 d2 d3          a3 b3 c3 d3         step, the halves off the diagonal of smaller and smaller blocks.

Elements a few places apart, as the parts of complex numbers lie, are picked out of contiguous vectors and written
through masks that leave out what lies between.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.measure import Extent
from ..text.levels import LevelWriter
from ..text.registers import Reg, lanes


def turned(w: LevelWriter, vectors: Sequence[Reg], count: int) -> list[Reg]:
    """The first `count` columns of vectors, which are at most as many as each has lanes, a power of two.

    A column has any numbers in the lanes of vectors that are not there.
    """
    width = vectors[0].width
    made: list[Reg | None] = [*vectors, *[None] * (width - len(vectors))]
    needed = [set(range(count))]
    apart = width // 2
    while apart:
        needed.append({k & ~apart for k in needed[-1]} | {k | apart for k in needed[-1]})
        apart //= 2
    for stage, after in enumerate(reversed(needed[:-1])):
        apart = 1 << stage
        upper = [r if not r & apart else width + r - apart for r in range(width)]
        lower = [r + apart if not r & apart else width + r for r in range(width)]
        for k in range(width):
            a, b = made[k], made[k ^ apart]
            if k & apart or a is None:
                continue
            if k | apart in after:
                made[k | apart] = w.shuffle(a, a if b is None else b, lower)
            if k in after and b is not None:
                made[k] = w.shuffle(a, b, upper)
    return [column for column in made[:count] if column is not None]


def picked(w: LevelWriter, vectors: Sequence[Reg], step: int) -> Reg:
    """Every `step`-th element, as many as a vector has lanes, of `step` vectors that hold them from the first on.

    The last vector ends with the last of these elements, so it begins `step - 1` places early.
    """
    width, made = vectors[0].width, vectors[0]
    for k, vector in enumerate(vectors[1:], 1):
        begin = k * width - (step - 1 if k == step - 1 else 0)
        kept = range(0, step * width, step) if k == 1 else range(width)
        lane = [at if place < k * width else min(width + place - begin, 2 * width - 1)
                for at, place in zip(kept, range(0, step * width, step), strict=True)]  # fmt: skip
        made = w.shuffle(made, vector, lane)
    return made


def spread(w: LevelWriter, value: Reg, step: int) -> list[tuple[Reg, Reg]]:
    """`step` vectors that have the lanes of `value` at every `step`-th place, each with the mask of these places."""
    width = value.width
    made = []
    for k in range(step):
        places = range(k * width, (k + 1) * width)
        vector = w.shuffle(value, value, [place // step for place in places])
        mask = lanes(tuple([int(place % step == 0) for place in places]), "bool")
        made.append((vector, Reg("bool", width, mask)))
    return made


def ramp(w: LevelWriter, factor: int, width: int) -> Reg:
    """0, factor, 2 * factor, ... as a vector."""
    if width == 1:
        return w.number(0, "i64")
    if factor == 0:
        return w.number(0, "i64", width)
    if isinstance(factor, Extent):
        return w.mul(w.number(factor, "i64", width), ramp(w, 1, width))
    return Reg("i64", width, lanes(tuple([k * factor for k in range(width)]), "i64"))


__all__ = ["picked", "ramp", "spread", "turned"]
