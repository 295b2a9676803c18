"""How long a graph is to the compiler, and from which length on its repeated stretches are looked for (`reroll`)."""

from ...ir.graph import Graph, Op

LEAST = 256
"""Operations from which a stretch is worth a loop: straight code of that length runs faster, and compiles as fast."""

LOOP = 4
"""Operations that cost as much to compile as one does more, being in a loop."""


def size_of(op: Op) -> int:
    """How many operations one is worth: a loop costs the compiler more than what is in it."""
    return 1 + sum(LOOP + size_of(each) for region in op.regions for each in region.body) if op.regions else 1


def length(graph: Graph) -> int:
    """How many operations a graph is worth."""
    return len(graph.body) + sum([size_of(op) - 1 for op in graph.body if op.regions])


__all__ = ["LEAST", "length", "size_of"]
