"""Which values of a trace were written over in place, so that nobody may read them who saved them.

    h = linear(x, w)     value 3
    y = sin(h)           saves value 3
    h.relu_()            writes over value 3, and over all that are views of it
"""

from __future__ import annotations

from typing import Any

from .states import Again, Call, State, events


class Overwritten:
    """What the calls of a trace wrote over.

    again  values that are others again
    parts  of values that share the memory of another, which one's; -1 where that is not known
    over   values that were written over, and -1
    """

    def __init__(self) -> None:
        self.again: dict[int, int] = {}
        self.parts: dict[int, int] = {}
        self.over: set[int] = set()

    def note(self, state: State) -> None:
        """Note what the next event of the trace says of memory."""
        call: Any = state.event
        if type(call) is Again:
            self.again[state.values - 1] = self.origin(call.number)
        if type(call) is not Call:
            return
        template = call.template
        if call.entered:
            self.again.update([(n, self.origin(m)) for n, m, _ in call.entered if m is not None])
        if template.aliases:
            self.again.update([(call.number(a), self.origin(call.number(b))) for a, b in template.aliases])
        for ref in template.views:
            part = template.parts.get(ref)
            self.parts[call.number(ref)] = -1 if part is None else call.number(part.of)
        if template.assigns:
            self.over.update([-1, *[self.origin(call.number(target)) for target, _ in template.assigns]])

    def origin(self, n: int) -> int:
        """The value that value `n` is, or is again."""
        return self.again.get(n, n)

    def has(self, n: int) -> bool:
        """Whether a value, or that of whose memory it is a part, was written over, or that is not known."""
        while (n := self.origin(n)) not in self.over:
            if n not in self.parts:
                return False
            n = self.parts[n]
        return True

    def is_lost(self, call: Call, ref: int) -> bool:
        """Whether a value that nodes of a call saved was written over, and not by that call, which read it before."""
        template = call.template
        owner = template.within.get(ref)
        if owner is not None and self.has(call.number(owner[0])):
            return True
        return not any(ref == target for target, _ in template.assigns) and self.has(call.number(ref))


def overwritten(tape: Any) -> Overwritten:
    """What the calls of the trace under way wrote over so far; what is known of it is kept on the tape."""
    known, over = tape.over
    path = events(tape.state, known)
    if over is None or (path[0].parent if path else tape.state) is not known:
        over, path = Overwritten(), events(tape.state)
    for state in path:
        over.note(state)
    tape.over = tape.state, over
    return over


__all__ = ["Overwritten", "overwritten"]
