"""Python's own functions, and those of `math`, on traced values."""

from __future__ import annotations

import builtins
import math
import operator
import types
from typing import Any

import numpy as np

from ...ops.elementwise import abs_, add, and_, cast, eq, floor, lt, ne, rint, shr, trunc
from ..array import Array
from ..state.impure import tell
from . import library, numbers, prelude
from .arrays.access import read
from .arrays.parts import native
from .calls import Closure, call, held_by, lower, meaning_of
from .containers.iterate import every, iterate
from .machine import Machine
from .regions import pick
from .values import Picked, Ref, Steps, Text, is_array, is_list, is_scalar, traced


def call_native(m: Machine, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of Python's function as it is."""
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    return m.adopt(native(m, lambda: function(*low, **named)))


# ---- numbers


def weak(x: Array) -> Array:
    return Array(x.tracing, x.value, weak=True)


def as_float(m: Machine, x: Any) -> Array:
    """A traced number as a Python float."""
    return weak(x if x.type.dtype == "f64" else m.emit(cast, x, dtype="f64"))


def scalar_of(m: Machine, x: Any) -> Any:
    """The one number in an array, or a number, traced."""
    if is_array(x):
        held = read(m, x)
        if held.size != 1:
            m.fail(TypeError("only length-1 arrays can be converted to Python scalars"))
        return held.reshape(()) if isinstance(held, Array) else held.reshape(())[()]
    return x


def as_python(m: Machine, x: Any) -> Any:
    """x.item(): a NumPy number as Python's."""
    x = scalar_of(m, x)
    if not isinstance(x, Array):
        return x.item()
    if x.type.dtype in ("bool", "i64", "f64"):
        return weak(x)
    return weak(m.emit(cast, x, dtype="i64" if x.type.dtype == "i32" else "f64"))


library.SCALAR[0] = as_python


def _bit_count(m: Machine, x: Array) -> Array:
    """The ones in the binary form of |x|: sums of neighbouring fields of 1, 2, 4, ... bits."""
    n = m.emit(abs_, numbers.as_int(m, x))
    for width, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        n = m.emit(add, m.emit(and_, n, mask), m.emit(and_, m.emit(shr, n, width), mask))
    for width in (8, 16, 32):
        n = m.emit(add, n, m.emit(shr, n, width))
    return m.ranges.note(weak(m.emit(and_, n, 127)), 0, 64)


def _is_integer(m: Machine, x: Array) -> Any:
    if not x.type.is_float:
        return True
    return weak(m.emit(and_, m.emit(eq, m.emit(floor, x), x), m.emit(ne, m.emit(abs_, x), math.inf)))


library.SCALAR_METHODS |= {
    "bit_count": _bit_count,
    "is_integer": _is_integer,
    "conjugate": lambda m, x: native(m, x.conj) if x.type.is_complex else numbers.as_int(m, x),
}


@meaning_of(float)
def to_float(m: Machine, x: Any = 0.0) -> Any:
    x = _real_scalar(m, x, "float() argument must be a string or a real number")
    return as_float(m, x) if isinstance(x, Array) else call_native(m, float, x)


def _real_scalar(m: Machine, x: Any, needed: str) -> Any:
    x = scalar_of(m, x)
    if isinstance(x, Array) and x.type.is_complex:
        m.fail(TypeError(f"{needed}, not 'complex'"))
    return x


@meaning_of(int)
def as_int(m: Machine, x: Any = 0, *base: Any) -> Any:
    x = _real_scalar(m, x, "int() argument must be a string, a bytes-like object or a real number")
    if not isinstance(x, Array):
        return call_native(m, int, x, *base)
    if x.type.is_float:
        return as_whole(m, x, trunc)
    return weak(m.emit(cast, x, dtype="i64") if x.type.dtype != "i64" else x)


def as_whole(m: Machine, x: Array, rounding: Any) -> Array:
    """A float rounded to a Python int, which 64 bits must hold."""
    x = as_float(m, x)
    m.require(m.emit(eq, x, x), ValueError, "cannot convert float NaN to integer")
    m.require(m.emit(ne, m.emit(abs_, x), math.inf), OverflowError, "cannot convert float infinity to integer")
    m.require(m.emit(lt, m.emit(abs_, x), 2.0**63), OverflowError, "a Python int needs more than 64 bits")
    return weak(m.emit(cast, m.emit(rounding, x), dtype="i64"))


@meaning_of(bool)
def _to_bool(m: Machine, x: Any = False) -> Any:
    return numbers.truth(m, x)


@meaning_of(abs)
def _abs(m: Machine, x: Any) -> Any:
    if not traced(x):
        return call_native(m, abs, x)
    made = numbers.unary(m, abs, numbers.as_int(m, x) if is_scalar(x) and x.weak else x)
    if is_scalar(x) and x.weak:
        made = weak(made)
        if made.type.dtype == "i64":
            low, high = m.ranges.of(x)
            m.ranges.note(made, 0, max(abs(low), abs(high)))
    return made


@meaning_of(round)
def _round(m: Machine, x: Any, digits: Any = None) -> Any:
    if not traced(x):
        return call_native(m, round, x, digits)
    if is_scalar(x) and x.weak and x.type.is_float:
        if digits is not None:
            m.refuse("round() of a traced Python float to digits, which is exact in decimals", "use np.round")
        return as_whole(m, x, rint)
    return numbers.unary(m, lambda v: round(v, digits or 0), x)


@meaning_of(divmod)
def _divmod(m: Machine, a: Any, b: Any) -> Any:
    if not traced(a) and not traced(b):
        return call_native(m, divmod, a, b)
    if numbers.is_python(a) and numbers.is_python(b):
        return numbers.binary(m, divmod, a, b)
    return numbers.binary(m, operator.floordiv, a, b), numbers.binary(m, operator.mod, a, b)


@meaning_of(pow)
def _pow(m: Machine, a: Any, b: Any, *mod: Any) -> Any:
    if traced((a, b)) and not mod:
        return numbers.binary(m, operator.pow, a, b)
    return call_native(m, pow, a, b, *mod)


for _fn in (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
):
    def _operator(m: Machine, a: Any, b: Any, fn: Any = _fn) -> Any:
        return numbers.binary(m, fn, a, b) if traced(a) or traced(b) else call_native(m, fn, a, b)

    meaning_of(_fn)(_operator)

# ---- extremes and folds


def _pick(m: Machine, fn: Any, walked: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """min and max are comparisons: the first of equals, and of what compares with NaN."""
    function = {"largest": max, "smallest": min}[walked.__name__]
    if "key" in kwargs or not traced(args):
        if any(map(_deep, args)):
            m.refuse(f"{function.__name__}() of traced values with a key", "compare in a loop")
        return call_native(m, function, *args, **kwargs)
    if len(args) == 1:
        items = args[0]
        it = iterate(m, items)
        if (isinstance(it.trip, int) and it.trip <= 8 and it.trip) or not it.rolled:
            args = tuple(every(m, it))
        elif is_array(items) or is_list(items):
            return call(m, walked, [items], {})
        else:
            args = tuple(every(m, it))
        if not args:
            m.fail(ValueError(f"{function.__name__}() arg is an empty sequence")) if "default" not in kwargs else None
            return kwargs.get("default")
    best = args[0]
    for x in args[1:]:
        if not traced(x) and not traced(best):
            best = call_native(m, function, best, x)
        else:
            best = pick(m, numbers.truth(m, numbers.binary(m, fn, x, best)), x, best)
    return best


@meaning_of(min)
def minimum(m: Machine, *args: Any, **kwargs: Any) -> Any:
    return _pick(m, operator.lt, prelude.smallest, args, kwargs)


@meaning_of(max)
def _max(m: Machine, *args: Any, **kwargs: Any) -> Any:
    return _pick(m, operator.gt, prelude.largest, args, kwargs)


def _deep(x: Any) -> bool:
    return traced(x) and not (isinstance(x, Ref) and x.box.kind != "array")


@meaning_of(sum)
def _sum(m: Machine, xs: Any, start: Any = 0) -> Any:
    return call(m, prelude.total, [xs, start], {})


@meaning_of(math.prod)
def _prod(m: Machine, xs: Any, *, start: Any = 1) -> Any:
    return call(m, prelude.product, [xs, start], {})


@meaning_of(any)
def _any(m: Machine, xs: Any) -> Any:
    return call(m, prelude.some, [xs], {})


@meaning_of(all)
def _all(m: Machine, xs: Any) -> Any:
    return call(m, prelude.every, [xs], {})


# ---- types and the rest


def type_of(x: Any) -> type:
    """type(x) as it is in Python."""
    if isinstance(x, Array) and not x.type.shape:
        if x.weak:
            return {"bool": bool, "i64": int, "c128": complex}.get(x.type.dtype, float)
        return x.dtype.type
    if isinstance(x, Ref):
        return {"array": np.ndarray, "list": list, "dict": dict}[x.box.kind]
    like = {Steps: range, Closure: types.FunctionType, Text: str, Picked: str}
    return like.get(type(x), type(x))


@meaning_of(type)
def _type(m: Machine, x: Any, *more: Any) -> Any:
    return call_native(m, type, x, *more) if more else type_of(x)


@meaning_of(isinstance)
def _isinstance(m: Machine, x: Any, kinds: Any) -> Any:
    if not isinstance(x, (Array, Ref, Steps, Closure, Text)):
        return native(m, lambda: isinstance(x, kinds))
    return native(m, lambda: issubclass(type_of(x), kinds))


@meaning_of(callable)
def _callable(m: Machine, x: Any) -> Any:
    return not isinstance(x, (Array, Ref)) and callable(x)


@meaning_of(np.isscalar)
def _isscalar(m: Machine, x: Any) -> Any:
    return is_scalar(x) or (not isinstance(x, Ref) and np.isscalar(x))


@meaning_of(getattr)
def _getattr(m: Machine, x: Any, name: Any, *default: Any) -> Any:
    if traced(x):
        m.refuse("getattr() of a modelled object", "write the attribute")
    return held_by(m, x, native(m, lambda: getattr(x, name, *default)))


@meaning_of(hash)
def _hash(m: Machine, x: Any) -> Any:
    if traced(x):
        m.refuse("hash() of a traced value, which is that of its number", "make the argument static")
    return call_native(m, hash, x)


_UNKNOWN = ("iter", "next", "setattr", "delattr", "exec", "eval", "globals", "locals", "filter")


@meaning_of(print)
def _print(m: Machine, *args: Any, **kwargs: Any) -> None:
    tell("what the function prints")


@meaning_of(*[getattr(builtins, name) for name in _UNKNOWN])
def _unknown(m: Machine, *args: Any, **kwargs: Any) -> Any:
    m.refuse("iter, next, filter, setattr, exec or eval in a function that is walked", "use a for loop")
