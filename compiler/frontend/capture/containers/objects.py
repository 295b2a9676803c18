"""Objects of libraries that a walk holds as they are, a generator or a deque: what calls change in them.

In comes a call of a function of a library, and what it changes is noted, so that a walk that is given up takes it back.
The body of a region is walked once, and runs many times or perhaps never: what lies outside of it may not change there.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...array import Array
from ...state.frozen import is_generator
from ...state.kept import content, differences, put_back
from ...state.outside import is_memo
from ..machine import Machine
from ..values import Ref

_PLAIN = (
    str, bytes, bool, int, float, complex, type(None), np.dtype, np.generic, np.ndarray, Array, Ref,
    list, dict, tuple, type, types.ModuleType,
)
"""What is modelled, or cannot change."""


@contextmanager
def watching(m: Machine, function: Any, given: list[Any]) -> Iterator[None]:
    """While a function of a library runs: what it changes of its object and of its arguments is noted, or refused."""
    held = [x for x in (getattr(function, "__self__", None), *given) if _may_change(x)]
    before = [(x, found) for x in held if (found := content(x)) is not None]
    yield
    for x, old in before:
        if any(not is_memo(x, name) for name, _ in differences(x, old)):
            m.changed.append((x, old))
            if m.made.get(id(x), (None, m.root))[1] is not m.now:
                _refuse(m, x)


def _may_change(x: Any) -> bool:
    return not isinstance(x, _PLAIN) and not callable(x)


def _refuse(m: Machine, x: Any) -> None:
    if is_generator(x):
        verdict = "random numbers are drawn in a loop or branch that is walked once for all its passes"
        m.refuse(verdict, "draw them all before the loop: rng.normal(size=(steps, n))")
    m.refuse(f"a {type(x).__name__} changes in a loop or branch that is walked once", "use lists, dicts and arrays")


def note_made(m: Machine, function: Any, x: Any) -> None:
    """Remember where a call has made an object."""
    if isinstance(function, type) or _may_change(x):
        m.made.setdefault(id(x), (x, m.now))


def take_back(m: Machine, first: int) -> None:
    """Let everything hold what it held when there were `first` changes."""
    for x, old in reversed(m.changed[first:]):
        for name, _ in list(differences(x, old)):
            put_back(x, old, name)
    del m.changed[first:]
