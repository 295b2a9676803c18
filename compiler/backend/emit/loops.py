"""Loops over an axis: over all of it or a span, and with looks for signals now and then where it takes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.measure import Extent, OpenExtent
from ...lowering.nests.chunks import Pause
from ..text.levels import LevelWriter
from ..text.registers import Reg

Body = Callable[[Reg, list[Reg]], list[Reg]]


class Span(NamedTuple):
    """The steps of the outermost axis that a function makes in whole turns; or, without bounds, only the rest."""

    begin: Reg | None
    end: Reg | None


EVERYTHING = None
REST = Span(None, None)


class Stop(NamedTuple):
    """Where a statement looks for signals, and how its function is left with a status if one came."""

    pause: Pause | None
    leave: Callable[[str], None]


def loop_over(
    w: LevelWriter, whole: Any, step: int, carries: list[Reg], body: Body, span: Span | None, stop: Stop | None
) -> list[Reg]:
    """A loop over all of an axis that is made in whole turns, or over a span of it.

    Where it is to `stop` for signals it is a loop of loops, so that there is nothing more inside the inner one.
    """
    begin, end = (None, whole) if span is None else (span.begin, span.end)
    assert end is not None
    empty = span is None and isinstance(whole, Extent) and (step > 1 or isinstance(whole, OpenExtent))
    if stop is None or stop.pause is None:
        return w.loop(end, step, carries, body, begin, empty=empty)
    steps = -(-stop.pause.steps // step) * step
    last = end if isinstance(end, Reg) else w.number(end, "i64")

    def part(index: Reg, carries: list[Reg]) -> list[Reg]:
        until = w.minimum(w.add(index, w.number(steps, "i64")), last)
        made = w.loop(until, step, carries, body, index)
        look(w, stop.leave)
        return made

    return w.loop(last, steps, carries, part, begin, empty=empty)


def look(w: LevelWriter, leave: Callable[[str], None]) -> None:
    """Leave the function if a signal handler raised."""
    w.declarations["pullback_poll"] = "declare i64 @pullback_poll()"
    status = w.fresh("i64")
    w.lines.append(f"  {status.text} = call i64 @pullback_poll()")
    signalled, on = w.label("signalled"), w.label("on")
    w.cbr(w.ne(status, w.number(0, "i64")), signalled, on)
    w.start(signalled)
    leave(status.text)
    w.start(on)


__all__ = ["EVERYTHING", "REST", "Span", "Stop", "look", "loop_over"]
