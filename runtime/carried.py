"""What explicit loops carry, and the regions they become.

    carry = Carry(now, "scan", init)
    region = carry.settled(trace)        traces the body until its types are those that it is given
    emit_scan(now, region, carry, ...)   the scan around it

A body that was traced on carries and elements becomes a region on carries, stacked results, columns and what it needs
from outside: elements are `read` of the columns, and its further results are put into the stacked ones by `update`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.frontend import region as R
from ..compiler.frontend.array import Array
from ..compiler.frontend.errors import NeedsValues
from ..compiler.frontend.promotion import cast, lift
from ..compiler.frontend.region import Leaf, Region
from ..compiler.frontend.tracing import Tracing, user_line
from ..compiler.ir.graph import Builder, Value, inline
from ..compiler.ir.types import Type
from ..compiler.ops import control, elementwise, memory
from ..compiler.ops.require import require
from ..compiler.ops.source import number

INDEX = Type("i64")
ELEMENT = {"axes": (0,), "widths": (memory.DROPPED,)}


class Carry:
    """A tree that every round of a loop takes and gives; `leaves` are the types that it keeps."""

    def __init__(self, now: Tracing, form: str, init: Any) -> None:
        self.now, self.form = now, form
        self.given: list[Any] = []
        self.signature = R.flatten(init, self.given, f"{form}: the carry")
        self.leaves = [R.leaf_of(x) for x in self.given]

    def settled(self, trace: Callable[[list[Leaf]], Region], place: Callable[[Any], Any]) -> Region:
        """The body traced on the types that it gives; `place` finds the carry in the signature of what it returns."""
        while True:
            region = trace(self.leaves)
            signature = place(region.signature)
            found = R.difference(self.signature, signature, "")
            if found is not None:
                path, before, after = found
                verdict = f"{self.form}: the carry changes its structure{R.at(path)}"
                R.refuse(verdict, "return a carry like the one the loop begins with", before=before, after=after)
            types = [self._kept(*each) for each in zip(R.paths(signature), self.leaves, region.leaves, strict=False)]
            if types == self.leaves:
                return region
            self.leaves = types

    def _kept(self, path: str, before: Leaf, after: Leaf) -> Leaf:
        both = R.joined(before, after)
        if both is None:
            fix = f"begin with, or return, one of the other's dtype: .astype({after.type.numpy})"
            if before.type.shape != after.type.shape:
                fix = f"begin with an array of shape {after.type.shape}, or keep {before.type.shape}"
            R.refuse(f"{self.form}: the carry changes its type{R.at(path)}", fix, before=before, after=after)
        return both

    def values(self) -> list[Value]:
        """What the loop begins with."""
        return [cast(self.now, lift(self.now, x), t.numpy) for x, (t, _) in zip(self.given, self.leaves, strict=True)]

    def tree(self, arrays: Sequence[Any]) -> Any:
        """A carry of these leaves."""
        return R.rebuild(self.signature, arrays)

    def results(self, values: Sequence[Value]) -> Any:
        """What the loop ends with."""
        return self.tree([Array(self.now, v, leaf.weak) for v, leaf in zip(values, self.leaves, strict=True)])

    def converted(self, b: Builder, made: Sequence[Value]) -> list[Value]:
        """What a round gives, in the types that it takes."""
        return [R.converted(b, v, leaf) for v, leaf in zip(made, self.leaves, strict=False)]


def emit_scan(
    carry: Carry, region: Region, columns: Sequence[Value], count: int, backwards: bool
) -> tuple[Sequence[Value], Sequence[Value]]:
    """Scan a body over the rows of the columns: the last carries, and its further results stacked."""
    now, n = carry.now, len(carry.leaves)
    now.builder.where = user_line()
    begins = carry.values()
    shapes = [t.with_shape((count, *t.shape)) for t, _ in region.leaves[n:]]
    stacks = [number(now.builder, 0, t) for t in shapes]
    if not count:
        return begins, stacks
    rest, (own,) = R.arguments(now, (region,))
    args = [*begins, *stacks, *columns, *rest]
    b = Builder(region.graph.name, [INDEX, *[a.type for a in args]], ["i"])
    b.where = now.builder.where
    i, *given = b.params
    inside = n + len(stacks)
    outside = inside + len(columns)
    elements = [memory.read(b, each, i, **ELEMENT) for each in given[inside:outside]]
    made = inline(region.graph, b, [*given[:n], *elements, *[given[outside + p] for p in own]])
    put = [memory.update(b, to, y, i, **ELEMENT) for to, y in zip(given[n:inside], made[n:], strict=True)]
    body = b.finish([*carry.converted(b, made), *put])
    more = {"backwards": True} if backwards else {}
    rounds = number(now.builder, count, INDEX)
    done = now.builder.emit(control.scan, rounds, *args, regions=[body], carries=inside, **more)
    return done[:n], done[n:]


def emit_counted(carry: Carry, region: Region, lower: Value | int, count: Value) -> Sequence[Value]:
    """The last carries of a body that is given lower, lower + 1, ..."""
    now, n = carry.now, len(carry.leaves)
    now.builder.where = user_line()
    begins = carry.values()
    rest, (own,) = R.arguments(now, (region,))
    args = [*begins, *rest, *([lower] if isinstance(lower, Value) else [])]
    b = Builder(region.graph.name, [INDEX, *[a.type for a in args]], ["i"])
    b.where = now.builder.where
    i, *given = b.params
    if isinstance(lower, Value):
        i = elementwise.add(b, i, given.pop())
    elif lower:
        i = elementwise.add(b, i, number(b, lower, INDEX))
    wanted = region.graph.params[0].type.dtype
    i = i if wanted == "i64" else elementwise.cast(b, i, dtype=wanted)
    made = inline(region.graph, b, [i, *given[:n], *[given[n + p] for p in own]])
    body = b.finish(carry.converted(b, made))
    return now.builder.emit(control.scan, count, *args, regions=[body], carries=n)


def emit_loop(carry: Carry, region: Region, test: Region, max_steps: int | None) -> Sequence[Value]:
    """The carries when `test` no longer holds."""
    now, n = carry.now, len(carry.leaves)
    now.builder.where = where = user_line()
    begins = carry.values()
    rest, (ours, theirs) = R.arguments(now, (region, test))
    args = [*begins, *rest]
    b = Builder(region.graph.name, [INDEX, *[a.type for a in args]], ["k"])
    b.where = where
    k, *given = b.params
    if max_steps is not None:
        below = elementwise.lt(b, k, number(b, max_steps, INDEX))
        require(b, below, error="RuntimeError", text=f"while_loop takes more than {max_steps} steps")
    made = inline(region.graph, b, [*given[:n], *[given[n + p] for p in ours]])
    body = b.finish(carry.converted(b, made))
    b = Builder(test.graph.name, [a.type for a in args])
    tested = b.finish(inline(test.graph, b, [*b.params[:n], *[b.params[n + p] for p in theirs]]))
    return now.builder.emit(control.loop, *args, regions=[body, tested], carries=n)[:n]


# ---- parts of all forms


def formed(now: Tracing, form: Callable[[], Any], plain: Callable[[], Any]) -> Any:
    """A form as a region; or, where its functions need numbers and the trace has those of a call, as plain Python."""
    try:
        return form()
    except NeedsValues:
        if now.athand is None:
            raise
    return plain()


def check_function(form: str, x: Any) -> None:
    if not callable(x):
        raise TypeError(f"{form} takes functions, got {type(x).__name__}: {x!r:.60}")


def name_of(function: Any, other: str) -> str:
    """What a region is called: the function's name, if it has one."""
    name = getattr(function, "__name__", other)
    return name if name.isidentifier() else other


__all__ = ["INDEX", "Carry", "check_function", "emit_counted", "emit_loop", "emit_scan", "formed", "name_of"]
