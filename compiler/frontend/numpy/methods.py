"""Ufuncs and their methods on traced arrays: what NumPy's ufunc protocol asks for, with its arguments.

    np.maximum.accumulate(x, axis=1)    np.add.reduce(x, where=mask, initial=0)    np.add(x, y, out=z, where=mask)

Where a ufunc groups as one likes, halves are folded with halves; others go from the first element to the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import FUNCTIONS, HOOKS, Array, call, find, here, unknown
from ..errors import TraceError, TraceIndexError, TraceValueError, message
from ..promotion import as_operand, common_shape, conform, kind, shape_of
from ..sizes import product
from ..tracing import Tracing, user_line
from .reductions import all_, amax, amin, any_, axes_of, keep, normal_axis, prod, scan, sum_, traced
from .shaping import broadcast_to, concatenate, reshape, stack, transpose
from .ufuncs import elementwise, power, spelled, where

GROUPS = frozenset(
    {"add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2", "hypot", "gcd", "lcm"}
)
"""Ufuncs of which it does not matter what is folded first."""

_FOLDS = {"add": sum_, "multiply": prod}
_SAME = {"maximum": amax, "minimum": amin, "logical_and": all_, "logical_or": any_}
"""Folds that there are operations for: those that take a dtype, and those that do not."""

_LAYOUT = ("order", "subok")


def apply(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's ufunc protocol asks for."""
    out = kwargs.pop("out", None)
    given = kwargs.pop("where", True) if method == "__call__" else True
    targets = (None,) if out is None else out if isinstance(out, tuple) else (out,)
    if method == "at":
        fix = f"write it as x[i] = np.{ufunc.__name__}(x[i], y) where no index stands twice"
        raise TraceError(message(f"{spelled(ufunc)}.at changes an array that is not made here", user_line(), fix))
    if given is not True and any(t is None for t in targets):
        fix = f"use np.where(mask, np.{ufunc.__name__}(...), other), or give out="
        raise TraceError(message(f"{spelled(ufunc)} with where= leaves elements without a value", user_line(), fix))
    kwargs = {k: v for k, v in kwargs.items() if k not in _LAYOUT}
    made = _METHODS[method](ufunc, *inputs, **kwargs)
    if all(t is None for t in targets):
        return made
    parts = made if isinstance(made, tuple) else (made,)
    done = tuple(m if t is None else stored(t, m, given, spelled(ufunc)) for m, t in zip(parts, targets, strict=True))
    return done if isinstance(made, tuple) else done[0]


def stored(target: Any, made: Any, given: Any = True, name: str = "a function") -> Array:
    """`target` with what was made put into it, where `given` holds."""
    now = here(*(x for x in (target, made) if isinstance(x, Array)))
    own = isinstance(target, Array) and target.tracing is now and not target.shared and now.locate is None
    if not own:
        verdict = f"{name} with out= an array that the caller or a view shares, or that is not traced"
        raise TraceError(message(verdict, user_line(), "use the result: y = f(x)"))
    value = traced(made)[1]
    if not np.can_cast(value.dtype, target.dtype, "same_kind"):
        text = f"Cannot cast {name} output from {value.dtype!r} to {target.dtype!r} with casting rule 'same_kind'"
        raise TraceError(message(text, user_line(), "cast it first, or give another array as out="))
    if common_shape("out", value, target) != target.shape:
        text = f"non-broadcastable output operand with shape {target.shape} doesn't match {value.shape}"
        raise TraceValueError(message(text, user_line()))
    wide = Array(now, conform(now, value, target.dtype, target.shape))
    target.value = (wide if given is True else where(given, wide, target)).value
    return target


def _called(ufunc: np.ufunc, *inputs: Any, dtype: Any = None, casting: str = "same_kind", **more: Any) -> Any:
    if ufunc in FUNCTIONS:
        return call(ufunc, FUNCTIONS[ufunc], inputs, more if dtype is None else {**more, "dtype": dtype})
    if more:
        raise unknown(spelled(ufunc), " with " + ", ".join(more))
    if dtype is not None or casting != "same_kind":
        inputs = _signed(ufunc, inputs, dtype, casting)
    if ufunc is np.power:
        return power(*map(as_operand, inputs))
    return elementwise(ufunc, *inputs)


