"""What a function calls its values: a graph in, out the names that its source assigns them to, by their expressions.

    def f(z):                          {exp(z[0]): "e_0", exp(z[1]): "e_1", exp(z[0]) + exp(z[1]): "s"}
        e = np.exp(z)
        s = np.sum(e)

The last operation of a line that assigns to a name has made what the name is for. Derivatives are made of these
expressions, so they are found there by what they are.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....compiler.ir.graph import Graph, Where
from .elements import NoExpression, SymbolicArray
from .writing import opened

_ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::[^=]+)?(?:[-+*/@]|\*\*|//)?=(?!=)")


def names_of(graph: Graph, symbols: Sequence[Any], extras: Sequence[Any]) -> dict[Any, str]:
    """The name of each expression that has one, as far as the graph can be read."""
    made: dict[Any, str] = {}
    reader, graph, given = opened(graph, symbols, extras)
    env = dict(zip(graph.params, given, strict=True))
    try:
        for op, following in zip(graph.body, [*graph.body[1:], None], strict=True):
            env.update(zip(op.results, reader.of(op, [env[a] for a in op.args]), strict=True))
            last = following is None or following.where != op.where
            name = _assigned(op.where) if last and len(op.results) == 1 else None
            if name is not None:
                _note(made, name, env[op.results[0]])
    except (NoExpression, RecursionError):  # the derivative was read; what has no name is numbered
        pass
    return made


def _note(made: dict[Any, str], name: str, x: Any) -> None:
    if not isinstance(x, SymbolicArray) or not x.explicit:
        return
    for index in np.ndindex(*x.shape):
        e = x[index]
        if getattr(e, "args", ()):
            made.setdefault(e, "_".join([name, *map(str, index)]))


def _assigned(where: Where | None) -> str | None:
    """The name that a line of the source assigns to."""
    if where is None:
        return None
    found = _ASSIGNED.match(linecache.getline(where.file, where.line))
    return found[1] if found else None


__all__ = ["names_of"]
