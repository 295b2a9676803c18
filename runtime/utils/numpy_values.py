"""NumPy's arrays and numbers in PyTorch's files: what a pickle says of them goes in, arrays and numbers come out.

Two forms are read: calls of `numpy.ndarray` and of kinds of numbers, as they are written here, and those that NumPy's
own pickles have, as they are in PyTorch's files. Elements are numbers and truths; none of the names is looked up.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np

from .structure import Damaged

PLAIN = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16)")
KINDS = {
    kind.__name__: kind
    for kind in (
        np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32,
        np.float64, np.complex64, np.complex128,
    )
} | {"bool_": np.bool_, "bool": np.bool_}  # fmt: skip
"""NumPy's kinds of numbers by their names."""


class Elements:
    """A dtype, of which a pickle tells the order of bytes afterwards."""

    __slots__ = ("numpy",)

    def __init__(self, code: Any, align: Any = False, copy: Any = True) -> None:
        if not isinstance(code, str) or not PLAIN.fullmatch(code):
            raise Damaged(f"it has a NumPy array of elements {str(code)[:40]!r}; numbers and truths can be read")
        self.numpy = np.dtype(code)

    def build(self, state: Any) -> None:
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise Damaged("it has a NumPy dtype with fields or of no known order of bytes")
        self.numpy = self.numpy.newbyteorder("=" if state[1] == "|" else state[1])


def array(shape: Any, code: Any, content: Any) -> np.ndarray:
    """An array of this shape and these elements in rows."""
    kind = Elements(code).numpy
    if not _is_shape(shape) or not isinstance(content, bytearray) or prod(shape) * kind.itemsize != len(content):
        raise Damaged("it has a NumPy array whose bytes do not fill its shape")
    return np.frombuffer(content, kind).reshape(shape)


def filled(made: np.ndarray, state: Any) -> None:
    """Give an array what NumPy's pickle says of it."""
    if type(state) is not tuple or len(state) != 5:
        raise Damaged("it has a NumPy array without shape and elements")
    _, shape, kind, columns, content = state
    if not isinstance(kind, Elements) or not _is_shape(shape) or not isinstance(content, bytes):
        raise Damaged("it has a NumPy array of objects, or without bytes")
    if prod(shape) * kind.numpy.itemsize != len(content):
        raise Damaged("it has a NumPy array whose bytes do not fill its shape")
    made.__setstate__((1, shape, kind.numpy, bool(columns), content))  # type: ignore[attr-defined]


def unfilled(kind: Any, shape: Any, code: Any) -> np.ndarray:
    """What NumPy's pickles begin an array with."""
    if getattr(kind, "name", None) != "numpy.ndarray":
        raise Damaged("it has an array of a class of its own")
    return np.empty(0, np.uint8)


def scalar(kind: Any, content: Any) -> Any:
    """The number that these bytes are."""
    if not isinstance(kind, Elements) or not isinstance(content, bytes) or len(content) != kind.numpy.itemsize:
        raise Damaged("it has a NumPy number without its bytes")
    return np.frombuffer(content, kind.numpy)[0]


def _is_shape(shape: Any) -> bool:
    return type(shape) is tuple and all(type(n) is int and 0 <= n < 2**48 for n in shape) and len(shape) <= 32


def _made(kind: Any) -> Any:
    def make(value: Any) -> Any:
        if type(value) not in (bool, int, float, complex):
            raise Damaged("it has a NumPy number of something else than a number")
        return kind(value)

    return make


NAMES: dict[str, Any] = {"numpy.ndarray": array, "numpy.dtype": Elements}
NAMES |= {f"numpy.{name}": _made(kind) for name, kind in KINDS.items()}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    NAMES |= {f"{_module}._reconstruct": unfilled, f"{_module}.scalar": scalar}


def built(made: Any, state: Any) -> bool:
    """Whether this is one of ours, which then has its state."""
    if isinstance(made, Elements):
        made.build(state)
    elif type(made) is np.ndarray:
        filled(made, state)
    else:
        return False
    return True


__all__ = ["KINDS", "NAMES", "PLAIN", "built"]
