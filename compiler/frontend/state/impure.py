"""Functions that give something else at each call: clocks, the system's random numbers, the keyboard, files.

Their result would become a constant of what is compiled. While a function is traced they are replaced, and refuse
calls that come from the user's code; what libraries do for themselves (a time stamp of a log record, a data file that
is read once) passes, and what modules do that are imported meanwhile. Methods of types of C cannot be replaced, nor
what was imported by name: code that is run, and not walked, is searched for these before.

What is printed or logged is said at each call: the graph has a check that always fails, and Python runs the function.
"""

from __future__ import annotations

import builtins
import datetime
import io
import logging
import os
import random
import sys
import time
import types
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.graph import Where
from ...ir.types import Type
from ...ops.require import Warned, require
from ...ops.source import number
from ..errors import TraceError, message
from ..patched.patches import NOT_MINE, Meaning, Patches
from ..tracing import current, enclosing, is_foreign, silent, user_line
from .hidden import global_of, loaded
from .mentions import mention

CLOCK, ENTROPY = "reads the clock", "reads the system's random numbers"
KEYBOARD, FILE, SEED = "reads the keyboard", "reads a file", "seeds the random numbers that everybody shares"
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime")
_FRONTEND = os.path.dirname(os.path.dirname(__file__))
_PLUMBING = (random.__file__, uuid.__file__, os.path.join(os.path.dirname(random.__file__), "secrets.py"))
_IMPORTS = "<frozen importlib"
_PATCHES = sys.modules[Patches.__module__].__file__
_CAPTURE = tuple([os.path.join(_FRONTEND, "capture", name) for name in ("library.py", "parts.py")])

replaced = Patches()
IMPURE: dict[Any, str] = {}
"""Functions, as they are, and what they ask for."""


def refusal(what: str, where: Where | None = None) -> TraceError:
    """The error for a function that asks for something that is different at each call."""
    name = enclosing()[-1].name
    fix = "ask for it outside of the function and pass what it gives as an argument"
    verdict = f"{name!r} {what}: a compiled function would take what it gave once at every call"
    made = TraceError(message(verdict, where or user_line(), fix))
    for each in enclosing():
        each.broken = made
    return made


def _called_by(frame: Any, deep: bool) -> bool:
    """Whether the user's code has called, itself or through libraries; what we call for ourselves does not count.

    Nor does what a module does when it is imported, which happens once without us as well.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file == _PATCHES:
            frame = frame.f_back
            continue
        if file in _CAPTURE:
            return True
        if file.startswith(_IMPORTS):
            return False
        if not is_foreign(file):
            return not _is_imported(frame)
        if file not in _PLUMBING and (is_ours(file) or not deep):
            return False
        frame = frame.f_back
    return False


def _is_imported(frame: Any) -> bool:
    """Whether a module is being imported that some code under us asked for."""
    while frame is not None and not is_ours(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False


_COMPILER = os.path.dirname(_FRONTEND)
_OURS = (_COMPILER + os.sep, os.path.join(os.path.dirname(_COMPILER), "runtime") + os.sep)


def is_ours(file: str) -> bool:
    """Whether a source file is pullback's."""
    return file.startswith(_OURS)


