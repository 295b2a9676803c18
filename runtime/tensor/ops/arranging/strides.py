"""Windows and strides: views of memory in other ways than by shapes; and sums and copies in another shape."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from ...trace.fragments.fragments import Operation
from ...trace.tape import force
from ...value.axes import axis_of, sizes
from ...value.cells import Cell
from ...value.core import Core, Tensor, apply, requires
from ...value.located import order_in_memory
from ...value.paths import part_of, strided
from ...value.views import alias, view
from ...value.writing import check_normal, moved
from ..elementwise.elementary import clone
from ..folds.reductions import sum_
from .arranging import split_with_sizes
from .indexing import select
from .pieces import split, unbind
from .shapes import (
    AS_STRIDED,
    UNFOLD,
    diagonal,
    expand,
    narrow,
    permute,
    reshape,
    shape_of,
    squeeze,
    t,
    transpose,
    unsqueeze,
    view_as_shape,
    whole_of,
)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements along a dimension, each `step` after the one before, as the last dimension."""
    shape = shape_of(input)
    axis, size, step = axis_of(dimension, len(shape)), index(size), index(step)
    have = shape[axis] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not shape:
        return view(input, (("reshape", (1,)), ("slice", (0,), (1,), (size,))), UNFOLD)
    if size == 0:
        count = have // step + 1
        return expand(unsqueeze(narrow(input, axis, 0, 0), -1), _windows(shape, axis, count, 0))
    return view(input, (("unfold", axis, size, step),), UNFOLD)


def _windows(shape: tuple[int, ...], axis: int, count: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], count, *shape[axis + 1 :], size)


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The elements of the memory of `input` at an offset, in steps of `stride` along each dimension.

    Those of the memory that are not in a view `input` have their gradients as well, which PyTorch leaves out.
    """
    shape, steps = sizes((size,)), tuple([index(s) for s in stride])
    offset = 0 if storage_offset is None else index(storage_offset)
    if len(shape) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(steps)}, {list(shape)}")
    if any(s < 0 for s in steps):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    reach = sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    input._read()  # a view that is late does not know yet of what
    if input._path:
        input, offset = _seen_from(input, None if storage_offset is None else offset, reach)
    size_of_memory, last = input._kind_of().size, offset + reach
    if 0 not in shape and last >= size_of_memory:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset} are out of bounds for"
            f" storage of {size_of_memory} elements"
        )
    if 0 in shape:
        none = ("slice", (0,), (1,), (0,))
        return view(input, (("reshape", (size_of_memory,)), none, ("reshape", shape)), AS_STRIDED)
    return view(input, (("strided", shape, steps, offset),), AS_STRIDED)


def _seen_from(input: Any, offset: int | None, reach: int) -> tuple[Any, int]:
    """Of what a view's memory is looked at, and at which offset: the view where that has all, else what it is one of.

    offset   in the memory, None for the view's own
    reach    how far behind that the last element lies
    """
    whole = strided(whole_of(input))
    part = part_of(whole, input._path)
    first = part.ctypes.data - whole.ctypes.data if part.size else 0
    offset = first if offset is None else offset
    has_all = offset >= first and (offset + reach < first + part.size or part.size == whole.size)
    if has_all and part.flags.c_contiguous and all(step[0] != "spread" for step in input._path):
        return input, offset - first
    base = input._base
    if base is None or base._path:
        raise NotImplementedError(
            "as_strided() of a view without its history: its memory is that of another tensor, of which this reaches"
            " elements that are not the view's, or lie apart in it. Call it on that one, or on a clone()"
        )
    return base, offset


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy of `input` with `src` in the place that `as_strided` gives."""
    made = clone(input)
    part = as_strided(made, size, stride, storage_offset)
    if shape_of(part) != shape_of(src):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(shape_of(src))}, slice size = {list(shape_of(part))}"
        )
    part.copy_(src)
    return made


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sums over the dimensions along which a tensor of this size would be broadcast."""
    wanted, have = sizes(size), shape_of(input)
    lead = len(have) - len(wanted)
    if lead < 0 or any(n not in (1, m) for n, m in zip(wanted, have[lead:], strict=True)):
        raise RuntimeError(f"size {list(wanted)} is not expandable to size {list(have)}.")
    axes = [a for a in range(len(have)) if a < lead or (wanted[a - lead] == 1 and have[a] != 1)]
    whole = not input._kind_of().is_float and not wanted  # which PyTorch sums all the same
    made = sum_(input, axes, True) if axes or whole else input
    return view_as_shape(made, wanted) if lead else made


# ---- another size in the same memory


def resize_(input: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another size: the same elements in the order of memory, zeros where there are more."""
    if requires(input):
        raise RuntimeError("cannot resize variables that require grad")
    check_normal(input)
    wanted = sizes(size)
    if any(n < 0 for n in wanted):
        raise RuntimeError(f"Trying to resize a tensor to negative dimensions: {list(wanted)}")
    if wanted == input._kind_of().shape:
        return input
    if input._base is not None or (input._storage is not None and input._storage.viewed):
        raise RuntimeError("resize_: the tensor shares its memory with a view; use a clone()")
    input._cell, input._storage, input._path, input._serial = _resized(input, wanted), None, (), 0
    moved(input)
    return input


