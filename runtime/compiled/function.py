"""Compiled functions: what decorators make, and what happens when a call meets no native entry.

A call in Python binds the arguments, reads their signature, traces and compiles the function if the signature is
new, and runs the kernel. If the function reads nothing beside its arguments, a native entry is put in front, and the
next call of that signature never comes here. Hidden inputs are read again at each call: another number or function
is another trace; arrays whose contents have changed are traced again, and compiled only if the graph has changed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ...compiler import watch
from ...compiler.backend import process
from ...compiler.backend.entries.native import NativeFunction
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.promotion import conform
from ...compiler.frontend.refusals import leaked
from ...compiler.frontend.results import from_values
from ...compiler.frontend.sizes import Sizes
from ...compiler.frontend.state.guards import native_guards
from ...compiler.frontend.state.hidden import Hidden, scan
from ...compiler.frontend.static_keys import static_key, static_value
from ...compiler.frontend.trace import Trace, paths, trace
from ...compiler.ir.graph import Graph, moved
from ...compiler.ir.text import show
from ...compiler.ir.types import Dim
from ...compiler.locks import reentrant_lock
from ..limits import limited
from . import kernels, out, remade
from .again import Again, plain_of
from .binding import Binding
from .byname import ByName, made_of
from .changing import like_before
from .compiled import MISS, Compiled, Content
from .complexes import wholes_of
from .eager import called
from .execute import execute
from .foreign import CFunctions, Foreign
from .inside import Inside
from .signatures import BY_POSITION, Way, names_of, place_of, positional, signature_of, static_places
from .sizes import Choice, Naming, Rule
from .variants import Variants, Varying, rerolled

tracing.add_library(os.path.dirname(os.path.dirname(__file__)))

MAX_SIGNATURES = 256
"""Compiled signatures that a function keeps; the oldest is dropped first."""

MAX_ENTRIES = 32
"""Signatures that get a native entry; a call passes the guards of all of them."""

AWAITED = 64
"""Calls with the same size after which it gets a native entry, if one graph serves many sizes."""

MAX_VARIANTS = 256
"""The same for the values of hidden inputs of one signature: the one that was met least recently goes first."""

_meetings = itertools.count()


class Plan(Protocol):
    """A transform: from a trace to a graph and its result."""

    @property
    def name(self) -> str: ...
    @property
    def max_memory(self) -> int | None: ...
    @property
    def opens(self) -> Any: ...

    def derive(self, traced: Trace, owner: Function) -> tuple[Graph, Any]: ...


@dataclass
class Group:
    """The compiled forms of one signature, by what its hidden inputs were."""

    hidden: Hidden
    variants: dict[Any, Compiled]


class Function(Again, Binding, ByName, Foreign, Inside, Varying, NativeFunction):
    """A function under a transform: call it like the one it was made of.

    fn(*args, out=y)   write the result into the array y, or into arrays in dicts, lists and tuples like the result's,
                       and return it; None where a part of the result is to be made fresh
    ir(stage, *args)   the text of a stage: graph, adjoint, optimized, loops, llvm or asm
    address, ctypes    a C function, for functions of floats
    cfunc(*args)       the same for any arguments
    """

    def __init__(
        self,
        function: Callable[..., Any],
        plan: Plan,
        static_argnums: int | tuple[int, ...] = (),
        static_argnames: str | tuple[str, ...] = (),
        sizes: Rule = "auto",
    ) -> None:
        if not callable(function):
            raise TypeError(f"{plan.name} takes a function, got {type(function).__name__}")
        for name in ("__module__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__name__ = getattr(function, "__name__", None) or type(function).__name__
        self.__wrapped__, self.plan, self.bound = function, plan, 0
        self._signature = signature_of(function)
        self._positional, self._names = positional(self._signature), names_of(self._signature)
        self._static = static_places(self._signature, self.argument_names(32), static_argnums, static_argnames)
        self._title = re.sub(r"\W+", "_", self.__name__).strip("_") or "function"
        self._has_out = out.is_taken(self._signature, function)
        self.naming = Naming(sizes, self._signature)
        self._groups: dict[Any, Group] = {}
        self._entered: list[kernels.Runnable] = []
        self._cfunctions = CFunctions(self)
        self._latest: Compiled | None = None
        self._silent: dict[Any, Compiled] = {}
        self.plain = plain_of(function)
        self._times: watch.Times = {}
        self._lock = reentrant_lock()
        made_of(self, function, plan, static_argnums, static_argnames, sizes)

    def __set_name__(self, owner: type, name: str) -> None:
        """In the body of a class: argument numbers count from the one after self."""
        self.bound = 1

    def __repr__(self) -> str:
        return f"<{self.plan.name} of {self.__name__}>"

    # ---- calls

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        way = Way(len(args), tuple(kwargs))
        into = None if self._has_out else kwargs.pop(out.NAME, None)
        args, kwargs = self._by_position(args, kwargs) if kwargs else (args, kwargs)
        now, latest = tracing.current(), self._latest
        if now is None and tree.CALLS and (made := called(self, args, kwargs, into)) is not MISS:
            return made
        if now is None and latest is not None and latest.core is not None and not kwargs and latest.current():
            made = latest.core(*args, *latest.given, **out.named(into))
            if made is not MISS:
                return made
        signature, leaves = self.flatten(args, kwargs)
        if now is not None:
            traced = self._trace(signature, values=leaves)
            if traced.open or any(isinstance(x, Array) for x in leaves):
                out.refuse_traced(self.__name__, into)
                return self._inline(now, traced, leaves)
        elif any(isinstance(x, Array) for x in leaves):
            raise leaked(next(x for x in leaves if isinstance(x, Array)))
        entries = len(self._entered)
        found = self.compiled(signature, not way.names, leaves)
        if found.variants is not None:
            return self._varied(found, leaves, into)
        if into is None and not way.names and len(self._entered) > entries:
            return self(*args)  # through the entry that is there now
        places = None if into is None else out.Places(self.__name__, found.result, into)
        if way.names:
            self._enter_again(found, way, places)
        if places is None:
            return found.run(leaves)
        if found.asks:  # arguments that are written over must be there when Python is asked
            return places.filled(found.kernel.run(found.arrays(leaves)))
        return places.run(found.kernel, found.arrays(leaves))

    def _enter_again(self, found: Compiled, way: Way, places: out.Places | None) -> None:
        """Put an entry in front for calls by name, at the second that is like another."""
        has_out = out.NAME in way.names and not self._has_out
        key = (way, out.spec_of(places) if has_out else None)
        if has_out and key[1] is None:
            return
        with self._lock:
            if key in found.ways or len(found.ways) < MAX_ENTRIES:
                found.ways[key] = found.ways.get(key, 0) + 1
                if found.ways[key] == 2:
                    self._enter(found, *key)

    def __failed__(self, site: int, report: tuple[int, ...]) -> None:
        raise kernels.failure(self._entered, site, report)

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tree.Signature, list[Any]]:
        """The signature of a call, and its traced leaves."""
        if kwargs or not self._positional[0] <= len(args) <= self._positional[1]:
            args, kwargs = self._bind(args, kwargs)
        if self.plan.opens is not None:
            args, kwargs = self._opened(args, kwargs)
        leaves: list[Any] = []
        nodes = []
        for k, each in enumerate(args):
            nodes.append(self._node(k, each, leaves))
        named = tuple([self._node(name, each, leaves) for name, each in kwargs.items()])
        return ("tuple", (*nodes, ("dict", tuple(kwargs), named))), leaves

    def _node(self, place: int | str, value: Any, leaves: list[Any]) -> tree.Signature:
        if place in self._static:
            return ("static", static_key(value))
        try:
            return tree.flatten(tree.unfollowed(value), leaves)
        except tree.BadLeaf as error:
            name = place if isinstance(place, str) else self.argument_names(place + 1)[place]
            path = error.path if len(error.path) <= 80 else error.path[:80] + "..."
            where = f"{self.__name__}: argument {name}{path}"
            raise TypeError(f"{where} {error.problem}; {error.fix}") from None

    # ---- compiling

    def compiled(self, signature: tree.Signature, enters: bool = True, leaves: list[Any] | None = None) -> Compiled:
        """The compiled form for a signature and what the hidden inputs are now.

        With `enters` it gets an entry for calls by position. `leaves` are those of a call, if it is for one.
        """
        group = self._groups.get(signature)
        key, arrays = ((), []) if group is None else group.hidden.read()
        found = group and group.variants.get(key)
        if found is None or (found.contents and not found.unchanged(arrays)) or (found.variants and leaves is None):
            with self._lock, process.uncollected(), watch.progress(self.__name__):
                found = self._compile(signature, enters, leaves)
        elif found.waiting and enters:
            self._await(found)
        self._latest, found.met = found, next(_meetings)
        return found

    def _compile(self, signature: tree.Signature, enters: bool, leaves: list[Any] | None) -> Compiled:
        hidden = self._scan(signature)
        key, arrays = hidden.read()
        group = self._groups.get(signature)
        if group is None or group.hidden.places != hidden.places:
            remade.note(self.__wrapped__, self.plan.name, signature)
            group = self._groups[signature] = Group(hidden, {})
            while len(self._groups) > MAX_SIGNATURES:
                del self._groups[next(iter(self._groups))]
        before = group.variants.get(key)
        if before is not None and before.unchanged(arrays) and (leaves is not None or not before.variants):
            return before
        contents, self._times = [Content(each) for each in arrays], {}
        choice = self._choice(signature, hidden, group, before)
        if choice.form is not None:
            traced, graph, result, kernel = choice.made(signature)
        else:
            traced = rerolled(self._trace(signature, hidden, values=leaves))
            traced, before = like_before(traced, before, group.variants)
            graph, result, kernel = self._build(traced, before)
        choice.settle()
        reasons = (*choice.reasons, *traced.notes, *kernels.reasons(kernel))
        made = Compiled(traced, graph, result, kernel, hidden, key, contents, reasons, self._times)
        watch.log("forms", self.__name__, "compiled: %s", "; ".join(reasons) or "the first call")
        made.met = next(_meetings)
        made.variants = Variants(made) if traced.frozen else None
        group.variants[key] = made
        while len(group.variants) > MAX_VARIANTS:
            del group.variants[min(group.variants, key=lambda each: group.variants[each].met)]
        made.waiting = AWAITED if choice.form is not None else int(not enters)
        if before is not None and kernel is before.kernel:
            made.follow(before)
        elif not made.waiting:
            self._enter(made)
        return made

    def _await(self, found: Compiled) -> None:
        """Count the calls of one size of many; a native entry costs as much time as some hundred calls in Python."""
        with self._lock:
            found.waiting -= 1
            if found.waiting == 0:
                self._enter(found)

    def _scan(self, signature: tree.Signature) -> Hidden:
        """What the function reads beside its arguments, and its static arguments in their turn."""
        count = len(signature[1]) - 1
        given = frozenset((*self.argument_names(count), *signature[1][-1][1]))
        named = paths(signature, self.argument_names(count))
        return scan(self.__wrapped__, given, [(p, static_value(n[1])) for p, n in named if n[0] == "static"])

    def _choice(self, signature: tree.Signature, hidden: Hidden, group: Group, before: Compiled | None) -> Choice:
        """Whether a form with named sizes serves a signature, and why it is compiled at all."""
        if group.variants:
            return Choice([f"{'a hidden input' if before is None else 'the content of a hidden array'} has changed"])
        make: Any = lambda sizes, shapes: self.with_names(signature, sizes, shapes, hidden)  # noqa: E731
        return self.naming.choose(signature, self.argument_names(len(signature[1]) - 1), hidden, make)

    def with_names(
        self, signature: tree.Signature, sizes: Sizes, shapes: list[tuple[Dim, ...]], hidden: Hidden | None = None
    ) -> tuple[Trace, Graph, Any]:
        """The trace with named sizes in the shapes of its leaves, what is derived of it, and its result."""
        traced = self._trace(signature, hidden, sizes, shapes)
        with watch.timed("adjoint", self._title, self._times):
            graph, result = self.plan.derive(traced, self)
        watch.show("graph", lambda: show(traced.graph), self._title)
        with watch.timed("passes", self._title, self._times):
            return traced, kernels.pipeline.optimize(graph), result

    def _trace(
        self, signature: tree.Signature, hidden: Hidden | None = None, sizes: Sizes | None = None,
        shapes: list[tuple[Dim, ...]] | None = None, values: list[Any] | None = None, seeks: bool = True
    ) -> Trace:
        names = self.argument_names(len(signature[1]) - 1)
        if hidden is None and tracing.current() is None:
            hidden = self._scan(signature)
        with watch.timed("trace", self._title, self._times), limited(self.plan.max_memory):
            place, given = place_of(self.__wrapped__), None if values is None else (values, execute)
            return trace(self.__wrapped__, signature, names, self._title, place, hidden, sizes, shapes, given, seeks)

    def _build(self, traced: Trace, before: Compiled | None) -> tuple[Graph, Any, kernels.Runnable]:
        """The derived graph, its result and its kernel: that of `before` if it has the same graph."""
        with watch.timed("adjoint", self._title, self._times):
            graph, result = self.plan.derive(traced, self)
        if before is not None and show(before.graph) == show(graph):
            return graph, result, before.kernel
        watch.show("graph", lambda: show(traced.graph), self._title)
        if graph is not traced.graph:
            watch.show("adjoint", lambda: show(graph), self._title)
        return graph, result, kernels.make(graph, graph.name, wholes_of(traced.signature, result, graph))

    def _enter(self, made: Compiled, way: Way = BY_POSITION, into: Any = None) -> None:
        """Put a native entry in front: of the function, or of the kernel if Python must read what is hidden.

        `into` is the specification of an `out=` argument.
        """
        guards = native_guards(made.hidden, contents=True)
        fits = len(self._entered) < MAX_ENTRIES and not kernels.packs_last(made.kernel, len(made.traced.extras))
        if guards is None or not fits or not made.current():
            made.make_core(into)
            return
        *given, (_, keys, _) = made.traced.signature[1]
        bound = made.bound(guards)
        args = made.specs(bound) if way.names or not keys else None
        names = [*self.argument_names(len(given)), *keys]
        if args is not None and kernels.has_entries(made.kernel) and (into is None or not made.asks):
            self._entered.append(made.kernel)
            more = (guards, way.named(names, into), bool(made.traced.frozen) or made.asks, tuple(bound))
            kernels.install_entry(self, made.kernel, len(self._entered) - 1, args, made.result, *more)

    # ---- inside another trace

    def _inline(self, now: tracing.Tracing, traced: Trace, leaves: list[Any]) -> Any:
        """Put the derived graph into the one that is being traced: it was made for that alone."""
        graph, result = self.plan.derive(traced := rerolled(traced), self)  # the rounds of a derivative are less alike
        given = [*leaves, *traced.extras]
        args = [conform(now, x, p.type.numpy, p.type.shape) for x, p in zip(given, traced.graph.params, strict=True)]
        now.builder.where = tracing.user_line()
        return from_values(result, now, moved(graph, now.builder, args))


__all__ = ["Compiled", "Function", "Plan"]
