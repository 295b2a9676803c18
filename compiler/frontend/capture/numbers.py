"""What Python's operators mean on traced values.

NumPy's numbers follow NumPy: 1/0 is inf. A traced Python number is a weak Array and follows Python: it divides by zero
with a ZeroDivisionError, its truth is a Python bool that adds as an integer, and an integer that leaves 64 bits raises
an OverflowError where Python would go on.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ops.elementwise import abs_, and_, cast, lt, ne, not_, or_, xor
from ..arithmetic import RAISING, Must, arithmetic, fitting, needed
from ..array import Array
from ..errors import TraceValueError, message
from ..numpy.ufuncs import elementwise
from ..wholes import TEXT
from .arrays.access import read, stacked, wrap
from .arrays.parts import native
from .machine import Machine
from .ranges import LEAST, MOST, Ranges
from .values import Ref, is_array, is_list, is_scalar, traced

COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_INEXACT = {"f64", "c128"}
_BITS = (operator.and_, operator.or_, operator.xor)


def is_python(x: Any) -> bool:
    """Whether x is a Python number, traced or not."""
    return x.weak and not x.type.shape if isinstance(x, Array) else isinstance(x, (bool, int, float, complex))


def dtype_of(x: Any) -> str:
    """bool, i64, f64 or c128 for a Python number."""
    if isinstance(x, Array):
        return x.type.dtype
    if isinstance(x, complex):
        return "c128"
    return "bool" if isinstance(x, bool) else "i64" if isinstance(x, int) else "f64"


def operand(m: Machine, x: Any) -> Any:
    """What an operator of the frontend takes."""
    if is_array(x):
        return read(m, x)
    if is_list(x):
        return stacked(m, m.content(x.box))
    return stacked(m, x) if isinstance(x, tuple) and traced(x) else x


def binary(m: Machine, fn: Any, a: Any, b: Any) -> Any:
    """fn(a, b) where one of them is traced, or an array."""
    x, y = operand(m, a), operand(m, b)
    if isinstance(x, Array) or isinstance(y, Array):
        x, y = m.ranges.counted(m, x), m.ranges.counted(m, y)
        if is_python(x) and is_python(y):
            return _python(m, fn, x, y)
        x, y = (Array(m.now, m.value(v)) if isinstance(v, np.ndarray) else v for v in (x, y))
        made = native(m, lambda: fn(x, y))
        if fn in _SUMS and all(_is_whole(v) for v in (x, y, made)):  # differences hold where it wraps
            _SUMS[fn](m.ranges, made, x, y)
        return wrap(m, made)
    with np.errstate(all="ignore"):
        return wrap(m, native(m, lambda: fn(x, y)))


_SUMS = {
    operator.add: Ranges.combined,
    operator.sub: lambda ranges, made, x, y: ranges.combined(made, x, y, -1),
    operator.mul: Ranges.multiplied,
}
"""What operators tell of sums of multiples."""


def _is_whole(x: Any) -> bool:
    """Whether x is a whole number of 64 bits, or a plain one."""
    return x.type.dtype == "i64" and not x.type.shape if isinstance(x, Array) else type(x) in (int, np.int64)


def _python(m: Machine, fn: Any, x: Any, y: Any) -> Any:
    """An operator on Python numbers."""
    if fn in COMPARISONS:
        return _bool(fn(*_same_kind(m, x, y)))
    kinds = {dtype_of(x), dtype_of(y)}
    if fn in _BITS:
        if kinds == {"bool"}:
            return _bool(m.emit({operator.and_: and_, operator.or_: or_, operator.xor: xor}[fn], x, y))
        if kinds & _INEXACT:
            symbol = {operator.and_: "&", operator.or_: "|", operator.xor: "^"}[fn]
            m.fail(TypeError(f"unsupported operand type(s) for {symbol}: 'float' and 'float'"))
    x, y = as_int(m, x), as_int(m, y)
    floats = bool(kinds & _INEXACT)
    if fn is operator.pow:
        return _power(m, x, y, floats)
    if fn in RAISING and not _not_zero(m, y):
        hold(m, needed(RAISING[fn], x, y))
    if fn is divmod:
        return tuple([_made(m, each, x, y, floats) for each in (operator.floordiv, operator.mod)])
    return _made(m, fn, x, y, floats)


def _made(m: Machine, fn: Any, x: Any, y: Any, floats: bool) -> Any:
    """An operator on Python numbers that raises nothing."""
    if not floats and fn in (operator.add, operator.sub) and not isinstance(y, Array):
        return _shifted(m, x, y if fn is operator.add else -y)
    if not floats and fn is operator.add and not isinstance(x, Array):
        return _shifted(m, y, x)
    made = native(m, lambda: arithmetic(RAISING[fn], x, y) if fn in RAISING else fn(x, y))
    made.weak = True
    return made if floats or fn is operator.truediv else whole(m, fn, x, y, made)


def _shifted(m: Machine, x: Array, by: int) -> Array:
    """x + by; what has been added before is added together: i + 1 - 1 is i."""
    base, shift = m.ranges.base(x)
    low, high = m.ranges.of(x)
    if not (low + by >= LEAST and high + by <= MOST):
        made = native(m, lambda: x + by)
        made.weak = True
        return whole(m, operator.add, x, by, made)
    made = base if shift + by == 0 else native(m, lambda: base + (shift + by))
    made = Array(made.tracing, made.value, weak=True)
    if made.value is not x.value:
        m.ranges.combined(made, x, by)
    if shift + by:
        m.ranges.note(made, low + by, high + by)
        m.ranges.shifted(made, x, by)
    return made


def _same_kind(m: Machine, x: Any, y: Any) -> tuple[Any, Any]:
    """Bools and integers as integers, where the other is one; as they are else."""
    return (x, y) if dtype_of(x) == dtype_of(y) == "bool" else (as_int(m, x), as_int(m, y))


def _bool(x: Array) -> Array:
    x.weak = True
    return x


def as_int(m: Machine, x: Any) -> Any:
    """A traced Python bool as an integer; anything else as it is."""
    if isinstance(x, Array) and x.type.dtype == "bool":
        return m.ranges.note(Array(m.now, m.emit(cast, x, dtype="i64").value, weak=True), 0, 1)
    return int(x) if isinstance(x, bool) else x


def _not_zero(m: Machine, y: Any) -> bool:
    """Whether that is known of an integer."""
    whole = isinstance(y, Array) and y.type.dtype == "i64"
    return whole and (m.ranges.inside(y, 1, None) or m.ranges.inside(y, None, 0))


def hold(m: Machine, every: Iterable[Must]) -> None:
    """What must hold, or else is raised."""
    for must in every:
        if isinstance(must.holds, Array):
            m.require(must.holds, must.error, must.text)
        elif not must.holds:
            m.fail(must.error(must.text))


def _power(m: Machine, x: Any, y: Any, floats: bool) -> Any:
    """x ** y of Python numbers."""
    if not floats:
        y = m.known(y, "an exponent")
        if not isinstance(x, Array) and not isinstance(y, Array):
            return native(m, lambda: x**y)
        if isinstance(y, Array):
            m.refuse("an integer to the power of a traced integer is an integer or a float", "make the base a float")
        if y >= 0:
            return _whole_power(m, x, y)
    hold(m, needed(np.power, x, y))
    made = native(m, lambda: arithmetic(np.power, x, y))
    hold(m, fitting(made, x, y))
    return made


def _whole_power(m: Machine, x: Any, exponent: int) -> Any:
    made: Any = 1
    for _ in range(exponent):
        made = _python(m, operator.mul, made, x) if isinstance(made, Array) else x
    return made


def whole(m: Machine, fn: Any, x: Any, y: Any, made: Array) -> Array:
    """An integer result: what is known of it, and a check that 64 bits hold it unless that is certain."""
    if fn in (operator.add, operator.sub):
        m.ranges.combined(made, x, y, 1 if fn is operator.add else -1)
    elif fn is operator.mul:
        m.ranges.multiplied(made, x, y)
    (a, b), (c, d) = m.ranges.of(x), m.ranges.of(y)
    if fn is operator.add:
        low, high = a + c, b + d
    elif fn is operator.sub:
        low, high = a - d, b - c
    elif fn is operator.mul:
        corners = (a * c, a * d, b * c, b * d)
        low, high = min(corners), max(corners)
    elif fn is operator.mod and c > 0:
        return m.ranges.note(made, 0, d - 1)
    elif fn is operator.floordiv and c > 0:
        return m.ranges.note(made, min(a // c, a // d), max(b // c, b // d))
    else:
        return made
    if low < LEAST or high > MOST:
        _fits(m, fn, x, y, made)
    m.ranges.note(made, low, high)
    if not isinstance(y, Array) and fn in (operator.add, operator.sub):
        m.ranges.shifted(made, x, y if fn is operator.add else -y)
    elif not isinstance(x, Array) and fn is operator.add:
        m.ranges.shifted(made, y, x)
    return made


def _fits(m: Machine, fn: Any, x: Any, y: Any, made: Array) -> None:
    """The exact result must be that of 64 bits: seen by its size as a float."""
    f, g = (m.emit(cast, v, dtype="f64") if isinstance(v, Array) else float(v) for v in (x, y))
    exact = fn(f, g)
    ok = m.emit(lt, m.emit(abs_, exact), 2.0**63)
    m.require(ok, OverflowError, TEXT)


def unary(m: Machine, fn: Any, v: Any) -> Any:
    """fn(v) of an array or of a NumPy number."""
    x = operand(m, v)
    return wrap(m, native(m, lambda: fn(x)))


# ---- truth


def truth(m: Machine, v: Any) -> Any:
    """bool(v): a plain or a traced bool."""
    found = _truth(m, v)
    return m.known(found, "bool()") if isinstance(found, Array) else found


def _truth(m: Machine, v: Any) -> Any:
    if is_scalar(v):
        if v.type.dtype == "bool":
            return v
        if v.type.dtype in ("f64", "i64"):
            return _bool(m.emit(ne, v, 0.0 if v.type.is_float else 0))
        return _bool(elementwise(np.not_equal, v, 0))
    if is_array(v):
        x = read(m, v)
        if not isinstance(x, Array):
            return native(m, lambda: bool(x))
        if x.size != 1:
            verdict = "bool() of an array with more than one element is ambiguous"
            m.fail(TraceValueError(message(verdict, m.where(), "ask np.any(x) or np.all(x)", array=x.type)))
        return truth(m, x.reshape(()))
    if isinstance(v, Ref):
        return CONTENT_TRUTH[0](m, v)
    return native(m, lambda: bool(v))


CONTENT_TRUTH: list[Any] = [None]
"""The truth of lists and dicts: registered by the module that knows them."""


def logic(m: Machine, name: str, a: Any, b: Any) -> Any:
    """`and` or `or` of plain and traced bools, both of which are known."""
    for x, y in ((a, b), (b, a)):
        if not isinstance(x, Array):
            return (y if x else False) if name == "and" else (True if x else y)
    return _bool(m.emit(and_ if name == "and" else or_, a, b))


def negate(m: Machine, a: Any) -> Any:
    return _bool(m.emit(not_, a)) if isinstance(a, Array) else not a


__all__ = ["binary", "hold", "is_python", "logic", "negate", "operand", "truth", "unary"]
