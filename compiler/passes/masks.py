"""The operations of a body into what is known of masks: which cotangents have them, and where slopes may be infinite.

A mask says where a cotangent can differ from zero. `Sweep` makes them and hands them on; here is what they are of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from ..ir.graph import Builder, Op, Value
from ..ir.types import Type
from ..ops.control import cond
from ..ops.elementary import arctan2
from ..ops.elementwise import Elementwise, cast, div, ne, select
from ..ops.memory import bump, read, update
from ..ops.scipy.called import Called
from ..ops.scipy.special import Special
from ..ops.shape import slice_
from ..ops.source import const, number
from ..ops.tape import push

HIDING = {slice_, push, cond}
"""A cotangent is zero outside of a part that was read, and in a branch that is not taken; tapes hold masks as well."""


def is_sharp(body: Sequence[Op]) -> bool:
    """Whether there are loops or branches, and something is hidden, and a slope may be infinite at ordinary numbers."""
    every = [*_within(body)]
    return len(every) > len(body) and any(op.prim.hides or op.prim is cond for op in every) and _is_steep(every)


def after_steep(body: Sequence[Op], first: Iterable[Value] = ()) -> set[Value]:
    """What is computed by such operations, which may give infinite factors, too, or from the values `first`.

    A mask matters to nothing else.
    """
    found, numbers = set(first), _numbers(body)
    for op in body:
        if not found.isdisjoint(op.args) or _is_steep([*_within([op])], numbers):
            found.update(op.results)
    return found


def _within(body: Iterable[Op]) -> Iterator[Op]:
    """Operations and those of their regions."""
    for op in body:
        yield op
        for region in op.regions:
            yield from _within(region.body)


def _numbers(body: Iterable[Op]) -> set[Value]:
    return {r for op in body if op.prim is const for r in op.results}


def _is_steep(body: Sequence[Op], numbers: Collection[Value] = ()) -> bool:
    """Whether an operation has such a slope; a division by a number has none."""
    known = {*numbers, *_numbers(body)}
    for op in body:
        if op.results and op.results[0].type.is_float and not (op.prim is div and op.args[1] in known):
            if isinstance(op.prim, (Special, Called)) or op.prim is arctan2:
                return True
            if isinstance(op.prim, Elementwise) and op.prim.domain != "real":
                return True
    return False


def hidden(
    body: Sequence[Op], varied: Collection[Value], targets: Iterable[Value], masked: Collection[Value],
    sharp: bool = False,
) -> set[Value]:
    """The values whose cotangents will have masks, as far as operations tell before their pullbacks are made.

    Such a mask goes into loops and comes out of them, where it costs a choice for each factor. A choice that the user
    wrote is worth that always, max and min and what a tape holds where a slope may be infinite: if `sharp`.
    """
    found: dict[Value, bool] = {}
    again = any(op.prim is bump for op in body)
    for v in targets:
        found[v] = v in masked and found.get(v, True)
    for op in reversed(body):
        if sharp and op.regions:
            found.update((r, True) for r in op.results if r not in found and r.type.is_float)  # zeros come to it
        given = [found[r] for r in op.results if r in found]
        if given:
            passes = op.prim.linear or bool(op.regions) or isinstance(op.prim, Elementwise)
            mask = op.prim.chooses or (sharp and (op.prim.hides or op.prim in HIDING)) or (passes and all(given))
            if sharp and op.prim in (read, update, bump):
                _of_parts(op, found, varied, again)
                continue
            found.update((a, mask and found.get(a, True)) for a in op.args if a in varied)
    return {v for v, mask in found.items() if mask}


def _of_parts(op: Op, found: dict[Value, bool], varied: Collection[Value], again: bool) -> None:
    """What is written has the mask of the array, and an array that of all that is read of it.

    In what a sweep has made, which is to be differentiated again, it has one for what is not read, too.
    """
    x, given = op.args[0], found[op.results[0]]
    if op.prim is not read and op.args[1] in varied:
        found[op.args[1]] = given and found.get(op.args[1], True)
    if x in varied:
        found[x] = found.get(x, True) and (given or (again and op.prim is not bump))


def guard(b: Builder, op: Op, mask: Value) -> Op:
    """`op` with safe arguments, and the results they have, wherever `mask` does not hold."""
    if not isinstance(op.prim, (Elementwise, Special, Called)):  # a mask says nothing about arguments of other elements
        return op
    prim = op.prim
    safe = [np.array(prim.safe, a.type.numpy) for a in op.args]
    results = prim.evaluate(safe, op.attrs, ())

    def keep(value: Value, other: np.ndarray) -> Value:
        return select(b, mask, value, number(b, np.asarray(other).item(), value.type))

    return Op(
        prim,
        tuple(keep(a, s) for a, s in zip(op.args, safe, strict=True)),
        op.attrs,
        op.regions,
        tuple(keep(r, s) for r, s in zip(op.results, results, strict=True)),
        op.where,
    )


def masks(b: Builder, op: Op, mask: Value | None) -> Sequence[Value | None]:
    """Where the arguments' cotangents can differ from zero, as far as it is known."""
    if mask is None:
        if not op.prim.hides:
            return [None] * len(op.args)
        mask = number(b, True, Type("bool", op.results[0].type.shape))
    if op.prim.linear:
        as_float = cast(b, mask, dtype=op.results[0].type.dtype)
        (pulled, *rest) = op.prim.pull(b, op, [as_float])
        if pulled is None:
            return [None] * len(op.args)
        return [ne(b, pulled, number(b, 0, pulled.type)), *([None] * len(rest))]
    return op.prim.masks(b, op, mask)


__all__ = ["after_steep", "guard", "hidden", "is_sharp", "masks"]
