"""Tensors with a tangent: what forward mode computes beside every value.

    x, t                    make_dual(x, t): a DualCell over x and t
    y = sin(x) * 2          recorded on x as always; beside it cos(x) * t * 2, the pullback's transpose
    y, its tangent          unpack_dual(y)

Where a fragment is recorded on such a cell, it is recorded on the values, and its push on values and tangents. The
push is the pullback pulled back: that is linear, so nobody writes rules for it. What backward saves are dual cells
too, so gradients have tangents; and tangents have a history, so they have gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....compiler.ir.graph import Builder, Graph, inline
from ....compiler.ops.source import number
from ....compiler.passes import common, dead
from ....compiler.passes.adjoint import pull_back
from ..reverse.modes import mode, watch
from ..reverse.nodes import UNKNOWN, Edge, Node, emit
from ..trace.fragments.fragments import COTANGENT, INPUT, Fragment, Operation
from ..trace.opened import set_irregular
from ..trace.tape import Place, record
from ..value.cells import Cell, DualCell, newest, numbers

KEPT = 1024
"""How many pushes are kept."""


_open: set[Any] = set()


class DualLevel:
    """One run in forward mode; `open` while tangents are followed."""

    def __init__(self) -> None:
        self.number, self.open = next(numbers), True
        watch.duals = True
        _open.add(self)
        set_irregular("duals", True)

    def close(self) -> None:
        """Let all tangents of the level vanish."""
        self.open = False
        _open.discard(self)
        set_irregular("duals", bool(_open))

    # ---- what a cell asks

    def record(self, fragment: Fragment, cells: Sequence[Cell], place: Place | None) -> list[Cell]:
        """Record a fragment and its push; nobody keeps a history."""
        return self.emitted(fragment, cells, None, place, False)

    def emitted(
        self, fragment: Fragment, cells: Sequence[Cell], edges: Sequence[Edge | None] | None, place: Place | None,
        known: bool,
    ) -> list[Cell]:
        """The same with the history of the tangents; `known` says whether `edges` are those of the cells."""
        given: list[Any] = [c if _is_of(c, self) else None for c in cells]
        values = [c if d is None else d.primal for c, d in zip(cells, given, strict=True)]
        made = emitted(fragment, values, edges) if known else record(fragment, values, place)
        moving = tuple([k for k, d in enumerate(given) if d is not None and d.kind.is_float]) if self.open else ()
        if not moving or not any(r.is_float for r in fragment.results) or not fragment.operation.node:
            return made
        if fragment.operation.node == UNKNOWN:
            raise NotImplementedError(f"forward mode: the derivative of {fragment.operation.name} is not implemented")
        followed = mode.enabled and known and any(edges or ())
        push = push_of(fragment, moving, followed)
        tangents = {k: given[k] for k in moving}
        sources = [values, made, [tangents[k].tangent for k in moving]]  # type: ignore[union-attr]
        leads = [edges or [None] * len(cells), [None] * len(made), [tangents[k].edge for k in moving]]  # type: ignore
        read = [sources[what][k] for what, k in push.reads]
        kept = [leads[what][k] for what, k in push.reads]
        tracked = mode.enabled and known and any(kept)
        moved, node = emit(push.fragment, read, kept) if tracked else (record(push.fragment, read, place), None)
        results = list(made)
        for n, k in enumerate(push.gives):
            results[k] = DualCell(made[k], moved[n], self, node and (node, n), known)
        return results


def _is_of(cell: Cell, level: DualLevel) -> bool:
    return type(cell) is DualCell and cell.level is level


def emitted(fragment: Fragment, cells: Sequence[Cell], edges: Sequence[Edge | None] | None) -> list[Cell]:
    """Record a fragment that comes with the edges of its cells, so that tangents get their history."""
    level = newest(cells)
    if isinstance(level, DualLevel):
        return level.emitted(fragment, cells, edges, None, True)
    return record(fragment, cells)  # type: ignore[arg-type]


# ---- pushes of fragments

VALUE, RESULT, TANGENT = range(3)


class Push(NamedTuple):
    """A fragment's pushforward.

    reads   pairs (VALUE, RESULT or TANGENT, its number); tangents are counted among those that move
    gives   the results whose tangents it gives
    """

    fragment: Fragment
    reads: tuple[tuple[int, int], ...]
    gives: tuple[int, ...]


_pushes: dict[Any, Push] = {}


def push_of(fragment: Fragment, moving: tuple[int, ...], alone: bool) -> Push:
    """The tangents of the results, from those of the inputs numbered `moving`; `alone`, it reads no result."""
    key = fragment.number, moving, alone
    found = _pushes.get(key)
    if found is None:
        while len(_pushes) >= KEPT:
            _pushes.pop(next(iter(_pushes)), None)
        found = _pushes[key] = _push(fragment, moving, alone)
    return found


def _push(fragment: Fragment, moving: tuple[int, ...], alone: bool) -> Push:
    pull, n, m = fragment.pull(moving), len(fragment.inputs), len(fragment.results)
    gives = tuple([k for k, kind in enumerate(fragment.results) if kind.is_float])
    kinds = [*fragment.inputs, *fragment.results, *(fragment.inputs[k] for k in moving)]
    b = Builder(f"{fragment.graph.name}_push", [k.type for k in kinds])
    inputs, results = b.params[:n], b.params[n : n + m]
    if alone:
        results = inline(fragment.graph, b, inputs)
    tangents = b.params[n + m :]
    cotangents = [number(b, 1, fragment.results[k].type) for k in gives]  # any would do, for the pullback is linear
    weights = dict(zip(gives, cotangents, strict=True))
    given = [
        inputs[k] if what == INPUT else weights[k] if what == COTANGENT else results[k] for what, k in pull.reads
    ]
    made = inline(pull.fragment.graph, b, given)
    seeds = [(made[at], tangents[moving.index(k)]) for k, at in pull.gives]
    moved = pull_back(b, list(cotangents), seeds)
    filled = [number(b, 0, c.type) if v is None else v for v, c in zip(moved, cotangents, strict=True)]
    whole = dead(common(b.finish(filled)))
    used = {a for op in whole.body for a in op.args} | set(whole.results)
    counts = ((VALUE, n), (RESULT, m), (TANGENT, len(moving)))
    places = [(what, k) for what, size in counts for k in range(size)]
    kept = [(p, place) for p, place in zip(whole.params, places, strict=False) if p in used]
    graph = Graph(whole.name, tuple([p for p, _ in kept]), whole.body, whole.results)
    node = f"{fragment.operation.node.rstrip('0123456789')}Forward0"
    operation = Operation(graph.name, node, fragment.operation.emit)
    known = dict(zip(whole.params, kinds, strict=False))
    own = tuple([known[p] for p, _ in kept]), tuple([fragment.results[k] for k in gives])
    return Push(Fragment(graph, [None] * len(kept), operation, (), own), tuple([place for _, place in kept]), gives)


Node.emitted = staticmethod(emitted)

__all__ = ["DualLevel", "push_of"]
