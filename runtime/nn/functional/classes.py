"""Losses of classes: cross entropies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor.calls.asking import check_values
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import ones
from ...tensor.ops.elementwise.softmax import log_softmax
from ...tensor.ops.folds.reductions import back, converted
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import Core, apply
from ...tensor.value.given import real
from ...tensor.value.promotion import common_shape
from .linear import linear
from .losing import chosen, reduced, unreduced
from .loss_options import LinearCrossEntropyOptions
from .terms import along, counting, need_tensor, shape_of, size_of, total, wide

LOWEST = -100.0
"""Logarithms of probabilities below this count as this: then no loss is infinite."""


# ---- two classes


def _bce(m: Any, x: Any, y: Any, w: Any, reduction: str) -> Any:
    yes, no = m.maximum(m.log(x), LOWEST), m.maximum(m.log(1 - x), LOWEST)
    return reduced(m, -(y * yes + (1 - y) * no) * wide(m, w, shape_of(x)), reduction)


def _bce_pull(m: Any, inputs: Any, results: Any, cts: Any, reduction: str) -> Any:
    """The slope (x - y) / (x (1 - x)) has a bound as well."""
    (x, y, w), (ct,) = inputs, cts
    shape = shape_of(x)
    ct = unreduced(m, ct, shape, reduction) * wide(m, w, shape)
    yes, no = m.maximum(m.log(x), LOWEST), m.maximum(m.log(1 - x), LOWEST)
    return [ct * (x - y) / m.maximum(x * (1 - x), 1e-12), ct * (no - yes), None]


BCE = Operation("binary_cross_entropy", "BinaryCrossEntropyBackward0", _bce, pull=_bce_pull)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes, from probabilities."""
    reduction = chosen(reduction, size_average, reduce)
    _two_classes("binary_cross_entropy", input, target)
    if not input._kind_of().is_float or input._kind_of().dtype != target._kind_of().dtype:
        raise RuntimeError(f"binary_cross_entropy: expected floats of one dtype, got {input.dtype} and {target.dtype}")
    check_values(input, _check_probabilities)
    if weight is not None:
        common_shape([size_of(weight), size_of(target)])
    one = ones((), dtype=input.dtype) if weight is None else weight
    return apply(BCE, (input, target, one), (reduction,))


def _check_probabilities(values: np.ndarray) -> None:
    if not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")


def _two_classes(name: str, input: Core, target: Core) -> None:
    need_tensor(name, "input", input)
    need_tensor(name, "target", target)
    have, wanted = size_of(input), size_of(target)
    if have != wanted:
        raise ValueError(
            f"Target size (torch.Size({list(wanted)})) must be the same as input size (torch.Size({list(have)}))"
        )


def _logits(m: Any, x: Any, y: Any, reduction: str) -> Any:
    """max(x, 0) - x y + log(1 + exp(-|x|)), which loses no digits on either side."""
    each = m.select(m.gt(x, 0), x, 0) - x * y + m.softplus(-m.abs(x))
    return reduced(m, each, reduction)


def _logits_pull(m: Any, inputs: Any, results: Any, cts: Any, reduction: str) -> Any:
    (x, y), (ct,) = inputs, cts
    ct = unreduced(m, ct, shape_of(x), reduction)
    return [ct * (m.sigmoid(x) - y), ct * -x]


def _logits_weighted(m: Any, x: Any, y: Any, weight: Any, positive: Any, reduction: str) -> Any:
    """Each loss times `weight`, and the part of the positive class times `positive`."""
    weight, positive = (wide(m, w, shape_of(x)) for w in (weight, positive))
    each = (1 - y) * x + ((positive - 1) * y + 1) * m.softplus(-x)
    return reduced(m, weight * each, reduction)


