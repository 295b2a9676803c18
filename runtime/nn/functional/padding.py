"""What is put around a tensor: a number, its mirror image, its edge or its other end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....compiler.ir.symint import as_index
from ....compiler.ops.complex.pairs import Pair
from ...tensor.face.tensor import Tensor
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply
from .terms import Shape, joined, listed, need_tensor, padded, part, shape_of, size_of, wide

Sides = tuple[tuple[int, int], ...]
"""How much is put before and after, for each of the last dimensions, the last one first."""


def _cut(m: Any, x: Any, sides: Sides) -> Any:
    """Where less than nothing is to be put, something is taken away."""
    for k, (low, high) in enumerate(sides):
        axis = len(shape_of(x)) - 1 - k
        x = part(m, x, axis, max(-low, 0), shape_of(x)[axis] + min(low, 0) + min(high, 0))
    return x


def _constant(m: Any, x: Any, sides: Sides, value: Any) -> Any:
    x = _cut(m, x, sides)
    shape, start = list(shape_of(x)), [0] * len(shape_of(x))
    for k, (low, high) in enumerate(sides):
        axis = len(shape) - 1 - k
        start[axis] = max(low, 0)
        shape[axis] += max(low, 0) + max(high, 0)
    if tuple(shape) == shape_of(x):
        return x
    around = padded(m, x, tuple(start), tuple(shape))
    if not value:
        return around
    inside = padded(m, m.number(True, x.value.type.with_dtype("bool")), tuple(start), tuple(shape))
    return m.select(inside, around, m.number(value, around.value.type))


def _constant_complex(m: Any, x: Any, sides: Sides, value: Any) -> Any:
    """Both parts; the number is the real part, if it is not complex."""
    if isinstance(value, complex):
        return Pair(m, _constant(m.real, x.re, sides, value.real), _constant(m.real, x.im, sides, value.imag))
    return Pair(m, _constant(m.real, x.re, sides, value), _constant(m.real, x.im, sides, 0))


def _any_constant(m: Any, x: Any, sides: Sides, value: Any) -> Any:
    return (_constant_complex if isinstance(x, Pair) else _constant)(m, x, sides, value)


def _mirrored(m: Any, x: Any, axis: int, low: int, high: int) -> tuple[Any, Any]:
    n = shape_of(x)[axis]
    return part(m, x, axis, low, low, -1), part(m, x, axis, n - 2, high, -1)


def _wrapped(m: Any, x: Any, axis: int, low: int, high: int) -> tuple[Any, Any]:
    n = shape_of(x)[axis]
    return part(m, x, axis, n - low, low), part(m, x, axis, 0, high)


def _around(ends: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """x with what `ends` gives before and after it, along one dimension after the other."""

    def emit(m: Any, x: Any, sides: Sides) -> Any:
        x = _cut(m, x, sides)
        for k, (low, high) in enumerate(sides):
            low, high, axis = max(low, 0), max(high, 0), len(shape_of(x)) - 1 - k
            before, after = ends(m, x, axis, low, high) if low or high else (x, x)
            x = joined(m, [before] * (low > 0) + [x] + [after] * (high > 0), axis)
        return x

    return emit


def _edged(m: Any, x: Any, sides: Sides) -> Any:
    """Element o of the result is o - low of x, or the one next to it that there is."""
    for k, (low, high) in enumerate(sides):
        shape, axis = shape_of(x), len(shape_of(x)) - 1 - k
        n, whole = shape[axis], shape[axis] + low + high
        start = max(-low, 0)
        before, inner = min(max(low, 0), whole), max(n + min(high, 0) - start, 0)
        parts = [part(m, x, axis, start, inner)] if inner else []
        after = whole - before - inner
        ends = [wide(m, part(m, x, axis, at, 1), (*shape[:axis], size, *shape[axis + 1 :])) if size else None
                for at, size in ((0, before), (n - 1, after))]
        x = joined(m, [p for p in (ends[0], *parts, ends[1]) if p is not None], axis)
    return x


CONSTANT = Operation("constant_pad", "ConstantPadNdBackward0", _any_constant, lies="format")
MIRRORED = {n: Operation("pad", f"ReflectionPad{n}DBackward0", _around(_mirrored), lies="format") for n in (1, 2, 3)}
EDGED = {n: Operation("pad", f"ReplicationPad{n}DBackward0", _edged, lies="format") for n in (1, 2, 3)}
WRAPPED = Operation("pad", "CatBackward0", _around(_wrapped))


def pad(input: Tensor, pad: Any, mode: str = "constant", value: complex | None = None) -> Tensor:
    """`pad` says how much is put before and after the last dimension, the one before it, and so on.

    mode   constant, reflect, replicate or circular; the last three pad the last one to three dimensions
    """
    need_tensor("pad", "input", input)
    shape, widths = size_of(input), [as_index(n) for n in pad]
    if len(widths) % 2 or len(widths) > 2 * len(shape):
        if len(widths) % 2:
            raise RuntimeError(f"Padding length must be divisible by 2, got {widths}")
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length"
            f" {len(widths)} and input of dimension {len(shape)}"
        )
    sides = tuple(zip(widths[::2], widths[1::2], strict=True))
    for k, (low, high) in enumerate(sides):
        n = shape[-1 - k]
        if min(low, 0) + min(high, 0) + n < 0 or n + low + high < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {low} and {high}, resulted in a negative output size, which"
                f" is invalid. Check dimension {len(shape) - 1 - k} of your input."
            )
    if mode == "constant":
        return apply(CONSTANT, (input,), (sides, _number(input, value)))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_rank(input, mode, shape, sides)
    _check_reach(mode, shape, sides)
    if mode == "circular":
        return apply(WRAPPED, (input,), (sides,))
    return apply((MIRRORED if mode == "reflect" else EDGED)[len(sides)], (input,), (sides,))


def _number(input: Tensor, value: complex | None) -> Any:
    kind = input._kind_of()
    if not value:
        return 0
    if isinstance(value, complex):
        if not kind.is_complex:
            raise RuntimeError(f"pad: a complex value cannot be put around {input.dtype} elements")
        return value
    return bool(value) if kind.dtype == "bool" else float(value) if kind.is_float else int(value)


def _check_rank(input: Tensor, mode: str, shape: Shape, sides: Sides) -> None:
    count = len(sides)
    if not 1 <= count <= 3 or len(shape) not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: {mode} of {listed(input)}"
            f" along {count} dimensions"
        )
    if 0 in shape[len(shape) - count - 1 :]:
        raise RuntimeError(f"pad: expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size"
                           f" and other non-zero dimensions for input, but got: {list(shape)}")


def _check_reach(mode: str, shape: Shape, sides: Sides) -> None:
    for k, (low, high) in enumerate(sides):
        n, axis = shape[-1 - k], len(shape) - 1 - k
        if mode == "reflect" and max(low, high) >= n:
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding"
                f" ({low}, {high}) at dimension {axis} of input {list(shape)}"
            )
        if mode == "circular" and max(low, high) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + low + high < 1:
            raise RuntimeError(f"pad: input of size {n} at dimension {axis} is too small for padding ({low}, {high})")


__all__ = ["pad"]
