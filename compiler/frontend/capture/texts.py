"""Text made of traced values: what it says depends on numbers that native code has and Python has not.

It is kept as it is written, `r is {r}`, and only exceptions and warnings can have it: `messages` says what becomes of
them. Where a function is walked for the values of one call, text is that of its numbers, under a guard.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ..array import Array
from . import numbers
from .arrays.parts import native
from .calls import lower, meaning_of
from .machine import EXPRESSIONS, Machine
from .values import Picked, Text, is_scalar, traced

FEW = 1_000_000
"""Of how many numbers a traced one may be, so that the text that it is written as is one of as many."""


def depends(m: Machine, x: Any) -> bool:
    """Whether what is said of x depends on traced values."""
    return traced(x) and _depends(lower(m, x))


def _depends(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_depends, x))
    return any(map(_depends, x.values())) if isinstance(x, dict) else isinstance(x, (Array, Text))


def text_of(m: Machine, written: str, make: Callable[[], Any], *parts: Any) -> Any:
    """The text that `make` makes of parts; as it is written, where these depend on traced values."""
    later = m.telling or not m.freezing
    if any(isinstance(p, Text) or (later and depends(m, p)) for p in parts):
        return Text(written)
    return native(m, make)


def _joined(m: Machine, n: ast.JoinedStr) -> Any:
    """An f-string."""
    made = [str(each.value) if isinstance(each, ast.Constant) else _formatted(m, each) for each in n.values]
    written = "".join([each.written if isinstance(each, Text) else each for each in made])
    texts = [k for k, each in enumerate(made) if isinstance(each, Text)]
    if len(texts) == 1 and isinstance(one := made[texts[0]], Picked):
        ahead, behind = "".join(made[: texts[0]]), "".join(made[texts[0] + 1 :])
        return Picked(lambda: tuple([ahead + each + behind for each in one.texts]), one.index, written)
    return Text(written) if texts else written


def _formatted(m: Machine, n: Any) -> Any:
    """{value!r:spec} in an f-string."""
    value = m.eval(n.value)
    spec = m.eval(n.format_spec) if n.format_spec is not None else ""
    change: Any = {115: str, 114: repr, 97: ascii}.get(n.conversion, lambda x: x)
    written = value.written if isinstance(value, Text) else "{" + ast.unparse(n.value) + "}"
    if is_scalar(value) and value.weak and value.type.dtype == "i64" and not m.freezing and not m.telling:
        low, high = m.ranges.of(value)
        if high - low < FEW and isinstance(spec, str):
            texts = lambda: tuple([format(change(k), spec) for k in range(low, high + 1)])  # noqa: E731
            return Picked(texts, numbers.binary(m, operator.sub, value, low) if low else value, written)
    return text_of(m, written, lambda: format(change(lower(m, value)), spec), value, spec)


EXPRESSIONS[ast.JoinedStr] = _joined

for _function in (str, repr, ascii, format):
    def _as_text(m: Machine, *args: Any, function: Any = _function, **kwargs: Any) -> Any:
        written = args[0].written if args and isinstance(args[0], Text) else "{...}"
        return text_of(m, written, lambda: function(*[lower(m, a) for a in args], **kwargs), *args)

    meaning_of(_function)(_as_text)


def text_operator(m: Machine, fn: Any, a: Any, b: Any) -> Any:
    """"x is %g" % x and "at " + str(x), where one of the two is traced; NotImplemented if it is no text."""
    x, y = (v.written if isinstance(v, Text) else v if isinstance(v, str) else None for v in (a, b))
    if fn is operator.mod and x is not None:
        return text_of(m, x, lambda: fn(a, lower(m, b)), a, b)
    return Text(x + y) if fn is operator.add and x is not None and y is not None else NotImplemented


def text_method(m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a string with traced values: "x is {}".format(x), ", ".join(parts)."""
    make = lambda: function(*[lower(m, a) for a in args], **{k: lower(m, v) for k, v in kwargs.items()})  # noqa: E731
    return text_of(m, function.__self__, make, *args, *kwargs.values())


__all__ = ["depends", "text_method", "text_of", "text_operator"]
