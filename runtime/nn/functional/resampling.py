"""Pictures in another size: nearest pixels, straight lines, cubic curves, means.

Along each dimension in turn, the pixels of the result are weighted sums of one, two or four pixels of the input, whose
numbers are computed from the result's in the input's dtype, as PyTorch does.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ....compiler.ir.symint import as_index
from ....compiler.ops.index import take
from ...tensor.face.tensor import Tensor
from ...tensor.ops.folds.reductions import converted
from ...tensor.ops.windows.averages import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.trace.tape import unrepeatable
from ...tensor.value.core import apply
from .smoothing import smoothed
from .terms import Shape, along, counting, need_tensor, shape_of, size_of

CUBIC = -0.75
"""The free number of the cubic kernel (Keys, 1981), as PyTorch has it."""

Sampling = tuple[tuple[int, ...], tuple[float, ...], bool]
"""Sizes of the result, steps in the input for one in the result, and whether corners are aligned."""


def _places(m: Any, dtype: str, n: int, scale: float, aligned: bool, cubic: bool = False) -> Any:
    """Where in the input the pixels of the result are."""
    i = converted(m, counting(m, (n,), 0), dtype)
    if aligned:
        return i * scale
    at = (i + 0.5) * scale - 0.5
    return at if cubic else m.maximum(at, 0)


def _picked(m: Any, x: Any, index: Any, axis: int, size: int) -> Any:
    """The pixels named along an axis, the nearest one where there is none."""
    return m(take(m.b, x.value, m.minimum(m.maximum(index, 0), size - 1).value, axis=axis))


def _nearest(m: Any, x: Any, sampling: Sampling, shift: float) -> Any:
    sizes, scales, _ = sampling
    for k, (n, scale) in enumerate(zip(sizes, scales, strict=True)):
        axis = 2 + k
        dtype = x.value.type.dtype
        i = converted(m, counting(m, (n,), 0), dtype if x.value.type.is_float else "f32")
        at = converted(m, m.floor((i + shift if shift else i) * scale), "i64")
        x = _picked(m, x, at, axis, shape_of(x)[axis])
    return x


def _linear(m: Any, x: Any, sampling: Sampling) -> Any:
    sizes, scales, aligned = sampling
    for k in reversed(range(len(sizes))):
        axis, dtype = 2 + k, x.value.type.dtype
        old = shape_of(x)[axis]
        if old == sizes[k]:
            continue
        at = _places(m, dtype, sizes[k], scales[k], aligned)
        low = converted(m, m.floor(at), "i64")
        share = at - converted(m, low, dtype)
        parts = [_picked(m, x, low + j, axis, old) for j in (0, 1)]
        shape = shape_of(parts[0])
        x = along(m, 1 - share, shape, axis) * parts[0] + along(m, share, shape, axis) * parts[1]
    return x


def cubic_shares(m: Any, t: Any) -> list[Any]:
    """What the four pixels around a place count, which is t after the second of them."""

    def near(u: Any) -> Any:
        return ((CUBIC + 2) * u - (CUBIC + 3)) * u * u + 1

    def far(u: Any) -> Any:
        return ((CUBIC * u - 5 * CUBIC) * u + 8 * CUBIC) * u - 4 * CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(m: Any, x: Any, sampling: Sampling) -> Any:
    sizes, scales, aligned = sampling
    for k in reversed(range(len(sizes))):
        axis, dtype = 2 + k, x.value.type.dtype
        old = shape_of(x)[axis]
        at = _places(m, dtype, sizes[k], scales[k], aligned, cubic=True)
        low = m.floor(at)
        shares, index, made = cubic_shares(m, at - low), converted(m, low, "i64"), None
        for j, share in enumerate(shares):
            each = _picked(m, x, index + (j - 1), axis, old)
            each = each * along(m, share, shape_of(each), axis)
            made = each if made is None else made + each
        x = made
    return x


NAMES = {1: "1D", 2: "2D", 3: "3D"}
NEAREST = {k: Operation("interpolate", f"UpsampleNearest{n}Backward0", lambda m, x, s: _nearest(m, x, s, 0.0),
                        lies="format")
           for k, n in NAMES.items()}
EXACT = {k: Operation("interpolate", f"UpsampleNearestExact{n}Backward0", lambda m, x, s: _nearest(m, x, s, 0.5),
                      lies="format")
         for k, n in NAMES.items()}
LINEAR = {k: Operation("interpolate", f"Upsample{n}Backward0", _linear, lies="format")
          for k, n in {1: "Linear1D", 2: "Bilinear2D", 3: "Trilinear3D"}.items()}
BICUBIC = {2: Operation("interpolate", "UpsampleBicubic2DBackward0", _cubic, lies="format")}
MODES: dict[str, tuple[dict[int, Operation], tuple[int, ...]]] = {
    "nearest": (NEAREST, (1, 2, 3)),
    "nearest-exact": (EXACT, (1, 2, 3)),
    "linear": (LINEAR, (1,)),
    "bilinear": (LINEAR, (2,)),
    "trilinear": (LINEAR, (3,)),
    "bicubic": (BICUBIC, (2,)),
}
AREAS: dict[int, Callable[..., Tensor]] = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """[batch, channels, n...] with other sizes n, or n times `scale_factor`.

    mode   nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area
    """
    need_tensor("interpolate", "input", input)
    shape = size_of(input)
    _check_mode(mode, align_corners, antialias, len(shape))
    old = shape[2:]
    sizes, factors = _sizes(old, size, scale_factor, recompute_scale_factor, mode)
    rank = len(old)
    fits = {"area": (1, 2, 3)} | {k: v[1] for k, v in MODES.items()}
    if rank not in fits[mode]:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {len(shape)}D) for the modes: nearest |"
            f" linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if min((*sizes, *old), default=1) < 1:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {list(old)} and output"
                           f" {list(sizes)}")
    if mode == "area":
        return AREAS[rank](input, sizes)
    if not input._kind_of().is_float:
        raise NotImplementedError(f"interpolate: not implemented for {input.dtype}; convert the tensor to a float")
    aligned = bool(align_corners)
    scales = tuple([_scale(o, n, f, aligned) for o, n, f in zip(old, sizes, factors, strict=True)])
    if antialias:
        return smoothed(input, mode, sizes, scales)
    return apply(MODES[mode][0][rank], (input,), ((sizes, scales, aligned),))


def _check_mode(mode: str, align_corners: bool | None, antialias: bool, rank: int) -> None:
    if mode not in MODES and mode != "area":
        raise NotImplementedError(f"interpolate: unknown mode {mode!r}: use one of {', '.join(MODES)} or area")
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear |"
                         " bicubic | trilinear")
    if antialias and (mode not in ("bilinear", "bicubic") or rank != 4):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D"
                         " tensor as input")


def _sizes(
    old: Shape, size: Any, factor: Any, again: bool | None, mode: str
) -> tuple[Shape, tuple[float | None, ...]]:
    """The sizes of the result, and the factors that were given."""
    rank = len(old)
    if (size is None) == (factor is None):
        raise ValueError("only one of size or scale_factor should be defined" if size is not None else
                         "either size or scale_factor should be defined")
    given = size if factor is None else factor
    many = tuple(given) if isinstance(given, (tuple, list)) else (given,) * rank
    if len(many) != rank:
        raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial"
                         f" dimensions of {list(old)} and {'size' if factor is None else 'scale_factor'} of {given}.")
    if factor is None:
        if again:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        for n in many:
            if isinstance(n, bool) or not hasattr(n, "__index__"):
                raise TypeError(f"interpolate: sizes must be ints, got {given!r}")
        return tuple([as_index(n) for n in many]), (None,) * rank
    sizes = tuple([math.floor(n * float(f)) for n, f in zip(old, many, strict=True)])
    return sizes, (None,) * rank if again or mode == "area" else tuple([float(f) for f in many])


def _scale(old: int, new: int, factor: float | None, aligned: bool) -> float:
    if aligned:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    return 1 / factor if factor else old / new


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate` under its old name."""
    unrepeatable()
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by nearest pixels, under its old name."""
    unrepeatable()
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by straight lines between aligned corners, under its old name."""
    unrepeatable()
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return interpolate(input, size, scale_factor, "bilinear", True)


__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]
