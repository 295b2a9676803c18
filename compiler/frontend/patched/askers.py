"""Who asks a traced value for its numbers: a function of SciPy or another library, and what to do in its place.

SciPy's functions are compiled code that sees arrays only. The answer depends on what they are for: what NumPy has, too,
is known; solvers are `implicit`; anything else can be `external`.
"""

from __future__ import annotations

import itertools
import linecache
import sys
from inspect import isroutine
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from ..sizes import HOOKS
from ..tracing import PLAIN, UNMASKED, is_foreign, is_library, is_numpy

EXTERNAL = "call it through pullback.external(function, result, vjp=...), or with differences=True in place of vjp"
IMPLICIT = "solve under @pullback.implicit(residual), with the solver in pullback.external(function, result)"
OTHERWISE = "compute it from functions that are, outside of the function, or through pullback.external(f, result)"
BY_ELEMENT = "write it for whole arrays, or use pullback.vmap"
_SOLVERS = ("scipy.optimize", "scipy.sparse.linalg")
_LIKE_NUMPY = {"scipy.linalg": np.linalg, "scipy.fft": np.fft, "scipy.fftpack": np.fft}
_BY_ELEMENT = ("np.vectorize", "np.apply_along_axis", "np.apply_over_axes", "np.frompyfunc")


def asker() -> str | None:
    """The function that the user's line has called and that asks; None for compiled ones without a name there."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code):
        frame = frame.f_back
    outermost = None
    while frame is not None and is_foreign(frame.f_code.co_filename) and not _is_ours(frame.f_code):
        outermost, frame = frame, frame.f_back
    if outermost is not None:
        return _called(outermost)
    return None if frame is None else compiled(frame)


CALLERS = ("builtins", "functools", "itertools", "numpy", "operator")
"""Modules whose compiled functions call what they are handed, and no more."""


def compiled(frame: FrameType) -> str | None:
    """The function of a library's compiled code that a frame is calling, as users write it.

    It has no frame of its own, so its calls of NumPy look like the user's; it wants true arrays, and may crash on ours.
    """
    found = _callee(frame)
    module = getattr(found, "__module__", None) or type(getattr(found, "__self__", None)).__module__
    if found is None or isinstance(found, FunctionType) or module.partition(".")[0] in CALLERS:
        return None
    name = getattr(found, "__qualname__", None)
    return spelled(module, name) if isinstance(name, str) else None


def _callee(frame: FrameType) -> Any:
    """What a frame is calling, as far as it is written as a name with attributes."""
    code: Any = frame.f_code
    if not hasattr(code, "co_positions"):
        return None
    line, last, start, stop = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    if line is None or start is None or line != last:
        return None
    name, *path = linecache.getline(code.co_filename, line).encode()[start:stop].decode().partition("(")[0].split(".")
    found = frame.f_locals.get(name, frame.f_globals.get(name))
    for each in path:
        found = getattr(found, each.strip(), None)
    return found


def _is_ours(code: CodeType) -> bool:
    return is_library(code.co_filename) and not is_numpy(code.co_filename)


def _called(frame: FrameType) -> str:
    """A function as users call it: what a decorator wraps, and the class of the object that has a method."""
    code, space = frame.f_code, frame.f_locals
    module, name = frame.f_globals.get("__name__", ""), code.co_qualname
    wrapped: Any = space.get("method") or next((space[n] for n in code.co_freevars if _is_function(space.get(n))), None)
    if _is_function(wrapped) and ("<locals>" in name or code.co_name == "__ua_function__"):
        module, name = wrapped.__module__, wrapped.__name__
    elif "." in name and "self" in space:
        made = code.co_name in ("__call__", "__init__", "__new__")
        name = type(space["self"]).__name__ + ("" if made else f".{code.co_name}")
    return spelled(module, name.rpartition(".<locals>.")[2])


def spelled(module: str, name: str) -> str:
    """A function as users write it, of the module that it is defined in."""
    parts = module.split(".")
    public = parts[: next((k for k, part in enumerate(parts) if part.startswith("_")), len(parts))]
    if public[:1] == ["numpy"]:
        has_own_names = len(public) > 2 or public[1:2] in (["linalg"], ["fft"], ["random"])
        public = ["np", *public[1:]] if has_own_names else ["np"]
    return ".".join([*public, name])


def _is_function(x: object) -> bool:
    """Compiled ones, too: what Cython makes."""
    return isinstance(x, FunctionType) or (isroutine(x) and hasattr(x, "__module__"))


def instead(called: str | None) -> str:
    """The way out."""
    if called is None:
        return f"use NumPy's functions on it; whatever else is called at this line, {EXTERNAL}"
    module, _, name = called.rpartition(".")
    if called in _BY_ELEMENT:
        return BY_ELEMENT
    if called.startswith(("np.ma.", "np.matrixlib.")):
        return UNMASKED if called.startswith("np.ma.") else PLAIN
    if not module.startswith("np"):
        like = next((ours for theirs, ours in _LIKE_NUMPY.items() if module.startswith(theirs)), None)
        for space in (np,) if like is None else (like, np):
            if name in dir(space) and HOOKS["knows"](getattr(space, name)):
                return f"use {space.__name__.replace('numpy', 'np', 1)}.{name}"
    return IMPLICIT if module.startswith(_SOLVERS) else EXTERNAL


__all__ = ["BY_ELEMENT", "EXTERNAL", "IMPLICIT", "OTHERWISE", "asker", "instead", "spelled"]
