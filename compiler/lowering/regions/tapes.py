"""Tapes in statements: where records are written and read, and which tape is meant where branches make one each."""

from __future__ import annotations

from math import trunc

from ...bounds import whole
from ...ir.graph import Graph, Op, Value
from ...ir.measure import OpenExtent
from ...ir.types import Type
from ...loops import Apply, Buffer, Element, Number, Variable
from ...ops.control import Carrying
from ...ops.tape import new_tape, push
from ..program import Pop, Push, Tape
from .stack import FIRST, STATIC, WORD, greatest, most, record
from .state import Body, Top
from .steps import is_array, is_number


def write_tape(body: Body, op: Op) -> None:
    """The statements of an operation on a tape."""
    if op.prim is new_tape:
        (r,) = op.results
        body.env[r] = Top(body.tapes.get(r) or place(body, r), Number(0, "i64"))
    elif op.prim is push:
        _push(body, op)
    else:
        _pop(body, op)


def _push(body: Body, op: Op) -> None:
    (tape, top), values = body.tape(op.args[0]), op.args[1:]
    offsets, size = record([v.type for v in values])
    held = [(body.number(v) if is_number(v.type) else body.buffer(v), at)
            for k, (v, at) in enumerate(zip(values, offsets, strict=True)) if (op, k) not in body.slots]
    if held or tape.grows:
        body.out.append(Push(tape, top, tuple(held), size))
    body.env[op.results[0]] = Top(tape, plus(top, size))


def _pop(body: Body, op: Op) -> None:
    (tape, top), values = body.tape(op.args[0]), op.results[1:]
    offsets, size = record([v.type for v in values])
    below, name = plus(top, -size), body.made.name
    named = [Buffer(name(v.hint or "saved"), v.type) if is_array(v.type)
             else Variable(name(v.hint or "saved"), v.type.dtype) for v in values]
    body.made.base.update((b, tape.buffer) for b in named if isinstance(b, Buffer))
    body.out.append(Pop(tape, below, tuple(zip(named, offsets, strict=True))))
    body.env.update(zip(values, named, strict=True))
    body.env[op.results[0]] = Top(tape, below)


def place(body: Body, tape: Value, more: int | None = 0) -> Tape:
    """Memory for a tape to which the region pushes, and to which `more` bytes have been pushed before."""
    numbers = {v: e.value for v, e in body.env.items() if isinstance(e, Number) and e.dtype == "i64"}
    known = {v: trunc(n) for v, n in numbers.items() if not isinstance(n, OpenExtent)}
    size = most(body.graph, tape, known)
    size = None if size is None or more is None or isinstance(size, OpenExtent) else size + more
    grows = size is None or size > STATIC
    words = FIRST // WORD if size is None or grows else size // WORD
    return Tape(body.memory(Type("f64", (max(words, 1),)), "tape"), grows)


def origin(graph: Graph, tape: Value) -> Value:
    """The parameter that a tape of a region was, or the value as which it was made there."""
    maker = {r: op for op in graph.body for r in op.results if r.type.is_tape}
    while tape in maker and maker[tape].prim is not new_tape:
        op = maker[tape]
        at = op.results.index(tape)
        if not op.regions:
            tape = op.args[0]
        elif isinstance(op.prim, Carrying):
            tape = op.prim.carries(op)[at]
        else:
            side = op.regions[0]
            first = origin(side, side.results[at])
            if first not in side.params:
                return tape
            tape = op.args[1 + side.params.index(first)]
    return tape


def pushed_to(graph: Graph, tape: Value) -> int | None:
    """How many bytes are pushed at most to a tape that a region makes, in a branch of it or itself."""
    maker = next(op for op in graph.body if tape in op.results)
    at, after = maker.results.index(tape), most(graph, tape, {})
    before = greatest([pushed_to(g, origin(g, g.results[at])) for g in maker.regions])
    return None if before is None or after is None else before + after


def plus(e: Element, n: int) -> Element:
    """e + n."""
    if isinstance(e, Number):
        return Number(e.value + n, e.dtype)
    if isinstance(e, Apply) and e.spelling == "add" and isinstance(e.args[1], Number):
        return plus(e.args[0], whole(e.args[1]) + n) if whole(e.args[1]) + n else e.args[0]
    return Apply("add", (e, Number(n, "i64")), "i64")


__all__ = ["origin", "place", "plus", "pushed_to", "write_tape"]
