"""Shapes of what a mask selects: its length, arrays of that length, transposes, stacks, and methods and attributes.

    len(y), y.shape[0]          the count, a traced number        np.ones(len(y))     ones under the same mask
    np.column_stack([y, z])     columns under the same mask       y[:, None], y.T     the selected axis elsewhere
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ....ops.elementwise import cast
from ....ops.reduce import sum_
from ....ops.shape import reshape
from ...array import Array
from ...patched.patches import unpatched
from .. import calls
from ..arrays.access import ALL, shape_of, wrap
from ..calls import call, meaning_of
from ..library import library_call
from ..machine import Machine
from ..numbers import binary
from ..values import is_array, is_list, is_scalar
from .selected import Selection
from .selected_calls import MEANINGS, again, elementwise, of, of_first, selected_call
from .selecting import array, count_of, filled, get_selected, places_of, refuse, same_mask, whole

# ---- sizes


def _shape(m: Machine, x: Selection) -> tuple[Any, ...]:
    return tuple([count_of(m, x.mask) if k == x.axis else n for k, n in enumerate(x.values.shape)])


def _size(m: Machine, x: Selection) -> Any:
    rest = int(np.prod([n for k, n in enumerate(x.values.shape) if k != x.axis]))
    return count_of(m, x.mask) if rest == 1 else binary(m, operator.mul, count_of(m, x.mask), rest)


@of(len)
def _len(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return _shape(m, args[0])[0]


@of(np.size, np.shape, np.ndim)
def _sizes(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    if len(args) > 1 or kwargs:
        return refuse(m, function.__name__)
    return attribute(m, args[0], function.__name__)


def attribute(m: Machine, x: Selection, name: str) -> Any:
    """x.name."""
    if name in ("shape", "size", "ndim"):
        return _shape(m, x) if name == "shape" else _size(m, x) if name == "size" else x.rank
    if name in ("dtype", "itemsize"):
        return getattr(x.values, name)
    if name == "T":
        return _transposed(m, np.transpose, [x], {})
    if name in ("real", "imag"):
        return elementwise(m, getattr(np, name), [x], {})
    if not callable(getattr(np.ndarray, name, None)):
        return refuse(m, f"the attribute {name}")
    return calls.Method(name, x)


def method(m: Machine, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """owner.name(...), where the owner or an argument is what a mask selects."""
    if isinstance(owner, Selection):
        if name == "astype":
            return again(m, calls.METHODS[0](m, whole(m, owner), name, args, kwargs), owner, owner.axis)
        if name in ("flatten", "ravel", "reshape"):
            shape = args[0] if len(args) == 1 else tuple(args) if args else -1
            return _reshaped(m, np.reshape, [owner, shape], kwargs)
        if name == "transpose" and not args:
            return _transposed(m, np.transpose, [owner], {})
    function = getattr(np, name, None)
    if function is None or not callable(getattr(np.ndarray, name, None)):
        return refuse(m, f"ndarray.{name}")
    return call(m, function, [owner, *args], kwargs)


@of(np.transpose)
def _transposed(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    (x,) = args if len(args) == 1 and not kwargs else (None,)
    if x is None:
        return refuse(m, "np.transpose")
    return again(m, call(m, np.transpose, [whole(m, x)], {}), x, x.rank - 1 - x.axis)


@of(np.reshape, np.ravel)
def _reshaped(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    """One axis of what is selected, among axes of size one."""
    x, wanted = args[0], args[1] if len(args) > 1 else kwargs.get("shape", -1)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    wanted = tuple([-1 if is_scalar(k) and _counts(m, k, x) else k for k in wanted])
    if x.rank != 1 or any(type(k) is not int for k in wanted) or sorted(wanted) != [-1, *[1] * (len(wanted) - 1)]:
        return refuse(m, "np.reshape")
    return get_selected(m, x, tuple([ALL if k == -1 else None for k in wanted]))


def _counts(m: Machine, k: Array, x: Selection) -> bool:
    mask = m.counts.get(k.value)
    return mask is not None and same_mask(m, mask, x)


# ---- arrays of that size


def _library(function: Any, m: Machine, *args: Any, **kwargs: Any) -> Any:
    return library_call(m, function, list(args), kwargs)


def _counted(m: Machine, size: Any) -> Array | None:
    """The mask whose truths a size counts."""
    if not is_scalar(size) or m.freezing:
        return None
    known = m.counts.get(size.value)
    if known is not None:
        return known
    made = {r: op for op in m.now.builder.body for r in op.results}
    op = made.get(size.value)
    while op is not None and op.prim in (cast, sum_, reshape) and op.args[0].type.dtype != "bool":
        op = made.get(op.args[0])
    summed = op is not None and op.prim is cast and size.type.dtype == "i64" and op.args[0].type.rank == 1
    return Array(m.now, op.args[0]) if summed else None  # type: ignore[union-attr]


def _created(m: Machine, *args: Any, function: Any, otherwise: Any, **kwargs: Any) -> Any:
    """np.ones(n), np.zeros((n, 3)) and their like, of as many rows as a mask selects."""
    size = args[0] if args else kwargs.get("shape")
    sizes = size if isinstance(size, tuple) else (size,)
    mask = _counted(m, sizes[0]) if sizes else None
    if mask is None or (function is np.arange and (len(args) != 1 or kwargs)):
        return otherwise(m, *args, **kwargs)
    m.selects = True
    if function is np.arange:
        number = binary(m, operator.sub, call(m, np.cumsum, [wrap(m, mask)], {}), 1)
        return Selection(array(m, number), mask, 0)
    wide = (mask.shape[0], *sizes[1:])
    made = library_call(m, function, [wide, *args[1:]], {k: v for k, v in kwargs.items() if k != "shape"})
    return Selection(array(m, made), mask, 0)


for _maker in map(unpatched, (np.ones, np.zeros, np.empty, np.full, np.arange)):
    _otherwise = calls.CALLS.get(_maker) or functools.partial(_library, _maker)
    meaning_of(_maker)(functools.partial(_created, function=_maker, otherwise=_otherwise))


@of(np.ones_like, np.zeros_like, np.empty_like, np.full_like, np.copy, np.asarray, np.array, np.ascontiguousarray)
def _like(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(args[0], Selection):
        return of_first(m, function, args, kwargs)
    if function in (np.array, np.asarray) and not kwargs and len(args) == 1 and is_list(args[0]):
        return _stacked(m, np.stack, args, {})
    return refuse(m, function.__name__)


def _items(m: Machine, x: Any) -> list[Selection]:
    """The items of a list, all of which one mask selects along one axis."""
    items = list(m.content(x.box)) if is_list(x) else list(x) if isinstance(x, tuple) else []
    for i in items:
        like = items[0]
        both = isinstance(i, Selection) and isinstance(like, Selection)
        if not both or (i.rank, i.axis) != (like.rank, like.axis) or not same_mask(m, i, like):
            return refuse(m, "a list of arrays")
    return items if items else refuse(m, "an empty list")


def _joined(m: Machine, function: Any, items: list[Selection], kwargs: Any, axis: int) -> Any:
    return again(m, call(m, function, [tuple([whole(m, i) for i in items])], kwargs), items[0], axis)


@of(np.stack)
def _stacked(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    items = _items(m, args[0])
    x, at = items[0], kwargs.get("axis", args[1] if len(args) > 1 else 0)
    if type(at) is not int or kwargs.keys() - {"axis"} or not -x.rank - 1 <= at <= x.rank:
        return refuse(m, "np.stack")
    at %= x.rank + 1
    return _joined(m, np.stack, items, {"axis": at}, x.axis + (at <= x.axis))


@of(np.column_stack, np.vstack, np.hstack, np.concatenate)
def _side_by_side(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    """Arrays that are joined along another axis than the selected one."""
    items = _items(m, args[0])
    x = items[0]
    along = kwargs.get("axis", args[1] if len(args) > 1 else 0)
    if function is not np.concatenate:
        along = 0 if function is np.vstack else 1
        if len(args) > 1 or kwargs:
            return refuse(m, function.__name__)
    if x.rank == 1 and function in (np.column_stack, np.vstack):
        return _joined(m, function, items, kwargs, 0 if function is np.column_stack else 1)
    if type(along) is not int or not -x.rank <= along < x.rank or along % x.rank == x.axis:
        return refuse(m, function.__name__)
    return _joined(m, function, items, kwargs, x.axis)


# ---- elements of functions that take lists of numbers besides


@of(np.clip, np.nan_to_num, np.round, np.real, np.imag, np.isclose, np.sinc, np.abs)
def _of_elements(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return elementwise(m, function, args, kwargs)


@of(np.interp, np.digitize)
def _of_the_first(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return of_first(m, function, args, kwargs)


@of(np.polyval, np.searchsorted)
def _of_the_second(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return of_first(m, function, args, kwargs, 1)


for _name in ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre"):
    for _each in vars(getattr(np.polynomial, _name)).values():
        if getattr(_each, "__name__", "").endswith(("val", "vander")):
            of(_each)(MEANINGS[np.interp])

# ---- places


@meaning_of(np.where)
def _where(m: Machine, condition: Any, *values: Any, **kwargs: Any) -> Any:
    if not values and not kwargs and _is_traced(m, condition):
        return places_of(m, condition)
    return library_call(m, np.where, [condition, *values], kwargs)


@meaning_of(np.nonzero)
def _nonzero(m: Machine, a: Any) -> Any:
    return places_of(m, a) if _is_traced(m, a) else library_call(m, np.nonzero, [a], {})


@meaning_of(np.flatnonzero)
def _flatnonzero(m: Machine, a: Any) -> Any:
    if not _is_traced(m, a):
        return library_call(m, np.flatnonzero, [a], {})
    return places_of(m, call(m, np.ravel, [a], {}))[0]


def _is_traced(m: Machine, x: Any) -> bool:
    """Whether only values tell where it is not zero, and the walk is for all of them."""
    if m.freezing or not is_array(x) or not isinstance(m.content(x.box), Array):
        return False
    return bool(shape_of(m, x)) and 0 not in shape_of(m, x)


@of(np.where)
def _choice(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return places_of(m, args[0]) if len(args) == 1 else elementwise(m, np.where, args, kwargs)


@of(np.nonzero)
def _places(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return places_of(m, args[0])


@of(np.flatnonzero)
def _flat_places(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    return places_of(m, args[0])[0]


@of(np.add.at, np.subtract.at)
def _added_at(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    """Zeros are added where nothing is selected."""
    a, key, v = args
    if not isinstance(key, Selection) or key.rank != 1 or isinstance(a, Selection):
        return refuse(m, "np.add.at")
    if not isinstance(v, Selection):
        shape = shape_of(m, v) if is_array(v) else np.shape(v) if not isinstance(v, Array) else ()
        if any(n != 1 for n in shape):
            return refuse(m, "np.add.at")
        v = Selection(array(m, call(m, np.broadcast_to, [v, key.mask.shape], {})), key.mask, 0)
    if v.axis or v.rank != len(shape_of(m, a)) or not same_mask(m, v, key):
        return refuse(m, "np.add.at")
    return call(m, function, [a, whole(m, key), filled(m, v, 0)], {})


@of(np.compress, np.extract)
def _compressed(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    if len(args) != 2 or kwargs or not isinstance(args[1], Selection):
        return refuse(m, function.__name__)
    return get_selected(m, args[1], args[0])


@of(sum, max, min, any, all, abs)
def _python(m: Machine, function: Any, args: Any, kwargs: Any) -> Any:
    """Python's functions of one axis of elements."""
    if len(args) != 1 or kwargs or (function is not abs and args[0].rank != 1):
        return refuse(m, function.__name__)
    return call(m, getattr(np, function.__name__), args, {})


def _may_view(function: Any, at: int) -> Any:
    """A function of selections; of a view it may give one, if it is no ufunc: its arguments begin at `at`."""

    def found(m: Machine, *args: Any) -> Any:
        made, given = function(m, *args), args[at] if isinstance(args[at], list | tuple) else (args[at],)
        is_new = isinstance(args[0], np.ufunc) or args[0] is np.outer
        if is_new or not any(isinstance(x, Selection) and x.view for x in given):
            return made
        if isinstance(made, tuple):
            return tuple([x.as_view() if isinstance(x, Selection) else x for x in made])
        return made.as_view() if isinstance(made, Selection) else made

    return found


calls.SELECTED[:] = [_may_view(selected_call, 1), _may_view(attribute, 0), _may_view(method, 0)]

__all__ = ["attribute", "method"]
