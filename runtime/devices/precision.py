"""Automatic mixed precision, switched off: a warning says so.

PyTorch without CUDA switches off what is asked for CUDA, and so does this; on the processor it would compute
products in bfloat16, which takes longer here than float32 and is less exact. `GradScaler` is in scaling.py.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..tensor.value.dtypes import bfloat16, float16
from .scaling import older

TYPES = ("cpu", "cuda", "mps", "xpu", "hpu", "mtia", "maia", "xla", "ipu", "privateuseone", "meta")


class autocast:
    """Compute within the block in a lower precision. It is off: `enabled` was False, or there is no such device."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in TYPES:
            known = ", ".join(TYPES)
            raise RuntimeError(f"Expected one of {known} device type at start of device string: {device_type}")
        if enabled and device_type == "cpu":
            enabled = self._on_the_processor(dtype)
        elif enabled:
            name = "CUDA" if device_type == "cuda" else device_type
            warnings.warn(f"{name} is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
        self.device, self.fast_dtype, self._enabled = device_type, dtype, False

    @staticmethod
    def _on_the_processor(dtype: Any) -> bool:
        if dtype not in (None, float16, bfloat16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.", stacklevel=3,
            )  # fmt: skip
            return False
        warnings.warn(
            "autocast has no effect on the processor here: everything is computed in the dtypes that tensors have,"
            " which is more exact than in PyTorch; .bfloat16() gives numbers of lower precision", stacklevel=3,
        )  # fmt: skip
        return False

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return within


class cuda_autocast(autocast):
    """The older `cuda.amp.autocast`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        older("torch.cuda.amp.autocast(args...)", "torch.amp.autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None, device_type: str = "cuda") -> Any:
    """The function itself: nothing is cast."""
    return (lambda f: f) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """The function itself: nothing is cast."""
    return (lambda f: f) if bwd is None else bwd


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether a block of `autocast` casts: none does."""
    return False


def is_autocast_available(device_type: str) -> bool:
    """Whether one could."""
    return False


__all__ = [
    "autocast", "cuda_autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "is_autocast_enabled",
]  # fmt: skip
