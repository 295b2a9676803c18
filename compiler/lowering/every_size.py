"""From a graph with named sizes to one program for all of them, what its kernel is told, and what must hold.

Where sizes are told by a lowering at each of them (`pattern`), the lowering decides by numbers. Here it works with open
extents: arithmetic stays a polynomial in the names, equality is that of polynomials, and an order that does not come
out the same for all sizes is decided by the numbers of an example and noted as a guard. What is only faster one way
than the other (`typical`) needs no guard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..ir.graph import Graph, Op
from ..ir.measure import OpenExtent, Sizes
from ..ir.sizes import at_sizes
from ..ir.types import Size
from . import lower
from .pattern import Told
from .program import Program, has_regions
from .storage import plan


class NotForEverySize(TypeError):
    """A program whose form is decided by numbers, and why."""


def for_every_size(
    graph: Graph,
    names: Sequence[str],
    numbers: Mapping[str, int],
    quotients: Mapping[str, tuple[Size, int]],
    vector_bits: int,
) -> tuple[Program, Told]:
    """The program for an optimised graph; its guards are those of `told.sizes`, also after it has been emitted.

    names      of the sizes in the order in which they are told
    numbers    of the sizes, at which what is only faster is decided
    quotients  of sizes that the graph names, too: dividend and divisor
    """
    for op in operations(graph):
        if op.regions or any(v.type.is_tape for v in op.results):
            where = f" at {op.where}" if op.where else ""
            raise NotForEverySize(f"a loop or branch ({op.prim.name}){where} is written for given sizes only")
    sizes = Sizes(dict(numbers), least=dict.fromkeys(numbers, 0))
    for name, (dividend, divisor) in quotients.items():
        sizes.quotients[name] = dividend, divisor
        sizes.numbers[name], sizes.least[name] = dividend.at(sizes.numbers) // divisor, 0
    open_extents = {name: OpenExtent(Size.named(name), sizes) for name in (*names, *quotients)}
    program = lower(at_sizes(graph, open_extents), vector_bits, called=0)  # type: ignore[arg-type]
    if has_regions(program):
        raise NotForEverySize("writing single elements is written for given sizes only")
    none = (None,) * len(program.body)  # nothing is shared among threads, and nobody looks for signals
    return program, Told(tuple(names), sizes, plan(program.scratch, program.body), none, none)


def operations(graph: Graph) -> Iterator[Op]:
    """All operations, those in regions among them."""
    pending = [graph]
    while pending:
        for op in pending.pop().body:
            yield op
            pending.extend(op.regions)


__all__ = ["NotForEverySize", "for_every_size", "operations"]
