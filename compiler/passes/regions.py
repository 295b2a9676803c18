"""Reverse mode of operations with regions: each becomes one that goes forward and one that goes back.

    scan n, x..., rest...   scan n, x..., tape, rest...      and  scan n, tape, cts..., sums..., rest... {backwards}
    loop x..., rest...      loop x..., tape, rest...: count  and  scan count, tape, cts..., sums..., rest... {backwards}
    cond p, args...         cond p, tape, args...            and  cond p, tape, cts..., sums..., args...

A cotangent that is carried comes out of the results' one; that of an array which is only read is a running sum,
handed in and out. What an iteration saves goes on a tape, threaded through the enclosing regions; at the top each
loop has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir.graph import Graph, Op, Value
from ..ir.types import TAPE
from ..ops.control import Carrying, cond, loop, scan
from ..ops.source import const
from ..ops.tape import new_tape
from .activity import varied
from .cut import size_of
from .masks import hidden
from .split import Parts, Wish, passing, prune, split
from .sweep import Cotangent, Pull, Sweep


def split_regions(t: Sweep, op: Op) -> Pull | None:
    """Emit the forward part of `op`, and return what emits the backward part; None if no derivative passes through."""
    if isinstance(op.prim, Carrying):
        return _loop(t, op, op.prim)
    if op.prim is cond:
        return _cond(t, op)
    return None


# ---- scan and loop


def _loop(t: Sweep, op: Op, prim: Carrying) -> Pull | None:
    c, first = op.attrs["carries"], prim.first
    need = _needed(t, op)
    live = [k for k in range(c) if op.results[k] in t.varied and need >> first + k & 1]
    into = [k for k in range(first + c, len(op.args)) if t.active(op.args[k]) and need >> k & 1]
    if not live and not into:
        return None
    ahead = 1 - first
    rest = range(first + c, len(op.args))
    free = [k + ahead for k in rest if _is_free(t, op, op.args[k])]
    wish = Wish(1, 1 + c, live, [1 + k for k in live], [k + ahead for k in into], free)
    wish = replace(wish, masked=_masked_loop(t, op, wish))
    parts = split(t, op.regions[0], wish)
    given = _forward_loop(t, op, prim, parts)
    count = op.args[0] if prim is scan else op.results[-1]

    def pull(cts: Sequence[Cotangent | None]) -> None:
        seeds = [t.filled(cts[k], op.results[k].type) for k in live] + [t.taking(op.args[k]) for k in into]
        lead = [*_below(t, parts, given), *(ct.value for ct in seeds), *_masks(t, wish, seeds)]
        (back,), keep = prune([parts.backward], 1 + len(lead))
        shared = op.args[first + c :]
        made = list(t.b.emit(scan, count, *lead, *(shared[k] for k in keep), regions=(back,), carries=len(lead),
                             backwards=not op.attrs.get("backwards", False)))
        _lower(t, parts, made)
        _given(t, wish, [op.args[k] for k in (*(first + k for k in live), *into)], made)

    return pull


# ---- masks


def _masked_loop(t: Sweep, op: Op, wish: Wish) -> tuple[Sequence[int], Sequence[int]]:
    """The carries whose cotangents have masks that hold from round to round, and the parameters with masks.

    What comes in without a mask may get one in the last round.
    """
    if t.sharp and t.steep.isdisjoint(op.results):
        return (), ()
    body = op.regions[0]
    carried, before = {k for k in wish.seeded if op.results[k] in t.hidden}, {-1}
    within: set[Value] = set()
    while carried != before:
        within, before = _hidden(t, body, wish, sorted(carried)), carried
        carried = {k for k in carried if body.params[1 + k] in within}
    before = {-1}
    while t.sharp and carried != before:
        within, before = _hidden(t, body, wish, sorted(carried)), carried
        carried = carried | {k for k in wish.seeded if body.params[1 + k] in within}
    if not carried and not t.sharp:
        return (), ()
    return sorted(carried), [*(1 + k for k in sorted(carried)), *(k for k in wish.sums if body.params[k] in within)]


def _masked_cond(t: Sweep, op: Op, wish: Wish) -> tuple[Sequence[int], Sequence[int]]:
    """The results whose cotangents have masks, and the parameters whose have them in both branches.

    If sharp, in one: what only one branch reads has a cotangent of zero where the other one runs.
    """
    shown = [k for k in wish.seeded if op.results[k] in t.hidden]
    if not shown and not t.sharp:
        return (), ()
    both = [_hidden(t, g, wish, shown) for g in op.regions]
    every = (k for k in (*wish.out, *wish.sums) if op.regions[0].params[k].type.is_float)
    enough = any if t.sharp else all
    return shown, [k for k in every if enough(_idle(g.params[k], g, h) for g, h in zip(op.regions, both, strict=True))]


def _idle(param: Value, region: Graph, within: set[Value]) -> bool:
    """Whether the cotangent of a parameter has a mask, or is zero because nothing reads it."""
    return param in within or (not any(param in op.args for op in region.body) and param not in region.results)


def _hidden(t: Sweep, region: Graph, wish: Wish, masked: Sequence[int]) -> set[Value]:
    sources = [region.params[k] for k in (*wish.out, *wish.sums)]
    targets = [region.results[k] for k in wish.seeded]
    active = varied(region.body, sources, t.flow)
    return hidden(region.body, active, targets, [region.results[k] for k in masked], t.sharp)


def _masks(t: Sweep, wish: Wish, seeds: Sequence[Cotangent]) -> list[Value]:
    """The masks that go in: of the results' cotangents and of the running sums."""
    shown = [k in wish.masked[0] for k in wish.seeded] + [k in wish.masked[1] for k in wish.sums]
    return t.masks(ct for ct, mask in zip(seeds, shown, strict=True) if mask)


