"""Where in the user's code an operation was recorded."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any, NamedTuple

from ...compiler.ir.graph import Where

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


def place_for(fragment: Any) -> Place:
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
