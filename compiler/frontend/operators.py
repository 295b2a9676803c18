"""Python's operators of traced arrays: NumPy's ufuncs, for operands that NumPy takes.

    __add__, __radd__ = binary("add")        __iadd__ = inplace("add")        __neg__ = unary("negative")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .refusals import Refusals
from .sizes import HOOKS, Length


def binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    ufunc = getattr(np, name)

    def forward(self: Any, other: Any) -> Any:
        return HOOKS["operate"](ufunc, self, other) if operand(other) or _never(other) else NotImplemented

    def backward(self: Any, other: Any) -> Any:
        return HOOKS["operate"](ufunc, other, self) if operand(other) or _never(other) else NotImplemented

    return forward, backward


def _never(x: Any) -> bool:
    """What no class has an operator for beside an array: refused with the line, where Python would name our class."""
    return x is None or isinstance(x, (str, bytes))


def times(self: Any, other: Any) -> Any:
    """self * other; a sequence is repeated, as it is by Python's and NumPy's integers."""
    if isinstance(other, (list, tuple, str)) and not self.shape and self.dtype.kind in "iu":
        return other * self.__index__()
    return HOOKS["operate"](np.multiply, self, other) if operand(other) or _never(other) else NotImplemented


def times_behind(self: Any, other: Any) -> Any:
    if isinstance(other, (list, tuple, str)):
        return times(self, other)
    return HOOKS["operate"](np.multiply, other, self) if operand(other) or _never(other) else NotImplemented


def unary(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)
    return lambda self: HOOKS["operate"](ufunc, self)


def inplace(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)

    def update(self: Any, other: Any) -> Any:
        if not self.shape:
            return HOOKS["operate"](ufunc, self, other)
        return self._update(ufunc, other)

    return update


def operand(other: Any) -> bool:
    if isinstance(other, (Refusals, bool, int, float, complex, list, tuple, np.ndarray, np.generic, Length)):
        return True
    return is_array_like(other)


def has_complex(trees: Any) -> bool:
    """Whether there is a complex number or array among nested lists and tuples."""
    for each in trees:
        if isinstance(each, (Refusals, np.ndarray, np.generic)):
            if each.dtype.kind == "c":
                return True
        elif isinstance(each, complex) or (isinstance(each, (list, tuple)) and has_complex(each)):
            return True
    return False


def is_array_like(x: Any) -> bool:
    """Whether NumPy reads x as an array that nothing is lost of: a Series or DataFrame of pandas, but no Tensor."""
    kind = type(x)
    plain = isinstance(x, (Refusals, np.ndarray, np.generic)) or hasattr(kind, "requires_grad")
    return not plain and hasattr(kind, "__array__")


__all__ = ["binary", "has_complex", "inplace", "is_array_like", "operand", "times", "times_behind", "unary"]