def _signed(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any, casting: str) -> tuple[Any, ...]:
    """The operands in the dtypes of the loop that dtype= and casting= choose."""
    operands = tuple(map(as_operand, inputs))
    wanted = None if dtype is None else np.dtype(dtype)
    signature = None if wanted is None else (None,) * ufunc.nin + (wanted,) * ufunc.nout
    kinds: Any = (*map(kind, operands), *(None,) * ufunc.nout)
    try:
        found = ufunc.resolve_dtypes(kinds, signature=signature, casting=casting)  # type: ignore[arg-type]
    except TypeError as error:
        raise TraceError(message(str(error), user_line(), "cast the arguments first")) from None
    now = here(*operands)
    return tuple(Array(now, conform(now, x, d, shape_of(x))) for x, d in zip(operands, found, strict=False))


# ---- folds


def _check(ufunc: np.ufunc, method: str) -> None:
    if ufunc.nin != 2 or ufunc.signature is not None:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _folded_dtype(ufunc: np.ufunc, x: Array, dtype: Any) -> np.dtype:
    """That of the loop that NumPy folds with."""
    wanted = None if dtype is None else np.dtype(dtype)
    try:
        if wanted is not None and ufunc.__name__ not in ("logical_and", "logical_or", "logical_xor"):
            given = {"signature": (wanted, None, None), "casting": "unsafe"}
            found = ufunc.resolve_dtypes((None, x.dtype, None), reduction=True, **given)  # type: ignore[arg-type]
        else:
            found = ufunc.resolve_dtypes((None, x.dtype, None), reduction=True)
    except TypeError as error:
        raise TraceError(message(str(error), user_line(), "cast the array first")) from None
    return found[0]


def _cast(x: Array, dtype: np.dtype) -> Array:
    """Truth values are asked for, not cut."""
    if dtype.kind == "b" and x.dtype.kind != "b":
        return elementwise(np.not_equal, x, 0)
    return Array(here(x), conform(here(x), x, dtype, x.shape))


def reduce(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    initial: Any = np._NoValue, where: Any = True,
) -> Array:  # fmt: skip
    _check(ufunc, "reduce")
    now, x = traced(array)
    x = _cast(x, _folded_dtype(ufunc, x, dtype))
    axes = axes_of(axis, x.ndim) if x.ndim or axis not in (0, -1) else ()
    if ufunc.__name__ not in GROUPS and len(axes) > 1:
        text = f"reduction operation {ufunc.__name__!r} is not reorderable, so at most one axis may be specified"
        raise TraceValueError(message(text, user_line(), "give one axis"))
    first = ufunc.identity if initial is np._NoValue else initial
    if where is not True:
        x = _masked(ufunc, x, where, first)
    made = _fold(now, ufunc, x, axes, keepdims, first)
    if initial is np._NoValue or initial is None or ufunc.__name__ not in GROUPS:
        return made
    return _joined(ufunc, initial, made)


def _masked(ufunc: np.ufunc, x: Array, mask: Any, first: Any) -> Array:
    """What is masked is replaced by a number that changes nothing."""
    name = ufunc.__name__
    if first is None:
        text = f"reduction operation {name!r} does not have an identity, so to use a where mask one has to specify"
        raise TraceValueError(message(f"{text} 'initial'", user_line()))
    if name not in GROUPS:
        raise unknown(f"np.{name}.reduce", " with where=")
    neutral = first if ufunc.identity is None else ufunc.identity
    wide = broadcast_to(x, common_shape("reduce", x, as_operand(mask)))
    return _choose(mask, wide, neutral)


def _choose(mask: Any, x: Array, other: Any) -> Array:
    now = here(x)
    return where(mask, x, Array(now, conform(now, as_operand(other), x.dtype, ())))


def _joined(ufunc: np.ufunc, first: Any, made: Array) -> Array:
    """The fold that begins with `first`, in the dtype of the fold."""
    now = here(made)
    return elementwise(ufunc, Array(now, conform(now, as_operand(first), made.dtype, ())), made)


