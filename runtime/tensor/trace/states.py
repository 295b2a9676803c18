"""A trace as a path in a tree of states: each event leads from what was recorded to what is recorded then.

A state stands for everything on the way to it, so the same program comes by the same states again, and what was found
out about a trace once, such as its kernel, is kept there.  Values are numbered in the order in which they came.

Events are: a computed value is read for the first time (`Enter`); one operation (`Step`); and a whole call of a
recorded function (`Call`), which is an instance of a `Template`: what calls on arguments of these kinds do, wherever
they stand in a trace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..calls.places import Place
from ..value.cells import Cell, Kind
from ..value.paths import Path
from ..value.slots import StateBase
from .fragments.fragments import Fragment
from .misses import Misses, Varied
from .sharing import Part

TENSOR, NUMBER, STATIC, SEQUENCE, RESULT, NOTHING = "tensor", "number", "static", "sequence", "result", "nothing"
"""What the parts of forms are: of arguments, and of what a call returns."""

SEEN = 30_000
"""So many hashes of what was seen once are kept."""

FIRST, LATELY, RECURS = 16, 1024, 3
"""Things come again if one in three of the latest has, and so many in all."""

ABSOLUTE = 1 << 40
"""Added to the numbers of values that a template names though they are neither its arguments nor of its making."""


class Enter(NamedTuple):
    """A computed value of a kind is read; it is the next value."""

    kind: Kind


class Again(NamedTuple):
    """A value that is another one again, under a number of its own."""

    kind: Kind
    number: int


class Step(NamedTuple):
    """One operation on numbered values, and where in the program it stood the first time."""

    fragment: Fragment
    numbers: tuple[int, ...]
    first: int
    place: Place


class Template:
    """What a call does, in terms of its arguments.  `refs` are numbers of values from where the call's own begin;
    -1 - k stands for argument k, tensors before numbers.

    form       the arguments, of which tensors and numbers are the parts that differ from call to call
    kinds      of the values of the call's own
    steps      (fragment, refs, ref of its first result, place)
    constants  (ref, cell)
    dtypes     of the numbers; bounds those for which the function does the same, of each that is no declared one
    aliases    (ref, ref): values of the call's own that are others again
    gives      what is returned, as a form
    results    (ref, kind, flags) of the tensors that are returned or become gradients
    assigns    (argument, ref): tensors that take another value in place
    renewed    of those that have a history then, by ref: whether they had one before
    grads      (leaf, ref or None, descriptor, ref): the number of a leaf, and of its gradient before and after
    frees      numbers of tensors whose history was used up
    still      numbers of tensors that it read without being given them, which must have the memory that they had
    checks     (argument, test): what must be asked of the values of an argument
    viewed     arguments of which results may be views
    nodes      what it adds to the gradient graph, and ends (ref, where) its results there; None if that is unusual
    plain      it makes no more than values and nodes
    values     it makes no more than values, which tensors may take in place: no node is made or used up
    size       how many elements its values have in all
    dense      results that are views whose elements follow each other in memory
    pause      of a part of a backward, the number of the leaf whose hooks are next, and whether that is before or after
    views      results that are late views, and parts whose memory they share, by ref
    within     saved values that are parts of an argument's memory: which one's, and where
    pulls      its pullbacks, by which of its ends have a cotangent, and those ends; whole its steps as one fragment
    """

    __slots__ = (
        "call", "function", "mode", "form", "kinds", "steps", "constants", "dtypes", "aliases", "gives", "results",
        "assigns", "grads", "frees", "viewed", "has_nodes", "checks", "nodes", "ends", "plain", "dense", "parts",
        "within", "size", "pulls", "whole", "views", "renewed", "bounds", "pause", "through", "values", "still",
    )  # fmt: skip

    call: Any
    function: Any
    mode: int
    form: Any
    kinds: list[Kind]
    steps: list[tuple[Fragment, tuple[int, ...], int, Place]]
    constants: list[tuple[int, Cell]]
    dtypes: list[str]
    bounds: list[Any]
    pause: tuple[int, str] | None
    through: bool
    aliases: list[tuple[int, int]]
    gives: Any
    results: list[tuple[int, Kind, int]]
    assigns: list[tuple[int, int]]
    renewed: dict[int, bool]
    grads: list[tuple[int, Any, int]]
    frees: tuple[int, ...]
    still: tuple[int, ...]
    viewed: tuple[int, ...]
    has_nodes: bool
    checks: list[tuple[int, Any]]
    nodes: tuple[Any, ...] | None
    ends: tuple[tuple[int, tuple[int, int]], ...]
    plain: bool
    values: bool
    dense: frozenset[int]
    views: tuple[int, ...]
    parts: dict[int, Part]
    within: dict[int, tuple[int, Path]]
    size: int
    pulls: Any
    whole: Any

    def __init__(self) -> None:
        self.pulls = self.whole = None
        self.views = self.still = ()
        self.renewed, self.bounds, self.pause, self.through, self.values = {}, [], None, False, False


class Call(NamedTuple):
    """A template with the numbers of its arguments; `entered` are those that it reads first: (number, number of the
    value that it is again, or None, kind).  `place` is where it stood first, if not where the template did."""

    template: Template
    arguments: tuple[int, ...]
    entered: tuple[tuple[int, int | None, Kind], ...]
    base: int
    place: Place | None = None

    def number(self, ref: int) -> int:
        """The number of a value that the template names."""
        if ref < 0:
            return self.arguments[-1 - ref]
        return ref - ABSOLUTE if ref >= ABSOLUTE else self.base + ref


Event = Enter | Again | Step | Call


class Forest:
    """The root of all traces, how many states are kept below it, and what has been seen that is not kept.

    A program may never do the same again.  So what follows from templates is kept when it comes for the second time;
    and at once where a good part of what was new lately has come again.
    """

    def __init__(self) -> None:
        self.states = 0
        self.seen: set[int] = set()
        self.new = self.again = 0
        self.missed = Misses()
        self.varied = Varied()
        self.root: State

    def forget(self) -> None:
        """Begin anew: traces under way keep their states, and others find none."""
        self.states, self.root = 0, State(None, None, 0)
        self.seen.clear()
        self.new = self.again = 0
        self.missed.clear()
        self.varied.clear()

    def is_new(self, path: int) -> bool:
        """Whether something with this hash was not seen before; from now on it was."""
        seen = self.seen
        if path in seen:
            self.again += 1
            return False
        if len(seen) >= SEEN:
            seen.clear()
        seen.add(path)
        self.new += 1
        if self.new >= LATELY:
            self.new, self.again = self.new // 2, self.again // 2
        return True

    @property
    def recurs(self) -> bool:
        """Whether what is new will be there again, as a good part of what was new lately."""
        return self.again >= FIRST and self.again * RECURS >= self.new


NONE: dict[Any, Any] = {}
"""What follows a state of a trace that comes once, and what runs it: nothing, which is quicker to make once."""


class State(StateBase):
    """A state of the tree: the event that led to it, the state before, those that follow.

    plans     what runs the trace, for each set of values that are wanted
    blurred   something happened on the way that is no event: what depends on all of it must not be recognised
    path      a hash of the keys on the way
    met       how often notes of calls led here before native code was told of it
    useful    which values on the way have a history that is not used up, see spent.py
    segments  what the trace leaves to backward, for each set of values that are wanted: see reverse/segments.py
    """

    __slots__ = ("parent", "event", "children", "plans", "blurred", "path", "met", "useful", "segments")

    call: Any
    names: Any
    needs: Any
    gives: Any
    keep: Any
    info: Any
    plan: Any
    live: Any
    first: Any
    sibling: Any

    def __init__(self, parent: State | None, event: Event | None, values: int) -> None:
        self.parent, self.event, self.values = parent, event, values
        self.children: dict[Any, list[State]] = NONE
        self.plans: dict[Any, Any] = NONE
        self.segments: dict[bytes, Any] = NONE
        self.blurred = parent is not None and parent.blurred
        self.path = self.met = 0
        self.useful: Any = None

    def add(self, key: Any, state: State, kept: bool = True) -> State:
        """Let `state` follow on this one; if it need not be `kept`, from when it comes for the second time."""
        path = state.path = hash((self.path, key))
        if kept or not forest.is_new(path) or forest.recurs:
            forest.states += 1
            if self.children is NONE:
                self.children = {}
            self.children[key] = [*self.children.get(key, ()), state]  # at once: a signal may come between two steps
        return state

    def after_entering(self, kind: Kind, again: int | None = None) -> State:
        """The state with one value more: an input, or another value again."""
        key = kind, again
        found = self.children.get(key)
        if found is None:
            event = Enter(kind) if again is None else Again(kind, again)
            return self.add(key, State(self, event, self.values + 1))
        return found[0]

    def after_step(self, fragment: Fragment, numbers: tuple[int, ...], place: Place) -> State:
        key = fragment, numbers
        found = self.children.get(key)
        if found is None:
            step = Step(fragment, numbers, self.values, place)
            return self.add(key, State(self, step, self.values + len(fragment.results)))
        return found[0]

    def blur(self) -> State:
        """The state of the same values after something that is no event."""
        found = self.children.get("blur")
        if found is None:
            made = self.add("blur", State(self, None, self.values))
            made.blurred = True
            return made
        return found[0]


forest = Forest()
forest.forget()


def events(state: State, since: State | None = None) -> list[State]:
    """The states on the way to `state`, from the first after the root, or after `since`."""
    found = []
    at: State | None = state
    while at is not None and at is not since:
        if at.event is not None:
            found.append(at)
        at = at.parent
    found.reverse()
    return found


def may_save(state: State) -> bool:
    """Whether an event of a trace may have made a node, which saved values for backward."""
    for at in events(state):
        event = at.event
        if type(event) is Step:
            return True
        template = event.template if type(event) is Call else None
        if template is not None and (template.has_nodes or template.nodes or template.call.in_parts):
            return True
    return False
