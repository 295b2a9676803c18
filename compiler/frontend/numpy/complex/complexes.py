"""NumPy's functions of complex numbers on traced arrays: ufuncs as formulas over pairs, and which others are known.

What only moves or adds elements is written for any dtype and works as it is (`ANY`); what conjugates, or takes sizes of
numbers, has a meaning of its own (`OWN`). All else is refused, so that no formula for real numbers is applied.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.complex import gammas
from ....ops.complex.complexes import complex_
from ....ops.complex.complexes import imag as imag_part
from ....ops.complex.complexes import real as real_part
from ....ops.complex.pairs import Complex, Pair
from ....ops.complex.pairs import angle as angle_of
from ....ops.scipy.called import Functions
from ....ops.term import Terms
from ...array import HOOKS, Array, here, implements, name_of
from ...errors import TraceError, message
from ...promotion import common_shape, conform, loop_here
from ...tracing import Tracing, user_line
from ..reductions import traced
from ..ufuncs import RULES, elementwise, spelled

OWN: dict[Any, Callable[..., Any]] = {}
"""NumPy function -> its meaning where complex numbers take part, if that is another one."""


def own(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(meaning: Callable[..., Any]) -> Callable[..., Any]:
        for each in functions:
            OWN[each] = meaning
        return meaning

    return register


def _isfinite(m: Complex, z: Pair) -> Any:
    return m.real.and_(*(m.real.lt(m.real.abs(x), math.inf) for x in (z.re, z.im)))


def _hankel(sign: float, scaled: bool) -> Callable[..., Any]:
    """J + iY of a real argument, or its conjugate; scaled by the exponential that takes its turning away."""

    def formula(m: Complex, order: Pair, z: Pair) -> Pair:
        f, v, x = Functions(m.b), order.re, _real_part(z)
        made = Pair(m, f.jv(v, x), sign * f.yv(v, x))
        return made * Pair(m, m.real.cos(x), -sign * m.real.sin(x)) if scaled else made

    return formula


def _wofz(m: Complex, z: Pair) -> Pair:
    """Of real numbers exp(-x^2), and Dawson's integral."""
    if z.zero != "im":
        return Pair(m, *Functions(m.b).faddeeva(z.re, z.im))
    x = z.re
    return Pair(m, m.real.exp(-(x * x)), Functions(m.b).dawsn(x) * (2 / math.sqrt(math.pi)))


def _real_part(z: Pair) -> Any:
    if z.zero != "im":
        raise NotImplementedError
    return z.re


FORMULAS: dict[str, Callable[..., Any]] = {
    "expit": lambda m, z: m.sigmoid(z),
    "hankel1": _hankel(1.0, False),
    "hankel1e": _hankel(1.0, True),
    "hankel2": _hankel(-1.0, False),
    "hankel2e": _hankel(-1.0, True),
    "wofz": _wofz,
    "loggamma": gammas.loggamma,
    "gamma": gammas.gamma,
    "rgamma": gammas.rgamma,
    "psi": gammas.digamma,
    "conjugate": lambda m, z: Pair(m, z.re, -z.im),
    "isfinite": _isfinite,
    "isinf": lambda m, z: m.real.or_(*(m.real.eq(m.real.abs(x), math.inf) for x in (z.re, z.im))),
}
"""Ufuncs whose formula for real numbers does not say it."""


