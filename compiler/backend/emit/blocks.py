"""Square blocks of elements, turned in registers: rows of what is read become columns of what is written.

    a0 a1 a2 a3          a0 b0 c0 d0         A vector whose lanes lie far apart in memory would be gathered lane by
    b0 b1 b2 b3   from   a1 b1 c1 d1         lane.  Where neighbours lie along the tile axis, so many contiguous
    c0 c1 c2 c3          a2 b2 c2 d2         vectors are read as there are lanes, and exchanged two by two: in each
    d0 d1 d2 d3          a3 b3 c3 d3         step, the halves off the diagonal of smaller and smaller blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..levels import LevelWriter
from ..registers import Reg


def turned(w: LevelWriter, vectors: Sequence[Reg]) -> list[Reg]:
    """The columns of as many vectors as each has lanes, which are a power of two."""
    made, width = list(vectors), len(vectors)
    apart = 1
    while apart < width:
        upper = [r if not r & apart else width + r - apart for r in range(width)]
        lower = [r + apart if not r & apart else width + r for r in range(width)]
        for k in range(width):
            if not k & apart:
                a, b = made[k], made[k + apart]
                made[k], made[k + apart] = w.shuffle(a, b, upper), w.shuffle(a, b, lower)
        apart *= 2
    return made


__all__ = ["turned"]
