"""What formulas are read over: SymPy's symbols, mpmath's numbers, NumPy's floats.

A formula of `ops.elementwise` or `ops.scipy.special` is a function of an algebra `m`.  Over `Symbols` it is a SymPy
expression, which can be differentiated; over `Numbers` its value to as many digits as mpmath is told to keep; over
`Floats` what NumPy makes of it.  In the first two nothing is written out that only floats need, against overflow and
cancellation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.primitive import REGISTRY

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
NAMES_IN_SYMPY = {"eq": "Eq", "ne": "Ne", "lt": "Lt", "le": "Le", "gt": "Gt", "ge": "Ge"}
NAMES_IN_SYMPY |= {"and_": "And", "or_": "Or", "xor": "Xor", "not_": "Not"}
NAMES_IN_SYMPY |= {"abs": "Abs", "ceil": "ceiling", "maximum": "Max", "minimum": "Min"}

#: what SymPy and mpmath call the inverse functions
INVERSES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}
INVERSES |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}


class Algebra:
    """What neither SymPy nor mpmath names, by what they do."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise NotImplementedError(name)

    def sech2(self, x: Any) -> Any:
        return 1 / self.cosh(x) ** 2

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + self.exp(-x))

    def strong_mul(self, x: Any, y: Any) -> Any:
        return x * y

    def arcsin_slope(self, x: Any) -> Any:
        return 1 / self.sqrt((1 - x) * (1 + x))

    def arccosh_slope(self, x: Any) -> Any:
        return 1 / self.sqrt((x - 1) * (x + 1))

    def arctanh_slope(self, x: Any) -> Any:
        return 1 / ((1 - x) * (1 + x))

    def hypot(self, x: Any, y: Any) -> Any:
        return self.sqrt(x * x + y * y)

    def hypot_slope(self, x: Any, y: Any) -> Any:
        return x / self.hypot(x, y)

    def xlogy(self, x: Any, y: Any) -> Any:
        return self.select(self.eq(x, 0), 0, x * self.log(y))

    def xlog1py(self, x: Any, y: Any) -> Any:
        return self.select(self.eq(x, 0), 0, x * self.log1p(y))

    def fmod(self, x: Any, y: Any) -> Any:
        return x - self.trunc(x / y) * y

    def softplus(self, x: Any) -> Any:
        return self.log1p(self.exp(x))

    def gauss(self, x: Any) -> Any:
        return self.exp(-x * x)

    def exp2(self, x: Any) -> Any:
        return 2**x

    def log2(self, x: Any) -> Any:
        return self.log(x) / self.log(2)

    def log10(self, x: Any) -> Any:
        return self.log(x) / self.log(10)

    def pow(self, x: Any, y: Any) -> Any:
        return x**y

    def floordiv(self, x: Any, y: Any) -> Any:
        return self.floor(x / y)

    def mod(self, x: Any, y: Any) -> Any:
        return x - self.floor(x / y) * y

    def trunc(self, x: Any) -> Any:
        return self.select(self.lt(x, 0), self.ceil(x), self.floor(x))

    def rint(self, x: Any) -> Any:
        """Halves go to the even neighbour."""
        near = self.floor(x + self.half)
        odd = self.and_(self.eq(near - x, self.half), self.ne(self.mod(near, 2), 0))
        return self.select(odd, near - 1, near)

    def maximum(self, x: Any, y: Any) -> Any:
        return self.select(self.ge(x, y), x, y)

    def minimum(self, x: Any, y: Any) -> Any:
        return self.select(self.le(x, y), x, y)


