"""Whose memory late views are, as far as recognised calls tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .paths import Path
from .slots import SPECIAL

if TYPE_CHECKING:
    from .states import Call


class Part(NamedTuple):
    """Whose memory a result of a call shares.

    of      the argument, or the value of the call's own, as a ref
    path    the way to it
    whole   it is all of it
    based   it is a view of it, and no mere alias
    """

    of: int
    path: Path
    whole: bool
    based: bool


class Views:
    """The late views of a trace.

    of      the value whose memory each is, if it is all of the memory of a value made on the way; else None
    paths   the way from there to it
    based   those that are no mere aliases
    fixed   values that are read from outside or written to, whose memory others may see
    """

    def __init__(self) -> None:
        self.of: dict[int, int | None] = {}
        self.paths: dict[int, Path] = {}
        self.based: set[int] = set()
        self.fixed: set[int] = set()

    def add(self, call: Call, again: dict[int, int]) -> None:
        """Note what the results of a call share; `again` are values that are others again."""
        template = call.template
        self.fixed.update([n for n, _, _ in call.entered])
        self.fixed.update([call.number(ref) for ref, _ in template.constants])
        for ref, _, flags in template.results:
            if flags & SPECIAL:
                n = call.number(ref)
                self.of[n] = None
                part = template.parts.get(ref)
                if part is not None and part.whole:
                    self._add(n, part, call.number(part.of), again)
        self.fixed.update([call.number(ref) for _, ref in template.assigns])

    def _add(self, n: int, part: Part, above: int, again: dict[int, int]) -> None:
        of = self.of[above] if above in self.of else again.get(above, above)
        if of in self.fixed or (part.based and above in self.of and above not in self.based):
            return  # where what is above is an alias, that would be the base
        self.of[n], self.paths[n] = of, self.paths.get(above, ()) + part.path
        if part.based:
            self.based.add(n)

    def are_alone(self, numbers: Sequence[int], again: dict[int, int]) -> bool:
        """Whether of these values those that are views share their memory with none that is left."""
        shared = [self.of[n] for n in numbers if n in self.of]
        rest = {again.get(n, n) for n in numbers if n not in self.of}
        return None not in shared and len(set(shared)) == len(shared) and rest.isdisjoint(shared)
