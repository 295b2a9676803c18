"""NumPy's functions, methods and operators of what a mask selects: on the whole arrays, under the mask.

    np.log(y)        np.log(values), selected                    np.mean(y)    a sum under the mask, by its count
    A.T @ A          zeros where nothing is selected             len(y)        the count
    np.polyfit(y, z, 2)    with weights of zero where nothing is selected

What is not here is left to the values of a call.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...patched.patches import unpatched
from ..arrays.access import get_array, wrap
from ..calls import call
from ..machine import Machine
from ..numbers import binary
from ..values import Poison, is_list
from .crossed import each, outer, product, reduced
from .selected import Crossed, Selection
from .selecting import array, count_of, filled, refuse, same_mask, some, whole

Meaning = Callable[..., Any]
MEANINGS: dict[Any, Meaning] = {}
"""Function -> its meaning, which takes the machine, the function, and the arguments."""

_LAWS = {"pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "pmf", "logpmf"}
"""Methods of SciPy's distributions of one number."""


def of(*functions: Any) -> Callable[[Meaning], Meaning]:
    def register(meaning: Meaning) -> Meaning:
        MEANINGS.update(dict.fromkeys(map(unpatched, functions), meaning))  # amid a trace they are replaced
        return meaning

    return register


def selected_call(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any] | None:
    """What a function gives, if what a mask selects is among its arguments: alone in a tuple."""
    if not any(_holds(m, x) for x in (*args, *kwargs.values())):
        return None
    try:
        meaning = MEANINGS.get(function)
    except TypeError:  # not hashable
        meaning = None
    if meaning is None and (isinstance(function, np.ufunc) or _is_law(function)):
        meaning = elementwise
    if meaning is None:
        return refuse(m, getattr(function, "__name__", str(function)))
    return (meaning(m, function, args, kwargs),)


def _holds(m: Machine, x: Any) -> bool:
    """Whether an argument is, or lists, what a mask selects, or how many these are."""
    held = m.heap[x.box] if is_list(x) else x
    if isinstance(held, (tuple, list)):
        return any(_holds(m, i) for i in held)
    return isinstance(x, Selection)


