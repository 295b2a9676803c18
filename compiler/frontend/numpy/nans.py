"""NumPy's folds and scans that pass over NaN, on traced arrays: an element that is NaN gets no gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Array, implements
from .averages import mean, var
from .ordering import holds
from .reductions import (
    Axis,
    all_,
    amax,
    amin,
    any_,
    argmax,
    argmin,
    cumprod,
    cumsum,
    prod,
    root,
    sum_,
    traced,
)
from .ufuncs import elementwise
from .ufuncs import where as chosen


def _missing(x: Array) -> Array | None:
    """Where an array has NaN, if it can have any."""
    return elementwise(np.isnan, x) if x.dtype.kind in "fc" else None


def _filled(a: Any, unit: float) -> Array:
    _now, x = traced(a)
    bad = _missing(x)
    return x if bad is None else chosen(bad, unit, x)


def _both(bad: Array, mask: Any) -> Any:
    """Where an element counts: it is a number, and the mask holds."""
    good = elementwise(np.logical_not, bad)
    return good if mask is True else elementwise(np.logical_and, good, mask)


def _fold(fold: Callable[..., Array], unit: float) -> Callable[..., Array]:
    def function(
        a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Array:
        return fold(_filled(a, unit), axis, dtype, keepdims, initial=initial, where=where)

    return function


implements(np.nansum)(_fold(sum_, 0))
implements(np.nanprod)(_fold(prod, 1))


def _scan(scan: Callable[..., Array], unit: float) -> Callable[..., Array]:
    def function(a: Any, axis: int | None = None, dtype: Any = None) -> Array:
        return scan(_filled(a, unit), axis, dtype)

    return function


implements(np.nancumsum)(_scan(cumsum, 0))
implements(np.nancumprod)(_scan(cumprod, 1))


def _stays_inexact(x: Array, dtype: Any) -> None:
    if dtype is not None and x.dtype.kind in "fc" and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")


@implements(np.nanmean)
def nanmean(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Array:
    _now, x = traced(a)
    _stays_inexact(x, dtype)
    bad = _missing(x)
    return mean(x, axis, dtype, keepdims, where=where if bad is None else _both(bad, where))


def spread(var: Callable[..., Array]) -> Callable[..., Array]:
    """np.nanvar by np.var."""

    def nanvar(
        a: Any, axis: Axis = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True,
        mean: Any = None, correction: Any = None,
    ) -> Array:  # fmt: skip
        _now, x = traced(a)
        _stays_inexact(x, dtype)
        bad = _missing(x)
        good = where if bad is None else _both(bad, where)
        made = var(x, axis, dtype, ddof, keepdims, where=good, mean=mean, correction=correction)
        less = correction or ddof
        if bad is None or not less:
            return made
        enough = elementwise(np.greater, sum_(good, axis, None, keepdims), less)
        return chosen(enough, made, np.nan)

    return nanvar


nanvar = implements(np.nanvar)(spread(var))


@implements(np.nanstd)
def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Array:  # fmt: skip
    return root(
        nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
    )


def extremum(fold: Callable[..., Array], other: complex) -> Callable[..., Array]:
    """np.nanmax by np.max, or np.nanmin by np.min; `other` stands for what is NaN."""

    def function(
        a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Array:
        _now, x = traced(a)
        bad = _missing(x)
        if bad is None:
            return fold(x, axis, keepdims, initial=initial, where=where)
        made = fold(chosen(bad, other, x), axis, keepdims, initial=initial, where=where)
        if initial is not None:
            return made
        return chosen(any_(_both(bad, where), axis, keepdims), made, np.nan)

    return function


implements(np.nanmax)(extremum(amax, -math.inf))
implements(np.nanmin)(extremum(amin, math.inf))


def place_of_extremum(fold: Callable[..., Array], other: complex) -> Callable[..., Array]:
    """np.nanargmax by np.argmax, or np.nanargmin by np.argmin."""

    def function(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Array:
        _now, x = traced(a)
        bad = _missing(x)
        if bad is None:
            return fold(x, axis, keepdims)
        holds(elementwise(np.logical_not, any_(all_(bad, axis))), "All-NaN slice encountered")
        return fold(chosen(bad, other, x), axis, keepdims)

    return function


implements(np.nanargmax)(place_of_extremum(argmax, -math.inf))
implements(np.nanargmin)(place_of_extremum(argmin, math.inf))

__all__ = ["extremum", "nanmean", "nanstd", "nanvar", "place_of_extremum", "spread"]
