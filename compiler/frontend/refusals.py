"""What a traced value cannot be: a number, a truth value, an index, an ndarray, or the target of an assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.types import Type
from .errors import TraceAttributeError, TraceError, message
from .tracing import Tracing, user_line


class Refusals:
    """The protocols by which Python and NumPy ask for a value's number, each refused with the way out."""

    __slots__ = ()
    tracing: Tracing
    type: Type

    def __bool__(self) -> bool:
        fix = "choose between values with np.where(condition, a, b)"
        raise self._refusal("bool()", "a branch would be frozen into the compiled function", fix)

    def __float__(self) -> float:
        fix = "use NumPy's functions in place of math's; build arrays with np.stack([...]) in place of z[i] = x"
        raise self._refusal("float()", "its number is not known yet", fix)

    def __int__(self) -> int:
        fix = "use x.astype(int), or declare the argument static: static_argnames=('n',)"
        raise self._refusal("int()", "its number is not known yet", fix)

    def __index__(self) -> int:
        fix = "declare the argument static: static_argnames=('n',), or static_argnums"
        raise self._refusal("an index or size", "its number is not known yet", fix)

    def __complex__(self) -> complex:
        raise self._refusal("complex()", "complex numbers are not supported", "use two real arrays")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        fix = "build arrays with np.stack([...]), index with np.take(table, i), use NumPy's functions"
        raise self._refusal("an ndarray", "its numbers are not known yet", fix)

    def item(self, *args: Any) -> Any:
        raise self._refusal("item()", "its number is not known yet", "use the value as it is")

    def tolist(self) -> Any:
        raise self._refusal("tolist()", "its numbers are not known yet", "iterate over the array")

    def __setitem__(self, key: Any, value: Any) -> None:
        fix = "build a new array: np.where(mask, new, old), np.concatenate or np.stack"
        raise self._refusal("assignment into an array", "traced arrays do not change", fix)

    def _refusal(self, what: str, why: str, fix: str) -> TraceError:
        origin = f"{self.type} in {self.tracing.name!r}"
        where = user_line()
        made = TraceError(message(f"{what} of a traced value: {why}", where, fix, value=origin))
        self.tracing.refusal = (where, made)
        return made

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise TraceAttributeError(
                message(
                    f"ndarray.{name} is not supported in a traced function",
                    user_line(),
                    "compute it from NumPy functions that are, or outside of the function",
                    value=self.type,
                )
            )
        raise AttributeError(f"a traced array has no attribute {name!r}")
