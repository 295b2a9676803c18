"""Functions that end in an underscore: they write into their first argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from ....compiler.ops.elementwise import cast
from ..ops.arranging.shapes import shape_of
from ..ops.elementwise.arithmetic import masked_fill
from ..ops.elementwise.elementary import abs_ as absolute
from ..reverse.modes import mode
from ..reverse.nodes import node_class
from ..trace.fragments.fragments import Operation, widen
from ..trace.tape import tapes
from ..value.aliases import tell_alias
from ..value.cells import cell_of, is_alike
from ..value.core import Core, Tensor, apply_now, number_of
from ..value.core import wrap as made
from ..value.promotion import c_name
from ..value.writing import check_apart, check_writable, overwrite
from . import at_once

LEVELS = {
    "bool": 0, "u8": 1, "i8": 1, "i16": 1, "i32": 1, "i64": 1, "f32": 2, "f64": 2, "c64": 3, "c128": 3,
    "u16": 1, "u32": 1, "u64": 1, "f16": 2, "bf16": 2,
}  # fmt: skip
"""What may be written into what: never a float into integers, nor a number into bools."""


def start_writing(x: Core, others: Sequence[Any] = (), apart: bool = True) -> None:
    """Read `x` as it is now, and raise PyTorch's error if what comes of `others` may not be written to it.

    apart   they must not lie in the memory that is written, but for `x` itself
    """
    tapes.tape.catch_up()
    x._read()
    check_writable(x, others)
    for a in others if apart else ():
        if isinstance(a, Core) and a is not x:
            check_apart(x, a, same=True)


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, writing its result into its first argument."""

    @wraps(function)
    def written(input: Any, *args: Any, **kwargs: Any) -> Any:
        start_writing(input, args)
        return write(input, function(input, *args, **kwargs))

    written.__name__ = written.__qualname__ = function.__name__.rstrip("_") + "_"
    return writer(written, at_once.now(function))


def writer(function: Any, now: Any = None) -> Any:
    """`function`, marked as one that gives its first argument other values, and does nothing else.

    now   what does it at once, or gives NotImplemented
    """
    function.writes, function.at_once = True, now
    return function


def write(x: Any, new: Core) -> Any:
    """Write `new` into `x`, if its dtype and shape allow it."""
    kind, made = x._kind_of(), new._kind_of()
    if is_alike(kind, made):
        return overwrite(x, new)
    if LEVELS[made.dtype] > LEVELS[kind.dtype]:
        raise RuntimeError(
            f"result type {c_name(made.dtype)} can't be cast to the desired output type {c_name(kind.dtype)}"
        )
    if made.shape != kind.shape:
        raise RuntimeError(
            f"output with shape {list(kind.shape)} doesn't match the broadcast shape {list(made.shape)}"
        )
    return overwrite(x, apply_now(CAST, (new,), (kind.dtype,)))


def abs_(input: Any) -> Any:
    """Write the absolute values, which of complex numbers are none."""
    if input._kind_of().is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return in_place(absolute)(input)


def reshaping(function: Callable[..., Any], node: str, plain: str | None = None) -> Callable[..., Any]:
    """`function`, which gives a view, making that of its first argument itself.

    node, plain   the name of its grad_fn, and what it is without arguments where that differs
    """
    name = function.__name__ + "_"

    @wraps(function)
    def written(input: Any, *args: Any, **options: Any) -> Any:
        start_writing(input)
        tell_alias(input)
        storage = input._storage
        if not mode.enabled and input._node is not None:
            raise RuntimeError(f"{name}: under no_grad the history of the tensor would not fit its new shape")
        if input._base is None and storage is not None and storage.viewed:
            raise RuntimeError(f"{name}: the tensor has views; use {function.__name__} and give the result a name")
        new = function(input, *args, **options)
        input._cell, input._serial = new._read(), 0
        if mode.enabled:
            input._node, input._index = new._node, new._index
        if storage is None:
            input._storage = None
            input._written += 1
        else:
            if input._counter is None:
                storage.version += 1
                storage.counted = storage.edition + 1
            else:
                input._counter.written += 1
            storage.edition += 1
            input._path, input._part, input._seen = new._path, new._part, storage.edition
            storage.viewed = input._base is not None
        if input._node is not None and mode.enabled:
            input._node.__class__ = node_class(node if args or plain is None else plain)
        return input

    written.__name__ = written.__qualname__ = name
    return written


CAST = Operation("to", "ToCopyBackward0", lambda m, x, dtype: m(cast(m.b, x.value, dtype=dtype)))


def _fill(m: Any, x: Any, value: Any) -> Any:
    return m(widen(m.b, value.value, x.value.type.static_shape()))


def _copy(m: Any, x: Any, source: Any) -> Any:
    to = x.value.type
    value = source.value
    if value.type.dtype != to.dtype:
        value = cast(m.b, value, dtype=to.dtype)
    return m(widen(m.b, value, to.static_shape()))


FILL, FILL_TENSOR = Operation("fill", "FillBackward2", _fill), Operation("fill", "FillBackward3", _copy)
ZERO = Operation("zero", "ZeroBackward0", lambda m, x: m.zeros(x.value.type))
COPY = Operation("copy", "CopyBackwards", _copy)


def zero_(input: Tensor) -> Tensor:
    """Write zeros."""
    start_writing(input)
    return overwrite(input, apply_now(ZERO, (input,)))


def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one number everywhere."""
    start_writing(input, [value])
    if isinstance(value, Core):
        if shape_of(value):
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with"
                f" {len(shape_of(value))} dimensions."
            )
        return overwrite(input, apply_now(FILL_TENSOR, (input, value)))
    return overwrite(input, apply_now(FILL, (input, value)))


def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src`, broadcast and converted."""
    number = number_of(src)
    if number is not None:
        src = made(cell_of(np.array(number, input._kind_of().numpy)))
    if not isinstance(src, Core):
        raise TypeError(f"copy_(): argument 'src' must be Tensor, not {type(src).__name__}")
    if src._kind_of().is_complex and not input._kind_of().is_complex:
        src = src.to(input.dtype)  # type: ignore[attr-defined]
    have, wanted = shape_of(src), shape_of(input)
    start_writing(input, [src], apart=have == wanted)
    if have != wanted and prod(have) == prod(wanted):  # what is truly repeated PyTorch lets pass
        check_apart(input, src)
    fits = all(n in (1, m) for n, m in zip(reversed(have), reversed(wanted), strict=False))
    if not fits or len(have) > len(wanted):
        raise RuntimeError(
            "The expanded size of the tensor must match the existing size: cannot write a tensor of shape"
            f" {list(have)} into one of shape {list(wanted)}"
        )
    return overwrite(input, apply_now(COPY, (input, src)))


for _function, _now in ((zero_, at_once.zero), (fill_, at_once.fill), (copy_, at_once.copy)):
    writer(_function, _now)


def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write one number on the diagonal of a matrix, or of a tensor with equal sizes."""
    shape = shape_of(input)
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    start_writing(input)
    step = sum(prod(shape[a + 1 :]) for a in range(len(shape)))
    mask = np.zeros(prod(shape), bool)
    end = mask.size if wrap or len(shape) > 2 else min(mask.size, shape[1] * step)
    mask[:end:step] = True
    return overwrite(input, masked_fill(input, made(cell_of(mask.reshape(shape))), fill_value))
