"""Switches that change nothing here: results are the same bits each time, and products have full precision."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ..tensor.ops.arranging.creation import set_default_dtype
from ..tensor.value.devices import CPU, chosen, device, placed
from ..tensor.value.dtypes import DType, float32, float64

PRECISIONS = ("highest", "high", "medium")


class _Held:
    deterministic, warn_only, precision = False, False, "highest"
    threads: int | None = None
    warns_always = False


HELD = _Held()


ENABLED, STRATEGY = False, None
"""Of a library that orders the products of `einsum`."""


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remember that only such are wanted: there are no others."""
    HELD.deterministic, HELD.warn_only = bool(mode), bool(mode and warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return HELD.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was told to warn only."""
    return HELD.warn_only


DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    number = DEBUG_MODES.index(debug_mode) if debug_mode in DEBUG_MODES else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"expected debug_mode `default`, `warn`, `error`, 0, 1 or 2, but got {debug_mode}")
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return 0 if not HELD.deterministic else 1 if HELD.warn_only else 2


def set_num_interop_threads(num: int) -> None:
    """Remember how many operations might run at once: a program's run one after the other. RuntimeError twice."""
    if type(num) is not int or num <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {num!r}")
    if HELD.threads is not None:
        raise RuntimeError("cannot set number of interop threads again: set_num_interop_threads was called before")
    HELD.threads = num


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was told; 1 before."""
    return HELD.threads or 1


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """By which kernels attention may be computed: there is one, so it has no effect."""
    yield


@contextmanager
def flags(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Which of another library's kernels are used within: none are in any case, so it has no effect."""
    yield


def set_flush_denormal(mode: bool) -> bool:
    """False: denormal numbers are kept, as they would be where the processor could not flush them."""
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, got {type(mode).__name__}")
    return False


def set_warn_always(b: bool, /) -> None:
    """Remember it: Python's filters of warnings say how often one is shown."""
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    HELD.warns_always = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told."""
    return HELD.warns_always


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
    """Make new tensors on a device unless they say so: the processor, or "meta"."""
    wanted = placed("cpu" if device is None else device)
    chosen.default = None if wanted is CPU else wanted


def get_default_device() -> device:
    """Where new tensors are unless they say so."""
    return chosen.default or CPU


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
    "are_deterministic_algorithms_enabled", "flags", "get_default_device", "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled", "sdp_kernel", "set_default_device", "set_default_tensor_type",
    "set_float32_matmul_precision", "use_deterministic_algorithms",
]  # fmt: skip
