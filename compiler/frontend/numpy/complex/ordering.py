"""NumPy's order of complex numbers on traced arrays: comparisons, extrema, medians, sorting, and what asks for them.

It is lexicographic, by the real parts and then by the imaginary ones; a number is NaN where a part is. An extremum has
the derivative of the first element that it is. What sorts or looks up goes by lexsort, or compares all with all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.complex.pairs import Complex, Pair
from ...array import FUNCTIONS, Array
from ...promotion import result_dtype
from ..differences import interp as real_interp
from ..nans import extremum, place_of_extremum, spread
from ..ordering import along, places_of
from ..quantiles import kept, rows_of
from ..reductions import Axis, any_, masked, normal_axis, nothing, root, sum_, traced
from ..reductions import amax as real_max
from ..reductions import argmax as real_argmax
from ..ufuncs import clip, elementwise
from ..ufuncs import where as chosen
from .complexes import ANY, FORMULAS, joined, own, refused
from .functions import argsort, nan_kinds, sort, var

# ---- comparisons of two


def _is_nan(z: Pair) -> Any:
    r = z.m.real
    return r.not_(r.and_(r.eq(z.re, z.re), r.eq(z.im, z.im)))


def _before(x: Pair, y: Pair, last: str) -> Any:
    """Whether x comes before y; among equal real parts as the imaginary ones compare."""
    r = x.m.real
    numbers = r.and_(r.eq(x.im, x.im), r.eq(y.im, y.im))
    first = r.and_(r.lt(x.re, y.re), numbers)
    return r.or_(first, r.and_(r.eq(x.re, y.re), getattr(r, last)(x.im, y.im)))


def _compared(last: str, turned: bool) -> Callable[..., Any]:
    def formula(m: Complex, x: Pair, y: Pair) -> Any:
        return _before(y, x, last) if turned else _before(x, y, last)

    return formula


def _chosen(turned: bool, passes_nan: bool) -> Callable[..., Pair]:
    """The greater of two, or the less; a NaN if there is one, or the other number."""

    def formula(m: Complex, x: Pair, y: Pair) -> Pair:
        first = m.real.or_(_before(*((y, x) if turned else (x, y)), "le"), _is_nan(y if passes_nan else x))
        return Pair(m, m.real.select(first, x.re, y.re), m.real.select(first, x.im, y.im))

    return formula


def _truth(z: Pair) -> Any:
    r = z.m.real
    if z.value.type.dtype == "bool":
        return r.or_(z.re, z.im)
    return r.not_(r.and_(r.eq(z.re, 0), r.eq(z.im, 0)))


def _logical(name: str) -> Callable[..., Any]:
    return lambda m, *z: getattr(m.real, name)(*map(_truth, z))


FORMULAS.update({
    "less": _compared("lt", False), "less_equal": _compared("le", False),
    "greater": _compared("lt", True), "greater_equal": _compared("le", True),
    "maximum": _chosen(True, False), "minimum": _chosen(False, False),
    "fmax": _chosen(True, True), "fmin": _chosen(False, True),
    "logical_and": _logical("and_"), "logical_or": _logical("or_"), "logical_not": _logical("not_"),
    "logical_xor": lambda m, x, y: m.real.not_(m.real.eq(_truth(x), _truth(y))),
})  # fmt: skip
ANY.add(clip)

# ---- folds


def _hits(x: Array, axis: int | None, least: bool) -> Array:
    """Where the elements are the extremum; where they are NaN, if some are."""
    re, im = (elementwise(np.negative, part) if least else part for part in x.parts)
    near = elementwise(np.equal, re, real_max(re, axis, True))
    edge = real_max(chosen(near, im, -math.inf), axis, True)
    bad = elementwise(np.isnan, x)
    return chosen(any_(bad, axis, True), bad, elementwise(np.logical_and, near, elementwise(np.equal, im, edge)))


def _place(name: str, least: bool) -> Callable[..., Array]:
    def fold(a: Any, axis: int | None = None, keepdims: bool = False) -> Array:
        x = traced(a)[1]
        if (x.size if axis is None else x.shape[normal_axis(axis, x.ndim)]) == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        return real_argmax(_hits(x, axis, least), axis, keepdims)

    return fold


argmax = own(np.argmax)(_place("argmax", False))
argmin = own(np.argmin)(_place("argmin", True))


def _extremum(name: str, join: np.ufunc, place: Callable[..., Array]) -> Callable[..., Array]:
    def fold(
        a: Any, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
    ) -> Array:
        rows, shape, axes = rows_of(masked(join, a, initial, where), axis)
        if rows.shape[-1] == 0 and initial is None:
            raise nothing(name, rows)
        if rows.shape[-1] == 0:
            made = elementwise(np.add, sum_(rows, -1), initial)
        else:
            made = along(rows, place(rows, -1, True))[..., 0]
            made = made if initial is None else elementwise(join, made, initial).astype(rows.dtype)
        return kept(made, shape, axes, keepdims, ())

    return fold


amax = own(np.max, np.amax)(_extremum("max", np.maximum, argmax))
amin = own(np.min, np.amin)(_extremum("min", np.minimum, argmin))
LOWEST, HIGHEST = complex(-math.inf, -math.inf), complex(math.inf, math.inf)
own(np.nanmax)(extremum(amax, LOWEST))
own(np.nanmin)(extremum(amin, HIGHEST))
own(np.nanargmax)(place_of_extremum(argmax, LOWEST))
own(np.nanargmin)(place_of_extremum(argmin, HIGHEST))
_nanvar = own(np.nanvar)(spread(var))


@own(np.nanstd)
def nanstd(a: Any, axis: Axis = None, dtype: Any = None, **given: Any) -> Array:
    return root(_nanvar(a, axis, dtype, **given))


@own(np.ptp)
def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Array:
    return elementwise(np.subtract, amax(a, axis, keepdims), amin(a, axis, keepdims))


# ---- order statistics and look-ups


@own(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    x = traced(a)[1]
    x, axis = (x.reshape(-1), -1) if axis is None else (x, axis)
    places_of(kth, x.shape[normal_axis(axis, x.ndim)], kind, order)
    return argsort(x, axis)


@own(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    x = traced(a)[1]
    x, axis = (x.reshape(-1), -1) if axis is None else (x, axis)
    return FUNCTIONS[np.take_along_axis](x, argpartition(x, kth, axis, kind, order), axis)


ANY.update((
    np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values, np.union1d, np.intersect1d,
    np.setdiff1d, np.setxor1d,
))  # fmt: skip


def _middle(a: Any, axis: Axis, keepdims: bool, passes: bool) -> Array:
    """The median of each row, of its numbers or NaN where it has one that is none."""
    rows, shape, axes = rows_of(a, axis)
    bad = elementwise(np.isnan, rows)
    count = rows.shape[-1] - sum_(bad, -1, None, True)
    if rows.shape[-1] == 0:
        made = FUNCTIONS[np.mean](rows, -1)
    else:
        ordered = sort(chosen(bad, HIGHEST, rows))
        low, high = (along(ordered, elementwise(np.maximum, k, 0)) for k in ((count - 1) // 2, count // 2))
        made = elementwise(np.true_divide, elementwise(np.add, low, high), 2)
        made = chosen(count % 2 == 1, low, made)
        lost = elementwise(np.equal, count, 0) if passes else elementwise(np.less, count, rows.shape[-1])
        made = chosen(lost, np.nan, made)[..., 0]
    return kept(made, shape, axes, keepdims, ())


@own(np.median)
def median(a: Any, axis: Axis = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    return _middle(a, axis, keepdims, False)


@own(np.nanmedian)
def nanmedian(a: Any, axis: Axis = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    return _middle(a, axis, keepdims, True)


def _known(x: Array) -> Array:
    """The parts that are numbers, and 0 for the others."""
    return joined(*(chosen(elementwise(np.isnan, part), 0, part) for part in x.parts))


def _all_pairs(x: Array, others: Array, compare: np.ufunc) -> Array:
    """compare(other, x) for each x along a new last axis of others."""
    return elementwise(compare, others.reshape(-1), x.reshape((*x.shape, 1)))


@own(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Array:
    found = any_(_all_pairs(traced(element)[1], traced(test_elements)[1], np.equal), -1)
    return elementwise(np.logical_not, found) if invert else found


@own(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    """How many come before, of those in order, NaN behind all: each is compared with each."""
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    ordered, x = traced(a)[1], traced(v)[1]
    if sorter is not None:
        ordered = FUNCTIONS[np.take](ordered, sorter)
    kind = result_dtype(ordered, x)
    ordered, x = ordered.astype(kind), x.astype(kind)
    (these, of_these), (those, of_those) = ((nan_kinds(each), _known(each)) for each in (x, ordered))
    nearer = _all_pairs(of_these, of_those, np.less if side == "left" else np.less_equal)
    same, before = (_all_pairs(these, those, compare) for compare in (np.equal, np.less))
    return sum_(elementwise(np.logical_or, before, elementwise(np.logical_and, same, nearer)), -1)


@own(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    """Of complex values at real points: that of their parts."""
    if any(traced(each)[1].type.is_complex for each in (x, xp)):
        raise refused("np.interp at points")
    if not traced(fp)[1].type.is_complex:
        raise TypeError("np.interp of real values fp with complex left or right: make fp complex, fp + 0j")
    given = [None if each is None else traced(each)[1].astype(np.complex128).parts for each in (fp, left, right)]
    made = []
    for k in range(2):
        values, *ends = (None if each is None else each[k] for each in given)
        made.append(real_interp(x, xp, values, *ends, period))
    return joined(*made)


__all__ = ["amax", "amin", "argmax", "argmin", "median"]
