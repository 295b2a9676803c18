"""Whose memory late views are, as far as recognised calls tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..value.paths import Path


class Part(NamedTuple):
    """Whose memory a result of a call shares.

    of      the argument, or the value of the call's own, as a ref
    path    the way to it
    whole   it is all of it
    based   it is a view of it, and no mere alias
    plain   there is no more to it than that
    origin  where it was made if it must not be written to while gradients are kept
    """

    of: int
    path: Path
    whole: bool
    based: bool
    plain: bool
    origin: str


class Views:
    """The late views of a trace.

    of       the value whose memory each is a part of, None where that is not known
    paths    the way from there to it
    whole    those that are all of that memory
    based    those that are no mere aliases
    origins  where those were made that must not be written to while gradients are kept
    read     values that come from outside
    written  values that are written to, and constants
    """

    def __init__(self) -> None:
        self.of: dict[int, int | None] = {}
        self.paths: dict[int, Path] = {}
        self.whole: set[int] = set()
        self.based: set[int] = set()
        self.origins: dict[int, str] = {}
        self.read: set[int] = set()
        self.written: set[int] = set()

    def copied(self) -> Views:
        """The same, to which more can be added."""
        made = Views()
        for name, found in vars(self).items():
            setattr(made, name, found.copy())
        return made

    def add(self, call: Any, again: dict[int, int]) -> None:
        """Note what the results of a call share; `again` are values that are others again."""
        template = call.template
        if call.entered:
            self.read.update([n for n, _, _ in call.entered])
        if template.constants:
            self.written.update([call.number(ref) for ref, _ in template.constants])
        for ref in template.views:
            n = call.number(ref)
            self.of[n] = None
            part = template.parts.get(ref)
            if part is None or not part.plain:
                continue
            above = call.number(part.of)
            if above not in self.origins or not template.mode & 1:  # else it may have that origin, too
                self._add(n, part, above, again)
        if template.assigns:
            self.written.update([call.number(ref) for _, ref in template.assigns])

    def _add(self, n: int, part: Part, above: int, again: dict[int, int]) -> None:
        if above in self.of:
            of = self.of[above]
        else:
            of = above if above in self.read else again.get(above, above)
        if of in self.written or (part.based and above in self.of and above not in self.based):
            return  # where what is above is an alias, that would be the base
        self.of[n], self.paths[n] = of, self.paths.get(above, ()) + part.path
        if part.whole and (above not in self.of or above in self.whole):
            self.whole.add(n)
        if part.based:
            self.based.add(n)
        if part.origin:
            self.origins[n] = part.origin

    def joins(self, numbers: Sequence[int], again: dict[int, int]) -> list[tuple[int, int]] | None:
        """Of these values, those that are left: which views share the memory of which others.

        A view that is all that is left of its memory shares it with none. None where that cannot be told. What they are
        views of may be among none of them: see `bases`.
        """
        shared = [n for n in numbers if n in self.of]
        owners: dict[int, list[int]] = {}
        for n in numbers:
            if n not in self.of:
                owners.setdefault(again.get(n, n), []).append(n)
        found = []
        for n in shared:
            of = self.of[n]
            if of is None:
                return None
            if of in self.read:
                found.append((n, of))
            elif of in owners:
                if len(owners[of]) > 1:
                    return None
                found.append((n, owners[of][0]))
            elif n not in self.whole or any(self.of[m] == of for m in shared if m != n):
                found.append((n, of))
        return found

    def bases(self, numbers: Sequence[int], again: dict[int, int]) -> list[int]:
        """What these values are views of and nobody holds, as after `mu, rho = net(x).chunk(2)`: it is wanted too."""
        joins = self.joins(numbers, again) if not self.of.keys().isdisjoint(numbers) else None
        return list(dict.fromkeys([m for _, m in joins or () if m not in self.read and m not in numbers]))
