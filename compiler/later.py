"""A module's name goes in, and what comes out stands for the module, which is loaded when something of it is asked for.

    if TYPE_CHECKING:
        from ..lowering import program
    else:
        program = later(__package__, "..lowering.program")

A process that finds its machine code on disk reads no loops and writes no LLVM text. What does that, and what only
looks into compiled functions, is half of this package and takes half of the time that it takes to load.
"""

import gc
import os
import sys
from importlib import import_module
from importlib.util import resolve_name
from threading import RLock
from types import ModuleType
from typing import Any

# Two threads that load packages which import their own submodules can each hold what the other one waits for, and then
# Python gives one of them a module that is half made. So all that stands outside of the face is loaded under one lock.
loading = RLock()


def load(name: str) -> ModuleType:
    """The module of an absolute name; one thread at a time loads what is not loaded, and nothing is collected amid."""
    with loading:
        if name in sys.modules:
            return import_module(name)  # it may be another thread that loads it
        collects = gc.isenabled()
        gc.disable()
        try:
            return import_module(name)
        finally:
            if collects:
                gc.enable()
                _keep()


def _keep() -> None:
    """Count all objects as old: what an import makes stays, and to look through it takes as long as a compilation.

    To freeze and thaw moves lists of objects and reads none. Where the program has frozen some itself, they stay so.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


class _Later:
    """What stands for a module."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:
            self._module = load(self._name)
        return getattr(self._module, name)


def later(package: str | None, name: str) -> Any:
    """What stands for the module that `from package import name` would load."""
    return _Later(resolve_name(name, package))


if hasattr(os, "register_at_fork"):  # what is half loaded by a thread that a child has not stays so there
    os.register_at_fork(before=loading.acquire, after_in_parent=loading.release, after_in_child=loading.release)

__all__ = ["later", "load", "loading"]
