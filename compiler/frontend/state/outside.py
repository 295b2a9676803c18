"""What a trace may not change: everything that exists outside of the function and that it can reach.

A traced function runs once, a compiled one never: an item that it appends is appended once, and if it is a traced
value it has no number when anybody looks at it. So what the function reads is noted before the trace and looked at
after it; a change is undone and refused, with the place and the user's line. Draws from generators of random numbers
are changes of their states.

    outside = Outside("loss", where, loss, scan(loss))
    with outside.unchanged(): ...
"""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...ir.graph import Where
from ..array import Array
from ..errors import TraceError, message
from ..tracing import enclosing, is_foreign
from . import frozen
from .contents import MISSING, PLAIN, Unreadable, is_foreign_class, is_method, opened
from .frozen import is_generator
from .kept import LIMIT, Content, content, differences, holds_traced, put_back
from .mentions import mention
from .reading import Hidden

KEEP = "return the value, and keep it where the function is called: value = f(x); history.append(value)"
DO = "do it where the function is called; a compiled function would do it once and never again"
DRAW = "draw outside of the function and pass the numbers as an argument"

_LEAVES = (*PLAIN, Array, types.FunctionType, types.BuiltinFunctionType)
_OPENED = (list, tuple, dict, set, collections.deque, functools.partial, types.MappingProxyType, types.SimpleNamespace,
           collections.UserDict, collections.UserList, collections.ChainMap, types.MethodType)
"""What is looked into; other objects of libraries keep what they like in their depths."""


class Kept(NamedTuple):
    """An object, what it is called, the name by which the code names it, and what it held."""

    label: str
    name: str
    object: Any
    before: Content


class Outside:
    """What a function can reach, as it was before the trace.

    `hidden` is what its code reads. Of a function that is traced within another trace only what it closes over is
    looked at: the rest belongs to the functions around it.
    """

    def __init__(self, name: str, where: Where | None, function: Any, hidden: Hidden | None = None) -> None:
        self.name, self.where = name, where
        self.reads: Sequence[types.FunctionType] = () if hidden is None else hidden.reads
        self.stored = None if hidden is None else hidden.stored
        self.bound: list[tuple[Any, Any]] = []
        self.kept: list[Kept] = []
        self.seen: dict[int, Any] = {}
        self.states: list[Any] | None = [] if not enclosing() else None
        if hidden is None:
            self.reads = [function] if isinstance(function, types.FunctionType) else []
            for name, each in _closed_over(function):
                self._note(name, name, each)
            return
        for each in hidden.reads:
            self._note(each.__name__, each.__name__, each)
        for name, each in _own(function):
            self._reach(name, name, each)
        for source in hidden.sources:
            value = source.read()
            if source.kind == "attribute":
                self._note(_called(source.holder), source.name, source.holder)
            elif source.kind != "argument":
                self.bound.append((source, value))
            label = str(source) if source.kind in ("attribute", "defaults") else source.label or str(source)
            self._reach(label, source.name or source.label, value)

    def _reach(self, label: str, name: str, value: Any) -> None:
        """Note an object and what it holds, down to objects of the user's, whose attributes are places of their own."""
        pending = [(label, value)]
        while pending and len(self.seen) < LIMIT:
            label, x = pending.pop()
            if isinstance(x, _LEAVES) and not is_method(x):
                continue
            if not self._note(label, name, x) or not (isinstance(x, _OPENED) or is_method(x)):
                continue
            try:
                held = opened(x)
            except Unreadable:
                continue
            if held is not None:
                inner = label if label.startswith("what ") else f"what {label} holds"
                pending += [(inner, each) for each in held[1] if not isinstance(each, PLAIN)]

    def _note(self, label: str, name: str, x: Any) -> bool:
        """Remember what an object holds; whether it is a new one."""
        if id(x) in self.seen or isinstance(x, PLAIN):
            return False
        self.seen[id(x)] = x
        found = content(x)
        if found is not None:
            self.kept.append(Kept(label, name, x, found))
        if not isinstance(x, (type, types.ModuleType)) and not is_foreign_class(type(x)):
            self._note(type(x).__name__, name, type(x))
        return True

    # ---- afterwards

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse what changes something; what ends with a refusal of ours has changed nothing."""
        if self.states is not None:
            self.states = frozen.states()
        try:
            yield
            self.check()
        except TraceError:
            self.restore()
            raise

    def check(self) -> None:
        """Refuse what has changed something."""
        if self.states is not None and frozen.drawn(self.states):
            self._refuse("draws random numbers, which would be the same in every call", DRAW, (), frozen.Drawn)
        for source, before in self.bound:
            now = source.read()
            if now is not before and not _equal(now, before):
                self._refuse_change(str(source), (source.label or source.name,), now)
        for each, name, value in self._changes():
            self._changed(each, name, value)

    def _changes(self) -> Iterator[tuple[Kept, str, Any]]:
        """What holds something else, by the doing of the function as far as one can tell."""
        for each in self.kept:
            for name, value in differences(each.object, each.before):
                written = not name or self.stored is None or name in self.stored
                if holds_traced(value) or (written and not is_memo(each.object, name)):
                    yield each, name, value

    def _changed(self, each: Kept, name: str, value: Any) -> None:
        if is_generator(each.object):
            verdict = f"draws random numbers from {each.label}, which would be the same in every call"
            self._refuse(verdict, DRAW, (each.name,))
        label = f"the attribute {name} of {each.label}" if name else each.label
        self._refuse_change(label, (name or each.name,), value)

    def _refuse_change(self, label: str, names: tuple[str, ...], value: Any) -> None:
        if holds_traced(value):
            self._refuse(f"keeps a traced value in {label}, where it has no number", KEEP, names)
        self._refuse(f"changes {label}, which is outside of it", DO, names)

    def _refuse(
        self, verdict: str, fix: str, names: tuple[str, ...], kind: type[TraceError] = TraceError
    ) -> None:
        where = mention(self.reads, names) or self.where
        raise kind(message(f"{self.name!r} {verdict}", where, fix))

    def restore(self) -> None:
        """Put everything back as it was."""
        if self.states is not None:
            frozen.put_back(self.states)
        for source, before in self.bound:
            if source.read() is not before:
                _bind(source, before)
        for each, name, _ in list(self._changes()):
            put_back(each.object, each.before, name)


def _closed_over(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function of the user's closes over, the object of a method, and the arguments of a partial."""
    if isinstance(function, functools.partial):
        yield from (("an argument of a partial", each) for each in (*function.args, *function.keywords.values()))
        yield from _closed_over(function.func)
    if isinstance(function, types.MethodType):
        yield "self", function.__self__
        yield from _closed_over(function.__func__)
    if not isinstance(function, types.FunctionType):
        return
    ours = is_foreign(function.__code__.co_filename)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if not ours:
            yield name, value
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):  # what a form is given
            yield from _closed_over(value)


