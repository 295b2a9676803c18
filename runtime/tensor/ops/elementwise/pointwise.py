"""More functions element by element: of signs, remainders, exponents, and their kin.

Where PyTorch's derivative differs from that of the formula, at ties and at zero, the formula is written so that the
derived one is PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....compiler.ops.complex.pair import Pair
from ...face.inplace import COPY, in_place
from ...face.required import check_tensors
from ...reverse.nodes import UNKNOWN
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.dtypes import LARGEST
from .arithmetic import Operand, binary, check_alpha, check_divisor, check_no_truths, clamped
from .elementary import cast_to, unary
from .powers import pow_


def is_float(x: Any) -> bool:
    return x.value.type.is_float


def is_bool(x: Any) -> bool:
    return x.value.type.dtype == "bool"


def constant(x: Any, value: float) -> Any:
    """A number in every element of an array like `x`."""
    dtype = x.value.type.dtype
    return x.m.number({"bool": bool, "f32": float, "f64": float}.get(dtype, int)(value), x.value.type)


# ---- one tensor

asinh = unary("asinh", "AsinhBackward0", lambda m, x: m.arcsinh(x))
acosh = unary("acosh", "AcoshBackward0", lambda m, x: m.arccosh(x))
atanh = unary("atanh", "AtanhBackward0", lambda m, x: m.arctanh(x))
deg2rad = unary("deg2rad", "Deg2RadBackward0", lambda m, x: x * (math.pi / 180))
rad2deg = unary("rad2deg", "Rad2DegBackward0", lambda m, x: x * (180 / math.pi))
frac = unary("frac", "FracBackward0", lambda m, x: x - m.trunc(x))
sgn = unary("sgn", "SgnBackward0", lambda m, x: _sgn(m, x), "common")
signbit = unary("signbit", "", lambda m, x: _signbit(m, x), "common")
isposinf = unary("isposinf", "", lambda m, x: m.eq(x, math.inf))
isneginf = unary("isneginf", "", lambda m, x: m.eq(x, -math.inf))
isreal = unary("isreal", "", lambda m, x: m.number(True, x.value.type.with_dtype("bool")), "common")


def _sgn(m: Any, x: Any) -> Any:
    if is_bool(x):
        return x
    return m.select(m.gt(x, constant(x, 0)), 1, m.select(m.lt(x, constant(x, 0)), -1, constant(x, 0)))


def _signbit(m: Any, x: Any) -> Any:
    """Of zero, by the sign of its reciprocal; that of NaN is taken as positive."""
    if is_bool(x):
        return constant(x, 0)
    if not is_float(x):
        return m.lt(x, 0)
    return m.or_(m.lt(x, 0), m.and_(m.eq(x, 0), m.lt(1 / x, 0)))


def positive(input: Tensor) -> Tensor:
    """The tensor itself, which must not hold bools."""
    if input._kind_of().dtype == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _nan_to_num(m: Any, x: Any, nan: float, high: float | None, low: float | None) -> Any:
    if not is_float(x):
        return x
    info = np.finfo(x.value.type.numpy)
    high, low = info.max.item() if high is None else high, info.min.item() if low is None else low
    x = m.select(m.ne(x, x), nan, x)
    return m.select(m.eq(x, math.inf), high, m.select(m.eq(x, -math.inf), low, x))


NAN_TO_NUM = Operation("nan_to_num", "NanToNumBackward0", _nan_to_num)


def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced: by 0, the largest and the smallest number, if not said otherwise."""
    top = LARGEST.get(input._kind_of().dtype)
    if top is not None:
        posinf, neginf = top if posinf is None else posinf, -top if neginf is None else neginf
    return apply(NAN_TO_NUM, (input,), (0.0 if nan is None else nan, posinf, neginf))


def _rounded(m: Any, x: Any, decimals: int) -> Any:
    if not decimals:
        return m.rint(x)
    scale = 10.0 ** abs(decimals)
    return m.rint(x * scale) / scale if decimals > 0 else m.rint(x / scale) * scale


ROUND = unary("round", "RoundBackward0", lambda m, x: m.rint(x) if is_float(x) else x, "common")
ROUND_AT = Operation("round", "RoundBackward1", _rounded)


