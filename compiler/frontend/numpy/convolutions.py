"""Convolutions on traced arrays: NumPy's convolve and correlate, and `conv`, the layer of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.graph import Builder, Value, evaluate
from ...ir.types import type_of
from ...ops import convolve as prims
from ...ops.shape import pad
from ..array import Array, find, here, implements
from ..errors import TraceValueError, message
from ..promotion import as_operand, cast, conform, result_dtype, shape_of
from ..tracing import Tracing, user_line
from .reductions import traced
from .shaping import flip, reshape
from .ufuncs import elementwise

Pairs = tuple[tuple[int, int], ...]


def _wrong(verdict: str, fix: str = "") -> TraceValueError:
    return TraceValueError(message(verdict, user_line(), fix))


# ---- layers


def conv(
    x: Any, w: Any, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The convolution layer of networks (a cross-correlation), for NumPy code inside and outside of `grad`.

    x         [batch, channels, n...], or [channels, n...]; any number of axes n
    w         [outputs, channels / groups, k...]
    stride, dilation   a number, or one for each axis n
    padding   zeros around x: a number, one for each axis n, a pair (before, after) for each, "same" or "valid"
    groups    channels and outputs are cut into this many groups that do not meet

    The result is [batch, outputs, m...]. Every letter is as in `torch.nn.functional.conv2d`; a bias is added with
    `conv(x, w) + b[:, None, None]`.

    >>> conv(np.ones((1, 1, 4, 4)), np.ones((8, 1, 3, 3)), padding=1).shape
    (1, 8, 4, 4)
    """
    x, w = as_operand(x), as_operand(w)
    _check_shapes(shape_of(x), shape_of(w))
    dtype = result_dtype(x, w)
    if dtype.kind == "b":
        raise _wrong("conv takes numbers, got arrays of bool", "cast them first: x.astype(float)")
    moves = _moves(shape_of(w)[2:], stride, padding, dilation)
    _check_sizes(shape_of(x), shape_of(w), *moves, groups)
    if find([x, w]) is None:
        return _at_once(np.asarray(x, dtype), np.asarray(w, dtype), moves, groups)
    now = here(x, w)
    images, kernels = (conform(now, v, dtype, shape_of(v)) for v in (x, w))
    now.builder.where = user_line()
    return Array(now, _layer(now.builder, images, kernels, moves, groups))


def _layer(b: Builder, x: Value, w: Value, moves: tuple[Any, Pairs, Any], groups: int) -> Value:
    """With an axis for one image where there is none for many."""
    one = x.type.rank < w.type.rank
    if one:
        x = prims.shape.reshape(b, x, shape=(1, *x.type.shape))
    stride, padding, dilation = moves
    made = prims.convolve(b, x, w, stride, padding, dilation, groups)
    return prims.shape.reshape(b, made, shape=made.type.shape[1:]) if one else made


def _at_once(x: np.ndarray, w: np.ndarray, moves: tuple[Any, Pairs, Any], groups: int) -> np.ndarray:
    """By the reference executor: what plain calls of a function compute with."""
    b = Builder("conv", [type_of(x), type_of(w)])
    images, kernels = b.params
    return evaluate(b.finish([_layer(b, images, kernels, moves, groups)]), [x, w])[0]


def _check_shapes(x: tuple[Any, ...], w: tuple[Any, ...]) -> None:
    if len(w) < 3:
        fix = "give it axes: w[None, None] is one output of one channel"
        raise _wrong(f"conv: w is [outputs, channels / groups, k...] with at least one axis k, got shape {w}", fix)
    if len(x) not in (len(w), len(w) - 1):
        fix = f"x has {len(w)} axes, or {len(w) - 1} for one image, where w has {len(w)}"
        raise _wrong(f"conv: x of shape {x} does not fit w of shape {w}", fix)