LOGITS_NODE = "BinaryCrossEntropyWithLogitsBackward0"
LOGITS = Operation("binary_cross_entropy_with_logits", LOGITS_NODE, _logits, pull=_logits_pull)
LOGITS_WEIGHTED = Operation("binary_cross_entropy_with_logits", LOGITS_NODE, _logits_weighted)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes, from logits."""
    reduction = chosen(reduction, size_average, reduce)
    _two_classes("binary_cross_entropy_with_logits", input, target)
    target = target.to(input.dtype)
    if weight is None and pos_weight is None:
        return apply(LOGITS, (input, target), (reduction,))
    one = ones((), dtype=input.dtype)
    weights = [one if w is None else w.to(input.dtype) for w in (weight, pos_weight)]
    return apply(LOGITS_WEIGHTED, (input, target, *weights), (reduction,))


# ---- many classes


def _nll(m: Any, x: Any, target: Any, *rest: Any) -> Any:
    """Minus the element that the target names, times its class's weight; none where it is to be ignored."""
    *weights, reduction, ignore = rest
    shape = shape_of(x)
    axis = min(1, len(shape) - 1)
    counted = m.ne(target, ignore)
    hit = m.eq(counting(m, shape, axis), back(m, target, shape, (axis,)))
    hit = m.and_(hit, back(m, counted, shape, (axis,)))
    share = along(m, weights[0], shape, axis) if weights else None
    chosen = m.select(hit, x if share is None else x * share, 0)
    each = 0 - total(m, chosen, (axis,))
    if reduction == "none":
        return each
    axes = tuple(range(len(shape_of(each))))
    if reduction == "sum":
        return total(m, each, axes)
    count = converted(m, counted, x.value.type.dtype) if share is None else total(m, m.select(hit, share, 0), (axis,))
    return total(m, each, axes) / total(m, count, axes)


