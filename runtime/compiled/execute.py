"""One operation of a graph on arrays: what it gives, with the bits that it has in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend import process
from ...compiler.backend.kernel import compile_graph
from ...compiler.ir.graph import Builder, Graph, Op, Value
from ...compiler.ops.guard import guard
from ...compiler.ops.index import check_indices
from ...compiler.ops.memory import bump, read, update
from ...compiler.ops.require import require
from ...compiler.passes.cleanup import attrs_key
from ...compiler.settings import settings

_PLAIN = frozenset({guard, check_indices, require, read, update, bump})
"""Primitives that check, or move a part: NumPy's bits are ours, too."""

_KEPT = 1024
_kernels: dict[Any, Any] = {}


def execute(op: Op, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """One operation with the bits that it has in compiled code: decisions are made on these."""
    if op.prim.exact or op.prim in _PLAIN or settings.reference:
        with np.errstate(all="ignore"):
            return op.prim.evaluate(arrays, op.attrs, op.regions)
    if any(v.type.is_tape for v in (*op.args, *op.results)):
        return _with_tapes(op, arrays)
    key = (op.prim, tuple([a.type for a in op.args]), attrs_key(op.attrs), op.regions)
    kernel = _kernels.get(key)
    if kernel is None:
        with process.uncollected():
            kernel = compile_graph(_alone(op))
        while len(_kernels) >= _KEPT:
            _kernels.pop(next(iter(_kernels)), None)
        _kernels[key] = kernel
    given = zip(arrays, op.args, strict=True)
    return kernel.run([np.ascontiguousarray(a).reshape(v.type.static_shape()) for a, v in given])


class Taped(NamedTuple):
    """A tape, which no kernel hands out: what makes it once more, in the kernel that reads it."""

    op: Op
    given: Sequence[Any]
    place: int


def _with_tapes(op: Op, given: Sequence[Any]) -> Sequence[Any]:
    """One operation after those that make the tapes it takes; a tape that it makes is `Taped`."""
    b, arrays = Builder(op.prim.name), list[np.ndarray]()
    made: dict[int, Sequence[Value]] = {}

    def put(op: Op, given: Sequence[Any]) -> Sequence[Value]:
        if id(op) not in made:
            args = []
            for v, x in zip(op.args, given, strict=True):
                if isinstance(x, Taped):
                    args.append(put(x.op, x.given)[x.place])
                else:
                    arrays.append(np.ascontiguousarray(x).reshape(v.type.static_shape()))
                    args.append(b.param(v.type))
            made[id(op)] = b.emit(op.prim, *args, regions=op.regions, **op.attrs)
        return made[id(op)]

    results = put(op, given)
    shown = [r for r in results if not r.type.is_tape]
    with process.uncollected():
        found = iter(compile_graph(b.finish(shown)).run(arrays) if shown else ())
    return [Taped(op, given, k) if r.type.is_tape else next(found) for k, r in enumerate(results)]


def _alone(op: Op) -> Graph:
    """A graph of one operation."""
    b = Builder(op.prim.name, [a.type for a in op.args])
    return b.finish(b.emit(op.prim, *b.params, regions=op.regions, **op.attrs))


__all__ = ["execute"]
