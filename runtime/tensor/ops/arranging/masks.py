"""Masks as indices: the places where they hold, on whose number shapes depend, or a choice where one number is written.

    x[mask]            reads the values of mask now: the result has as many elements as are true
    x[mask] = y        likewise
    x[mask] = 0        reads none: where(mask, 0, x)
"""

from __future__ import annotations

from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ...face.inplace import start_writing
from ...trace.fragments.fragments import Operation
from ...value.aliases import valued, whole_number
from ...value.by_value import by_value
from ...value.cells import cell_of
from ...value.core import Core, apply_now, number_of, wrap
from ...value.views import view
from ...value.writing import overwrite
from ..elementwise.arithmetic import MASKED_FILL_TENSOR
from .cuts import PLAIN_BOUNDS
from .shapes import UNSQUEEZE, shape_of

INDICES = ("i64", "i32")


class NewAxis(NamedTuple):
    """A new axis of size one and an index into it: what True and False stand for."""

    index: Core


class Hits(NamedTuple):
    """Where a mask holds along one of its axes, and the size of that."""

    index: Core
    size: int


def places_of(mask: np.ndarray) -> list[Any]:
    """Where a mask holds.  Its values are needed now, for the result's shape depends on them."""
    if not mask.shape:
        return [NewAxis(wrap(cell_of(np.zeros(int(mask), np.int64))))]
    found = zip(mask.nonzero(), mask.shape, strict=True)
    return [Hits(wrap(cell_of(np.ascontiguousarray(i))), n) for i, n in found]


def with_places(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments (x, key) or (x, key, value), with places in place of masks whose values tell how many there are,
    ints in place of tensors that say one place or one bound, whose values tell which view it is, and tensors in place
    of NumPy's arrays, and of parts of memory that say where to look: nothing lies in theirs."""
    x, key, *rest = args if len(args) > 1 else (None, 0)
    if type(key) is int or (type(key) is slice and _is_plain(key)):
        return args
    keys: Any = key if type(key) is tuple else (key,)
    known = tuple([_by_value(k) for k in keys])
    if any(k is not was for k, was in zip(known, keys, strict=True)):
        keys = known
        key = keys if type(key) is tuple else keys[0]
        args = (x, key, *rest)
    if not any(map(_is_mask, keys)) or (rest and mask_of_fill(x, key, rest[0]) is not None):
        return args
    made: list[Any] = []
    for k in keys:
        made += places_of(k._array().astype(bool)) if _is_mask(k) else [k]
    return (x, tuple(made), *rest)


def _is_array(k: Any) -> bool:
    return type(k) is np.ndarray and k.ndim > 0 and k.dtype in (np.int64, np.bool_)


def _is_plain(k: slice) -> bool:
    return PLAIN_BOUNDS.issuperset((type(k.start), type(k.stop), type(k.step)))


def _by_value(k: Any) -> Any:
    if _is_array(k):
        return wrap(cell_of(k.copy()))
    if type(k) is slice:
        bounds = k.start, k.stop, k.step
        made = tuple(map(_bound, bounds))
        return k if all(map(is_, made, bounds)) else slice(*made)
    if not isinstance(k, Core) or k._kind_of().dtype not in INDICES:
        return k
    if not k._kind_of().shape:
        return _bound(k)
    return valued(k) if k._key is not None else by_value(k)


def _bound(k: Any) -> Any:
    """One place or bound as an int, where it is a tensor; whatever else as it is."""
    k = whole_number(k)
    if not isinstance(k, Core) or k._kind_of().shape or k._kind_of().dtype not in INDICES:
        return k
    return k._array().item()


def _is_mask(k: Any) -> bool:
    if not isinstance(k, Core):
        return False
    kind = k._kind_of()
    return kind.dtype in ("bool", "u8") and bool(kind.shape)


def mask_of_fill(x: Any, key: Any, value: Any) -> Any:
    """The mask, where setting `key` is to write one number wherever it holds, without reading it; else None."""
    mask: Any = key[0] if type(key) is tuple and len(key) == 1 else key
    if not isinstance(x, Core) or not _is_mask(mask):
        return None
    shape, held = shape_of(x), mask._kind_of()
    single = number_of(value) is not None if not isinstance(value, Core) else not shape_of(value)
    return mask if single and held.dtype == "bool" and shape[: len(held.shape)] == held.shape else None


def fill_where(x: Core, mask: Core, number: Core) -> None:
    """Write one number wherever a mask of leading axes holds; it is read first, and may be one of those."""
    start_writing(x, [number], apart=False)
    shape, held = shape_of(x), mask._kind_of().shape
    if len(shape) > len(held):
        mask = view(mask, (("reshape", (*held, *[1] * (len(shape) - len(held)))),), UNSQUEEZE)
    overwrite(x, apply_now(FILL_WHERE, (mask, x, number), (x._kind_of().dtype,)))


FILL_WHERE = Operation("masked_fill", "IndexPutBackward0", MASKED_FILL_TENSOR.emit, "own")


__all__ = ["Hits", "NewAxis", "fill_where", "mask_of_fill", "places_of", "with_places"]
