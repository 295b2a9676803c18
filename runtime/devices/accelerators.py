"""What PyTorch without CUDA answers: `cuda.is_available()` is False, seeds go nowhere, work is refused.

Programs ask before they use a device, so each function that PyTorch lets them call on a machine without one is here.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

INITIALIZED = False
"""Whether work on the device has begun."""


def no(*args: Any, **kwargs: Any) -> bool:
    """Whether there is such a device: no."""
    return False


def yes(*args: Any, **kwargs: Any) -> bool:
    """What the processor answers."""
    return True


def one(*args: Any, **kwargs: Any) -> int:
    """How many processors there are to put tensors on."""
    return 1


def zero(*args: Any, **kwargs: Any) -> int:
    """How many devices there are, how many bytes they hold."""
    return 0


def nothing(*args: Any, **kwargs: Any) -> None:
    """Nothing is to be done without a device."""


def name_of_the_processor() -> str:
    """The current device of `torch.cpu`."""
    return "cpu"


def no_states() -> list[Any]:
    """The states of the generators of all devices."""
    return []


def no_statistics(device: Any = None) -> OrderedDict[str, Any]:
    """What a device's allocator has done."""
    return OrderedDict()


def lacking(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse what needs CUDA."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def inaccessible(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse what needs an accelerator of any kind."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


class Ignored:
    """A block for a device that is not there, such as `cuda.device(0)`."""

    def __init__(self, device: Any = None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


__all__ = [
    "Ignored", "inaccessible", "lacking", "name_of_the_processor", "no", "no_states", "no_statistics", "nothing", "one",
    "yes", "zero",
]  # fmt: skip


class _OfTheDevice(type):
    """A type of tensors on a device that is not there: no tensor is one, and none is made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


def _type_of(name: str) -> Any:
    return _OfTheDevice(f"{name}Tensor", (), {"__module__": "torch.cuda"})


BFloat16Tensor, BoolTensor, ByteTensor = _type_of("BFloat16"), _type_of("Bool"), _type_of("Byte")
CharTensor, DoubleTensor, FloatTensor = _type_of("Char"), _type_of("Double"), _type_of("Float")
HalfTensor, IntTensor, LongTensor, ShortTensor = _type_of("Half"), _type_of("Int"), _type_of("Long"), _type_of("Short")
