"""A graph goes in, and what its text depends on beside it comes out: machine, settings and name, and a key of all."""

from __future__ import annotations

import re

from .. import watch
from ..ir.graph import Graph
from ..ir.key import graph_key
from ..settings import settings
from . import gemm, listing
from .libraries import blas
from .processor import vector_bits


def written_for() -> tuple[int, int]:
    """What lowering depends on beside the graph: bits of a vector, and bytes of operands from which BLAS is called."""
    return settings.vector_bits or vector_bits(), gemm.least_called() if blas.symbols() else 0


class Start:
    """A graph that is to be compiled, and what its text depends on beside it; `times` has the stages' milliseconds."""

    def __init__(self, graph: Graph, title: str) -> None:
        self.graph, self.title, self.name = graph, title, _symbol(title)
        self.times: watch.Times = {}
        self.bits, self.called = written_for()
        self.checked = bool(settings.check)

    def key(self) -> tuple[str | bytes, ...] | None:
        """What the text depends on, settings and machine aside; None if on functions of this process, too."""
        graph = graph_key(self.graph, listing.listing)
        return None if graph is None else ("kernel", str(self.bits), str(self.called), self.name, graph)


def _symbol(title: str) -> str:
    """The name of a kernel's function, which no other function in its module has."""
    return "kernel." + re.sub(r"[^A-Za-z0-9_]", "_", title)
