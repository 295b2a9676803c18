"""From a graph with named sizes to one program for all of them, what its kernel is told, and what must hold.

Where sizes are told by a lowering at each of them (`pattern`), the lowering decides by numbers. Here it works with open
extents: arithmetic stays a polynomial in the names, equality is that of polynomials, and an order that does not come
out the same for all sizes is decided by the numbers of an example and noted as a guard. What is only faster one way
than the other (`typical`) needs no guard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.graph import Graph
from ..ir.measure import OpenExtent, Sizes
from ..ir.sizes import at_sizes
from ..ir.types import Size
from . import lower
from .pattern import Told
from .program import Program
from .storage import plan


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

    TypeError where the lowering asks for the number of an extent.
    """
    sizes = Sizes(dict(numbers), least=dict.fromkeys(numbers, 0))
    for name, (dividend, divisor) in quotients.items():
        sizes.quotients[name] = dividend, divisor
        sizes.numbers[name], sizes.least[name] = dividend.at(sizes.numbers) // divisor, 0
    open_extents = {name: OpenExtent(Size.named(name), sizes) for name in (*names, *quotients)}
    program = lower(at_sizes(graph, open_extents), vector_bits, called=0)  # type: ignore[arg-type]
    none = (None,) * len(program.body)  # nothing is shared among threads, and nobody looks for signals
    return program, Told(tuple(names), sizes, plan(program.scratch, program.body), none, none)


__all__ = ["for_every_size"]
