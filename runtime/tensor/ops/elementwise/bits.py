"""Functions of whole numbers and of the bits of numbers: shifts, divisors, neighbours, mantissas and exponents."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...face.required import check_tensors
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply, apply_all, wrap
from ...value.dtypes import ALL
from ...value.found import returned
from ..matrices.outside import computed, outside
from .arithmetic import binary
from .pointwise import is_bool, is_float


def _shift(name: str) -> Callable[..., Any]:
    """By none where the count is negative or not less than the width, which leaves no bit, or the sign."""

    def formula(m: Any, x: Any, y: Any) -> Any:
        if is_float(x) or is_bool(x):
            raise NotImplementedError(f"{name}: expected integers, got {ALL[x.value.type.dtype]}")
        width = x.value.type.numpy.itemsize * 8
        wrong = m.or_(m.lt(y, 0), m.ge(y, width))
        if name == "bitwise_left_shift":
            return m.select(wrong, 0, m.shl(x, m.select(wrong, 0, y)))
        return m.shr(x, m.select(wrong, width - 1, y))

    return formula


bitwise_left_shift = binary("bitwise_left_shift", _shift("bitwise_left_shift"))
bitwise_right_shift = binary("bitwise_right_shift", _shift("bitwise_right_shift"))


def _by_numpy(name: str, call: Callable[..., np.ndarray], kinds: str) -> Operation:
    computed(name, call)

    def emit(m: Any, x: Any, y: Any) -> Any:
        if is_float(x) != (kinds == "float") or is_bool(x):
            raise NotImplementedError(f"{name}: expected {kinds} tensors, got {ALL[x.value.type.dtype]}")
        return outside(m, name, (x, y), [x.value.type])[0]

    return Operation(name, "", emit, "common", True)


def _followed(emit: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the slope of x, but where x and y are the same number: there it is that of y's constant."""

    def formula(m: Any, x: Any, y: Any) -> Any:
        made = emit(m, x, y)
        still = m.or_(m.eq(x, y), m.eq(m.abs(x), math.inf))
        return m.select(still, made, made + (x - m.stop_gradient(x)))

    return formula


def _number_theoretic(name: str, call: Callable[..., np.ndarray], kinds: str) -> Callable[[Any, Any], Any]:
    operation = _by_numpy(name, call, kinds)
    if kinds == "float":
        operation = Operation(name, f"{name.capitalize()}Backward0", _followed(operation.emit), "common", True)

    def function(input: Tensor, other: Tensor) -> Tensor:
        check_tensors(name, input=input, other=other)
        return apply(operation, (input, other))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements."
    return function


gcd = _number_theoretic("gcd", np.gcd, "integer")
lcm = _number_theoretic("lcm", np.lcm, "integer")
nextafter = _number_theoretic("nextafter", np.nextafter, "float")


def _frexp(m: Any, x: Any) -> Any:
    """x = mantissa * 2 ** exponent, by a factor that is a power of two."""
    kind = x.value.type
    factor, exponent = outside(m, "frexp", (x,), [kind, kind.with_dtype("i32")])
    return x * factor, exponent


def _scales(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    exponent = np.frexp(array)[1]
    return np.ldexp(np.ones_like(array), -exponent), exponent


computed("frexp", _scales)


FREXP = Operation("frexp", "FrexpBackward0", _frexp)
frexp_values = returned("frexp", "mantissa", "exponent")


def frexp(input: Core) -> Any:
    """Numbers of size 0.5 .. 1 and the powers of two with which they give `input`."""
    if not input._kind_of().is_float:
        raise RuntimeError(f"frexp: expected a floating point tensor, got {input.dtype}")
    (mantissa, exponent), node = apply_all(FREXP, (input,))
    return frexp_values(wrap(mantissa, node), wrap(exponent))
