"""Pictures read at places that a grid says, and the grids of affine maps (Jaderberg et al., 2015)."""

from __future__ import annotations

import warnings
from itertools import product
from math import prod
from typing import Any

from ....compiler.ir.symint import as_index
from ....compiler.ops.contract import contract
from ....compiler.ops.index import take
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import zeros
from ...tensor.ops.arranging.ranges import linspace
from ...tensor.ops.folds.reductions import back, converted
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.trace.tape import unrepeatable
from ...tensor.value.core import apply
from .resampling import cubic_shares
from .terms import Shape, counting, joined, listed, need_tensor, part, reshaped, shape_of, size_of, turned

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _place(m: Any, g: Any, n: int, aligned: bool) -> Any:
    """-1 .. 1 as pixels of an axis: the ends are the middles of the last pixels, or their edges.

    For edges PyTorch's (g + 1) n/2 - 1/2 is rounded once, and decides between two pixels where g is at one. Here it is
    the sum of two parts of g + 1 times n/2, the first of which has so few digits that all before the sum is exact.
    """
    g = g + 1
    if aligned:
        return g * ((n - 1) / 2)
    plain = g * (n / 2) - 0.5
    if g.value.type.dtype not in ("f32", "f64"):
        return plain
    near = m.lt(m.abs(g), 4)
    first = m.select(near, m.rint(g * 1024), 0) * (1 / 1024)
    return m.select(near, (first * (n / 2) - 0.5) + (g - first) * (n / 2), plain)


def _inside(m: Any, x: Any, n: int, padding: str, aligned: bool) -> Any:
    """The place moved into the picture, as `padding` says."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        low, span = (0.0, float(n - 1)) if aligned else (-0.5, float(n))
        if not span:
            return 0 * x
        away = m.abs(x - low)
        turns = m.floor(away / span)
        extra = away - turns * span
        even = m.eq(turns - 2 * m.floor(turns * 0.5), 0)
        x = m.select(even, extra + low, span - extra + low)
    return m.select(m.le(x, 0), 0, m.select(m.ge(x, n - 1), n - 1, x))


class _Pixels:
    """The picture as rows of channels, one for each pixel of each image."""

    def __init__(self, m: Any, x: Any, shape: Shape) -> None:
        n, channels, *sizes = shape_of(x)
        self.m, self.sizes, self.shape = m, sizes, shape
        moved = turned(m, x, (0, *range(2, len(sizes) + 2), 1))
        self.rows = reshaped(m, moved, (n * prod(sizes), channels))

    def at(self, places: list[Any]) -> Any:
        """[n, ..., channels] at whole numbers, zeros outside."""
        m, index, there = self.m, counting(self.m, self.shape, 0), None
        for x, n in zip(places, self.sizes, strict=True):
            near = m.select(m.lt(x, 0), 0, m.select(m.gt(x, n - 1), n - 1, m.select(m.eq(x, x), x, 0)))
            index = index * n + converted(m, near, "i64")
            here = m.eq(near, x)
            there = here if there is None else m.and_(there, here)
        made = m(take(m.b, self.rows.value, index.value, axis=0))
        whole = shape_of(made)
        return m.select(back(m, there, whole, (len(whole) - 1,)), made, 0)


def _sampled(m: Any, x: Any, grid: Any, mode: str, padding: str, aligned: bool) -> Any:
    *shape, rank = shape_of(grid)
    shape = tuple(shape)
    pixels = _Pixels(m, x, shape)
    places = []
    for k, n in enumerate(pixels.sizes):
        g = reshaped(m, part(m, grid, rank + 1, rank - 1 - k, 1), shape)
        at = _place(m, g, n, aligned)
        places.append(at if mode == "bicubic" else _inside(m, at, n, padding, aligned))
    if mode == "nearest":
        made = pixels.at([m.rint(p) for p in places])
    else:
        made = _weighted(m, pixels, places, mode, padding, aligned)
    return turned(m, made, (0, rank + 1, *range(1, rank + 1)))


def _weighted(m: Any, pixels: _Pixels, places: list[Any], mode: str, padding: str, aligned: bool) -> Any:
    lows = [m.floor(p) for p in places]
    if mode == "bicubic":
        shares = [cubic_shares(m, p - low) for p, low in zip(places, lows, strict=True)]
        offsets = (-1, 0, 1, 2)
    else:
        shares = [[1 - (p - low), p - low] for p, low in zip(places, lows, strict=True)]
        offsets = (0, 1)
    made = None
    for corner in product(range(len(offsets)), repeat=len(places)):
        at = [low + float(offsets[j]) for low, j in zip(lows, corner, strict=True)]
        if mode == "bicubic":
            at = [_inside(m, p, n, padding, aligned) for p, n in zip(at, pixels.sizes, strict=True)]
        share = None
        for each, j in zip(shares, corner, strict=True):
            share = each[j] if share is None else share * each[j]
        value = pixels.at(at)
        value = value * back(m, share, shape_of(value), (len(pixels.shape),))
        made = value if made is None else made + value
    return made


SAMPLED = {r: Operation("grid_sample", f"GridSampler{r}DBackward0", _sampled) for r in (2, 3)}


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The pixels of [n, channels, h, w] at the places of `grid` [n, rows, columns, 2], each x and y within -1 .. 1."""
    need_tensor("grid_sample", "input", input)
    need_tensor("grid_sample", "grid", grid)
    if mode not in MODES:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be {', '.join(MODES)}, but got: '{mode}'")
    if padding_mode not in PADDINGS:
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be {', '.join(PADDINGS)}, but got:"
                         f" '{padding_mode}'")
    if align_corners is None:
        unrepeatable()
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0.",
                      stacklevel=2)
    shape, places = size_of(input), size_of(grid)
    rank = len(shape) - 2
    if rank not in (2, 3) or len(places) != len(shape):
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got"
                           f" input with sizes {list(shape)} and grid with sizes {list(places)}")
    if shape[0] != places[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes"
                           f" {list(shape)} and grid with sizes {list(places)}")
    if places[-1] != rank:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {rank} in last dimension, but got grid with"
                           f" sizes {list(places)}")
    if 0 in shape[2:]:
        raise RuntimeError(f"grid_sampler(): expected input with non-empty spatial dimensions, but got {list(shape)}")
    if rank == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input._kind_of().dtype != grid._kind_of().dtype:
        raise RuntimeError(f"grid_sampler(): expected input and grid of one dtype, got {input.dtype} and {grid.dtype}")
    return apply(SAMPLED[rank], (input, grid), (mode, padding_mode, bool(align_corners)))


