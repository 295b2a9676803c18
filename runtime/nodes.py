"""The graph that backward walks: one node for each recorded operation whose result requires a gradient.

A node keeps the cells that its pullback reads, and no more; they are let go after backward.  It prints as
PyTorch's does: `<AddBackward0 object at 0x7f...>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .cells import Cell, Kind
from .fragments import COTANGENT, INPUT, Fragment, Pull, fragment_for
from .tape import record, sequence

if TYPE_CHECKING:
    from .core import Core

Flow = tuple[Cell, "Edge | None"]
"""A cotangent, and where it comes from if it can be differentiated itself."""

AGAIN = (
    "Trying to backward through the graph a second time: the saved values of {name} were freed by the first"
    " backward. Specify retain_graph=True there if you need to backward through the graph a second time."
)

UNKNOWN = "NotImplemented"
"""The name of nodes that have no derivative; backward through one is an error."""


class Node:
    """One operation, seen from backward.  `edges[k]` leads to what made its input k."""

    __slots__ = ("edges", "fragment", "pull", "saved", "sequence", "retained", "__weakref__")

    edges: Sequence[Edge | None]
    pull: Pull | None
    saved: list[Cell | None]
    retained: dict[int, ref[Core]] | None

    def __init__(self, edges: Sequence[Edge | None], fragment: Fragment | None) -> None:
        self.edges, self.fragment = edges, fragment
        self.pull, self.saved, self.retained = None, [], None
        self.sequence = sequence()

    def save(self, cells: Sequence[Cell], results: Sequence[Cell]) -> None:
        """Keep what the pullback reads."""
        assert self.fragment is not None
        wanted = tuple([k for k, e in enumerate(self.edges) if e is not None])
        self.pull = pull = self.fragment.pulls.get(wanted) or self.fragment.pull(wanted)
        self.saved = [
            cells[k] if what == INPUT else None if what == COTANGENT else results[k]
            for what, k in pull.reads
        ]

    def free(self) -> None:
        """Let go of the saved tensors; numbers cost nothing and stay."""
        if self.saved and self.pull is not None:
            kept = self.pull.numbers
            self.saved = [c if n in kept else None for n, c in enumerate(self.saved)]

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        """The cotangents of the inputs that have one, as (input's number, cotangent)."""
        fragment, pull = self.fragment, self.pull
        assert fragment is not None
        if pull is None:
            raise RuntimeError(
                "the derivative of floor_divide (//) is not implemented: use"
                ' div(..., rounding_mode="floor"), whose derivative is zero'
            )
        cells: list[Cell] = []
        edges: list[Edge | None] = []
        for (what, k), saved in zip(pull.reads, self.saved, strict=True):
            if what == COTANGENT:
                saved, edge = cotangents[k] or (zeros(fragment.results[k]), None)
            elif saved is None:
                raise RuntimeError(AGAIN.format(name=self.name()))
            else:
                edge = self.edges[k] if what == INPUT else (self, k)
            cells.append(saved)
            edges.append(edge)
        if not create:
            results = record(pull.fragment, cells)
            return [(k, (results[n], None)) for k, n in pull.gives]
        results, node = emit(pull.fragment, cells, edges if any(edges) else None)
        return [(k, (results[n], node and (node, n))) for k, n in pull.gives]

    @property
    def outputs(self) -> int:
        """How many results it has."""
        return len(self.fragment.results) if self.fragment is not None else 1

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        hidden: Sequence[str | None] = ()
        if self.fragment is not None and not self.fragment.operation.edges:
            hidden = self.fragment.numbers
        shown = [e for k, e in enumerate(self.edges) if k >= len(hidden) or hidden[k] is None]
        return tuple([e or (None, 0) for e in shown])

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


Edge = tuple[Node, int]


class AccumulateGrad(Node):
    """The end of the graph at a leaf, whose `grad` takes what arrives."""

    __slots__ = ("variable",)

    def __init__(self, variable: Core) -> None:
        super().__init__((), None)
        self.variable = variable
        self.sequence = -1


_classes: dict[str, type[Node]] = {}


def node_class(name: str) -> type[Node]:
    """The class of nodes called `name`."""
    found = _classes.get(name)
    if found is None:
        made = type(name, (Node,), {"__slots__": (), "__module__": __name__})
        found = _classes.setdefault(name, made)
    return found


def zeros(kind: Kind) -> Cell:
    """A cell of zeros."""
    return Cell(kind, np.zeros(kind.shape, kind.type.numpy))


def emit(
    fragment: Fragment, cells: list[Cell], edges: Sequence[Edge | None] | None
) -> tuple[list[Cell], Node | None]:
    """Record a fragment, with a node if there are edges and a result can be differentiated."""
    results = record(fragment, cells)
    if edges is None or not fragment.differentiable:
        return results, None
    if not fragment.floats:
        edges = [e if c.kind.is_float else None for c, e in zip(cells, edges, strict=True)]
        if not any(edges):
            return results, None
    name = fragment.operation.node
    node = (_classes.get(name) or node_class(name))(edges, fragment)
    if name != UNKNOWN:
        node.save(cells, results)
    return results, node


def added(add: Any, a: Flow, b: Flow, create: bool) -> Flow:
    """The sum of two cotangents by the operation `add`."""
    fragment = fragment_for((add, (), a[0].kind, b[0].kind))
    edges = (a[1], b[1]) if create and (a[1] or b[1]) else None
    results, node = emit(fragment, [a[0], b[0]], edges)
    return results[0], node and (node, 0)
