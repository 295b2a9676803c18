"""The graph that backward walks: one node for each recorded operation whose result requires a gradient.

A node keeps the cells that its pullback reads, and no more; they are let go after backward.  It prints as
PyTorch's does: `<AddBackward0 object at 0x7f...>`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import COTANGENT, INPUT, RESULT, Fragment, Pull
from ..trace.tape import Place, record, tapes
from ..value.cells import Cell, Kind, is_alike, levels_of
from ..value.paths import Path
from ..value.storage import REVIEW
from .ages import END, age, sequence
from .hooks import Hook, NodeHooks, RemovableHandle, attach
from .modes import mode, watch
from .written import check_alike, check_unwritten, rewritten

Flow = tuple[Cell, "Edge | None"]
"""A cotangent, and where it comes from if it can be differentiated itself."""

AGAIN = ("Trying to backward through the graph a second time: the saved values of {name} were freed by the first"
         " backward. Specify retain_graph=True there if you need to backward through the graph a second time.")
NO_DERIVATIVE = "the derivative of {name} is not implemented: detach() its result (for // use div with rounding_mode)"

class Packed(Protocol):
    """What stands for a saved cell where the user keeps it."""

    def cell(self) -> Cell: ...


class Kept:
    """A saved cell that an operation read before it wrote over it: reading it is no error."""

    __slots__ = ("_cell",)

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def cell(self) -> Cell:
        return self._cell


NOTHING = Pull(None, (), (), frozenset())  # type: ignore[arg-type]
"""The pullback of a node that leads nowhere."""

QUALIFIED = {name: f"torch::autograd::{name}" for name in ("AccumulateGrad", "CopySlices")}

SAVED = {"self": (INPUT, 0), "other": (INPUT, 1), "exponent": (INPUT, 1), "mat2": (INPUT, 1), "result": (RESULT, 0)}
"""What the parts of an operation are called in the names of saved values."""

UNKNOWN = "NotImplemented"
"""The name of nodes that have no derivative; backward through one is an error."""


class Node:
    """One operation, seen from backward.  `edges[k]` leads to what made its input k."""

    __slots__ = (
        "edges", "fragment", "pull", "saved", "sequence", "age", "hooks", "place", "serial", "lanes", "_metadata",
        "__weakref__",
    )  # fmt: skip

    edges: Sequence[Edge | None]
    pull: Pull | None
    saved: list[Cell | Packed | None]
    hooks: NodeHooks | None
    place: Place | None
    #: the levels of `lanes` in which each result has another value for each example, if there are any
    lanes: tuple[tuple[Any, ...], ...]
    #: the call of a user's Function that the node is of, if that is an event of a trace
    joined: Any = None
    #: a tensor of a cell and its edge; what tensors are is known above
    present: ClassVar[Callable[[Cell, Edge | None], Any]]
    #: `record` for cells with tangents, which is known above, too
    emitted: ClassVar[Callable[[Fragment, Sequence[Cell], Any], list[Cell]]]

    def __init__(self, edges: Sequence[Edge | None], fragment: Fragment | None, at: float | None = None) -> None:
        self.edges, self.fragment = edges, fragment
        self.pull, self.saved, self.hooks, self.place = None, [], None, None
        self.sequence, self.age = sequence(), age() if at is None else at
        self.serial = 0  # of the trace, if it was made by an event of that

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot copy or pickle {type(self).__name__}, the history of a tensor: detach() the tensor")

    def save(self, cells: Sequence[Cell], results: Sequence[Cell]) -> None:
        """Keep what the pullback reads."""
        assert self.fragment is not None
        wanted = tuple([k for k, e in enumerate(self.edges) if e is not None])
        if not wanted:
            self.pull = NOTHING
            return
        self.pull = pull = self.fragment.pulls.get(wanted) or self.fragment.pull(wanted)
        self.saved = [
            cells[k] if what == INPUT else None if what == COTANGENT else results[k]
            for what, k in pull.reads
        ]
        for n in pull.loose:
            self.saved[n] = Kept(self.saved[n])  # type: ignore[arg-type]

    def pack(self, packed: Callable[[Cell], Packed]) -> None:
        """Hand the saved values to the user's hooks, but for numbers."""
        assert self.pull is not None
        numbers, used = self.pull.numbers, frozenset().union(*self.pull.needs)
        values = [c._cell if isinstance(c, Kept) else c for c in self.saved]
        self.saved = [packed(c) if n in used - numbers and type(c) is Cell else c for n, c in enumerate(values)]

    def free(self, useful: Collection[Node] | None = None) -> None:
        """Let go of the saved tensors; numbers stay, unless PyTorch's operation has tensors for them.  `useful` are the
        nodes that backward was to come to, if not all."""
        if self.saved and self.pull is not None:
            kept = frozenset() if self.fragment and self.fragment.operation.edges else self.pull.numbers
            self.saved = [c if n in kept else None for n, c in enumerate(self.saved)]

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        """The cotangents of the inputs that have one, as (input's number, cotangent)."""
        fragment, pull = self.fragment, self.pull
        assert fragment is not None
        if pull is None:
            raise RuntimeError(NO_DERIVATIVE.format(name=fragment.operation.name))
        if pull is NOTHING:
            return []
        cells: list[Cell] = []
        edges: list[Edge | None] = []
        kept = self.saved
        if len(cotangents) > 1 and (some := fragment.pull_some(self.edges, pull, cotangents)) is not pull:
            places = dict(zip(pull.reads, kept, strict=True))
            pull, kept = some, [places[read] for read in some.reads]
        for (what, k), saved in zip(pull.reads, kept, strict=True):
            if what == COTANGENT:
                cell, edge = cotangents[k] or (zeros(fragment.results[k]), None)
            elif saved is None:
                raise RuntimeError(AGAIN.format(name=self.name()))
            else:
                edge = self.edges[k] if what == INPUT else (self, k)
                cell = self.read(saved, (what, k))
            cells.append(cell)
            edges.append(edge)
        if not create:
            results = record(pull.fragment, cells, self.place)
            return [(k, (results[n], None)) for k, n in pull.gives]
        results, node = emit(pull.fragment, cells, edges if any(edges) else None)
        if node is not None:
            node.keep([c._cell for c in self.saved if isinstance(c, Kept)])
        moving = frozenset([n for n, e in enumerate(edges) if e is not None])
        return [(k, (results[n], (node, n) if node and pull.needs[n] & moving else None)) for k, n in pull.gives]

    def keep(self, cells: Sequence[Cell]) -> None:
        """Let the node read these saved cells though they are written over."""
        if cells:
            self.saved = [Kept(c) if isinstance(c, Cell) and any(c is k for k in cells) else c for c in self.saved]

    def read(self, saved: Cell | Packed, place: tuple[int, int] | None = None) -> Cell:
        """A saved value, or what is there that was written unseen; an error if its memory was written to else.

        place   of which argument or result it was the value
        """
        if not isinstance(saved, Cell):
            return saved.cell()
        if saved.home is not None or saved.stale:
            check_unwritten(saved, self)
            is_result = place is not None and place[0] == RESULT
            edge = None if place is None or is_result else self.edges[place[1]]
            now = rewritten(saved, self, edge, is_result)
            if now is not None:
                if place is not None:
                    check_alike(self, place)
                return _taken(now[0], now[1], saved)
        return saved

    @property
    def outputs(self) -> int:
        """How many results it has."""
        return len(self.fragment.results) if self.fragment is not None else 1

    def at(self, index: int) -> Edge:
        """Where a gradient of one of its results goes, as PyTorch has it."""
        return self, index

    # ---- what users see

    def name(self) -> str:
        """As PyTorch has it, where some names are those of C++."""
        return QUALIFIED.get(type(self).__name__, type(self).__name__)

    def shown(self) -> list[int]:
        """The inputs that count: tensors, no indices and masks, and numbers where PyTorch's operation has tensors."""
        every, fragment = range(len(self.edges)), self.fragment
        if fragment is None:
            return list(every)
        numbers, kinds, rule = fragment.numbers, fragment.inputs, fragment.operation.rule
        if fragment.operation.edges:
            return [k for k in every if rule != "own" or k >= len(kinds) or kinds[k].dtype != "bool"]
        tensors = [k for k in every if k >= len(numbers) or numbers[k] is None]
        return [k for k in tensors if kinds[k].is_float or (rule != "first" and kinds[k].dtype != "bool")]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        found = [self.edges[k] for k in self.shown()]
        return tuple([(None, 0) if edge is None else edge[0].at(edge[1]) for edge in found])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A place for the user's notes."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def __getattr__(self, name: str) -> Any:
        """What was saved, as `_saved_self`, `_saved_other` and `_saved_result`: a tensor, a number or None."""
        place = SAVED.get(name.removeprefix("_saved_")) if name.startswith("_saved_") else None
        if place is None or self.pull is None or self.fragment is None or place[1] >= len(self.edges):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        tapes.tape.catch_up()  # a backward that was recognised may have used it up
        if place not in self.pull.reads:
            return None
        at = self.pull.reads.index(place)
        saved = self.saved[at]
        if saved is None:
            raise RuntimeError(AGAIN.format(name=self.name()))
        cell = self.read(saved, place)
        if at in self.pull.numbers and cell.array is not None:
            return cell.array.item()
        return type(self).present(cell, self.edges[place[1]] if place[0] == INPUT else (self, place[1]))

    def hooked(self) -> NodeHooks:
        """The hooks, made when the first is attached. No backward that comes to an older trace is recognised anyway."""
        if self.serial in (0, tapes.tape.serial):
            tapes.tape.blur()
        self.hooks = self.hooks or NodeHooks()
        return self.hooks

    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` when the node has run; what it returns replaces grad_inputs."""
        return attach(self.hooked().after, fn)

    def register_prehook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs; what it returns replaces grad_outputs."""
        return attach(self.hooked().before, fn)

    def __repr__(self) -> str:
        cls = type(self)  # PyTorch's module stands before nodes of functions that users write
        return f"<{f'{cls.__module__}.' * cls.__module__.startswith('torch.')}{cls.__name__} object at {id(self):#x}>"


def _taken(whole: Cell, path: Path, saved: Cell) -> Cell:
    """The part of the memory that a saved value was, as it is now; as it was at first where a call runs again."""
    tape, review = tapes.tape, fragment_for((REVIEW, (path,), whole.kind)) if path else None
    if tape.again is not None and (review is None or not tape.again.has_next(review)):
        return saved
    if tape.call is not None and tape.number_of(whole) is None:
        tape.call.refuse("reads what NumPy, or who has the memory, wrote to it")
    if review is not None:
        whole = emit(review, [whole], None)[0][0]
        whole.home, whole.version = saved.home, saved.version  # who saves that may be written over as well
    return whole if is_alike(whole.kind, saved.kind) else saved


Edge = tuple[Node, int]


class AccumulateGrad(Node):
    """The end of the graph at a leaf, whose `grad` takes what arrives."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        super().__init__((), None, END)
        self.variable, self.sequence = variable, -1


_classes: dict[str, type[Node]] = {}


def node_class(name: str) -> type[Node]:
    """The class of nodes called `name`."""
    made = _classes.get(name)
    return made or _classes.setdefault(name, type(name, (Node,), {"__slots__": (), "__module__": __name__}))


def zeros(kind: Kind) -> Cell:
    """A cell of zeros."""
    return Cell(kind, np.zeros(kind.type.static_shape(), kind.type.numpy))


def emit(
    fragment: Fragment, cells: list[Cell], edges: Sequence[Edge | None] | None
) -> tuple[list[Cell], Node | None]:
    """Record a fragment, with a node if there are edges and a result can be differentiated."""
    tape = tapes.tape
    if edges is not None and tape.caught is not tape.state and tape.call is None:
        tape.catch_up()  # so that nodes are made in the order of the operations
    results = record(fragment, cells) if not watch.duals else Node.emitted(fragment, cells, edges)
    if edges is None or not fragment.differentiable:
        return results, None
    if not fragment.floats:
        floats = [e if c.kind.is_float else None for c, e in zip(cells, edges, strict=True)]
        if any(edges) and not any(floats):
            return results, None
        edges = floats
    if tape.again is not None and (stand_in := tape.again.stand_in) is not None:
        return results, stand_in
    name = fragment.operation.node
    node = (_classes.get(name) or node_class(name))(edges, fragment)
    if watch.lanes:
        node.lanes = levels_of(results)
    if name != UNKNOWN:
        node.save(cells, results)
        node.place = tape.place
        if watch.packers and mode.packers:
            node.pack(mode.packers[-1])
    tape.noded = True
    if tape.again is not None:
        node.serial = tape.again.tape.serial
    elif tape.call is not None:
        node.serial, tape.call.has_nodes = tape.serial, True
        tape.call.nodes.append((len(tape.call.steps) - 1, node))
    return results, node


def added(add: Any, a: Flow, b: Flow, create: bool) -> Flow:
    """The sum of two cotangents by the operation `add`."""
    fragment = fragment_for((add, (), a[0].kind, b[0].kind))
    edges = (a[1], b[1]) if create and (a[1] or b[1]) else None
    results, node = emit(fragment, [a[0], b[0]], edges)
    return results[0], node and (node, 0)


def reachable(nodes: Sequence[Node]) -> Iterator[Node]:
    """All nodes that can be reached, in the order of finding, so that equal programs record equal traces."""
    seen: set[Node] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += [e[0] for e in node.edges if e is not None and e[0] not in seen]
