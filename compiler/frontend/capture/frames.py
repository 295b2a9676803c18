"""Where a walk is, and what its state is made of: running functions, and places that hold values."""

from __future__ import annotations

from typing import Any

from ...ir.graph import Where
from .source import Parsed
from .values import UNDEF, Box


class Raised(Exception):
    """A Python exception of the user's code, on its way through the evaluator."""

    def __init__(self, error: BaseException, where: Where | None = None) -> None:
        super().__init__(str(error))
        self.error, self.where = error, where


class Frame:
    """A running function: what its names are bound to, and how far it has come.

    scope    the frame that a function made while walking closes over
    free     the cells that any other function closes over
    level    in how many regions it runs
    site     where it was called

    Names that begin with # are ours: whether the function has returned and what, which loop was left.
    """

    __slots__ = ("name", "parsed", "scope", "globals", "free", "vars", "line", "level", "site", "__weakref__")

    def __init__(self, name: str, parsed: Parsed | None, scope: Frame | None = None) -> None:
        self.name, self.parsed, self.scope = name, parsed, scope
        self.globals: dict[str, Any] = {}
        self.free: dict[str, Any] = {}
        self.vars: dict[str, Any] = {"#return": False, "#value": UNDEF, "#depth": 0}
        self.line = self.level = 0
        self.site: Any = None

    @property
    def names(self) -> frozenset[str]:
        return self.parsed.names if self.parsed else frozenset()


State = tuple[dict[Frame, dict[str, Any]], dict[Box, Any]]
Place = tuple[str, Any, str]
"""Where a value is held: ("name", frame, its name) or ("box", box, "")."""


def places(state: State) -> dict[Place, Any]:
    """Every place of a state, with what it holds."""
    found: dict[Place, Any] = {("name", f, n): v for f, names in state[0].items() for n, v in names.items()}
    found.update({("box", b, ""): v for b, v in state[1].items()})
    return found


def label(place: Place) -> str:
    """A place as the user calls it."""
    if place[0] == "box":
        return f"a {place[1].kind}"
    name = place[2]
    if name == "#value":
        return f"the value returned by {place[1].name!r}"
    return "the value of this expression" if name.startswith("#") else repr(name)
