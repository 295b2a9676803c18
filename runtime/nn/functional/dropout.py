"""Dropout: while training, elements or whole channels are left out at random.

The numbers are drawn at once; leaving out what they say is recorded, so that a step with dropout is recognised.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...tensor.calls.calls import recorded
from ...tensor.face.inplace import start_writing, write
from ...tensor.face.tensor import Tensor
from ...tensor.ops.random.draws import check_float, coins
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.trace.tape import unrepeatable
from ...tensor.value.core import apply
from ...tensor.value.dtypes import ALL
from ...tensor.value.writing import check_writable
from .terms import Shape, need_tensor, shape_of, wide


def _dropped(m: Any, x: Any, kept: Any, p: float, scale: float) -> Any:
    return x * wide(m, m.select(kept, m.number(scale, kept.value.type.with_dtype(x.value.type.dtype)), 0), shape_of(x))


def scale_of_kept(p: float, dtype: str) -> float:
    """1 / (1 - p) as PyTorch rounds it, 0 if nothing is kept."""
    number = np.float64 if dtype == "f64" else np.float32
    return 0.0 if p == 1 else float(number(1) / number(1 - p))


SATURATED = -1.7580993408473766
"""Where selu ends on the left: what alpha dropout puts in place of what it leaves out."""


def _alpha_dropped(m: Any, x: Any, kept: Any, p: float, a: float) -> Any:
    """Scaled and moved, so that mean and variance stay 0 and 1."""
    return m.select(wide(m, kept, shape_of(x)), x * a, a * SATURATED) - a * p * SATURATED


DROPPED = Operation("dropout", "MulBackward0", _dropped, edges=True)
ALPHA_DROPPED = Operation("alpha_dropout", "AddBackward0", _alpha_dropped)
CHANNELS_DROPPED = Operation("feature_dropout", "MulBackward0", _dropped, edges=True)
SINGLE_DROPPED = Operation("feature_dropout", "SqueezeBackward1", _dropped)
"""Of one example without a batch, to which PyTorch gives a batch of one and takes it away again."""


def _checked(input: Any, p: float) -> Shape:
    need_tensor("dropout", "input", input)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return input._kind_of().shape


@recorded
def _dropout(input: Tensor, drawn: Tensor, operation: Operation, p: float, scale: float, inplace: bool) -> Tensor:
    if inplace:
        start_writing(input)
    made = apply(operation, (input, drawn), (p, scale))
    return write(input, made) if inplace else made


def _drop(operation: Operation, input: Tensor, drawn: Shape, p: float, training: bool, inplace: bool) -> Tensor:
    kind = input._kind_of()
    if not training or p == 0 or not kind.size:
        return input
    check_float("dropout", ALL[kind.dtype])
    if inplace:
        check_writable(input)
    if p == 1 and operation is ALPHA_DROPPED:
        operation = DROPPED  # nothing is left, and PyTorch multiplies by zero
    scale = scale_of_kept(p, kind.dtype)
    if operation is ALPHA_DROPPED:
        scale = 1 / math.sqrt((SATURATED**2 * p + 1) * (1 - p))
    return _dropout(input, coins(drawn, 1 - p, input), operation, float(p), scale, inplace)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While training, zeros with probability p; the rest is scaled up by 1 / (1 - p)."""
    return _drop(DROPPED, input, _checked(input, p), p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what selu gives."""
    return _drop(ALPHA_DROPPED, input, _checked(input, p), p, training, inplace)


def _channels(shape: Shape, batched: bool = True) -> Shape:
    kept = 2 if batched else 1
    return (*shape[:kept], *(1 for _ in shape[kept:]))


def _feature_dropout(
    name: str, rank: int, input: Tensor, p: float, training: bool, inplace: bool, known: tuple[int, ...]
) -> Tensor:
    shape = _checked(input, p)
    if len(shape) not in known:
        unrepeatable()
        warnings.warn(
            f"{name}: Received a {len(shape)}-D input to {name}, which is deprecated and will result in an error in a"
            f" future release.",
            stacklevel=3,
        )
    batched = len(shape) != rank + 1 if name != "dropout2d" else True
    operation = CHANNELS_DROPPED if batched else SINGLE_DROPPED
    return _drop(operation, input, _channels(shape, batched), p, training, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels [batch, channels, n] left out."""
    shape = _checked(input, p)
    if len(shape) not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {len(shape)}D input.")
    return _feature_dropout("dropout1d", 1, input, p, training, inplace, (2, 3))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels [batch, channels, height, width] left out."""
    return _feature_dropout("dropout2d", 2, input, p, training, inplace, (3, 4))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels [batch, channels, depth, height, width] left out."""
    return _feature_dropout("dropout3d", 3, input, p, training, inplace, (4, 5))


def feature_dropout(input: Tensor, p: float, training: bool, inplace: bool = False) -> Tensor:
    """Whole channels, those of the second dimension, left out."""
    if len(shape := _checked(input, p)) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _drop(CHANNELS_DROPPED, input, _channels(shape), p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels."""
    shape = _checked(input, p)
    if training and p and len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _drop(ALPHA_DROPPED, input, _channels(shape), p, training, inplace)


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
