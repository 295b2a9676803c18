"""Walking a function: from its arguments to its graph.

    walk(now, newton, (x,), {})        now is the trace that is being written; x is an Array
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.primitive import Effect
from ..array import Array
from ..errors import TraceError
from ..tracing import Tracing
from . import calls, library, mathematics, messages, python
from .arrays import filling, open_slices
from .containers import iterables
from .containers.tables import Table
from .frames import Frame, Raised
from .machine import EXPRESSIONS, Machine
from .selections import selected_forms
from .source import code_of
from .syntax import expressions, loops
from .syntax import statements as syntax
from .values import Iter, like


class Evaluator(Machine):
    """The machine with the meanings that the modules beside this one have registered."""

    def block(self, statements_: list[ast.stmt]) -> None:
        syntax.block(self, statements_)

    def eval(self, node: ast.expr) -> Any:
        line = getattr(node, "lineno", None)
        if line is not None:
            self.frame.line = line
        meaning = EXPRESSIONS.get(type(node))
        if meaning is None:
            self.refuse(f"`{type(node).__name__.lower()}` in a function that branches or loops on traced values")
        return meaning(self, node)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return calls.call(self, function, args, kwargs)

    def lower(self, x: Any) -> Any:
        return calls.lower(self, x)

    def argument(self, x: Any, path: str) -> Any:
        """An argument: its arrays and containers are the caller's."""
        if isinstance(x, tuple) and x:
            return like(x, [self.argument(i, f"{path}[{k}]") for k, i in enumerate(x)])
        kind = "array" if isinstance(x, (np.ndarray, Array)) else {list: "list", dict: "dict"}.get(type(x))
        if kind is None or (isinstance(x, Array) and not x.type.shape):
            return x
        ref = self.new(kind, None)
        ref.box.origin = f"the argument at {path}"
        content: Any = x
        if isinstance(x, list):
            content = tuple([self.argument(i, f"{path}[{k}]") for k, i in enumerate(x)])
        elif isinstance(x, dict):
            content = Table(tuple(x), tuple([self.argument(v, f"{path}[{k!r}]") for k, v in x.items()]))
        self.heap[ref.box] = self.initial[ref.box] = content
        return ref

    def result(self, x: Any) -> Any:
        """What a function returned, as the trace takes it."""
        made = self.lower(x)
        if isinstance(made, (Iter, calls.Closure)):
            what = "a function with what it closes over" if isinstance(made, calls.Closure) else "an iterator"
            self.refuse(f"{self.now.name!r} returned {what}", "return numbers and arrays, in lists", TraceError)
        return _untied(made)


def _untied(x: Any) -> Any:
    """The same with arrays of our own writable, and tuples and lists as they are."""
    if isinstance(x, np.ndarray) and not x.flags.writeable:
        return x.copy()
    if type(x) is list:
        return [_untied(i) for i in x]
    if isinstance(x, tuple):
        return like(x, [_untied(i) for i in x])
    return {k: _untied(v) for k, v in x.items()} if type(x) is dict else x


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of the first parameters."""
    code = code_of(function)
    names = () if code is None else code.co_varnames[: code.co_argcount][isinstance(function, types.MethodType) :]
    return [names[k] if k < len(names) else f"number {k}" for k in range(count)]


def walk(now: Tracing, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the function returns on these arguments."""
    m = Evaluator(now)
    m.frames.append(Frame("<call>", None))
    try:
        given = [m.argument(a, name) for a, name in zip(args, _names(function, len(args)), strict=True)]
        made = m.call(function, given, {k: m.argument(v, k) for k, v in kwargs.items()})
        now.notes += m.report
        return m.result(made)
    except Raised as raised:
        error = raised.error
        if not m.freezing and any(op.effect is not Effect.PURE for op in now.builder.body):  # which may raise first
            m.require_not(Array(now, m.value(True)), raised)
            return None
        if raised.where is not None:
            error.add_note(f"  at {raised.where.file}:{raised.where.line}, found while tracing {now.name!r}")
        raise error from None
    except RecursionError:
        m.refuse("calls or expressions nest too deeply", "write them as a loop")
    finally:
        now.locate = None


__all__ = [
    "Evaluator", "expressions", "filling", "iterables", "library", "loops", "mathematics", "messages",
    "open_slices", "python", "selected_forms", "walk",
]