def _part_of(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def paired(now: Tracing, m: Complex, x: Any, dtype: np.dtype, shape: tuple[Any, ...]) -> Pair:
    """An operand as a pair, which knows whether it is real or imaginary."""
    part = _part_of(dtype)
    if isinstance(x, Array) and x.type.is_complex:
        x = Array(now, conform(now, x, x.dtype, x.shape))
        parts, zero = x.parts, ""
    elif isinstance(x, Array):
        parts, zero = (x, 0.0), "im"
    elif np.ndim(x) == 0:
        z = complex(x)
        parts, zero = (z.real, z.imag), "im" if z.imag == 0 else "re" if z.real == 0 else ""
    elif x.dtype.kind == "c":
        whole = Array(now, now.array(x))
        parts, zero = whole.parts, ""
    else:
        parts, zero = (x, 0.0), "im"
    re, im = (m.real(conform(now, each, part, shape)) for each in parts)
    return Pair(m, re, im, zero=zero)


def of_complex(ufunc: np.ufunc, operands: tuple[Any, ...], weak: bool = False) -> Any:
    """A ufunc on operands of which one is complex."""
    now, dtypes = here(*operands), loop_here(ufunc, operands)
    shape, m = common_shape(ufunc.__name__, *operands), Complex(Terms(now.builder))
    formula = FORMULAS.get(ufunc.__name__)
    if formula is None and getattr(np, ufunc.__name__, None) is ufunc:
        formula = RULES.get(ufunc.__name__)
    pairs = [paired(now, m, x, d, shape) for x, d in zip(operands, dtypes, strict=False)]
    now.builder.where = user_line()
    try:
        if formula is None:
            raise NotImplementedError
        made = formula(m, *pairs)
    except (NotImplementedError, TypeError, AttributeError):
        raise refused(spelled(ufunc)) from None
    return Array(now, whole_of(now, made), weak)


def whole_of(now: Tracing, made: Any) -> Any:
    """The value of a term or of a pair."""
    return now.emit(complex_, made.re.value, made.im.value) if isinstance(made, Pair) else made.value


def refused(name: str) -> TraceError:
    fix = "work on z.real and z.imag; np.abs(z) and np.angle(z) are real"
    return TraceError(message(f"{name} of complex numbers is not supported in a traced function", user_line(), fix))


def meaning_of(function: Any, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """What a NumPy function means where complex numbers are among its arguments."""
    found = OWN.get(function)
    if found is not None:
        return found
    known = not ANY.isdisjoint((function, meaning)) or (isinstance(function, str) and function in METHODS)
    if known or isinstance(function, np.ufunc):
        return meaning
    raise refused(name_of(function))


METHODS = frozenset({"astype", "fill", "compress"})
_NAMES = """
    sum mean cumsum reshape ravel transpose permute_dims swapaxes moveaxis rollaxis squeeze expand_dims broadcast_to
    broadcast_arrays atleast_1d atleast_2d atleast_3d concatenate concat stack vstack hstack dstack column_stack block
    split array_split vsplit hsplit dsplit unstack append roll flip fliplr flipud rot90 repeat tile take
    take_along_axis diag diagflat diagonal trace tril triu copy astype where select dot matmul inner outer
    tensordot einsum kron zeros_like ones_like full_like empty_like shape ndim size diff ediff1d delete insert
    matrix_transpose resize trim_zeros choose nansum nancumsum polyval polyadd polysub polymul polyder polyint
    cross matvec vander average linspace result_type prod cumprod all any count_nonzero meshgrid isclose allclose
    array_equal array_equiv nanprod nancumprod nanmean pad cumulative_sum cumulative_prod gradient trapezoid poly
    convolve nonzero flatnonzero argwhere extract compress place putmask put copyto fill_diagonal can_cast common_type
"""
ANY = {getattr(np, name) for name in _NAMES.split()}
ANY |= {np.linalg.matrix_transpose, np.linalg.outer, np.linalg.matmul, np.linalg.trace, np.linalg.diagonal}
ANY |= {np.linalg.matrix_power, np.linalg.multi_dot, np.linalg.tensordot, np.linalg.cross}
ANY |= {np.fft.fftshift, np.fft.ifftshift}
ANY |= {np.real, np.imag, np.angle, np.iscomplexobj, np.isrealobj, np.iscomplex, np.isreal, np.real_if_close}

# ---- parts


@implements(np.real)
def real(val: Any) -> Any:
    return _part(val, real_part)


@implements(np.imag)
def imag(val: Any) -> Array:
    now, x = traced(val)
    return _part(x, imag_part) if x.type.is_complex else Array(now, conform(now, 0, x.dtype, x.shape), x.weak)


def _part(x: Any, prim: Any) -> Any:
    if not (isinstance(x, Array) and x.type.is_complex):
        return x
    now = here(x)
    return Array(now, now.emit(prim, conform(now, x, x.dtype, x.shape)), x.weak)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Array:
    """The angle with the positive real numbers; of real ones 0 or pi, by the sign bit."""
    now, x = traced(z)
    if x.type.is_complex:
        m = Complex(Terms(now.builder))
        made = Array(now, angle_of(m, paired(now, m, x, x.dtype, x.shape)).value)
    else:
        made = elementwise(np.arctan2, 0, x)
    return elementwise(np.multiply, made, 180 / math.pi) if deg else made


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return traced(x)[1].type.is_complex


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Array:
    return elementwise(np.not_equal, imag(x), 0)


@implements(np.isreal)
def isreal(x: Any) -> Array:
    return elementwise(np.equal, imag(x), 0)


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Array:
    now, x = traced(a)
    if x.type.is_complex:
        fix = "take np.real(z)"
        raise TraceError(message("whether np.real_if_close is real depends on values", user_line(), fix))
    return a if isinstance(a, Array) and a.tracing is now else x


def joined(re: Any, im: Any) -> Array:
    """re + i im, of real arrays of one shape and dtype."""
    now = here(re, im)
    return Array(now, now.emit(complex_, *(conform(now, x, x.dtype, x.shape) for x in (re, im))))


HOOKS["of_complex"] = meaning_of
HOOKS["complex_ufunc"] = of_complex

__all__ = ["ANY", "OWN", "angle", "imag", "joined", "own", "paired", "real", "refused", "whole_of"]
