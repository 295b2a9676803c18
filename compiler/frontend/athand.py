"""Values at hand: tracing a function for the numbers of one call.

Where a function asks for a number, as in `if x > 0` or range(n), it gets the one of this call, and the graph gets a
guard that holds for no other. The numbers are computed op by op, and only when the first is asked for.

    def f(x): return x if x > 0 else -x         f(-2.0) is traced as

    graph @f(%x: f64[]) {
      %0: f64[] = const {type=f64[], value=0.0}
      %1: bool[] = gt %x, %0
      %2: bool[] = not_ %1
      %3: i64[] = const {type=i64[], value=0}
      %4: bool[] = guard %2, %3
      %5: f64[] = neg %x
      return %5
    }
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.graph import Builder, Graph, Op, Value, Where
from ..ir.types import CARRIED, Type
from ..ops.complex.complexes import imag, real, whole
from ..ops.elementwise import and_, cast, div, eq, ge, lt, ne, not_, or_
from ..ops.guard import guard
from ..ops.index import check_indices
from ..ops.reduce import max_
from ..ops.shape import reshape
from ..ops.source import number
from .complexes import as_computed
from .tracing import Tracing, enclosing, is_library, user_line

Execute = Callable[[Op, Sequence[np.ndarray]], Sequence[np.ndarray]]
"""Runs one operation, with the bits that it has in compiled code."""


class Frozen(NamedTuple):
    """A number that decided how a function ran.

    what    asked for it: bool(), range() or an index, ...
    key     the number, such that equal keys are equal bits
    where   the user's line
    number  of its guard
    """

    what: str
    key: str
    where: Where | None
    number: int

    def same(self, other: Frozen) -> bool:
        """Whether it is the same decision."""
        return self[:3] == other[:3]

    def __str__(self) -> str:
        at = f" at {self.where}" if self.where else ""
        return f"{self.what} of a traced value is {self.key}{at}"


class AtHand:
    """The numbers behind the values of a trace.

    frozen   what has been asked for so far, also by traces inside this one
    """

    def __init__(self, now: Tracing, given: Sequence[Any], execute: Execute, frozen: list[Frozen]) -> None:
        self.now, self.execute, self.frozen = now, execute, frozen
        self._env: dict[Value, Any] = dict(zip(now.builder.params, given, strict=True))
        self._done = self._extras = 0
        self._first = len(frozen)
        self._asked: dict[tuple[Value, str], Any] = {}

    def of(self, value: Value) -> Any:
        """The array behind a value; None if it has none: it is another one in every lane or round."""
        self.advance()
        return self._find(value)

    def advance(self) -> None:
        """Run what has been emitted since the last time."""
        for value, given in self.now.extras[self._extras :]:
            self._env[value] = given
        self._extras = len(self.now.extras)
        body = self.now.builder.body
        while self._done < len(body):
            op = body[self._done]
            given = [self._find(a) for a in op.args]
            known = all(each is not None for each in given)
            made = self._run(op, given) if known else [None] * len(op.results)
            self._env.update(zip(op.results, made, strict=True))
            self._done += 1

    def _run(self, op: Op, given: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        try:
            if any(v.type.is_complex or v.type.dtype in CARRIED for v in (*op.args, *op.results)):
                return self._run_parts(op, given)
            return self.execute(op, given)
        except IndexError as error:
            if op.where is not None:
                error.add_note(f"in {op.where.file}, line {op.where.line}")
            raise

    def _run_parts(self, op: Op, given: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """An operation on complex numbers or narrow integers: those that it becomes on parts or wider ones."""
        arrays = dict(zip(op.args, given, strict=True))
        graph = as_computed(Graph(op.prim.name, tuple(arrays), (op,), op.results))
        parts = [part for a in arrays.values() for part in ((np.real(a), np.imag(a)) if a.dtype.kind == "c" else (a,))]
        env = dict(zip(graph.params, parts, strict=True))
        for each in graph.body:
            env.update(zip(each.results, self.execute(each, [env[a] for a in each.args]), strict=True))
        made = iter([env[r] for r in graph.results])
        return [whole(next(made), next(made)) if r.type.is_complex else next(made) for r in op.results]

    def _find(self, value: Value) -> Any:
        """What stands for a value: parameters may be those of an enclosing trace."""
        found = self._env[value]
        outer = getattr(found, "tracing", None)
        if outer is not None:
            found = None if outer.athand is None else outer.athand.of(found.value)
        if type(found) is not np.ndarray and found is not None and not value.type.is_tape:
            found = np.asarray(found, value.type.numpy)
        self._env[value] = found
        return found

    # ---- what is frozen

    def finish(self, apart: bool) -> tuple[Frozen, ...]:
        """What this trace was made for; one that stands apart from the enclosing trace takes its guards with it."""
        mine = tuple(self.frozen[self._first :])
        if apart:
            del self.frozen[self._first :]
        return mine

    def freeze(self, value: Value, what: str, lost: bool = False) -> Any:
        """The number behind a value of one element; the graph gets a guard. `lost`: derivatives do not see it."""
        asked = self._asked.get((value, what))
        found = self.of(value) if asked is None else None
        if found is not None:
            asked = self._asked[value, what] = found.reshape(())[()]
            b = self.now.builder
            if value.type.is_complex:
                for part in (real, imag):
                    self.freeze(self.now.emit(part, value), what, lost)
                return asked
            b.where = user_line()
            scalar = reshape(b, value, shape=()) if value.type.shape else value
            unseen = [scalar] if lost and value.type.is_float else []
            self._guard(b, _same(b, scalar, asked), what, repr(asked.item()), unseen)
        return asked

    def freeze_array(self, value: Value, what: str) -> np.ndarray | None:
        """The same for integers and truth values in an array."""
        asked = self._asked.get((value, what))
        found = self.of(value) if asked is None else None
        if found is not None:
            asked = self._asked[value, what] = found.copy()
            if not found.size:  # its type says it all
                return asked
            b = self.now.builder
            b.where = user_line()
            differs = _any(b, ne(b, value, self.now.array(asked)))
            key = f"{asked.dtype}{list(asked.shape)} {hashlib.blake2b(asked.tobytes(), digest_size=8).hexdigest()}"
            self._guard(b, not_(b, differs), what, key)
        return asked

    def _guard(self, b: Builder, holds: Value, what: str, key: str, lost: Sequence[Value] = ()) -> None:
        _decide(b, self.frozen, holds, what, key, lost)

    def watched(self, made: Value) -> Value:
        """What an operation gives that may fail and has just been emitted.

        Where the function may catch the exception, both outcomes are decisions: it comes at once, or there is a guard.
        """
        b = self.now.builder
        op = b.body[-1]
        if op.prim is not check_indices or not _catches():
            return made
        b.body.pop()
        (indices,) = op.args
        if self.of(indices) is None:
            b.append(op)
            return made
        below = lt(b, indices, number(b, 0, indices.type))
        beyond = ge(b, indices, number(b, op.attrs["size"], indices.type))
        wrong = _any(b, or_(b, below, beyond))
        fails = bool(self.of(wrong))
        self._guard(b, wrong if fails else not_(b, wrong), "IndexError", "raised" if fails else "not raised")
        self.execute(op, [self.of(indices)])
        return indices


def suppose(now: Tracing, holds: Value, what: str, key: str) -> None:
    """Go on for the calls for which a condition holds; whoever traces asks whether this one is among them."""
    assert now.frozen is not None
    now.builder.where = user_line()
    _decide(now.builder, now.frozen, holds, what, key)


def holds_for(graph: Graph, given: Sequence[Any], execute: Execute) -> bool:
    """Whether the guards of a graph hold for a call, whose arrays these are; nothing else of it is run."""
    needed = guarded_by(graph)
    env = {p: np.asarray(x, p.type.numpy) for p, x in zip(graph.params, given, strict=True) if p in needed}
    try:
        for op in graph.body:
            if _guards(op) or not needed.isdisjoint(op.results):
                env.update(zip(op.results, execute(op, [env[a] for a in op.args]), strict=True))
    except Exception:  # a call that fails is traced on its values, and fails there at its line
        return False
    return True


def guarded_by(graph: Graph) -> set[Value]:
    """The values that decide whether the guards of a graph hold."""
    needed: set[Value] = set()
    for op in reversed(graph.body):
        if _guards(op) or not needed.isdisjoint(op.results):
            needed.update(op.args)
    return needed


def guard_numbers(graph: Graph) -> Iterator[int]:
    """The numbers of the guards in a graph and in its regions."""
    made = {r: op for op in graph.body for r in op.results}
    for op in graph.body:
        if op.prim is guard:
            yield int(made[op.args[1]].attrs["value"])
        for region in op.regions:
            yield from guard_numbers(region)


def _guards(op: Op) -> bool:
    """Whether an operation is a guard, or has one in it."""
    return op.prim is guard or any(_guards(each) for region in op.regions for each in region.body)


def _decide(
    b: Builder, frozen: list[Frozen], holds: Value, what: str, key: str, lost: Sequence[Value] = ()
) -> None:
    """Put a guard, and note what it is for."""
    place = number(b, len(frozen), Type("i64"))
    frozen.append(Frozen(what, key, b.where, len(frozen)))
    guard(b, holds, place, *lost)


def at_hand(now: Tracing, outer: Tracing | None, values: tuple[Sequence[Any], Execute] | None) -> AtHand | None:
    """The values at hand in a new trace: none where sizes are names, or no enclosing trace has any."""
    around = next((each.athand for each in enclosing() if each.athand is not None), None)
    if values is None or now.sizes is not None or (outer is not None and around is None):
        return None
    leaves, execute = values
    return AtHand(now, leaves, execute, [] if around is None else around.frozen)


def _catches() -> bool:
    """Whether a frame of the user's, as far up as the trace began, has a handler of exceptions."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if is_library(code.co_filename):
            if code.co_name == "trace" and frame.f_globals.get("__name__", "").endswith("frontend.trace"):
                return False
        elif getattr(code, "co_exceptiontable", b"x"):
            return True
        frame = frame.f_back
    return False


def _same(b: Builder, value: Value, known: Any) -> Value:
    """Whether a value has these bits, up to those of a NaN."""
    if value.type.dtype == "bool":
        return value if known else not_(b, value)
    if value.type.is_float and math.isnan(known):
        return ne(b, value, value)
    same = eq(b, value, number(b, known.item(), value.type))
    if value.type.is_float and known == 0:
        one, limit = number(b, 1.0, value.type), number(b, math.copysign(math.inf, known), value.type)
        same = and_(b, same, eq(b, div(b, one, value), limit))
    return same


def _any(b: Builder, truths: Value) -> Value:
    """Whether one of them holds."""
    if not truths.type.shape:
        return truths
    ones = max_(b, cast(b, truths, dtype="i64"), axes=tuple(range(truths.type.rank)))
    return ne(b, ones, number(b, 0, ones.type))


__all__ = ["AtHand", "Execute", "Frozen", "at_hand", "guard_numbers", "guarded_by", "holds_for", "suppose"]
