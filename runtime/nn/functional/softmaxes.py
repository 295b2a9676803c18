"""Softmax in its several forms."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensor.calls.calls import recorded
from ...tensor.face.tensor import Tensor
from ...tensor.ops.elementwise.softmax import log_softmax as _log_softmax
from ...tensor.ops.elementwise.softmax import softmax as _softmax
from ...tensor.ops.folds.reductions import converted
from ...tensor.ops.random.draws import check_float, default_generator
from ...tensor.ops.random.laws import exponential
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.trace.tape import unrepeatable
from ...tensor.value.core import apply
from ...tensor.value.dtypes import ALL
from .terms import counting, need_tensor, shape_of, size_of, wide


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials along `dim`, divided by their sum."""
    return _softmax(input, _implied(input, dim, "softmax"), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -x."""
    return _softmax(-input, _implied(input, dim, "softmin"), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along `dim`."""
    return _log_softmax(input, _implied(input, dim, "log_softmax"), dtype=dtype)


def _implied(input: Tensor, dim: int | None, name: str) -> int:
    need_tensor(name, "input", input)
    if dim is not None:
        return dim
    unrepeatable()
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X"
        " as an argument.",
        stacklevel=3,
    )
    return 0 if len(size_of(input)) in (0, 1, 3) else 1


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A draw from the categories that the logits say, smoothed; if `hard`, one-hot with the smooth one's gradient."""
    kind = logits._kind_of()
    check_float("gumbel_softmax", ALL[kind.dtype])
    waits = default_generator.draw(exponential, kind.shape, kind.dtype)
    return _gumbel_softmax(logits, waits, tau, hard, dim)


def _one_hot(m: Any, x: Any, index: Any, dim: int) -> Any:
    shape = shape_of(x)
    if not shape:
        return m.number(1.0, x.value.type)
    here = m.eq(counting(m, shape, dim % len(shape)), wide(m, index, shape))
    return converted(m, here, x.value.type.dtype)


ONE_HOT = Operation("one_hot", "", _one_hot)


@recorded
def _gumbel_softmax(logits: Tensor, waits: Tensor, tau: float, hard: bool, dim: int) -> Tensor:
    soft = _softmax((logits - waits.log()) / tau, dim)
    if not hard:
        return soft
    smooth = soft.detach()
    return apply(ONE_HOT, (smooth, smooth.argmax(dim, keepdim=True)), (dim,)) - smooth + soft

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]
