"""The nodes that a recognised call would make, known from its first run: nothing runs to make them, or to do without.

    y = tanh(x @ w + b)      nodes  MmBackward0      leads to arguments 0 and 1
                                    AddBackward0     to the first one, and argument 2
                                    TanhBackward0    to the second one
                             ends   the result is result 0 of the third

Of what saved values there are, and how a node pulls back, its step and its `Pull` tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..reverse.modes import watch
from ..reverse.nodes import NOTHING, Edge, Kept, Node
from ..reverse.written import is_as_saved
from ..trace.fragments.fragments import COTANGENT, INPUT, RESULT, Pull
from ..trace.sharing import Part
from ..trace.states import Again, Call, State, Template
from ..value.cells import Cell, Kind
from ..value.numbers import cell_of_number
from ..value.paths import Path
from ..value.slots import DENSE, HISTORY, LEAF, SPECIAL
from ..value.storage import NO_GRAD, PIECE, PartHome, Storage, Swapped

if TYPE_CHECKING:
    from ..trace.tape import Tape

Way = tuple[int, int]
"""Where a cotangent goes within a call: (number of a node, of its result), or (-1 - k, 0) for argument k."""


class Known(NamedTuple):
    """A node of a call: the step that it stands for, its class, where its inputs come from, how it pulls back, and
    whether it saves something for that."""

    step: int
    name: type[Node]
    ways: tuple[Way | None, ...]
    pull: Pull
    saves: bool


def learn(run: Any, template: Template) -> None:
    """Note in the template what nodes the call made, if nothing about them is unusual."""
    template.nodes, template.ends, template.plain = None, (), False
    template.size = sum([k.size for k in template.kinds])
    made = [(ref, run.tape.value(run.base + ref)) for ref, _, _ in run.results]
    shared = [(ref, t) for ref, t in made if t._storage is not None]
    template.dense = frozenset([ref for ref, t in shared if not t._path or t._is_dense()])
    template.results = [(ref, k, what | DENSE if ref in template.dense else what) for ref, k, what in template.results]
    template.parts, template.within = {}, _within(run)
    template.views = tuple([ref for ref, _, what in template.results if what & SPECIAL])
    for ref, t in shared:
        of = _owner(run, t)
        if of is not None:
            x = run.reading.tensors[-1 - of] if of < 0 else None
            kind = x._cell.kind if x is not None else run.tape.cell(run.base + of).kind
            path = t._path[len(x._path) :] if x is not None else t._path
            turned = {step[0] for step in path} <= {"reshape", "transpose"} and not kind.is_complex
            whole = turned and t._cell.kind.size == kind.size
            free = t._origin in ("", PIECE) or (t._origin == NO_GRAD and t._node is None and not t._requires)
            plain = t._counter is None and free and not t._inference
            template.parts[ref] = Part(of, path, whole, t._base is not None, plain, t._origin)
    template.values = _only_values(run, template)
    if template.call.exact or (template.assigns and not template.renewed):
        return
    ways: dict[Edge, Way | None] = {}
    for k, (t, _, node, leaf, _) in enumerate(run.before):
        edge = (node, run.indices[k]) if node is not None else t._leaf_edge() if leaf else None
        if edge is not None:
            ways[edge] = None if edge in ways else (-1 - k, 0)
    for number, (_, node) in enumerate(run.nodes):
        ways.update({(node, k): (number, k) for k in range(node.outputs)})
    try:
        nodes = tuple([_known(run, at, node, ways) for at, node in run.nodes])
        made += [(ref, run.tape.value(run.base + ref)) for ref in template.renewed]
        ends = tuple([(ref, _way(ways, (t._node, t._index))) for ref, t in made if t._node is not None])
    except LookupError:
        return
    template.nodes, template.ends = nodes, ends
    template.plain = not template.viewed and not template.assigns and all(
        not flags & (SPECIAL | LEAF) and not t._origin
        for (_, t), (_, _, flags) in zip(made, run.results, strict=True)
    )


def _only_values(run: Any, template: Template) -> bool:
    """Whether all that a call does is to compute values: they may become those of arguments, or gradients of leaves."""
    if template.has_nodes or run.used_up or template.renewed or template.call.in_parts:
        return False
    special = any(flags & (SPECIAL | LEAF | HISTORY) for _, _, flags in run.results)
    return not (special or template.viewed or template.through)


def _owner(run: Any, t: Any) -> int | None:
    """Whose memory a result shares: that of an argument, or of a value of the call's own."""
    for k, x in enumerate(run.reading.tensors):
        if x._storage is t._storage:
            return -1 - k
    cell = t._storage.cell
    n = None if cell is None else run.tape.number_of(cell)
    return None if n is None or n < run.base else n - run.base


def _within(run: Any) -> dict[int, tuple[int, Path]]:
    """Of which argument's memory saved values are parts: who writes there writes over them."""
    found = {}
    for _, node in run.nodes:
        for cell in node.saved:
            home = cell.home if type(cell) is Cell else None
            if type(home) is not PartHome or not home.path:
                continue
            n, owner = run.tape.number_of(cell), _part_of(run, home)  # type: ignore[arg-type]
            if n is not None and n >= run.base and owner is not None:
                found[n - run.base] = owner
    return found


