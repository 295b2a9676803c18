"""Where in the user's code an operation was recorded."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any, NamedTuple

from ....compiler.ir.graph import Where

_HERE = __name__.rpartition(".tensor.")[0]
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(sys._getframe().f_code.co_filename))), "")
"""The same as a name of modules, and as how the names of their files begin."""


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


class Codes:
    """Code by its address, kept so that the address stays its own; and whether it is this package's."""

    def __init__(self) -> None:
        self.known: dict[int, CodeType] = {}
        self.places: dict[tuple[int, int], Place] = {}

    def inside(self, code: CodeType) -> bool:
        """Whether code is of this package; it is kept."""
        self.known[id(code)] = code
        return code.co_filename.startswith(_FOLDER)

    def place(self, address: int, instruction: int) -> Place | None:
        """The place in code that was asked about; None if it was let go since, or none ran: 0 is no code's address."""
        found = self.places.get((address, instruction))
        if found is None and (code := self.known.get(address)) is not None:
            found = self.places[address, instruction] = Place(code, instruction)
        return found

    def forget(self) -> None:
        """Let the code go."""
        self.known.clear()
        self.places.clear()


def here() -> Place:
    """The place in the user's code that runs now."""
    return _innermost(2)[1]
