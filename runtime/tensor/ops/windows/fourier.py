"""Discrete Fourier transforms: of complex and real tensors, in one dimension or several.

A transform is one operation: its input is cut or filled with zeros to the sizes asked for, transformed and scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....compiler.ops.complex.fourier import c2c, c2r, r2c
from ...face.required import check_tensors
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply
from ...value.dtypes import LARGEST, dtype_of, get_default_dtype
from ...value.promotion import c_name
from ..arranging.arranging import roll
from ..arranging.creation import finished
from ..arranging.shapes import shape_of

Axes = tuple[int, ...]


OF_COMPLEX = Operation("fft_c2c", "FftC2CBackward0", c2c, "float", of_complex=True)
OF_REAL = Operation("fft_r2c", "FftR2CBackward0", c2c, "float", of_complex=True)
HALF = Operation("fft_r2c", "FftR2CBackward0", r2c, "float", of_complex=True)
TO_REAL = Operation("fft_c2r", "FftC2RBackward0", c2r, "float", of_complex=True)

# ---- arguments


def _scale(norm: str | None, sizes: Axes, inverse: bool) -> float:
    """What the transform is multiplied by."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; expected "backward", "forward" or "ortho"')
    count = math.prod(sizes)
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if inverse != (norm == "forward") else 1.0


def _check_sizes(sizes: Sequence[int]) -> Axes:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return tuple(sizes)


def _given(name: str, input: Any) -> tuple[int, ...]:
    if not isinstance(input, Core):
        check_tensors(f"fft_{name}", **{"self": input})
    if input._kind_of().dtype in LARGEST:
        raise RuntimeError(f"Unsupported dtype {c_name(input._kind_of().dtype)}: use .float()")
    return shape_of(input)


def _check_real(name: str, input: Any) -> None:
    kind = input._kind_of()
    if kind.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {c_name(kind.dtype)}")


def _run(operation: Operation, input: Any, axes: Axes, sizes: Axes, norm: str | None, inverse: bool) -> Any:
    rank = len(shape_of(input))
    scale = _scale(norm, sizes, inverse)
    return apply(operation, (input,), (tuple(a - rank for a in axes), sizes, inverse, scale))


def _in_one(
    name: str, operation: Operation, inverse: bool, is_real: bool = False, to_real: bool = False
) -> Callable[..., Any]:
    def function(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        shape = _given(name, input)
        if is_real:
            _check_real(name, input)
        if not shape:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        axis = axis_of(dim, len(shape))
        size = n if n is not None else 2 * (shape[axis] - 1) if to_real else shape[axis]
        chosen = OF_REAL if operation is OF_COMPLEX and not input._kind_of().is_complex else operation
        return _run(chosen, input, (axis,), _check_sizes([size]), norm, inverse)

    return _named(function, name, "along one dimension")


def _named(function: Callable[..., Any], name: str, where: str) -> Callable[..., Any]:
    kinds = {
        "fft": "The discrete Fourier transform", "ifft": "The inverse discrete Fourier transform",
        "rfft": "Half of the discrete Fourier transform of real values",
        "irfft": "The real values of whose transform this is half",
        "hfft": "The real transform of values of which this is half, the others being their conjugates",
        "ihfft": "Half of the inverse transform of real values",
    }  # fmt: skip
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{kinds[name.rstrip('2n')]} {where}."
    return function


def _axes(name: str, shape: Sequence[int], s: Any, dim: Any, to_real: bool) -> tuple[Axes, Axes]:
    """The axes of a transform in several dimensions, and their sizes."""
    rank = len(shape)
    if dim is None:
        if s is not None and len(s) > rank:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {rank} dimensions.")
        axes: Axes = tuple(range(rank - len(s) if s is not None else 0, rank))
    else:
        dims = list(dim) if isinstance(dim, (tuple, list)) else [dim]
        if not rank and dims:
            raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
        axes = tuple(axis_of(d, rank) for d in dims)
        if len(set(axes)) != len(axes):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    if to_real and not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    own = [shape[a] for a in axes]
    if name.startswith(("irfft", "hfft")) and (s is None or s[-1] == -1):
        own[-1] = 2 * (own[-1] - 1)
    return axes, _check_sizes([o if n == -1 else n for n, o in zip(s if s is not None else own, own, strict=True)])


def _in_several(
    name: str, operation: Operation, inverse: bool, dims: Any, is_real: bool = False, half: bool = False
) -> Callable[..., Any]:
    def function(input: Tensor, s: Any = None, dim: Any = dims, norm: str | None = None) -> Tensor:
        shape = _given(name, input)
        if is_real:
            _check_real(name, input)
        if isinstance(s, int):
            s = [s]
        axes, sizes = _axes(name, shape, s, dim, half)
        return _run(operation, input, axes, sizes, norm, inverse)

    return _named(function, name, "along the last two dimensions" if dims else "along several dimensions")


fft, ifft = _in_one("fft", OF_COMPLEX, False), _in_one("ifft", OF_COMPLEX, True)
rfft, ihfft = _in_one("rfft", HALF, False, is_real=True), _in_one("ihfft", HALF, True, is_real=True)
irfft, hfft = _in_one("irfft", TO_REAL, True, to_real=True), _in_one("hfft", TO_REAL, False, to_real=True)
fft2, fftn = (_in_several(n, OF_COMPLEX, False, d) for n, d in (("fft2", (-2, -1)), ("fftn", None)))
ifft2, ifftn = (_in_several(n, OF_COMPLEX, True, d) for n, d in (("ifft2", (-2, -1)), ("ifftn", None)))
rfft2, rfftn = (_in_several(n, HALF, False, d, True, True) for n, d in (("rfft2", (-2, -1)), ("rfftn", None)))
ihfft2, ihfftn = (_in_several(n, HALF, True, d, True, True) for n, d in (("ihfft2", (-2, -1)), ("ihfftn", None)))
irfft2, irfftn = (_in_several(n, TO_REAL, True, d, half=True) for n, d in (("irfft2", (-2, -1)), ("irfftn", None)))
hfft2, hfftn = (_in_several(n, TO_REAL, False, d, half=True) for n, d in (("hfft2", (-2, -1)), ("hfftn", None)))

# ---- frequencies


def _frequencies(name: str, values: np.ndarray, n: int, d: float, dtype: Any, requires_grad: bool) -> Any:
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {kind}")
    return finished((values / (n * d) if n else values).astype(kind.numpy), requires_grad)


def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The frequencies of the n coefficients of `fft`, for samples at a distance of d."""
    places = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies("fftfreq", places.astype(np.float64), n, d, dtype, requires_grad)


def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The frequencies of the coefficients of `rfft` of n samples at a distance of d."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1, dtype=np.float64), n, d, dtype, requires_grad)


def _shifting(name: str, back: bool) -> Callable[..., Any]:
    def function(input: Tensor, dim: Any = None) -> Tensor:
        shape = shape_of(input)
        dims = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else [dim]
        axes = [axis_of(d, len(shape)) for d in dims]
        if not axes:
            return input.clone()
        return roll(input, [(shape[a] + back) // 2 for a in axes], axes)

    function.__name__ = function.__qualname__ = name
    what = "to the start, as `fft` has it" if back else "to the middle"
    function.__doc__ = f"The coefficient of frequency zero moved {what}."
    return function


fftshift, ifftshift = _shifting("fftshift", False), _shifting("ifftshift", True)
