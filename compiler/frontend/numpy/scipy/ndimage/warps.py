"""scipy.ndimage between the points of a grid, on traced images and places: shifts, zooms, turns, affine maps, splines.

Each is the value of the image at coordinates: of order 0 the nearest point's, of order 1 between two along every axis,
of order 3 a cubic spline through the points, whose coefficients a matrix for each axis gives (M. Unser, "Splines: a
perfect fit for signal and image processing", 1999).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....array import Array, unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ...reductions import traced
from ..special.functions import as_float, given
from .images import as_image, no_output

MODES = ("constant", "nearest", "grid-wrap", "mirror", "reflect")
MARGIN = 12
"""How far an image goes on with its edge, where its spline is to."""


def _filtered(x: Any, mode: str) -> Any:
    """The coefficients of the cubic spline, which goes on beyond the ends as its mode says."""
    for axis, n in enumerate(x.shape):
        if n == 1:
            continue
        rows = (np.diag(np.full(n, 4.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)) / 6.0
        if mode == "grid-wrap":
            rows[0, -1] += 1.0 / 6.0
            rows[-1, 0] += 1.0 / 6.0
        else:
            at = (0, n - 1) if mode == "reflect" else (1, n - 2)
            rows[0, at[0]] += 1.0 / 6.0
            rows[-1, at[1]] += 1.0 / 6.0
        x = np.moveaxis(np.tensordot(np.linalg.inv(rows), x, (1, axis)), 0, axis)
    return x


def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    if order not in (0, 1, 3) or mode not in ("mirror", "reflect", "grid-wrap") or output is not np.float64:
        raise unknown("scipy.ndimage.spline_filter", f" with order={order}, mode={mode!r} and an output")
    return _filtered(as_image(input), mode) if order == 3 else as_image(input)


def _weights(far: Any, order: int) -> list[Any]:
    """Of the points around a place, which is `far` from the point below it."""
    if order == 1:
        return [1.0 - far, far]
    near = 1.0 - far
    middle = [(4.0 - 6.0 * t**2 + 3.0 * t**3) / 6.0 for t in (far, near)]
    return [near**3 / 6.0, *middle, far**3 / 6.0]


def _inside(k: Any, n: int, mode: str) -> Any:
    """Indices of points, those beyond the ends as the mode says."""
    if mode == "grid-wrap":
        return k % n
    if mode == "nearest" or n == 1:
        return np.clip(k, 0, n - 1)
    if mode == "reflect":
        k = k % (2 * n)
        return np.minimum(k, 2 * n - 1 - k)
    k = k % (2 * n - 2)
    return np.minimum(k, 2 * n - 2 - k)


def _at(name: str, x: Any, at: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """The image at coordinates: an array for each axis, or what broadcasts with the others."""
    order = given(f"scipy.ndimage.{name}", "order", order)
    if order not in (0, 1, 3) or mode not in MODES:
        raise unknown(f"scipy.ndimage.{name}", f" with order={order}, mode={mode!r} (orders are 0, 1 and 3)")
    sizes, margin = x.shape, 0
    if order == 3:
        if mode == "nearest" and prefilter:
            x, margin = np.pad(x, MARGIN, "edge"), MARGIN
        x = _filtered(x, mode) if prefilter else x
    within, made, rank = True, 1.0, x.ndim
    indices = []
    for axis, (p, n, size) in enumerate(zip(at, x.shape, sizes, strict=True)):
        if mode == "constant":
            within = within & (p >= 0) & (p <= size - 1)
        p = np.clip(p + margin, 0.0, n - 1.0) if mode in ("nearest", "constant") else p
        base = np.floor(p + 0.5 if order == 0 else p)
        first = base.astype(int) - (order == 3)
        apart = tuple([order + 1 if k == axis else 1 for k in range(rank)])  # the neighbours have axes in front
        near = np.reshape(np.arange(order + 1), (*apart, *[1] * p.ndim))
        indices.append(_inside(first + near, n, mode))
        if order:
            made = made * np.reshape(np.stack(_weights(p - base, order)), (*apart, *p.shape))
    held = traced(x)[1]  # known numbers, too: their places are values
    made = np.sum(made * held[tuple(indices)], axis=tuple(range(rank)))
    return np.where(within, made, cval) if mode == "constant" else made


def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    no_output("map_coordinates", output)
    x, at = as_image(input), as_float(as_operand(coordinates))
    if at.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return _at("map_coordinates", x, list(at), order, mode, cval, prefilter)


def _grid(shape: Any) -> list[Any]:
    """The coordinates along each axis, which broadcast with the others."""
    return list(np.ogrid[tuple([slice(0.0, n) for n in shape])])


def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    no_output("shift", output)
    x = as_image(input)
    by = np.broadcast_to(as_float(as_operand(shift)), (x.ndim,))
    at = [p - by[k] for k, p in enumerate(_grid(x.shape))]
    return _at("shift", x, np.broadcast_arrays(*at), order, mode, cval, prefilter)


def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    no_output("zoom", output)
    x = as_image(input)
    factors = np.broadcast_to(np.asarray(given("scipy.ndimage.zoom", "zoom", zoom), float), (x.ndim,))
    if grid_mode:
        raise unknown("scipy.ndimage.zoom", " with grid_mode=True")
    shape = [round(n * z) for n, z in zip(x.shape, factors.tolist(), strict=True)]
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(x.shape, shape, strict=True)]
    at = np.broadcast_arrays(*[p * step for p, step in zip(_grid(shape), steps, strict=True)])
    return _at("zoom", x, at, order, mode, cval, prefilter)


def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    no_output("affine_transform", output)
    x, m = as_image(input), as_float(as_operand(matrix))
    rank = x.ndim
    if m.ndim == 2 and m.shape[1] == rank + 1 and m.shape[0] in (rank, rank + 1):
        offset, m = m[:rank, rank], m[:rank, :rank]
    if m.shape not in ((rank, rank), (rank,)):
        raise RuntimeError("improper affine matrix")
    m = np.diag(m) if m.ndim == 1 else m
    begin = np.broadcast_to(as_float(as_operand(offset)), (rank,))
    grid = _grid(x.shape if output_shape is None else output_shape)
    at = [sum([m[k, j] * grid[j] for j in range(rank)]) + begin[k] for k in range(rank)]
    return _at("affine_transform", x, np.broadcast_arrays(*at), order, mode, cval, prefilter)


def rotate(
    input: Any, angle: Any, axes: tuple[int, int] = (1, 0), reshape: bool = True, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """By degrees, about the centre; where the shape is the turned image's, the angle must be known."""
    no_output("rotate", output)
    x = as_image(input)
    plane = sorted([k % x.ndim for k in axes])
    angle = given("scipy.ndimage.rotate", "angle with reshape=True", angle) if reshape else as_operand(angle)
    turn = as_float(angle) * (np.pi / 180.0) if isinstance(angle, Array) else np.deg2rad(angle)
    c, s = np.cos(turn), np.sin(turn)
    rotation = np.stack([np.stack([c, s]), np.stack([-s, c])])
    sizes = np.array([x.shape[k] for k in plane])
    shape = list(x.shape)
    if reshape:
        ends = rotation @ np.array([[0, 0, sizes[0], sizes[0]], [0, sizes[1], 0, sizes[1]]])
        shape[plane[0]], shape[plane[1]] = (np.ptp(ends, axis=1) + 0.5).astype(int).tolist()
    centre = np.array([(shape[k] - 1) / 2.0 for k in plane])
    begin = (sizes - 1) / 2.0 - rotation @ centre
    at = _grid(shape)
    first, second = (at[k] for k in plane)
    for row, k in enumerate(plane):
        at[k] = rotation[row, 0] * first + rotation[row, 1] * second + begin[row]
    return _at("rotate", x, np.broadcast_arrays(*at), order, mode, cval, prefilter)


recode("scipy.ndimage", {
    "map_coordinates": map_coordinates, "shift": shift, "zoom": zoom, "affine_transform": affine_transform,
    "rotate": rotate, "spline_filter": spline_filter,
})  # fmt: skip
