"""What registers hold of small buffers, by buffer and offset: numbers go in, alone or as lanes, and come out so.

    keep_lanes(held, t, 4, %v)       held[t, 4] = (%v, 0), held[t, 5] = (%v, 1), ...
    held_one(w, held, t, 5)          extractelement %v, i64 1
    held_lanes(w, held, t, 4, 4)     %v
"""

from __future__ import annotations

from ...loops import Buffer
from ..text.levels import LevelWriter
from ..text.registers import Reg

Held = dict[tuple[Buffer, int], Reg | tuple[Reg, int]]
"""A number by itself, or a vector and the lane that it is."""


def held_one(w: LevelWriter, held: Held, buffer: Buffer, at: int) -> Reg:
    """One number; a lane is taken out of its vector when it is asked for first."""
    value = held[buffer, at]
    if not isinstance(value, Reg):
        value = held[buffer, at] = w.extract(*value)
    return value


def held_lanes(w: LevelWriter, held: Held, buffer: Buffer, at: int, width: int) -> Reg:
    """Neighbours as a vector: the one that they are the lanes of, or one that is put together."""
    lanes = [held[buffer, at + k] for k in range(width)]
    first = lanes[0]
    if not isinstance(first, Reg) and first[0].width == width and all(x == (first[0], k) for k, x in enumerate(lanes)):
        return first[0]
    made = w.splat(held_one(w, held, buffer, at), width)
    for k in range(1, width):
        made = w.insert(made, held_one(w, held, buffer, at + k), k)
    return made


def keep_lanes(held: Held, buffer: Buffer, at: int, value: Reg) -> None:
    """Let the lanes of a vector be neighbours."""
    for k in range(value.width):
        held[buffer, at + k] = value, k


__all__ = ["Held", "held_lanes", "held_one", "keep_lanes"]
