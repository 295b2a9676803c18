"""What a traced value is only for the values of one call – a number, a truth value, an index – and what it never is."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.graph import Value
from ..ir.types import Type
from ..later import later
from .errors import NeedsValues, TraceAttributeError, TraceError, TraceValueError, message
from .patched.askers import asker, instead
from .sizes import HOOKS
from .tracing import Tracing, current, encloses, user_line

if TYPE_CHECKING:
    import difflib
else:
    difflib = later(None, "difflib")


def _asked(what: str, why: str) -> tuple[str, str, str]:
    """What is asked for and by whom, why there is none, and the way out."""
    by = asker()
    return (what if by is None else f"{what} for {by}()"), why, instead(by)


class Refusals:
    """The protocols by which Python and NumPy ask for a value's number.

    Where a function is traced for the values of one call it is told, under a guard; else refused with the way out.
    """

    __slots__ = ()
    tracing: Tracing
    type: Type
    value: Value
    weak: bool
    parts: tuple[Any, Any]

    def __bool__(self) -> bool:
        if self.type.size != 1:
            fix = "ask np.any(x) or np.all(x)"
            raise self._refusal("bool()", "of several elements it is ambiguous", fix, TraceValueError)
        return bool(self.number("bool()", "choose between values with np.where(condition, a, b)"))

    def __float__(self) -> float:
        if self.type.is_complex:
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        by = asker()
        fix = "use NumPy's functions in place of math's; build arrays with np.stack([...]) in place of z[i] = x"
        if by is None:
            return float(self.number("float()", fix, lost=True))
        return float(self.number(f"float() for {by}()", instead(by), lost=True))

    def __int__(self) -> int:
        return int(self.number("int()", "use x.astype(int), or declare the argument static: static_argnames=('n',)"))

    def __index__(self) -> int:
        fix = "declare the argument static: static_argnames=('n',), or static_argnums"
        if self.type.shape or self.type.dtype not in ("i64", "i32"):
            raise self._refusal("an index or size", "it must be a single integer", fix)
        return int(self.number("an index or size", fix))

    def __complex__(self) -> complex:
        parts = self.parts if self.type.is_complex else (self,)
        fix = "write x + 1j * y"
        return complex(*(float(each.number("complex()", fix, lost=True)) for each in parts))

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        is_real_or_complex = self.type.is_float or self.type.is_complex  # numbers that no guard is put on
        athand = None if is_real_or_complex else self._athand()
        known = athand and athand.freeze_array(self._value_in(athand), "an array")
        if known is None:
            kind = TraceError if is_real_or_complex else NeedsValues
            raise self._refusal(*_asked("an ndarray", "its numbers are not known yet"), kind)
        return np.array(known, *args, **kwargs)

    def number(self, what: str, fix: str, lost: bool = False) -> Any:
        """The number of this call, under a guard; `lost`: no derivative sees what becomes of it."""
        athand = self._athand()
        if athand is None:
            raise self._refusal(what, "its number is not known yet", fix, NeedsValues)
        if self.type.shape and what != "bool()":
            raise self._refusal(what, "it has several elements or axes", "take one element: x[0]")
        known = athand.freeze(self._value_in(athand), what, lost)
        if known is None:
            raise self._refusal(what, "it has another number in every lane or round", fix, NeedsValues)
        return known

    def text(self, spec: str) -> str:
        """As text: that of the number of this call, under a guard, because text may decide what comes next."""
        if not self.type.shape and self.has_numbers():
            return format(self.number("text", ""), spec)
        if spec and encloses(self.tracing):
            fix = "leave the text out, or make it outside of the function"
            raise self._refusal("text", "its number is not known yet", fix, NeedsValues)
        return repr(self)

    def has_numbers(self) -> bool:
        """Whether its numbers are at hand."""
        return self.known() is not None

    def _athand(self) -> Any:
        """The values at hand in the function that is traced now, or in the one around it that this is a value of."""
        now = current()
        if now is None or not encloses(self.tracing):
            return None
        return self.tracing.athand if now.athand is None else now.athand

    def _value_in(self, athand: Any) -> Value:
        return self.value if self.tracing is athand.now else athand.now.outer(self)

    def known(self) -> Any:
        """The number of this call, without a guard."""
        athand = self._athand()
        return None if athand is None else athand.of(self._value_in(athand))

    def __setitem__(self, key: Any, value: Any) -> None:
        if encloses(self.tracing) and self.has_numbers():
            HOOKS["store"](self, key, value)
            return
        fix = "build a new array: np.where(mask, new, old), np.concatenate or np.stack"
        raise self._refusal("assignment into an array", "traced arrays do not change", fix)

    def _refusal(self, what: str, why: str, fix: str, kind: type[TraceError] = TraceError) -> TraceError:
        if not encloses(self.tracing):
            return leaked(self)
        origin = f"{self.type} in {self.tracing.name!r}"
        where = user_line()
        made = kind(message(f"{what} of a traced value: {why}", where, fix, value=origin))
        self.tracing.refusal = (where, made)
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy asks each number of a list for some of these, and wants no advice
            raise AttributeError(f"an array has no attribute {name!r}")
        if not name.startswith("_") and not encloses(self.tracing):
            raise leaked(self)
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise TraceAttributeError(
                message(
                    f"ndarray.{name} is not supported in a traced function",
                    user_line(),
                    "compute it from NumPy functions that are, or outside of the function",
                    value=self.type,
                )
            )
        near = _nearest(name)
        fix = f"did you mean {near}?" if near else "use NumPy's functions: np.tanh(x), not x.tanh()"
        raise AttributeError(message(f"an array has no attribute {name!r}", user_line(), fix))


@functools.lru_cache(256)
def _nearest(name: str) -> str:
    """The attribute of arrays that is spelled most like a name; an empty text for none."""
    return "".join(difflib.get_close_matches(name, dir(np.ndarray), 1))


def leaked(array: Refusals) -> TraceError:
    """The error for a value that outlived its trace, or crossed threads."""
    owner = array.tracing
    verdict = f"a traced value of {owner.name!r} is used after the function has returned"
    if owner.alive:
        verdict = f"a traced value of {owner.name!r} is used in another thread"
    fix = "return the value from the function; do not keep it in globals, attributes or lists"
    return TraceError(message(verdict, user_line(), fix, value=array.type, traced=owner.where or "unknown"))
