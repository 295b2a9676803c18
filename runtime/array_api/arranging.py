"""Elements moved, found, ordered and told apart, by the standard's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..tensor.face import functions as T
from ..tensor.value.dtypes import ALL, DType


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Tensors end to end along an axis; without one, all their elements."""
    parts = list(arrays)
    return T.cat([x.reshape(-1) for x in parts] if axis is None else parts, 0 if axis is None else axis)


def expand_dims(x: Any, /, axis: int = 0) -> Any:
    """With an axis of size one."""
    return T.unsqueeze(x, axis)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """The other way round along some axes, or all."""
    return T.flip(x, _axes(axis, x.ndim))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Axes at other places, all others in order."""
    return T.movedim(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Any:
    """The axes in another order."""
    return T.permute(x, tuple(axes))


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Every element, or row along an axis, several times."""
    return T.repeat_interleave(x, repeats, axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in another shape."""
    if copy is False:
        return x.view(tuple(shape))
    made = T.reshape(x, tuple(shape))
    return made.clone() if copy else made


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """Elements moved along axes, and from the ends to the beginnings."""
    return T.roll(x, shift) if axis is None else T.roll(x, shift, axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    """Without some axes of size one."""
    axes = _axes(axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has size {x.shape[each]}, not 1")
    return T.squeeze(x, tuple(axes))


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Any:
    """Tensors side by side along a new axis."""
    return T.stack(list(arrays), axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    """Copies side by side."""
    return T.tile(x, tuple(repetitions))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The tensors along an axis."""
    return tuple(T.unbind(x, axis))


# ---- by index


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Rows of an axis by index."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: say along which axis; the tensor has {x.ndim}")
    at = 0 if axis is None else axis
    return T.index_select(x, at, T.where(indices < 0, indices + x.shape[at], indices).to(indices.dtype))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Elements by index along an axis."""
    at = axis % x.ndim
    shape = T.broadcast_shapes(_without(x.shape, at), _without(indices.shape, at))
    wide = [(*shape[:at], each.shape[at], *shape[at:]) for each in (x, indices)]
    found = T.broadcast_to(indices, wide[1]).to(_INDEX)
    return T.gather(T.broadcast_to(x, wide[0]), at, T.where(found < 0, found + x.shape[at], found))


def _without(shape: Any, at: int) -> tuple[int, ...]:
    return (*shape[:at], *shape[at + 1 :])


_INDEX = T.arange(0).dtype

# ---- where values are


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the largest element is."""
    return _position(T.argmax, x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the smallest element is."""
    return _position(T.argmin, x, axis, keepdims)


def _position(function: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
    if axis is None:
        made = function(x.reshape(-1), 0)
        return made.reshape((1,) * x.ndim) if keepdims else made
    return function(x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return sum(T.ne(x, 0).to(_INDEX), axis=axis, keepdims=keepdims)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """Where elements are not zero: indices along each axis."""
    if not x.ndim:
        raise ValueError("nonzero: a tensor without axes has no indices")
    return tuple(T.nonzero(x, as_tuple=True))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where values belong among sorted ones."""
    return T.searchsorted(x1 if sorter is None else take(x1, sorter), x2.contiguous(), right=side == "right")


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """x1 where the condition holds, else x2."""
    return T.where(condition, x1, x2)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The order of the elements along an axis."""
    return T.argsort(x, dim=axis, descending=descending, stable=stable)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order along an axis."""
    return T.sort(x, dim=axis, descending=descending, stable=stable)[0]


# ---- sets


class UniqueAll(NamedTuple):
    """Values, where each is first, which of them an element is, and how many there are."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Values, and how many there are of each."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Values, and which of them an element is."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /) -> UniqueAll:
    """The different values, in order; a NaN is another one each time."""
    flat = x.reshape(-1)
    order = T.argsort(flat, stable=True)
    ordered = take(flat, order)
    some = 1 if flat.numel() else 0
    new = T.cat([T.ones(some, dtype=_TRUTH), T.ne(ordered[1:], ordered[:-1])])
    starts = T.nonzero(new, as_tuple=True)[0]
    ends = T.cat([starts[1:], T.full((some,), flat.numel(), dtype=_INDEX)])
    which = T.zeros_like(order).scatter(0, order, T.cumsum(new.to(_INDEX), 0) - 1)
    return UniqueAll(take(ordered, starts), take(order, starts), which.reshape(x.shape), ends - starts)


_TRUTH = T.ne(T.arange(0), 0).dtype


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different values, and how many there are of each."""
    made = unique_all(x)
    return UniqueCounts(made.values, made.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different values, and which of them an element is."""
    made = unique_all(x)
    return UniqueInverse(made.values, made.inverse_indices)


def unique_values(x: Any, /) -> Any:
    """The different values."""
    return unique_all(x).values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Which elements of one tensor are among those of the other."""
    return T.isin(x1, x2, invert=invert)


# ---- folds


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    return _folded(T.all, x.to(_TRUTH), axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element is true."""
    return _folded(T.any, x.to(_TRUTH), axis, keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element."""
    return _folded(T.amax, x, axis, keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element."""
    return _folded(T.amin, x, axis, keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean."""
    return _folded(T.mean, x, axis, keepdims)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum; whole numbers add up in int64, those without a sign in uint64."""
    kind = _added(x) if dtype is None else dtype
    return _folded(T.sum, x.to(kind), axis, keepdims).to(kind)


def _added(x: Any) -> DType:
    """The dtype in which elements are added and multiplied."""
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return x.dtype
    return ALL["u64"] if x.dtype.numpy.kind == "u" else _INDEX


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product; that of whole numbers is an int64, or a uint64."""
    kind = _added(x) if dtype is None else dtype
    made = x.to(kind)
    if axis is None:
        made, axis = T.prod(made.reshape(-1), 0), ()
        made = made.reshape((1,) * x.ndim) if keepdims else made
    for each in sorted(_axes(axis, x.ndim), reverse=True):
        made = T.prod(made, each, keepdims)
    return made.to(kind)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation; the divisor is the number of elements less the correction."""
    return _varied(T.std, x, axis, correction, keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance; the divisor is the number of elements less the correction."""
    return _varied(T.var, x, axis, correction, keepdims)


def _varied(function: Any, x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    axes = _axes(axis, x.ndim)
    return function(x, axes, correction=correction, keepdim=keepdims) if axes else (x - x) / (1.0 - correction)


def _folded(function: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    axes = _axes(axis, x.ndim)
    return function(x, axes, keepdims) if axes else x if axis == () else function(x)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The sums up to each element, and with the initial one a zero before them."""
    return _running(T.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The products up to each element, and with the initial one a one before them."""
    return _running(T.cumprod, x, axis, dtype, 1 if include_initial else None)


def _running(function: Any, x: Any, axis: int | None, dtype: Any, initial: int | None) -> Any:
    if axis is None and x.ndim != 1:
        raise ValueError(f"say along which axis; the tensor has {x.ndim}")
    at = 0 if axis is None else axis
    made = function(x, at, dtype=_added(x) if dtype is None else dtype)
    if initial is None:
        return made
    shape = list(made.shape)
    shape[at] = 1
    return T.cat([T.full(tuple(shape), initial, dtype=made.dtype), made], at)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours, n times."""
    return T.diff(x, n, axis, prepend, append)


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that are meant, from 0 on."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    for each in given:
        if not -rank <= each < rank:
            raise IndexError(f"axis {each} is out of range for a tensor of {rank} dimensions")
    return tuple([each % rank for each in given])




__all__ = [
    "UniqueAll", "UniqueCounts", "UniqueInverse", "all", "any", "argmax", "argmin", "argsort", "concat",
    "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "expand_dims", "flip", "isin", "max", "mean",
    "min", "moveaxis", "nonzero", "permute_dims", "prod", "repeat", "reshape", "roll", "searchsorted", "sort",
    "squeeze", "stack", "std", "sum", "take", "take_along_axis", "tile", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "var", "where",
]  # fmt: skip
