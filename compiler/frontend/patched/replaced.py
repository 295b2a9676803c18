"""What Python's math module and NumPy's np.zeros mean, and x[i] = v, while a function is traced on the values at hand.

math.sin(x) asks x for a float, which no derivative would see, and np.zeros(n) gives memory that no traced number can be
put into. While such a trace runs they stand for np.sin(x), under a guard that the exception which math would raise is
the same, and for an array of the trace. In other threads, and for other arguments, they are what they were. Functions
that were imported by name (from math import sin) are out of reach.
"""

from __future__ import annotations

import dis
import functools
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ...ir.types import Type
from ...ops.memory import DROPPED, update
from ...ops.require import Warned
from ...ops.source import number
from ..array import Array, find, here
from ..errors import TraceError, message
from ..numpy.creation import arange
from ..numpy.indexing import place_in, steps_in
from ..numpy.shaping import sizes
from ..numpy.writing import WRITES
from ..promotion import as_operand, conform
from ..sizes import HOOKS
from ..tracing import current, is_foreign, silent, user_line
from .mathematics import LISTS, NUMBERS, modf
from .patches import NOT_MINE, Meaning, patched, register
from .unasked import array

_MATH: dict[str, Callable[..., Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "exp": np.exp,
    "expm1": np.expm1, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "pow": np.power, "fabs": np.abs, **NUMBERS,
    "log": lambda x, *base: np.log(x) / np.log(*base) if base else np.log(x),
    "degrees": lambda x: x * (180.0 / math.pi), "radians": lambda x: x * (math.pi / 180.0),
}
_KEYS = (slice, type(Ellipsis))
_PLACE = Type("i64")

@contextmanager
def replaced(function: Any) -> Iterator[None]:
    """Let math's functions take the traced values of `function`, and NumPy's make memory that it can store them in."""
    now = current()
    assert now is not None
    now.stores = _stores(function)
    with patched():
        yield


def _mathematical(meaning: Callable[..., Any]) -> Meaning:
    def dispatch(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or not any(isinstance(x, Array) and x.has_numbers() and not x.shape for x in args):
            return NOT_MINE
        with np.errstate(all="ignore"):
            made = meaning(*[_as_float(x) for x in args])
        unlike = np.isnan(made), np.isinf(made)
        for x in args:
            unlike = unlike[0] & ~np.isnan(x), unlike[1] & np.isfinite(x)
        if bool(unlike[0] | unlike[1]):  # a NaN of numbers, or an infinity of finite ones: math raises
            return original(*[x.known().item() if isinstance(x, Array) else x for x in args])
        return _weak(made)

    return dispatch


def _weak(made: Array) -> Array:
    return Array(made.tracing, made.value, True)


def _mathematical_of_lists(meaning: Callable[..., Any]) -> Meaning:
    def dispatch(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or find(args) is None:
            return NOT_MINE
        given = [[_as_float(x) for x in each] for each in args]
        if any(isinstance(x, Array) and (x.shape or not x.has_numbers()) for each in given for x in each):
            return NOT_MINE
        known = [[x.known().item() if isinstance(x, Array) else x for x in each] for each in given]
        with np.errstate(all="ignore"):
            made = meaning(*given)
        if not math.isfinite(original(*known)) or bool(~np.isfinite(made)):
            return original(*args)
        return _weak(made)

    return dispatch


def _modf(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 1 or not isinstance(args[0], Array) or args[0].shape or not args[0].has_numbers():
        return NOT_MINE
    return tuple(map(_weak, modf(_as_float(args[0]))))


def _as_float(x: Any) -> Any:
    return Array(x.tracing, x.astype(np.float64).value, True) if isinstance(x, Array) else float(x)


def _making(value: float) -> Meaning:
    def dispatch(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return made(*args, **kwargs)

    def made(shape: Any, dtype: Any = float, order: str = "C", **more: Any) -> Any:
        now, caller = current(), sys._getframe(CALLER).f_code
        ours = now is None or not now.stores or is_foreign(caller.co_filename)
        ours = ours or _MAKERS.isdisjoint(caller.co_names)  # it has been asked by compiled code, which has no frame
        if ours or more or np.dtype(dtype).kind not in "fiu":
            return NOT_MINE
        return Array(here(), conform(here(), as_operand(value), np.dtype(dtype), sizes(shape)))

    return dispatch


def _of_traced(meaning: Callable[..., Any]) -> Meaning:
    """For calls of the user's with traced numbers in their arguments or in lists among them."""

    def dispatch(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if find([*args, *kwargs.values()]) is None or is_foreign(sys._getframe(2).f_code.co_filename):
            return NOT_MINE
        return meaning(*args, **kwargs)

    return dispatch


def _full(shape: Any, fill_value: Any, dtype: Any = None, **more: Any) -> Any:
    value = as_operand(fill_value)
    return Array(here(), conform(here(), value, value.dtype if dtype is None else np.dtype(dtype), sizes(shape)))


def _warn(text: Any, *args: Any, **kwargs: Any) -> None:
    if not silent():
        raise Warned(str(text))


_MAKERS = {"zeros", "empty", "ones"}

CALLER = 3
"""Frames from where memory is made to where it was asked for."""

for _name, _meaning in _MATH.items():
    register(math, _name, _mathematical(_meaning))
for _name, _meaning in LISTS.items():
    register(math, _name, _mathematical_of_lists(_meaning))
register(math, "modf", _modf)
for _name, _meaning in (
    ("array", array), ("asarray", functools.partial(array, copy=False)), ("full", _full), ("arange", arange),
    ("asanyarray", functools.partial(array, copy=False)),
):
    register(np, _name, _of_traced(_meaning))
register(warnings, "warn", lambda original, args, kwargs: NOT_MINE if current() is None else _warn(*args, **kwargs))
for _name, _value in (("zeros", 0), ("empty", 0), ("ones", 1)):
    register(np, _name, _making(_value))


def store(x: Array, key: Any, value: Any) -> None:
    """x[key] = value for numbers and slices: all names of the array see the new value, and views there are none."""
    now, entries = here(x), list(key) if isinstance(key, tuple) else [key]
    if x.shared or x.tracing is not now or any(not isinstance(e, _KEYS) and not _is_whole(e) for e in entries):
        fix = "work on a copy without views of it, x = x.copy(); index with numbers and slices, or use np.where"
        verdict = "assignment into an array that the caller, a view or another trace shares, or at an array of places"
        raise TraceError(message(verdict, user_line(), fix, array=x.type))
    if Ellipsis in entries:
        at = entries.index(Ellipsis)
        entries[at : at + 1] = [slice(None)] * (x.ndim - len(entries) + 1)
    starts, axes, widths, steps = [], [], [], []
    for axis, e in enumerate(entries):
        n = x.shape[axis]
        start, step, width = steps_in(e, n) if isinstance(e, slice) else (place_in(int(e), axis, x), 1, DROPPED)
        if (start, step, width) != (0, 1, n):
            starts.append(number(now.builder, start, _PLACE))
            axes, widths, steps = [*axes, axis], [*widths, width], [*steps, step]
    at = dict(zip(axes, widths, strict=True))
    part = tuple(at.get(axis, n) for axis, n in enumerate(x.shape) if at.get(axis) != DROPPED)
    made = conform(now, as_operand(value), x.dtype, part)
    if axes:
        attrs = {"axes": tuple(axes), "widths": tuple(widths), "steps": tuple(steps)}
        made = now.emit(update, x.value, made, *starts, **attrs)
    x.value = made


def _is_whole(e: Any) -> bool:
    return isinstance(e, (int, np.integer)) or (isinstance(e, Array) and not e.shape and e.dtype.kind in "iu")


HOOKS["store"] = store


_WRITES = {getattr(each, "__name__", each) for each in WRITES} - {"sort", "partition"}
"""Names of what puts values into its first argument, or into its own array."""


_STORES = {dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap}
_OPERATOR, _IN_PLACE = dis.opmap["BINARY_OP"], frozenset(range(13, 26))  # NB_INPLACE_ADD to NB_INPLACE_XOR


def _stores(function: Any) -> bool:
    """Whether a function, one defined in it, or one of the user's that it names, puts items into something."""
    pending: list[tuple[Any, dict[str, Any]]] = [(function, {})]
    owner = getattr(function, "__self__", None)
    pending += [(member, {}) for kind in type(owner).__mro__[:-1] for member in vars(kind).values()]
    seen = set()
    while pending:
        each, outer = pending.pop()
        each = each.fget if isinstance(each, property) else getattr(each, "__func__", each) if _is_bound(each) else each
        code = each if isinstance(each, types.CodeType) else getattr(each, "__code__", None)
        if not isinstance(code, types.CodeType) or code in seen or is_foreign(code.co_filename):
            continue
        seen.add(code)
        if _changes(code):
            return True
        outer = getattr(each, "__globals__", outer)
        pending += [(x, outer) for x in (*code.co_consts, *_named(each, code, outer))]
    return False


def _is_bound(x: Any) -> bool:
    return isinstance(x, (types.MethodType, staticmethod, classmethod))


def _changes(code: types.CodeType) -> bool:
    if not _WRITES.isdisjoint(code.co_names):
        return True
    steps = code.co_code[::2]  # of instructions two bytes long; what is cached between them reads as 0 here
    if not _STORES.isdisjoint(steps):
        return True
    return not _IN_PLACE.isdisjoint([k for op, k in zip(steps, code.co_code[1::2], strict=True) if op == _OPERATOR])


def _named(function: Any, code: types.CodeType, outer: dict[str, Any]) -> Iterator[Any]:
    """The functions that a function's names may stand for, and the methods of classes and objects among these."""
    known = [*_cells(function), *[outer[name] for name in code.co_names if name in outer]]
    for each in known:
        if isinstance(each, types.ModuleType):
            yield from [vars(each).get(name) for name in code.co_names]
        elif isinstance(each, types.FunctionType) or _is_bound(each):
            yield each
        else:
            kinds = (each if isinstance(each, type) else type(each)).__mro__[:-1]
            yield from [member for kind in kinds for member in vars(kind).values()]


def _cells(function: Any) -> list[Any]:
    """What a function's variables of functions around stand for."""
    found = []
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # an empty one
            found.append(cell.cell_contents)
    return found


__all__ = ["replaced"]
