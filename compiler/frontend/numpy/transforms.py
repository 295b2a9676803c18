"""np.fft on traced arrays: discrete Fourier transforms, cut or filled with zeros to the sizes asked for and scaled.

The formulas are those of `ops.complex.fourier`, as for Tensors; NumPy's pocketfft computes. Transforms of f32 are
complex64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ops.complex import fourier
from ...ops.complex.pairs import Complex
from ...ops.term import Terms
from ..array import Array, implements
from ..errors import TraceError, message
from ..promotion import conform
from ..tracing import user_line
from .complex.complexes import ANY, paired, whole_of
from .reductions import normal_axis, traced

Axes = tuple[int, ...]


def _numbers(a: Any) -> Array:
    now, x = traced(a)
    if not all(isinstance(n, int) for n in x.shape):
        said = "np.fft of an array whose size is known by name only"
        raise TraceError(message(said, user_line(), "trace it for given sizes: leave out sizes=", array=x.type))
    kind = np.result_type(x.dtype, np.float32) if x.dtype.kind in "fc" else np.dtype(np.float64)
    return Array(now, conform(now, x, kind, x.shape))


def _scale(norm: str | None, count: int, inverse: bool) -> float:
    if norm not in (None, "backward", "forward", "ortho"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if inverse != (norm == "forward") else 1.0


def _run(kind: str, x: Array, axes: Axes, sizes: Axes, norm: str | None, inverse: bool) -> Array:
    for n in sizes:
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    now = x.tracing
    m = Complex(Terms(now.builder))
    pair = paired(now, m, x, x.dtype, x.shape)
    pair.zero = ""
    given = pair if kind != "r2c" else pair.re
    negative = tuple(a - x.ndim for a in axes)
    scale = _scale(norm, math.prod(sizes), inverse)
    now.builder.where = user_line()
    return Array(now, whole_of(now, getattr(fourier, kind)(m, given, negative, sizes, inverse, scale)))


def _real(name: str, x: Array) -> None:
    if x.type.is_complex:
        instead = name.replace("r", "").replace("ih", "i")
        raise TypeError(f"np.fft.{name} takes real values, got {x.dtype}: use np.fft.{instead}")


def _length(kind: str, x: Array, axis: int) -> int:
    return 2 * (x.shape[axis] - 1) if kind == "c2r" else x.shape[axis]


def _in_one(name: str, kind: str, inverse: bool) -> Callable[..., Any]:
    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
        x = _numbers(a)
        if kind == "r2c":
            _real(name, x)
        place = normal_axis(axis, x.ndim)
        return _run(kind, x, (place,), (_length(kind, x, place) if n is None else n,), norm, inverse)

    transform.__name__ = name
    return transform


def _places(x: Array, s: Sequence[int] | None, axes: Any, kind: str) -> tuple[Axes, Axes]:
    """The axes of a transform in several dimensions, and their sizes."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    elif np.ndim(axes) == 0:
        axes = (axes,)
    places = tuple(normal_axis(k, x.ndim) for k in axes)
    if s is None:
        own = [x.shape[k] for k in places]
        if kind == "c2r" and own:
            own[-1] = 2 * (own[-1] - 1)
        return places, tuple(own)
    if len(s) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    return places, tuple(x.shape[k] if n == -1 else n for n, k in zip(s, places, strict=True))


def _in_several(name: str, kind: str, inverse: bool, plane: bool) -> Callable[..., Any]:
    def transform(a: Any, s: Any = None, axes: Any = (-2, -1) if plane else None, norm: str | None = None) -> Array:
        x = _numbers(a)
        if kind == "r2c":
            _real(name, x)
        places, sizes = _places(x, s, axes, kind)
        if len(set(places)) < len(places):
            return _repeated(name, kind, x, places, sizes, norm, inverse)
        if not places:
            if kind == "c2c":
                return x
            raise IndexError(f"np.fft.{name} must transform along one axis at least")
        return _run(kind, x, places, sizes, norm, inverse)

    transform.__name__ = name
    return transform


def _repeated(name: str, kind: str, x: Array, places: Axes, sizes: Axes, norm: Any, inverse: bool) -> Array:
    """Along some axis twice, one transform after the other, as NumPy has it."""
    if kind != "c2c":
        raise TraceError(message(f"np.fft.{name} along one axis twice", user_line(), "transform one axis at a time"))
    for place, n in zip(reversed(places), reversed(sizes), strict=True):
        x = _run(kind, x, (place,), (n,), norm, inverse)
    return x


for _name, _kind, _inverse in (
    ("fft", "c2c", False), ("ifft", "c2c", True), ("rfft", "r2c", False), ("irfft", "c2r", True),
    ("hfft", "c2r", False), ("ihfft", "r2c", True),
):  # fmt: skip
    implements(getattr(np.fft, _name))(_in_one(_name, _kind, _inverse))
    if not _name.endswith("hfft"):
        implements(getattr(np.fft, f"{_name}2"))(_in_several(f"{_name}2", _kind, _inverse, True))
        implements(getattr(np.fft, f"{_name}n"))(_in_several(f"{_name}n", _kind, _inverse, False))

ANY.update(f for f in map(np.fft.__dict__.get, np.fft.__all__) if f not in (np.fft.fftfreq, np.fft.rfftfreq))

__all__: list[str] = []
