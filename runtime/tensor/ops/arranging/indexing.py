"""Square brackets: integers, slices, None and Ellipsis give views; tensors of indices and masks gather."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .....compiler.ir.symint import bounds_of
from .....compiler.ops.elementwise import cast
from ...calls.asking import check_values
from ...face.inplace import copy_, fill_, start_writing, writer
from ...trace.fragments.fragments import Operation, widen
from ...value.axes import axis_of
from ...value.cells import cell_of
from ...value.core import Core, Tensor, apply, apply_now, number_of, wrap
from ...value.promotion import common_shape
from ...value.views import view
from ...value.writing import check_apart, overwrite
from ..elementwise.elementary import clone
from .cuts import ALL, known_elements, known_part, part_now, path_of_row
from .elements import WRITERS, added, gathered, placed
from .masks import Hits, NewAxis, fill_where, mask_of_fill, places_of, with_places
from .shapes import SELECT, SLICE, UNSQUEEZE, shape_of, slice_step
from .stores import store

ALIAS = Operation("alias", "AliasBackward0", SLICE.emit)


def getitem(x: Tensor, key: Any) -> Tensor:
    """x[key]."""
    rows = known_part(x, key)
    if rows is not None:
        return rows
    if isinstance(key, slice) and shape_of(x):
        return _slice(x, 0, key, always=True)
    part, arrays = _basic(x, key)
    if arrays:
        return _gather(part, arrays)
    return view(x, (), ALIAS) if part is x else part


def setitem(x: Core, key: Any, value: Any) -> None:
    """x[key] = value."""
    if store(x, key, value):
        return None
    mask = mask_of_fill(x, key, value)
    if mask is not None:
        return fill_where(x, mask, _tensor_of(value, x))
    part, arrays = _basic(x, key)
    source = _tensor_of(value, part)
    extra = len(shape_of(source)) - len(shape_of(part))
    if not arrays and extra > 0 and all(n == 1 for n in shape_of(source)[:extra]):
        source = view(source, (("reshape", shape_of(source)[extra:]),), SELECT)
    if not arrays and not shape_of(source) and shape_of(part):
        fill_(part, source)
    elif not arrays:
        copy_(part, source)
    else:
        _scatter(part, arrays, source)


def _stored(x: Any = None, key: Any = None, value: Any = None) -> Any:
    return None if store(x, key, value) else NotImplemented


writer(setitem, _stored)
getitem.at_once = part_now  # type: ignore[attr-defined]
getitem.prepared = setitem.prepared = with_places  # type: ignore[attr-defined]


def _tensor_of(value: Any, like: Core) -> Any:
    if isinstance(value, Core):
        return value
    if number_of(value) is None:
        raise TypeError(f"can't assign a {type(value).__name__} to a tensor {like._kind_of()}")
    return wrap(cell_of(np.array(value, like._kind_of().numpy)))


# ---- the part that is a view


def _basic(x: Tensor, key: Any) -> tuple[Tensor, dict[int, Core]]:
    """The view that integers, slices, None and Ellipsis give, and the index tensors left at its axes."""
    several = isinstance(key, tuple) and not isinstance(key, (Hits, NewAxis))
    keys = _expanded(key if several else (key,), len(shape_of(x)))
    axis, arrays = 0, {}
    for k in keys:
        if k is None:
            shape = shape_of(x)
            x = view(x, (("reshape", (*shape[:axis], 1, *shape[axis:])),), UNSQUEEZE)
            axis += 1
        elif isinstance(k, Core):
            arrays[axis] = k
            axis += 1
        elif isinstance(k, NewAxis):
            shape = shape_of(x)
            x = view(x, (("reshape", (*shape[:axis], 1, *shape[axis:])),), UNSQUEEZE)
            arrays[axis] = k.index
            axis += 1
        elif isinstance(k, Hits):
            if shape_of(x)[axis] != k.size:
                raise IndexError(
                    f"a mask has size {k.size} along an axis, but axis {axis} of what it is to index has size"
                    f" {shape_of(x)[axis]}"
                )
            arrays[axis] = k.index
            axis += 1
        elif isinstance(k, slice):
            x = _slice(x, axis, k)
            axis += 1
        else:
            x = select_row(x, axis, k)
    return x, arrays


def _expanded(keys: tuple[Any, ...], rank: int) -> list[Any]:
    """The keys, one for each axis: Ellipsis filled in, masks as tensors of indices."""
    made: list[Any] = []
    for k in keys:
        made += _spelled(k)
    used = sum(k is not None and k is not Ellipsis and not isinstance(k, NewAxis) for k in made)
    if used > rank:
        if rank == 0:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    dots = [n for n, k in enumerate(made) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = dots[0] if dots else len(made)
    return made[:at] + [ALL] * (rank - used) + made[at + 1 :]


def _spelled(k: Any) -> list[Any]:
    """One key as keys for single axes."""
    if k is None or k is Ellipsis or isinstance(k, (slice, Hits, NewAxis)):
        return [k]
    if isinstance(k, (list, np.ndarray, range)):
        k = wrap(cell_of(_index_array(np.asarray(k))))
    if isinstance(k, Core):
        kind = k._kind_of()
        if kind.dtype in ("bool", "u8"):
            return places_of(k._array().astype(bool))
        if kind.dtype not in ("i64", "i32"):
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {k.dtype}")
        return [k._array().item() if not kind.shape else k]
    number = number_of(k)
    if isinstance(number, bool):
        return places_of(np.array(number))
    if isinstance(number, int):
        return [number]
    if hasattr(k, "__index__"):
        return [k.__index__()]
    kind = IndexError if isinstance(number, float) else TypeError
    raise kind(
        "indices must be integers, slices, None, Ellipsis, or tensors of integers or bools, got "
        f"{type(k).__name__}"
    )


def _index_array(array: np.ndarray) -> np.ndarray:
    if array.size == 0 and array.dtype.kind == "f":
        return array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise IndexError("a list used as an index must hold integers or bools")
    return np.ascontiguousarray(array if array.dtype.kind == "b" else array.astype(np.int64))


def select_row(x: Tensor, axis: int, index: int) -> Tensor:
    """Row `index` of an axis, which disappears."""
    return view(x, path_of_row(shape_of(x), index, axis), SELECT)


def _slice(x: Tensor, axis: int, k: slice, always: bool = False) -> Tensor:
    """A slice along an axis; that of all of it is no step, unless `always`."""
    if k == ALL and not always:
        return x
    bounds = [b._array().item() if isinstance(b, Core) else b for b in (k.start, k.stop, k.step)]
    shape = shape_of(x)
    start, stop, step = bounds_of(slice(*bounds), shape[axis])
    if not always and not bounds[0] and stop == shape[axis] and step == 1:
        return x
    if step <= 0:
        raise ValueError("step must be greater than zero")
    length = max(0, -(-(stop - start) // step))
    return view(x, (slice_step(shape, axis, start, step, length),), SLICE)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Row `index` of `dim`."""
    return select_row(input, axis_of(dim, len(shape_of(input))), index)