def _fold(now: Tracing, ufunc: np.ufunc, x: Array, axes: tuple[int, ...], keepdims: bool, first: Any) -> Array:
    name = ufunc.__name__
    if any(x.shape[k] == 0 for k in axes):
        if first is None:
            text = f"zero-size array to reduction operation {name} which has no identity"
            raise TraceValueError(message(text, user_line(), "give initial="))
        rest = tuple(n for k, n in enumerate(x.shape) if k not in axes)
        unit = first if ufunc.identity is None or name not in GROUPS else ufunc.identity  # `first` is joined to groups
        made = Array(now, conform(now, as_operand(unit), x.dtype, rest))
        return Array(now, keep(now, made.value, x, axes, keepdims))
    if name in _FOLDS:
        return _FOLDS[name](x, axes, x.dtype, keepdims)
    if name in _SAME and not (x.type.is_complex and name in ("maximum", "minimum")):
        return _SAME[name](x, axes, keepdims)
    rest = [k for k in range(x.ndim) if k not in axes]
    count = product(x.shape[k] for k in axes).__index__()
    y = reshape(transpose(x, [*axes, *rest]), (count, *(x.shape[k] for k in rest)))
    if name in GROUPS:
        made = _halved(ufunc, y)
    else:
        rows = [y[k] for k in range(count)]
        made = rows[0] if first is None else _joined(ufunc, first, rows[0])
        for row in rows[1:]:
            made = _cast(_called(ufunc, made, row), x.dtype)
    return Array(now, keep(now, made.value, x, axes, keepdims))


def _halved(ufunc: np.ufunc, y: Array) -> Array:
    while (n := y.shape[0]) > 1:
        half = elementwise(ufunc, y[: n // 2], y[n // 2 : n // 2 * 2])
        y = concatenate([half, y[n - 1 :]]) if n % 2 else half
    return y[0]


def accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None) -> Array:
    _check(ufunc, "accumulate")
    _now, x = traced(array)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    if axis is None or isinstance(axis, tuple):
        if x.ndim != 1:
            raise ValueError("accumulate does not allow multiple axes")
        axis = 0
    x = _cast(x, _folded_dtype(ufunc, x, dtype))
    place = normal_axis(axis, x.ndim)
    if ufunc.__name__ in GROUPS:
        return scan(x, place, x.dtype, ufunc)
    rows = [x[(*[slice(None)] * place, k)] for k in range(x.shape[place].__index__())]
    for k in range(1, len(rows)):
        rows[k] = _cast(_called(ufunc, rows[k - 1], rows[k]), x.dtype)
    return stack(rows, place) if rows else x


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Array:
    """The folds of slices, each from one index to the next."""
    _check(ufunc, "reduceat")
    if find([indices]) is not None:
        fix = "make the indices outside of the function, or use np.add.at on an array of zeros"
        raise TraceError(message(f"{spelled(ufunc)}.reduceat at traced indices", user_line(), fix))
    now, x = traced(array)
    x = _cast(x, _folded_dtype(ufunc, x, dtype))
    place = normal_axis(axis, x.ndim)
    n, places = x.shape[place], [int(k) for k in np.asarray(indices)]
    front, parts = [slice(None)] * place, []
    for k, begin in enumerate(places):
        if not 0 <= begin < n:
            text = f"index {begin} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})"
            raise TraceIndexError(message(text, user_line()))
        end = places[k + 1] if k + 1 < len(places) else n
        part = x[(*front, slice(begin, max(end, begin + 1)))]
        parts.append(_fold(now, ufunc, part, (place,), True, None))
    return concatenate(parts, place) if parts else x[(*front, slice(0, 0))]


def outer(ufunc: np.ufunc, x: Any, y: Any, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Every pair of elements."""
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    x, y = as_operand(x), as_operand(y)
    tail = (1,) * len(shape_of(y))
    left = reshape if isinstance(x, Array) else np.reshape
    return _called(ufunc, left(x, (*shape_of(x), *tail)), y, dtype=dtype, casting=casting)


_METHODS = {"__call__": _called, "reduce": reduce, "accumulate": accumulate, "reduceat": reduceat, "outer": outer}
HOOKS["apply"] = apply
HOOKS["stored"] = stored

__all__ = ["accumulate", "apply", "outer", "reduce", "reduceat", "stored"]
