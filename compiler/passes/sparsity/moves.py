"""How operations that move elements move diagonals: from those of an argument, those of the result.

    slice, pad, concatenate, transpose, reshape, spread, and parts at known places that are read or written; also sums,
    which add up what is of one column
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...ir.graph import Op, Value
from ...ir.primitive import Primitive
from ...ops import memory
from ...ops import shape as S
from ...ops.reduce import spread, sum_
from ...ops.source import number
from .diagonal import Diagonal, Diagonals, Irregular, extents

TERMS = 16
"""Elements that a sum adds which come from different columns."""

Rule = Callable[[Diagonals, Op], Iterable[Diagonal]]


def moved(on: Diagonals, prim: Primitive, value: Value, **attrs: Any) -> Value:
    """Emit what moves the elements of a value, and note how its diagonals go."""
    made = prim(on.b, value, **attrs)
    on.known[made] = on.merged(made, MOVES[prim](on, on.b.body[-1]))
    return made


def _slice(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    start, step, shape = (op.attrs[key] for key in ("start", "step", "shape"))
    for d in on.known[op.args[0]]:
        low, first, extents = [], [], []
        for s, k, n, a, m in zip(start, step, shape, d.low, d.shape, strict=True):
            near, far = (a, a + m - 1) if k > 0 else (a + m - 1, a)
            begin, end = max(-((s - near) // k), 0), min((far - s) // k + 1, n)
            low.append(begin)
            extents.append(max(end - begin, 0))
            first.append(s + k * begin - a)
        if 0 in extents:
            continue
        made = d.entries
        if made is not None and not (tuple(extents) == d.shape and all(k == 1 for k in step)):
            made = S.slice_(on.b, made, start=tuple(first), step=tuple(step), shape=tuple(extents))
        steps = tuple([s * k for s, k in zip(d.steps, step, strict=True)])
        yield Diagonal(d.start + _dot(d.steps, start), steps, tuple(low), made, tuple(extents), d.masked)


def _pad(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    start, step = op.attrs["start"], op.attrs["step"]
    for d in on.known[op.args[0]]:
        if any(n > 1 and (k < 1 or s % k) for s, k, n in zip(d.steps, step, d.shape, strict=True)):
            raise Irregular
        steps = tuple([s // k if n > 1 else 0 for s, k, n in zip(d.steps, step, d.shape, strict=True)])
        low = tuple([s + k * a for s, k, a in zip(start, step, d.low, strict=True)])
        shape = tuple([(n - 1) * k + 1 if n > 1 else 1 for n, k in zip(d.shape, step, strict=True)])
        made = d.entries
        if shape != d.shape:
            zero = (0,) * len(low)
            made = S.pad(on.b, on.entries(op.args[0], d), start=zero, step=tuple(step), shape=shape)
        first = d.start + _dot(d.steps, d.low) - _dot(steps, low)
        yield Diagonal(first, steps, low, made, shape, d.masked)


def _concatenate(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    axis, at = op.attrs["axis"], 0
    for arg in op.args:
        for d in on.known.get(arg, []):
            low = (*d.low[:axis], d.low[axis] + at, *d.low[axis + 1 :])
            yield d._replace(start=d.start - d.steps[axis] * at, low=low)
        at += extents(arg)[axis]


def _transpose(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    axes = op.attrs["axes"]

    def turned(given: Sequence[int]) -> tuple[int, ...]:
        return tuple([given[a] for a in axes])

    for d in on.known[op.args[0]]:
        made = d.entries if d.entries is None else S.transpose(on.b, d.entries, axes=axes)
        yield Diagonal(d.start, turned(d.steps), turned(d.low), made, turned(d.shape), d.masked)


def _reshape(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    old, new = extents(op.args[0]), tuple(op.attrs["shape"])
    for d in on.known[op.args[0]]:
        d = on.whole(op.args[0], d)
        made = d.entries if d.entries is None else S.reshape(on.b, d.entries, shape=new)
        yield Diagonal(d.start, _reshaped(old, d.steps, new), (0,) * len(new), made, new, d.masked)


def _reshaped(old: Sequence[int], steps: Sequence[int], new: Sequence[int]) -> tuple[int, ...]:
    """The steps of a view under another shape; Irregular where it is none."""
    made = [0] * len(new)
    given = [(n, s) for n, s in zip(old, steps, strict=True) if n != 1]
    wanted = [k for k, n in enumerate(new) if n != 1]
    while given and wanted:
        (size, step), axes = given.pop(), [wanted.pop()]
        total = new[axes[0]]
        while total != size:  # both end where they have as many elements
            if total < size:
                axes.append(wanted.pop())
                total *= new[axes[-1]]
            else:
                n, s = given.pop()
                if s != step * size:
                    raise Irregular
                size *= n
        for axis in axes:
            made[axis], step = step, step * new[axis]
    return tuple(made)


def _spread(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    shape, axes = op.attrs["shape"], op.attrs["axes"]
    for d in on.known[op.args[0]]:
        steps, low, extents = [0] * len(shape), [0] * len(shape), list(shape)
        for k, axis in enumerate(axes):
            steps[axis], low[axis], extents[axis] = d.steps[k], d.low[k], d.shape[k]
        made = d.entries if d.entries is None else spread(on.b, d.entries, shape=tuple(extents), axes=axes)
        yield Diagonal(d.start, tuple(steps), tuple(low), made, tuple(extents), d.masked)


def _sum(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    """Elements of one column are added up; of others, each becomes a diagonal of its own."""
    folded = op.attrs["axes"]
    for d in on.known[op.args[0]]:
        same = tuple([a for a in folded if d.steps[a] == 0])
        apart = [a for a in folded if d.steps[a] != 0]
        if math.prod(d.shape[a] for a in apart) > TERMS:
            raise Irregular
        kept = [a for a in range(len(d.shape)) if a not in folded]
        steps, low, shape = (tuple([given[a] for a in kept]) for given in (d.steps, d.low, d.shape))
        made = on.entries(op.args[0], d)
        for index in itertools.product(*[range(d.shape[a]) for a in apart]):
            at = dict(zip(apart, index, strict=True))
            begin = tuple([at.get(a, 0) for a in range(len(d.shape))])
            box = tuple([1 if a in at else n for a, n in enumerate(d.shape)])
            one = made if box == d.shape else S.slice_(on.b, made, start=begin, step=(1,) * len(box), shape=box)
            one = sum_(on.b, one, axes=same) if same else one
            start = d.start + sum(d.steps[a] * (d.low[a] + i) for a, i in at.items())
            yield Diagonal(start, steps, low, S.reshape(on.b, one, shape=shape), shape, d.masked)


def _read(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    """A part at a place that is known: a slice, and a reshape where axes are dropped."""
    start, shape, step = _place(on, op, op.args[1:])
    sliced = moved(on, S.slice_, op.args[0], start=start, step=step, shape=shape)
    return on.known[moved(on, S.reshape, sliced, shape=extents(op.results[0]))]


def _place(on: Diagonals, op: Op, starts: Sequence[Value]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Where a part begins, its extents, and its steps; Irregular where that is known only at run time."""
    whole, attrs = extents(op.args[0]), op.attrs
    begin, shape, steps = [0] * len(whole), list(whole), [1] * len(whole)
    every = attrs.get("steps") or (1,) * len(attrs["axes"])
    for axis, width, step, value in zip(attrs["axes"], attrs["widths"], every, starts, strict=True):
        if value not in on.numbers or step < 1:
            raise Irregular
        low, high = memory.bounds(whole[axis], width, step)
        begin[axis] = min(max(int(on.numbers[value]), low), high)
        shape[axis], steps[axis] = (1, 1) if width == memory.DROPPED else (width, step)
    return tuple(begin), tuple(shape), tuple(steps)