def round_(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """The nearest whole number, or number of so many decimals; halves go to the even one."""
    if decimals is None or not input._kind_of().is_float:
        return ROUND(input)
    return apply(ROUND_AT, (input,), (decimals,))


def fill(input: Tensor, value: Any) -> Tensor:
    """One number in the shape and dtype of `input`."""
    if isinstance(value, Core) and value._kind_of().shape:
        raise RuntimeError("fill only supports 0-dimension value tensor")
    return apply(FILL_TENSOR if isinstance(value, Core) else FILL, (input, value))


FILL, FILL_TENSOR = (Operation("fill", f"FillBackward{k}", COPY.emit) for k in (0, 1))


# ---- two tensors


def between_tensors(
    name: str, formula: Callable[..., Any], node: str = "", rule: Any = "common"
) -> Callable[[Any, Any], Any]:
    """A function of two tensors, neither of which may be a number."""
    plain = binary(name, formula, node, rule)

    def function(input: Tensor, other: Tensor) -> Tensor:
        check_tensors(name, input=input, other=other)
        return plain(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = plain.__doc__
    return function


def _extreme(wins: str) -> Callable[..., Any]:
    """The one that wins, or the one that is no NaN; the first has the gradient where they tie."""

    def formula(m: Any, x: Any, y: Any) -> Any:
        if is_bool(x):
            return (m.or_ if wins == "ge" else m.and_)(x, y)
        better = getattr(m, wins)(x, y)
        return m.select(m.or_(better, m.ne(y, y)) if is_float(x) else better, x, y)

    return formula


fmax = between_tensors("fmax", _extreme("ge"), "FmaxBackward0")
fmin = between_tensors("fmin", _extreme("le"), "FminBackward0")


def _either(name: str) -> Callable[..., Any]:
    def formula(m: Any, x: Any, y: Any) -> Any:
        if is_bool(x):
            return (m.or_ if name == "maximum" else m.and_)(x, y)
        return getattr(m, name)(x, y)

    return formula


def _logical(name: str) -> Callable[..., Any]:
    def formula(m: Any, x: Any, y: Any) -> Any:
        x, y = (m.ne(v, x.m.number(False, v.value.type) if is_bool(v) else 0) for v in (x, y))
        return getattr(m, name)(x, y)

    return formula


logical_and = between_tensors("logical_and", _logical("and_"))
logical_or = between_tensors("logical_or", _logical("or_"))
logical_xor = between_tensors("logical_xor", _logical("xor"))
atan2 = between_tensors("atan2", lambda m, y, x: m.arctan2(y, x), "Atan2Backward0", "float")
maximum = between_tensors("maximum", _either("maximum"), "MaximumBackward0")
minimum = between_tensors("minimum", _either("minimum"), "MinimumBackward0")


def _fmod(m: Any, x: Any, y: Any) -> Any:
    """x - trunc(x / y) y, with the sign of x."""
    by = m.abs(y)
    return m.select(m.lt(x, 0), -m.mod(-x, by), m.mod(x, by))


def fmod(input: Operand, other: Operand) -> Any:
    """The remainder that has the sign of `input`, as C's."""
    check_tensors("fmod", input=input)
    if not input._kind_of().is_float:
        check_divisor(other)
    return apply(FMOD_TENSOR if isinstance(other, Core) else FMOD, (input, other))


FMOD, FMOD_TENSOR = (Operation("fmod", f"FmodBackward{k}", _fmod, "common", True) for k in (0, 1))


def _heaviside(m: Any, x: Any, y: Any) -> Any:
    zero = constant(x, 0)
    if is_bool(x):
        return m.or_(x, m.and_(m.not_(x), y))
    one = m.select(m.lt(x, zero), 0, m.select(m.gt(x, zero), 1, y))
    return m.select(m.ne(x, x), zero, one) if is_float(x) else one


HEAVISIDE = Operation("heaviside", UNKNOWN, _heaviside, "common", True)


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero, 1 above, and `values` at zero."""
    check_tensors("heaviside", input=input, values=values)
    a, b = input._kind_of().dtype, values._kind_of().dtype
    if a != b:
        raise RuntimeError(f"heaviside is not yet implemented for tensors with different dtypes: {a} and {b}")
    return apply(HEAVISIDE, (input, values))


def _copysign(m: Any, x: Any, y: Any) -> Any:
    """The gradient is 0 where x is."""
    size = m.select(m.eq(x, 0), 0, m.select(m.lt(x, 0), -x, x))
    return m.select(_signbit(m, y), -size, size)


COPYSIGN, COPYSIGN_NUMBER = (
    Operation("copysign", f"CopysignBackward{k}", _copysign, "float", True) for k in (0, 1)
)


def copysign(input: Tensor, other: Operand) -> Tensor:
    """The size of `input` with the sign of `other`."""
    check_tensors("copysign", input=input)
    return apply(COPYSIGN if isinstance(other, Core) else COPYSIGN_NUMBER, (input, other))


hypot = between_tensors("hypot", lambda m, x, y: m.hypot(x, y), "HypotBackward0", "float")


def _logaddexp(exp: str, log1p: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """max + log(1 + exp(-|x - y|)); the same infinity twice is that infinity."""

    def formula(m: Any, x: Any, y: Any) -> Any:
        same = m.and_(m.eq(x, y), m.eq(m.abs(x), math.inf))
        a, b = (m.select(same, 0, v) for v in (x, y))
        first = m.ge(a.re, b.re) if isinstance(a, Pair) else m.ge(a, b)
        big, small = m.select(first, a, b), m.select(first, b, a)
        return m.select(same, x, big + log1p(m, getattr(m, exp)(small - big)))

    return formula


logaddexp = between_tensors(
    "logaddexp", _logaddexp("exp", lambda m, e: m.log1p(e)), "LogaddexpBackward0", "float"
)
logaddexp2 = between_tensors(
    "logaddexp2", _logaddexp("exp2", lambda m, e: m.log1p(e) * (1 / math.log(2))), "Logaddexp2Backward0", "float"
)


def float_power(input: Operand, exponent: Operand) -> Any:
    """input ** exponent in float64."""
    check_tensors("float_power", input=input if isinstance(input, Core) else exponent)
    kinds = [v._kind_of().is_complex if isinstance(v, Core) else isinstance(v, complex) for v in (input, exponent)]
    code, number = ("c128", complex) if any(kinds) else ("f64", float)
    base, power = (_as_dtype(v, code) if isinstance(v, Core) else number(v) for v in (input, exponent))
    return pow_(base, power)


def _as_dtype(x: Any, code: str) -> Any:
    """The tensor itself where it has the dtype."""
    return x if x._kind_of().dtype == code else cast_to(x, code)


def float_power_(input: Tensor, exponent: Operand) -> Tensor:
    """`float_power`, written into a float64 tensor."""
    if input._kind_of().dtype not in ("f64", "c128"):
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype} but the operation's result requires float64"
        )
    return in_place(float_power)(input, exponent)


def ldexp(input: Tensor, other: Operand) -> Tensor:
    """input * 2 ** other."""
    check_tensors("ldexp", input=input, other=other)
    return apply(LDEXP, (input, other))


LDEXP = Operation("ldexp", "LdexpBackward0", lambda m, x, y: x * m.exp2(y), "float", True)


def rsub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """other - alpha * input."""
    check_tensors("rsub", input=input)
    check_no_truths(input, other)
    check_alpha(input, other, alpha)
    operation = RSUB if isinstance(other, Core) else RSUB_NUMBER
    return apply(operation, (input, other, alpha))


RSUB, RSUB_NUMBER = (
    Operation("rsub", f"RsubBackward{k}", lambda m, x, y, a: y - a * x, "common", True) for k in (0, 1)
)


def _bounded(name: str) -> Callable[..., Any]:
    """clamp_min or clamp_max: where the bound is met, the gradient passes."""
    node = name.title().replace("_", "")
    bound = name.removeprefix("clamp_")

    def formula(m: Any, x: Any, y: Any) -> Any:
        return clamped(m, x, y, None) if bound == "min" else clamped(m, x, None, y)

    number, tensor = (Operation(name, f"{node}Backward{k}", formula, "common", True) for k in (0, 1))

    def function(input: Tensor, *args: Any, **options: Any) -> Tensor:
        """The elements, moved to the bound where they lie beyond it."""
        check_tensors(name, input=input)
        (limit,) = args or (options[bound],)
        return apply(tensor if isinstance(limit, Core) else number, (input, limit))

    function.__name__ = function.__qualname__ = name
    return function


clamp_min, clamp_max = _bounded("clamp_min"), _bounded("clamp_max")
