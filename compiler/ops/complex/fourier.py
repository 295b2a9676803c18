"""Discrete Fourier transforms by NumPy's pocketfft, none of them scaled.

Complex values have an axis of two at the end; the axes of a transform are counted from the one before it, so they are
negative.  Each is linear, so its pullback is another: a transform pulls back to the one with the other sign, that of
real values to the real part of such a one, and one to real values to one of real values, where all coefficients count
twice that stand for two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.types import Type
from ..library import Library
from ..shape import pad, reshape, slice_
from ..source import iota
from .pairs import Pair, joined, split

_WIDE, _NARROW = np.dtype(np.complex128), np.dtype(np.complex64)


def _numbers(x: np.ndarray) -> np.ndarray:
    """Complex numbers of an array whose last axis has two."""
    x = np.ascontiguousarray(x)
    return np.ndarray(x.shape[:-1], _WIDE if x.dtype == np.float64 else _NARROW, x)  # in half the time of a view


def _parts(z: np.ndarray) -> np.ndarray:
    z = np.ascontiguousarray(z)
    return z[..., None].view(np.float32 if z.dtype == np.complex64 else np.float64)


def _same(x: Type, **_: Any) -> Type:
    return x


def _fft(x: np.ndarray, axes: tuple[int, ...], inverse: int) -> np.ndarray:
    made = np.empty_like(x)
    _fft_into((made,), x, axes, inverse)
    return made


def _fft_into(outs: Sequence[np.ndarray], x: np.ndarray, axes: tuple[int, ...], inverse: int) -> None:
    z, out = _numbers(x), _numbers(outs[0])
    if len(axes) == 1:  # NumPy's way for several takes half as long again for small ones
        kind = np.fft.ifft if inverse else np.fft.fft
        kind(z, axis=axes[0], norm="forward" if inverse else None, out=out)
    else:
        several = np.fft.ifftn if inverse else np.fft.fftn
        several(z, axes=axes, norm="forward" if inverse else None, out=out)


def _fft_pull(m: Any, inputs: Any, results: Any, cts: Any, axes: tuple[int, ...], inverse: int) -> Any:
    return [m.fft(cts[0], axes=axes, inverse=1 - inverse)]


fft = Library(
    "fft", _same, _fft, _fft_pull, {"axes": "axes", "inverse": "axis"},
    samples=lambda rng: [([rng.normal(size=(3, 5, 2))], {"axes": axes, "inverse": k})
                         for k, axes in ((0, (-1,)), (1, (-2, -1)))],
    into=_fft_into,
)  # fmt: skip


def _half(x: Type, axis: int) -> Type:
    shape = list(x.shape)
    shape[axis] = shape[axis] // 2 + 1  # type: ignore[operator]
    return x.with_shape((*shape, 2))


def _rfft_pull(m: Any, inputs: Any, results: Any, cts: Any, axis: int) -> Any:
    shape = inputs[0].value.type.static_shape()
    whole = (*shape, 2)
    none, one = (0,) * len(whole), (1,) * len(whole)
    filled = pad(m.b, cts[0].value, start=none, step=one, shape=whole)
    made = m.fft(m(filled), axes=(axis,), inverse=1)
    real = slice_(m.b, made.value, start=none, step=one, shape=(*shape, 1))
    return [m(reshape(m.b, real, shape=shape))]


rfft = Library(
    "rfft", _half, lambda x, axis: _parts(np.fft.rfft(x, axis=axis)), _rfft_pull, {"axis": "axis"},
    samples=lambda rng: [([rng.normal(size=shape)], {"axis": -1}) for shape in ((6,), (2, 5))],
    into=lambda outs, x, axis: np.fft.rfft(x, axis=axis, out=_numbers(outs[0])),
)  # fmt: skip


def _whole(x: Type, axis: int, n: int) -> Type:
    shape = list(x.shape[:-1])
    shape[axis] = n
    return x.with_shape(tuple(shape))


def _irfft(x: np.ndarray, axis: int, n: int) -> np.ndarray:
    return np.fft.irfft(_numbers(x), n, axis=axis, norm="forward")


def _irfft_pull(m: Any, inputs: Any, results: Any, cts: Any, axis: int, n: int) -> Any:
    made = m.rfft(cts[0], axis=axis)
    type = made.value.type
    place = m(iota(m.b, type=type.with_dtype("i64"), axis=type.rank - 1 + axis))
    ends = m.eq(place, 0) if n % 2 else m.or_(m.eq(place, 0), m.eq(place, n // 2))
    return [m.select(ends, made, 2.0 * made)]


irfft = Library(
    "irfft", _whole, _irfft, _irfft_pull, {"axis": "axis", "n": "axis"},
    samples=lambda rng: [([rng.normal(size=(2, 4, 2))], {"axis": -1, "n": n}) for n in (6, 7)],
    into=lambda outs, x, axis, n: np.fft.irfft(_numbers(x), n, axis=axis, norm="forward", out=outs[0]),
)  # fmt: skip

# ---- over pairs: cut or filled, transformed and scaled; axes are negative


def _fit(m: Any, x: Any, axes: tuple[int, ...], sizes: Sequence[int]) -> Any:
    """A term or a pair with these sizes along axes, cut off or filled with zeros."""
    if isinstance(x, Pair):
        fitted = [_fit(m, part, axes, sizes) for part in (x.re, x.im)]
        return x if fitted[0] is x.re else Pair(m, *fitted)
    have = x.value.type.static_shape()
    shape = list(have)
    for axis, n in zip(axes, sizes, strict=True):
        shape[axis] = n
    none, one = (0,) * len(have), (1,) * len(have)
    least = tuple(map(min, have, shape))
    value = x.value
    if least != have:
        value = slice_(m.b, value, start=none, step=one, shape=least)
    if tuple(shape) != least:
        value = pad(m.b, value, start=none, step=one, shape=tuple(shape))
    return x if value is x.value else m(value)


def _transformed(m: Any, x: Pair, axes: tuple[int, ...], inverse: bool) -> Pair:
    return split(m, fft(m.b, joined(x), axes=axes, inverse=int(inverse))) if axes else x


def _scaled(m: Any, x: Any, scale: float) -> Any:
    if scale == 1:
        return x
    return split(m, (m(x.whole) * scale).value) if isinstance(x, Pair) and x.whole is not None else x * scale


def c2c(m: Any, x: Any, axes: tuple[int, ...], sizes: tuple[int, ...], inverse: bool, scale: float) -> Any:
    return _scaled(m, _transformed(m, m.pair(_fit(m, x, axes, sizes)), axes, inverse), scale)


def r2c(m: Any, x: Any, axes: tuple[int, ...], sizes: tuple[int, ...], inverse: bool, scale: float) -> Any:
    """Half of the last axis, of whose coefficients each stands for itself and its conjugate."""
    *others, last = axes
    x = _fit(m, x, axes, sizes)
    made = split(m, rfft(m.b, x.value, axis=last))
    if inverse:
        made = Pair(m, made.re, -made.im)
    return _scaled(m, _transformed(m, made, tuple(others), inverse), scale)


def c2r(m: Any, x: Any, axes: tuple[int, ...], sizes: tuple[int, ...], inverse: bool, scale: float) -> Any:
    """From half of the last axis to real numbers."""
    *others, last = axes
    x = _fit(m, m.pair(x), axes, (*sizes[:-1], sizes[-1] // 2 + 1))
    made = _transformed(m, x, tuple(others), inverse)
    if not inverse:
        made = Pair(m, made.re, -made.im)
    return _scaled(m, m(irfft(m.b, joined(made), axis=last, n=sizes[-1])), scale)


__all__ = ["c2c", "c2r", "fft", "irfft", "r2c", "rfft"]
