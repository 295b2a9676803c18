"""Questions of PyTorch's compiled part in, what is so here out: no tracer, no TorchScript, no second device."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from ...tensor.value.cells import StandIn
from ...tensor.value.core import Core
from ...tensor.value.dtypes import ALL, CPU, DType, device

OURS = __name__.partition(".")[0]


class TracerWarning(Warning):
    """What PyTorch's tracer says of programs that it cannot follow; programs name it where they silence it."""


class OutOfMemoryError(RuntimeError):
    """A device that is not there has no memory to run out of; programs name it where they catch it."""


class AcceleratorError(RuntimeError):
    """What a device that is not there would raise."""


def no(*args: Any, **kwargs: Any) -> bool:
    """Whether this part of PyTorch is at work: no."""
    return False


def nothing(*args: Any, **kwargs: Any) -> None:
    """A setting of PyTorch's compiler, which is not there: it has no effect."""


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `module.to(...)` say: device, dtype, whether copies may be late, memory format."""
    where, kind, late = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("non_blocking", False)
    for a in args:
        if isinstance(a, Core):
            where, kind = CPU, ALL[a._kind_of().dtype]
        elif isinstance(a, DType):
            kind = a
        elif isinstance(a, bool):
            late = a
        elif a is not None:
            where = a
    return None if where is None else device(where), kind, bool(late), kwargs.get("memory_format")


def get_autocast_dtype(device_type: str = "cuda") -> DType:
    """The dtype that autocast has on a device, if it is on."""
    return ALL["bf16" if device_type == "cpu" and "bf16" in ALL else "f16"]


def get_autocast_cpu_dtype() -> DType:
    """The dtype that autocast has on the processor, if it is on."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> DType:
    """The dtype that autocast has on CUDA, if it is on."""
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on: it is off on the processor."""
    return False


def get_device_module(device: Any = None) -> Any:
    """The module of a device: `torch.cpu`, or that of one that is not there."""
    name = str(CPU if device is None else device).partition(":")[0]
    try:
        return importlib.import_module(f"{OURS}.{name}")
    except ModuleNotFoundError:
        raise RuntimeError(f"Invalid device string: {str(device)!r}") from None


def device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; of the processor, where that is allowed, -1."""
    if isinstance(device, int):
        return device
    if (device is None and optional) or allow_cpu:
        return -1
    raise ValueError(f"Expected a non cpu device, but got: {device}")


def element_size(dtype: DType) -> int:
    """How many bytes an element has."""
    return dtype.itemsize


def is_alias_of(a: Core, b: Core) -> bool:
    """Whether two tensors share memory."""
    return a._shared() is b._shared()


def is_batched(x: Any) -> bool:
    """Whether a tensor stands for those of a batch, in a function under `vmap`."""
    return isinstance(x, Core) and isinstance(x._read(), StandIn)


def unwrapped(x: Any) -> Any:
    """A tensor as it is."""
    return x


NN = SimpleNamespace(_parse_to=parse_to)
FUNCTORCH = SimpleNamespace(
    get_unwrapped=unwrapped, is_batchedtensor=is_batched, is_gradtrackingtensor=no, is_functionaltensor=no,
    is_legacy_batchedtensor=no,
)  # fmt: skip
"""Parts of PyTorch's compiled part that are modules there."""

__all__ = [
    "AcceleratorError", "OutOfMemoryError", "TracerWarning", "device_index", "element_size", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "get_device_module", "is_alias_of", "is_autocast_cpu_enabled",
    "is_batched", "no", "nothing", "parse_to", "unwrapped",
]  # fmt: skip
