"""Where a path meets a change of its equation: from a trial step to one that ends there, and how parameters move it.

    y' = where(t < s, 1, -y)     jumps at t = s, where the gap t - s is zero

Steps that are blind to it find the values by being short, and have no slope for the time of the jump. So a step ends
just before the first gap that changes its sign, one as short as numbers allow crosses it, and the state after that is
carried to where the gap is zero, by the equation before, and back, by the equation behind: lengths that are zero and
have derivatives, by a step of third order (di Bernardo et al., Piecewise-smooth Dynamical Systems, 2.5).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...branches import cond
from ...rules import custom_jvp, stop_gradient
from ..closed import Closed, floats
from .changes import gaps

MOST = 500
"""Changes of a path that are looked for; behind these a path that may jump has NaN for its derivatives."""

WIDE = 64
"""Elements of a gap up to which turns are looked for as jumps are: else the second derivative lacks them."""

FINE = 4.0
"""Spacings of the time that a crossing takes."""


SHORT = 1e-7
"""Of the whole time: a gap that is left as fast as it was met in it is crossed, another one is touched."""


class Hits(NamedTuple):
    """How often each event was met, and where first and last."""

    count: Any
    first: Any
    last: Any
    first_state: Any
    last_state: Any


class Events(NamedTuple):
    """What is zero at events: a vector of them, the direction of each, and after how many hits it ends the path."""

    f: Closed
    directions: np.ndarray
    terminal: np.ndarray


class Search(NamedTuple):
    """What is known of the next change between the steps."""

    signs: Any
    """Of the gaps before it."""
    near: Any
    """The gaps at the time that is reached, and `far`, where a trial has met a change: as regula falsi weighs them."""
    far: Any
    beyond: Any
    """The time of `far`, if it has been `met`."""
    met: Any
    side: Any
    """1 where the last trial moved `far`, -1 where it moved `near`."""
    base: Any
    """Time and state before the change, where no gap is zero."""
    count: Any
    lost: Any
    """More changes than are looked for, or one whose time is not known."""
    hits: Hits
    done: Any
    """An event has ended the path."""


@custom_jvp
def _without_slopes(y: Any, lost: Any) -> Any:
    return y


_without_slopes.defjvp(lambda given, moved: (given[0], moved[0] * np.where(given[1], np.nan, 1.0)))


class Crossings:
    """The changes of y' = f(t, y)."""

    def __init__(self, f: Closed, found: list[Closed], jumps: int, events: Events | None) -> None:
        self.f, self.jumps, self.events = f, jumps, events
        self.watched = [*found, *([events.f] if events else [])]
        self.of_gaps = sum(gap.shapes[0][0] for gap in found)
        self.many = len(events.directions) if events else 0
        (n,), self.size = f.shapes[0], self.of_gaps + self.many
        self.wanted = np.concatenate([np.zeros(self.of_gaps), events.directions if events else []])
        self.along = Closed("gap", self._along, floats(), floats(), floats(n), floats(self.size))

    @classmethod
    def of(cls, f: Closed, events: Events | None = None) -> Crossings | None:
        """None for an equation of one formula, without events."""
        made = [(each, gaps(each.graph, 2)) for each in (f, *([events.f] if events else []))]
        found = [each.with_graph(own[0]) for each, own in made if own is not None]
        first = made[0][1]
        return cls(f, found, first[1] if first else 0, events) if found or events else None

    def at(self, t: Any, y: Any) -> Any:
        return np.concatenate([g.traced([t, y], g.outside)[0] for g in self.watched])

    def turned(self, known: Search, now: Any) -> Any:
        return (known.signs * now < 0) & ((self.wanted == 0) | (self.wanted * now > 0))

    def slope(self, t: Any, y: Any) -> Any:
        return self.f.traced([t, y], self.f.outside)[0]

    def walked(self, t: Any, y: Any, d: Any) -> Any:
        """A step of Kutta's method of third order."""
        first = self.slope(t, y)
        second = self.slope(t + 0.5 * d, y + 0.5 * d * first)
        third = self.slope(t + d, y + d * (2.0 * second - first))
        return y + d / 6.0 * (first + 4.0 * second + third)

    def _along(self, d: Any, t: Any, y: Any, mine: Any) -> Any:
        """The gap that is `mine`, a time d later."""
        return np.sum(np.where(mine > 0.5, self.at(t + d, self.walked(t, y, d)), 0.0))

    def begin(self, t: Any, y: Any) -> Search:
        now = stop_gradient(self.at(t, y))
        base, no = (stop_gradient(t), stop_gradient(y)), np.bool_(False)
        none = 0.0 * t + np.full(self.many, np.nan)
        states = none[:, None] + 0.0 * y
        hits = Hits(np.zeros(self.many, int), none, none, states, states)
        return Search(np.sign(now), now, now, stop_gradient(t), no, 0.0 * base[0], base, np.int64(0), no, hits, no)

    def longest(self, known: Search, t: Any, goal: Any) -> tuple[Any, Any]:
        """How long the next step may be, and up to which length a step crosses what it meets."""
        t, goal = stop_gradient(t), stop_gradient(goal)
        least = FINE * np.spacing(np.maximum(np.abs(t), np.abs(goal)))
        width = np.abs(known.beyond - t)
        turned = self.turned(known, known.far)
        some = np.where(turned, known.near - known.far, 1.0)
        part = np.min(np.where(turned, known.near / some, np.where(known.far == 0, 1.0, np.inf)))
        part = np.where(part <= 1.0, part, 0.5)
        inner = np.minimum(np.maximum(part * width, least), np.maximum(width - least, least))
        return np.where(known.met, np.where(width <= 2 * least, width, inner), np.inf), 2.5 * least

    def judged(self, known: Search, to: Any, after: Any, short: Any) -> tuple[Any, Any, Any]:
        """The gaps behind a trial step; whether it went too far; whether it crosses a change and is short enough."""
        now = stop_gradient(self.at(to, after))
        met = self.turned(known, now)
        landed = (now == 0) & (known.near != 0) & (known.signs != 0) & (self.wanted * known.signs <= 0)
        few = known.count < MOST
        return now, few & ~short & np.any(met | landed), few & short & np.any(met | landed)

    def kept(self, known: Search, now: Any, steps: Any) -> Search:
        """The search behind a trial step: `steps` has where it led, and whether it went too far, and was accepted."""
        t, to, after, far, accepted, crossed, direction, hit = steps
        halved = lambda x, again: np.where(again, 0.5 * x, x)  # noqa: E731
        signs = np.where(now != 0, np.sign(now), np.where((known.near == 0) & ~known.met, 0.0, known.signs))
        turned = self.turned(known, now)
        late = accepted & ~crossed & (known.count >= MOST)
        lost = known.lost | (crossed & hit[2]) | (late & np.any(turned & (np.arange(self.size) < self.jumps)))
        hits, done = self._recorded(known.hits, turned[self.of_gaps :] & crossed, hit)
        strict = accepted & np.all((now != 0) | (signs == 0))
        here = stop_gradient(np.where(accepted, to, t))
        beyond = np.where(far, stop_gradient(to), known.beyond)
        met = (known.met | far) & ~crossed & (direction * (beyond - here) > 0)
        base = tuple(np.where(strict, stop_gradient(x), old) for x, old in zip((to, after), known.base, strict=True))
        return Search(
            np.where(accepted, signs, known.signs),
            np.where(accepted, now, halved(known.near, far & (known.side > 0))),
            np.where(far, now, halved(known.far, accepted & (known.side < 0))),
            beyond, met, np.where(far, 1.0, np.where(accepted, -1.0, known.side)), base,
            known.count + np.where(crossed & np.any(turned), 1, 0), lost, hits, done,
        )  # fmt: skip

    def _recorded(self, hits: Hits, struck: Any, hit: Any) -> tuple[Hits, Any]:
        if self.events is None:
            return hits, np.bool_(False)
        t, y, _ = hit
        count, new = hits.count + struck, struck & (hits.count == 0)
        made = Hits(
            count, np.where(new, t, hits.first), np.where(struck, t, hits.last),
            np.where(new[:, None], y, hits.first_state), np.where(struck[:, None], y, hits.last_state),
        )  # fmt: skip
        terminal = self.events.terminal
        return made, np.any(struck & (terminal > 0) & (count >= terminal))

    def crossed(self, pred: Any, known: Search, step: Any, now: Any, steep: Any, interval: Any) -> tuple[Any, Any, Any]:
        """State and slope behind a step, where `pred` holds with the slopes of the crossing's time; where it was.

        That is a time, a state and whether it is not known how it moves.
        """
        t, y, to, after, made = step

        def passed(t: Any, y: Any, to: Any, after: Any, made: Any, base: Any, now: Any, steep: Any) -> Any:
            t, y = (x + stop_gradient(old - x) for x, old in zip((t, y), base, strict=True))
            mine, blind = self._nearest(known, t, y, now, (made, interval))
            d, longer = 0.0 * made, made - stop_gradient(made)
            for _ in range(2):
                off = self.along.traced([d, t, y, mine], self.along.outside)[0]
                rate = self.along.gradient.traced([d, t, y, mine], self.along.outside)[0]
                d = d - np.where(rate != 0, off / np.where(rate != 0, rate, 1.0), 0.0)
                d = d - stop_gradient(d)
            d = np.where(np.any(self.turned(known, now)), d, longer)  # it ends where the change is, and stays before it
            middle = self.walked(t, y, d)
            hit = t + d, middle, blind
            t, y = t + d + stop_gradient(to - t), middle + stop_gradient(after - middle)
            y = self.walked(t, y, longer - d)
            return y, self.slope(to, y), hit

        def plain(t: Any, y: Any, to: Any, after: Any, made: Any, base: Any, now: Any, steep: Any) -> Any:
            return after, steep, (to, after, np.bool_(False))

        return cond(pred, passed, plain, t, y, to, after, made, known.base, now, steep)

    def _nearest(self, known: Search, t: Any, y: Any, now: Any, spans: Any) -> tuple[Any, Any]:
        """1 for the gap that is zero here as the path goes, else 0, as where it is touched; whether none is near.

        A gap of a remainder jumps over zero where that of its quotient is zero, but for the last bits of both.
        """
        t, y, made, interval = (stop_gradient(x) for x in (t, y, *spans))
        here, back = self.at(t, y), -SHORT * interval * np.sign(made)
        rate = (self.at(t + back, self.walked(t, y, back)) - here) / back
        away = np.abs(here) / np.where(rate == 0, 1.0, np.abs(rate))
        close = 64.0 * FINE * np.spacing(np.abs(t))
        turned = self.turned(known, now)
        away = np.where(rate == 0, np.inf, np.where(turned, away, np.where(away <= close, close + away, np.inf)))
        k = np.argmin(away)
        mine = np.where((np.arange(self.size) == k) & (away <= SHORT * interval), 1.0, 0.0)
        exact = self.along.gradient.traced([0.0 * t, t, y, mine], self.along.outside)[0]
        fine = np.abs(exact - np.sum(rate * mine)) <= 0.1 * np.abs(exact)
        return np.where(fine, mine, 0.0), np.any(turned) & np.all(mine == 0)

    @staticmethod
    def certain(known: Search, y: Any) -> Any:
        """The state; without derivatives, where changes were passed by that may be jumps."""
        return _without_slopes(y, known.lost)


__all__ = ["Crossings", "Events", "Hits", "Search"]
