"""The mean of every window, of given sizes or as large as it takes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...compiler.ir.types import Type
from ...compiler.ops.contract import contract
from ...compiler.ops.convolve import correlate
from ...compiler.ops.elementwise import cast
from ...compiler.ops.reduce import spread, sum_
from ...compiler.ops.shape import reshape, slice_
from ...compiler.ops.source import iota, number
from .core import apply
from .fragments import Operation
from .promotion import c_name
from .reductions import converted, mean
from .shapes import shape_of, squeeze, unsqueeze
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

if TYPE_CHECKING:
    from .tensor import Tensor


def _sums(m: Any, x: Any, window: Window, places: tuple[int, ...]) -> Any:
    """The sum of every window."""
    lead, sizes = sizes_of(x)
    x, _ = surrounded(m, x, window, places)
    if side_by_side(window, sizes, places):
        parts = tiled(m, x, window, places)
        return m(sum_(m.b, parts.value, axes=(len(lead) + 1, len(lead) + 3)))
    pictures = reshape(m.b, x.value, shape=(prod(lead), 1, 1, *sizes_of(x)[1]))
    ones = number(m.b, 1, x.value.type.with_shape((1, 1, 1, *window.kernel)))
    made = correlate(m.b, pictures, ones, stride=window.stride, dilation=(1,) * RANK)
    used = slice_(m.b, made, start=(0,) * 5, step=(1,) * 5, shape=(prod(lead), 1, 1, *places))
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
    sizes, made = sizes_of(x)[1], _sums(m, x, window, places)
    whole = padded and places == window.over(sizes)
    if divisor is not None or whole or (not any(map(any, window.padding)) and places == window.over(sizes)):
        return _divided(m, made, divisor or prod(window.kernel))
    rows, columns = (_counts(m, axis, n, window, places, padded) for axis, n in enumerate(sizes))
    type, count = made.value.type, converted(m, rows * columns, made.value.type.dtype).value
    wide = spread(m.b, count, shape=type.shape, axes=tuple(range(type.rank - RANK, type.rank)))
    return made / m(wide) if type.is_float else _truncated(m, made, m(wide))


def _divided(m: Any, x: Any, by: int) -> Any:
    return x / float(by) if x.value.type.is_float else _truncated(m, x, m(number(m.b, by, x.value.type)))


def _truncated(m: Any, x: Any, by: Any) -> Any:
    """Integers divided towards zero."""
    size = m.floordiv(m.abs(x), m.abs(by))
    return size * m.sign(x) * m.sign(by)


AVERAGE = Operation("avg_pool2d", "AvgPool2DBackward0", _average)


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
    if input._read().kind.dtype == "bool":
        raise RuntimeError('"avg_pool2d" not implemented for \'Bool\': convert the tensor first')
    places = places_of(shape, window, ceil)
    return apply(AVERAGE, (input,), (window, places, bool(padded), divisor))


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
    lead, sizes = sizes_of(x)
    if all(p and n % p == 0 for n, p in zip(sizes, places, strict=True)):
        kernel = tuple([n // p for n, p in zip(sizes, places, strict=True)])
        window = Window(kernel, kernel, ((0, 0),) * RANK, (1,) * RANK)
        return _divided(m, _sums(m, x, window, places), prod(kernel))
    rows, columns = (_shares(m, n, p, x.value.type) for n, p in zip(sizes, places, strict=True))
    rank = len(lead)
    made = contract(m.b, x.value, rows.value, left=(rank,), right=(1,))
    return m(contract(m.b, made, columns.value, left=(rank,), right=(1,)))


ADAPTIVE = Operation("adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0", _adapted)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of as many windows as `output_size` says; None keeps a dimension."""
    return _adaptive("adaptive_avg_pool2d", input, _wanted("adaptive_avg_pool2d", input, output_size, RANK))


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of as many windows along the last dimension as `output_size` says."""
    wanted = _wanted("adaptive_avg_pool1d", input, output_size, 1)
    return squeeze(_adaptive("adaptive_avg_pool1d", unsqueeze(input, -2), (1, *wanted)), -2)


def _wanted(name: str, input: Tensor, given: Any, rank: int) -> tuple[int, ...]:
    shape = shape_of(input)
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
    kind = input._read().kind
    if 0 in kind.shape[-RANK - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes"
            f" {list(kind.shape)}"
        )
    if not kind.is_float:
        raise NotImplementedError(f'"{name}" not implemented for {c_name(kind.dtype)!r}: convert the tensor first')
    if wanted == (1,) * RANK:
        return mean(input, (-1, -2), True)
    return apply(ADAPTIVE, (input,), (wanted,))


__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d"]
