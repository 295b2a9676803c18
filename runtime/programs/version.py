"""`torch.version`: what this was built with. There is no accelerator, and no commit of PyTorch's."""

from __future__ import annotations

import re
from typing import Any

from ..compiled.threads import get_num_threads

TORCH = "2.13.0"
"""The release of PyTorch whose behaviour the Tensor face follows."""


class TorchVersion(str):
    """A version as text that compares with versions as numbers: `TorchVersion("2.13.0") >= (2, 1)`, `>= "2.9"`."""

    @staticmethod
    def _parts(of: Any) -> tuple[int, ...]:
        if not isinstance(of, str):
            return tuple(int(each) for each in of)
        release = re.match(r"\s*v?(\d+(?:\.\d+)*)", of)
        if release is None:
            raise ValueError(f"expected a version such as '2.1', got {of!r}")
        return tuple(int(each) for each in release[1].split("."))

    def _pair(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        mine, others = self._parts(self), self._parts(other)
        width = max(len(mine), len(others))
        return mine + (0,) * (width - len(mine)), others + (0,) * (width - len(others))

    def __lt__(self, other: Any) -> bool:
        mine, others = self._pair(other)
        return mine < others

    def __le__(self, other: Any) -> bool:
        mine, others = self._pair(other)
        return mine <= others

    def __gt__(self, other: Any) -> bool:
        mine, others = self._pair(other)
        return mine > others

    def __ge__(self, other: Any) -> bool:
        mine, others = self._pair(other)
        return mine >= others

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and str.__eq__(self, other):
            return True
        try:
            mine, others = self._pair(other)
        except (TypeError, ValueError):
            return False
        return mine == others

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(TORCH)
"""What programs compare; pullback's own version is `pullback.__version__`."""

cuda = git_version = hip = rocm = xpu = None
debug = False


def show() -> str:
    """What this was built with, for a reader: `torch.__config__.show()`."""
    return f"pullback, whose Tensors behave as those of PyTorch {TORCH}:\n  - native code by LLVM, for the CPU alone\n"


def parallel_info() -> str:
    """How many threads compute, for a reader: `torch.__config__.parallel_info()`."""
    return f"pullback:\n\tget_num_threads() : {get_num_threads()}\n"


__all__ = ["TorchVersion", "cuda", "debug", "git_version", "hip", "parallel_info", "rocm", "show", "xpu"]
