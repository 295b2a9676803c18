"""NumPy's sets, and functions that leave out or put in elements, on traced arrays.

How many distinct elements there are depends on values: such a function asks for the mask that decides, which a trace
for the values of one call has, under a guard; another trace refuses it. The elements are gathered, so they have
derivatives. What depends on arrays that are known alone is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array, implements
from ..errors import TraceValueError, message
from ..promotion import as_operand, shape_of
from ..sizes import product
from ..tracing import user_line
from .ordering import along, not_zero, order_of, selected
from .reductions import any_, normal_axis, traced
from .shaping import broadcast_to, concatenate, moveaxis, sizes
from .ufuncs import elementwise

FIX = "use np.sort, np.isin or np.where, which keep the shape; or compute it outside of the function"


def _order(x: Array) -> Array:
    """Places in order, by NumPy's protocol, as numbers may be complex."""
    made: Any = np.argsort(x, stable=True)
    return made


def _starts(name: str, ordered: Array, equal_nan: bool = True) -> np.ndarray:
    """Where runs of equal elements, in order, begin."""
    n = ordered.shape[0]
    if n == 0:
        return np.zeros(0, bool)
    later, earlier = ordered[1:], ordered[:-1]
    change = elementwise(np.not_equal, later, earlier)
    if equal_nan and ordered.dtype.kind in "fc":
        both = elementwise(np.logical_and, elementwise(np.isnan, later), elementwise(np.isnan, earlier))
        change = elementwise(np.logical_and, change, elementwise(np.logical_not, both))
    return np.concatenate([[True], selected(name, change, FIX)])


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    _now, x = traced(ar)
    if axis is not None:
        fix = "lay it flat, or take the rows apart outside of the function"
        raise TraceValueError(message(f"np.unique along axis={axis} of a traced array", user_line(), fix))
    places = _order(x.reshape(-1))
    ordered = along(x.reshape(-1), places)
    first = _starts("np.unique", ordered, equal_nan)
    at = np.flatnonzero(first)
    made: list[Any] = [ordered[at]]
    if return_index:
        made.append(places[at])
    if return_inverse:
        numbers = np.cumsum(first) - 1
        made.append(along(traced(numbers)[1], order_of(places)).reshape(x.shape))
    if return_counts:
        made.append(np.diff(np.append(at, len(first))))
    return made[0] if len(made) == 1 else tuple(made)


def _named(original: Any, *wanted: str) -> None:
    """The parts of `unique` under the names that NumPy gives them."""

    @implements(original)
    def function(x: Any) -> Any:
        made = unique(x, equal_nan=False, **dict.fromkeys(wanted, True))
        kind = getattr(np.lib._arraysetops_impl, _KINDS[original.__name__], None) if wanted else None
        return kind(*made) if kind else made


_KINDS = {
    "unique_all": "UniqueAllResult",
    "unique_counts": "UniqueCountsResult",
    "unique_inverse": "UniqueInverseResult",
}
_named(np.unique_all, "return_index", "return_inverse", "return_counts")
_named(np.unique_counts, "return_counts")
_named(np.unique_inverse, "return_inverse")
_named(np.unique_values)


def _flat(*arrays: Any) -> Array:
    return concatenate(arrays, None)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Array:
    return unique(_flat(ar1, ar2))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    x, y = (traced(a)[1].reshape(-1) for a in (ar1, ar2))
    if not assume_unique:
        (x, first), (y, second) = unique(x, return_index=True), unique(y, return_index=True)
    both = concatenate([x, y])
    places = _order(both)
    ordered = along(both, places)
    same = elementwise(np.equal, ordered[1:], ordered[:-1])
    at = np.flatnonzero(selected("np.intersect1d", same, FIX))
    made = ordered[at]
    if not return_indices:
        return made
    mine, other = places[at], places[at + 1] - x.shape[0]
    return (made, mine, other) if assume_unique else (made, first[mine], second[other])


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    x = traced(ar1)[1].reshape(-1)
    x = x if assume_unique else unique(x)
    found: Any = np.isin(x, ar2, invert=True)
    return x[np.flatnonzero(selected("np.setdiff1d", found, FIX))]


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    parts = [traced(a)[1].reshape(-1) if assume_unique else unique(a) for a in (ar1, ar2)]
    both = concatenate(parts)
    ordered = along(both, _order(both))
    starts = _starts("np.setxor1d", ordered, False)
    return ordered[np.flatnonzero(starts & np.append(starts[1:], True))] if len(starts) else ordered


