"""Nonlinearities, element by element.

Each is one operation.  Where a formula has corners, it is written so that its derivative there is PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...tensor.face.inplace import in_place
from ...tensor.face.tensor import Tensor
from ...tensor.ops.elementwise.bends import hardshrink, prelu
from ...tensor.ops.elementwise.elementary import logsigmoid, sigmoid, tanh
from ...tensor.ops.elementwise.elementary import relu as _relu
from ...tensor.ops.elementwise.elementary import silu as _silu
from ...tensor.trace.fragments.fragments import INPUT, Operation
from ...tensor.value.axes import axis_of
from ...tensor.value.core import apply
from ...tensor.value.given import real
from .terms import need_tensor, part, shape_of, size_of, wide


def _hardtanh(m: Any, x: Any, low: Any, high: Any) -> Any:
    return m.select(m.le(x, low), low, m.select(m.ge(x, high), high, x))


def _hardswish(m: Any, x: Any) -> Any:
    return m.select(m.le(x, -3), 0 * x, m.select(m.lt(x, 3), x * (x + 3) / 6, x))


def _hardsigmoid(m: Any, x: Any) -> Any:
    """At NaN the slope is 0."""
    end = m.select(m.le(x, -3), 0, m.select(m.ge(x, 3), 1, m.stop_gradient(x)))
    return m.select(m.and_(m.gt(x, -3), m.lt(x, 3)), x / 6 + 0.5, end)


def _elu(m: Any, x: Any, alpha: Any, scale: Any, inner: Any) -> Any:
    shape = shape_of(x)
    alpha, scale, inner = (wide(m, v, shape) for v in (alpha, scale, inner))
    left = m.le(x, 0)
    return m.select(left, m.expm1(m.select(left, x, 0) * inner) * (alpha * scale), x * scale)


def _celu(m: Any, x: Any, alpha: Any) -> Any:
    left = m.le(x, 0)
    return m.select(left, m.expm1(m.select(left, x, 0) / alpha) * alpha, x)


def _gelu_tanh(m: Any, x: Any) -> Any:
    return 0.5 * x * (1 + m.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))


def _gelu(m: Any, x: Any) -> Any:
    return 0.5 * x * (1 + m.erf(x * (1 / math.sqrt(2))))


def _softplus(m: Any, x: Any, beta: Any, threshold: Any) -> Any:
    steep = x * beta
    return m.select(m.gt(steep, threshold), x, m.softplus(steep) / beta)


def _softshrink(m: Any, x: Any, lambd: Any) -> Any:
    """At NaN the slope is 1, at infinity within an infinite lambd 0."""
    return m.select(m.and_(m.ge(x, -lambd), m.le(x, lambd)), 0, m.select(m.lt(x, 0), x + lambd, x - lambd))


def _leaky(m: Any, x: Any, slope: Any) -> Any:
    return m.select(m.gt(x, 0), x, slope * x)


def _threshold(m: Any, x: Any, threshold: Any, value: Any) -> Any:
    return m.select(m.le(x, threshold), value, x)


def _glu(m: Any, x: Any, axis: int) -> Any:
    half = shape_of(x)[axis] // 2
    return part(m, x, axis, 0, half) * m.sigmoid(part(m, x, axis, half, half))


HARDTANH = Operation("hardtanh", "HardtanhBackward0", _hardtanh, "common", True)
HARDSWISH = Operation("hardswish", "HardswishBackward0", _hardswish, "float")
HARDSIGMOID = Operation("hardsigmoid", "HardsigmoidBackward0", _hardsigmoid, "float")
ELU = Operation("elu", "EluBackward0", _elu)
CELU = Operation("celu", "CeluBackward0", _celu, "first", True)
GELU = {
    "none": Operation("gelu", "GeluBackward0", _gelu),
    "tanh": Operation("gelu", "GeluBackward0", _gelu_tanh),
}
MISH = Operation("mish", "MishBackward0", lambda m, x: x * m.tanh(m.softplus(x)))
SOFTPLUS = Operation("softplus", "SoftplusBackward0", _softplus, "first", True)
SOFTSIGN = Operation("softsign", "DivBackward0", lambda m, x: x / (1 + m.abs(x)), "float")
TANHSHRINK = Operation("tanhshrink", "SubBackward0", lambda m, x: x - m.tanh(x), "float", loose=((INPUT, 0),))
SOFTSHRINK = Operation("softshrink", "SoftshrinkBackward0", _softshrink, "first", True)
LEAKY = Operation("leaky_relu", "LeakyReluBackward0", _leaky, "common", True)
THRESHOLD = Operation("threshold", "ThresholdBackward0", _threshold, "first", True)
GLU = Operation("glu", "GluBackward0", _glu)


IN_PLACE = {
    o: Operation(o.name, o.node[:-1] + "1", o.emit, o.rule, o.spreads)  # type: ignore[arg-type]
    for o in (CELU, ELU, LEAKY, THRESHOLD)
}
"""The same where the result is written over the input: PyTorch then has another node, which reads the result."""


def _float(name: str, input: Any) -> Tensor:
    need_tensor(name, "input", input)
    if not input._kind_of().is_float:
        raise NotImplementedError(f"{name}: not implemented for {input.dtype}; convert the tensor to a float first")
    return input


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """0 where x is not positive, else x."""
    need_tensor("relu", "input", input)
    if input._kind_of().dtype == "bool":
        raise RuntimeError("relu: boolean inputs are not supported")
    return _maybe(inplace, _relu, input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return in_place(_silu)(_float("silu", input)) if inplace else _silu(_float("silu", input))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return _maybe(inplace, _plain, input, MISH)


def _maybe(inplace: bool, function: Callable[..., Tensor], input: Tensor, *args: Any) -> Tensor:
    return in_place(function)(input, *args) if inplace else function(input, *args)


def _plain(input: Tensor, operation: Operation) -> Tensor:
    return apply(operation, (_float(operation.name, input),))


def _either(operation: Operation, inplace: bool) -> Operation:
    return IN_PLACE[operation] if inplace else operation


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x moved into min_val .. max_val."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val cannot be greater than max_val, got {min_val} and {max_val}")
    return _maybe(inplace, _bounded, input, min_val, max_val)


def _bounded(input: Tensor, low: float, high: float) -> Tensor:
    need_tensor("hardtanh", "input", input)
    kind = input._kind_of()
    if kind.dtype == "bool":
        raise NotImplementedError("hardtanh: bool inputs are not supported")
    if not kind.is_float:
        low, high = int(low), int(high)
    return apply(HARDTANH, (input, low, high))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x moved into 0 .. 6."""
    return _maybe(inplace, _bounded, input, 0, 6)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6."""
    return _maybe(inplace, _plain, input, HARDSWISH)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6."""
    return _maybe(inplace, _plain, input, HARDSIGMOID)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return _scaled_elu(inplace, input, alpha, 1.0)