# ---- gathering


INDEX = Operation("index", "IndexBackward0", gathered)


def check_indices(index: Core, size: int, axis: int, first: int | None = None, error: type = IndexError) -> None:
    """Raise `error` unless all indices are from `first`, or from -size, to `size`; they are asked for now for this."""
    low = -size if first is None else first

    def test(array: np.ndarray) -> None:
        if array.size and not (low <= array.min() and array.max() < size):
            wrong = next(int(i) for i in array.flat if not low <= i < size)
            raise error(f"index {wrong} is out of bounds for dimension {axis} with size {size}")

    check_values(index, test)


def _checked(x: Core, arrays: dict[int, Core]) -> tuple[list[Core], tuple[int, ...]]:
    shape = shape_of(x)
    _common(arrays)
    axes: dict[int, list[int]] = {}
    for axis, index in arrays.items():
        axes.setdefault(id(index), []).append(axis)
    for same in axes.values():
        axis = min(same, key=lambda a: shape[a])  # where an index stands twice, it is asked for once
        check_indices(arrays[axis], shape[axis], axis)
    return list(arrays.values()), tuple(arrays)


def _common(arrays: dict[int, Core]) -> tuple[int, ...]:
    """The shape to which the indices broadcast."""
    try:
        return common_shape([shape_of(a) for a in arrays.values()])
    except RuntimeError:
        shapes = ", ".join(str(list(shape_of(a))) for a in arrays.values())
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def _gather(x: Tensor, arrays: dict[int, Core]) -> Tensor:
    indices, axes = _checked(x, arrays)
    known = known_elements(x, arrays)
    return apply(INDEX, (x, *indices), (axes,)) if known is None else known


