"""Long loops in bounded memory: a loop in stretches, of which only the beginnings are kept.

    scan n: body      scan of ceil(n / m) stretches: checkpoint { scan of m rounds: body }

The forward sweep keeps what is carried at the start of each stretch. The backward sweep runs a stretch once more, now
with a tape, and back. That takes one forward sweep more, and memory for n / m states and m records, at best in the
order of the square root of n; stretches of stretches take less memory, and one more sweep for each level.

Where the number of rounds is not known before, stretches grow: the k-th is k steps long, so that n rounds have in the
order of the square root of n stretches, none of which is longer than that.

Loops that carry a tape themselves, those of a gradient that is differentiated again, stay as they are: what they carry
cannot be kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ...ir.explained import Explained
from ...ir.graph import Builder, Graph, Op, Value, rewrite
from ...ops.control import Carrying, cond, loop, scan
from ...ops.source import const
from ...ops.tape import push
from ..cut import bytes_of
from .stretches import backwards, growing, nested

LEVELS = 8
"""More stretches of stretches are not tried."""


class TooLittleMemory(Explained, ValueError, page="TooLittleMemory"):
    """A limit under which a loop cannot be differentiated."""


def relieved(graph: Graph, ahead: Graph, limit: int) -> tuple[Graph, int]:
    """`graph` with its loops in stretches where what is saved is more than `limit` bytes; and how much is saved then.

    `ahead` is the forward part of the graph's adjoint: its operations with regions have the same results.
    """
    costs = _costs(graph, ahead)
    known = [c for c in costs.values() if c is not None]
    own = sum(_pushed(op) for op in ahead.body)
    if own + sum(known) <= limit and len(known) == len(costs):
        return graph, own + sum(known)
    small = limit // (2 * len(costs)) if costs else 0
    large = [op for op, c in costs.items() if c is None or c > small]
    rest = own + sum(c for c in known if c <= small)
    share = (limit - rest) // max(len(large), 1)
    if share <= 0:
        raise TooLittleMemory(
            f"{rest} bytes are saved outside of loops, or in one round of one, and there are {limit} for all of it"
        )
    before = {r: op for op in ahead.body for r in op.results}
    counts = _constants(graph)

    def visit(b: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        if op not in large:
            return None
        there = next(before[r] for r in op.results if r in before)
        return _stretched(b, op, args, there, share, counts)

    return rewrite(graph, visit), rest + share * len(large)


def _stretched(
    b: Builder, op: Op, args: tuple[Value, ...], ahead: Op, limit: int, counts: dict[Value, int]
) -> Sequence[Value]:
    """Emit a loop or a branch that saves no more than `limit`."""
    if op.prim is cond:
        regions = [relieved(g, f, limit)[0] for g, f in zip(op.regions, ahead.regions, strict=True)]
        return b.append(Op(cond, args, op.attrs, tuple(regions), op.results, b.where))
    body, record = op.regions[0], pushed(ahead.regions[0])
    if record is None or record > limit // 4:
        body, record = relieved(body, ahead.regions[0], limit // 2)
    assert isinstance(op.prim, Carrying)
    state = max(sum(bytes_of(a.type) for a in op.prim.carries(op) if not a.type.is_tape), 8)
    record = max(record, 1)
    rounds = counts.get(op.args[0]) if op.prim is scan else None
    if op.attrs.get("backwards"):
        body, args = backwards(b, op, args, body)
    if rounds is None:
        step = max(1, round(state / record))
        return growing(b, op, args, body, step, max(1, limit // (2 * record)))
    long = lengths(rounds, record, state, limit)
    if long is None:
        said = f"{rounds} rounds that carry {state} bytes and save {record} do not fit into {limit} bytes"
        raise TooLittleMemory(f"{said}: the loop at {op.where}" if op.where else said)
    return nested(b, args, body, op.attrs["carries"], long)


def lengths(rounds: int, record: int, state: int, limit: int) -> list[int] | None:
    """How long stretches are, and the stretches in them, so that what is saved fits; as few levels as possible.

    None if it cannot fit.
    """
    if rounds * record <= limit:
        return []
    for levels in range(1, LEVELS):
        inner = (rounds * (state / record) ** levels) ** (1 / (levels + 1))
        last = min(max(1, round(inner)), rounds)
        ratio = (rounds / last) ** (1 / levels)
        made = [max(1, math.ceil(last * ratio**k)) for k in reversed(range(levels))]
        spans = [rounds, *made]
        kept = sum(math.ceil(a / b) for a, b in pairwise(spans))
        if kept * state + made[-1] * record <= limit:
            return made
    return None


# ---- what is saved


def pushed(graph: Graph) -> int | None:
    """The bytes that a forward part pushes in one run; None if a loop in it runs nobody knows how often."""
    total, counts = 0, _constants(graph)
    for op in graph.body:
        each = _pushed(op) if not op.regions else _taped(op, counts)
        if each is None:
            return None
        total += each
    return total


def _pushed(op: Op) -> int:
    return sum(bytes_of(v.type) for v in op.args[1:]) if op.prim is push else 0


def _taped(op: Op, counts: dict[Value, int]) -> int | None:
    """The bytes that an operation with regions pushes."""
    if not any(r.type.is_tape for r in op.results):
        return 0
    inner = [pushed(g) for g in op.regions]
    if op.prim is cond:
        return None if None in inner else max(n or 0 for n in inner)
    if not inner[0]:
        return inner[0]
    rounds = counts.get(op.args[0]) if op.prim is scan else None
    return None if rounds is None else max(rounds, 0) * inner[0]


def _costs(graph: Graph, ahead: Graph) -> dict[Op, int | None]:
    """What the operations with regions of `graph` save."""
    before = {r: op for op in ahead.body for r in op.results}
    counts = _constants(ahead)
    found: dict[Op, int | None] = {}
    for op in graph.body:
        there = next((before[r] for r in op.results if r in before), None)
        taped = any(a.type.is_tape for a in op.args)
        if there is not None and not taped and op.prim in (scan, loop, cond) and there.prim is op.prim:
            found[op] = _taped(there, counts)
    return found


def _constants(graph: Graph) -> dict[Value, int]:
    return {op.results[0]: op.attrs["value"] for op in graph.body if op.prim is const}


__all__ = ["TooLittleMemory", "lengths", "pushed", "relieved"]
