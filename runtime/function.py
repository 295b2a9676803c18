"""Compiled functions: what decorators make, and what happens when a call meets no native entry.

A call in Python binds the arguments, reads their signature, traces and compiles the function if the signature is
new, and runs the kernel. If the function reads nothing beside its arguments, a native entry is put in front, and the
next call of that signature never comes here. Hidden inputs are read again at each call: another number or function
is another trace; arrays whose contents have changed are traced again, and compiled only if the graph has changed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..compiler import watch
from ..compiler.backend.entries.native import NativeFunction
from ..compiler.frontend import tracing, tree
from ..compiler.frontend.array import Array, leaked
from ..compiler.frontend.guards import native_guards
from ..compiler.frontend.hidden import Hidden, scan
from ..compiler.frontend.promotion import conform
from ..compiler.frontend.symbolic import to_sympy
from ..compiler.frontend.trace import Trace, assemble, from_values, trace
from ..compiler.frontend.tree import register_leaf
from ..compiler.ir.graph import Graph, inline
from ..compiler.ir.text import show
from ..compiler.passes import adjoint
from ..compiler.settings import STAGES
from . import kernels
from .compiled import MISS, Compiled, Content
from .signatures import place_of, positional, signature_of, static_places

tracing.add_library(os.path.dirname(__file__))

MAX_SIGNATURES = 256
"""Compiled signatures that a function keeps; the oldest is dropped first."""

MAX_ENTRIES = 32
"""Signatures that get a native entry; a call passes the guards of all of them."""

MAX_VARIANTS = 64
"""The same for the values of hidden inputs of one signature."""


class Plan(Protocol):
    """A transform: from a trace to a graph and its result."""

    @property
    def name(self) -> str: ...

    def derive(self, traced: Trace, owner: Function) -> tuple[Graph, Any]: ...


@dataclass
class Group:
    """The compiled forms of one signature, by what its hidden inputs were."""

    hidden: Hidden
    variants: dict[Any, Compiled]


class Function(NativeFunction):
    """A function under a transform: call it like the one it was made of.

    ir(stage, *args)   the text of a stage: graph, adjoint, optimized, loops, llvm or asm
    """

    def __init__(
        self,
        function: Callable[..., Any],
        plan: Plan,
        static_argnums: int | tuple[int, ...] = (),
        static_argnames: str | tuple[str, ...] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"{plan.name} takes a function, got {type(function).__name__}")
        for name in ("__module__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__name__ = getattr(function, "__name__", None) or type(function).__name__
        self.__wrapped__, self.plan, self.bound = function, plan, 0
        self._signature = signature_of(function)
        self._positional = positional(self._signature)
        self._static = static_places(self._signature, self.argument_names(32), static_argnums, static_argnames)
        self._title = re.sub(r"\W+", "_", self.__name__).strip("_") or "function"
        self._groups: dict[Any, Group] = {}
        self._entered: list[kernels.Runnable] = []
        self._latest: Compiled | None = None
        self._lock = threading.RLock()

    def __set_name__(self, owner: type, name: str) -> None:
        """In the body of a class: argument numbers count from the one after self."""
        self.bound = 1

    def __repr__(self) -> str:
        return f"<{self.plan.name} of {self.__name__}>"

    # ---- calls

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        now, latest = tracing.current(), self._latest
        if now is None and latest is not None and latest.core is not None and not kwargs and latest.current():
            made = latest.core(*args, *latest.traced.extras)
            if made is not MISS:
                return made
        signature, leaves = self.flatten(args, kwargs)
        if now is not None:
            traced = self._trace(signature)
            if traced.open or any(isinstance(x, Array) for x in leaves):
                return self._inline(now, traced, leaves)
        elif any(isinstance(x, Array) for x in leaves):
            raise leaked(next(x for x in leaves if isinstance(x, Array)))
        return self.compiled(signature).run(leaves)

    def __failed__(self, site: int, report: tuple[int, ...]) -> None:
        raise kernels.failure(self._entered, site, report)

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tree.Signature, list[Any]]:
        """The signature of a call, and its traced leaves."""
        if kwargs or not self._positional[0] <= len(args) <= self._positional[1]:
            args, kwargs = self._bind(args, kwargs)
        leaves: list[Any] = []
        nodes = []
        for k, each in enumerate(args):
            nodes.append(self._node(k, each, leaves))
        named = tuple([self._node(name, each, leaves) for name, each in kwargs.items()])
        return ("tuple", (*nodes, ("dict", tuple(kwargs), named))), leaves

    def _node(self, place: int | str, value: Any, leaves: list[Any]) -> tree.Signature:
        if place in self._static:
            return ("static", tree.static_key(value))
        try:
            return tree.flatten(value, leaves)
        except tree.BadLeaf as error:
            name = place if isinstance(place, str) else self.argument_names(place + 1)[place]
            path = error.path if len(error.path) <= 80 else error.path[:80] + "..."
            where = f"{self.__name__}: argument {name}{path}"
            raise TypeError(f"{where} {error.problem}; {error.fix}") from None

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self._signature is None:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}; its signature is {self._signature}") from None
        return bound.args, bound.kwargs

    def argument_names(self, count: int) -> list[str]:
        """The names of the first positional arguments."""
        parameters = self._signature.parameters.values() if self._signature else ()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
        return [names[k] if k < len(names) else f"{rest}[{k - len(names)}]" for k in range(count)]

    # ---- compiling

    def compiled(self, signature: tree.Signature) -> Compiled:
        """The compiled form for a signature and what the hidden inputs are now."""
        group = self._groups.get(signature)
        key, arrays = ((), []) if group is None else group.hidden.read()
        found = group and group.variants.get(key)
        if found is None or (found.contents and not found.unchanged(arrays)):
            with self._lock:
                found = self._compile(signature)
        self._latest = found
        return found

    def _compile(self, signature: tree.Signature) -> Compiled:
        hidden = self._scan(signature)
        key, arrays = hidden.read()
        group = self._groups.get(signature)
        if group is None or group.hidden.places != hidden.places:
            group = self._groups[signature] = Group(hidden, {})
            while len(self._groups) > MAX_SIGNATURES:
                del self._groups[next(iter(self._groups))]
        before = group.variants.get(key)
        if before is not None and before.unchanged(arrays):
            return before
        contents = [Content(each) for each in arrays]
        traced = self._trace(signature, hidden)
        graph, result, kernel = self._build(traced, before)
        made = group.variants[key] = Compiled(traced, graph, result, kernel, hidden, key, contents)
        while len(group.variants) > MAX_VARIANTS:
            del group.variants[next(iter(group.variants))]
        if before is not None and kernel is before.kernel:
            made.core = before.core
        else:
            self._enter(made)
        return made

    def _scan(self, signature: tree.Signature) -> Hidden:
        """What the function reads beside its arguments, and its static arguments in their turn."""
        count = len(signature[1]) - 1
        given = frozenset((*self.argument_names(count), *signature[1][-1][1]))
        statics = [tree.static_value(n[1]) for _, n in tree.nodes(signature) if n[0] == "static"]
        return scan(self.__wrapped__, given, tuple(s for s in statics if not isinstance(s, (str, bytes))))

    def _trace(self, signature: tree.Signature, hidden: Hidden | None = None) -> Trace:
        names = self.argument_names(len(signature[1]) - 1)
        draws = hidden.generators() if hidden else ()
        with watch.timed("graph", self._title):
            return trace(self.__wrapped__, signature, names, self._title, place_of(self.__wrapped__), draws)

    def _build(self, traced: Trace, before: Compiled | None) -> tuple[Graph, Any, kernels.Runnable]:
        """The derived graph, its result and its kernel: that of `before` if it has the same graph."""
        graph, result = self.plan.derive(traced, self)
        if before is not None and show(before.graph) == show(graph):
            return graph, result, before.kernel
        watch.show("graph", lambda: show(traced.graph), self._title)
        if graph is not traced.graph:
            watch.show("adjoint", lambda: show(graph), self._title)
        return graph, result, kernels.make(graph, graph.name)

    def _enter(self, made: Compiled) -> None:
        """Put a native entry in front: of the function, or of the kernel if Python must read what is hidden."""
        guards = None if made.traced.extras else native_guards(made.hidden)
        if guards is None or not made.current():
            made.make_core()
            return
        args = made.specs()
        if args is not None and kernels.has_entries(made.kernel) and len(self._entered) < MAX_ENTRIES:
            self._entered.append(made.kernel)
            kernels.install_entry(self, made.kernel, len(self._entered) - 1, args, made.result, guards)

    # ---- inside another trace

    def _inline(self, now: tracing.Tracing, traced: Trace, leaves: list[Any]) -> Any:
        """Put the derived graph into the one that is being traced."""
        graph, result = self.plan.derive(traced, self)
        given = [*leaves, *traced.extras]
        args = []
        for x, p in zip(given, traced.graph.params, strict=True):
            args.append(conform(now, x, p.type.numpy, p.type.static_shape()))
        now.builder.where = tracing.user_line()
        return from_values(result, now, inline(graph, now.builder, args))

    # ---- looking inside

    def ir(self, stage: str = "graph", *args: Any, **kwargs: Any) -> str:
        """The text of a stage, for these arguments or for those of the latest compilation."""
        if stage not in STAGES:
            raise ValueError(f"no stage {stage!r}: there are {', '.join(STAGES)}")
        found = self._latest
        if args or kwargs:
            found = self.compiled(self.flatten(args, kwargs)[0])
        if found is None:
            raise ValueError(f"{self.__name__} has not been compiled yet: call it, or pass example arguments to ir()")
        if stage == "graph":
            return show(found.traced.graph)
        if stage == "adjoint":
            return show(found.graph if found.graph is not found.traced.graph else _adjoint(found.traced))
        return found.kernel.text(stage)

    def sympy(self, *args: Any, **kwargs: Any) -> Any:
        """What a call returns, as SymPy expressions: for functions of floats without loops and arrays.

        Example arguments are needed only where an argument is more than a float.
        """
        if not args and not kwargs:
            args = (1.0,) * self._positional[0]
        traced = self._trace(self.flatten(args, kwargs)[0])
        graph, result = self.plan.derive(traced, self)
        inner = self.__wrapped__
        while isinstance(inner, Function):
            inner = inner.__wrapped__
        made = to_sympy(graph, getattr(inner, "symbols", ()))
        return assemble(result, lambda leaf: made[leaf.index])


def _adjoint(traced: Trace) -> Graph:
    """The adjoint of a function that is compiled as it is, for all its arguments of floats."""
    params = traced.graph.params[: traced.inputs]
    return adjoint(traced.graph, [k for k, p in enumerate(params) if p.type.is_float])


__all__ = ["Compiled", "Function", "Plan", "register_leaf"]
