"""Which values of a trace have a history that is used up: calls go in, in order, and numbers of values come out.

    loss_a.backward(); loss_b.backward()      loss_a and loss_b are spent
    total = loss_a + loss_b                   so is total, which leads nowhere else
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .states import Call


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


__all__ = ["spend"]
