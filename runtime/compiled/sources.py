"""The source texts of functions that are pickled by value: another process may not have their files.

Branches and loops are read in a function's source. That of a notebook's cell is known in its own process only, and that
of a script on its own computer; so the text goes along with the functions, and is remembered where they arrive.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...compiler.frontend.tracing import is_foreign

LIMIT = 2048
"""How many objects are looked at for the functions that a function names."""


class Sources:
    """The texts of what stands in the files of these functions and of those that they name, as far as no module has
    them under a name, or that is `module`. They are looked for when this is pickled, and come back as `Found`."""

    __slots__ = ("functions", "module")

    def __init__(self, functions: Any) -> None:
        self.functions, self.module = functions, "__main__"

    def __reduce__(self) -> Any:
        return Found, (_texts_of(self.functions, self.module),)


class Found(NamedTuple):
    """What came with functions: texts by file, and for each of them."""

    texts: dict[str, tuple[str, frozenset[str]]]

    def give_to(self, functions: Any) -> None:
        """Let the functions be found in their files, which cloudpickle does not tell, and these where they are not."""
        files = {mark: file for file, (_, marks) in self.texts.items() for mark in marks}
        for file, (text, _) in self.texts.items():
            if "".join(linecache.getlines(file)) != text:
                linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        for each in _functions_of(functions, None):
            file = files.get(_mark(each.__code__))
            if file is not None and not linecache.getlines(each.__code__.co_filename):
                each.__code__ = _within_file(each.__code__, file)


def _mark(code: types.CodeType) -> str:
    """What tells a code object from those of other files: all of it but the file."""
    consts = [_mark(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    told = (code.co_qualname, code.co_firstlineno, code.co_code, code.co_linetable, code.co_names, consts)
    return hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest()


def _within_file(code: types.CodeType, file: str) -> types.CodeType:
    """A code object, and those inside it, with the name of their file."""
    inside = tuple([_within_file(c, file) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    return code.replace(co_filename=file, co_consts=inside)


def _texts_of(functions: Any, module: str) -> dict[str, tuple[str, frozenset[str]]]:
    texts, marks = {}, {}
    for each in _functions_of(functions, module):
        file = each.__code__.co_filename
        lines = linecache.getlines(file, each.__globals__) if file not in texts else ()
        texts.update({file: sys.intern("".join(lines))} if lines else {})  # one pickle has it once
        marks.setdefault(file, set()).add(_mark(each.__code__))
    return {file: (text, frozenset(marks[file])) for file, text in texts.items()}


def _functions_of(functions: Any, module: str | None) -> Iterator[types.FunctionType]:
    """Functions of the user, and those that they name; with a module, only what no other module has under a name."""
    pending, seen = [functions], {}
    while pending and len(seen) < LIMIT:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if isinstance(x, types.FunctionType):
            if not is_foreign(x.__code__.co_filename) and (module is None or not _importable(x, module)):
                yield x
                pending += _named(x)
            pending += _cells(x)
        else:
            pending += _within(x)


def _importable(function: types.FunctionType, module: str) -> bool:
    """Whether another process finds a function by its name, and so its file."""
    found: Any = sys.modules.get(function.__module__) if function.__module__ not in ("__main__", module) else None
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
    elif hasattr(x, "_made_of"):
        return  # it brings its own
    elif not isinstance(x, types.ModuleType):
        for each in tuple(vars(x if isinstance(x, type) else type(x)).values()):
            each = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
            if isinstance(each, types.FunctionType) :
                yield each


__all__ = ["Sources"]
