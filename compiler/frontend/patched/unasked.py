"""NumPy's functions and objects that ask no protocol, on traced values: `np.r_[x, 0]`, `np.require(x)`.

They are replaced in every trace (see `patches`), for calls that a traced value takes part in. Those that were imported
by name are found by the walk of a function, which asks `UNASKED` for their meaning.
"""

from __future__ import annotations

import contextlib
import functools
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.require import require as required
from ..array import Array, find, here, unknown, value_of
from ..errors import TraceError, message
from ..numpy.arranging import vectorized
from ..numpy.creation import arange
from ..numpy.reductions import all_, traced
from ..numpy.shaping import concatenate, reshape, transpose, view
from ..numpy.ufuncs import elementwise
from ..promotion import as_operand, check_ints, result_dtype, shape_of
from ..tracing import is_foreign, user_line
from .askers import compiled
from .patches import NOT_MINE, Meaning, Patches, caller

unasked = Patches()
"""What is replaced in every trace."""

UNASKED: dict[Any, Callable[..., Any]] = {}
"""Functions that ask no protocol -> their meaning, for the walk of a function."""


def unprotected(*places: tuple[Any, str]) -> Callable[[Any], Any]:
    """Register a meaning for functions at (module, name)."""

    def register(meaning: Callable[..., Any]) -> Callable[..., Any]:
        for module, name in places:
            if hasattr(module, name):
                unasked.register(module, name, _for_traced(meaning, _is_asked))
                UNASKED[getattr(module, name)] = meaning
        return meaning

    return register


