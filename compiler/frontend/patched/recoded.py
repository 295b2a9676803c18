"""Functions of SciPy's, written in Python, that mean something else for traced values wherever they are named.

`from scipy.special import logsumexp` keeps the function itself, so putting another one in its module would not be seen.
While functions are traced its code is exchanged: it asks a meaning first if a traced value is among its arguments, or
in what they close over, and else runs what it was, in every thread. SciPy is never imported: a module's functions are
known once it is there.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from ...later import load
from ...locks import lock
from ..array import call, find
from ..state.kept import holds_traced
from ..tracing import current
from .patches import NOT_MINE

Meanings = dict[str, Callable[..., Any]]
"""A function's path in its module, "logsumexp" or "rv_continuous.pdf" -> what it means for traced arguments."""

_MEANINGS: dict[str, Meanings] = {}
_MAKING: set[Callable[..., Any]] = set()
_lock = lock()
_running = 0
_before: dict[FunctionType, CodeType] = {}
_found: dict[str, list[tuple[FunctionType, CodeType]]] = {}
_asked: set[str] = set()
_late: dict[str, tuple[str, ...]] = {}


def recode(module: str, meanings: Meanings) -> None:
    """Register meanings for functions of a module."""
    _MEANINGS.setdefault(module, {}).update(meanings)
    _found.pop(module, None)
    _asked.discard(module)


def making(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """Let a meaning be asked for known arguments, too, with the function itself first: traced ones may meet the result.

    That is an object of compiled code otherwise, which takes none.
    """
    _MAKING.add(meaning)
    return meaning


def recode_later(module: str, *registering: str) -> None:
    """Let modules of this package, which register meanings for functions of a module, be loaded once that is there."""
    _late[module] = (*_late.get(module, ()), *registering)


@contextmanager
def recoded() -> Iterator[None]:
    """Exchange the functions' codes until every trace that has asked for it has ended."""
    global _running
    _load()
    with _lock:
        _running += 1
        for name in _MEANINGS:
            if name not in _asked and _is_there(name):
                _asked.add(name)
                _exchange(_functions(name))
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running:
                for function, code in _before.items():
                    function.__code__ = code
                _before.clear()
                _asked.clear()


def _load() -> None:
    """Load what registers meanings for modules that are imported; other threads wait until it has."""
    for name in [*_late]:
        if _is_there(name):
            for each in _late.get(name, ()):
                load(each)
            _late.pop(name, None)


def _is_there(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def _functions(name: str) -> list[tuple[FunctionType, CodeType]]:
    """The functions of a module that is imported, each with the code that asks; which is made once."""
    if name not in _found:
        pairs = [(_member(sys.modules[name], path), meaning) for path, meaning in _MEANINGS[name].items()]
        _found[name] = [(f, _asking(f, meaning)) for f, meaning in pairs if isinstance(f, FunctionType)]
    return _found[name]


def _exchange(functions: list[tuple[FunctionType, CodeType]]) -> None:
    for function, asking in functions:
        if function not in _before:
            _before[function] = function.__code__
            function.__code__ = asking


def _member(module: Any, path: str) -> Any:
    found = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _asking(function: FunctionType, meaning: Callable[..., Any]) -> CodeType:
    """Code for the function that asks the meaning first."""
    itself = original(function)
    before, makes = itself.__code__, meaning in _MAKING

    def dispatch(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if makes and current() is not None:
            return meaning(itself, *args, **kwargs)
        if not concrete([*args, *kwargs.values()]):
            made = call(function, meaning, args, kwargs)
            if made is not NOT_MINE:
                return made
        return itself(*args, **kwargs)

    code = _with_cells(_template.__code__, before.co_freevars)
    constants = tuple([dispatch if c == _template.__name__ else c for c in code.co_consts])
    return code.replace(
        co_consts=constants, co_name=before.co_name, co_qualname=before.co_qualname, co_filename=before.co_filename,
        co_firstlineno=before.co_firstlineno,
    )  # fmt: skip


def original(function: FunctionType) -> FunctionType:
    """The function with the code that it has when nothing is traced."""
    made = FunctionType(
        _before.get(function, function.__code__), function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def exchanged(function: FunctionType) -> bool:
    """Whether a function has a meaning of its own in the traces that are under way."""
    return function in _before


def _template(*args: Any, **kwargs: Any) -> Any:
    dispatch: Any = "_template"
    return dispatch(args, kwargs)


def _with_cells(code: CodeType, names: tuple[str, ...]) -> CodeType:
    """Code for a function that closes over these names: who reads the names of its frame finds their cells in it."""
    if not names:
        return code
    copies = bytes([dis.opmap["COPY_FREE_VARS"], len(names)])
    nowhere = bytes([0x80 | 15 << 3])  # the location table's entry for one instruction that no line has
    return code.replace(
        co_code=copies + code.co_code, co_linetable=nowhere + code.co_linetable, co_freevars=names
    )


def concrete(x: Any) -> bool:
    """Whether no traced value is in x, or in what a function or an object of SciPy's among nested lists keeps."""
    if find(x) is not None:
        return False
    if isinstance(x, (list, tuple)):
        return all(map(concrete, x))
    keeps = callable(x) or type(x).__module__.startswith("scipy.")
    return not keeps or current() is None or not holds_traced(x)


__all__ = ["concrete", "exchanged", "making", "original", "recode", "recode_later", "recoded"]
