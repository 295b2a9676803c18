"""An error that leaves a compiled function goes in; what comes out has a traceback of the user's frames only.

PULLBACK_TRACEBACK=full keeps all frames. So does an error that nobody has raised on purpose: a bug is found by them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from ...compiler.backend.machine import CompilerError
from ...compiler.frontend import tracing
from ...compiler.settings import settings

F = TypeVar("F", bound=Callable[..., Any])

ACCIDENTS = (AssertionError, AttributeError, KeyError, NameError, RecursionError, CompilerError)
"""What code of ours raises by mistake only, unless it says by a note where the user's program has failed."""


def shortened(error: Exception) -> Exception:
    """The same error, with what led to it, without frames of ours."""
    accident = isinstance(error, ACCIDENTS) and tracing.is_own(error) and not getattr(error, "__notes__", None)
    if not accident and not _wants_all():
        for each in _chain(error):
            each.__traceback__ = _without_ours(each.__traceback__)
    return error


def boundary(function: F) -> F:
    """A function that users call, whose errors are shortened, but within a trace, which has a boundary of its own."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if tracing.current() is not None:
                raise
            found = error
        try:
            raise shortened(found)
        finally:
            del found  # it knows this frame

    return called  # type: ignore[return-value]


def _wants_all() -> bool:
    try:
        return settings.traceback
    except ValueError:  # it may be this that is wrong with the settings
        return False


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that Python would print before it."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    kept = []
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not tracing.is_library(file) or tracing.is_numpy(file):
            kept.append(traceback)
        traceback = traceback.tb_next
    made = None
    for each in reversed(kept):
        made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


__all__ = ["boundary", "shortened"]
