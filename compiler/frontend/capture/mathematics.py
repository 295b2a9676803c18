"""Functions of `math` on traced numbers: floats of Python's, with its domain and range errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.elementary import erf
from ...ops.elementwise import abs_, and_, ceil, eq, floor, le, lt, not_, or_, trunc
from ..arithmetic import arithmetic, fitting, needed
from ..array import Array
from ..patched.mathematics import LISTS, NUMBERS, hypot, modf
from ..patched.patches import unpatched
from . import numbers
from .arrays.parts import native
from .calls import lower, meaning_of
from .containers.listed import has_traced
from .machine import Machine
from .python import as_float, as_int, as_whole, call_native, scalar_of, to_float, weak
from .values import traced

_DOMAIN, _RANGE = "math domain error", "math range error"


def _math(function: Any, ufunc: Any, wrong: Callable[[Machine, Array], Any] | None, error: Any = ValueError) -> None:
    text, function = _DOMAIN if error is ValueError else _RANGE, unpatched(function)

    def meaning(m: Machine, *args: Any) -> Any:
        xs = [scalar_of(m, a) for a in args]
        if not any(isinstance(x, Array) for x in xs):
            return call_native(m, function, *xs)
        xs = [as_float(m, x) if isinstance(x, Array) else native(m, lambda x=x: float(x)) for x in xs]
        if wrong is not None:
            m.require(m.emit(not_, wrong(m, xs[0])), error, text)
        made = native(m, lambda: ufunc(*xs))
        return weak(made)

    meaning_of(function)(meaning)


def _below(limit: float) -> Callable[[Machine, Array], Any]:
    return lambda m, x: m.emit(lt, x, limit)


def _at_most(limit: float) -> Callable[[Machine, Array], Any]:
    return lambda m, x: m.emit(le, x, limit)


def _beyond(limit: float) -> Callable[[Machine, Array], Any]:
    return lambda m, x: m.emit(lt, limit, m.emit(abs_, x))


def _from(limit: float) -> Callable[[Machine, Array], Any]:
    return lambda m, x: m.emit(le, limit, m.emit(abs_, x))


def _pole(m: Machine, x: Array) -> Any:
    """A whole number that is not positive, and finite."""
    whole = m.emit(and_, m.emit(le, x, 0.0), m.emit(eq, x, m.emit(floor, x)))
    return m.emit(and_, whole, m.emit(lt, -math.inf, x))


def _infinite(m: Machine, x: Array) -> Any:
    return m.emit(eq, m.emit(abs_, x), math.inf)


def _too_large(limit: float, both: bool = False) -> Callable[[Machine, Array], Any]:
    """Finite, but so large that the result is not."""

    def wrong(m: Machine, x: Array) -> Any:
        x = Array(m.now, m.emit(abs_, x).value) if both else x
        return m.emit(and_, m.emit(lt, limit, x), m.emit(lt, x, math.inf))

    return wrong


_EXP, _COSH = 709.782712893384, 710.4758600739439
for _function, _ufunc, _wrong in (
    (math.sqrt, np.sqrt, _below(0.0)), (math.log2, np.log2, _at_most(0.0)), (math.log10, np.log10, _at_most(0.0)),
    (math.log1p, np.log1p, _at_most(-1.0)), (math.asin, np.arcsin, _beyond(1.0)), (math.acos, np.arccos, _beyond(1.0)),
    (math.sin, np.sin, _infinite), (math.cos, np.cos, _infinite), (math.tan, np.tan, _infinite),
    (math.atan, np.arctan, None), (math.atan2, np.arctan2, None), (math.tanh, np.tanh, None),
    (math.asinh, np.arcsinh, None), (math.hypot, hypot, None), (math.fabs, np.fabs, None),
    (math.degrees, np.degrees, None), (math.radians, np.radians, None), (math.acosh, np.arccosh, _below(1.0)),
    (math.atanh, np.arctanh, _from(1.0)), (math.cbrt, np.cbrt, None), (math.copysign, np.copysign, None),
    (math.erfc, NUMBERS["erfc"], None), (math.lgamma, NUMBERS["lgamma"], _pole),
):
    _math(_function, _ufunc, _wrong)
for _function, _ufunc, _wrong in (
    (math.exp, np.exp, _too_large(_EXP)), (math.expm1, np.expm1, _too_large(_EXP)),
    (math.sinh, np.sinh, _too_large(_COSH, True)), (math.cosh, np.cosh, _too_large(_COSH, True)),
    (math.exp2, np.exp2, _too_large(1023.9999999999999)),
):
    _math(_function, _ufunc, _wrong, OverflowError)


@meaning_of(math.erf)
def _erf(m: Machine, x: Any) -> Any:
    x = scalar_of(m, x)
    return weak(m.emit(erf, as_float(m, x))) if isinstance(x, Array) else call_native(m, math.erf, x)


@meaning_of(math.gamma)
def _gamma(m: Machine, x: Any) -> Any:
    x = scalar_of(m, x)
    if not isinstance(x, Array):
        return call_native(m, math.gamma, x)
    x = as_float(m, x)
    m.require(m.emit(not_, m.emit(or_, _pole(m, x), m.emit(eq, x, -math.inf))), ValueError, _DOMAIN)
    m.require(m.emit(not_, _too_large(171.6243769563027)(m, x)), OverflowError, _RANGE)
    return weak(native(m, lambda: NUMBERS["gamma"](x)))


@meaning_of(math.modf)
def _modf(m: Machine, x: Any) -> Any:
    x = scalar_of(m, x)
    if not isinstance(x, Array):
        return call_native(m, math.modf, x)
    x = as_float(m, x)
    return tuple(map(weak, native(m, lambda: modf(x))))


for _function in map(unpatched, (math.fmod, math.remainder)):
    def _divided(m: Machine, x: Any, y: Any, function: Any = _function) -> Any:
        if not traced((x, y)):
            return call_native(m, function, x, y)
        x, y = to_float(m, x), to_float(m, y)
        wrong = m.emit(or_, m.emit(eq, m.emit(abs_, x), math.inf), m.emit(eq, y, 0.0))
        defined = m.emit(and_, m.emit(eq, x, x), m.emit(eq, y, y))
        m.require(m.emit(not_, m.emit(and_, wrong, defined)), ValueError, _DOMAIN)
        return weak(native(m, lambda: NUMBERS[function.__name__](x, y)))

    meaning_of(_function)(_divided)

for _name, _meaning in LISTS.items():
    def _of_lists(m: Machine, *args: Any, name: str = _name, meaning: Any = _meaning) -> Any:
        low = [lower(m, a) for a in args]
        if not any(map(has_traced, low)):
            return native(m, lambda: getattr(math, name)(*low))
        return weak(native(m, lambda: meaning(*low)))

    meaning_of(getattr(math, _name))(_of_lists)


@meaning_of(math.log)
def _log(m: Machine, x: Any, *base: Any) -> Any:
    if base and traced((x, *base)):
        return numbers.binary(m, operator.truediv, _log(m, x), _log(m, *base))
    x = scalar_of(m, x)
    if not isinstance(x, Array):
        return call_native(m, math.log, x, *base)
    x = as_float(m, x)
    m.require(m.emit(not_, m.emit(le, x, 0.0)), ValueError, _DOMAIN)
    return weak(np.log(x))


@meaning_of(math.pow)
def _math_pow(m: Machine, x: Any, y: Any) -> Any:
    if not traced((x, y)):
        return call_native(m, math.pow, x, y)
    x, y = to_float(m, x), to_float(m, y)
    numbers.hold(m, (each._replace(error=ValueError, text=_DOMAIN) for each in needed(np.power, x, y)))
    made = native(m, lambda: arithmetic(np.power, x, y))
    numbers.hold(m, (each._replace(error=OverflowError, text=_RANGE) for each in fitting(made, x, y)))
    return made


for _function, _rounding in ((math.floor, floor), (math.ceil, ceil), (math.trunc, trunc)):
    def _integral(m: Machine, x: Any, function: Any = _function, rounding: Any = _rounding) -> Any:
        x = scalar_of(m, x)
        if not isinstance(x, Array):
            return call_native(m, function, x)
        return as_whole(m, x, rounding) if x.type.is_float else as_int(m, x)

    meaning_of(_function)(_integral)

for _function, _ufunc in ((math.isnan, np.isnan), (math.isinf, np.isinf), (math.isfinite, np.isfinite)):
    def _kind_of(m: Machine, x: Any, function: Any = _function, ufunc: Any = _ufunc) -> Any:
        x = scalar_of(m, x)
        return weak(ufunc(as_float(m, x))) if isinstance(x, Array) else call_native(m, function, x)

    meaning_of(_function)(_kind_of)
