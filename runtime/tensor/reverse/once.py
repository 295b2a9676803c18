"""Backward that cannot itself be differentiated, of functions that users write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..value.core import Core, requires, wrap
from .modes import mode
from .nodes import Edge, Flow, Node

TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class DelayedError(Node):
    """Stands where no derivative is: backward through it is an error."""

    __slots__ = ("text",)
    text: str

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        raise RuntimeError(self.text)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a `backward` that cannot itself be differentiated: to try is an error."""

    @wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        before, mode.enabled = mode.enabled, False
        try:
            made = fn(ctx, *args)
        finally:
            mode.enabled = before
        asked = [a for a in args if isinstance(a, Core) and requires(a)]
        if not before or not asked:
            return made
        edges: list[Edge | None] = [a._edge() for a in asked]

        def marked(x: Any) -> Any:
            if not isinstance(x, Core):
                return x
            node = DelayedError(edges, None)
            node.text = TWICE
            return wrap(x._read(), node)

        return tuple(map(marked, made)) if isinstance(made, tuple) else marked(made)

    return wrapper


__all__ = ["once_differentiable"]
