"""Small array work written out: every element in a register, no loops.

A filter with four states multiplies matrices of sixteen elements: loops over them, and the way of their elements
through memory, would take longer than the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace

from ...ir.graph import Op
from ...ir.measure import is_open
from ...loops import Apply, Axis, Buffer, Guarded, Load, Number, Variable
from ...ops.contract import contract
from ...ops.elementwise import Elementwise
from ...ops.reduce import max_, min_, sum_
from ..program import Multiply, Nest, Rows, tops
from .folds import in_rows
from .inside import reachable, work
from .schedule import HEAVY

SMALL = 64  # elements of a nest up to which it is written out
TEXT = 1600  # elements that are written out together
ONE = 8  # elements from which a nest on its own is better made of vectors, and half of them too
ROW = 16
LANES = (4, 8)  # elements along an axis that are made as one vector
_PLAIN = (Load, Apply, Number, Variable, Guarded)
LONG = 30  # elements of plain arithmetic that are as much text as an elementary function


def written_out(statements: Sequence[Nest | Multiply], kept: set[Buffer]) -> Rows | None:
    """Statements as one without loops, if they are small; `kept` buffers are read by others."""
    if any(isinstance(s, Multiply) or s.cases or any(f.kind == "argmax" for f in s.folds) for s in statements):
        return None
    if any(is_open(a.extent) for s in statements if isinstance(s, Nest) for a in s.axes):
        return None
    if sum(math.prod(a.extent for a in s.axes) for s in statements if isinstance(s, Nest)) > TEXT:
        return None
    nests = [s for s in in_rows(statements) if isinstance(s, Nest)]
    if not nests or _are_rows(nests) or max(map(_volume, nests)) > SMALL or sum(map(_text, nests)) > TEXT:
        return None
    if len(nests) == 1 and (_volume(nests[0]) >= ONE or _volume(nests[0]) % (ONE // 2) == 0):
        return None
    local = {s.buffer: None for n in nests for s in (*n.stores, *n.folds, *n.after) if s.buffer not in kept}
    for n in nests:
        moving = [e.buffer for e in reachable(tops(n)) if isinstance(e, Load) and e.gathered]
        for buffer in moving + [s.buffer for s in n.stores if s.fold or s.gathered]:
            local.pop(buffer, None)
    nests = [made for n in nests for made in _by_lanes(replace(n, partials=1), local)]
    return Rows((), tuple(nests), tuple(local), straight=True)


def _by_lanes(nest: Nest, local: Container[Buffer]) -> list[Nest]:
    """A nest in lanes, or those of its parts that can be, and the rest: one that cannot would keep all others apart."""
    made = _in_lanes(nest, local)
    if made.vector is not None or nest.asserts:
        return [made]
    groups: dict[Axis | None, list[Nest]] = {}
    for part in _apart(nest):
        groups.setdefault(_in_lanes(part, local).vector, []).append(part)
    return [_in_lanes(_together(nest, group), local) for group in groups.values()]


def _apart(nest: Nest) -> list[Nest]:
    """A nest's stores, and its folds with what follows them; together stays what reads another one's results."""
    parts = [replace(nest, stores=(s,), folds=(), after=(), reduced=0) for s in nest.stores]
    parts += [replace(nest, stores=())] if nest.folds else []
    writes = [{s.buffer for s in (*p.stores, *p.folds, *p.after)} for p in parts]
    touches = [w | {e.buffer for e in reachable(tops(p)) if isinstance(e, Load)}
               for p, w in zip(parts, writes, strict=True)]  # fmt: skip
    found: list[list[int]] = []
    for k in range(len(parts)):
        with_it = [g for g in found if any(writes[k] & touches[j] or writes[j] & touches[k] for j in g)]
        found = [g for g in found if g not in with_it] + [sorted([k, *(j for g in with_it for j in g)])]
    return [_together(nest, [parts[k] for k in g]) for g in found]


def _together(nest: Nest, parts: Sequence[Nest]) -> Nest:
    """Parts of a nest as one."""
    folds = next((p for p in parts if p.folds), parts[0])
    return replace(folds, stores=tuple(s for s in nest.stores if any(s in p.stores for p in parts)))


def _in_lanes(nest: Nest, local: Container[Buffer]) -> Nest:
    """A nest with the elements along one axis as the lanes of a vector, where they lie so in all that it touches."""
    if nest.asserts or any(s.fold or s.over or s.gathered for s in (*nest.stores, *nest.after)):
        return nest
    found = reachable(tops(nest))
    if any(not isinstance(e, _PLAIN) or e.dtype not in ("f64", "bool") for e in found):
        return nest
    if any(isinstance(e, Apply) and work([e]) > HEAVY // 2 for e in found):
        return nest
    loads = [e for e in found if isinstance(e, Load)]
    if any(e.gathered for e in loads):
        return nest
    for axis in reversed(nest.axes[: len(nest.axes) - nest.reduced]):
        put = [s.offset.factor(axis) for s in (*nest.stores, *nest.folds, *nest.after)]
        if axis.extent not in LANES or any(factor != 1 for factor in put):
            continue
        if any(index.factor(axis) for e in found if isinstance(e, Guarded) for index, _, _ in e.ranges):
            continue
        if all(e.offset.factor(axis) in ((0, 1) if e.buffer in local else (0, 1, 2, 3, 4)) for e in loads):
            return replace(nest, vector=axis, width=axis.extent, unroll=1)
    return nest


def are_small(ops: Sequence[Op]) -> bool:
    """Whether what operations make will be written out."""
    total = 0
    for op in ops:
        if isinstance(op.prim, Elementwise) and not op.results[0].type.shape:
            total += 1 + LONG * (op.prim.cost > HEAVY // 2)
            continue
        if op.regions or any(v.type.is_tape for v in (*op.args, *op.results)):
            continue
        volume = max((math.prod(r.type.static_shape()) for r in op.results), default=0)
        if op.prim is contract:
            volume *= math.prod(op.args[0].type.static_shape()[k] for k in op.attrs["left"])
        elif op.prim in (sum_, max_, min_):
            volume = math.prod(op.args[0].type.static_shape())
        if is_open(volume) or volume > SMALL:
            return False
        total += volume * (1 + LONG * (op.prim.cost > HEAVY // 2))
    return total <= TEXT


def _are_rows(nests: Sequence[Nest]) -> bool:
    """Whether nests have one axis at most, and one of them a long one that it goes along element by element."""
    if any(len(n.axes) > 1 for n in nests):
        return False
    return any(n.axes[0].extent >= ROW for n in nests if n.axes and not n.folds)


def _volume(nest: Nest) -> int:
    return math.prod(a.extent for a in nest.axes)


def _text(nest: Nest) -> int:
    """The size of a nest's text, in elements of plain arithmetic."""
    functions = sum(work([e]) > HEAVY // 2 for e in reachable(tops(nest)))
    return _volume(nest) * (1 + LONG * functions)


__all__ = ["are_small", "written_out"]
