"""`torch.masked`: a tensor and a mask go in, and what a reduction or normalisation of the elements that count gives.

    torch.masked.mean(x, dim=1, mask=lengths[:, None] > torch.arange(n))

An element that does not count becomes one that makes no difference: 0 in a sum, minus infinity in a maximum. So it has
no gradient. Tensors that hold a mask of their own are not there.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from ..value.core import Core
from ..value.dtypes import DType, float32, int64
from . import functions as F
from . import linalg_functions as L

SMALL = {"uint8", "bool", "int8", "int16", "int32"}
"""Dtypes whose sums and products are of int64."""


def _mask_for(name: str, input: Any, mask: Any) -> Any:
    """A mask as booleans in the shape of `input`."""
    if not isinstance(mask, F.Tensor):
        raise TypeError(f"masked {name}: expected a Tensor as mask, got {type(mask).__name__}")
    if mask.ndim > input.ndim:
        raise IndexError(
            f"masked {name}: expected a mask that broadcasts to the input, of at most {input.ndim} dimensions,"
            f" got {mask.ndim}"
        )
    return F.broadcast_to(mask, input.shape).to(dtype=F.bool)


def _kept(name: str, input: Any, mask: Any, rest: float) -> Any:
    """The input with `rest` where the mask is false, or the least or largest number of its dtype."""
    if not isinstance(input, Core):
        raise TypeError(f"masked {name}: expected a Tensor as input, got {type(input).__name__}")
    if input.layout is not F.strided:
        raise NotImplementedError(f"masked {name}: expected a strided tensor, got {input.layout}; call to_dense()")
    if mask is None:
        return input
    if math.isinf(rest) and not (input.is_floating_point() or input.is_complex()):
        ends = F.iinfo(input.dtype)
        rest = ends.max if rest > 0 else ends.min
    return F.where(_mask_for(name, input, mask), input, F.full((), rest, dtype=input.dtype))


def _axes(dim: Any, rank: int) -> tuple[int, ...]:
    """The dimensions, sorted; all where none are named."""
    if dim is None or dim == ():
        return tuple(range(rank))
    rank = max(rank, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -rank <= d < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
        if d % rank in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d % rank)
    return tuple(sorted(found))


def _wide(input: Any, dtype: DType | None) -> DType:
    """The dtype of a sum."""
    return dtype or (int64 if str(input.dtype).removeprefix("torch.") in SMALL else input.dtype)


# ---- reductions


def sum(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum of the elements that count."""
    kept = _kept("sum", input, mask, 0)
    return F.sum(kept, _axes(dim, input.ndim), builtins.bool(keepdim), dtype=_wide(input, dtype))


