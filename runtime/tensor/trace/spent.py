"""Which values of a trace have a history that is used up: calls go in, in order, and numbers of values come out.

    loss_a.backward(); loss_b.backward()      loss_a and loss_b are spent
    total = loss_a + loss_b                   so is total, which leads nowhere else
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..value.slots import HISTORY

if TYPE_CHECKING:
    from .states import Call, State


def spend(call: Call, spent: set[int]) -> Sequence[int]:
    """What a call adds to the values that are spent: those that it used up, and results that lead to none but such."""
    template = call.template
    found: Sequence[int] = template.frees
    if spent and template.plain and template.nodes and _leads_to(call, spent):
        found = [call.number(ref) for ref, _ in template.ends]
    if found:
        spent.update(found)
    return found


def _leads_to(call: Call, spent: set[int]) -> bool:
    """Whether what a call makes leads to arguments that are spent, and to no others."""
    leads = False
    for known in call.template.nodes:  # type: ignore[union-attr]
        for way in known.ways:
            if way is not None and way[0] < 0:
                leads = True
                if call.arguments[-1 - way[0]] not in spent:
                    return False
    return leads


def is_useful(tape: Any, passing: int = 0) -> bool:
    """Whether somebody holds a value of the trace, still to be computed, with a history that is not used up; values
    whose bits are in `passing` nobody can go on from."""
    return bool(int.from_bytes(tape.live(), "little") & _useful(tape.state)[0] & ~passing)


def _useful(state: State) -> tuple[int, frozenset[int]]:
    """A bit for each value with a history that is not used up, and those that are; kept at the state."""
    path, at = [], state
    while at.useful is None and at.parent is not None:
        path.append(at)
        at = at.parent
    bits, used = at.useful or (0, frozenset())
    spent = set(used)
    for at in reversed(path):
        template = getattr(at.event, "template", None)
        if template is None:
            continue
        call: Any = at.event
        for ref, _, flags in template.results:
            bits |= bool(flags & HISTORY) << call.number(ref)
        for ref in template.renewed:
            bits |= 1 << call.number(ref)
        for n in spend(call, spent):
            bits &= ~(1 << n)
    state.useful = bits, frozenset(spent)
    return state.useful


__all__ = ["is_useful", "spend"]
