"""Exceptions and warnings of captured code, which may say traced values.

The graph only checks whether it comes to that. Where it does, the call runs the function once more in Python, which
raises or warns as it is written, with the numbers in the text; those who call native code without Python get the text
as it is written:

    if r < 0.0:                                   %2: bool[] = require %1 {error="untold ValueError", text="r is {r}"}
        raise ValueError(f"r is {r:.3f}")
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

from ...ops.require import Warned, made_of, require, untold
from ..tracing import silent
from .arrays.parts import native
from .calls import lower, meaning_of
from .machine import Machine
from .syntax.expressions import spread
from .texts import depends
from .values import Text


def exception(m: Machine, kind: type[BaseException], args: list[ast.expr], named: list[ast.keyword]) -> BaseException:
    """kind(*args, **named), an exception that is about to be raised."""
    m.telling += 1
    given = spread(m, args)
    more = {k.arg: m.eval(k.value) for k in named if k.arg is not None}
    m.telling -= 1
    if not any(depends(m, v) for v in (*given, *more.values())):
        return native(m, lambda: kind(*[lower(m, v) for v in given], **{k: lower(m, v) for k, v in more.items()}))
    written = [ast.unparse(a) for a in args] if len(args) == len(given) else ["..."] * len(given)
    return untold(made_of(kind, [_said(m, v, name) for v, name in zip(given, written, strict=True)]))


def _said(m: Machine, x: Any, name: str) -> Any:
    return x.written if isinstance(x, Text) else name if depends(m, x) else lower(m, x)


@meaning_of(warnings.warn, warnings.warn_explicit)
def _warn(m: Machine, text: Any, *args: Any, **kwargs: Any) -> None:
    """Checked for like an exception, unless Python has warned already."""
    said = text.written if isinstance(text, Text) else str(text)
    if silent():
        return
    if m.freezing:
        raise Warned(said)
    m.emit(require, False, error="Warned", text=said)


__all__ = ["exception"]
