"""Nested sequences of numbers, arrays and tensors, as lists of numbers, and the dtype that these bring."""

from __future__ import annotations

from functools import reduce
from numbers import Number
from typing import Any

import numpy as np

from ...value.core import Core
from ...value.dtypes import dtype_of
from ...value.promotion import number_dtype, wider

TYPED = (Core, np.ndarray, np.generic)
"""What brings a dtype of its own into a list of numbers."""


def holds_dtypes(data: Any) -> bool:
    """Whether anything within nested sequences brings a dtype."""
    data = _listed(data)
    if type(data) in (list, tuple):
        return any(map(holds_dtypes, data))
    return isinstance(data, TYPED)


def dtype_within(data: Any) -> str | None:
    """The smallest dtype for all that nested sequences hold; None if that is nothing."""
    if isinstance(data, Core):
        return data._kind_of().dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtype_of(data.dtype).code
    data = _listed(data)
    if not isinstance(data, (list, tuple)):
        return number_dtype(type(data))
    found = [code for d in data if (code := dtype_within(d)) is not None]
    return reduce(wider, found) if found else None


PLAIN = {list, tuple, float, int, bool, complex}


def _listed(data: Any) -> Any:
    """A sequence that is neither list nor tuple, as a deque or a range, as a list; the rest as it is."""
    kind = type(data)
    if kind in PLAIN or not hasattr(kind, "__getitem__") or not hasattr(kind, "__len__"):
        return data
    return data if issubclass(kind, (list, tuple, dict, str, bytes, *TYPED)) else list(data)


def plain_numbers(data: Any) -> Any:
    """Nested lists of numbers, of equal lengths."""
    plain = _plain(data, 0)
    _check_nesting(plain, 0)
    return plain


def _plain(data: Any, depth: int) -> Any:
    """Nested sequences with the tensors in them replaced by numbers and lists."""
    if isinstance(data, Core):
        return data._array().tolist()
    if isinstance(data, (np.ndarray, np.generic)):
        return data.tolist()
    data = _listed(data)
    if isinstance(data, (list, tuple)):
        if depth > 32:
            raise ValueError("the sequences given to tensor() nest deeper than 32")
        if data and isinstance(data[0], Core):
            return [_single(d) if isinstance(d, Core) else _plain(d, depth + 1) for d in data]
        return [_plain(d, depth + 1) for d in data]
    if not isinstance(data, Number):
        raise not_numbers(type(data).__name__)
    return data


def not_numbers(kind: str) -> Exception:
    """The error of data of which some are of this type: PyTorch's is a TypeError for text alone."""
    if kind in ("str", "bytes"):
        return TypeError(f"new(): invalid data type {kind!r}; expected numbers or sequences of them")
    return RuntimeError(f"Could not infer dtype of {kind}; expected numbers or sequences of them")


def _single(x: Core) -> Any:
    """The number of a tensor that stands where a number does: sizes of one are no dimensions there."""
    array = x._array()
    if array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return array.item()


def _check_nesting(data: Any, depth: int) -> None:
    if not isinstance(data, list) or not data:
        return
    first = len(data[0]) if isinstance(data[0], list) else None
    for d in data:
        n = len(d) if isinstance(d, list) else None
        if n != first:
            if first is None or n is None:
                raise TypeError("a sequence given to tensor() mixes numbers and sequences")
            raise ValueError(f"expected sequence of length {first} at dim {depth + 1} (got {n})")
        _check_nesting(d, depth + 1)


def kind_within(data: Any) -> str:
    """The name of the class of the first thing that is no list."""
    while isinstance(data, list) and data:
        data = data[0]
    return type(data).__name__


__all__ = ["dtype_within", "holds_dtypes", "kind_within", "not_numbers", "plain_numbers"]