def _part_of(run: Any, home: PartHome) -> tuple[int, Path] | None:
    """Of which argument memory is a part, and where in it."""
    for k, t in enumerate(run.reading.tensors):
        if t._is_late:
            continue
        steps = t._steps if t._storage is home.storage else ()
        mine = t._storage is home.storage or t._cell is home.storage.cell
        if mine and home.path[: len(steps)] == steps and len(home.path) > len(steps):
            return -1 - k, home.path[len(steps) :]
    return None


def _way(ways: dict[Edge, Way | None], edge: Edge) -> Way:
    way = ways[edge]
    if way is None:
        raise LookupError
    return way


def _known(run: Any, at: int, node: Node, ways: dict[Edge, Way | None]) -> Known:
    pull, fragment = node.pull, run.steps[at].fragment
    kept = tuple([n for n, c in enumerate(node.saved) if isinstance(c, Kept)])
    if fragment is not node.fragment or pull is None or node.hooks is not None or not set(kept) >= set(pull.loose):
        raise LookupError
    if any(type(c) is Cell and not is_as_saved(c) for c in node.saved):
        raise LookupError  # by the call itself
    if len(kept) > len(pull.loose):  # what it wrote over when it had read it
        pull = pull._replace(loose=kept)
    saves = any(what != COTANGENT for what, _ in pull.reads)
    return Known(at, type(node), tuple([e and _way(ways, e) for e in node.edges]), pull, saves)


class Maker:
    """Makes the nodes of the calls that follow on a state, in order."""

    def __init__(self, tape: Tape, states: list[State]) -> None:
        self.tape = tape
        self.first = states[0].parent.values if states else 0  # type: ignore[union-attr]
        self.again: dict[int, int] = {}
        for state in states:
            event = state.event
            if isinstance(event, Again):
                self.again[state.values - 1] = event.number
            elif isinstance(event, Call):
                self.again.update((n, b) for n, b, _ in event.entered if b is not None)
                self.again.update((event.number(a), event.number(b)) for a, b in event.template.aliases)

    def cell(self, n: int, kind: Kind) -> Cell:
        """The cell of a value."""
        tape = self.tape
        found = tape.cell(n)
        while found is None and n in self.again:
            n = self.again[n]
            found = tape.cell(n)
        if found is None:
            found = tape.cell_at(n if n >= self.first else tape.origin(n), kind)
        return found

    def _input(self, call: Call, ref: int, known: Known, k: int) -> Cell:
        """The cell of what a step reads; numbers get one now."""
        tape, template, n = self.tape, call.template, call.number(ref)
        if tape.cell(n) is None:
            number = -1 - ref - len(call.arguments) + len(template.dtypes)
            made = None
            if number >= 0:
                made = cell_of_number(tape.value(n), template.dtypes[number])
            elif template.constants and ref >= 0:
                made = next((Cell(c.kind, c.array) for r, c in template.constants if r == ref), None)
            if made is not None:
                made.serial, made.number = tape.serial, n
                tape.put(n, tape.value(n), made)
        return self.cell(n, template.steps[known.step][0].inputs[k])

    def make(self, call: Call) -> None:
        """The nodes of one call, and the places of its results among them."""
        tape, template, made = self.tape, call.template, []
        for known in template.nodes or ():
            fragment, _, _, place = template.steps[known.step]
            edges = [None if w is None else self._edge(call, w, made) for w in known.ways]
            node = known.name(edges, fragment, tape.ages())
            pull = node.pull = known.pull
            if pull is not NOTHING:
                node.saved = self._saved(call, known)
            node.place, node.serial = call.place or place, tape.serial
            if watch.lanes:
                node.lanes = ((),) * node.outputs
            made.append(node)
        if made:
            tape.noded = True
        for ref, way in template.ends:
            t = tape.value(call.number(ref))
            edge = self._edge(call, way, made)
            assert edge is not None
            t._node, index = edge
            if index:
                t._index = index
            t._flags &= ~HISTORY

    def _saved(self, call: Call, known: Known) -> list[Any]:
        """What a node saves."""
        template, (step, _, _, pull, _) = call.template, known
        fragment, refs, first, _ = template.steps[step]
        saved: list[Any] = [
            self._input(call, refs[k], known, k) if what == INPUT
            else self.cell(call.number(first) + k, fragment.results[k]) if what == RESULT
            else None
            for what, k in pull.reads
        ]  # fmt: skip
        if template.within:
            for (what, k), cell in zip(pull.reads, saved, strict=True):
                owner = template.within.get(refs[k] if what == INPUT else first + k)
                if owner is not None and cell is not None and cell.home is None:
                    n = call.number(owner[0])
                    lodge(cell, self.tape.value(n), self.tape.cell(n), owner[1])
        for k in pull.loose:
            saved[k] = Kept(saved[k])
        return saved

    def _edge(self, call: Call, way: Way, made: list[Node]) -> Edge | None:
        number, index = way
        return (made[number], index) if number >= 0 else self.tape.value(call.number(number))._edge()


def lodge(cell: Cell, x: Any, whole: Cell | None, path: Path) -> None:
    """Let a saved value be a part of the memory of a tensor, whose value was `whole`."""
    known = None if whole is None else whole.home
    known = known.before if type(known) is Swapped else known
    if whole is not None and type(known) is PartHome:  # which may have been written unseen since
        cell.home, cell.version = PartHome(known.storage, known.path + path), whole.version
        return
    home, steps = x._storage, x._steps
    if home is None:
        home, steps = Storage(x._cell if whole is None else whole), ()
        home.dropped = True
    cell.home, cell.version = PartHome(home, steps + path), home.version


__all__ = ["Known", "Maker", "learn", "lodge"]
