"""Numbers of nodes: in the order of all recording, and in that of one thread.

Backward goes to the newest node that is ready.  PyTorch numbers the nodes of each thread by themselves, from 0 on, so
what a new thread has made counts as old there, wherever it stands in a graph; hooks see that.
"""

from __future__ import annotations

from itertools import count
from math import inf

from ..trace.tape import tapes

sequence = count().__next__
"""Numbers in the order of recording, the same for all threads: a node's is above those of the nodes that it needs."""

END = inf
"""The age of the ends of a graph, which have their turn at once."""


def age() -> int:
    """The next number of the thread that recorded what is made a node of."""
    tape = tapes.tape
    return (tape if tape.again is None else tape.again.tape).ages()


__all__ = ["END", "age", "sequence"]
