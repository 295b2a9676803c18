"""`torch.nn.attention`: which kernel computes attention. There is one, so a choice changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any


class SDPBackend(IntEnum):
    """PyTorch's kernels for scaled_dot_product_attention."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = range(-1, 5)


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """A block in which attention takes one of these kernels. There is one for all, so it has no effect."""
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield {}


WARN_FOR_UNFUSED_KERNELS = False

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]