def _own(function: Any) -> Iterator[tuple[str, Any]]:
    """The objects that a function brings along: what it is a method of, or itself, and the arguments of a partial."""
    if isinstance(function, functools.partial):
        yield from (("an argument of a partial", each) for each in (*function.args, *function.keywords.values()))
        yield from _own(function.func)
    elif isinstance(function, types.MethodType):
        yield _called(function.__self__), function.__self__
        yield from _own(function.__func__)
    elif not isinstance(function, (*_LEAVES, type)):
        yield _called(function), function


def _called(x: Any) -> str:
    return x.__name__ if isinstance(x, (type, types.ModuleType)) else f"a {type(x).__name__}"


def _equal(a: Any, b: Any) -> bool:
    """Whether two readings of one place are the same: defaults are read as pairs."""
    return type(a) is tuple and type(b) is tuple and len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _bind(source: Any, value: Any) -> None:
    if source.kind == "cell" and value is MISSING:
        del source.holder.cell_contents
    elif source.kind == "cell":
        source.holder.cell_contents = value
    elif source.kind == "global" and value is MISSING:
        source.holder.pop(source.name, None)
    elif source.kind == "global":
        source.holder[source.name] = value


def is_memo(x: Any, name: str) -> bool:
    """Whether a change without traced values is harmless: a cached property, or in an object of a library."""
    if not name or isinstance(x, (type, types.ModuleType)):
        return False
    for base in type(x).__mro__:
        if name in vars(base):
            return isinstance(vars(base)[name], functools.cached_property)
    return is_foreign_class(type(x)) and (type(x).__module__ or "").partition(".")[0] not in sys.stdlib_module_names


__all__ = ["Outside", "is_memo"]
