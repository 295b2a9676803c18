"""The source texts of functions that are pickled by value: another process may not have their files.

Branches and loops are read in a function's source. That of a notebook's cell is known in its own process only, and that
of a script on its own computer; so the text goes along with the functions, and is remembered where they arrive.
"""

from __future__ import annotations

import functools
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..compiler.frontend.hidden import foreign

LIMIT = 2048
"""How many objects are looked at for the functions that a function names."""


class Sources:
    """The texts of what stands in the files of these functions and of those that they name, as far as no module has
    them under a name. They are looked for when this is pickled; what comes back is None."""

    __slots__ = ("functions",)

    def __init__(self, functions: Any) -> None:
        self.functions = functions

    def __reduce__(self) -> Any:
        return remember, (texts_of(self.functions),)


def remember(texts: dict[str, str]) -> None:
    """Let the texts be found, where their files cannot be read or are others."""
    for file, text in texts.items():
        if "".join(linecache.getlines(file)) != text:
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


def texts_of(functions: Any) -> dict[str, str]:
    """The texts of the files in which functions stand, and those that they name."""
    texts: dict[str, str] = {}
    pending, seen = [functions], {}
    while pending and len(seen) < LIMIT:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if isinstance(x, types.FunctionType):
            file = x.__code__.co_filename
            if not foreign(file) and not _importable(x):
                lines = linecache.getlines(file, x.__globals__) if file not in texts else ()
                texts.update({file: "".join(lines)} if lines else {})
                pending += _named(x)
            pending += _cells(x)
        else:
            pending += _within(x)
    return texts


def _importable(function: types.FunctionType) -> bool:
    """Whether another process finds a function by its name, and so its file."""
    found: Any = sys.modules.get(function.__module__) if function.__module__ != "__main__" else None
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _named(function: types.FunctionType) -> Iterator[Any]:
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        yield from (function.__globals__[name] for name in code.co_names if name in function.__globals__)


def _cells(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _within(x: Any) -> Iterator[Any]:
    """What may be called by way of an object."""
    if isinstance(x, types.MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, functools.partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, (list, tuple, dict)):
        yield from x.values() if isinstance(x, dict) else x
    elif hasattr(x, "__wrapped__"):
        yield from (x.__wrapped__, *getattr(x, "__reads__", ()))
    elif not isinstance(x, types.ModuleType):
        for each in tuple(vars(x if isinstance(x, type) else type(x)).values()):
            each = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
            if isinstance(each, types.FunctionType) or hasattr(each, "__wrapped__"):
                yield each


__all__ = ["Sources", "remember", "texts_of"]
