"""scipy.ndimage's measurements of traced images, whole or by labels that are numbers of now, and filters by rank.

    ndimage.mean(image, labels, [1, 2])         ndimage.center_of_mass(image)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ..special.functions import given
from .images import as_image, gaussian_filter, no_output, of_windows

Measure = Callable[[Any], Any]


def _parts(name: str, labels: Any, index: Any, shape: Any) -> tuple[list[np.ndarray], bool]:
    """The flat places of each label that is asked for, and whether it is one alone."""
    size = int(np.prod(shape))
    labels, index = given(name, "labels", labels), given(name, "index", index)
    if labels is None:
        if index is not None and not np.isscalar(index):
            raise ValueError("labels are missing")
        return [np.arange(size)], True
    flat = np.broadcast_to(np.asarray(labels), shape).ravel()
    if index is None:
        return [np.flatnonzero(flat > 0)], True
    return [np.flatnonzero(flat == k) for k in np.ravel(index)], np.ndim(index) == 0


def _measured(name: str, of: Measure) -> Callable[..., Any]:
    def meaning(input: Any, labels: Any = None, index: Any = None) -> Any:
        x = as_image(input)
        parts, alone = _parts(f"scipy.ndimage.{name}", labels, index, x.shape)
        flat = np.ravel(x)
        if any(not part.size for part in parts):
            raise unknown(f"scipy.ndimage.{name}", " of a label that is nowhere")
        made = [of(flat[part]) for part in parts]
        return made[0] if alone else np.stack(made)

    return meaning


def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    x = as_image(input)
    parts, alone = _parts("scipy.ndimage.center_of_mass", labels, index, x.shape)
    flat = np.ravel(x)
    made = []
    for part in parts:
        at, whole = np.unravel_index(part, x.shape), np.sum(flat[part])
        made.append(tuple([np.sum(flat[part] * k) / whole for k in at]))
    return made[0] if alone else made


def _ranked(name: str, place: Callable[[int, Any], int]) -> Callable[..., Any]:
    """The one of each window that has a rank, by the order of all."""

    def meaning(input: Any, rank: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        rank = given(f"scipy.ndimage.{name}", "rank", rank)
        of = lambda x, axis: np.sort(x, axis=axis)[place(x.shape[axis], rank)]  # noqa: E731
        return of_windows(name, of)(input, size, *args, **kwargs)

    return meaning


def _percentile(n: int, percentile: Any) -> int:
    share = percentile + 100.0 if percentile < 0 else percentile
    return n - 1 if share == 100.0 else int(float(n) * share / 100.0)


def _along(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(
        input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:  # fmt: skip
        sizes = [1] * np.ndim(input)
        origins = [0] * np.ndim(input)
        sizes[axis], origins[axis] = size, origin
        return of_windows(name, of)(input, sizes, None, output, mode, cval, origins)

    return meaning


def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, **more: Any
) -> Any:
    no_output("gaussian_gradient_magnitude", output)
    x = as_image(input)
    squares: Any = 0.0
    for axis in range(x.ndim):
        order = [int(k == axis) for k in range(x.ndim)]
        squares = squares + gaussian_filter(x, sigma, order, None, mode, cval, **more) ** 2
    return np.sqrt(squares)


def _flat(name: str, steps: tuple[Any, ...]) -> Callable[..., Any]:
    """Dilations (np.max) and erosions (np.min) by a flat structure, one after the other."""

    def meaning(
        input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
        mode: str = "reflect", cval: Any = 0.0, origin: Any = 0,
    ) -> Any:  # fmt: skip
        if structure is not None or (footprint is not None and len(set(np.shape(footprint))) > 1) or origin != 0:
            raise unknown(f"scipy.ndimage.{name}", " with structure or origin")
        if size is not None and any(n % 2 == 0 for n in np.ravel(size)):
            raise unknown(f"scipy.ndimage.{name}", " of a window of an even size")
        for of in steps:
            mask = None if footprint is None else np.asarray(footprint, bool)
            if mask is not None and of is np.max:
                mask = mask[(slice(None, None, -1),) * mask.ndim]
            input = of_windows(name, of)(input, size, mask, output, mode, cval)
        return input

    return meaning


_OPEN, _CLOSE = (_flat("grey_opening", (np.min, np.max)), _flat("grey_closing", (np.max, np.min)))
_SUM = _measured("sum", np.sum)
recode("scipy.ndimage", {
    "mean": _measured("mean", np.mean), "sum": _SUM, "sum_labels": _SUM, "variance": _measured("variance", np.var),
    "standard_deviation": _measured("standard_deviation", np.std), "maximum": _measured("maximum", np.max),
    "minimum": _measured("minimum", np.min), "median": _measured("median", np.median),
    "center_of_mass": center_of_mass, "percentile_filter": _ranked("percentile_filter", _percentile),
    "rank_filter": _ranked("rank_filter", lambda n, rank: rank if rank >= 0 else rank + n),
    "maximum_filter1d": _along("maximum_filter1d", np.max), "minimum_filter1d": _along("minimum_filter1d", np.min),
    "gaussian_gradient_magnitude": gaussian_gradient_magnitude, "grey_dilation": _flat("grey_dilation", (np.max,)),
    "grey_erosion": _flat("grey_erosion", (np.min,)), "grey_opening": _OPEN, "grey_closing": _CLOSE,
    "white_tophat": lambda input, *args, **more: as_image(input) - _OPEN(input, *args, **more),
    "black_tophat": lambda input, *args, **more: _CLOSE(input, *args, **more) - as_image(input),
})  # fmt: skip

__all__ = ["center_of_mass"]
