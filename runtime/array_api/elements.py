"""Functions element by element, by the standard's names and signatures: one row each."""

from __future__ import annotations

from typing import Any

from ..tensor.face import complex_functions as C
from ..tensor.face import functions as T
from ..tensor.value.core import Core

ONE = {
    "abs": T.abs, "acos": T.acos, "acosh": T.acosh, "asin": T.asin, "asinh": T.asinh, "atan": T.atan, "atanh": T.atanh,
    "bitwise_invert": T.bitwise_not, "conj": C.conj, "cos": T.cos, "cosh": T.cosh, "exp": T.exp, "expm1": T.expm1,
    "imag": C.imag, "isfinite": T.isfinite, "isinf": T.isinf, "isnan": T.isnan, "log": T.log, "log1p": T.log1p,
    "log2": T.log2, "log10": T.log10, "logical_not": T.logical_not, "negative": T.neg, "positive": T.positive,
    "real": C.real, "reciprocal": T.reciprocal, "sign": T.sgn, "signbit": T.signbit, "sin": T.sin, "sinh": T.sinh,
    "sqrt": T.sqrt, "square": T.square, "tan": T.tan, "tanh": T.tanh,
}  # fmt: skip
"""Of one tensor."""

WHOLE = {"ceil": T.ceil, "floor": T.floor, "round": T.round, "trunc": T.trunc}
"""Of one tensor; whole numbers stay as they are."""

TWO = {
    "add": T.add, "atan2": T.atan2, "bitwise_and": T.bitwise_and, "bitwise_left_shift": T.bitwise_left_shift,
    "bitwise_or": T.bitwise_or, "bitwise_right_shift": T.bitwise_right_shift, "bitwise_xor": T.bitwise_xor,
    "copysign": T.copysign, "divide": T.div, "equal": T.eq, "floor_divide": T.floor_divide, "greater": T.gt,
    "greater_equal": T.ge, "hypot": T.hypot, "less": T.lt, "less_equal": T.le, "logaddexp": T.logaddexp,
    "logical_and": T.logical_and, "logical_or": T.logical_or, "logical_xor": T.logical_xor, "maximum": T.maximum,
    "minimum": T.minimum, "multiply": T.mul, "nextafter": T.nextafter, "not_equal": T.ne, "pow": T.pow,
    "remainder": T.remainder, "subtract": T.sub,
}  # fmt: skip
"""Of two tensors, or a tensor and a number."""


def _of_one(name: str, function: Any) -> Any:
    def call(x: Any, /) -> Any:
        return function(x)

    return _named(call, name, function)


def _of_whole(name: str, function: Any) -> Any:
    def call(x: Any, /) -> Any:
        return function(x) if x.dtype.is_floating_point else x

    return _named(call, name, function)


def _of_two(name: str, function: Any) -> Any:
    def call(x1: Any, x2: Any, /) -> Any:
        return function(*_tensors(x1, x2))

    return _named(call, name, function)


def _tensors(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both as tensors: a number has the dtype of the tensor beside it, if it can."""
    if isinstance(x1, Core) and isinstance(x2, Core):
        return x1, x2
    tensor, number = (x1, x2) if isinstance(x1, Core) else (x2, x1)
    if not isinstance(tensor, Core):
        raise TypeError(f"one of two arguments must be a tensor, got {type(x1).__name__} and {type(x2).__name__}")
    made = T.full((), number, dtype=T.result_type(T.empty((1,), dtype=tensor.dtype), number))
    return (tensor, made) if tensor is x1 else (made, tensor)


def _named(call: Any, name: str, function: Any) -> Any:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """x, but at least `min` and at most `max`, in the dtype of x."""
    made = x
    for bound, function in ((min, T.maximum), (max, T.minimum)):
        if bound is not None:
            made = function(made, T.as_tensor(bound, dtype=x.dtype))
    return made


_named_here: dict[str, Any] = {
    **{name: _of_one(name, function) for name, function in ONE.items()},
    **{name: _of_whole(name, function) for name, function in WHOLE.items()},
    **{name: _of_two(name, function) for name, function in TWO.items()},
}
globals().update(_named_here)

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = 2.718281828459045, 3.141592653589793, float("inf"), float("nan"), None

__all__ = ["__array_api_version__", "clip", "e", "inf", "nan", "newaxis", "pi"]
__all__ += list(_named_here)
