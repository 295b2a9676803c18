"""`torch.nn.functional`: layers and losses as plain functions."""

from __future__ import annotations

import warnings
from typing import Any

from ...compiler.ir.types import Type
from ...compiler.ops.elementwise import cast
from ...compiler.ops.source import iota
from ..tensor.arithmetic import where
from ..tensor.averages import adaptive_avg_pool1d, adaptive_avg_pool2d, avg_pool1d, avg_pool2d
from ..tensor.convolutions import conv1d, conv2d
from ..tensor.core import Core, apply
from ..tensor.creation import ones
from ..tensor.draws import rand_like
from ..tensor.elementary import abs_, gelu, logsigmoid, relu, sigmoid, silu, softplus, tanh
from ..tensor.fragments import Operation, widen
from ..tensor.pooling import max_pool1d, max_pool2d
from ..tensor.products import addmm, matmul
from ..tensor.reductions import back, shape_of, total
from ..tensor.shapes import reshape, t
from ..tensor.softmax import log_softmax as _log_softmax
from ..tensor.softmax import softmax as _softmax
from ..tensor.tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")


def checked_reduction(reduction: str) -> str:
    """`reduction`, if it is one."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: use mean, sum or none")
    return reduction


def reduced(m: Any, x: Any, reduction: str) -> Any:
    """All elements folded, as the reduction says."""
    if reduction == "none":
        return x
    shape = shape_of(x)
    added = total(m, x, tuple(range(len(shape))))
    return added / float(x.value.type.size) if reduction == "mean" else added


def unreduced(m: Any, ct: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """The cotangent of every element, given that of the folded result."""
    if reduction == "none":
        return ct
    size = 1.0
    for n in shape:
        size *= n
    ct = ct / size if reduction == "mean" else ct
    return back(m, ct, shape, tuple(range(len(shape))))


# ---- layers


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    shape, columns = input._read().kind.shape, t(weight)
    if bias is None:
        return matmul(input, columns)
    if len(shape) == 2:
        return addmm(bias, input, columns)
    if not shape or len(weight._read().kind.shape) != 2 or shape[-1] != weight._read().kind.shape[1]:
        return matmul(input, columns) + bias
    flat = addmm(bias, reshape(input, -1, shape[-1]), columns)
    return reshape(flat, *shape[:-1], flat._read().kind.shape[-1])


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Exponentials along `dim`, divided by their sum."""
    return _softmax(input, _implied(input, dim, "softmax"), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along `dim`."""
    return _log_softmax(input, _implied(input, dim, "log_softmax"), dtype=dtype)


def _implied(input: Tensor, dim: int | None, name: str) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X"
        " as an argument.",
        stacklevel=3,
    )
    return 0 if len(input._read().kind.shape) in (0, 1, 3) else 1


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x, or negative_slope * x where x is not positive."""
    return apply(LEAKY, (input, negative_slope))


LEAKY = Operation(
    "leaky_relu", "LeakyReluBackward0", lambda m, x, a: m.select(m.gt(x, 0), x, a * x), "common", True
)


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """While training, zeros with probability p; the rest is scaled up by 1 / (1 - p)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0
    kept = rand_like(input) >= p
    return input * where(kept, 1 / (1 - p), 0.0).to(input.dtype)


# ---- losses


def _losing(name: str, node: str, formula: Any) -> Operation:
    def emit(m: Any, x: Any, y: Any, reduction: str) -> Any:
        return reduced(m, formula(m, x, y), reduction)

    return Operation(name, node, emit, "float", True)


MSE = _losing("mse_loss", "MseLossBackward0", lambda m, x, y: (x - y) * (x - y))


def _warn_if_broadcast(input: Core, target: Core) -> None:
    a, b = input._read().kind.shape, target._read().kind.shape
    if a != b:
        warnings.warn(
            f"Using a target size (torch.Size({list(b)})) that is different to the input size"
            f" (torch.Size({list(a)})). This will likely lead to incorrect results due to broadcasting."
            " Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The mean of squared differences."""
    _warn_if_broadcast(input, target)
    return apply(MSE, (input, target), (checked_reduction(reduction),))


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The mean of absolute differences."""
    _warn_if_broadcast(input, target)
    return _fold(abs_(input - target), checked_reduction(reduction))


def _fold(x: Tensor, reduction: str) -> Tensor:
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def _bce(m: Any, x: Any, y: Any, reduction: str) -> Any:
    """max(x, 0) - x y + log(1 + exp(-|x|)), which loses no digits on either side."""
    each = m.select(m.gt(x, 0), x, 0) - x * y + m.softplus(-m.abs(x))
    return reduced(m, each, reduction)


def _bce_pull(m: Any, inputs: Any, results: Any, cts: Any, reduction: str) -> Any:
    (x, y), (ct,) = inputs, cts
    ct = unreduced(m, ct, shape_of(x), reduction)
    return [ct * (m.sigmoid(x) - y), ct * -x]


BCE = Operation(
    "binary_cross_entropy_with_logits",
    "BinaryCrossEntropyWithLogitsBackward0",
    _bce,
    pull=_bce_pull,
)


def _bce_weighted(m: Any, x: Any, y: Any, weight: Any, positive: Any, reduction: str) -> Any:
    """Each loss times `weight`, and the part of the positive class times `positive`."""
    weight, positive = (m(widen(m.b, w.value, shape_of(x))) for w in (weight, positive))
    each = (1 - y) * x + ((positive - 1) * y + 1) * m.softplus(-x)
    return reduced(m, weight * each, reduction)


BCE_WEIGHTED = Operation(BCE.name, BCE.node, _bce_weighted)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of two classes, from logits."""
    checked_reduction(reduction)
    have, wanted = input._read().kind, target._read().kind
    if have.shape != wanted.shape:
        raise ValueError(
            f"Target size (torch.Size({list(wanted.shape)})) must be the same as input size"
            f" (torch.Size({list(have.shape)}))"
        )
    target = target.to(input.dtype)
    if weight is None and pos_weight is None:
        return apply(BCE, (input, target), (reduction,))
    one = ones((), dtype=input.dtype)
    weights = [one if w is None else w.to(input.dtype) for w in (weight, pos_weight)]
    return apply(BCE_WEIGHTED, (input, target, *weights), (reduction,))


def _nll(m: Any, x: Any, target: Any, reduction: str, ignore: int) -> Any:
    """Minus the element that the target names; none where it is to be ignored."""
    shape = shape_of(x)
    axis = min(1, len(shape) - 1)
    classes = m(iota(m.b, axis=axis, type=Type("i64", shape)))
    hit = m.eq(classes, back(m, target, shape, (axis,)))
    counted = m.ne(target, ignore)
    each = m.select(counted, -total(m, m.select(hit, x, 0), (axis,)), 0)
    if reduction == "none":
        return each
    axes = tuple(range(len(shape_of(each))))
    added = total(m, each, axes)
    if reduction == "sum":
        return added
    weights = m(cast(m.b, counted.value, dtype=x.value.type.dtype))
    return added / total(m, weights, axes)


NLL = Operation("nll_loss", "NllLossBackward0", _nll)
NLL_2D = Operation("nll_loss", "NllLoss2DBackward0", _nll)


def nll_loss(
    input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log-probability that `input` gives to the class `target`."""
    checked_reduction(reduction)
    have, wanted = input._read().kind.shape, target._read().kind
    if not have:
        raise RuntimeError("input tensor should be 1D or 2D")
    axis = min(1, len(have) - 1)
    if wanted.shape != have[:axis] + have[axis + 1 :]:
        if len(have) == 2 and len(wanted.shape) == 1:
            raise ValueError(
                f"Expected input batch_size ({have[0]}) to match target batch_size ({wanted.shape[0]})."
            )
        raise RuntimeError(f"Expected target size {list(have[:axis] + have[axis + 1:])}, got {list(wanted.shape)}")
    if wanted.dtype not in ("i64", "i32"):
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}")
    classes = target._array()
    if classes.size:
        low, high = classes.min(), classes.max()
        if (low < 0 or high >= have[axis]) and (
            wrong := classes[((classes < 0) | (classes >= have[axis])) & (classes != ignore_index)]
        ).size:
            raise IndexError(f"Target {int(wrong.flat[0])} is out of bounds.")
    return apply(NLL if len(have) < 3 else NLL_2D, (input, target.long()), (reduction, ignore_index))


def cross_entropy(
    input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the softmax of `input` at the class `target`, or averaged over class weights."""
    axis = min(1, input.dim() - 1)
    logs = _log_softmax(input, max(axis, 0))
    if not target.is_floating_point():
        return nll_loss(logs, target, ignore_index=ignore_index, reduction=reduction)
    if target.shape != input.shape:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities of shape {list(input.shape)},"
            f" got {list(target.shape)}"
        )
    losses = -(logs * target).sum(axis)
    return _fold(losses, checked_reduction(reduction))


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "dropout",
    "gelu",
    "l1_loss",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
