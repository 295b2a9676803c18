"""Leaky relu whose slopes are drawn at random while training (Xu et al., 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor.calls.calls import recorded
from ...tensor.face.inplace import in_place
from ...tensor.face.tensor import Tensor
from ...tensor.ops.random.generators import default_generator
from ...tensor.ops.random.laws import FLOATS
from ...tensor.ops.random.twister import Twister
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply
from ...tensor.value.writing import check_writable
from .activations import _leaky, _writing
from .terms import need_tensor


def _below(source: Twister, n: int, dtype: str, lower: float, upper: float, x: np.ndarray) -> np.ndarray:
    """Slopes, drawn where x is not positive."""
    made, below = np.ones(n, FLOATS[dtype]), x <= 0
    made[below] = source.doubles(int(below.sum())) * (upper - lower) + lower
    return made


def _sloped(m: Any, x: Any, slopes: Any) -> Any:
    return m.select(m.gt(x, 0), x, slopes * x)


DRAWN = [Operation("rrelu", f"RreluWithNoiseBackward{k}", _sloped) for k in range(2)]
MEAN = [Operation("rrelu", f"RreluWithNoiseBackward{k}", _leaky, "common", True) for k in range(2)]
"""The second where the result is written over the input: PyTorch then has another node, which reads the result."""


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x, or x times a slope between lower and upper where x is not positive: a random one in training."""
    need_tensor("rrelu", "input", input)
    kind = input._kind_of()
    if not kind.is_float:
        raise NotImplementedError(f"rrelu: not implemented for {input.dtype}; convert the tensor to a float first")
    if lower > upper:
        raise RuntimeError(f"rrelu: lower bound should be less than or equal to the upper bound, got {lower}, {upper}")
    if inplace:
        check_writable(input)
    drawn = None
    if training:
        given = (float(lower), float(upper))
        drawn = default_generator.draw_from(_below, kind.shape, (input,), kind.dtype, *given)
    return _rrelu(input, drawn, lower, upper, inplace)


@recorded
def _rrelu(input: Tensor, drawn: Tensor | None, lower: float, upper: float, inplace: bool) -> Tensor:
    if inplace:
        return in_place(_bent)(input, drawn, lower, upper, 1)
    return _bent(input, drawn, lower, upper, 0)


def _bent(input: Tensor, drawn: Tensor | None, lower: float, upper: float, which: int) -> Tensor:
    if drawn is None:
        return apply(MEAN[which], (input, (lower + upper) / 2))
    return apply(DRAWN[which], (input, drawn))


rrelu_ = _writing(rrelu)

__all__ = ["rrelu", "rrelu_"]