def _scaled_elu(inplace: bool, input: Tensor, alpha: float, scale: float) -> Tensor:
    return _maybe(inplace, _apply_elu, input, _either(ELU, inplace), real(alpha), scale)


def _apply_elu(input: Tensor, operation: Operation, alpha: float, scale: float) -> Tensor:
    return apply(operation, (_float("elu", input), alpha, scale, 1.0))


SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017)."""
    return _scaled_elu(inplace, input, *SELU)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise RuntimeError("celu: ZeroDivisionError: alpha cannot be 0")
    return _maybe(inplace, _apply_celu, input, _either(CELU, inplace), real(alpha))


def _apply_celu(input: Tensor, operation: Operation, alpha: float) -> Tensor:
    return apply(operation, (_float("celu", input), alpha))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function, or that by tanh."""
    if approximate not in GELU:
        raise RuntimeError(f"gelu: approximate argument must be either none or tanh, got {approximate!r}")
    return apply(GELU[approximate], (_float("gelu", input),))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""
    return apply(SOFTPLUS, (_float("softplus", input), real(beta), real(threshold)))


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    need_tensor("softsign", "input", input)
    return apply(SOFTSIGN, (input,))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    need_tensor("tanhshrink", "input", input)
    return apply(TANHSHRINK, (input,))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, and 0 within -lambd .. lambd."""
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return apply(SOFTSHRINK, (_float("softshrink", input), real(lambd)))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x, or negative_slope * x where x is not positive."""
    return _maybe(inplace, _apply_leaky, input, _either(LEAKY, inplace), negative_slope)


def _apply_leaky(input: Tensor, operation: Operation, slope: float) -> Tensor:
    return apply(operation, (_float("leaky_relu", input), slope))


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """value where x is not above the threshold, else x."""
    return _maybe(inplace, _apply_threshold, input, _either(THRESHOLD, inplace), threshold, value)


def _apply_threshold(input: Tensor, operation: Operation, threshold: float, value: float) -> Tensor:
    need_tensor("threshold", "input", input)
    if not input._kind_of().is_float:
        threshold, value = math.floor(threshold), int(value)
    return apply(operation, (input, threshold, value))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second."""
    _float("glu", input)
    shape = size_of(input)
    if not shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    axis = axis_of(dim, len(shape))
    if shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {shape[axis]}")
    return apply(GLU, (input,), (axis,))


def _writing(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function that writes into its argument."""

    def written(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, **kwargs, inplace=True)

    written.__name__ = written.__qualname__ = function.__name__ + "_"
    written.__doc__ = f"`{function.__name__}`, written into its argument."
    return written


relu_, elu_, selu_, celu_ = _writing(relu), _writing(elu), _writing(selu), _writing(celu)
hardtanh_, leaky_relu_ = _writing(hardtanh), _writing(leaky_relu)
threshold_ = _writing(threshold)

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
    "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "selu",
    "selu_", "sigmoid", "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip
