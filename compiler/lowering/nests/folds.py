"""Long folds as folds of parts: of rows, which other nests may share, and of blocks of one long axis.

A fold's bits depend on its sizes alone: how it is cut does not depend on who makes which part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...ir.measure import OpenExtent, typical, volume
from ...loops import Affine, Axis, Buffer, Load
from ..program import Multiply, Nest
from .rename import Rename
from .schedule import LANES, join

BLOCK = 1 << 15  # elements of one block of a long fold
BLOCKS = 4  # blocks from which a fold is worth cutting
SMALL = 64  # elements up to which a fold stays one
Statement = Nest | Multiply


def in_rows(body: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, with a fold over several axes as one along the last for each row, and one of what the rows give.

    So it can share the rows of other nests; and its bits are the same whether it does or not.
    """
    for statement in body:
        if isinstance(statement, Nest) and len(statement.axes) == statement.reduced:
            statement = join(statement)
        if isinstance(statement, Nest) and _has_rows(statement):
            yield from _by_rows(statement)
        else:
            yield statement


def _has_rows(nest: Nest) -> bool:
    if nest.reduced < 2 or nest.asserts or any(f.kind == "argmax" for f in nest.folds):
        return False
    kept = volume(a.extent for a in nest.axes[: len(nest.axes) - nest.reduced])
    *outer, last = [typical(a.extent) for a in nest.axes[len(nest.axes) - nest.reduced :]]
    rows = math.prod(outer)
    return rows >= LANES and kept * rows * last > SMALL and kept <= last


def _by_rows(nest: Nest) -> tuple[Nest, Nest]:
    """A nest that folds each row into a buffer of partial results, and one that folds these."""
    kept, folded = nest.axes[: len(nest.axes) - nest.reduced], nest.axes[len(nest.axes) - nest.reduced :]
    rows, places = (*kept, *folded[:-1]), {}
    offset, stride = Affine(), 1
    for axis in reversed(rows):
        offset, stride = offset + Affine(((axis, stride),)), stride * axis.extent
    shape = tuple(a.extent for a in rows)
    for fold in nest.folds:
        places[fold] = Buffer(f"{fold.buffer.name}_rows", fold.buffer.type.with_shape(shape))
    part = tuple(replace(f, buffer=places[f], offset=offset, kept=True) for f in nest.folds)
    joined = tuple(replace(f, value=Load(places[f], offset)) for f in nest.folds)
    first = replace(nest, axes=(*rows, folded[-1]), reduced=1, folds=part, after=())
    return first, Nest(rows, len(folded) - 1, (), joined, nest.after, chain=nest.chain)


def in_blocks(body: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, with a fold along one long axis as one for each block, and one of what the blocks give."""
    for statement in body:
        if isinstance(statement, Nest) and _is_long_fold(statement):
            yield from _by_blocks(statement)
        else:
            yield statement


def _is_long_fold(nest: Nest) -> bool:
    if len(nest.axes) != 1 or nest.reduced != 1 or nest.asserts or any(f.kind == "argmax" for f in nest.folds):
        return False
    extent = nest.axes[0].extent  # what is left over decides how many blocks there are, so it must be known
    return not isinstance(extent, OpenExtent) and extent >= BLOCKS * BLOCK


def _by_blocks(nest: Nest) -> Iterator[Nest]:
    """Nests for the whole blocks, for what is left over, and for the fold of their results."""
    (axis,) = nest.axes
    count, rest = divmod(axis.extent, BLOCK)
    block, inner = Axis("b", count), Axis(axis.name, BLOCK)
    places = {f: Buffer(f"{f.buffer.name}_blocks", f.buffer.type.with_shape((count + bool(rest),))) for f in nest.folds}

    def part(axes: tuple[Axis, ...], where: Affine, place: Affine) -> Nest:
        made = Rename({}, expand={axis: where}).nest(nest, axes, 1)
        folds = tuple(
            replace(new, buffer=places[old], offset=place, kept=True)
            for new, old in zip(made.folds, nest.folds, strict=True)
        )
        return replace(made, folds=folds, after=())

    yield part((block, inner), Affine(((block, BLOCK), (inner, 1))), Affine(((block, 1),)))
    if rest:
        last = Axis(axis.name, rest)
        yield part((last,), Affine(((last, 1),), count * BLOCK), Affine((), count))
    every = Axis("b", count + bool(rest))
    joined = tuple(replace(f, value=Load(places[f], Affine(((every, 1),)))) for f in nest.folds)
    yield Nest((every,), 1, (), joined, nest.after, chain=nest.chain)


__all__ = ["in_blocks", "in_rows"]
