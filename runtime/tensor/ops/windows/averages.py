"""The mean of every window, of given sizes or as large as it takes."""

from __future__ import annotations

from functools import reduce
from math import prod
from operator import mul
from typing import Any

from .....compiler.ir.symint import real
from .....compiler.ir.types import Type
from .....compiler.ops.contract import contract
from .....compiler.ops.convolve import correlate
from .....compiler.ops.elementwise import cast
from .....compiler.ops.reduce import spread, sum_
from .....compiler.ops.shape import reshape, slice_
from .....compiler.ops.source import iota, number
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.promotion import c_name
from ..arranging.shapes import shape_of, squeeze, unsqueeze
from ..folds.reductions import converted, mean
from .windows import (
    RANK,
    Window,
    flat,
    numbers,
    picture,
    places_of,
    pool_window,
    row_picture,
    side_by_side,
    sizes_of,
    surrounded,
    tiled,
)


def _sums(m: Any, x: Any, window: Window, places: tuple[int, ...]) -> Any:
    """The sum of every window."""
    rank = len(places)
    lead, sizes = sizes_of(x, rank)
    x, _ = surrounded(m, x, window, places)
    if side_by_side(window, sizes, places):
        parts = tiled(m, x, window, places)
        return m(sum_(m.b, parts.value, axes=tuple(len(lead) + 1 + 2 * k for k in range(rank))))
    pictures = reshape(m.b, x.value, shape=(prod(lead), 1, 1, *sizes_of(x, rank)[1]))
    ones = number(m.b, 1, x.value.type.with_shape((1, 1, 1, *window.kernel)))
    made = correlate(m.b, pictures, ones, stride=window.stride, dilation=(1,) * rank)
    whole = (prod(lead), 1, 1, *places)
    used = slice_(m.b, made, start=(0,) * len(whole), step=(1,) * len(whole), shape=whole)
    return m(reshape(m.b, used, shape=(*lead, *places)))


def _counts(m: Any, axis: int, n: int, window: Window, places: tuple[int, ...], padded: bool) -> Any:
    """How many elements of the picture, or of the padded one, the windows hold along one dimension."""
    k, s, (low, high) = window.kernel[axis], window.stride[axis], window.padding[axis]
    start = m(iota(m.b, type=Type("i64", places), axis=axis)) * s - low
    stop = m.minimum(start + k, n + high if padded else n)
    return stop - (start if padded else m.maximum(start, 0))


def _average(
    m: Any, x: Any, window: Window, places: tuple[int, ...], padded: bool, divisor: int | None
) -> Any:
    rank = len(places)
    sizes, made = sizes_of(x, rank)[1], _sums(m, x, window, places)
    whole = padded and places == window.over(sizes)
    if divisor is not None or whole or (not any(map(any, window.padding)) and places == window.over(sizes)):
        return _divided(m, made, divisor or prod(window.kernel))
    held = [_counts(m, axis, n, window, places, padded) for axis, n in enumerate(sizes)]
    type, count = made.value.type, converted(m, reduce(mul, held), made.value.type.dtype).value
    wide = spread(m.b, count, shape=type.shape, axes=tuple(range(type.rank - rank, type.rank)))
    return made / m(wide) if type.is_float else _truncated(m, made, m(wide))


def _divided(m: Any, x: Any, by: int) -> Any:
    return x / real(by) if x.value.type.is_float else _truncated(m, x, m(number(m.b, by, x.value.type)))


def _truncated(m: Any, x: Any, by: Any) -> Any:
    """Integers divided towards zero."""
    size = m.floordiv(m.abs(x), m.abs(by))
    return size * m.sign(x) * m.sign(by)


