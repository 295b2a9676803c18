"""Calls that are no events: those that were not understood, and those with ever other numbers; and until when."""

from __future__ import annotations

from typing import Any

from ..value.given import Region, lies_in

HOPELESS, SELDOM = 16, 256
"""What was not understood so many times is tried seldom: when it has come 32, 64, 128 times, and every 256th time.

A phase in which something is unusual, such as a warm-up with hooks, ends at some time: what comes then is understood
after about as many steps again, and 256 at most.  What is never understood is tried so seldom that nobody can tell.
Calls of which that is so come and are tried in the same steps mostly, so that there are few other traces to compile.
"""

SEEN = 30_000
"""So many cases are counted."""

FEW, OFTEN = 4, 256
"""So many calls that differ in numbers only are events of their own; and another one that has come so often.  Then the
number has changed to stay, and a kernel takes as long to be made as it would save of such a while."""


REGIONS = 16
"""In so many ways the numbers of calls may lie to those that their function compares them with."""



class Misses:
    """How often calls of a case came that were not understood.  A case is what calls have in common of which all are
    understood, or none: those of a form, or of a form in a certain trace where it depends on that."""

    def __init__(self) -> None:
        self.times: dict[int, int] = {}

    def add(self, case: int) -> None:
        """Count a call that was not understood."""
        if len(self.times) >= SEEN:
            self.times.clear()
        self.times[case] = self.times.get(case, 0) + 1

    def is_hopeless(self, case: int) -> bool:
        """Whether a call that has come, and is not known, is not worth to be tried this time."""
        times = self.times.get(case, 0)
        if times < HOPELESS:
            return False
        self.times[case] = times = times + 1
        return times & (times - 1) != 0 and times % SELDOM != 0

    def forget(self, case: int) -> None:
        """Begin anew where a call was understood."""
        self.times.pop(case, None)

    def clear(self) -> None:
        """Begin anew."""
        self.times.clear()


class Varied:
    """Calls that differ in numbers only, and what they have in common, a case: too many for each to be an event.

    events   those of a case that are
    times    how often another one came
    moving   of a case, the numbers of its first call, and which of them have been others since
    regions  of calls some of whose numbers are inputs, for which numbers the functions do the same: a region for each,
             in as many ways as have come; None where they must know their numbers
    """

    def __init__(self) -> None:
        self.events: dict[int, set[int]] = {}
        self.times: dict[int, int] = {}
        self.moving: dict[int, tuple[list[float], set[int]]] = {}
        self.regions: dict[Any, list[list[Region]] | None] = {}

    def moves(self, case: int, numbers: list[float]) -> frozenset[int]:
        """Which numbers have been others than in the first call of the case, by their places."""
        if len(self.moving) >= SEEN:
            self.moving.clear()
        first, found = self.moving.setdefault(case, (numbers, set()))
        found.update([k for k, (a, b) in enumerate(zip(first, numbers, strict=True)) if a != b])
        return frozenset(found)

    def region(self, key: Any, numbers: list[float]) -> int:
        """Which of the regions of such calls numbers lie in; -1 if their function must know them."""
        known = self.regions.get(key, ())
        if known is None:
            return -1
        for k, regions in enumerate(known):
            if all(map(lies_in, numbers, regions)):
                return k
        return len(known) if len(known) < REGIONS else -1

    def learned(self, call: Any, region: list[Region] | None) -> None:
        """Note the region in which a call lies if it is new, or that the function must know the numbers."""
        if len(self.regions) >= SEEN:
            self.regions.clear()
        key = tuple(call.key[:-1])
        known = self.regions.setdefault(key, [])
        if region is None:
            self.regions[key] = None
        elif known is not None and call.region == len(known):
            known.append(region)

    def is_one_of_many(self, case: int, call: int) -> bool:
        """Whether this call is to be no event."""
        if len(self.events) >= SEEN:
            self.events.clear()
        events = self.events.setdefault(case, set())
        if call in events:
            return False
        if len(events) >= FEW:
            if len(self.times) >= SEEN:
                self.times.clear()
            times = self.times[call] = self.times.get(call, 0) + 1
            if times < OFTEN:
                return True
            del self.times[call]
        events.add(call)
        return False

    def clear(self) -> None:
        """Begin anew."""
        for table in (self.events, self.times, self.moving, self.regions):
            table.clear()


__all__ = ["Misses", "Varied"]