NOTHING_PUT = Operation("index_put", "IndexPutBackward0", lambda m, x: x)
INDEX_PUT = Operation("index_put", "IndexPutBackward0", placed)


def _scatter(x: Core, arrays: dict[int, Core], value: Any) -> None:
    """Write by looking up, for each element, the last value written there."""
    start_writing(x, [value], apart=False)
    check_apart(x, value)
    shape, target = shape_of(x), _target(x, arrays)
    values = _spread_to(value, target, x._kind_of().dtype)
    indices, axes = _checked(x, arrays)
    if not prod(target):
        overwrite(x, apply_now(NOTHING_PUT, (x,)))
        return
    overwrite(x, apply_now(INDEX_PUT, (x, apply(WRITERS, indices, (shape, axes)), values)))


def _target(x: Core, arrays: dict[int, Core]) -> tuple[int, ...]:
    """The shape of what is gathered: the indices' in place of the indexed axes, in front where those lie apart."""
    axes = tuple(arrays)
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    rest = [n for a, n in enumerate(shape_of(x)) if a not in axes]
    at = axes[0] if adjacent else 0
    return (*rest[:at], *_common(arrays), *rest[at:])


def _spread_to(value: Any, target: tuple[int, ...], dtype: str) -> Any:
    """What is to be written, broadcast and converted."""
    given = shape_of(value)
    fits = all(n in (1, m) for n, m in zip(reversed(given), reversed(target), strict=False))
    if not fits or any(n != 1 for n in given[: max(len(given) - len(target), 0)]):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing result of shape"
            f" {list(target)}"
        )
    if len(given) > len(target):
        value = view(value, (("reshape", given[len(given) - len(target) :]),), UNSQUEEZE)
    return apply(SPREAD, (value,), (target, dtype))


INDEX_PUT_ADDED = Operation("index_put", "IndexPutBackward0", added)


def index_put_(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """input[indices] = values, or += where every place counts as often as it is named."""
    key = tuple([k if k is not None else ALL for k in indices])
    if not accumulate:
        setitem(input, key, values)
        return input
    part, arrays = _basic(input, key)
    start_writing(part, [values])
    where, axes = _checked(part, arrays)
    spread = _spread_to(_tensor_of(values, part), _target(part, arrays), part._kind_of().dtype)
    overwrite(part, apply_now(INDEX_PUT_ADDED, (part, spread, *where), (axes,)))
    return input


def index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """A copy of input, written to as `index_put_` does."""
    return index_put_(clone(input), indices, values, accumulate)


def _spread(m: Any, x: Any, shape: tuple[int, ...], dtype: str) -> Any:
    value = x.value if x.value.type.dtype == dtype else cast(m.b, x.value, dtype=dtype)
    return m(widen(m.b, value, shape))


SPREAD = Operation("expand", "ExpandBackward0", _spread)
