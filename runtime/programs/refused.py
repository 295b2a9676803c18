"""What PyTorch has and this package refuses, with the reason and a way out.

Names which programs import before they know whether they will use them are there and say it when they are called
(`CALLED`); of others the AttributeError says it (`PATTERNS`). What has a device's name says what PyTorch without that
device says.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NoReturn

from .files_of_torch import file_within
from .reasons import CALLED, PATTERNS


class Refused:
    """A name of PyTorch's which can be imported, and whose calls say why they are refused."""

    def __init__(self, name: str, reason: str) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.reason = f"{name} is not supported: {reason}"
        self.__doc__ = f"Refused: {reason}."

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self.reason)

    def __repr__(self) -> str:
        return f"<{self.reason}>"


class RefusedType(type):
    """A class of PyTorch's which can be imported, has no instances, and says why where one is made."""

    reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls.reason)


@functools.cache
def refused(name: str, reason: str) -> Any:
    """A function or class, by the case of its name, which refuses to be called."""
    short = name.rpartition(".")[2]
    if not short[0].isupper():
        return Refused(name, reason)
    made = RefusedType(short, (), {"__doc__": f"Refused: {reason}."})
    made.reason = f"{name} is not supported: {reason}"
    return made


def why(module: str, name: str) -> str | None:
    """Why a name is not there, or refuses to be called; None if nothing is known of it."""
    for reason, names in CALLED.get(module, {}).items():
        if name in names.split():
            return reason
    fits = (r for where, names, r in PATTERNS if re.fullmatch(where, module) and re.fullmatch(names, name))
    return next(fits, None)


def asked(module: str, name: str) -> Any:
    """What a module of the face gives for a name that it does not have: something to refuse, or an error."""
    for reason, names in CALLED.get(module, {}).items():
        if name in names.split():
            return refused(f"{module}.{name}", reason)
    found = file_within(module, name)
    if found is not None:
        return found
    reason = None if name.startswith("_") else why(module, name)
    ours = f"pullback{module.removeprefix('torch')}"
    raise AttributeError(f"module {ours!r} has no attribute {name!r}" + (f": {reason}" if reason else ""))


def _of(module: str) -> Callable[[str], Any]:
    return functools.partial(asked, module)


distributed, hub, onnx, testing, overrides = map(
    _of, ("torch.distributed", "torch.hub", "torch.onnx", "torch.testing", "torch.overrides")
)
nn, functional, nn_utils, parallel, attention = map(
    _of, ("torch.nn", "torch.nn.functional", "torch.nn.utils", "torch.nn.parallel", "torch.nn.attention")
)
optim, autograd, func, linalg, special = map(
    _of, ("torch.optim", "torch.autograd", "torch.func", "torch.linalg", "torch.special")
)
cuda, mps, accelerator, backends, profiler = map(
    _of, ("torch.cuda", "torch.mps", "torch.accelerator", "torch.backends", "torch.profiler")
)
sparse, fx, serialization, multiprocessing = map(
    _of, ("torch.sparse", "torch.fx", "torch.serialization", "torch.multiprocessing")
)
utils, data, checkpoint, autograd_profiler = map(
    _of, ("torch.utils", "torch.utils.data", "torch.utils.checkpoint", "torch.autograd.profiler")
)
library, masked, distributions, amp = map(
    _of, ("torch.library", "torch.masked", "torch.distributions", "torch.amp")
)
"""`__getattr__` of modules of the face."""