def _resized(input: Any, wanted: tuple[int, ...]) -> Cell:
    have, count = input._kind_of().size, 1
    for n in wanted:
        count *= n
    order = order_in_memory(input)
    flat = reshape(alias(input).permute(order or range(len(shape_of(input)))), -1) if have else input.new_zeros(0)
    if count > have:
        flat = input.new_zeros(count).index_copy(0, input.new_tensor(range(have), dtype=int), flat)
    return force(clone(view_as_shape(narrow(flat, 0, 0, count), wanted))._read())


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another one."""
    return resize_(input, shape_of(the_template))


# ---- copies where the plain function gives a view


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    name = "".join(part.capitalize() for part in function.__name__.split("_"))
    copy = Operation("clone", f"{name}Backward0_copy", lambda m, x: x)

    def copied(input: Core, *args: Any, **options: Any) -> Any:
        made = function(input, *args, **options)
        return tuple([apply(copy, (x,)) for x in made]) if isinstance(made, tuple) else apply(copy, (made,))

    copied.__name__ = copied.__qualname__ = f"{function.__name__}_copy"
    copied.__doc__ = f"`{function.__name__}`, as a copy."
    return copied


def _view(input: Tensor, size: Any) -> Tensor:
    return view_as_shape(input, size)


def _alias(input: Tensor) -> Tensor:
    return input


_view.__name__, _alias.__name__ = "view", "alias"
alias_copy, view_copy, as_strided_copy = _copying(_alias), _copying(_view), _copying(as_strided)
diagonal_copy, expand_copy, permute_copy = map(_copying, (diagonal, expand, permute))
split_copy, split_with_sizes_copy, squeeze_copy = map(_copying, (split, split_with_sizes, squeeze))
t_copy, transpose_copy, unbind_copy, unfold_copy = map(_copying, (t, transpose, unbind, unfold))
unsqueeze_copy, select_copy = _copying(unsqueeze), _copying(select)


def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """Every `step`-th row of `dim` from `start` up to `end`, as a copy."""
    axis = axis_of(dim, len(shape_of(input)))
    return clone(input[(*[slice(None)] * axis, slice(start, end, step))])


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow`, as a copy."""
    if dim >= len(shape_of(input)):
        raise RuntimeError(f"narrow_copy: expected dim to be less than {len(shape_of(input))}, got {dim}")
    return apply(NARROW_COPY, (narrow(input, dim, start, length),))


NARROW_COPY = Operation("clone", "NarrowCopyBackward0", lambda m, x: x)


def is_same_size(input: Core, other: Core) -> bool:
    """Whether two tensors have the same shape."""
    return shape_of(input) == shape_of(other)
