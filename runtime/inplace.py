"""Functions that end in an underscore: they write into their first argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from ..compiler.ops.elementwise import cast
from .core import Core, apply, check_writable, overwrite
from .fragments import Operation, widen
from .promotion import c_name
from .shapes import reshape, shape_of

if TYPE_CHECKING:
    from .tensor import Tensor

LEVELS = {"bool": 0, "i32": 1, "i64": 1, "f32": 2, "f64": 2}
"""What may be written into what: never a float into integers, nor a number into bools."""


def start_writing(x: Core) -> None:
    """Read `x` as it is now, and raise PyTorch's error if it may not be written to."""
    x._read()
    check_writable(x)


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, writing its result into its first argument."""

    @wraps(function)
    def written(input: Any, *args: Any, **kwargs: Any) -> Any:
        start_writing(input)
        return write(input, function(input, *args, **kwargs))

    written.__name__ = written.__qualname__ = function.__name__.rstrip("_") + "_"
    return written


def write(x: Any, new: Core) -> Any:
    """Write `new` into `x`, if its dtype and shape allow it."""
    kind, made = x._read().kind, new._read().kind
    if kind is made:
        return overwrite(x, new)
    if LEVELS[made.dtype] > LEVELS[kind.dtype]:
        raise RuntimeError(
            f"result type {c_name(made.dtype)} can't be cast to the desired output type {c_name(kind.dtype)}"
        )
    if made.shape != kind.shape:
        raise RuntimeError(
            f"output with shape {list(kind.shape)} doesn't match the broadcast shape {list(made.shape)}"
        )
    return overwrite(x, apply(CAST, (new,), (kind.dtype,)))


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
ZERO = Operation("zero", "ZeroBackward0", lambda m, x: m.number(_zero(x), x.value.type))
COPY = Operation("copy", "CopyBackwards", _copy)


def _zero(x: Any) -> Any:
    return {"bool": False, "i32": 0, "i64": 0}.get(x.value.type.dtype, 0.0)


def zero_(input: Tensor) -> Tensor:
    """Write zeros."""
    start_writing(input)
    return overwrite(input, apply(ZERO, (input,)))


def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one number everywhere."""
    start_writing(input)
    if isinstance(value, Core):
        if shape_of(value):
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with"
                f" {len(shape_of(value))} dimensions."
            )
        return overwrite(input, apply(FILL_TENSOR, (input, value)))
    return overwrite(input, apply(FILL, (input, value)))


def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src`, broadcast and converted."""
    start_writing(input)
    source: Any = src
    if not isinstance(src, Core):
        raise TypeError(f"copy_(): argument 'src' must be Tensor, not {type(src).__name__}")
    have, wanted = shape_of(src), shape_of(input)
    short = have[max(len(have) - len(wanted), 0) :]
    fits = all(n in (1, m) for n, m in zip(reversed(short), reversed(wanted), strict=False))
    if not fits or any(n != 1 for n in have[: len(have) - len(short)]):
        raise RuntimeError(
            "The expanded size of the tensor must match the existing size: cannot write a tensor of shape"
            f" {list(have)} into one of shape {list(wanted)}"
        )
    if short != have:
        source = reshape(source, short)
    return overwrite(input, apply(COPY, (input, source)))

