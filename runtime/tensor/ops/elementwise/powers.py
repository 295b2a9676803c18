"""Powers, of floats and of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...face.required import check_one_tensor
from ...trace.fragments.fragments import RESULT, Operation
from ...value.core import Core, apply, number_of
from ...value.given import real
from ..matrices.outside import computed, outside
from .arithmetic import Operand
from .elementary import cast_to, unary

POW = Operation("pow", "PowBackward1", lambda m, x, y: m.pow(x, y), "float", True)
POW_NUMBER = Operation("pow", "PowBackward0", lambda m, x, y: m.pow(x, y), "common", True)
POW_OF_NUMBER = Operation("pow", "PowBackward2", lambda m, x, y: m.pow(x, y), "float", True)


def _whole_power(m: Any, x: Any, n: int) -> Any:
    """x to the n by squaring; n is at least 1."""
    result = None
    while n:
        if n & 1:
            result = x if result is None else result * x
        x, n = x * x if n > 1 else x, n >> 1
    return result


def _ones(m: Any, x: Any) -> Any:
    return m.number(1.0 if x.value.type.is_float else 1, x.value.type)


WHOLE = {
    n: Operation("pow", "PowBackward0", lambda m, x, n=n: _whole_power(m, x, n), "common")
    for n in (1, 2, 3, 4)
}
WHOLE[0] = Operation("pow", "PowBackward0", _ones, "common")
SPECIAL: dict[float, Callable[[Any], Any]] = {
    0.5: unary("pow", "PowBackward0", lambda m, x: m.sqrt(x), loose=RESULT),
    -0.5: unary("pow", "PowBackward0", lambda m, x: 1 / m.sqrt(x), loose=RESULT),
    -1.0: unary("pow", "PowBackward0", lambda m, x: 1 / x, loose=RESULT),
    -2.0: unary("pow", "PowBackward0", lambda m, x: 1 / (x * x), loose=RESULT, slope=lambda m, x, r: -2 * (r / x)),
}
"""Exponents with a formula of their own, which is exact or quicker; they are part of the trace's key."""


def pow_(input: Operand, exponent: Operand) -> Any:
    """input ** exponent."""
    power = number_of(exponent)
    if power is not None and not isinstance(input, Core):
        check_one_tensor("pow", input, exponent)
    if power is None:
        base = number_of(input)
        if _is_whole(input) and _is_whole(exponent):
            return apply(INTEGER_POWS, (input, exponent))
        operation = POW if base is None else POW_OF_NUMBER
        return apply(operation, (input, exponent))
    is_float = isinstance(input, Core) and input._kind_of().is_float
    if not is_float and not isinstance(power, (float, complex)):
        if type(power) is int and isinstance(input, Core) and input._kind_of().dtype == "bool":
            input = cast_to(input, "i64")
        return _integer_power(input, int(power))
    for n, whole in WHOLE.items():
        if power == n and is_float:
            return apply(whole, (input,))
    for special, root in SPECIAL.items():
        if power == special:
            return root(input)
    return apply(POW_NUMBER, (input, power if isinstance(power, complex) else real(power)))


def _integer_power(input: Operand, n: int) -> Any:
    if n < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if n == 0:
        return apply(WHOLE[0], (input,))
    return apply(INTEGER_POW, (input,), (n,))


def _is_whole(x: Operand) -> bool:
    if not isinstance(x, Core):
        return isinstance(number_of(x), int)
    kind = x._kind_of()
    return not (kind.is_float or kind.is_complex)


def _integer_powers(m: Any, x: Any, n: Any) -> Any:
    if x.value.type.dtype == "bool":
        raise NotImplementedError('"pow" not implemented for \'Bool\'')
    return outside(m, "pow", (x, n), [x.value.type])[0]


def _powers_of(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """As C's integers: what is too large wraps, and x to -n is 1 / x ** n without its fraction."""
    inverse = np.where(n % 2 == 0, x * x, x) * (abs(x) == 1)
    return np.where(n < 0, inverse, np.power(x, np.maximum(n, 0)))


computed("pow", _powers_of)


INTEGER_POW = Operation("pow", "", _whole_power, "common")
INTEGER_POWS = Operation("pow", "", _integer_powers, "common", True)


def rpow(input: Operand, base: Operand) -> Any:
    """base ** input."""
    return pow_(base, input)