def _for_traced(meaning: Callable[..., Any], asked: Callable[[str], bool]) -> Meaning:
    def dispatch(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = caller()
        if not asked(frame.f_code.co_filename) or find([*args, *kwargs.values()]) is None or compiled(frame):
            return NOT_MINE
        return meaning(*args, **kwargs)

    return dispatch


def _is_asked(file: str) -> bool:
    """Whether a call from this file is the user's, or that of a walk or of NumPy's polynomials for him."""
    return not is_foreign(file) or file.startswith((_WALK, _POLYNOMIALS))


_WALK = os.path.join(os.path.dirname(os.path.dirname(__file__)), "capture") + os.sep
_POLYNOMIALS = os.path.dirname(np.polynomial.__file__) + os.sep


def holds_unasked(function: Any, code: types.CodeType) -> bool:
    """Whether a function has one that asks no protocol by another name than its module's: `from math import sqrt`."""
    inner = function.__func__ if isinstance(function, types.MethodType) else function
    found = [inner.__globals__.get(name) for name in code.co_names]
    found += [*(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]
    for cell in inner.__closure__ or ():
        with contextlib.suppress(ValueError):  # not bound yet
            found.append(cell.cell_contents)
    functions = (each for each in found if isinstance(each, (types.BuiltinFunctionType, types.FunctionType)))
    return any(each.__module__ == "math" or each in UNASKED for each in functions)


# ---- arrays


def array(
    x: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    """np.array, of traced numbers or lists of them."""
    made = as_operand(x)
    check_ints(here(), x, dtype)
    made = made if isinstance(made, Array) else traced(made)[1]
    made = made if dtype is None or made.dtype == np.dtype(dtype) else made.astype(dtype)
    if made.ndim < ndmin:
        made = reshape(made, (1,) * (ndmin - made.ndim) + made.shape)
    return Array(made.tracing, made.value) if copy or made is not x or made.weak else made


@unprotected((np, "ascontiguousarray"), (np, "asfortranarray"))
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Layouts are the compiler's affair, so this may be the same memory; at least one axis, as NumPy's."""
    return _laid_out(array(a, dtype, copy=False, ndmin=1))


def _laid_out(x: Array) -> Array:
    return view(x, x.tracing, x.value) if x.ndim else x


@unprotected((np, "require"))
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    wanted = {str(each).upper() for each in requirements or ()}
    if wanted & {"W", "WRITEABLE", "O", "OWNDATA"}:
        return array(a, dtype)
    made = array(a, dtype, copy=False)
    return _laid_out(made) if wanted else made


@unprotected((np, "asarray_chkfinite"))
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    made = array(a, dtype, copy=False)
    now = here(made)
    holds = value_of(now, all_(elementwise(np.isfinite, made)))
    now.emit(required, holds, error="ValueError", text="array must not contain infs or NaNs")
    return made


@unprotected((np.lib.stride_tricks, "as_strided"))
def as_strided(*args: Any, **kwargs: Any) -> Any:
    fix = "use np.lib.stride_tricks.sliding_window_view, slices or np.broadcast_to"
    verdict = "np.lib.stride_tricks.as_strided of a traced array, which has no strides"
    raise TraceError(message(verdict, user_line(), fix))


def _iterated(*args: Any, **kwargs: Any) -> Any:
    fix = "loop over x.ravel(), over np.ndindex(x.shape), or write it for whole arrays"
    verdict = "np.nditer and np.broadcast look into memory that traced arrays do not have"
    raise TraceError(message(verdict, user_line(), fix))


UNASKED[np.nditer] = UNASKED[np.broadcast] = _iterated


# ---- polynomials


for _name in ("array", "asarray", "asanyarray"):
    _meaning = array if _name == "array" else functools.partial(array, copy=False)
    unasked.register(np, _name, _for_traced(_meaning, lambda file: file.startswith(_POLYNOMIALS)))
    UNASKED[getattr(np, _name)] = _meaning


def _coefficients(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A series that was found under a name of its own, where NumPy would set the axes of x apart for ndarrays only."""
    frame = caller()
    if frame.f_code.co_filename.startswith(_POLYNOMIALS) and frame.f_locals.get("tensor"):
        x = frame.f_locals.get("x")
        if isinstance(x, Array) and x.ndim and np.ndim(args[0]) > 1:
            name = frame.f_code.co_name
            verdict = f"{name}, under a name of its own, with a matrix of coefficients"
            raise TraceError(message(verdict, user_line(), f"call it through its module, as in np.polynomial.{name}"))
    return NOT_MINE


unasked.register(np, "array", _coefficients)


# ---- objects of NumPy's


@unprotected((np.vectorize, "__call__"))
def _vectorize(made: np.vectorize, *args: Any, **kwargs: Any) -> Any:
    return vectorized(made, args, kwargs)


@unprotected((type(np.r_).__mro__[1], "__getitem__"))
def joined(maker: Any, key: Any) -> Any:
    """np.r_[...] and np.c_[...]: numbers, ranges and arrays, one after the other."""
    axis, ndmin, trans1d = maker.axis, maker.ndmin, maker.trans1d
    items = list(key) if isinstance(key, tuple) else [key]
    if items and isinstance(items[0], str):
        numbers = items.pop(0).split(",")
        if not all(n.strip().lstrip("-").isdigit() for n in numbers):
            raise unknown("np.r_", f" with {','.join(numbers)!r}")
        given = [int(n) for n in numbers]
        axis, ndmin, trans1d = (*given, *(axis, ndmin, trans1d)[len(given) :])
    items = [_range(each) if isinstance(each, slice) else as_operand(each) for each in items]
    dtype = result_dtype(*items)
    return concatenate([_placed(each, ndmin, trans1d).astype(dtype) for each in items], axis)


def _range(s: slice) -> Any:
    start, step = 0 if s.start is None else s.start, 1 if s.step is None else s.step
    if find([start, s.stop, step]) is not None and not isinstance(step, complex):
        return arange(start, s.stop, step)
    return np.linspace(start, s.stop, int(abs(step))) if isinstance(step, complex) else np.arange(start, s.stop, step)


def _placed(x: Any, ndmin: int, trans1d: int) -> Array:
    """With as many axes as are wanted, its own where `trans1d` says."""
    rank = len(shape_of(x))
    made = array(x, copy=False, ndmin=ndmin)
    if trans1d == -1 or rank >= ndmin:
        return made
    new = ndmin - rank
    first = trans1d + new + 1 if trans1d < 0 else trans1d
    order = list(range(ndmin))
    return transpose(made, [*order[:first], *order[new:], *order[first:new]])


__all__ = ["UNASKED", "array", "holds_unasked", "unasked", "unprotected"]
