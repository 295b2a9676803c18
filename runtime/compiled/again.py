"""What only Python can do for a compiled call: say numbers in the message of an exception, and warn.

Native code finds that it comes to that, and nothing has happened; then the function runs once more in Python. What it
raises is raised. If it has warned, the result comes from a form of the function that does not look for warnings.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from ...compiler.backend import process
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.results import from_arrays
from ...compiler.frontend.state.hidden import Hidden
from ...compiler.frontend.trace import Trace
from ...compiler.ops.require import Warned, is_untold
from . import out
from .compiled import Compiled, Content
from .kernels import Reference
from .tracebacks import shortened
from .variants import rerolled, unguarded


def _called(function: Callable[[], Any]) -> Any:
    return function()


def plain_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function to be run in Python; None for one of ours, which stands for a trace."""
    code = getattr(function, "__code__", None)
    return None if code is not None and tracing.is_library(code.co_filename) else function


class Again:
    """What a compiled function does where native code could not say it: `plain` is run in Python."""

    __name__: str
    plain: Callable[..., Any] | None
    plan: Any
    _has_out: bool
    _lock: Any
    _call: Callable[..., Any]
    _trace: Callable[..., Trace]
    _build: Callable[..., Any]
    _by_position: Callable[..., Any]
    _scan: Callable[..., Hidden]
    _silent: dict[Any, Compiled]
    flatten: Callable[..., Any]

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call(args, kwargs)
        except Exception as error:
            if tracing.current() is not None:
                raise
            found = error
        if not is_untold(found):
            try:
                raise shortened(found)
            finally:
                del found  # it knows this frame
        into = None if self._has_out else kwargs.pop(out.NAME, None)
        if not isinstance(found, Warned):
            raise shortened(self._told(found, args, kwargs)) from None
        self._warn(found, args, kwargs)
        return self._silently(args, kwargs, into)

    def _told(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        """What Python raises; the error as it is if that is another one."""
        if self.plain is not None:
            try:
                self._plainly(args, kwargs)()
            except Exception as told:
                if type(told).__qualname__ == type(error).__qualname__ and not is_untold(told):
                    return told
        return error

    def _warn(self, warned: Warned, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let Python warn, as if the user's line had called the function."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and tracing.is_library(frame.f_code.co_filename):
            frame = frame.f_back
        if self.plain is None or frame is None:
            warnings.warn(str(warned), stacklevel=5)
            return
        code = _called.__code__.replace(co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno - 1)
        FunctionType(code, frame.f_globals)(self._plainly(args, kwargs))

    def _plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        """The call in Python, with arrays in place of objects that stand for some, such as Tensors."""
        assert self.plain is not None
        signature, leaves = self.flatten(args, kwargs)
        if any(node[0] == "leaf" for _, node in tree.nodes(signature)):
            *args_, kwargs = tree.rebuild(signature, iter(leaves))
            args = tuple(args_)
        return functools.partial(self.plain, *args, **kwargs)

    def _silently(self, args: tuple[Any, ...], kwargs: dict[str, Any], into: Any) -> Any:
        """The result, without its warnings."""
        if kwargs:
            args, kwargs = self._by_position(args, kwargs)
        signature, leaves = self.flatten(args, kwargs)
        found = self.silent(signature, leaves)
        made = found.kernel.run(found.arrays(leaves))
        if into is None:
            return from_arrays(found.result, made)
        return out.Places(self.__name__, found.result, into).filled(made)

    def silent(self, signature: tree.Signature, leaves: list[Any]) -> Compiled:
        """A form that does not look for warnings."""
        with self._lock, process.uncollected(), tracing.silenced():
            found = self._silent.get(signature)
            if found is None or found.traced.frozen or not found.current():
                found = self._silent[signature] = self._form(signature, leaves)
            return found

    def _form(self, signature: tree.Signature, leaves: list[Any]) -> Compiled:
        """A form that does not look for warnings; one that holds for this call only is not compiled."""
        hidden = self._scan(signature)
        key, arrays = hidden.read()
        traced = self._trace(signature, hidden, values=leaves)
        if traced.frozen:
            graph, result = self.plan.derive(traced, self)
            kernel: Any = Reference(unguarded(graph))
        else:
            traced = rerolled(traced)
            graph, result, kernel = self._build(traced, None)
        return Compiled(traced, graph, result, kernel, hidden, key, [Content(each) for each in arrays])


__all__ = ["Again", "plain_of"]
