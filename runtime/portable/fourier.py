"""Discrete Fourier transforms as products with small matrices and twiddle factors: pairs in, pairs out.

A length is split into its factors (Cooley and Tukey 1965); a prime that is large becomes a convolution of a length that
is a power of two (Bluestein 1970). No transform is scaled, as in `ops.complex.fourier`, which says what they mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .counting import counted

DIRECT = 16
"""Up to this length the transform is one product with a matrix."""

FACTORS = (16, 8, 4, 2, *range(3, DIRECT, 2))
"""By which longer ones are divided, the first first."""


def fft(x: Any, axes: tuple[int, ...], inverse: int) -> Any:
    """Along axes that are counted from the one before the pairs."""
    re, im = x[..., 0], x[..., 1]
    for axis in axes:
        re, im = _transform(np.moveaxis(re, axis, -1), np.moveaxis(im, axis, -1), 1.0 if inverse else -1.0)
        re, im = np.moveaxis(re, -1, axis), np.moveaxis(im, -1, axis)
    return np.stack([re, im], axis=-1)


def rfft(x: Any, axis: int) -> Any:
    """The coefficients from 0 to the half of real values."""
    re, im = _transform(np.moveaxis(x, axis, -1), np.zeros_like(np.moveaxis(x, axis, -1)), -1.0)
    half = x.shape[axis] // 2 + 1
    return np.stack([np.moveaxis(part[..., :half], -1, axis) for part in (re, im)], axis=-1)


def irfft(x: Any, axis: int, n: int) -> Any:
    """The real values, n of them, of these coefficients."""
    re, im = (np.moveaxis(x[..., k], axis, -1) for k in (0, 1))
    back = slice(n - n // 2 - 1, 0, -1)
    re, im = np.concatenate([re, re[..., back]], -1), np.concatenate([im, -im[..., back]], -1)
    return np.moveaxis(_transform(re, im, 1.0)[0], -1, axis)


def _transform(re: Any, im: Any, sign: float) -> tuple[Any, Any]:
    """Of the last axis; the exponent has this sign."""
    n = re.shape[-1]
    if n <= DIRECT:
        return _times(re, im, *_powers(np.outer(counted(n), counted(n)), n, sign, re.dtype))
    factors = [p for p in FACTORS if n % p == 0]
    if not factors:
        return _bluestein(re, im, sign)
    factor = factors[0]
    rest = n // factor
    shape = (*re.shape[:-1], rest, factor)
    re, im = (np.swapaxes(part.reshape(shape), -1, -2) for part in (re, im))
    re, im = _transform(re, im, sign)
    cos, sin = _powers(np.outer(counted(factor), counted(rest)), n, sign, re.dtype)
    re, im = re * cos - im * sin, re * sin + im * cos
    cos, sin = _powers(np.outer(counted(factor), counted(factor)), factor, sign, re.dtype)
    re, im = cos @ re - sin @ im, sin @ re + cos @ im
    return re.reshape(*shape[:-2], n), im.reshape(*shape[:-2], n)


def _times(re: Any, im: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    return re @ cos - im @ sin, re @ sin + im @ cos


def _powers(places: Any, n: int, sign: float, dtype: Any) -> tuple[Any, Any]:
    """Cosine and sine of sign * 2 pi * place / n."""
    angles = 2.0 * np.pi / n * (places % n)
    return np.cos(angles).astype(dtype), (sign * np.sin(angles)).astype(dtype)


def _bluestein(re: Any, im: Any, sign: float) -> tuple[Any, Any]:
    """A chirp times the values, convolved with the other chirp, times the chirp."""
    n = re.shape[-1]
    size = 1 << (2 * n - 2).bit_length()
    cos, sin = _powers(counted(n) ** 2, 2 * n, sign, re.dtype)
    fill = [(0, 0)] * (re.ndim - 1) + [(0, size - n)]
    there = _transform(np.pad(re * cos - im * sin, fill), np.pad(re * sin + im * cos, fill), -1.0)
    gap = np.zeros(size - 2 * n + 1, re.dtype)
    chirp, turn = (np.concatenate([part, gap, part[:0:-1]]) for part in (cos, -sin))
    other = _transform(chirp, turn, -1.0)
    product = there[0] * other[0] - there[1] * other[1], there[0] * other[1] + there[1] * other[0]
    re, im = (part[..., :n] / size for part in _transform(*product, 1.0))
    return (re * cos - im * sin).astype(cos.dtype), (re * sin + im * cos).astype(cos.dtype)
