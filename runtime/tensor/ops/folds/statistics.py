"""Folds made of others: sums that skip NaN, quantiles, covariances, norms and distances."""

from __future__ import annotations

from typing import Any

from .....compiler.ops.complex.pair import Pair
from ...trace.fragments.fragments import Operation
from ...value.axes import axes_of, axis_of
from ...value.core import Core, Tensor, apply, apply_all, wrap
from ...value.dtypes import ALL, dtype_of
from ...value.found import returned
from ..arranging.creation import tensor
from ..arranging.shapes import expand, movedim, reshape, transpose, unsqueeze
from ..arranging.shapes import shape_of as sizes_of
from ..elementwise.arithmetic import div, mul, ne, sub
from ..elementwise.blends import lerp
from ..elementwise.complexes import complex_, imag, real
from ..elementwise.elementary import isnan, logical_not, sqrt
from ..matrices.products import SQUEEZE, mm
from .extremes import fold, shared
from .reductions import MEAN, STD, VAR, converted, keep, shape_of, spread_arguments, sum_, total
from .sorting import sort

# ---- without NaN


def _nansum(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool, dtype: str) -> Any:
    shape = shape_of(x)
    x = converted(m, x, dtype)
    x = m.select(m.ne(x, x), 0, x) if x.value.type.is_float else x
    return keep(m, total(m, x, axes), shape, axes, keepdim)


NANSUM = Operation("nansum", "NansumBackward0", _nansum)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of what is not NaN."""
    kind = input._kind_of()
    code = dtype_of(dtype).code if dtype is not None else kind.dtype if kind.is_float else "i64"
    return apply(NANSUM, (input,), (axes_of(dim, len(kind.shape)), keepdim, code))


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of what is not NaN."""
    if not input._kind_of().is_float:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    count = sum_(logical_not(isnan(input)), dim, keepdim)
    return div(nansum(input, dim, keepdim, dtype=dtype), count)


# ---- two results

aminmax_values = returned("aminmax", "min", "max")


def aminmax(input: Core, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element."""
    shape = sizes_of(input)
    if dim is None and 0 in shape:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension, for it has no identity")
    axes = tuple(range(len(shape))) if dim is None else axes_of(dim, len(shape))
    for axis in axes:
        if shape[axis] == 0:
            raise IndexError(f"aminmax(): Expected reduction dim {axis} to have non-zero size.")
    return aminmax_values(*_pair(AMINMAX, input, axes, keepdim))


AMINMAX = Operation(
    "aminmax", "AminmaxBackward0", lambda m, x, *at: (fold("min")(m, x, *at), fold("max")(m, x, *at)), pull=shared
)


def _pair(operation: Operation, input: Tensor, *attributes: Any) -> tuple[Tensor, Tensor]:
    (first, second), node = apply_all(operation, (input,), attributes)
    return wrap(first, node), wrap(second, node, 1)


def _with_mean(operation: Operation) -> Any:
    def emit(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool, correction: float) -> Any:
        away = operation.emit(m, x, axes, keepdim, correction)
        code = x.value.type.dtype
        if isinstance(x, Pair):
            return away, Pair(m, *(MEAN.emit(m.real, part, axes, keepdim, code) for part in (x.re, x.im)))
        return away, MEAN.emit(m, x, axes, keepdim, code)

    both = Operation(f"{operation.name}_mean", f"{operation.name.capitalize()}MeanBackward0", emit)

    def function(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """About the mean, with `correction` (1) subtracted from the count, and the mean."""
        axes, correction = spread_arguments(operation.name, input, dim, unbiased, correction)
        return _pair(both, input, axes, keepdim, correction)

    function.__name__ = function.__qualname__ = both.name
    return function


std_mean, var_mean = _with_mean(STD), _with_mean(VAR)


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not zero."""
    return sum_(ne(input, 0), dim)


# ---- quantiles


def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The numbers below which the shares `q` of the elements lie, between neighbours by `interpolation`."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The same of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked_shares(name: str, input: Core, q: Any, interpolation: str) -> Any:
    kind = input._kind_of()
    if not kind.is_float:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, Core):
        if len(sizes_of(q)) > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q._kind_of().dtype != kind.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        values = q._array()
        if values.size and not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    else:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = tensor(q, dtype=ALL[kind.dtype])
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of {', '.join(INTERPOLATIONS)}, got {interpolation}")
    return q


