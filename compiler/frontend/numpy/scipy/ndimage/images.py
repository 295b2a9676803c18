"""scipy.ndimage on traced arrays: filters along axes and with windows.

Outside of an image it goes on as `mode` says, which np.pad has under other names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ...convolutions import conv
from ..special.functions import as_float, given

_PADS: dict[str, Any] = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def as_image(x: Any) -> Any:
    return as_float(as_operand(x))


def _padded(x: Any, around: list[tuple[int, int]], mode: str, cval: Any) -> Any:
    if mode not in _PADS:
        raise RuntimeError("boundary mode not supported")
    return np.pad(x, around, _PADS[mode], **({"constant_values": cval} if _PADS[mode] == "constant" else {}))


def no_output(name: str, output: Any) -> None:
    if output is not None:
        raise unknown(f"scipy.ndimage.{name}", " with output")


def _around(size: int, origin: int) -> tuple[int, int]:
    """How far a window reaches to both sides of its centre."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ValueError("invalid origin")
    return before, size - 1 - before


def _for_each(value: Any, rank: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * rank


# ---- along one axis


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    no_output("correlate1d", output)
    x, w = as_image(input), as_float(as_operand(weights))
    size, axis = w.shape[0], axis % x.ndim
    around = [(0, 0)] * x.ndim
    around[axis] = _around(size, origin)
    rows = np.moveaxis(_padded(x, around, mode, cval), axis, -1)
    made = conv(rows.reshape(-1, 1, rows.shape[-1]), w[None, None])
    return np.moveaxis(made.reshape(*rows.shape[:-1], x.shape[axis]), -1, axis)


def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    w = as_operand(weights)
    return correlate1d(input, w[::-1], axis, output, mode, cval, -origin - (not w.shape[0] % 2))


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The density at whole numbers, and its derivatives: polynomials times it."""
    x = np.arange(-radius, radius + 1)
    density = np.exp(-0.5 / sigma**2 * x**2)
    density = density / np.sum(density)
    factor, previous = 1.0 + 0.0 * x, 0.0 * x
    for k in range(order):  # Hermite's: each derivative brings a factor -x / sigma**2
        factor, previous = -(x * factor + k * previous) / sigma**2, factor
    return factor * density


def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    if radius is None:
        radius = int(truncate * float(given("scipy.ndimage.gaussian_filter", "sigma without radius", sigma)) + 0.5)
    return correlate1d(input, _gaussian(sigma, order, radius)[::-1], axis, output, mode, cval)


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:  # fmt: skip
    return correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def _axes(axes: Any, rank: int) -> list[int]:
    return list(range(rank)) if axes is None else [k % rank for k in np.atleast_1d(axes)]


def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    x = as_image(input)
    chosen = _axes(axes, x.ndim)
    options = [_for_each(each, len(chosen)) for each in (sigma, order, mode, radius)]
    for axis, s, o, m, r in zip(chosen, *options, strict=True):
        x = gaussian_filter1d(x, s, axis, o, output, m, cval, truncate, radius=r)
    return x


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    x = as_image(input)
    chosen = _axes(axes, x.ndim)
    for axis, *each in zip(chosen, *(_for_each(o, len(chosen)) for o in (size, mode, origin)), strict=True):
        x = uniform_filter1d(x, each[0], axis, output, each[1], cval, each[2])
    return x


def _derivative(smooth: list[float]) -> Callable[..., Any]:
    """Differences along one axis, sums along all others."""

    def meaning(
        input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
    ) -> Any:
        x = as_image(input)
        axis, modes = axis % x.ndim, _for_each(mode, x.ndim)
        made = correlate1d(x, np.array([-1.0, 0.0, 1.0]), axis, output, modes[axis], cval)
        for k in set(range(x.ndim)) - {axis}:
            made = correlate1d(made, np.array(smooth), k, output, modes[k], cval)
        return made

    return meaning


def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    x = as_image(input)
    chosen = _axes(axes, x.ndim)
    modes = _for_each(mode, len(chosen))
    weights = np.array([1.0, -2.0, 1.0])
    return sum(correlate1d(x, weights, k, output, m, cval) for k, m in zip(chosen, modes, strict=True))


def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None, **more: Any
) -> Any:  # fmt: skip
    x = as_image(input)
    orders = [[2 * (k == axis) for k in range(x.ndim)] for axis in _axes(axes, x.ndim)]
    if axes is not None and len(orders) != x.ndim:
        raise unknown("scipy.ndimage.gaussian_laplace", " with axes")
    return sum(gaussian_filter(x, sigma, order, output, mode, cval, **more) for order in orders)


# ---- windows


def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    no_output("correlate", output)
    if axes is not None:
        raise unknown("scipy.ndimage.correlate", " with axes")
    x, w = as_image(input), as_float(as_operand(weights))
    if w.ndim != x.ndim:
        raise RuntimeError("filter weights array has incorrect shape.")
    around = [_around(n, o) for n, o in zip(w.shape, _for_each(origin, x.ndim), strict=True)]
    return conv(_padded(x, around, mode, cval)[None, None], w[None, None])[0, 0]


def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    w = as_operand(weights)
    origins = [-o - (not n % 2) for n, o in zip(w.shape, _for_each(origin, w.ndim), strict=True)]
    return correlate(input, w[(slice(None, None, -1),) * w.ndim], output, mode, cval, origins, axes=axes)


def of_windows(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
        origin: Any = 0, **more: Any,
    ) -> Any:  # fmt: skip
        no_output(name, output)
        if any(each is not None for each in more.values()):
            raise unknown(f"scipy.ndimage.{name}", f" with {', '.join(more)}")
        x = as_image(input)
        mask = np.ones(_for_each(size, x.ndim), bool) if footprint is None else np.asarray(footprint, bool)
        around = [_around(n, o) for n, o in zip(mask.shape, _for_each(origin, x.ndim), strict=True)]
        padded = _padded(x, around, mode, cval)
        parts = [padded[tuple([slice(k, k + n) for k, n in zip(at, x.shape, strict=True)])] for at in np.argwhere(mask)]
        return of(np.stack(parts), axis=0)

    return meaning


def _median(x: Any, axis: int) -> Any:
    """The upper one of an even number, as SciPy's."""
    return np.sort(x, axis=axis)[x.shape[axis] // 2]


median_filter = of_windows("median_filter", _median)

recode("scipy.ndimage", {
    "correlate1d": correlate1d, "convolve1d": convolve1d, "gaussian_filter1d": gaussian_filter1d,
    "gaussian_filter": gaussian_filter, "uniform_filter1d": uniform_filter1d, "uniform_filter": uniform_filter,
    "sobel": _derivative([1.0, 2.0, 1.0]), "prewitt": _derivative([1.0, 1.0, 1.0]), "laplace": laplace,
    "gaussian_laplace": gaussian_laplace, "correlate": correlate, "convolve": convolve,
    "maximum_filter": of_windows("maximum_filter", np.max), "minimum_filter": of_windows("minimum_filter", np.min),
    "median_filter": median_filter,
})  # fmt: skip

__all__ = ["as_image", "gaussian_filter", "median_filter", "no_output", "of_windows"]