def _refusing(what: str, deep: bool, concerns: Callable[..., bool] = lambda *args, **kwargs: True) -> Meaning:
    def meaning(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if current() is None or not concerns(*args, **kwargs) or not _called_by(sys._getframe(2), deep):
            return NOT_MINE
        raise refusal(what)

    return meaning


def tell(text: str) -> None:
    """Let every call go to Python, which prints or logs what the function says, as it does for warnings."""
    if silent():
        return
    now = current()
    assert now is not None
    if now.locate is not None and any(each.athand is not None for each in enclosing()):
        raise Warned(text)
    now.emit(require, number(now.builder, False, Type("bool")), error="Warned", text=text)


def _telling(text: str) -> Meaning:
    def meaning(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if current() is None or not _called_by(sys._getframe(2), True):
            return NOT_MINE
        return tell(text)

    return meaning


def _is_data(file: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether a file is none that is installed with a library."""
    return not isinstance(file, (str, os.PathLike)) or not is_foreign(os.path.abspath(os.fspath(file)))


def _is_unseeded(generator: Any, a: Any = None, *args: Any, **kwargs: Any) -> bool:
    return a is None


for _name in (*_CLOCKS, *(f"{name}_ns" for name in _CLOCKS), "localtime", "gmtime", "ctime", "asctime", "strftime"):
    if hasattr(time, _name):
        IMPURE[getattr(time, _name)] = CLOCK
        replaced.register(time, _name, _refusing(CLOCK, False))
for _module, _name, _deep in (
    (os, "urandom", True), (os, "getrandom", True), (random, "_urandom", True), (uuid, "uuid1", False),
):
    if hasattr(_module, _name):
        IMPURE[getattr(_module, _name)] = ENTROPY
        replaced.register(_module, _name, _refusing(ENTROPY, _deep))
class _Unsown(np.random.MT19937):
    """The generator that a RandomState makes before it looks at its seed, by the system's random numbers: of none here.

    Who takes it without a seed is refused.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self._sown = False

    def _legacy_seeding(self, seed: Any) -> None:
        super()._legacy_seeding(seed)  # type: ignore[misc]
        self._sown = True

    @property
    def capsule(self) -> Any:
        if not self._sown:
            raise refusal(ENTROPY)
        return super().capsule

    def __reduce__(self) -> Any:
        plain = np.random.MT19937(0)
        plain.state = self.state
        return plain.__reduce__()


_Unsown.__name__ = np.random.MT19937.__name__  # a state names its generator's class


def _sowing(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    unsown = current() is not None and not args and not kwargs and _called_by(sys._getframe(2), True)
    return _Unsown() if unsown else NOT_MINE


replaced.register(np.random.mtrand, "_MT19937", _sowing)
for _module in (np.random, random):
    IMPURE[_module.seed] = SEED
    replaced.register(_module, "seed", _refusing(SEED, False))
replaced.register(random.Random, "seed", _refusing(ENTROPY, True, _is_unseeded))
replaced.register(builtins, "input", _refusing(KEYBOARD, True))
for _module in (builtins, io, os):
    replaced.register(_module, "open", _refusing(FILE, True, _is_data))
_names_data = lambda self, path, *args, **kwargs: _is_data(path)  # noqa: E731
replaced.register(np.lib.npyio.DataSource, "open", _refusing(FILE, True, _names_data))
replaced.register(builtins, "print", _telling("what the function prints"))
replaced.register(logging.Logger, "handle", _telling("what the function logs"))
_NOW = (datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today)
_METHODS = dict.fromkeys(_NOW, CLOCK)
IMPURE |= {**_METHODS, input: KEYBOARD, open: FILE}


def asked(function: Any) -> str | None:
    """What a function asks for that is different at each call."""
    try:
        return IMPURE.get(function)
    except TypeError:  # not hashable
        return None


def refuse_named(reads: Sequence[types.FunctionType]) -> None:
    """Refuse code that names what cannot be replaced: methods of C, and what was imported by name."""
    for function in reads:
        code = loaded(function.__code__)
        rows = [(global_of(function, c[0]), c) for c in code.chains]
        for found, chain in [*rows, *((sys.modules.get(c[0]), c) for c in code.imported)]:
            what = asked(found) if isinstance(found, types.BuiltinFunctionType) else None
            for name in chain[1:]:
                space = isinstance(found, (types.ModuleType, type))
                found = getattr(found, name, None) if space else None
                what = what or (_METHODS.get(found) if isinstance(found, types.BuiltinFunctionType) else None)
            if what is not None:
                raise refusal(what, mention([function], chain[-1:]))


__all__ = ["asked", "refusal", "refuse_named", "replaced", "tell"]
