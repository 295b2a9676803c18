"""NumPy's functions that conjugate, or take sizes or parts of numbers, on traced complex arrays; and np.roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.require import require
from ...array import FUNCTIONS, Array, implements, unknown
from ...errors import TraceError, message
from ...promotion import value_of
from ...tracing import user_line
from ..averages import var as real_var
from ..convolutions import correlate as slid
from ..histograms import histogram as real_histogram
from ..products import dot
from ..reductions import Axis, root, traced
from ..shaping import atleast_1d, concatenate, core, reshape
from ..ufuncs import elementwise
from .complexes import ANY, joined, own
from .linalg import eigvals


def _conjugate(x: Any) -> Any:
    return elementwise(np.conjugate, x) if isinstance(x, Array) else np.conjugate(x)


@own(np.vdot)
def vdot(a: Any, b: Any) -> Array:
    return dot(reshape(_conjugate(traced(a)[1]), -1), reshape(traced(b)[1], -1))


@own(np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    core("vecdot", x1, x2, (axis,), (axis,))
    return FUNCTIONS[np.sum](elementwise(np.multiply, _conjugate(x1), x2), axis)


@own(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    return vecdot(x1, x2, axis=axis)


@own(np.vecmat)
def vecmat(x1: Any, x2: Any) -> Array:
    return FUNCTIONS[np.vecmat](_conjugate(x1), x2)


@own(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    return slid(a, _conjugate(traced(v)[1]), mode)


@own(np.var)
def var(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, *, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Array:  # fmt: skip
    """That of the real parts and that of the imaginary ones."""
    if dtype is not None:
        raise unknown("np.var", f" of complex numbers with dtype={np.dtype(dtype)}")
    parts = traced(a)[1].parts
    means = (None, None) if mean is None else traced(mean)[1].parts
    found = [
        real_var(x, axis, None, ddof, keepdims, where=where, mean=m, correction=correction)
        for x, m in zip(parts, means, strict=True)
    ]
    return elementwise(np.add, *found)


@own(np.std)
def std(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, *, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Array:  # fmt: skip
    return root(var(a, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction))


@own(np.round, np.around)
def round_(a: Any, decimals: int = 0) -> Array:
    return joined(*(FUNCTIONS[np.round](part, decimals) for part in traced(a)[1].parts))


@own(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    return joined(*(FUNCTIONS[np.nan_to_num](part, copy, nan, posinf, neginf) for part in traced(x)[1].parts))


@own(np.sinc)
def sinc(x: Any) -> Array:
    """As NumPy has it, with a small number in place of zero."""
    z = elementwise(np.multiply, x, np.pi)
    y = FUNCTIONS[np.where](elementwise(np.equal, z, 0), elementwise(np.add, elementwise(np.multiply, z, 0), 1e-20), z)
    return elementwise(np.true_divide, elementwise(np.sin, y), y)


def nan_kinds(x: Array) -> Array:
    """0 for numbers, 1 where the imaginary part is NaN, 2 where the real one is, 3 where both are."""
    re, im = (elementwise(np.isnan, part).astype(np.int32) for part in x.parts)
    return re * 2 + im


@own(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    """By the real parts, and by the imaginary ones where these are equal; behind them what is NaN in some part."""
    x = traced(a)[1]
    x, axis = (reshape(x, -1), -1) if axis is None else (x, axis)
    re, im = x.parts
    return FUNCTIONS[np.lexsort]((im, re, nan_kinds(x)), axis)


@own(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
    x = traced(a)[1]
    x, axis = (reshape(x, -1), -1) if axis is None else (x, axis)
    return FUNCTIONS[np.take_along_axis](x, argsort(x, axis), axis)


@own(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """Of complex weights; elements and edges are real, of which NumPy would discard the imaginary parts."""
    if any(isinstance(x, Array) and x.type.is_complex for x in (traced(a)[1], bins)):
        fix = "give it z.real or np.abs(z)"
        said = "np.histogram of complex numbers, which NumPy counts by their real parts"
        raise TraceError(message(said, user_line(), fix))
    (re, edges), (im, _) = (real_histogram(a, bins, range, False, part) for part in traced(weights)[1].parts)
    made = joined(re, im)
    if density:
        made = elementwise(np.true_divide, made, FUNCTIONS[np.diff](edges))
        made = elementwise(np.true_divide, made, FUNCTIONS[np.sum](joined(re, im)))
    return made, edges


@implements(np.sort_complex)
def sort_complex(a: Any) -> Array:
    x = traced(a)[1]
    made: Any = np.sort(x, axis=-1)  # by its protocol, as x may be real
    return made.astype(np.complex64 if x.dtype in (np.int8, np.uint8, np.int16, np.uint16, np.complex64) else complex)


@implements(np.roots)
def roots(p: Any) -> Array:
    """The eigenvalues of the companion matrix, complex in any case; the leading coefficient must not be 0."""
    coefficients = atleast_1d(traced(p)[1])
    if coefficients.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    kind = coefficients.dtype if coefficients.dtype.kind in "fc" else np.dtype(np.float64)
    coefficients = coefficients.astype(kind)
    n = coefficients.shape[0] - 1
    if n < 1:
        return coefficients[1:].astype(np.result_type(kind, np.complex64))
    now, leading = coefficients.tracing, elementwise(np.not_equal, coefficients[0], 0)
    text = "np.roots: the leading coefficient is 0, without which NumPy finds fewer roots"
    now.emit(require, value_of(now, leading), error="ValueError", text=text)
    first = elementwise(np.negative, elementwise(np.true_divide, coefficients[1:], coefficients[0]))
    return eigvals(concatenate([first[None], np.eye(n - 1, n, dtype=kind)], 0))


ANY.update((np.roots, np.sort_complex))

__all__ = ["roots"]
