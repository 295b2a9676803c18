"""Functions of one tensor, element by element: exp, tanh, relu and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....compiler.ops.complex.pair import Pair
from .....compiler.ops.elementwise import cast
from ...face.required import check_tensors
from ...trace.fragments.fragments import INPUT, Operation, Rule
from ...value.core import Core, Tensor, apply
from ...value.formats import channels_last, ordered, preserve_format

Function = Callable[["Tensor"], "Tensor"]


def unary(
    name: str,
    node: str,
    formula: Callable[..., Any],
    rule: Rule = "float",
    loose: int | None = None,
    slope: Callable[..., Any] | None = None,
    back: Callable[..., Any] | None = None,
) -> Function:
    """The function of one tensor that computes `formula(terms, x)` in each element.

    loose   INPUT or RESULT, if the pullback reads it and PyTorch's does not
    slope   (terms, x, result) -> what the cotangent is multiplied by, if the derived pullback is not PyTorch's
    back    (terms, result, cotangent) -> x's cotangent, where that is from the result
    """
    pull = slope and (lambda m, xs, rs, cts: [cts[0] * slope(m, xs[0], rs[0])])
    pull = (lambda m, xs, rs, cts: [back(m, rs[0], cts[0])]) if back else pull
    operation = Operation(name, node, formula, rule, loose=() if loose is None else ((loose, 0),), pull=pull)

    def function(input: Tensor) -> Tensor:
        if not isinstance(input, Core):
            check_tensors(name, input=input)
        return apply(operation, (input,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element."
    return function


exp = unary("exp", "ExpBackward0", lambda m, x: m.exp(x))
exp2 = unary("exp2", "Exp2Backward0", lambda m, x: m.exp2(x))
expm1 = unary("expm1", "Expm1Backward0", lambda m, x: m.expm1(x), loose=INPUT)
log = unary("log", "LogBackward0", lambda m, x: m.log(x))
log2 = unary("log2", "Log2Backward0", lambda m, x: m.log2(x))
log10 = unary("log10", "Log10Backward0", lambda m, x: m.log10(x))
log1p = unary("log1p", "Log1PBackward0", lambda m, x: m.log1p(x))
sqrt = unary("sqrt", "SqrtBackward0", lambda m, x: m.sqrt(x))
rsqrt = unary("rsqrt", "RsqrtBackward0", lambda m, x: 1 / m.sqrt(x), loose=INPUT)
reciprocal = unary("reciprocal", "ReciprocalBackward0", lambda m, x: 1 / x, loose=INPUT)


def _square(m: Any, x: Any) -> Any:
    x = m(cast(m.b, x.value, dtype="i64")) if x.value.type.dtype == "bool" else x
    return x * x


square = unary("square", "PowBackward0", _square, "common")
sin = unary("sin", "SinBackward0", lambda m, x: m.sin(x))
cos = unary("cos", "CosBackward0", lambda m, x: m.cos(x))
tan = unary("tan", "TanBackward0", lambda m, x: m.tan(x))
asin = unary("asin", "AsinBackward0", lambda m, x: m.arcsin(x))
acos = unary("acos", "AcosBackward0", lambda m, x: m.arccos(x))
atan = unary("atan", "AtanBackward0", lambda m, x: m.arctan(x))
sinh = unary("sinh", "SinhBackward0", lambda m, x: m.sinh(x))
cosh = unary("cosh", "CoshBackward0", lambda m, x: m.cosh(x))
tanh = unary("tanh", "TanhBackward0", lambda m, x: m.tanh(x), loose=INPUT)
sigmoid = unary("sigmoid", "SigmoidBackward0", lambda m, x: m.sigmoid(x), loose=INPUT)
erf = unary("erf", "ErfBackward0", lambda m, x: m.erf(x))
softplus = unary("softplus", "SoftplusBackward0", lambda m, x: m.softplus(x))
logsigmoid = unary("logsigmoid", "LogSigmoidBackward0", lambda m, x: -m.softplus(-x))
silu = unary("silu", "SiluBackward0", lambda m, x: x * m.sigmoid(x))
gelu = unary(
    "gelu", "GeluBackward0", lambda m, x: 0.5 * x * (1 + m.erf(x * (1 / math.sqrt(2))))
)
abs_ = unary("abs", "AbsBackward0", lambda m, x: m.abs(x), "common", slope=lambda m, x, r: _sign(m, x))
floor = unary("floor", "FloorBackward0", lambda m, x: _rounded(m, "floor", x), "common")
ceil = unary("ceil", "CeilBackward0", lambda m, x: _rounded(m, "ceil", x), "common")
round_ = unary("round", "RoundBackward0", lambda m, x: _rounded(m, "rint", x), "common")
trunc = unary("trunc", "TruncBackward0", lambda m, x: _rounded(m, "trunc", x), "common")


def _rounded(m: Any, name: str, x: Any) -> Any:
    return getattr(m, name)(x) if x.value.type.is_float else x


def _sign(m: Any, x: Any) -> Any:
    """0 for NaN, as PyTorch has it."""
    if x.value.type.dtype == "bool":
        return x
    return m.select(m.gt(x, 0), 1, m.select(m.lt(x, 0), -1, m.zeros(x.value.type)))


def size_of_each(m: Any, x: Any) -> Any:
    """|x|, whose slope is 0 where x is 0 or NaN, as PyTorch has it."""
    if isinstance(x, Pair) or not x.value.type.is_float:
        return m.abs(x)
    rest = m.stop_gradient(m.abs(x))
    return m.select(m.gt(x, 0), x, m.select(m.lt(x, 0), -x, rest))


def _relu(m: Any, x: Any) -> Any:
    """0 where x <= 0, so that NaN stays NaN and the slope at 0 is 0."""
    return m.select(m.le(x, 0), 0, x)


def _neg(m: Any, x: Any) -> Any:
    if x.value.type.dtype == "bool":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert"
            " a mask, use the `~` or `logical_not()` operator instead."
        )
    return -x


def _not(m: Any, x: Any) -> Any:
    if x.value.type.is_float:
        raise TypeError(f"~ (bitwise_not) takes bools and integers, got {x.value.type}")
    return m.not_(x)


sign = unary("sign", "SignBackward0", _sign, "common")
relu = unary("relu", "ReluBackward0", _relu, "common", back=lambda m, r, ct: m.select(m.le(r, 0), 0, ct))
neg = unary("neg", "NegBackward0", _neg, "common")
bitwise_not = unary("bitwise_not", "", _not, "common")
logical_not = unary("logical_not", "", lambda m, x: m.eq(x, _nothing(x)), "common")
isnan = unary("isnan", "", lambda m, x: m.ne(x, x), "common")
isinf = unary("isinf", "", lambda m, x: m.eq(m.abs(x), math.inf))
isfinite = unary("isfinite", "", lambda m, x: m.lt(m.abs(x), math.inf))


def _nothing(x: Any) -> Any:
    return x.m.number(False, x.value.type) if x.value.type.dtype == "bool" else 0


CLONE = Operation("clone", "CloneBackward0", lambda m, x: x, "common")
IN_ROWS = Operation("clone", "CloneBackward0", lambda m, x: x, "common", lies="rows")


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that lies as the original does, or in a format."""
    if not isinstance(input, Core):
        check_tensors("clone", input=input)
    if memory_format is channels_last:
        return ordered(input, memory_format, copy=True)
    return apply(CLONE if memory_format in (None, preserve_format) else IN_ROWS, (input,))


def _cast(m: Any, x: Any, dtype: str) -> Any:
    return m(cast(m.b, x.value, dtype=dtype))


CAST = Operation("to", "ToCopyBackward0", _cast)


def cast_to(input: Any, dtype: str) -> Any:
    """The tensor with another element kind (a graph's name for it)."""
    return apply(CAST, (input,), (dtype,))
