"""Softmax and its logarithm, with pullbacks that read the result."""

from __future__ import annotations

import warnings
from typing import Any

from .....compiler.ops import reduce as R
from .....compiler.ops.complex.pairs import Pair
from .....compiler.ops.custom import stop_gradient
from .....compiler.ops.shape import reshape
from ...trace.fragments.fragments import Operation
from ...value.axes import axes_of, axis_of
from ...value.cells import PARTS
from ...value.core import Core, Tensor, apply
from ...value.dtypes import dtype_of
from ...value.promotion import float_dtype
from ..folds.reductions import back, keep, shape_of, total
from .complexes import real
from .elementary import cast_to


def _shifted(m: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """x minus its largest element, so that no exponential overflows."""
    if not axes:
        return x - x
    if not x.value.type.size:
        return x
    return x - back(m, m(R.max_(m.b, x.value, axes=axes)), shape_of(x), axes)


def _softmax(m: Any, x: Any, axes: tuple[int, ...]) -> Any:
    e = m.exp(_shifted(m, x, axes))
    return e / back(m, total(m, e, axes), shape_of(x), axes)


def _softmax_pull(m: Any, inputs: Any, results: Any, cts: Any, axes: tuple[int, ...]) -> Any:
    (y,), (ct,) = results, cts
    return [y * (ct - back(m, total(m, ct * y, axes), shape_of(y), axes))]


def _log_softmax(m: Any, x: Any, axes: tuple[int, ...]) -> Any:
    x = _shifted(m, x, axes)
    return x - back(m, m.log(total(m, m.exp(x), axes)), shape_of(x), axes)


def _log_softmax_pull(m: Any, inputs: Any, results: Any, cts: Any, axes: tuple[int, ...]) -> Any:
    (y,), (ct,) = results, cts
    return [ct - m.exp(y) * back(m, total(m, ct, axes), shape_of(y), axes)]


def _logsumexp(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """An infinite maximum is not subtracted: the sum of exponentials is infinite, or zero, by itself."""
    if isinstance(x, Pair):
        return _complex_logsumexp(m, x, axes, keepdim)
    if not x.value.type.size:
        nothing = total(m, x, axes)
        return keep(m, m.log(nothing), shape_of(x), axes, keepdim)
    top = m(R.max_(m.b, x.value, axes=axes)) if axes else x
    top = m.select(m.lt(m.abs(top), float("inf")), top, 0)
    shape = shape_of(x)
    made = top + m.log(total(m, m.exp(x - back(m, top, shape, axes)), axes))
    return keep(m, made, shape, axes, keepdim)


def _complex_logsumexp(m: Any, z: Pair, axes: tuple[int, ...], keepdim: bool) -> Any:
    """The largest real part is taken out; the imaginary part of the result is an angle."""
    r, shape = m.real, shape_of(z)
    top = z.re
    if axes and z.re.value.type.size:
        top = r(R.max_(r.b, top.value, axes=axes))
    elif axes:
        top = total(r, top, axes)
    top = r(stop_gradient(r.b, r.select(r.lt(r.abs(top), float("inf")), top, 0).value))
    e = m.exp(Pair(m, z.re - back(r, top, shape, axes), z.im))
    made = m.log(Pair(m, total(r, e.re, axes), total(r, e.im, axes)))
    return keep(m, Pair(m, made.re + top, made.im), shape, axes, keepdim)


def _logsumexp_pull(
    m: Any, inputs: Any, results: Any, cts: Any, axes: tuple[int, ...], keepdim: bool
) -> Any:
    (x,), (y,), (ct,) = inputs, results, cts
    shape = shape_of(x)
    y, ct = (back(m, unkept(m, v, shape, axes, keepdim), shape, axes) for v in (y, ct))
    return [ct * m.exp(x - y)]


def unkept(m: Any, x: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool) -> Any:
    """`x` without the axes of size one that `keepdim` left."""
    if not keepdim:
        return x
    return m(reshape(m.b, x.value, shape=tuple(n for a, n in enumerate(shape) if a not in axes)))


SOFTMAX = Operation("softmax", "SoftmaxBackward0", _softmax, pull=_softmax_pull)
LOG_SOFTMAX = Operation("log_softmax", "LogSoftmaxBackward0", _log_softmax, pull=_log_softmax_pull)
LOGSUMEXP = Operation("logsumexp", "LogsumexpBackward0", _logsumexp, pull=_logsumexp_pull)


def _as_float(input: Tensor, dtype: Any = None) -> Tensor:
    have = input._kind_of().dtype
    code = dtype_of(dtype).code if dtype is not None else float_dtype(have)
    if input._kind_of().is_complex and code not in PARTS:
        warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=3)
        input = real(input)
    return input if code == input._kind_of().dtype else cast_to(input, code)


def _axes(input: Core, dim: int) -> tuple[int, ...]:
    rank = len(input._kind_of().shape)
    axis = axis_of(dim, rank)
    return (axis,) if rank else ()


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Exponentials along `dim`, divided by their sum."""
    return apply(SOFTMAX, (_as_float(input, dtype),), (_axes(input, dim),))


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along `dim`."""
    return apply(LOG_SOFTMAX, (_as_float(input, dtype),), (_axes(input, dim),))


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over `dim`."""
    axes = axes_of(dim, len(input._kind_of().shape))
    return apply(LOGSUMEXP, (_as_float(input),), (axes, keepdim and bool(axes)))