AVERAGE = {k: Operation(f"avg_pool{k}d", f"AvgPool{k}DBackward0", _average, lies="format") for k in (2, 3)}


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of every window; zeros around the picture count unless `count_include_pad` is false."""
    shape = picture("avg_pool2d", input)
    window = pool_window("avg_pool2d", RANK, kernel_size, stride, padding, 1)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero: divisor_override=0")
    return _avg_pool(input, shape, window, ceil_mode, count_include_pad, divisor_override)


def _avg_pool(
    input: Tensor, shape: tuple[int, ...], window: Window, ceil: bool, padded: bool, divisor: int | None
) -> Tensor:
    if input._kind_of().dtype == "bool":
        raise RuntimeError('"avg_pool2d" not implemented for \'Bool\': convert the tensor first')
    places = places_of(shape, window, ceil)
    return apply(AVERAGE[len(places)], (input,), (window, places, bool(padded), divisor))


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of every window of [batch, channels, depth, height, width]."""
    shape = picture("avg_pool3d", input, 3)
    window = pool_window("avg_pool3d", 3, kernel_size, stride, padding, 1)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero: divisor_override=0")
    return _avg_pool(input, shape, window, ceil_mode, count_include_pad, divisor_override)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of every window along the last dimension."""
    row = row_picture("avg_pool1d", input)
    window = flat(pool_window("avg_pool1d", 1, kernel_size, stride, padding, 1))
    return squeeze(_avg_pool(row, shape_of(row), window, ceil_mode, count_include_pad, None), -2)


# ---- windows that are as large as they must be


def _shares(m: Any, n: int, places: int, type: Type) -> Any:
    """[places, n]: what an element counts for in the mean of a window; windows end where the next begins, or after."""
    shape = Type("i64", (places, n))
    place, at = (m(iota(m.b, type=shape, axis=axis)) for axis in (0, 1))
    start = m.floordiv(place * n, places)
    stop = m.floordiv((place + 1) * n + (places - 1), places)
    count = m(cast(m.b, (stop - start).value, dtype=type.dtype))
    return m.select(m.and_(m.ge(at, start), m.lt(at, stop)), 1 / count, 0)


def _adapted(m: Any, x: Any, places: tuple[int, ...]) -> Any:
    rank = len(places)
    lead, sizes = sizes_of(x, rank)
    if all(p and n % p == 0 for n, p in zip(sizes, places, strict=True)):
        kernel = tuple([n // p for n, p in zip(sizes, places, strict=True)])
        window = Window(kernel, kernel, ((0, 0),) * rank, (1,) * rank)
        return _divided(m, _sums(m, x, window, places), prod(kernel))
    made = x.value
    for n, p in zip(sizes, places, strict=True):
        made = contract(m.b, made, _shares(m, n, p, x.value.type).value, left=(len(lead),), right=(1,))
    return m(made)


ADAPTIVE = {
    k: Operation(f"adaptive_avg_pool{k}d", f"AdaptiveAvgPool{k}DBackward0", _adapted, lies="format") for k in (2, 3)
}


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of as many windows as `output_size` says; None keeps a dimension."""
    return _adaptive("adaptive_avg_pool2d", input, wanted_sizes("adaptive_avg_pool2d", input, output_size, RANK))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of as many windows as `output_size` says, over the last three dimensions."""
    return _adaptive("adaptive_avg_pool3d", input, wanted_sizes("adaptive_avg_pool3d", input, output_size, 3))


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of as many windows along the last dimension as `output_size` says."""
    wanted = wanted_sizes("adaptive_avg_pool1d", input, output_size, 1)
    return squeeze(_adaptive("adaptive_avg_pool1d", unsqueeze(input, -2), (1, *wanted)), -2)


def wanted_sizes(name: str, input: Core, given: Any, rank: int) -> tuple[int, ...]:
    shape = shape_of(input)
    if len(shape) <= rank and rank > 1 and isinstance(given, (tuple, list)):
        raise ValueError(f"{name}(): Input dimension should be at least {rank + 1}, got {list(shape)}")
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(shape)}")
    given = given if isinstance(given, (tuple, list)) else (given,) * rank
    if len(given) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}, got {list(given)}")
    filled = [n if p is None else p for n, p in zip(shape[-rank:], given, strict=True)]
    wanted = numbers(filled, rank, name, "output_size")
    if min(wanted) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0, got {list(wanted)}")
    return wanted


def _adaptive(name: str, input: Tensor, wanted: tuple[int, ...]) -> Tensor:
    kind = input._kind_of()
    rank = len(wanted)
    if 0 in kind.shape[-rank - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes"
            f" {list(kind.shape)}"
        )
    if not kind.is_float:
        raise NotImplementedError(f'"{name}" not implemented for {c_name(kind.dtype)!r}: convert the tensor first')
    if wanted == (1,) * rank:
        return mean(input, tuple(range(-rank, 0)), True)
    return apply(ADAPTIVE[rank], (input,), (wanted,))


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
]
