"""Normalisation: elements moved and scaled so that groups of them have mean 0 and variance 1.

Batch, layer, group and instance norm are one operation; they differ in how the input is seen and over which axes of
that the moments are taken.  It gives the moments as well, for running averages.  The pullback computes them again: then
gradients of gradients pass through them, and where both run in one kernel they are computed once.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ....compiler.ops.complex.pair import Pair
from ...tensor.face.inplace import in_place
from ...tensor.face.tensor import Tensor
from ...tensor.ops.elementwise.arithmetic import mul
from ...tensor.ops.folds.reductions import back
from ...tensor.reverse.modes import no_grad
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply, apply_all, wrap
from ...tensor.value.dtypes import epsilon
from ...tensor.value.given import real
from .terms import Shape, listed, mean, need_tensor, padded, part, reshaped, shape_of, size_of, total


def _affine(m: Any, given: tuple[Any, ...], shape: Shape, axes: Shape, has: tuple[bool, bool]) -> tuple[Any, Any]:
    """Weight and bias laid along `axes`, None where there is none."""
    others, rest = tuple(a for a in range(len(shape)) if a not in axes), iter(given)
    weight, bias = (back(m, next(rest), shape, others) if there else None for there in has)
    return weight, bias


def _standard(m: Any, x: Any, view: Shape, axes: Shape, mu: Any, var: Any, eps: float) -> tuple[Any, Any]:
    """x as `view` less its mean over its deviation, and 1 over the deviation, both repeated along `axes`."""
    root = back(m, 1 / m.sqrt(var + eps), view, axes)
    return (reshaped(m, x, view) - back(m, mu, view, axes)) * root, root


def _moments(m: Any, x: Any, view: Shape, axes: Shape) -> tuple[Any, Any]:
    """The mean and the variance over `axes` of x seen as `view`."""
    seen = reshaped(m, x, view)
    mu = mean(m, seen, axes)
    away = seen - back(m, mu, view, axes)
    return mu, mean(m, away * away, axes)


def _normed(m: Any, x: Any, *rest: Any) -> Any:
    """y, and the moments."""
    *given, view, axes, channels, has, eps = rest
    shape, (mu, var) = shape_of(x), _moments(m, x, view, axes)
    y = reshaped(m, _standard(m, x, view, axes, mu, var, eps)[0], shape)
    weight, bias = _affine(m, tuple(given), shape, channels, has)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias, mu, var


def _normed_pull(m: Any, inputs: Any, results: Any, cts: Any, *rest: Any) -> Any:
    view, axes, channels, has, eps = rest
    (x, *given), ct = inputs, cts[0]
    shape, (mu, var) = shape_of(x), _moments(m, x, view, axes)
    others = tuple(a for a in range(len(shape)) if a not in channels)
    unit, root = _standard(m, x, view, axes, mu, var, eps)
    weight, _ = _affine(m, tuple(given), shape, channels, has)
    inner = reshaped(m, ct if weight is None else ct * weight, view)
    level = back(m, mean(m, inner, axes), view, axes)
    tilt = unit * back(m, mean(m, inner * unit, axes), view, axes)
    made = [reshaped(m, root * (inner - level - tilt), shape)]
    if has[0]:
        made.append(total(m, ct * reshaped(m, unit, shape), others))
    return [*made, total(m, ct, others)] if has[1] else made


def _shifted(m: Any, x: Any, mu: Any, var: Any, *rest: Any) -> Any:
    """By moments that are given."""
    *given, has, eps = rest
    shape = shape_of(x)
    others = tuple(a for a in range(len(shape)) if a != 1)
    weight, bias = _affine(m, tuple(given), shape, (1,), has)
    y = _standard(m, x, shape, others, mu, var, eps)[0]
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


BATCH = Operation("batch_norm", "NativeBatchNormBackward0", _normed, pull=_normed_pull, lies="format")
LAYER = Operation("layer_norm", "NativeLayerNormBackward0", _normed, pull=_normed_pull)
GROUP = Operation("group_norm", "NativeGroupNormBackward0", _normed, pull=_normed_pull, lies="format")
INSTANCE = Operation("instance_norm", "ViewBackward0", _normed, pull=_normed_pull)
SHIFTED = Operation("batch_norm", "NativeBatchNormBackward0", _shifted, lies="format")
INSTANCE_SHIFTED = Operation("instance_norm", "ViewBackward0", _shifted)


def _apply_norm(
    operation: Operation, input: Tensor, weight: Any, bias: Any, view: Shape, axes: Shape, channels: Shape, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    given = [w for w in (weight, bias) if w is not None]
    for w in given:
        if w._kind_of().dtype != input._kind_of().dtype:
            raise RuntimeError(f"{operation.name}: expected scalar type {input.dtype} but found {w.dtype}")
    has = weight is not None, bias is not None
    (y, mu, var), node = apply_all(operation, (input, *given), (view, axes, channels, has, real(eps)))
    return wrap(y, node), wrap(mu), wrap(var)


def _moved(m: Any, old: Any, new: Any, momentum: Any, stretch: Any) -> Any:
    return (1 - momentum) * old + momentum * (stretch * new)


MOVED = Operation("running_average", "", _moved, "first", True)


@in_place
def _average_(running: Tensor, new: Tensor, momentum: float, stretch: float) -> Tensor:
    return apply(MOVED, (running, new, real(momentum), real(stretch)))


@no_grad()
def _follow(running_mean: Any, running_var: Any, mu: Tensor, var: Tensor, momentum: float, count: int) -> None:
    """Running averages, of the variance with the correction for its own mean."""
    if running_mean is not None:
        _average_(running_mean, mu, momentum, 1.0)
    if running_var is not None:
        _average_(running_var, var, momentum, count / max(count - 1, 1))


def batch_norm(
    input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Every channel (dimension 1) with the moments of its batch, in training, or with the running ones."""
    need_tensor("batch_norm", "input", input)
    shape = size_of(input)
    if len(shape) < 2:
        if not prod(shape):
            return mul(input, 1)
        raise RuntimeError(f"batch_norm: expected at least a 2D input, got {list(shape)}")
    count = prod(shape) // shape[1] if shape[1] else 0
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if training and count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    names = ("running_mean", "running_var", "weight", "bias")
    for name, x in zip(names, (running_mean, running_var, weight, bias), strict=True):
        if x is not None and size_of(x) != (shape[1],):
            raise RuntimeError(f"{name} should contain {shape[1]} elements not {x._kind_of().size}")
    axes = tuple(a for a in range(len(shape)) if a != 1)
    if training:
        y, mu, var = _apply_norm(BATCH, input, weight, bias, shape, axes, (1,), eps)
        if count:
            _follow(running_mean, running_var, mu, var, momentum, count)
        return y
    if running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    return _by_running(SHIFTED, input, running_mean, running_var, weight, bias, eps)


