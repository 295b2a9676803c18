"""The state of a walk: frames, heap, and the trace that is being written.

Names are bound in frames, objects that can change have their content on the heap; both together are the state that
arms of a branch and passes of a loop run on copies of. What a syntax node means is registered by the modules beside
this one: STATEMENTS[ast.If], EXPRESSIONS[ast.BinOp].
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from ...ir.graph import Value, Where
from ...ir.types import NAMES, TRACED, Type, type_of
from ...ops.elementwise import not_
from ...ops.require import ERRORS, UNTOLD, is_untold, made_of, require, untold
from ...ops.source import number
from ..array import Array, value_of
from ..errors import TraceError, Uncaptured, message
from ..sizes import Length
from ..tracing import Tracing, is_library, resumed
from .containers.tables import Table
from .frames import Frame, Place, Raised, State
from .ranges import Ranges
from .values import UNDEF, Box, Poison, Ref, like

STATEMENTS: dict[type[ast.stmt], Callable[[Machine, Any], None]] = {}
EXPRESSIONS: dict[type[ast.expr], Callable[[Machine, Any], Any]] = {}

FIX = "write .copy() where the two part"
VIEWED: list[Any] = [None]  # whether a slice of traced length is kept: registered by the module that makes them
DEPTH = 60
"""How deep calls may nest in regions."""


_KINDS = {bool: Type("bool"), int: Type("i64"), float: Type("f64")}


class Machine:
    """The evaluator's state; see the module."""

    def __init__(self, now: Tracing) -> None:
        self.now = self.root = now
        self.frames: list[Frame] = []
        self.kept: WeakSet[Frame] = WeakSet()
        self.made: dict[int, tuple[Any, Tracing]] = {}
        self.changed: list[tuple[Any, Any]] = []
        self.heap: dict[Box, Any] = {}
        self.edits: set[Box] = set()
        self.initial: dict[Box, Any] = {}
        self.outers: dict[int, tuple[Any, Ref]] = {}
        self.report: list[str] = []
        self.at: Where | None = None
        self.testing = self.selects = False
        self.trying = self.level = 0
        self.telling = 0
        self.site: ast.expr | None = None
        self.handled: list[BaseException] = []
        self.ranges = Ranges()
        self.rolled: dict[Any, Any] = {}
        self.columns: dict[int, Any] = {}
        self.counts: dict[Value, Array] = {}
        self.names = self.passes = 0
        now.locate = self.where

    # ---- where we are

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def in_region(self) -> bool:
        return self.now is not self.root

    @property
    def freezing(self) -> bool:
        """Whether the walk is for the values of one call: every decision is taken by them, under a guard."""
        return self.now.athand is not None

    def known(self, x: Any, what: str) -> Any:
        """The number behind a traced one, if the walk is for the values of one call; else the traced one."""
        if not self.freezing or not isinstance(x, Array):
            return x
        return Array(self.now, self.value(x), x.weak).number(what, "").item()

    def where(self) -> Where:
        """The user's line that is being walked."""
        if self.at is not None:
            return self.at
        for frame in reversed(self.frames):
            if frame.parsed is not None and not is_library(frame.parsed.file):
                return Where(frame.parsed.file, frame.line)
        return self.now.where or Where("<unknown>", 0)

    def refuse(self, why: str, fix: str = "", kind: type[TraceError] = Uncaptured, **facts: object) -> NoReturn:
        """Give up: `why` in the user's words, and the way out."""
        user = [f for f in self.frames if f.parsed is not None and not is_library(f.parsed.file)]
        raise kind(message(why, self.where(), fix, **facts, function=user[-1].name if user else self.now.name))

    def fail(self, error: BaseException) -> NoReturn:
        """Raise an exception of the user's code."""
        raise Raised(error, self.where())

    # ---- the trace

    @contextmanager
    def within(self, now: Tracing) -> Iterator[None]:
        """Write into another trace for a while."""
        before, self.now = self.now, now
        self.level += 1
        try:
            with resumed(now):
                yield
        finally:
            self.now = before
            self.level -= 1

    def region(self, name: str) -> Tracing:
        """A trace for a region that is about to be walked."""
        made = Tracing(name, self.now.where, self.now.sizes)
        made.locate, made.frozen = self.where, self.now.frozen
        return made

    def emit(self, prim: Any, *args: Any, **attrs: Any) -> Array:
        """Emit a primitive on traced and plain numbers."""
        return Array(self.now, self.now.emit(prim, *[self.value(a) for a in args], **attrs))

    def value(self, x: Any) -> Value:
        """A traced or plain number or array as a value of the innermost trace."""
        if isinstance(x, Array):
            return value_of(self.now, x)
        if isinstance(x, np.ndarray):
            return self.constant(x)
        if isinstance(x, Length):
            return self.ranges.counted(self, x).value
        kind = _KINDS.get(type(x)) or Type(TRACED[np.asarray(x).dtype])
        self.now.builder.where = self.where()
        return number(self.now.builder, x, kind)

    def constant(self, x: np.ndarray) -> Value:
        """A concrete array: one number in every element, or else an array that is passed at each call."""
        if not any(x is each for each, _ in self.outers.values()):
            first = x.flat[0] if x.size else x.dtype.type(0)
            if x.dtype in NAMES and (not x.size or bool(np.all(x == first))) and not _has_negative_zero(x):
                self.now.builder.where = self.where()
                return number(self.now.builder, first.item(), type_of(x))
        return self.now.array(x)

    def require_not(self, bad: Array, raised: Raised) -> None:
        """Where `bad` holds, what was raised while walking is raised."""
        self.at = raised.where
        args = raised.error.args
        text = args[0] if len(args) == 1 and isinstance(args[0], str) else str(raised.error) if args else ""
        self.require(self.emit(not_, bad), type(raised.error), text, is_untold(raised.error))
        self.at = None

    def require(self, ok: Any, error: type[BaseException], text: str = "", named: bool = False) -> None:
        """The traced condition must hold, else the exception is raised; its text may only name what it should tell."""
        if self.freezing:
            if not self.known(ok, "a check"):
                made = made_of(error, [text] if text else [])
                self.fail(untold(made) if named else made)
            return
        if self.trying:
            self.refuse("an exception that depends on traced values within `try`", "test for it with `if`")
        name = error.__name__
        if ERRORS.get(name) is not error:
            name = f"{error.__module__}.{error.__qualname__}"
            ERRORS[name] = error  # type: ignore[assignment]  # what else is raised is no Exception
        self.emit(require, ok, error=UNTOLD + name if named else name, text=text)

    # ---- the state

    def snapshot(self) -> State:
        for box in tuple(self.edits):
            self.look(box)
        return {f: dict(f.vars) for f in dict.fromkeys((*self.frames, *self.kept))}, dict(self.heap)

    def restore(self, state: State) -> None:
        """Frames that have been made since are no part of it, even where a function that they made still holds them."""
        for frame, names in state[0].items():
            frame.vars = dict(names)
        self.kept = WeakSet(f for f in self.kept if f in state[0])
        self.heap = {**self.initial, **state[1]}
        self.edits.clear()

    def before(self, place: Place, found: dict[Place, Any]) -> Any:
        """What a place held in some state; outer objects that were met later held their content all along."""
        if place in found:
            return found[place]
        return self.initial.get(place[1], UNDEF) if place[0] == "box" else UNDEF

    def older(self, box: Box, entry: State) -> bool:
        return box in entry[1] or box in self.initial

    def put(self, place: Place, value: Any) -> None:
        """Set a place without telling aliases: what they suffer is part of the joined state."""
        if place[0] == "name":
            place[1].vars[place[2]] = value
        else:
            self.heap[place[1]] = value
            self.edits.discard(place[1])

    # ---- the heap

    def new(self, kind: str, content: Any) -> Ref:
        """A new object."""
        box = Box(kind)
        self.heap[box] = content
        self._freeze(content)
        return Ref(box)

    def look(self, box: Box) -> Any:
        """What an object holds, or why it cannot be read."""
        found = self.heap[box]
        if box in self.edits:
            self.edits.discard(box)
            if isinstance(found, list):
                found = self.heap[box] = tuple(found)
        return found

    def edited(self, box: Box, item: str = "") -> Any:
        """The items of a list, or a table, to be changed in place: a change copies all only after somebody looked."""
        held = self.heap[box] if box in self.edits else self.content(box)
        if box not in self.edits:
            held = held.copied() if isinstance(held, Table) else list(held)
        self.store(box, held, item)
        self.edits.add(box)
        return held

    def items(self, box: Box) -> Any:
        """The content of an object to read one item of, or their number, also while it is edited."""
        return self.heap[box] if box in self.edits else self.content(box)

    def content(self, box: Box) -> Any:
        found = self.look(box)
        if isinstance(found, Poison):
            self.refuse(found.why, found.fix)
        return found

    def relatives(self, box: Box) -> set[Box]:
        """The box, and every box that may share memory with it.

        The relation is kept by pairs, so that two buffers that a loop swaps stay apart although each may be either.
        """
        return {box} | (box.maybe & self.heap.keys())

    def store(self, box: Box, content: Any, item: str = "") -> None:
        """Change what an object holds, at `item`; what may share its memory cannot be read any more."""
        if self.heap.get(box) is content and box not in self.edits:
            return
        for each in self.relatives(box):
            if each.held or (self.selects and VIEWED[0](self)):
                verdict = "a store into an array, list or dict that an object holds"
                self.refuse(verdict, "keep it in a local name")
            if each.origin:
                place = each.origin.removeprefix("the argument at ")
                if box.kind == "array":
                    named = each.origin.replace("the argument at ", "the argument ")
                    into = named if each is box else f"an array that may be {named}"
                    own = place if place.isidentifier() else "a"
                    verdict = f"assignment into {into}, where the caller would see it"
                    self.refuse(verdict, f"work on a copy: {own} = {own}.copy()", TraceError)
                verdict = f"{self.root.name!r} changes a container that it was given, at {place}{item}"
                self.refuse(verdict, "work on a copy: params = dict(params), items = list(items)", TraceError)
            if each.kept:
                verdict = f"assignment into an array, list or dict that {each.kept!r} may keep"
                self.refuse(verdict, "work on a copy", TraceError)
        self.heap[box] = content
        self.edits.discard(box)
        line = self.where()
        for other in self.relatives(box) - {box}:
            self.edits.discard(other)
            why = f"an {other.kind} that may or may not be the same as one that was changed at {line} is read"
            self.heap[other] = Poison(why.replace("an list", "a list").replace("an dict", "a dict"), FIX)

    def bind_name(self, name: str, value: Any) -> None:
        """Bind a name of the innermost frame, or of one that it closes over."""
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.names:
                frame.vars[name] = value
                return
            if name in frame.free or frame.scope is None:
                break
            frame = frame.scope
        fix = "pass it in as an argument, and return the new value"
        self.refuse(f"an assignment to {name!r}, which is global or outside of the traced function", fix, TraceError)

    # ---- between Python's objects and ours

    def adopt(self, x: Any, outer: bool = False, holder: Any = None) -> Any:
        """A Python object as an abstract value; what comes from `outer` places, or a `holder`, must not be written."""
        if isinstance(x, tuple) and x:
            return like(x, [self.adopt(i, outer, holder) for i in x])
        if (isinstance(x, Array) and not x.type.shape) or not isinstance(x, (Array, np.ndarray, list, dict)):
            return x
        known = self.outers.get(id(x))
        if known is not None:
            return known[1]
        if isinstance(x, np.ndarray) and (x.dtype not in TRACED or isinstance(x, (np.ma.MaskedArray, np.matrix))):
            return x
        kind = "array" if isinstance(x, (Array, np.ndarray)) else "list" if type(x) is list else "dict"
        if kind != "array" and type(x) not in (list, dict):
            return x
        ref = self.new(kind, None)
        if outer:
            self.outers[id(x)] = (x, ref)
            ref.box.origin = f"an outer {kind}"
            ref.box.held = id(holder) in self.made
        else:
            self._freeze(x)
        items = x if kind == "array" else None
        if type(x) is list:
            items = tuple([self.adopt(i, outer, holder) for i in x])
        elif type(x) is dict:
            items = Table(tuple(x), tuple([self.adopt(i, outer, holder) for i in x.values()]))
        self.heap[ref.box] = items
        if outer:
            self.initial[ref.box] = items
        return ref

    def _freeze(self, x: Any) -> None:
        """Content of an array is replaced, never changed: a library that writes into it is found out."""
        if isinstance(x, np.ndarray) and x.flags.owndata:
            x.setflags(write=False)

    # ---- dispatch

    def block(self, statements: list[ast.stmt]) -> None:
        raise NotImplementedError

    def eval(self, node: ast.expr) -> Any:
        raise NotImplementedError

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def lower(self, x: Any) -> Any:
        raise NotImplementedError


def _has_negative_zero(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" and bool(np.any((x == 0) & np.signbit(x)))