# ---- leaving out and putting in


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None) -> Array:
    fix = "use np.where(condition, x, 0), which keeps the shape"
    mask = selected("np.compress", not_zero(condition), fix)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    _now, x = traced(a)
    x, place = (x.reshape(-1), 0) if axis is None else (x, normal_axis(axis, x.ndim))
    return x[(*[slice(None)] * place, np.flatnonzero(mask))]


@implements("compress")
def compress_method(a: Array, condition: Any, axis: int | None = None) -> Array:
    return compress(condition, a, axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Array:
    fix = "use np.where(condition, x, 0), which keeps the shape"
    mask = selected("np.extract", not_zero(condition), fix)
    return traced(arr)[1].reshape(-1)[np.flatnonzero(mask)]


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    _now, x = traced(filt)
    axes = range(x.ndim) if axis is None else [normal_axis(k, x.ndim) for k in sizes(axis)]
    mask = selected("np.trim_zeros", not_zero(x), "use np.where, which keeps the shape")
    trim = trim.lower()
    if trim not in ("f", "b", "fb", "bf", ""):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    key = [slice(None)] * x.ndim
    for k in axes:
        filled = np.flatnonzero(mask.any(tuple(j for j in range(x.ndim) if j != k)))
        start = (filled[0] if len(filled) else x.shape[k]) if "f" in trim else 0
        stop = (filled[-1] + 1 if len(filled) else start if "f" in trim else 0) if "b" in trim else x.shape[k]
        key[k] = slice(int(start), int(stop))
    return x[tuple(key)]


def _known(name: str, obj: Any) -> Any:
    """Places that say how large a result is."""
    return selected(name, obj, "give the places as numbers that are known") if isinstance(obj, Array) else obj


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    _now, x = traced(arr)
    x, place = (x.reshape(-1), 0) if axis is None else (x, normal_axis(axis, x.ndim))
    kept = np.delete(np.arange(x.shape[place]), _known("np.delete", obj))
    return x[(*[slice(None)] * place, kept)]


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """NumPy tells where the elements of both go, by the numbers that stand for them."""
    _now, x = traced(arr)
    x, place = (x.reshape(-1), 0) if axis is None else (x, normal_axis(axis, x.ndim))
    at, n = _known("np.insert", obj), x.shape[place]
    many = np.insert(np.zeros(n), at, 0).size - n
    y = traced(values)[1].astype(x.dtype)
    y = y.reshape((*(1,) * (x.ndim - y.ndim), *y.shape)) if y.ndim < x.ndim else y
    if not shape_of(np.asarray(at)) and not isinstance(at, slice):
        y = moveaxis(y, 0, place)
        many = y.shape[place] if y.shape[place] > 1 else many
    y = broadcast_to(y, (*x.shape[:place], many, *x.shape[place + 1 :]))
    order = np.insert(np.arange(n), at, np.arange(n, n + many))
    return concatenate([x, y], place)[(*[slice(None)] * place, order)]


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Array:
    _now, x = traced(a)
    to = sizes(new_shape)
    if any(n < 0 for n in to):
        raise ValueError("all elements of `new_shape` must be non-negative")
    count = product(to)
    if x.size == 0:
        return Array(x.tracing, traced(np.zeros(to, x.dtype))[1].value)
    return x.reshape(-1)[np.arange(count) % x.size].reshape(to)


# ---- comparisons of whole arrays


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = as_operand(a1), as_operand(a2)
    if shape_of(x) != shape_of(y):
        return False
    same = elementwise(np.equal, x, y)
    if equal_nan:
        same = same | (elementwise(np.not_equal, x, x) & elementwise(np.not_equal, y, y))
    return elementwise(np.logical_not, any_(elementwise(np.logical_not, same)))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = as_operand(a1), as_operand(a2)
    try:
        np.broadcast_shapes(shape_of(x), shape_of(y))
    except ValueError:
        return False
    return elementwise(np.logical_not, any_(elementwise(np.not_equal, x, y)))


__all__ = ["unique"]
