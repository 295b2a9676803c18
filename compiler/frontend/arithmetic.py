"""Python's operators on traced values: on arrays and NumPy's numbers they are NumPy's, on Python's numbers Python's.

    def f(x): return 1 / x        of 0.0 raises ZeroDivisionError, of np.float64(0.0) it is inf

A traced Python number is a weak Array. Where such numbers divide by zero, or raise zero or a negative number to a power
that Python has no float for, Python's exception is raised, wherever the operator stands: in a function that is run, in
one that is walked, in a branch or in a loop.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..ops.require import require
from .alike import ALIKE, alike
from .array import HOOKS, Array, here, value_of
from .numpy.ufuncs import elementwise, power
from .operators import has_complex
from .promotion import as_operand
from .wholes import check_fits


class Must(NamedTuple):
    """What must hold, plain or traced, or else is raised."""

    holds: Any
    error: type[Exception]
    text: str


def _said(action: Callable[[], Any]) -> str:
    """What this version of Python says."""
    try:
        action()
    except ArithmeticError as error:
        return str(error)
    raise AssertionError("Python has raised here from its first day")


DIVISIONS: dict[np.ufunc, tuple[str, str]] = {
    ufunc: (_said(lambda fn=fn: fn(1, 0)), _said(lambda fn=fn: fn(1.0, 0.0)))
    for ufunc, fn in ((np.true_divide, operator.truediv), (np.floor_divide, operator.floordiv),
                      (np.remainder, operator.mod), (np.divmod, divmod))
}
"""What Python says of a division by zero: of ints, and of floats."""

RAISING = {
    operator.truediv: np.true_divide, operator.floordiv: np.floor_divide, operator.mod: np.remainder,
    operator.pow: np.power, divmod: np.divmod,
}
"""Python's operators that raise, and NumPy's that do not."""

PRODUCTS = (-1, 0, 0.5, 1, 2, 3, 4)
"""Exponents that need no function for powers."""

_OF_ZERO = _said(lambda: 0.0**-1)
_COMPLEX_DIVISION = _said(lambda: 1j / 0j)
_COMPLEX_POWER = _said(lambda: 0j**-1)
_TOO_LARGE = _said(lambda: 10.0**1000)
_COMPLEX = "a negative number to a fractional power is complex, which is not supported"
_RAISING = frozenset(RAISING.values())


def operate(ufunc: np.ufunc, *operands: Any) -> Any:
    """Python's operator: of Python numbers it makes a Python number again."""
    if ufunc in _RAISING and all(map(_is_python, operands)):
        x, y = map(as_operand, operands)
        for each in needed(ufunc, x, y):
            _hold(each)
        made = arithmetic(ufunc, x, y)
        if ufunc is np.power:
            for each in fitting(made, x, y):
                _hold(each)
        return made
    return arithmetic(ufunc, *operands)


def arithmetic(ufunc: np.ufunc, *operands: Any) -> Any:
    """The same for what raises nothing."""
    if ufunc is np.divmod:
        return arithmetic(np.floor_divide, *operands), arithmetic(np.remainder, *operands)
    made = alike(ufunc, *operands) if ufunc in ALIKE else None
    if made is not None:
        return made
    operands = tuple(map(as_operand, operands))
    weak = all(map(_is_python, operands))
    made: Any = _power(operands[0], operands[1], weak) if ufunc is np.power else elementwise(ufunc, *operands)
    made.weak = weak and made.dtype.kind in "fiuc"
    if weak:
        check_fits(made.tracing, ufunc, operands, made)
    return made


def _power(x: Any, y: Any, weak: bool) -> Array:
    """x ** y; Python's ints to a negative power are floats."""
    if weak and not _is_float(x) and not isinstance(y, Array) and isinstance(y, int) and y < 0:
        x = elementwise(np.multiply, x, 1.0)
    return power(x, y)


def _is_python(x: Any) -> bool:
    """Whether it is a Python number, traced or not."""
    return x.weak if isinstance(x, Array) else type(x) in (int, float, bool, complex)


def _is_float(x: Any) -> bool:
    return x.type.is_float if isinstance(x, Array) else isinstance(x, float)


def _hold(must: Must) -> None:
    """Raise now, or where the traced condition does not hold."""
    if isinstance(must.holds, Array):
        now = here(must.holds)
        now.emit(require, value_of(now, must.holds), error=must.error.__name__, text=must.text)
    elif not must.holds:
        raise must.error(must.text)


# ---- what must hold


def needed(ufunc: np.ufunc, x: Any, y: Any) -> Iterator[Must]:
    """What must hold before an operator of `RAISING` is applied to Python numbers."""
    if has_complex((x, y)):
        yield from _of_complex(ufunc, x, y)
    elif ufunc is np.power:
        yield from _of_powers(x, y)
    else:
        yield Must(_not_zero(y), ZeroDivisionError, DIVISIONS[ufunc][_is_float(x) or _is_float(y)])


def _of_complex(ufunc: np.ufunc, x: Any, y: Any) -> Iterator[Must]:
    if ufunc is np.true_divide:
        yield Must(_not_zero(y), ZeroDivisionError, _COMPLEX_DIVISION)
    elif ufunc is np.power and not (isinstance(y, Array) or (complex(y).imag == 0 and complex(y).real >= 0)):
        yield Must(_not_zero(x), ZeroDivisionError, _COMPLEX_POWER)


def _of_powers(x: Any, y: Any) -> Iterator[Must]:
    positive = not isinstance(x, Array) and x > 0
    if isinstance(y, Array):
        if not positive:
            well = _or(_not_zero(x), _not(_below_zero(y)))
            yield Must(_or(well, _infinite(y)), ZeroDivisionError, _OF_ZERO)
            if _is_float(y):
                whole = elementwise(np.equal, elementwise(np.rint, y), y)
                yield Must(_or(whole, _not(_below_zero(x))), ValueError, _COMPLEX)
        return
    if y < 0 and math.isfinite(y):
        yield Must(_not_zero(x), ZeroDivisionError, _OF_ZERO)
    if math.isfinite(y) and not float(y).is_integer():
        yield Must(_not(_below_zero(x)), ValueError, _COMPLEX)


def fitting(made: Any, x: Any, y: Any) -> Iterator[Must]:
    """What must hold of a power of floats: of finite numbers it is finite.

    Products and quotients of Python's floats are infinite where they are too large, and so are powers that are made
    of these: a check would cost a loop over x ** 2 more than all else.
    """
    if _is_float(made) and (isinstance(y, Array) or y not in PRODUCTS):
        holds = _or(_not(_infinite(made)), _infinite(x))
        yield Must(_or(holds, _infinite(y)), OverflowError, _TOO_LARGE)


def _not_zero(x: Any) -> Any:
    return elementwise(np.not_equal, x, 0) if isinstance(x, Array) else x != 0


def _below_zero(x: Any) -> Any:
    return elementwise(np.less, x, 0) if isinstance(x, Array) else x < 0


def _infinite(x: Any) -> Any:
    if isinstance(x, Array):
        return elementwise(np.isinf, x) if x.type.is_float else False
    return math.isinf(x)


def _not(x: Any) -> Any:
    return elementwise(np.logical_not, x) if isinstance(x, Array) else not x


def _or(x: Any, y: Any) -> Any:
    """x or y, of which each may be known."""
    if isinstance(x, Array) and isinstance(y, Array):
        return elementwise(np.logical_or, x, y)
    known, other = (y, x) if isinstance(x, Array) else (x, y)
    return True if known else other


HOOKS["operate"] = operate

__all__ = ["RAISING", "Must", "arithmetic", "fitting", "needed", "operate"]