def _write(on: Diagonals, op: Op) -> Iterable[Diagonal]:
    """What is put into a part at a place that is known, or added to it, and what was there."""
    whole, part, *starts = op.args
    start, shape, step = _place(on, op, starts)
    if on.known.get(part):
        wide = moved(on, S.reshape, part, shape=shape)
        yield from on.known[moved(on, S.pad, wide, start=start, step=step, shape=extents(whole))]
    for d in on.known.get(whole, []):
        if op.prim is memory.bump:
            yield d
            continue
        along = list(zip(d.low, d.shape, start, shape, step, strict=True))
        if all(k == 1 and s <= a and a + n <= s + m for a, n, s, m, k in along):
            continue
        if all(a < s + (m - 1) * k + 1 and s < a + n for a, n, s, m, k in along):
            d = on.whole(whole, d)
            none = number(on.b, 0, part.type)
            have = memory.update(on.b, on.entries(whole, d), none, *starts, **op.attrs)
            d = d._replace(entries=have)
        yield d


def _dot(steps: Sequence[int], index: Sequence[int]) -> int:
    return sum(s * i for s, i in zip(steps, index, strict=True))

MOVES: dict[Primitive, Rule] = {
    S.slice_: _slice, S.pad: _pad, S.concatenate: _concatenate, S.transpose: _transpose, S.reshape: _reshape,
    spread: _spread, sum_: _sum, memory.read: _read, memory.update: _write, memory.bump: _write,
}

__all__ = ["MOVES", "moved"]