def _is_law(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    kinds = {each.__name__ for each in type(owner).__mro__}
    return getattr(function, "__name__", "") in _LAWS and bool(kinds & {"rv_continuous", "rv_discrete", "rv_frozen"})


# ---- element by element


def elementwise(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of elements: the same on the whole arrays, whose selected axes stand in line."""
    def act(*given: Any) -> Any:
        return call(m, function, [*given[: len(args)]], dict(zip(kwargs, given[len(args) :], strict=True)))

    return each(m, act, [*args, *kwargs.values()])


def again(m: Machine, made: Any, like: Selection, axis: int) -> Any:
    if isinstance(made, tuple):
        return tuple([again(m, each, like, axis) for each in made])
    return Selection(array(m, made), like.mask, axis)


def operate(m: Machine, fn: Any, a: Any, b: Any) -> Any:
    """A binary operator or comparison."""
    if fn is operator.matmul:
        return _product(m, np.matmul, [a, b], {})
    return each(m, lambda x, y: binary(m, fn, x, y), [a, b])


def of_first(m: Machine, function: Any, args: Any, kwargs: dict[str, Any], place: int = 0) -> Any:
    """A function whose result has the axes of one argument first; the others are arrays."""
    given = list(args)
    x = given[place] if len(given) > place else None
    rest = [*given[:place], *given[place + 1 :], *kwargs.values()]
    if not isinstance(x, Selection) or any(_holds(m, y) for y in rest):
        return refuse(m, getattr(function, "__name__", str(function)))
    given[place] = whole(m, x)
    return again(m, call(m, function, given, kwargs), x, x.axis)


@of(np.vander)
def _vander(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return of_first(m, function, args, kwargs)


# ---- reductions


def _axes(x: Selection, args: Any, kwargs: dict[str, Any], known: set[str]) -> tuple[int, ...] | None:
    """The axes that a reduction takes, increasing; None if it takes what is not known here."""
    axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
    if len(args) > 2 or not kwargs.keys() <= {"axis", "keepdims", *known}:
        return None
    given = range(x.rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(type(k) is int and -x.rank <= k < x.rank for k in given):
        return None
    return tuple(sorted({k % x.rank for k in given}))


def _reduce(within: Meaning, *known: str) -> Meaning:
    """A reduction: `within` is told what is selected and the axes; without the selected axis it is that of arrays."""

    def meaning(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        x = args[0] if args else None
        axes = _axes(x, args, kwargs, set(known)) if isinstance(x, Selection) else None
        if not isinstance(x, Selection) or axes is None or any(_holds(m, y) for y in (*args[1:], *kwargs.values())):
            return refuse(m, getattr(function, "__name__", str(function)))
        if isinstance(x, Crossed):
            fill = _UNITS.get(function)
            return refuse(m, function.__name__) if fill is None else reduced(m, function, x, axes, kwargs, fill)
        if x.axis in axes:
            return within(m, function, x, axes, kwargs)
        made = call(m, function, [whole(m, x), *args[1:]], kwargs)
        return again(m, made, x, x.axis - (0 if kwargs.get("keepdims") else sum(k < x.axis for k in axes)))

    return meaning


def _fold(m: Machine, function: Any, x: Selection, axes: Any, kwargs: Any, fill: Any, nothing: str = "") -> Any:
    if nothing:
        some(m, x, ValueError, nothing)
    made = fill(x.values.dtype) if callable(fill) else fill
    return call(m, function, [filled(m, x, made)], {**kwargs, "axis": axes if len(axes) > 1 else axes[0]})


def _least(dtype: np.dtype) -> Any:
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(-np.inf)


def _most(dtype: np.dtype) -> Any:
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else dtype.type(np.inf)


def _size(m: Machine, x: Selection, axes: Any) -> Any:
    """How many elements are reduced."""
    rest = int(np.prod([x.values.shape[k] for k in axes if k != x.axis]))
    n = count_of(m, x.mask)
    return n if rest == 1 else binary(m, operator.mul, n, rest)


def _mean(m: Machine, function: Any, x: Selection, axes: Any, kwargs: dict[str, Any]) -> Any:
    total = _fold(m, np.sum, x, axes, kwargs, 0)
    return call(m, np.true_divide, [total, array(m, _size(m, x, axes)).astype(_inexact(x))], {})


def _inexact(x: Selection) -> np.dtype:
    dtype = x.values.dtype
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


def _variance(m: Machine, function: Any, x: Selection, axes: Any, kwargs: dict[str, Any]) -> Any:
    if x.values.type.is_complex:
        return refuse(m, function.__name__)
    less = kwargs.get("ddof", kwargs.get("correction", 0))
    kept = {k: v for k, v in kwargs.items() if k == "keepdims"}
    apart = operate(m, operator.sub, x, _mean(m, np.mean, x, axes, {"keepdims": True}))
    total = _fold(m, np.sum, operate(m, operator.mul, apart, apart), axes, kept, 0)
    size = call(m, np.maximum, [binary(m, operator.sub, _size(m, x, axes), less), 0], {})
    made = call(m, np.true_divide, [total, array(m, size).astype(_inexact(x))], {})
    return call(m, np.sqrt, [made], {}) if function is np.std else made


_EMPTY = "zero-size array to reduction operation {} which has no identity"
_UNITS = {np.sum: 0, np.nansum: 0, np.prod: 1, np.any: False, np.all: True, np.count_nonzero: 0}
for _function, _fill in _UNITS.items():
    MEANINGS[_function] = _reduce(functools.partial(_fold, fill=_fill))
for _function, _fill, _name in ((np.max, _least, "maximum"), (np.min, _most, "minimum")):
    MEANINGS[_function] = _reduce(functools.partial(_fold, fill=_fill, nothing=_EMPTY.format(_name)))
MEANINGS[np.mean] = _reduce(_mean)
MEANINGS[np.var] = MEANINGS[np.std] = _reduce(_variance, "ddof", "correction")


@of(np.average)
def _average(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = dict(zip(("a", "axis", "weights"), args, strict=False)) | kwargs
    x, weights, axis = given.pop("a"), given.pop("weights", None), given.pop("axis", None)
    if given or axis not in (None, 0) or not isinstance(x, Selection) or x.rank != 1:
        return refuse(m, "np.average")
    if weights is None:
        return call(m, np.mean, [x], {})
    total = call(m, np.sum, [operate(m, operator.mul, x, weights)], {})
    return call(m, np.true_divide, [total, call(m, np.sum, [weights], {})], {})


@of(np.argmax, np.argmin)
def _argument(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    (x,) = args if len(args) == 1 else (None,)
    if not isinstance(x, Selection) or x.rank != 1 or kwargs:
        return refuse(m, function.__name__)
    some(m, x, ValueError, f"attempt to get {function.__name__} of an empty sequence")
    at = call(m, function, [whole(m, x)], {})  # what is not selected is a copy of the first that is
    number = call(m, np.cumsum, [wrap(m, x.mask)], {})
    return call(m, np.maximum, [binary(m, operator.sub, get_array(m, number, at), 1), 0], {})


@of(np.cumsum, np.cumprod)
def _scan(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    x = args[0]
    axes = _axes(x, args, kwargs, set()) if isinstance(x, Selection) else None
    if axes is None or len(axes) != 1:
        return refuse(m, function.__name__)
    made = filled(m, x, 0 if function is np.cumsum else 1) if axes[0] == x.axis else whole(m, x)
    return again(m, call(m, function, [made], {"axis": axes[0]}), x, x.axis)


# ---- linear algebra


@of(np.matmul, np.dot)
def _product(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return product(m, function, *args) if len(args) == 2 and not kwargs else refuse(m, function.__name__)


@of(np.outer)
def _outer(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return outer(m, *args) if len(args) == 2 and not kwargs else refuse(m, "np.outer")


@of(np.linalg.norm)
def _norm(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Rows of zeros change no norm of these orders."""
    x, order = args[0], kwargs.get("ord", args[1] if len(args) > 1 else None)
    if not isinstance(x, Selection) or x.rank > 2 or order not in (None, 1, 2, "fro") or kwargs.keys() - {"ord"}:
        return refuse(m, "np.linalg.norm")
    return call(m, function, [filled(m, x, 0), *args[1:]], kwargs)


@of(np.linalg.lstsq)
def _least_squares(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Rows of zeros change neither the solution nor the rank; singular values and residuals are not asked for."""
    given = dict(zip(("a", "b", "rcond"), args, strict=False)) | kwargs
    a, b, bound = given.pop("a"), given.pop("b"), given.pop("rcond", None)
    together = isinstance(a, Selection) and isinstance(b, Selection) and a.axis == b.axis == 0 and same_mask(m, a, b)
    if given or not together or a.rank != 2:
        return refuse(m, "np.linalg.lstsq")
    if bound is None:
        larger = call(m, np.maximum, [count_of(m, a.mask), a.values.shape[1]], {})
        bound = binary(m, operator.mul, larger, float(np.finfo(_inexact(a)).eps))
    made = call(m, function, [filled(m, a, 0), filled(m, b, 0)], {"rcond": bound})
    why = "residuals and singular values of what a mask selects are read"
    missing = Poison(why, "compute them of the solution")
    return (made[0], missing, made[2], missing)


@of(np.polyfit)
def _polynomial(m: Machine, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = dict(zip(("x", "y", "deg", "rcond", "full", "w"), args, strict=False)) | kwargs
    x, y, w = given.pop("x"), given.pop("y"), given.pop("w", None)
    pair = isinstance(x, Selection) and isinstance(y, Selection) and x.rank == 1 and y.axis == 0 and same_mask(m, x, y)
    weighed = w is None or isinstance(w, Selection)
    if not pair or not weighed or given.pop("full", False) or given.pop("cov", False):
        return refuse(m, "np.polyfit")
    some(m, x, TypeError, "expected non-empty vector for x")
    bound = given.pop("rcond", None)
    if bound is None:
        bound = binary(m, operator.mul, count_of(m, x.mask), float(np.finfo(_inexact(x)).eps))
    weights = filled(m, w, 0) if w is not None else call(m, np.asarray, [wrap(m, x.mask)], {"dtype": _inexact(x)})
    return call(m, function, [whole(m, x), whole(m, y)], {**given, "rcond": bound, "w": weights})


__all__ = ["MEANINGS", "again", "elementwise", "of", "of_first", "operate", "selected_call"]
