"""Branches and loops on traced values: arms and passes run on copies of the state, and what differs is joined.

    if x > 0:            %1: bool[] = lt %0, %x
        y = x * 2        %2: f64[] = cond %1, %x
    else:                    | @then(%x: f64[]) { %3: f64[] = mul %x, %c  return %3 }
        y = -x               | @else(%x: f64[]) { %4: f64[] = neg %x      return %4 }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.graph import Graph, Value, inline
from ...ir.primitive import Effect
from ...ops import control
from ...ops.elementwise import not_, select
from ...ops.source import const
from ..array import Array
from ..tracing import Tracing
from .edges import boxes_in, leaves, overlaps, pair_up, rebuild
from .frames import Place, Raised, places
from .machine import Machine
from .schema import Leaf, Schema, join, schema
from .values import UNDEF, Grown, Maybe, Poison, same

Act = Callable[[], Any]


def close(
    m: Machine, nows: Sequence[Tracing], results: Sequence[Sequence[Value]], leads: Sequence[int]
) -> tuple[list[Graph], list[Value]]:
    """Graphs of regions that share their last arguments, and those arguments: what any of them needs from outside."""
    needed: dict[Any, Any] = {}
    for now in nows:
        needed.update({id(given) if isinstance(given, np.ndarray) else given.value: given for _, given in now.extras})
    graphs = []
    for now, found, lead in zip(nows, results, leads, strict=True):
        outside = [now.array(g) if isinstance(g, np.ndarray) else now.outer(g) for g in needed.values()]
        now.builder.params = (*now.builder.params[:lead], *outside)
        graphs.append(now.builder.finish(found))
    return graphs, [m.value(g) for g in needed.values()]


def emit_region(
    m: Machine, prim: Any, args: Sequence[Value], graphs: Sequence[Graph], **attrs: Any
) -> tuple[Value, ...]:
    m.now.builder.where = m.where()
    return m.now.builder.emit(prim, *args, regions=tuple(graphs), **attrs)


# ---- branches


def branch(m: Machine, test: Any, then: Act, other: Act) -> None:
    """if/else, and all that is one: conditional expressions, and, or, the rest of a block after a possible exit."""
    if not isinstance(test, Array):
        (then if test else other)()
        return
    entry, stack, line = m.snapshot(), list(m.frames), m.frame.line
    ends, nows, raised = [], [], []
    for name, arm in (("then", then), ("else", other)):
        m.restore(entry)
        nows.append(m.region(name))
        try:
            with m.within(nows[-1]):
                arm()
            ends.append(m.snapshot())
        except Raised as error:
            m.frames[:] = stack
            raised.append((name, error))
            ends.append(None)
    m.frame.line = line
    if raised:
        m.restore(entry)
        name, error = raised[0]
        taken = test if name == "then" else m.emit(not_, test)
        _raise_where(m, taken, nows[name == "else"], error)
        (other if name == "then" else then)()
        return
    _joined(m, test, entry, ends, nows)


def _raise_where(m: Machine, taken: Array, arm: Tracing, error: Raised) -> None:
    """An arm raises whatever the values are: a check, behind those that it meets first; the other goes on in line."""
    if not any(op.effect is not Effect.PURE for op in arm.builder.body):
        m.require_not(taken, error)
        return
    with m.within(arm):
        m.require_not(Array(arm, m.value(True)), error)
    graphs, outside = close(m, [arm, m.region("else")], [[], []], (0, 0))
    emit_region(m, control.cond, [m.value(taken), *outside], graphs)


def _joined(m: Machine, test: Array, entry: Any, ends: list[Any], nows: list[Tracing]) -> None:
    maps = [places(e) for e in ends]
    schemas: dict[Place, Schema] = {}
    for place in {**maps[0], **maps[1]}:
        x, y = (m.before(place, found) for found in maps)
        if same(x, y) or (place[0] == "box" and not m.older(place[1], entry)):
            continue
        pair = []
        for end, v in zip(ends, (x, y), strict=True):
            m.restore(end)
            pair.append(schema(m, v))
        schemas[place] = join(m, pair[0], pair[1], place)
    results, pairs = [], set()
    for end, now, found in zip(ends, nows, maps, strict=True):
        m.restore(end)
        boxes = {k: b for place, s in schemas.items() for k, b in boxes_in(m, place, s, m.before(place, found)).items()}
        pairs |= overlaps(boxes)
        with m.within(now):
            results.append([v for place, s in schemas.items() for v in leaves(m, s, m.before(place, found))])
    m.restore(ends[0])
    graphs, outside = close(m, nows, results, (0, 0))
    out = iter(_emit_branch(m, test, graphs, outside))
    m.heap.update({b: v for b, v in ends[1][1].items() if b not in m.heap})
    made: dict[Any, Any] = {}
    for place, s in schemas.items():
        v = rebuild(m, s, out)
        x, y = (m.before(place, found) for found in maps)
        if isinstance(s, Leaf) and s.type.dtype == "i64" and UNDEF not in (x, y):
            m.ranges.joined(v, x, y)
        if isinstance(v, Grown):
            v = _grown(v, x, y)
        m.put(place, v)
        made.update(boxes_in(m, place, s, v))
    pair_up(made, pairs)


def _grown(v: Grown, x: Any, y: Any) -> Grown:
    """A list that has grown as in one arm or as in the other."""
    low, high = zip(*[(e.low, e.high) if isinstance(e, Grown) else (0, v.room) for e in (x, y)], strict=True)
    return replace(v, low=min(low), high=max(high))


def _emit_branch(m: Machine, test: Array, graphs: list[Graph], outside: list[Value]) -> Sequence[Value]:
    """A cond; between numbers that are there already, a select."""
    scalars = not any(r.type.shape for r in graphs[0].results)
    if scalars and all(op.prim is const for g in graphs for op in g.body):
        m.now.builder.where = m.where()
        one, two = (inline(g, m.now.builder, outside) for g in graphs)
        return [_select(m, test, a, b) for a, b in zip(one, two, strict=True)]
    return emit_region(m, control.cond, [m.value(test), *outside], graphs)


def _select(m: Machine, test: Array, a: Value, b: Value) -> Value:
    """a or b; `True if test else False` is the test."""
    if a is b:
        return a
    if a.type.dtype == "bool":
        known = {op.results[0]: op.attrs["value"] for op in m.now.builder.body[-8:] if op.prim is const}
        if a in known and b in known:
            return a if known[a] == known[b] else m.value(test) if known[a] else m.emit(not_, test).value
    return m.now.emit(select, m.value(test), a, b)


def pick(m: Machine, test: Any, a: Any, b: Any) -> Any:
    """a where the test holds, else b, which are both there already."""
    if not isinstance(test, Array):
        return a if test else b
    s = join(m, schema(m, a), schema(m, b), ("name", None, "#"))
    if not isinstance(s, Leaf):
        return choose(m, test, lambda: a, lambda: b)
    (x,), (y,) = leaves(m, s, a), leaves(m, s, b)
    made = Array(m.now, _select(m, test, x, y), s.weak)
    if s.type.dtype == "i64":
        m.ranges.joined(made, a, b)
    return made


def choose(m: Machine, test: Any, then: Act, other: Act) -> Any:
    """branch() for expressions."""
    if not isinstance(test, Array):
        return then() if test else other()
    m.names += 1
    slot, frame = f"#{m.names}", m.frame

    def put(arm: Act) -> None:
        value = arm()  # first: a branch within it replaces the names of the frame
        frame.vars[slot] = value

    branch(m, test, lambda: put(then), lambda: put(other))
    return read_name(m, frame.vars.pop(slot), "the value of this expression")


def unbound(name: str, free: bool) -> tuple[type[NameError], str]:
    """What Python raises where a name is read that is not bound, and its words."""
    why = "where it is not associated with a value"
    if free:
        return NameError, f"cannot access free variable '{name}' {why} in enclosing scope"
    return UnboundLocalError, f"cannot access local variable '{name}' {why}"


def read_name(m: Machine, v: Any, name: str, free: bool = False) -> Any:
    """What a name is bound to, if it is bound: one of the function that runs, or a free one, of a function around."""
    kind, text = unbound(name, free)
    while isinstance(v, Maybe):
        m.require(v.defined, kind, text)
        v = v.inner
    if v is UNDEF:
        m.fail(kind(text))
    if isinstance(v, Poison):
        m.refuse(v.why, v.fix)
    return v


__all__ = ["branch", "choose", "close", "emit_region", "read_name", "unbound"]
