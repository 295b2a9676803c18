"""A function that is transformed anew at each call goes in; out comes one warning with its line and the way out.

`grad(lambda x: ...)(x)` in a loop traces and compiles each time, some milliseconds: what is compiled belongs to the
function that `grad` returned, and that is thrown away.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .signatures import place_of

TIMES = 16
"""So many functions of the same code, for the same arguments, are no accident."""

KEPT = 256
"""How many pieces of code are counted; the one that was met least recently is forgotten first."""

_counts: OrderedDict[Any, int] = OrderedDict()


def note(function: Callable[..., Any], plan: str, signature: Any) -> None:
    """Count a compilation for a signature that a transformed function has not met before."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    try:
        key = (code, plan, signature, _called(function))
        count = _counts.pop(key, 0) + 1
    except TypeError:  # something static in it has no hash
        return
    _counts[key] = count
    if len(_counts) > KEPT:
        _counts.popitem(last=False)
    where = place_of(function)
    if count == TIMES and where is not None:
        text = (
            f"{plan} was applied to {function.__name__} {TIMES} times and compiled it each time: apply it once, outside"
            " of the loop or function that does so, and hand on what changes as an argument"
        )
        warnings.warn_explicit(text, UserWarning, where.file, where.line)


def _called(function: Any) -> tuple[int, ...]:
    """The functions that a closure holds: with other ones it is another function."""
    cells = function.__closure__ or ()
    held = [cell.cell_contents for cell in cells if cell != _EMPTY]
    return tuple([id(each) for each in held if callable(each)])


def _empty() -> Any:
    if False:
        value = 0
    return (lambda: value).__closure__[0]  # type: ignore[index]


_EMPTY = _empty()
