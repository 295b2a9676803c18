"""Conditional regions: both branches as statements, and their results at one place after them."""

from __future__ import annotations

from collections.abc import Sequence

from ...bounds import interval
from ...ir.graph import Graph, Op, Value
from ...loops import Buffer, Element, Variable
from ..program import Branch, Tape
from ..storage import nbytes
from .stack import greatest
from .state import Body, Top
from .steps import expanded, is_array
from .tapes import origin, place, pushed_to

Results = list[tuple[Variable, Element, Element]]


def write_branch(body: Body, op: Op, at: int) -> None:
    """The statements of `op`, a cond that is step `at` of a region."""
    args = [body.env[a] for a in op.args[1:]]
    handed = {j - 1: a for j, a in enumerate(op.args) if (op, j) in body.takeover.handed}
    regions = [expanded(g) for g in op.regions]
    tapes = _tapes(body, op, regions)
    sides = []
    for g in regions:
        owned = {g.params[j]: body.buffer(a) for j, a in handed.items()}
        sides.append(body.inner(g, args, owned, {origin(g, g.results[k]): tape for k, tape in tapes.items()}))
    results: Results = []
    homes: dict[int, Buffer] = {}
    for k, r in enumerate(op.results):
        yes, no = (s.env[s.graph.results[k]] for s in sides)
        if is_array(r.type):
            homes[k] = _home(body, k, r, sides, list(handed.values()), set(homes.values()))
        elif r.type.is_tape:
            body.env[r] = _tape(body, r, results, yes, no)
        else:
            assert isinstance(yes, Element) and isinstance(no, Element)
            body.env[r] = _either(body, r, results, yes, no)
    for side in sides:
        side.bring(homes)
    yes, no = (tuple(s.out) for s in sides)
    body.out.append(Branch(body.number(op.args[0]), _given(body, op, at, sides), yes, no, tuple(results)))


def _either(body: Body, r: Value, results: Results, yes: Element, no: Element) -> Element:
    """A number that is one or the other."""
    if yes is no:
        return yes
    (low, high), (least, most) = interval(yes), interval(no)
    name = Variable(body.made.name(r.hint or "x"), yes.dtype, min(low, least), max(high, most))
    results.append((name, yes, no))
    return name


def _tapes(body: Body, op: Op, regions: Sequence[Graph]) -> dict[int, Tape]:
    """The tapes that each branch makes, by the number of the result: one for both, as only one of them runs."""
    found: dict[int, Tape] = {}
    for k, r in enumerate(op.results):
        made = [(g, origin(g, g.results[k])) for g in regions] if r.type.is_tape else []
        if made and all(v not in g.params for g, v in made):
            found[k] = body.tapes.get(r) or place(body, r, greatest([pushed_to(g, v) for g, v in made]))
    return found


def _tape(body: Body, r: Value, results: Results, yes: Top, no: Top) -> Top:
    if yes.tape is not no.tape:
        raise TypeError("a cond gives one tape in one branch and another in the other")
    return yes._replace(bytes=_either(body, r, results, yes.bytes, no.bytes))


def _home(
    body: Body, k: int, r: Value, sides: Sequence[Body], handed: Sequence[Value], taken: set[Buffer]
) -> Buffer:
    """Where an array lies after both branches: in an argument that was handed over, if a branch leaves it there."""
    given = {body.buffer(a): a for a in handed}
    for side in sides:
        lies = side.lies.get(side.graph.results[k])
        if lies in given and lies not in taken and nbytes(lies) == nbytes(Buffer("", r.type)):
            body.lies[r], body.env[r] = body.lies[given[lies]], lies
            if lies.type != r.type:
                body.env[r] = body.view(Buffer(body.made.name(r.hint or "view"), r.type), lies)
            return lies
    return body.room(r)


def _given(body: Body, op: Op, at: int, sides: Sequence[Body]) -> tuple[Element, ...]:
    """The arguments that both branches read, or one and what follows."""
    given = []
    for k, a in enumerate(op.args[1:]):
        e = body.env[a]
        read = [s.graph.params[k] in s.takeover.last for s in sides]
        if isinstance(e, Element) and (all(read) or (any(read) and body.takeover.last[a] > at)):
            given.append(e)
    return tuple(given)


__all__ = ["write_branch"]
