"""Draws in the order of memory: for a tensor whose axes lie in another order, the tensor of numbers that PyTorch draws.

    laid_out(generator, laws.unit, x, "f32")      of x's shape; for a transposed x, its columns come first
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...value.core import Core
from ...value.located import located, order_in_memory
from ...value.orders import layout
from .generators import Generator, Law
from .twister import Twister


def laid_out(generator: Generator, law: Law, like: Core, *numbers: Any) -> Any:
    """A draw in the shape of a tensor, in the order in which that has its elements."""
    shape, axes = like._kind_of().shape, order_in_memory(like)
    if axes is None or not like._kind_of().size:
        return generator.draw(law, shape, *numbers)
    return generator.draw(_in_order, shape, law, shape, axes, *numbers)


def _in_order(
    source: Twister, n: int, law: Law, shape: tuple[int, ...], axes: tuple[int, ...], *numbers: Any
) -> np.ndarray:
    turned = [shape[k] for k in axes]
    made = law(source, n, *numbers).reshape(-1, *turned)
    return made.transpose(0, *[1 + axes.index(k) for k in range(len(axes))]).reshape(-1)


def is_whole(x: Core) -> bool:
    """Whether a tensor's elements lie one after the other, in the order of its axes."""
    return order_in_memory(x) is None and layout(*located(x)).flags.c_contiguous
