"""Functions of two and three tensors or numbers, element by element, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....compiler.ops.elementwise import cast
from ...calls.asking import check_values
from ...face.required import check_one_tensor, check_tensors, older_order
from ...reverse.nodes import UNKNOWN
from ...trace.fragments.fragments import RESULT, Operation, Rule, widen
from ...value.core import Core, Tensor, apply, number_of
from ...value.promotion import common_dtype, common_shape
from ...value.prompt import of_parts
from .elementary import reciprocal

Operand = Any
"""A Tensor or a Python number."""


def _add(m: Any, x: Any, y: Any) -> Any:
    return m.or_(x, y) if _is_bool(x) else x + y


def _sub(m: Any, x: Any, y: Any) -> Any:
    return x - y


def _mul(m: Any, x: Any, y: Any) -> Any:
    return m.and_(x, y) if _is_bool(x) else x * y


def _is_bool(x: Any) -> bool:
    return x.value.type.dtype == "bool"


def _is_float(x: Any) -> bool:
    return x.value.type.is_float


ADD = Operation("add", "AddBackward0", _add, "common", True, True)
SUB = Operation("sub", "SubBackward0", _sub, "common", True, True)
MUL = Operation("mul", "MulBackward0", _mul, "common", True, True)
DIV = Operation("div", "DivBackward0", lambda m, x, y: x / y, "float", True, True, loose=((RESULT, 0),))
RSUB, RSUB_TENSOR = (
    Operation("rsub", f"RsubBackward{k}", lambda m, x, y: _sub(m, y, x), "common", True) for k in (1, 0)
)
SCALED = Operation("add", "AddBackward0", lambda m, x, y, a: x + a * y, "common", True)

SCALED_SUB = Operation("sub", "SubBackward0", lambda m, x, y, a: x - a * y, "common", True)


def add(input: Operand, other: Operand, *older: Any, alpha: float = 1) -> Any:
    """input + alpha * other."""
    if older:
        return older_order(add, 2, ("alpha",), input, other, *older)
    if alpha != 1 or alpha is True:
        check_alpha(input, other, alpha)
        if _of_truths(input) and _of_truths(other):
            return apply(ADD, (input, other if alpha else False))
        if alpha != 1:
            return apply(SCALED, (input, other, alpha))
    return apply(ADD, (input, other))


def sub(input: Operand, other: Operand, *older: Any, alpha: float = 1) -> Any:
    """input - alpha * other."""
    if older:
        return older_order(sub, 2, ("alpha",), input, other, *older)
    check_no_truths(input, other)
    if alpha != 1 or alpha is True:
        check_alpha(input, other, alpha)
        if alpha != 1:
            return apply(SCALED_SUB, (input, other, alpha))
    return apply(SUB, (input, other))


def _of_truths(x: Any) -> bool:
    return x._kind_of().dtype == "bool" if isinstance(x, Core) else isinstance(x, bool)


def check_no_truths(x: Any, y: Any) -> None:
    """Raise PyTorch's error of a difference with a mask."""
    found = _of_truths(x), _of_truths(y)
    if all(found):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or"
            " `logical_xor()` operator instead."
        )
    if any(found):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported: turn a mask round by `~` or"
            " `logical_not()`, or take .int() or .float() of it"
        )


def check_alpha(x: Any, y: Any, alpha: Any) -> None:
    """Raise PyTorch's error of a factor that the result's dtype does not have."""
    if isinstance(alpha, bool) and not (_of_truths(x) and _of_truths(y)):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not any(
        v._kind_of().is_float if isinstance(v, Core) else isinstance(number_of(v), float | complex) for v in (x, y)
    ):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def rsub(input: Operand, other: Operand) -> Any:
    """other - input."""
    check_no_truths(input, other)
    return apply(RSUB if number_of(other) is not None else RSUB_TENSOR, (input, other))


def mul(input: Operand, other: Operand) -> Any:
    """input * other."""
    return apply(MUL, (input, other))


def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Any:
    """input / other; integers become floats unless rounded."""
    if rounding_mode is None:
        return apply(DIV, (input, other))
    if not isinstance(input, Core) or not input._kind_of().is_float:
        check_divisor(other)
    if rounding_mode == "floor":
        return apply(FLOORED, (input, other))
    if rounding_mode == "trunc":
        return apply(TRUNC_DIV, (input, other))
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
    )


