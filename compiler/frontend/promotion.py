"""NumPy's promotion (NEP 50) made explicit: which dtypes a ufunc computes in, casts, constants, broadcasting.

Python numbers are weak: they take the dtype of what they meet. A traced Python number is as weak as one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.containers import SEQUENCES
from ..ir.graph import Value
from ..ir.types import KNOWN, PARTS, TRACED
from ..ops import elementwise, reduce, shape, source
from ..ops.complex.complexes import imag, real
from ..ops.packs import MANY, pack
from ..ops.require import UNTOLD, require
from .array import Array, find, here, value_of
from .errors import TraceError, TraceValueError, message
from .operators import is_array_like
from .sizes import Length, broadcast_shapes, typed
from .tracing import Tracing, check_dtype, user_line

Kind = Any
"""What an operand is to promotion: a dtype, or the type int, float or complex of a weak number."""


_WEAK = {name: {"f": float, "i": int, "c": complex}[d.kind] for d, name in TRACED.items() if d.kind in "fic"}


def kind(x: Any) -> Kind:
    """How an operand takes part in promotion."""
    if isinstance(x, Array):
        return _WEAK.get(x.value.type.dtype, x.dtype) if x.weak else x.dtype
    if isinstance(x, (bool, np.bool)):
        return np.dtype(bool)
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype
    return next(each for each in (int, float, complex) if isinstance(x, each))


@lru_cache(maxsize=4096)
def loop(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> tuple[np.dtype, ...]:
    """The dtypes that a ufunc takes and gives for operands of these kinds."""
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        names = " and ".join(_spelled(k) for k in kinds)
        raise TraceError(message(f"np.{ufunc.__name__} does not take {names}")) from None
    if all(k is int for k in kinds) and np.dtype(object) in found:  # comparisons of Python ints, of any size
        return loop(ufunc, (np.dtype(np.int64),) * len(kinds))
    for dtype in found:
        if dtype not in TRACED:
            names = " and ".join(_spelled(k) for k in kinds)
            verdict = f"np.{ufunc.__name__} of {names} is {dtype} in NumPy, which is not supported"
            raise TraceError(message(verdict, None, "cast the argument first: x.astype(float)"))
    return found


@lru_cache(maxsize=4096)
def peculiar(dtypes: tuple[np.dtype, ...]) -> tuple[bool, bool]:
    """Whether these are integers of 64 bits with and without signs; and whether one is float16."""
    return {d.name for d in dtypes} == {"int64", "uint64"}, np.dtype(np.float16) in dtypes


def _spelled(kind: Kind) -> str:
    return f"a Python {kind.__name__}" if isinstance(kind, type) else str(kind)


def loop_here(ufunc: np.ufunc, operands: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """`loop`, with the user's line in its errors."""
    try:
        return loop(ufunc, tuple(map(kind, operands)))
    except TraceError as error:
        verdict, _, fix = str(error).partition("\n  fix: ")
        whole = all(set(t.partition("->")[0]) <= set("?bBhHiIlLqQO") for t in ufunc.types)
        fix = fix or ("cast an argument: x.astype(int)" if whole else "cast an argument: x.astype(float)")
        raise TraceError(message(verdict, user_line(), fix)) from None


def result_dtype(*operands: Any) -> np.dtype:
    """NumPy's result_type of the operands."""
    examples = [k if isinstance(k, np.dtype) else k(0) for k in map(kind, operands)]
    return _known(np.result_type(*examples))


def _known(dtype: Any) -> np.dtype:
    made = np.dtype(dtype)
    if made not in TRACED:
        raise TraceError(message(f"dtype {made} is not supported", user_line(), f"use {KNOWN}"))
    return made


def as_operand(x: Any) -> Any:
    """Lists become arrays; what no array can be made of is refused."""
    if isinstance(x, (Array, bool, int, float, complex)):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        check_dtype(x)
        return x
    if isinstance(x, Length):
        return measured(x)
    if isinstance(x, SEQUENCES):
        return stacked(x)
    if is_array_like(x):
        return _as_array(x)
    shown = f" {x!r:.40}" if isinstance(x, (str, bytes)) else ""
    verdict = f"a {type(x).__name__}{shown} meets a traced array"
    raise TraceError(message(verdict, user_line(), "pass numbers or NumPy arrays"))


def _as_array(x: Any) -> np.ndarray:
    """What NumPy reads x as."""
    made = np.asarray(x)
    if made.dtype not in TRACED:
        said = f"a {type(x).__name__}, which is an array of dtype {made.dtype}, takes part in a traced computation"
        fix = "take the columns of numbers: frame[names].to_numpy(float)"
        raise TraceError(message(said, user_line(), fix, shape=made.shape))
    return made


def measured(length: Length) -> Array:
    """A named size as a traced Python number."""
    now = here()
    return Array(now, now.emit(source.dimension, size=length.size), weak=True)


def stacked(items: Any) -> Any:
    """A nested list as an array; traced where one of its elements is."""
    if find(items) is None:
        return np.asarray(items)
    parts = [as_operand(each) for each in items]
    dtype, now = result_dtype(*parts), here(*parts)
    values = [conform(now, p, dtype, shape_of(parts[0])) for p in parts]
    wide = (1, *shape_of(parts[0]))
    if len(values) >= MANY and dtype.kind != "c" and all(isinstance(n, int) for n in wide):
        packed = now.emit(pack, *values)
        return Array(now, packed if wide == (1,) else now.emit(shape.reshape, packed, shape=(len(values), *wide[1:])))
    rows = [now.emit(shape.reshape, v, shape=wide) for v in values]
    return Array(now, now.emit(shape.concatenate, *rows, axis=0))