class Symbols(Algebra):
    """SymPy's expressions."""

    def __init__(self) -> None:
        import sympy

        self.sympy, self.half = sympy, sympy.Rational(1, 2)
        for name, theirs in NAMES_IN_SYMPY.items():
            setattr(self, name, getattr(sympy, theirs))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self.sympy, INVERSES.get(name, name))

    def cbrt(self, x: Any) -> Any:
        """The real root, of negative numbers too."""
        return self.sympy.sign(x) * self.sympy.cbrt(self.sympy.Abs(x))

    def log1p(self, x: Any) -> Any:
        return self.sympy.log(1 + x)

    def expm1(self, x: Any) -> Any:
        return self.sympy.exp(x) - 1

    def lgamma(self, x: Any) -> Any:
        return self.sympy.loggamma(x)

    def polygamma(self, x: Any, n: int) -> Any:
        return self.sympy.polygamma(n, x)

    def sinc(self, x: Any, n: int) -> Any:
        return self._derivative(self.sympy.sinc, x, n)

    def entr(self, x: Any) -> Any:
        s = self.sympy
        return s.Piecewise((-x * s.log(x), x > 0), (0, s.Eq(x, 0)), (-s.oo, True))

    def erfcx(self, x: Any) -> Any:
        return self.sympy.exp(x**2) * self.sympy.erfc(x)

    def _derivative(self, function: Callable[[Any], Any], x: Any, n: int) -> Any:
        t = self.sympy.Dummy()
        return function(t).diff(t, n).subs(t, x)

    def erfcx_derivative(self, x: Any, n: int) -> Any:
        return self._derivative(self.erfcx, x, n)

    def dawson(self, x: Any, n: int) -> Any:
        s = self.sympy
        return self._derivative(lambda t: s.sqrt(s.pi) / 2 * s.exp(-(t**2)) * s.erfi(t), x, n)

    def i0e_derivative(self, x: Any, n: int) -> Any:
        s = self.sympy
        return s.sign(x) ** n * self._derivative(lambda t: s.exp(-t) * s.besseli(0, t), s.Abs(x), n)

    def i1e_derivative(self, x: Any, n: int) -> Any:
        s = self.sympy
        return s.sign(x) ** (n + 1) * self._derivative(lambda t: s.exp(-t) * s.besseli(1, t), s.Abs(x), n)

    def k0e_derivative(self, x: Any, n: int) -> Any:
        return self._derivative(self.scaled_modified_bessel_k0, x, n)

    def ndtri(self, p: Any) -> Any:
        return -self.sympy.sqrt(2) * self.sympy.erfcinv(2 * p)

    def log_ndtr(self, x: Any) -> Any:
        return self.sympy.log(self.sympy.erfc(-x / self.sympy.sqrt(2)) / 2)

    def i0(self, x: Any) -> Any:
        return self.sympy.besseli(0, x)

    def i1(self, x: Any) -> Any:
        return self.sympy.besseli(1, x)

    def i0e(self, x: Any) -> Any:
        return self.sympy.exp(-self.sympy.Abs(x)) * self.sympy.besseli(0, x)

    def i1e(self, x: Any) -> Any:
        return self.sympy.exp(-self.sympy.Abs(x)) * self.sympy.besseli(1, x)

    def bessel_j0(self, x: Any) -> Any:
        return self.sympy.besselj(0, x)

    def bessel_j1(self, x: Any) -> Any:
        return self.sympy.besselj(1, x)

    def bessel_y0(self, x: Any) -> Any:
        return self.sympy.bessely(0, x)

    def bessel_y1(self, x: Any) -> Any:
        return self.sympy.bessely(1, x)

    def modified_bessel_k0(self, x: Any) -> Any:
        return self.sympy.besselk(0, x)

    def modified_bessel_k1(self, x: Any) -> Any:
        return self.sympy.besselk(1, x)

    def scaled_modified_bessel_k0(self, x: Any) -> Any:
        return self.sympy.exp(x) * self.sympy.besselk(0, x)

    def scaled_modified_bessel_k1(self, x: Any) -> Any:
        return self.sympy.exp(x) * self.sympy.besselk(1, x)

    def select(self, p: Any, a: Any, b: Any) -> Any:
        return self.sympy.Piecewise((a, p), (b, True))

    def knows(self, name: str) -> bool:
        """Whether there is an expression for the primitive of that name."""
        return hasattr(type(self), name) or hasattr(self.sympy, INVERSES.get(name, name))


class Numbers(Algebra):
    """The numbers of an mpmath context, as exact as its precision; truths are Python's."""

    and_, or_ = staticmethod(lambda p, q: p and q), staticmethod(lambda p, q: p or q)
    xor, not_ = staticmethod(operator.ne), staticmethod(operator.not_)
    abs = staticmethod(abs)

    def __init__(self, mp: Any) -> None:
        self.mp, self.half = mp, mp.mpf(0.5)
        for name in COMPARISONS:
            setattr(self, name, getattr(operator, name))

    def copysign(self, x: Any, y: Any) -> Any:
        return -abs(x) if y < 0 else abs(x)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self.mp, INVERSES.get(name, name))

    def cbrt(self, x: Any) -> Any:
        return self.mp.sign(x) * self.mp.cbrt(abs(x))

    def select(self, p: Any, a: Any, b: Any) -> Any:
        return a if p else b

    def number(self, e: Any) -> Any:
        """A SymPy number."""
        return e._to_mpmath(self.mp.prec)


class Floats:
    """NumPy's f64 arrays, through the primitives' own NumPy meanings."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        prim = REGISTRY[name]
        return np.where if name == "select" else getattr(prim, "numpy")  # noqa: B009 - of Elementwise

    @staticmethod
    def number(e: Any) -> float:
        """A SymPy number."""
        return float(e)


__all__ = ["Algebra", "Floats", "Numbers", "Symbols"]
