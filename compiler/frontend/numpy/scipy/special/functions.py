"""scipy.special's functions that are written in Python, on traced arguments: what they mean in NumPy's functions.

They ask no protocol; see `recoded`. Degrees and orders that SciPy wants whole are numbers, not traced ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....ops.scipy.called import TABLE, Functions, one
from ....array import Array, here, unknown
from ....errors import TraceError, message
from ....patched.recoded import concrete, recode
from ....promotion import as_operand, common_shape, conform, result_dtype
from ....tracing import user_line
from ...complex.complexes import ANY, joined
from ...ufuncs import RULES, where


def apply(name: str, *operands: Any) -> Any:
    """A function by SciPy's name, of operands in the floats that they promote to; degrees stay whole numbers."""
    operands = tuple(map(as_operand, operands))
    dtype, shape = floats(*operands), common_shape(name, *operands)
    now = here(*operands)
    m = Functions(now.builder)
    whole = [isinstance(x, (int, np.integer)) and name.startswith(_WHOLE) for x in operands]
    kinds = [np.dtype(np.int64) if w else dtype for w in whole]
    terms = [m(conform(now, x, kind, shape)) for x, kind in zip(operands, kinds, strict=True)]
    now.builder.where = user_line()
    made = RULES[name](m, *terms) if name in RULES else getattr(m, name)(*terms)
    return Array(now, made.value)


_WHOLE = ("spherical_",)


def floats(*operands: Any) -> np.dtype:
    """The floats that SciPy computes in, or complex numbers."""
    dtype = result_dtype(*operands)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def as_float(x: Any, *others: Any) -> Any:
    """An array of floats."""
    x, dtype = as_operand(x), floats(as_operand(x), *others)
    return x.astype(dtype) if isinstance(x, Array) else np.asarray(x, dtype)


def given(name: str, argument: str, x: Any) -> Any:
    """An argument that must be a number of now."""
    if not concrete(x):
        fix = f"pass {argument} as a number, or declare it static: static_argnames=({argument!r},)"
        raise TraceError(message(f"{name} with a traced {argument}", user_line(), fix))
    return x


# ---- sums of exponentials


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The largest term apart, so that nothing overflows; terms of weight zero count for nothing, whatever they are.

    Of complex numbers it is the logarithm's principal value.
    """
    a = np.atleast_1d(as_float(a) if b is None else as_float(a, as_operand(b)))
    if b is not None:
        b = as_float(b, a)
        a, b = np.broadcast_arrays(a, b)
        a = where(b == 0, -math.inf, a)
    axis = tuple(range(a.ndim)) if axis is None else axis
    top = np.max(a.real if a.dtype.kind == "c" else a, axis=axis, keepdims=True)
    top = constant(where(np.abs(top) < math.inf, top, 0.0))
    powers = np.exp(a - top)
    total = np.sum(powers if b is None else b * powers, axis=axis, keepdims=True)
    sign = np.sign(total)
    if return_sign:
        total = np.abs(total)
    made = np.log(total) + top
    if not keepdims:
        made, sign = np.squeeze(made, axis), np.squeeze(sign, axis)
    return (made, sign) if return_sign else made


def constant(x: Any) -> Any:
    """As a constant to derivatives: what is added and taken away again has none."""
    if not isinstance(x, Array):
        return x
    now = here(x)
    if x.type.is_complex:
        return joined(*map(constant, x.parts))
    return Array(now, Functions(now.builder).stop_gradient(_term(now, x)).value)


def _term(now: Any, x: Any) -> Any:
    return Functions(now.builder)(conform(now, x, x.dtype, x.shape))


def _shifted(x: Any, axis: Any, finite: bool = False) -> Any:
    """x less its largest element, or less nothing where that is infinite and has to be finite."""
    x = np.atleast_1d(as_float(x)) if not as_operand(x).shape else as_float(x)
    axis = tuple(range(x.ndim)) if axis is None else axis
    top = np.max(x, axis=axis, keepdims=True)
    top = where(np.abs(top) < math.inf, top, 0.0) if finite else top
    return x - constant(top), axis


def softmax(x: Any, axis: Any = None) -> Any:
    shape = as_operand(x).shape
    moved, axis = _shifted(x, axis)
    powers = np.exp(moved)
    made = powers / np.sum(powers, axis=axis, keepdims=True)
    return made if shape else made[0]


def log_softmax(x: Any, axis: Any = None) -> Any:
    shape = as_operand(x).shape
    moved, axis = _shifted(x, axis, finite=True)
    made = moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))
    return made if shape else made[0]


# ---- the gamma function


def multigammaln(a: Any, d: Any) -> Any:
    d = given("scipy.special.multigammaln", "d", d)
    if np.ndim(d) or np.floor(d) != d:
        raise ValueError("d should be a positive integer (dimension)")
    a = as_float(a).astype(np.float64)
    made = d * (d - 1) * 0.25 * math.log(math.pi)
    for j in range(1, int(d) + 1):
        made = made + apply("gammaln", a - (j - 1) / 2)
    return where(a > 0.5 * (d - 1), made, math.nan)


def _inexact(name: str, exact: Any) -> None:
    if exact:
        fix = "leave exact out: the gamma function has derivatives"
        raise TraceError(message(f"scipy.special.{name} of a traced value with exact=True", user_line(), fix))


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    _inexact("factorial", exact)
    if extend != "zero":
        raise unknown("scipy.special.factorial", f" with extend={extend!r}")
    n = as_float(n)
    return where(n < 0, 0.0, apply("gamma", where(n < 0, 1.0, n) + 1.0))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    _inexact("comb", exact)
    N, k = (as_float(x, as_operand(y)) for x, y in ((N, k), (k, N)))
    if repetition:
        return where((k == 0) & (N >= 0), 1.0, apply("binom", N + k - 1.0, k))
    return where((k <= N) & (N >= 0) & (k >= 0), apply("binom", N, k), 0.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    _inexact("perm", exact)
    N, k = (as_float(x, as_operand(y)) for x, y in ((N, k), (k, N)))
    return where((k <= N) & (N >= 0) & (k >= 0), apply("poch", N - k + 1.0, k), 0.0)


def polygamma(n: Any, x: Any) -> Any:
    n = np.asarray(given("scipy.special.polygamma", "n", n))
    if n.ndim or n < 0 or n != np.floor(n):
        fix = "give one whole number from 0 on"
        raise TraceError(message(f"scipy.special.polygamma of order {n}", user_line(), fix))
    x = as_float(x)
    now = here(x)
    return Array(now, Functions(now.builder).polygamma(_term(now, x), n=int(n)).value)


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    if out is not None:
        raise unknown("scipy.special.zeta", " with out=")
    x = as_float(x) if q is None else as_float(x, as_operand(q))
    if q is None:
        return 1.0 + apply("zetac", x)
    return apply("hurwitz", x, as_float(q, x))


class RealPart:
    """What stands for complex numbers of which only the real part is traced."""

    def __init__(self, name: str, real: Array) -> None:
        self._name, self.real = name, real

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise self._refusal(attribute)

    def _refusal(self, what: str) -> TraceError:
        fix = f"take the real part: {self._name}(x).real, which is NaN where there is no real number"
        return TraceError(message(f"{what} of the complex result of {self._name}", user_line(), fix))

    def __array_ufunc__(self, ufunc: np.ufunc, *args: Any, **kwargs: Any) -> Any:
        raise self._refusal(f"np.{ufunc.__name__}")

    def _operator(self, *other: Any) -> Any:
        raise self._refusal("arithmetic")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operator
    __pow__ = __rpow__ = __neg__ = __abs__ = __float__ = __getitem__ = _operator


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Its real branches; SciPy's are complex everywhere."""
    if given("scipy.special.lambertw", "k", k) not in (0, -1):
        fix = "k is 0 or -1"
        raise TraceError(message(f"the branch {k} of scipy.special.lambertw, which is not real", user_line(), fix))
    made = apply("lambertw_below" if k == -1 else "lambertw", as_float(z))
    return RealPart("scipy.special.lambertw", made)


def softplus(x: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise unknown("scipy.special.softplus", f" with {', '.join(kwargs)}")
    return np.logaddexp(0, as_float(x))


def diric(x: Any, n: Any) -> Any:
    n = np.asarray(given("scipy.special.diric", "n", n))
    x = as_float(x)
    half = 0.5 * x
    turns = np.rint(half / math.pi)
    rest = (half - turns * math.pi) / math.pi
    sign = np.where(n % 2 == 1, 1.0, 1.0 - 2.0 * (turns % 2))
    made = sign * np.sinc(n * rest) / np.sinc(rest)
    return where((n <= 0) | (n != np.floor(n)), math.nan, made)


# ---- spherical Bessel functions


def _spherical(name: str, below: float, above: float) -> Callable[..., Any]:
    """f_n' = (below n f_(n-1) + above (n + 1) f_(n+1)) / (2 n + 1)."""

    def slope(m: Any, n: Any, x: Any, r: Any) -> Any:
        f, degree = getattr(m, name), m.real(n, x)
        less = f(m.maximum(n - 1, 0), x)
        return (below * degree * less + above * (degree + 1.0) * f(n + 1, x)) / (2.0 * degree + 1.0)

    TABLE[name] = one(None, slope)

    def meaning(n: Any, z: Any, derivative: bool = False) -> Any:
        order = given(f"scipy.special.{name}", "n", n)
        if not isinstance(order, (int, np.integer)):
            fix = "call it once for each degree"
            raise TraceError(message(f"scipy.special.{name} of several degrees", user_line(), fix))
        z, less = as_float(z), max(int(order) - 1, 0)
        if not derivative:
            return apply(name, int(order), z)
        parts = below * order * apply(name, less, z), above * (order + 1) * apply(name, int(order) + 1, z)
        return (parts[0] + parts[1]) / (2 * order + 1)

    return meaning


SPECIAL: dict[str, Callable[..., Any]] = {
    "logsumexp": logsumexp, "softmax": softmax, "log_softmax": log_softmax, "multigammaln": multigammaln,
    "factorial": factorial, "comb": comb, "perm": perm, "polygamma": polygamma, "zeta": zeta, "lambertw": lambertw,
    "softplus": softplus, "diric": diric,
    "spherical_jn": _spherical("spherical_jn", 1.0, -1.0), "spherical_yn": _spherical("spherical_yn", 1.0, -1.0),
    "spherical_in": _spherical("spherical_in", 1.0, 1.0), "spherical_kn": _spherical("spherical_kn", -1.0, -1.0),
}  # fmt: skip
recode("scipy.special", SPECIAL)
ANY.update((logsumexp, softmax, log_softmax))
TABLE["hurwitz"] = one(
    lambda m, s, q, r: -m.zeta_logs(s, q, n=1), lambda m, s, q, r: -(s * m.hurwitz(s + 1.0, q))
)  # fmt: skip

__all__ = ["SPECIAL", "apply", "as_float", "constant", "floats", "given"]