def rdiv(input: Tensor, other: Operand) -> Tensor:
    """other / input, in the two steps that PyTorch's graph shows."""
    return apply(MUL, (reciprocal(input), other))


def _trunc_div(m: Any, x: Any, y: Any) -> Any:
    if _is_float(x):
        return m.trunc(x / y)
    quotient = m.floordiv(m.abs(x), m.abs(y))
    return quotient * (m.sign(x) * m.sign(y))


def _floor_div(m: Any, x: Any, y: Any) -> Any:
    return m.floordiv(x, y)


TRUNC_DIV = Operation("div", "DivBackward2", _trunc_div, "common", True)
FLOORED = Operation("div", "DivBackward2", _floor_div, "common", True)
FLOOR_DIV = Operation("floor_divide", UNKNOWN, _floor_div, "common", True)
REMAINDER, REMAINDER_TENSOR = (
    Operation("remainder", f"RemainderBackward{k}", lambda m, x, y: m.mod(x, y), "common", True) for k in (0, 1)
)


def floor_divide(input: Operand, other: Operand) -> Any:
    """The largest whole number not above input / other."""
    if not isinstance(input, Core) or not input._kind_of().is_float:
        check_divisor(other)
    return apply(FLOOR_DIV, (input, other))


def remainder(input: Operand, other: Operand) -> Any:
    """input - floor(input / other) * other, as Python's `%`."""
    check_one_tensor("remainder", input, other)
    if not isinstance(input, Core) or not input._kind_of().is_float:
        check_divisor(other)
    return apply(REMAINDER_TENSOR if isinstance(other, Core) else REMAINDER, (input, other))


def check_divisor(other: Operand) -> None:
    if type(other) is int and other == 0:
        raise RuntimeError(BY_ZERO)
    if isinstance(other, Core) and not other._kind_of().is_float:
        check_values(other, _no_zero)


BY_ZERO = "ZeroDivisionError: integer division or modulo by zero"


def _no_zero(values: np.ndarray) -> None:
    if not values.all():
        raise RuntimeError(BY_ZERO)


# ---- comparisons and logic


def binary(
    name: str, formula: Callable[..., Any], node: str = "", rule: Rule = "common"
) -> Callable[[Operand, Operand], Any]:
    """The function of two tensors or numbers that computes `formula(terms, x, y)` in each element."""
    operation = Operation(name, node, formula, rule, True)

    def function(input: Operand, other: Operand) -> Any:
        if not isinstance(input, Core) and (not name.startswith("bitwise") or not isinstance(other, Core)):
            check_tensors(name, input=input)
        return apply(operation, (input, other))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements."
    return function


def _order(name: str) -> Callable[..., Any]:
    """A comparison; bools are compared as integers."""

    def formula(m: Any, x: Any, y: Any) -> Any:
        if _is_bool(x):
            x, y = (m(cast(m.b, v.value, dtype="i32")) for v in (x, y))
        return getattr(m, name)(x, y)

    return formula


eq, ne = binary("eq", _order("eq")), binary("ne", _order("ne"))
lt, le = binary("lt", _order("lt")), binary("le", _order("le"))
gt, ge = binary("gt", _order("gt")), binary("ge", _order("ge"))

PROMPT = {
    add: np.add, sub: np.subtract, mul: np.multiply, div: np.true_divide, eq: np.equal, ne: np.not_equal, lt: np.less,
    le: np.less_equal, gt: np.greater, ge: np.greater_equal,
}  # fmt: skip
"""What is done at once with parts that nobody has looked at."""

for _function, _ufunc in PROMPT.items():
    _function.at_once = of_parts(_ufunc)  # type: ignore[attr-defined]


def _bitwise(name: str) -> Callable[..., Any]:
    def formula(m: Any, x: Any, y: Any) -> Any:
        if _is_float(x):
            raise NotImplementedError(f"{name}: expected bools or integers, got {x.value.type}")
        return getattr(m, name)(x, y)

    return formula