def _quantile(name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    if not input._kind_of().size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    q = _checked_shares(name, input, q, interpolation)
    shape, rank = sizes_of(input), len(sizes_of(input))
    if dim is None:
        rows, kept = reshape(input, -1), (1,) * rank
    else:
        axis = axis_of(dim, rank)
        rows = movedim(input, axis, -1) if rank else reshape(input, 1)
        kept = tuple(1 if a == axis else n for a, n in enumerate(shape))
    gone = kept if keepdim else sizes_of(rows)[:-1]
    ordered = sort(rows, -1).values
    wide = reshape(q, -1)
    many = (sizes_of(wide)[0],) if sizes_of(q) else ()
    lead = sizes_of(ordered)[:-1]
    last = ordered.shape[-1] - 1
    if name == "nanquantile":
        count = sum_(logical_not(isnan(ordered)), -1, True)
        ranks = mul(q if not sizes_of(q) else wide, (count - 1).clamp(min=0))
    else:
        ranks = expand(mul(wide, last), (*lead, wide.shape[0]))
        bad = isnan(ordered).any(-1, True)
        ranks = expand(_replaced(bad, float(last), ranks), (*lead, wide.shape[0]))
    made = _between(ordered, ranks, interpolation)
    made = movedim(made, -1, 0) if many else made.squeeze(-1)
    return apply(SQUEEZE, (made,), ((*many, *gone),))


def _replaced(mask: Tensor, value: float, x: Tensor) -> Tensor:
    return x.masked_fill(mask, value)


def _between(ordered: Any, ranks: Any, interpolation: str) -> Any:
    """The elements at ranks that need not be whole."""
    if interpolation == "lower":
        return ordered.gather(-1, ranks.floor().long())
    if interpolation == "higher":
        return ordered.gather(-1, ranks.ceil().long())
    if interpolation == "nearest":
        return ordered.gather(-1, ranks.round().long())
    below = ranks.floor()
    share = sub(ranks, below) if interpolation == "linear" else ranks * 0 + 0.5
    lower, upper = ordered.gather(-1, below.long()), ordered.gather(-1, ranks.ceil().long())
    return lerp(lower, upper, share)


# ---- covariance


def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables, which are the rows; columns are observations."""
    shape = sizes_of(input)
    if len(shape) > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {len(shape)}")
    if input._kind_of().dtype == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = reshape(input, 1, -1) if len(shape) < 2 else input
    weights = _weights(sizes_of(rows)[1], fweights, aweights)
    if weights is None:
        count: Any = sizes_of(rows)[1]
        average = div(sum_(rows, 1, True), count) if count else rows.mean(1, True)
        norm = max(count - correction, 0)
    else:
        count = weights.sum()
        average = div(sum_(mul(rows, weights), 1, True), count)
        norm = count - correction
        if aweights is not None:
            norm = count - correction * ((weights * aweights).sum() / count)
        norm = norm.clamp(min=0)
    away = sub(rows, average)
    other = away if weights is None else mul(away, weights)
    made = div(mm(away, transpose(other, 0, 1).to(away.dtype).conj()), norm)
    return made.squeeze()


def _weights(count: int, fweights: Core | None, aweights: Core | None) -> Any:
    for name, w, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if w is None:
            continue
        kind = w._kind_of()
        if len(kind.shape) > 1:
            raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {len(kind.shape)}")
        if kind.is_float == whole or kind.dtype == "bool":
            wanted = "integral" if whole else "floating point"
            raise RuntimeError(f"cov(): expected {name} to have {wanted} dtype, got {kind.dtype}")
        if kind.size != count:
            raise RuntimeError(f"cov(): expected {name} to have one element for each of {count}, got {kind.size}")
        if kind.size and (w._array() < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return mul(fweights, aweights)


def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables, which are the rows."""
    shape = sizes_of(input)
    if len(shape) > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got {len(shape)}")
    c = cov(input)
    if not sizes_of(c):
        return div(c, c)
    deviation = sqrt(c.diagonal())
    c = div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0))
    if c._kind_of().is_complex:
        return complex_(real(c).clamp(-1, 1), imag(c).clamp(-1, 1))
    return c.clamp(-1, 1)
