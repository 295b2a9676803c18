"""Whether a backward can still go through nodes that are there in earnest."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ..trace.fragments.fragments import COTANGENT


def used_up(node: Any, gone: Container[Any], known: dict[Any, bool]) -> bool:
    """Whether no backward can go through a node: what it saved is freed, or all that it leads to is used up."""
    pending = [node]
    while pending:
        at = pending[-1]
        edges = [e[0] for e in at.edges if e is not None]
        unknown = [e for e in edges if e not in known]
        if at in gone and at.pull is not None and any(what != COTANGENT for what, _ in at.pull.reads):
            known[at] = True
        elif unknown and at not in known:
            known[at] = False  # until its edges are known
            pending += unknown
            continue
        else:
            known[at] = bool(edges) and all(known[e] for e in edges)
        pending.pop()
    return known[node]


class _Freed:
    """The nodes that have let go of what they saved."""

    def __contains__(self, node: Any) -> bool:
        if node.pull is None:
            return False
        numbers, reads = node.pull.numbers, node.pull.reads
        kept = [s for n, s in enumerate(node.saved) if n not in numbers and reads[n][0] != COTANGENT]
        return bool(kept) and all(s is None for s in kept)


def is_open(node: Any) -> bool:
    """Whether a node has not been used up by the backwards that there were."""
    return not used_up(node, _Freed(), {})


__all__ = ["is_open", "used_up"]