def _by_running(
    operation: Operation, input: Tensor, mu: Tensor, var: Tensor, weight: Any, bias: Any, eps: float
) -> Tensor:
    given = [w for w in (weight, bias) if w is not None]
    has = weight is not None, bias is not None
    return apply(operation, (input, mu.detach(), var.detach(), *given), (has, real(eps)))


def instance_norm(
    input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Every channel of every example with its own moments."""
    need_tensor("instance_norm", "input", input)
    shape = size_of(input)
    if len(shape) < 3:
        raise RuntimeError(f"instance_norm: expected at least a 3D input, got {list(shape)}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return _by_running(INSTANCE_SHIFTED, input, running_mean, running_var, weight, bias, eps)
    count = prod(shape[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    axes = tuple(range(2, len(shape)))
    y, mu, var = _apply_norm(INSTANCE, input, weight, bias, shape, axes, (1,), eps)
    if running_mean is not None or running_var is not None:
        _follow(running_mean, running_var, mu.mean(0), var.mean(0), momentum, count)
    return y


def _inner_shape(name: str, input: Any, normalized_shape: Any, weight: Any, bias: Any = None) -> Shape:
    need_tensor(name, "input", input)
    inner = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not inner:
        raise RuntimeError(f"{name}: expected normalized_shape to be at least 1-dimensional, got {list(inner)}")
    for word, x in (("weight", weight), ("bias", bias)):
        if x is not None and size_of(x) != inner:
            raise RuntimeError(
                f"Expected {word} to be of same shape as normalized_shape, but got {word} of shape {listed(x)} and"
                f" normalized_shape = {list(inner)}"
            )
    shape = size_of(input)
    if shape[max(len(shape) - len(inner), 0) :] != inner:
        raise RuntimeError(
            f"Given normalized_shape={list(inner)}, expected input with shape [*, {', '.join(map(str, inner))}], but"
            f" got input of size{list(shape)}"
        )
    return inner


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """The last dimensions, of this shape, with their own moments."""
    inner = _inner_shape("layer_norm", input, normalized_shape, weight, bias)
    shape = size_of(input)
    axes = tuple(range(len(shape) - len(inner), len(shape)))
    return _apply_norm(LAYER, input, weight, bias, shape, axes, axes, eps)[0]


def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Groups of channels with their own moments in every example."""
    need_tensor("group_norm", "input", input)
    shape = size_of(input)
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(shape)}"
            f" and num_groups={num_groups}"
        )
    for word, x in (("weight", weight), ("bias", bias)):
        if x is not None and size_of(x) != (shape[1],):
            raise RuntimeError(
                f"Expected {word} to be a vector of size equal to the number of channels in input, but got {word} of"
                f" shape {listed(x)} and input of shape {list(shape)}"
            )
    view = (shape[0], num_groups, prod(shape[1:]) // num_groups)
    return _apply_norm(GROUP, input, weight, bias, view, (2,), (1,), eps)[0]


def _rms(m: Any, x: Any, *rest: Any) -> Any:
    *weights, axes, eps = rest
    shape = shape_of(x)
    if isinstance(x, Pair):
        return _complex_rms(m, x, weights, axes, eps)
    y = x * back(m, 1 / m.sqrt(mean(m, x * x, axes) + eps), shape, axes)
    return y * back(m, weights[0], shape, tuple(a for a in range(len(shape)) if a not in axes)) if weights else y


def _complex_rms(m: Any, x: Pair, weights: list[Any], axes: Shape, eps: float) -> Pair:
    """As PyTorch has it: by the root of the mean of squares, which are complex, and not of sizes."""

    def laid(z: Pair, others: Shape) -> Pair:
        return Pair(m, *(back(m.real, part, shape_of(x), others) for part in (z.re, z.im)))

    square = x * x
    root = m.sqrt(Pair(m, *(mean(m.real, part, axes) for part in (square.re, square.im))) + eps)
    y = x * laid(m.pair(1.0, root) / root, axes)
    return y * laid(weights[0], tuple(a for a in range(len(shape_of(x))) if a not in axes)) if weights else y


RMS = Operation("rms_norm", "MulBackward0", _rms)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """The last dimensions, of this shape, divided by the root of their mean square."""
    inner = _inner_shape("rms_norm", input, normalized_shape, weight)
    rank = len(size_of(input))
    if eps is None:
        eps = epsilon(input.dtype)
    axes = tuple(range(rank - len(inner), rank))
    return apply(RMS, (input,) if weight is None else (input, weight), (axes, real(eps)))


def _response(m: Any, x: Any, size: int, alpha: float, beta: float, k: float) -> Any:
    shape = shape_of(x)
    channels = shape[1]
    around = (shape[0], channels + size - 1, *shape[2:])
    squares = padded(m, x * x, (0, size // 2, *(0 for _ in shape[2:])), around)
    near = part(m, squares, 1, 0, channels)
    for n in range(1, size):
        near = near + part(m, squares, 1, n, channels)
    base = near * (alpha / size) + k
    return x / m.pow(base, m.number(float(beta), base.value.type))


RESPONSE = Operation("local_response_norm", "DivBackward0", _response, "float", lies="format")


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Elements divided by a power of the mean square of `size` neighbouring channels."""
    need_tensor("local_response_norm", "input", input)
    shape = size_of(input)
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)"
        )
    if not prod(shape):
        return mul(input, 1)
    return apply(RESPONSE, (input,), (int(size), real(alpha), real(beta), real(k)))


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]