bitwise_and = binary("bitwise_and", _bitwise("and_"))
bitwise_or = binary("bitwise_or", _bitwise("or_"))
bitwise_xor = binary("bitwise_xor", _bitwise("xor"))

# ---- selection


def _where(m: Any, p: Any, x: Any, y: Any, dtype: str) -> Any:
    p, x, y = (
        m(v.value if v.value.type.dtype == d else cast(m.b, v.value, dtype=d))
        for v, d in ((p, "bool"), (x, dtype), (y, dtype))
    )
    shape = common_shape([v.value.type.static_shape() for v in (p, x, y)])
    return m.select(*(m(widen(m.b, v.value, shape)) for v in (p, x, y)))


WHERE = Operation("where", "WhereBackward0", _where, "own", edges=True)


def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """input where the condition holds, else other."""
    kinds = [a._kind_of() if isinstance(a, Core) else type(number_of(a)) for a in (input, other)]
    return apply(WHERE, (condition, input, other), (common_dtype(kinds),))


def masked_fill(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """value where the mask holds, else input, in the dtype of input."""
    if isinstance(value, Core) and value._kind_of().shape:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with"
            f" {len(value._kind_of().shape)} dimension(s)."
        )
    came = value._kind_of().is_complex if isinstance(value, Core) else isinstance(value, complex)
    if came and not input._kind_of().is_complex:
        raise RuntimeError(f"value cannot be converted to {input.dtype} without overflow")
    if mask._kind_of().dtype != "bool":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    operation = MASKED_FILL_TENSOR if isinstance(value, Core) else MASKED_FILL
    return apply(operation, (mask, input, value), (input._kind_of().dtype,))


MASKED_FILL, MASKED_FILL_TENSOR = (
    Operation("masked_fill", f"MaskedFillBackward{k}", lambda m, p, x, v, d: _where(m, p, v, x, d), "own", lies="rows")
    for k in (0, 1)
)


def clamped(m: Any, x: Any, low: Any, high: Any) -> Any:
    """x, or the bound that it lies beyond, of two that cross the upper one.

    A bound that is met lets the gradient pass. NaN among the arguments is the result, and then none has a gradient.
    """
    if _is_bool(x):
        x = x if low is None else m.or_(x, low)
        return x if high is None else m.and_(x, high)
    if not _is_float(x):
        x = x if low is None else m.select(m.lt(x, low), low, x)
        return x if high is None else m.select(m.gt(x, high), high, x)
    bounds = [b for b in (low, high) if b is not None]
    made, inside = m.stop_gradient(bounds[-1]), None
    if high is not None:
        beyond = m.gt(x, high) if low is None else m.or_(m.gt(x, high), m.gt(low, high))
        made, inside = m.select(beyond, high, made), m.le(x, high)
    if low is not None:
        below = m.lt(x, low) if high is None else m.and_(m.lt(x, low), m.lt(low, high))
        within = m.ge(x, low)
        made, inside = m.select(below, low, made), within if inside is None else m.and_(within, inside)
    for v in (*bounds, x):
        made = m.select(m.ne(v, v), m.stop_gradient(v), made)
    return m.select(inside, x, made)


def _clamps(node: str) -> dict[tuple[bool, bool], Operation]:
    """The operation for each choice of bounds that are given."""
    formulas: dict[tuple[bool, bool], Callable[..., Any]] = {
        (True, True): clamped,
        (True, False): lambda m, x, low: clamped(m, x, low, None),
        (False, True): lambda m, x, high: clamped(m, x, None, high),
    }
    return {k: Operation("clamp", node, f, "common", True) for k, f in formulas.items()}


CLAMP, CLAMP_TENSORS = _clamps("ClampBackward1"), _clamps("ClampBackward0")


def clamp(input: Tensor, min: Operand = None, max: Operand = None) -> Tensor:
    """The elements moved into min .. max."""
    bounds = [b for b in (min, max) if b is not None]
    if not bounds:
        raise RuntimeError("clamp: at least one of 'min' or 'max' must not be None")
    table = CLAMP_TENSORS if isinstance(bounds[0], Core) else CLAMP
    return apply(table[min is not None, max is not None], (input, *bounds))
