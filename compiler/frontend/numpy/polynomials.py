"""NumPy's old functions of polynomials, by their coefficients from the highest power down, on traced arrays.

Those of `np.polynomial` compute with any array: see `unasked`, which lets them have traced ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.require import require
from ..array import Array, find, here, implements, unknown, value_of
from ..errors import TraceError, message
from ..patched.unasked import unprotected
from ..promotion import as_operand, shape_of
from ..tracing import user_line
from .convolutions import convolve
from .creation import vander, zeros_like
from .matrices.linalg import as_float, lstsq
from .reductions import sum_, traced
from .shaping import atleast_1d, concatenate, reshape
from .ufuncs import elementwise


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    if isinstance(x, np.poly1d):
        raise TraceError(message("np.polyval of a polynomial with traced coefficients", user_line(), "give it numbers"))
    coefficients = [as_operand(c) for c in (p if isinstance(p, (Array, list, tuple)) else np.asarray(p))]
    x = as_operand(x)
    made = zeros_like(x) if isinstance(x, Array) else np.zeros_like(x)[()]
    for c in coefficients:
        made = made * x + c
    return made


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Array:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    _now, made = traced(p)
    if made.ndim != 1:
        raise unknown("np.polyder", f" of an array of {made.ndim} dimensions")
    for _ in range(m):
        made = elementwise(np.multiply, made[:-1], np.arange(made.shape[0] - 1, 0, -1))
    return made


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    given = 0.0 if k is None else k
    constants = np.atleast_1d(given) if find([k]) is None else atleast_1d(as_operand(given))
    if constants.shape[0] == 1 and m > 1:
        constants = [constants[0]] * m
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    _now, made = traced(p)
    for j in range(m):
        divided = elementwise(np.true_divide, made, np.arange(made.shape[0], 0, -1))
        made = concatenate([divided, [constants[j]]])
    return made


def _sum(ufunc: np.ufunc, name: str) -> Any:
    def combine(a1: Any, a2: Any) -> Array:
        x, y = (atleast_1d(as_operand(a)) for a in (a1, a2))
        more = x.shape[0] - y.shape[0]
        zeros = np.zeros(abs(more), (y if more > 0 else x).dtype)
        x, y = (x, concatenate([zeros, y])) if more > 0 else (concatenate([zeros, x]), y) if more < 0 else (x, y)
        return elementwise(ufunc, x, y)

    combine.__name__ = name
    return combine


implements(np.polyadd)(_sum(np.add, "polyadd"))
implements(np.polysub)(_sum(np.subtract, "polysub"))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Array:
    """NumPy leaves leading zeros out, so a traced coefficient of the highest power must be another number."""
    factors: list[Any] = []
    for each in (a1, a2):
        x = as_operand(each)
        if not isinstance(x, Array):
            factors.append(np.poly1d(x).coeffs)
            continue
        factors.append(atleast_1d(x))
        now, first = here(x), factors[-1][0]
        text = "np.polymul: the leading coefficient is 0, without which NumPy's result is shorter"
        now.emit(require, value_of(now, elementwise(np.not_equal, first, 0)), error="ValueError", text=text)
    return convolve(*factors)


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these roots, one factor after the other."""
    _now, roots = traced(seq_of_zeros)
    roots = atleast_1d(roots)
    if roots.ndim != 1:
        fix = "find the eigenvalues first: np.poly(np.linalg.eigvalsh(a))"
        raise TraceError(message("np.poly of a traced matrix, whose eigenvalues may be complex", user_line(), fix))
    roots = roots if roots.dtype.kind in "fc" else roots.astype(np.float64)
    made = traced(np.ones(1, roots.dtype))[1]
    zero = np.zeros(1, roots.dtype)
    for root in roots:
        moved = elementwise(np.multiply, concatenate([zero, made]), root)
        made = elementwise(np.subtract, concatenate([made, zero]), moved)
    return made


# ---- those of np.polynomial


def _valued(original: Callable[..., Any]) -> Callable[..., Any]:
    """A series at x: what NumPy computes, once the axes of its coefficients stand apart from those of x."""

    def meaning(x: Any, c: Any, tensor: bool = True) -> Any:
        x, c = as_operand(x), as_operand(c)
        c = c if isinstance(c, Array) else np.array(c, ndmin=1)
        c = reshape(c, (1,)) if not c.ndim else c
        return original(x, c.reshape((*c.shape, *(1,) * len(shape_of(x)))) if tensor else c, tensor=False)

    return meaning


SERIES: dict[str, Callable[..., Any]] = {}
"""The functions that evaluate a series, by name."""

for _module, _name in (
    (np.polynomial.polynomial, "polyval"), (np.polynomial.chebyshev, "chebval"), (np.polynomial.hermite, "hermval"),
    (np.polynomial.hermite_e, "hermeval"), (np.polynomial.laguerre, "lagval"), (np.polynomial.legendre, "legval"),
):
    _value = SERIES[_name] = _valued(getattr(_module, _name))
    unprotected((_module, _name))(_value)


def _of_pairs(name: str, tensor: bool) -> Any:
    """Series of several variables: at points that are given by their places along the axes, or on a grid of them."""

    def value(*args: Any) -> Any:
        *places, c = args
        shapes = {shape_of(as_operand(x)) for x in places}
        if not tensor and len(shapes) > 1:
            raise ValueError("x, y, z are incompatible" if len(places) == 3 else "x, y are incompatible")
        for k, x in enumerate(places):
            c = SERIES["polyval"](x, c, tensor=tensor or k == 0)
        return c

    value.__name__ = name
    return value


for _name in ("polyval2d", "polyval3d", "polygrid2d", "polygrid3d"):
    implements(getattr(np.polynomial.polynomial, _name))(_of_pairs(_name, "grid" in _name))


def _refused(function: Any, why: str, fix: str) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise TraceError(message(f"np.{function.__name__} of a traced array: {why}", user_line(), fix))

    implements(function)(refuse)


_refused(np.polydiv, "its remainder has a size that depends on values", "divide by synthetic division, step by step")

@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: bool = False) -> Any:
    """Least squares in scaled powers, as NumPy's."""
    if cov:
        raise unknown("np.polyfit", " with cov=True")
    x, y = (as_float(traced(v)[1]) for v in (x, y))
    if x.ndim != 1 or y.ndim not in (1, 2) or not x.size:
        raise TypeError("expected 1D vector for x" if x.ndim != 1 else "expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    powers = vander(x, int(deg) + 1)
    if w is not None:
        weights = as_float(traced(w)[1])
        powers, y = powers * weights[:, None], y * (weights[:, None] if y.ndim == 2 else weights)
    scale = elementwise(np.sqrt, sum_(powers * powers, 0))
    bound = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    made, residuals, rank, values = lstsq(powers / scale, y, bound)
    found = made / (scale[:, None] if y.ndim == 2 else scale)
    return (found, residuals, rank, values, bound) if full else found


__all__ = ["poly", "polyder", "polyint", "polymul", "polyval"]
