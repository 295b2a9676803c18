"""A compiled function in, the page about it out: which form it shows, with which numbers, and in which file."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from ..compiled.report import memory_of
from .costs import profile
from .explorer import Call, write


def explored(function: Any, path: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Path:
    """Write the page; what `fn.explore` does."""
    to = _path(function.__name__, path)
    asked = "explore(path, ...)"
    if not args and not kwargs and function._latest is None and hasattr(function.__wrapped__, "examples"):
        args = tuple(function.__wrapped__.examples())
    form = function._shown(asked, args, kwargs)
    call = None
    if args or kwargs:
        traced, derived, inputs, _ = function._followed(args, kwargs)
        costs = profile(function.__name__, traced.graph, derived, inputs, lambda: function(*args, **kwargs))
        call = Call(traced.graph, derived, inputs, costs)
    names = function.argument_names
    return write(to, function.__name__, form, lambda: memory_of(function.__name__, names, [form]).forms[0], call)


def _path(name: str, path: Any) -> Path:
    """Where the page goes."""
    if path is None:
        plain = re.sub(r"\W+", "_", name).strip("_") or "function"
        return Path(tempfile.mkdtemp(prefix="pullback-")) / f"{plain}.html"
    if not isinstance(path, (str, os.PathLike)):
        what = f"explore: path is of class {type(path).__name__}, expected the name of a file, or None"
        raise TypeError(f"{what}: pass arguments of the call behind it, as in explore('page.html', x)")
    made = Path(path).expanduser()
    if made.is_dir():
        raise ValueError(f"explore: path is the folder {str(made)!r}, expected the name of a file in it")
    return made


__all__ = ["explored"]
