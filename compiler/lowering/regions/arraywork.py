"""Array work of a region as statements: where its results lie, and what of it goes on a tape."""

from __future__ import annotations

from ...ir.graph import Builder, Op, Value
from ...ir.measure import OpenExtent
from ...ir.types import FLOATS
from ...loops import Affine, Apply, Buffer, Element, Load, Number
from ...ops.shape import reshape
from ...ops.source import const, dimension
from ...ops.tape import push
from ..program import Pop
from .parts import part
from .stack import record
from .state import Body
from .steps import Step, is_array, is_number


def write_arrays(body: Body, step: Step, at: int) -> None:
    """The statements of array work that is step `at` of a region; single numbers are used as they are."""
    ops: list[Op] = list(step.ops)
    given: dict[Value, Buffer | Element] = {}
    for a in dict.fromkeys(step.args()):
        known = body.env[a]
        assert isinstance(known, Buffer | Element)
        if isinstance(known, Number):
            ops.insert(0, _constant(a, known))
        else:
            if isinstance(known, Apply) and known.dtype in FLOATS:  # made once, not in each nest that reads it
                known = body.env[a] = body.let(known, a.hint)
            given[a] = known
    saved = _on_tape(body, step, at, ops)
    results = [r for r in step.results() if body.takeover.last.get(r, -1) > at]
    taken = {r: a for r, a in body.takeover.taken.items() if r in results}
    into = {r: body.buffer(taken[r]) if r in taken else body.memory(r.type, r.hint) for r in results}
    spare = {r: body.memory(r.type, r.hint) for r in taken}
    made = part(ops, given, [*results, *saved], into | saved, body.made.called, body.made.vector_bits,
                len(body.made.sites) + 1, spare, body.made.name)
    for r, buffer in spare.items():
        if made.where[r] is not buffer:
            body.fresh.discard(buffer)
            del body.made.scratch[buffer]
    body.made.sites += made.sites
    body.made.scratch.update(dict.fromkeys(made.scratch))
    for new, old in made.same.items():
        body.view(new, old)
    body.out += made.body
    for r in results:
        lies = made.where[r]
        if is_number(r.type):
            body.env[r] = body.let(Load(lies, Affine()), r.hint)
        else:
            body.env[r] = lies
            body.lies[r] = body.lies[taken[r]] if r in taken and lies is into[r] else lies


def _on_tape(body: Body, step: Step, at: int, ops: list[Op]) -> dict[Value, Buffer]:
    """Places on a tape for what is pushed to it after array work: copies, which `ops` gets, that are made there."""
    after = next((s.op for s in body.steps[at + 1 :] if s.kind in ("tape", "region")), None)
    if after is None or after.prim is not push or after.args[0] not in body.env:
        return {}
    tape, top = body.tape(after.args[0])
    if tape.grows:
        return {}
    known, offsets = {*step.args(), *step.results()}, record([v.type for v in after.args[1:]])[0]
    places: dict[Value, Buffer] = {}
    for k, (v, offset) in enumerate(zip(after.args[1:], offsets, strict=True)):
        if is_array(v.type) and v in known and (after, k) not in body.slots:
            copy = Value(v.type, v.hint)
            ops.append(Op(reshape, (v,), {"shape": v.type.shape}, (), (copy,), step.ops[0].where))
            places[copy] = body.slots[after, k] = Buffer(body.made.name(v.hint or "saved"), v.type)
            body.made.base[places[copy]] = tape.buffer
            body.out.append(Pop(tape, top, ((places[copy], offset),)))
    return places


def _constant(value: Value, number: Number) -> Op:
    """An operation that makes a value which is a known number."""
    b = Builder("constant")
    if isinstance(number.value, OpenExtent):
        dimension(b, size=number.value)
    else:
        const(b, type=value.type, value=number.value)
    (op,) = b.body
    return Op(op.prim, (), op.attrs, (), (value,))


__all__ = ["write_arrays"]