def prod(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product of the elements that count."""
    made = _kept("prod", input, mask, 1).to(dtype=_wide(input, dtype))
    for d in reversed(_axes(dim, input.ndim)):
        made = made.prod(dim=d, keepdim=builtins.bool(keepdim))
    return made


def amax(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest of the elements that count."""
    kept = _kept("amax", input, mask, -math.inf)
    return F.amax(kept, _axes(dim, input.ndim), builtins.bool(keepdim)).to(dtype=dtype or input.dtype)


def amin(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The least of the elements that count."""
    kept = _kept("amin", input, mask, math.inf)
    return F.amin(kept, _axes(dim, input.ndim), builtins.bool(keepdim)).to(dtype=dtype or input.dtype)


def argmax(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None
) -> Any:
    """Where the largest of the elements that count is; of the dtype of the input, as PyTorch has it."""
    kept = _kept("argmax", input, mask, -math.inf)
    return F.argmax(kept, dim, builtins.bool(keepdim)).to(dtype=dtype or input.dtype)


def argmin(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None
) -> Any:
    """Where the least of the elements that count is; of the dtype of the input, as PyTorch has it."""
    kept = _kept("argmin", input, mask, math.inf)
    return F.argmin(kept, dim, builtins.bool(keepdim)).to(dtype=dtype or input.dtype)


def _count(name: str, input: Any, dim: Any, keepdim: Any, mask: Any) -> Any:
    counted = F.ones(input.shape, dtype=int64) if mask is None else _mask_for(name, input, mask)
    return F.sum(counted, _axes(dim, input.ndim), builtins.bool(keepdim))


def mean(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean of the elements that count; NaN where there are none."""
    source, dtype = "Input" if dtype is None else "Optional", dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype."
            f" Got: {dtype}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count("mean", input, dim, keepdim, mask)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The lower median of the elements that count; NaN where there are none."""
    is_float, wanted = input.is_floating_point(), dtype or input.dtype
    kept = _kept("median", input if is_float else input.to(dtype=float32), mask, math.nan)
    made = F.nanmedian(kept, _axes(dim, input.ndim)[0], keepdim)[0]
    if is_float:
        return made
    if F.isnan(made).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return made.to(dtype=wanted)


def norm(
    input: Any, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The vector norm of the elements that count."""
    order = 2.0 if ord is None else ord
    kept = _kept("norm", input, mask, math.inf if order == -math.inf else 0)
    return L.vector_norm(kept, order, _axes(dim, input.ndim), builtins.bool(keepdim), dtype=dtype or input.dtype)


def _spread(
    name: str, input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: Any, dtype: Any, mask: Any
) -> Any:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    fewer = float(correction) if correction is not None else float(unbiased is None or unbiased)
    is_float = input.is_floating_point() or input.is_complex()
    made = dtype or (input.dtype if is_float else float32)
    inner = made if made.is_floating_point or made.is_complex else float32
    centre = sum(input, dim, keepdim=True, dtype=made, mask=mask) / _count(name, input, dim, True, mask)
    apart = F.sub(input, centre)
    squares = sum(apart * apart.conj(), dim, keepdim=keepdim, dtype=inner, mask=mask)
    count = _count(name, input, dim, keepdim, mask)
    if fewer:
        count = F.clamp(count.to(dtype=float32 if inner.is_complex else inner) - fewer, min=0)
    return F.div(squares, count).to(dtype=made)


def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The variance of the elements that count; NaN where there are none."""
    return _spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The root of `var`."""
    return F.sqrt(_spread("std", input, dim, unbiased, correction, keepdim, dtype, mask))


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of the sum of the exponentials of the elements that count."""
    kept = _kept("logsumexp", input, mask, -math.inf)
    return F.logsumexp(kept, _axes(dim, input.ndim), keepdim=keepdim).to(dtype=dtype or input.dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """`logaddexp` of the elements that count, of which each tensor has its mask."""
    first = _kept("logaddexp", input, input_mask, -math.inf)
    second = _kept("logaddexp", other, other_mask, -math.inf)
    return F.logaddexp(first, second).to(dtype=dtype or input.dtype)


# ---- as many elements as before


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The sums of the elements that count up to each place."""
    kept, wanted = _kept("cumsum", input, mask, 0), dtype or input.dtype
    return F.cumsum(kept, _axes(dim, input.ndim)[0], dtype=wanted).to(dtype=wanted)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The products of the elements that count up to each place."""
    kept, wanted = _kept("cumprod", input, mask, 1), dtype or input.dtype
    return F.cumprod(kept, _axes(dim, input.ndim)[0], dtype=wanted).to(dtype=wanted)


def _exponentials(name: str, rest: float, made: Callable[..., Any]) -> Callable[..., Any]:
    def function(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        kept = _kept(name, input, mask, rest)
        return made(kept, _axes(dim, input.ndim)[0], dtype=dtype or input.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` over the elements that count; the others have no weight."
    return function


softmax = _exponentials("softmax", -math.inf, F.softmax)
log_softmax = _exponentials("log_softmax", -math.inf, F.log_softmax)
softmin = _exponentials("softmin", math.inf, lambda x, dim, dtype: F.softmax(-x, dim, dtype=dtype))


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The elements that count divided by their norm, or by `eps` where that is larger; zeros elsewhere."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return F.div(_kept("normalize", input, mask, 0), F.clamp(length, min=eps))


def is_masked_tensor(obj: Any) -> bool:
    """No: there are no tensors with a mask of their own."""
    return False


__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