def _moves(window: tuple[Any, ...], stride: Any, padding: Any, dilation: Any) -> tuple[Any, Pairs, Any]:
    """Stride, zeros before and after, and dilation, for each axis."""
    rank = len(window)
    strides, dilations = _each("stride", stride, rank, 1), _each("dilation", dilation, rank, 1)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise _wrong(f"conv: padding is {padding!r}", 'use "same", "valid", a number or one for each axis')
        if padding == "same" and any(s != 1 for s in strides):
            raise _wrong(f"conv: padding is 'same' where stride is {stride}", "give the padding as numbers")
        around = [(k - 1) * d if padding == "same" else 0 for k, d in zip(window, dilations, strict=True)]
        return strides, tuple((n // 2, n - n // 2) for n in around), dilations
    if isinstance(padding, (tuple, list)) and all(isinstance(p, (tuple, list)) for p in padding):
        if len(padding) != rank:
            raise _wrong(f"conv: padding has {len(padding)} pairs, expected {rank}", "give one for each axis")
        pairs = [_each("padding", pair, 2, 0) for pair in padding]
        return strides, tuple((low, high) for low, high in pairs), dilations
    return strides, tuple((n, n) for n in _each("padding", padding, rank, 0)), dilations


def _each(name: str, given: Any, rank: int, least: int) -> tuple[int, ...]:
    """One number for each of `rank` axes."""
    numbers = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else (given,) * rank
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers)
    if not whole or len(numbers) != rank or any(n < least for n in numbers):
        fix = f"an int of at least {least}, or {rank} of them"
        raise _wrong(f"conv: {name} is {given!r}", fix)
    return tuple(map(int, numbers))


def _check_sizes(
    x: tuple[Any, ...], w: tuple[Any, ...], stride: Any, padding: Pairs, dilation: Any, groups: Any
) -> None:
    if not isinstance(groups, (int, np.integer)) or groups < 1:
        raise _wrong(f"conv: groups is {groups!r}", "an int of at least 1")
    channels = x[len(x) - len(w) + 1]
    if channels != w[1] * groups or w[0] % groups:
        verdict = f"conv: x has {channels} channels and w is {w}, for {groups} groups"
        raise _wrong(verdict, f"x must have {w[1]} * {groups} channels, and {groups} must divide w.shape[0]")
    sides = zip(x[len(x) - len(w) + 2 :], w[2:], padding, dilation, strict=True)
    for n, k, (low, high), d in sides:
        if k < 1 or (k - 1) * d + 1 > n + low + high:
            fix = f"x of shape {x} needs more padding, or w of shape {w} a smaller window"
            raise _wrong(f"conv: a window over {(k - 1) * d + 1} elements does not fit {n + low + high}", fix)


# ---- NumPy's


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    now, x, y = _rows("np.correlate", a, v)
    if x.shape[0] >= y.shape[0]:
        return _slid(now, x, y, mode)
    return flip(_slid(now, y, x, mode))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    now, x, y = _rows("np.convolve", a, v)
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    return _slid(now, x, flip(y), mode)


def _rows(name: str, a: Any, v: Any) -> tuple[Tracing, Array, Array]:
    """Both as rows of one dtype."""
    arrays = [traced(each)[1] for each in (a, v)]
    if name == "np.convolve":
        arrays = [x if x.ndim else reshape(x, 1) for x in arrays]
    for letter, x in zip("av", arrays, strict=True):
        if x.ndim != 1:
            raise _wrong(f"{name}: {letter} has shape {x.shape}", "give it arrays with one axis, or use pullback.conv")
        if x.shape[0] == 0:
            raise _wrong(f"{name}: {letter} cannot be empty", "check the size before")
    now, dtype = here(*arrays), result_dtype(*arrays)
    x, y = (Array(now, cast(now, each.value, dtype)) for each in arrays)
    return now, x, y


def _slid(now: Tracing, x: Array, y: Array, mode: str) -> Array:
    """x, the longer one, with y slid along it; `same` is as long as x, `full` as long as they touch."""
    if mode not in ("valid", "same", "full"):
        raise _wrong(f"mode is {mode!r}", "use 'valid', 'same' or 'full'")
    if x.dtype == bool:  # a sum of conjunctions is whether one holds
        whole = np.dtype(np.int32)
        x, y = (Array(now, cast(now, each.value, whole)) for each in (x, y))
        return elementwise(np.not_equal, _slid(now, x, y, mode), 0)
    n, k = x.value.type.shape[0], y.value.type.shape[0]
    low = high = k - 1
    if mode == "same":
        k = y.shape[0].__index__()
        low, high = k // 2, k - 1 - k // 2
    value = x.value
    if mode != "valid":
        value = now.emit(pad, value, start=(low,), step=(1,), shape=(n + low + high,))
    wide: list[Value] = []
    for each in (value, y.value):
        wide.append(now.emit(prims.shape.reshape, each, shape=(1, 1, 1, *each.type.shape)))
    made = now.emit(prims.correlate, *wide, stride=(1,), dilation=(1,))
    return Array(now, now.emit(prims.shape.reshape, made, shape=made.type.shape[3:]))


__all__ = ["conv", "convolve", "correlate"]
