"""Pictures made smaller without aliases: [batch, channels, rows, columns] in, other rows and columns out.

Each pixel is a weighted mean of those of the old picture around its place. Where the picture shrinks the filter, a
triangle or Keys' cubic of -1/2, is as much wider as the picture becomes smaller. Each axis has a matrix of weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....compiler.ops.contract import contract
from ...tensor.ops.arranging.creation import constant
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply

if TYPE_CHECKING:
    from ...tensor.face.tensor import Tensor

CUBIC = -0.5


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    near = ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * CUBIC - 4 * CUBIC
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def weights(old: int, new: int, scale: float, cubic: bool) -> np.ndarray:
    """What each of the `old` pixels counts in each of the `new` ones, [new, old]; `scale` is old pixels a new one."""
    wide = max(scale, 1.0)
    reach = (2 if cubic else 1) * wide
    centre = scale * (np.arange(new) + 0.5)
    first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + reach + 0.5).astype(np.int64), old)
    places = np.arange(old)
    made = (_cubic if cubic else _triangle)((places - centre[:, None] + 0.5) / wide)
    made = np.where((places >= first[:, None]) & (places < end[:, None]), made, 0)
    total = made.sum(1, keepdims=True)
    return np.divide(made, total, out=made, where=total != 0)


def _smoothed(m: Any, x: Any, rows: Any, columns: Any) -> Any:
    x = m(contract(m.b, x.value, rows.value, left=(2,), right=(1,)))  # the new rows come last
    return m(contract(m.b, x.value, columns.value, left=(2,), right=(1,)))


SMOOTHED = {
    mode: Operation("interpolate", f"Upsample{mode.title()}2DAaBackward0", _smoothed)
    for mode in ("bilinear", "bicubic")
}


def smoothed(input: Tensor, mode: str, sizes: tuple[int, ...], scales: tuple[float, ...]) -> Tensor:
    """The picture in other sizes; `mode` is bilinear or bicubic."""
    kind = input._kind_of()
    axes = zip(kind.shape[2:], sizes, scales, strict=True)
    matrices = [constant(weights(*axis, mode == "bicubic").astype(kind.numpy)) for axis in axes]
    return apply(SMOOTHED[mode], (input, *matrices))


__all__ = ["smoothed", "weights"]
