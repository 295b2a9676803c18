"""Switches that change nothing here: results are the same bits each time, and products have full precision."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

from ..tensor.ops.arranging.creation import set_default_dtype
from ..tensor.value.dtypes import DType, device, float32, float64

PRECISIONS = ("highest", "high", "medium")


class _Held:
    deterministic, warn_only, precision = False, False, "highest"


HELD = _Held()


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remember that only such are wanted: there are no others."""
    HELD.deterministic, HELD.warn_only = bool(mode), bool(mode and warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return HELD.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was told to warn only."""
    return HELD.warn_only


def set_float32_matmul_precision(precision: str) -> None:
    """Remember the precision that would be enough; products are computed with the highest."""
    if precision not in PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.", stacklevel=2,
        )  # fmt: skip
        return
    HELD.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return HELD.precision


def set_default_device(device: Any) -> None:
    """Accept the processor."""
    _device(device)


def get_default_device() -> device:
    """The processor."""
    return _device()


def _device(wanted: Any = None) -> device:
    return device("cpu" if wanted is None else wanted)


def set_default_tensor_type(t: Any) -> None:
    """The older way to set the default dtype: a class of tensors or its name."""
    dtype = getattr(t, "kind", None) if not isinstance(t, str) else _named(t)
    if not isinstance(dtype, DType) or not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(dtype)


def _named(name: str) -> DType | None:
    found = {"torch.FloatTensor": float32, "torch.DoubleTensor": float64}
    if not name.startswith("torch.") or not name.endswith("Tensor"):
        raise TypeError(f"invalid type object: {name!r}")
    return found.get(name)


enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
"""What a program finds in `backends.cudnn`, and may set."""

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)
"""`backends.cuda.matmul`."""

__all__ = [
    "are_deterministic_algorithms_enabled", "get_default_device", "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled", "set_default_device", "set_default_tensor_type",
    "set_float32_matmul_precision", "use_deterministic_algorithms",
]  # fmt: skip
