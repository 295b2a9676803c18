"""The complex step: a module of the corpus once more, for complex numbers whose imaginary part is a derivative.

    f(x + 1e-30j).imag / 1e-30       is the derivative of f at x, to the last digit or so

Code as people write it compares, takes absolute values and calls `math.exp`. So the module is loaded a second time
with other names for `math`, `np`, `abs` and the like, which look at real parts where one must and hand the imaginary
part on; Python floats come as `Number`, a complex number that can be compared.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

STEP = 1e-30

SLOPES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.exp,
    "log": lambda x: 1 / x,
    "log1p": lambda x: 1 / (1 + x),
    "log2": lambda x: 1 / (x * math.log(2)),
    "log10": lambda x: 1 / (x * math.log(10)),
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "sin": np.cos,
    "cos": lambda x: -np.sin(x),
    "tan": lambda x: 1 / np.cos(x) ** 2,
    "sinh": np.cosh,
    "cosh": np.sinh,
    "tanh": lambda x: 1 / np.cosh(x) ** 2,
    "asin": lambda x: 1 / np.sqrt(1 - x * x),
    "acos": lambda x: -1 / np.sqrt(1 - x * x),
    "atan": lambda x: 1 / (1 + x * x),
    "asinh": lambda x: 1 / np.sqrt(1 + x * x),
    "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "fabs": np.sign,
    "floor": lambda x: 0.0 * x,
    "ceil": lambda x: 0.0 * x,
    "trunc": lambda x: 0.0 * x,
}
"""The derivatives of functions that `math` and NumPy have, by the name in `math`."""

IN_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "fabs": "abs"}


class Number(complex):
    """A float with a derivative: arithmetic is complex, questions are asked of the real part."""

    def __lt__(self, other: Any) -> bool:
        return self.real < real(other)

    def __le__(self, other: Any) -> bool:
        return self.real <= real(other)

    def __gt__(self, other: Any) -> bool:
        return self.real > real(other)

    def __ge__(self, other: Any) -> bool:
        return self.real >= real(other)

    def __eq__(self, other: object) -> bool:
        return self.real == real(other)

    def __hash__(self) -> int:
        return hash(self.real)

    def __bool__(self) -> bool:
        return self.real != 0

    def __neg__(self) -> Number:
        return Number(-self.real, -self.imag)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Any:
        return -self if self.real < 0 else self

    def __floordiv__(self, other: Any) -> Any:
        return self.real // real(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return real(other) // self.real

    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other)

    def __int__(self) -> int:
        return int(self.real)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.real, digits)


def _arithmetic(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(complex, name)

    def method(self: Any, other: Any) -> Any:
        made = plain(self, other)
        return made if made is NotImplemented else Number(made)

    return method


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow"):
    setattr(Number, f"__{_name}__", _arithmetic(f"__{_name}__"))


def real(x: Any) -> Any:
    return x.real if isinstance(x, complex | np.ndarray) else x


def imaginary(x: Any) -> Any:
    return x.imag if isinstance(x, complex | np.ndarray) else 0.0


def extended(plain: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of reals, which hands derivatives on by its slope; the base of a logarithm may follow."""

    def function(x: Any, *more: Any) -> Any:
        if more:
            return function(x) / function(more[0])
        if isinstance(x, complex):
            return Number(plain(x.real), float(x.imag * slope(x.real)) if x.imag else 0.0)
        if isinstance(x, np.ndarray) and x.dtype.kind == "c":
            return plain(x.real) + 1j * (x.imag * slope(x.real))
        return plain(x)

    return function


def two(plain: Callable[..., Any], slopes: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Any, Any], Any]:
    """The same for a function of two."""

    def function(x: Any, y: Any) -> Any:
        along, across = slopes(real(x), real(y))
        made = plain(real(x), real(y)) + 1j * (imaginary(x) * along + imaginary(y) * across)
        return made if isinstance(made, np.ndarray) else Number(made)

    return function


def _hypot(x: Any, y: Any) -> tuple[Any, Any]:
    return x / np.hypot(x, y), y / np.hypot(x, y)


def _angle(y: Any, x: Any) -> tuple[Any, Any]:
    return x / (x * x + y * y), -y / (x * x + y * y)


def _log_add(x: Any, y: Any) -> tuple[Any, Any]:
    top = np.logaddexp(x, y)
    return np.exp(x - top), np.exp(y - top)


def _either(x: Any, y: Any, first: Any) -> Any:
    return np.where(first, x, y) if np.ndim(x) or np.ndim(y) else (x if first else y)


def _complexes(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes arrays: complex ones wherever it would make floats."""

    @functools.wraps(make)
    def function(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        return made.astype(complex) if made.dtype.kind == "f" else made

    return function


class Other:
    """A module with other values for some of its names."""

    def __init__(self, module: Any, **names: Any) -> None:
        self.__dict__.update(names, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _norm(x: Any) -> Any:
    return NUMPY.sqrt(np.sum(x * x))


MATH = Other(
    math,
    **{name: extended(getattr(math, name), slope) for name, slope in SLOPES.items()},
    hypot=two(math.hypot, _hypot),
    atan2=two(math.atan2, _angle),
    pow=lambda x, y: x**y,
    isnan=lambda x: math.isnan(real(x)),
    isfinite=lambda x: math.isfinite(real(x)),
    isclose=lambda x, y, **how: math.isclose(real(x), real(y), **how),
    fsum=sum,
)

_MAKERS = ("zeros", "ones", "empty", "full", "eye", "identity", "array", "asarray", "linspace", "zeros_like", "diag")

NUMPY = Other(
    np,
    **{
        IN_NUMPY.get(name, name): extended(getattr(np, IN_NUMPY.get(name, name)), slope)
        for name, slope in SLOPES.items()
        if hasattr(np, IN_NUMPY.get(name, name))
    },
    **{name: _complexes(getattr(np, name)) for name in _MAKERS},
    hypot=two(np.hypot, _hypot),
    arctan2=two(np.arctan2, _angle),
    logaddexp=two(np.logaddexp, _log_add),
    maximum=lambda x, y: _either(x, y, real(x) >= real(y)),
    minimum=lambda x, y: _either(x, y, real(x) <= real(y)),
    clip=lambda x, low, high: NUMPY.minimum(NUMPY.maximum(x, low), high),
    sign=lambda x: np.sign(real(x)),
    float64=lambda x: x,
    linalg=Other(np.linalg, norm=_norm),
)
NUMPY.__dict__["absolute"] = NUMPY.__dict__["abs"]


def _abs(x: Any) -> Any:
    return NUMPY.abs(x) if isinstance(x, complex | np.ndarray) else builtins.abs(x)


def complexified(module: ModuleType) -> ModuleType:
    """The module once more, for complex numbers."""
    assert module.__file__ is not None
    spec = importlib.util.spec_from_file_location(f"{module.__name__}_complexified", module.__file__)
    assert spec is not None and spec.loader is not None
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    names = {"math": MATH, "np": NUMPY, "abs": _abs, "float": lambda x: x, "int": lambda x: int(real(x))}
    vars(twin).update(names)
    return twin