def shape_of(x: Any) -> tuple[Any, ...]:
    return x.shape if isinstance(x, (Array, np.ndarray, np.generic)) else ()


def common_shape(name: str, *operands: Any) -> tuple[Any, ...]:
    """The shape that the operands broadcast to."""
    shapes = [shape_of(x) for x in operands]
    if all(s == shapes[0] for s in shapes):
        return shapes[0]
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        fix = "reshape one of them, or add an axis with x[:, None]"
        verdict = f"np.{name}: shapes {listed} do not broadcast"
        raise TraceValueError(message(verdict, user_line(), fix)) from None


def lift(now: Tracing, x: Any) -> Value:
    """An operand as a value of the function being traced: its own dtype, its own shape."""
    if isinstance(x, Array):
        return value_of(now, x)
    if isinstance(x, np.ndarray):
        return now.array(x)
    return constant(now, x, np.asarray(x).dtype, ())


def conform(now: Tracing, x: Any, dtype: np.dtype, to: tuple[Any, ...], wraps: bool = False) -> Value:
    """An operand as a value of this dtype and shape, cast and repeated if need be.

    A Python int must fit integers, as in NumPy, unless `wraps`: what the call gives is looked at when it runs.
    """
    if isinstance(x, Array) and x.tracing is now and now.sizes is None:
        type = x.value.type
        if type.shape == to and type.numpy is dtype:
            return x.value
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return constant(now, x, dtype, to)
    if not wraps:
        check_ints(now, x, dtype)
    return broadcast(now, cast(now, lift(now, x), dtype), to)


def check_ints(now: Tracing, x: Any, dtype: Any) -> None:
    """Let the call fail where a Python int, also one in lists, is no integer of a dtype."""
    if isinstance(x, (list, tuple)):
        for each in x:
            check_ints(now, each, dtype)
    if not isinstance(x, Array) or not x.weak or x.dtype.kind != "i" or dtype is None:
        return
    if np.dtype(dtype).kind not in "iu" or np.dtype(dtype) == x.dtype:
        return
    value, info, held = value_of(now, x), np.iinfo(dtype), np.iinfo(x.dtype)
    bounds = [(elementwise.ge, info.min, held.min), (elementwise.le, info.max, held.max)]
    for compare, bound, own in bounds:
        if held.min < bound < held.max or bound == 0 > own:
            limit = now.emit(source.const, type=value.type, value=int(bound))
            holds, text = now.emit(compare, value, limit), f"Python integer out of bounds for {np.dtype(dtype)}"
            now.emit(require, holds, error=f"{UNTOLD}OverflowError", text=text)


def constant(now: Tracing, x: Any, dtype: np.dtype, shape: tuple[Any, ...]) -> Value:
    """A number in every element."""
    if _known(dtype).kind == "c":
        return now.emit(source.const, type=typed(TRACED[dtype], shape), value=dtype.type(x).item())
    if _known(dtype).kind in "iu" and isinstance(x, int):
        info = np.iinfo(dtype)
        if not info.min <= x <= info.max:
            raise OverflowError(f"Python integer {x} out of bounds for {dtype}")
    number = dtype.type(x).item() if dtype.kind != "f" else _rounded(x, dtype)
    return now.emit(source.const, type=typed(TRACED[dtype], shape), value=number)


def _rounded(x: Any, dtype: np.dtype) -> float:
    """The number as the dtype holds it; too large ones become infinite, as in NumPy."""
    number = float(x)
    if dtype == np.float32 and math.isfinite(number):
        with np.errstate(over="ignore"):
            return float(np.float32(number))
    return number


def cast(now: Tracing, value: Value, dtype: np.dtype) -> Value:
    name = TRACED[_known(dtype)]
    if value.type.dtype == name:
        return value
    if value.type.is_complex and name not in PARTS:
        return _parts_lost(now, value, dtype)
    return now.emit(elementwise.cast, value, dtype=name)


def _parts_lost(now: Tracing, value: Value, dtype: np.dtype) -> Value:
    """Complex numbers as truth values; as any others they would lose their imaginary parts."""
    if dtype.kind == "b":
        re, im = now.emit(real, value), now.emit(imag, value)
        zero = now.emit(source.const, type=re.type, value=0.0)
        return now.emit(elementwise.or_, *(now.emit(elementwise.ne, part, zero) for part in (re, im)))
    verdict = f"{value.type.numpy} as {dtype} would lose the imaginary parts"
    raise TraceError(message(verdict, user_line(), "take np.real(z), np.imag(z) or np.abs(z)"))


def broadcast(now: Tracing, value: Value, to: tuple[Any, ...]) -> Value:
    """Repeat a value along the axes where NumPy's broadcasting does."""
    own, to = value.type.shape, typed(value.type.dtype, to).shape
    if own == to:
        return value
    lead = len(to) - len(own)
    kept = [a for a, n in enumerate(own) if n == to[a + lead]]
    if len(kept) < len(own):
        value = now.emit(shape.reshape, value, shape=tuple(own[a] for a in kept))
    return now.emit(reduce.spread, value, shape=to, axes=tuple(a + lead for a in kept))


def positions(now: Tracing, shape: tuple[Any, ...], axis: int) -> Array:
    """The index along an axis, in every element of an array of this shape."""
    return Array(now, now.emit(source.iota, type=typed("i64", shape), axis=axis))
