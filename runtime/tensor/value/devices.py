"""Where tensors are: a name in, a `device` out. The processor has their values, "meta" their shapes and dtypes alone.

Devices that are not there can be named, as PyTorch's can; what is put on them is refused.

    with torch.device("meta"):
        model = Model()                   parameters without memory, until model.to_empty(device="cpu")
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import resolve_name
from typing import Any

from ....compiler.later import load

KINDS = {
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
}  # fmt: skip


class device:
    """A kind of device, and the number of one; as a context manager, where new tensors are unless they say so."""

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        given = type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if isinstance(type, device):
            type, index = type.type, type.index
        name, mark, number = type.partition(":") if isinstance(type, str) else ("", "", "")
        if name not in KINDS or (mark and not number.isdecimal()):
            raise RuntimeError(f"device {given!r} is not supported: expected 'cpu'")
        self.type, self.index = name, int(number) if mark else index
        self._before: list[Any] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        self._before.append(chosen.default)
        chosen.default = None if self.type == "cpu" else self
        return self

    def __exit__(self, *error: object) -> None:
        chosen.default = self._before.pop()


class NotThere(AssertionError, RuntimeError):
    """A device that is not there, of which PyTorch says either."""


class _Chosen(threading.local):
    """Where new tensors of a thread are, if not on the processor."""

    default: device | None = None


class _Made:
    """What makes tensors of shape and dtype alone. It is about tensors, and loaded when the first is made."""

    shapes: Callable[[Any, Any, bool], Any]

    def __getattr__(self, name: str) -> Any:
        load(resolve_name("..face.meta", __package__))
        return self.__dict__[name]


CPU, META = device(), device("meta")
chosen, made = _Chosen(), _Made()


def placed(where: Any) -> device:
    """The processor or "meta"; an error for a device that is not there."""
    known = where if isinstance(where, device) else device(where)
    if known.type == "cpu" and not known.index:
        return CPU
    if known.type == "meta":
        return META
    said = "Torch not compiled with CUDA enabled: " if known.type == "cuda" else ""
    raise NotThere(f"{said}device {str(known)!r} is not supported: expected 'cpu'")


def is_meta(on: Any, like: Any = None) -> bool:
    """Whether a new tensor is to have no values: by the device that is asked for, that of a tensor, or the default."""
    if on is None:
        on = chosen.default if like is None else like.device
    return on is not None and placed(on) is META


__all__ = ["CPU", "META", "chosen", "device", "is_meta", "made", "placed"]
