"""The line of the user's where a function names a thing: for refusals that are found after it has run."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Sequence

from ...ir.graph import Where

_CHANGES = frozenset((
    "append", "appendleft", "extend", "extendleft", "insert", "remove", "pop", "popleft", "popitem", "clear", "sort",
    "reverse", "rotate", "update", "setdefault", "add", "discard", "subtract", "difference_update", "move_to_end",
    "intersection_update", "symmetric_difference_update", "fill", "put", "resize", "set", "write", "copyto", "at",
    "setattr", "delattr", "__setitem__", "__setattr__", "__delitem__", "__iadd__", "itemset", "seed",
))  # fmt: skip
"""Names of methods that change their object."""

_STORES = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR", "STORE_SLICE", "DELETE_ATTR", "DELETE_GLOBAL",
           "DELETE_SUBSCR", "DELETE_DEREF")


def mention(functions: Sequence[types.FunctionType], names: Sequence[str]) -> Where | None:
    """The first line that stores to one of the names, or names it and something that changes; or that names it."""
    best: tuple[int, Where] | None = None
    for function in functions:
        for code in codes(function.__code__):
            for line, found in _lines(code).items():
                named = any(i.argval in names for i in found)
                stores = any(i.opname in _STORES and (named or i.argval in names) for i in found)
                changes = named and any(i.argval in _CHANGES for i in found if isinstance(i.argval, str))
                rank = 2 if stores or changes else 1 if named else 0
                if rank > (best[0] if best else 0):
                    best = rank, Where(code.co_filename, line)
    return best[1] if best else None


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions that are defined in it."""
    pending = [code]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(c for c in each.co_consts if isinstance(c, types.CodeType))


def _lines(code: types.CodeType) -> dict[int, list[dis.Instruction]]:
    found: dict[int, list[dis.Instruction]] = {}
    line = code.co_firstlineno
    for each in dis.get_instructions(code):
        line = each.positions.lineno if each.positions and each.positions.lineno else line
        found.setdefault(line, []).append(each)
    return found


__all__ = ["codes", "mention"]