def _grid(m: Any, theta: Any, *rest: Any) -> Any:
    *axes, sizes = rest
    parts = []
    for k in reversed(range(len(sizes))):
        others = tuple(j for j in range(len(sizes)) if j != k)
        parts.append(reshaped(m, back(m, axes[k], sizes, others), (*sizes, 1)))
    parts.append(m.number(1.0, parts[0].value.type))
    base = joined(m, parts, len(sizes))
    made = m(contract(m.b, theta.value, base.value, left=(2,), right=(len(sizes),)))
    return turned(m, made, (0, *range(2, len(sizes) + 2), 1))


def _axis(n: int, aligned: bool, dtype: Any) -> Tensor:
    """Where the pixels of an axis are, as PyTorch rounds it: bilinear samples have kinks at pixels."""
    at = linspace(-1.0, 1.0, n, dtype=dtype) if n > 1 else zeros(n, dtype=dtype)
    return at if aligned else at * (n - 1) / n


GRID = Operation("affine_grid", "AffineGridGeneratorBackward0", _grid)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid of an affine map [n, 2, 3] (or [n, 3, 4]) for results of `size`: [n, rows, columns, 2]."""
    need_tensor("affine_grid", "theta", theta)
    if not theta._kind_of().is_float:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if align_corners is None:
        unrepeatable()
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0.",
                      stacklevel=2)
    sizes = tuple([as_index(n) for n in size])
    rank = len(sizes) - 2
    if rank not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms,"
                                  f" respectively. Got size {list(sizes)}.")
    if size_of(theta)[1:] != (rank, rank + 1) or len(size_of(theta)) != 3:
        raise ValueError(f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size"
                         f" {list(sizes)}. Got {listed(theta)}.")
    if min(sizes) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(sizes)}")
    axes = [_axis(n, bool(align_corners), theta.dtype) for n in sizes[2:]]
    return apply(GRID, (theta, *axes), (sizes[2:],))


__all__ = ["affine_grid", "grid_sample"]