NLL = Operation("nll_loss", "NllLossBackward0", _nll)
NLL_2D = Operation("nll_loss", "NllLoss2DBackward0", _nll)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability that `input` gives to the class `target`."""
    reduction = chosen(reduction, size_average, reduce)
    need_tensor("nll_loss", "input", input)
    need_tensor("nll_loss", "target", target)
    have, wanted = size_of(input), target._kind_of()
    _check_sizes(have, wanted.shape)
    axis = min(1, len(have) - 1)
    if weight is not None and size_of(weight) != (have[axis],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {have[axis]} classes or no classes but got weight"
            f" tensor of shape: {list(size_of(weight))}"
        )
    if wanted.dtype not in ("i64", "i32", "u8"):
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}")
    check_classes(target, have[axis], ignore_index)
    target = target.reshape(()) if len(have) == 1 else target
    weights = () if weight is None else (weight.detach(),)
    return apply(NLL if len(have) < 3 else NLL_2D, (input, target.long(), *weights), (reduction, ignore_index))


def _check_sizes(have: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if not have:
        raise ValueError("input tensor should be 1D or 2D, got a single number")
    axis = min(1, len(have) - 1)
    if wanted == have[:axis] + have[axis + 1 :] or (len(have) == 1 and wanted == (1,)):
        return
    if have[:1] != wanted[:1] or len(have) == 1:
        raise ValueError(
            f"Expected input batch_size ({have[0]}) to match target batch_size ({wanted[0] if wanted else 0})."
        )
    if len(have) == len(wanted) == 2:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported: got {list(wanted)}")
    raise RuntimeError(f"Expected target size {list(have[:axis] + have[axis + 1 :])}, got {list(wanted)}")


def check_classes(target: Core, classes: int, ignore: int | None = None) -> None:
    """Raise IndexError if a class that counts does not exist; the target is read for this."""

    def test(array: Any) -> None:
        if not array.size or (array.min() >= 0 and array.max() < classes):
            return
        wrong = array[((array < 0) | (array >= classes)) & (array != ignore)]
        if wrong.size:
            raise IndexError(f"Target {int(wrong.flat[0])} is out of bounds.")

    check_values(target, test)


def _smoothed(m: Any, x: Any, target: Any, *rest: Any) -> Any:
    """`smoothing` of the loss is spread over all classes."""
    *weights, reduction, ignore, smoothing = rest
    shape = shape_of(x)
    axis = min(1, len(shape) - 1)
    share = along(m, weights[0], shape, axis) if weights else None
    counted = m.ne(target, ignore)
    even = total(m, x if share is None else x * share, (axis,))
    even = m.select(counted, 0 - even, 0)
    named = _nll(m, x, target, *weights, "none", ignore)
    each = (1 - smoothing) * named + (smoothing / shape[axis]) * even
    if reduction != "mean":
        return reduced(m, each, reduction)
    axes = tuple(range(len(shape_of(each))))
    count = converted(m, counted, x.value.type.dtype)
    if share is not None:
        hit = m.and_(m.eq(counting(m, shape, axis), back(m, target, shape, (axis,))), back(m, counted, shape, (axis,)))
        count = total(m, m.select(hit, share, 0), (axis,))
    return total(m, each, axes) / total(m, count, axes)


def _likely(m: Any, x: Any, target: Any, *rest: Any) -> Any:
    """The target says how likely each class is."""
    *weights, reduction, smoothing = rest
    shape = shape_of(x)
    axis = min(1, len(shape) - 1)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / shape[axis]
    product = x * target
    if weights:
        product = product * along(m, weights[0], shape, axis)
    each = -total(m, product, (axis,))
    if reduction == "none":
        return each
    added = total(m, each, tuple(range(len(shape_of(each)))))
    return added / (x.value.type.size / shape[axis]) if reduction == "mean" else added


SMOOTHED = Operation("cross_entropy", "AddBackward0", _smoothed)
LIKELY = {r: Operation("cross_entropy", "DivBackward1" if r == "mean" else "NegBackward0", _likely)
          for r in ("mean", "sum", "none")}


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy` of what `linear_weight` [classes, *sizes, features] makes of `input` [batch, features].

    options   `nn.LinearCrossEntropyOptions`, which make no difference: the logits share kernels with the loss
    """
    if options is not None and not isinstance(options, LinearCrossEntropyOptions):
        got = type(options).__name__
        raise TypeError(f"linear_cross_entropy: options must be nn.LinearCrossEntropyOptions, got {got}")
    if len(size_of(linear_weight)) < 2:
        have = len(size_of(linear_weight))
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {have}")
    classes, *sizes, features = size_of(linear_weight)
    if sizes and len(size_of(input)) < 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(size_of(linear_weight))} requires batched input,"
            f" (N, {features}), got unbatched input with shape {tuple(size_of(input))}"
        )
    rows, given = size_of(input)[:-1], size_of(target)
    if len(rows) > 1:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(rows) + 1}")
    if rows and given and rows[0] != given[0]:
        raise ValueError(f"Expected input batch_size ({rows[0]}) to match target batch_size ({given[0]}).")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    made = linear(input, linear_weight.reshape(-1, features), bias)
    made = made.reshape(*size_of(input)[:-1], classes, *sizes)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        made, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the softmax of `input` at the class `target`, or averaged over how likely classes are."""
    reduction = chosen(reduction, size_average, reduce)
    need_tensor("cross_entropy", "input", input)
    need_tensor("cross_entropy", "target", target)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    have = size_of(input)
    axis = min(1, len(have) - 1)
    logs = log_softmax(input, max(axis, 0))
    weights = () if weight is None else (weight.detach(),)
    if target.is_floating_point():
        if size_of(target) != have:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities of shape {list(have)},"
                f" got {list(size_of(target))}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        _check_weight(weight, have[axis])
        return apply(LIKELY[reduction], (logs, target, *weights), (reduction, real(label_smoothing)))
    if not label_smoothing:
        return nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    _check_sizes(have, size_of(target))
    _check_weight(weight, have[axis])
    check_classes(target, have[axis], ignore_index)
    target = target.reshape(()) if len(have) == 1 else target
    return apply(SMOOTHED, (logs, target.long(), *weights), (reduction, ignore_index, real(label_smoothing)))


def _check_weight(weight: Any, classes: int) -> None:
    if weight is not None and size_of(weight) != (classes,):
        raise RuntimeError(f"cross_entropy: weight tensor should be defined either for all {classes} classes or no"
                           f" classes but got weight tensor of shape: {list(size_of(weight))}")


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "linear_cross_entropy", "nll_loss",
]  # fmt: skip