def _given(t: Sweep, wish: Wish, values: Sequence[Value], made: Sequence[Value]) -> None:
    """Give values the cotangents that came out, and the masks that came after them."""
    masks = iter(made[len(values) :])
    for k, value, ct in zip((*wish.out, *wish.sums), values, made, strict=False):
        t.give(value, ct, next(masks) if k in wish.masked[1] else None)


def _forward_loop(t: Sweep, op: Op, prim: Carrying, parts: Parts) -> Value | None:
    """Emit the forward part; returns the tape that the backward part pops from, if it is its own."""
    c, first = op.attrs["carries"], prim.first
    body, others = parts.forward, op.regions[1:]
    carries, results = list(op.args[first : first + c]), list(op.results)
    tape = Value(TAPE, "tape")
    if parts.tape:
        carries.append(_above(t))
        results.insert(c, tape)
        others = tuple([_widened(g, c) for g in others])
    attrs = {**op.attrs, "carries": len(carries)}
    args = (*op.args[:first], *carries, *op.args[first + c :])
    t.b.append(Op(prim, args, attrs, (body, *others), tuple(results), op.where))
    return _handed(t, tape) if parts.tape else None


def _widened(test: Graph, at: int) -> Graph:
    """The test of a loop that has got a tape among its carries."""
    params = (*test.params[:at], Value(TAPE, "tape"), *test.params[at:])
    return Graph(test.name, params, test.body, test.results)


def _needed(t: Sweep, op: Op) -> int:
    """The arguments on which the useful results depend, as bits."""
    need = 0
    for r, links in zip(op.results, t.flow.links(op), strict=True):
        need |= links if r in t.useful else 0
    return need


# ---- cond


def _cond(t: Sweep, op: Op) -> Pull | None:
    which, xs = op.args[0], op.args[1:]
    seeded = [k for k, r in enumerate(op.results) if r in t.varied and r in t.useful]
    need = _needed(t, op) >> 1
    # What one branch pushes must be popped, though a derivative passes through the records of the other one only.
    pushed = {k for g in op.regions for k, (v, popped) in t.flow.ends(g).items()
              if not popped and any(g.results[j] is v for j in seeded)}
    on = [k for k, x in enumerate(xs) if (t.active(x) and need >> k & 1) or k in pushed]
    if not seeded or not on:
        return None
    changed = {k for g in op.regions for k, p in enumerate(g.params) if p in t.flow.writes.of(g) or p.type.is_tape}
    through, into = [k for k in on if k in changed], [k for k in on if k not in changed]
    free = [k for k, x in enumerate(xs) if _is_free(t, op, x)]
    wish = Wish(0, 0, seeded, through, into, free)
    wish = replace(wish, masked=_masked_cond(t, op, wish))
    both = [split(t, g, wish) for g in op.regions]
    tape = any(parts.tape for parts in both)
    ahead = [p.forward if p.tape == tape else passing(p.forward, False) for p in both]
    back = [p.backward if p.tape == tape else passing(p.backward, True) for p in both]
    joined = Parts(ahead[0], back[0], tape)
    out = Value(TAPE, "tape")
    lead = (_above(t),) if tape else ()
    t.b.append(Op(cond, (which, *lead, *xs), op.attrs, tuple(ahead), (*op.results, *([out] if tape else [])), op.where))
    given = _handed(t, out) if tape else None

    def pull(cts: Sequence[Cotangent | None]) -> None:
        seeds = [t.filled(cts[k], op.results[k].type) for k in seeded] + [t.taking(xs[k]) for k in into]
        lead = [*_below(t, joined, given), *(ct.value for ct in seeds), *_masks(t, wish, seeds)]
        regions, keep = prune(back, len(lead))
        made = list(t.b.emit(cond, which, *lead, *(xs[k] for k in keep), regions=regions))
        _lower(t, joined, made)
        _given(t, wish, [xs[k] for k in (*through, *into)], made)

    return pull


# ---- tapes


def _above(t: Sweep) -> Value:
    """The tape to push to: that of the region, or a new one."""
    return new_tape(t.b) if t.above is None else t.above


def _handed(t: Sweep, tape: Value) -> Value | None:
    """Go on with a tape that has been pushed to; returns it if it is nobody else's."""
    if t.above is None:
        return tape
    t.above = tape
    return None


def _below(t: Sweep, parts: Parts, given: Value | None) -> list[Value]:
    """The tape to pop from, if there is one."""
    tape = t.below if given is None else given
    return [tape] if parts.tape and tape is not None else []


def _lower(t: Sweep, parts: Parts, made: list[Value]) -> None:
    """Take the tape that has been popped from off the results."""
    if parts.tape:
        tape = made.pop(0)
        t.below = None if t.below is None else tape


# ---- what need not be saved


def _is_free(t: Sweep, op: Op, value: Value) -> bool:
    """Whether an argument is worth having in the backward sweep: a scalar, or an array that stays as it is.

    At the top an array costs at most one copy. In a region an array made there is saved in each iteration, once for
    all that the inner region reads of it; that pays if the inner one runs as often as the array is long.
    """
    if t.free is None or not value.type.shape or value in t.free:
        return not value.type.is_tape
    return value not in t.taken and size_of(value.type) <= 2 * _rounds(t, op)


def _rounds(t: Sweep, op: Op) -> int:
    """How often the body of `op` runs; a lot if that is not known."""
    if op.prim is cond:
        return 1
    if op.prim is loop:
        return 1 << 40
    made = t.made.get(op.args[0])
    return made.attrs["value"] if made is not None and made.prim is const else 1 << 40


__all__ = ["split_regions"]
