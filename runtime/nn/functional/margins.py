"""Losses that want a distance between right and wrong: hinges, rankings, triplets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import ones
from ...tensor.ops.elementwise.arithmetic import clamped
from ...tensor.ops.folds.reductions import back, converted
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import Core, apply, requires
from ...tensor.value.given import real
from .distances import pairwise_distance
from .losing import FOLDS, Loss, chosen, reduced
from .terms import along, counting, listed, need_tensor, shape_of, size_of, total

EPSILON = 1e-12


def _at_least_zero(m: Any, x: Any) -> Any:
    """PyTorch's clamp: a gradient passes where x is 0, and none where it is NaN."""
    return clamped(m, x, m.number(0.0, x.value.type), None)


def _hinge(m: Any, x: Any, y: Any, margin: float) -> Any:
    return m.select(m.ne(y, 1), _at_least_zero(m, margin - x), 0) + m.select(m.ne(y, -1), x, 0)


def _ranking(m: Any, first: Any, second: Any, y: Any, margin: float) -> Any:
    return _at_least_zero(m, -y * (first - second) + margin)


def _soft_margin(m: Any, x: Any, y: Any) -> Any:
    return m.log1p(m.exp(-y * x))


def _cosine(m: Any, x: Any, other: Any, y: Any, margin: float, reduction: str) -> Any:
    axis = (len(shape_of(x)) - 1,)
    product = total(m, x * other, axis)
    sizes = (total(m, x * x, axis) + EPSILON) * (total(m, other * other, axis) + EPSILON)
    cosine = product / m.sqrt(sizes)
    y = converted(m, y, x.value.type.dtype)
    like, unlike = m.select(m.eq(y, 1), 1 - cosine, 0), m.select(m.eq(y, -1), _at_least_zero(m, cosine - margin), 0)
    return reduced(m, like + unlike, reduction)


def _triplet(m: Any, near: Any, far: Any, margin: float) -> Any:
    return _at_least_zero(m, near - far + margin)


HINGE = Loss("hinge_embedding_loss", {**FOLDS, "none": "AddBackward0"}, _hinge)
RANKING = Loss("margin_ranking_loss", {**FOLDS, "none": "ClampMinBackward0"}, _ranking)
SOFT_MARGIN = Loss("soft_margin_loss", "SoftMarginLossBackward0", _soft_margin)
COSINE = {
    r: Operation("cosine_embedding_loss", n, _cosine, "float") for r, n in {**FOLDS, "none": "AddBackward0"}.items()
}
TRIPLET = Loss("triplet_margin_loss", {**FOLDS, "none": "ClampMinBackward0"}, _triplet)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """x where the target is 1, max(0, margin - x) where it is -1."""
    return HINGE((input, target), chosen(reduction, size_average, reduce), real(margin))


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """log(1 + exp(-y x)) for targets 1 and -1."""
    if isinstance(target, Core) and requires(target):
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument 'target';"
            " this input cannot have requires_grad True. Pass target.detach()."
        )
    return SOFT_MARGIN((input, target), chosen(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -y (x1 - x2) + margin): the first should be larger where y is 1, smaller where it is -1."""
    reduction = chosen(reduction, size_average, reduce)
    given = (input1, input2, target)
    for name, x in zip(("input1", "input2", "target"), given, strict=True):
        need_tensor("margin_ranking_loss", name, x)
    if len({len(size_of(x)) for x in given}) > 1:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            + ", ".join(map(listed, given))
        )
    return RANKING(given, reduction, real(margin))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    reduction = chosen(reduction, size_average, reduce)
    rank = len(size_of(target))
    if rank not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if any(len(size_of(x)) != rank + 1 for x in (input1, input2)):
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes"
            f" {listed(input1)} and {listed(input2)}."
        )
    return apply(COSINE[reduction], (input1, input2, target), (real(margin), reduction))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin + |anchor - positive| - |anchor - negative|)."""
    reduction = chosen(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _same_rank("triplet_margin_loss", anchor, positive, negative)
    return _triplets(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The same with a distance of one's own."""
    chosen(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _same_rank("triplet_margin_with_distance_loss", anchor, positive, negative)
    return _triplets(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def _same_rank(name: str, *given: Core) -> None:
    ranks = [len(size_of(x)) for x in given]
    if len(set(ranks)) > 1:
        raise RuntimeError(f"{name}: the anchor, positive, and negative tensors are expected to have the same number"
                           f" of dimensions, but got: {', '.join(f'{r}D' for r in ranks)}")


def _triplets(
    anchor: Any, positive: Any, negative: Any, distance: Callable[..., Any], margin: float, swap: bool, reduction: str
) -> Any:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return TRIPLET((near, far), reduction, real(margin))


# ---- margins between classes


def _multi_margin(m: Any, x: Any, target: Any, *rest: Any) -> Any:
    *weights, p, margin, reduction = rest
    shape = shape_of(x)
    hit = m.eq(counting(m, shape, 1), back(m, target, shape, (1,)))
    right = back(m, total(m, m.select(hit, x, 0), (1,)), shape, (1,))
    short = _at_least_zero(m, margin - right + x)
    each = short * short if p == 2 else short
    if weights:
        share = total(m, m.select(hit, along(m, weights[0], shape, 1), 0), (1,))
        each = each * back(m, share, shape, (1,))
    return reduced(m, total(m, m.select(hit, 0, each), (1,)) / float(shape[1]), reduction)


MULTI_MARGIN = Operation("multi_margin_loss", "MultiMarginLossBackward0", _multi_margin)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over the wrong classes of max(0, margin - x[right] + x[wrong]) ** p."""
    reduction = chosen(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(size_of(weight)) != 1:
        raise ValueError(f"multi_margin_loss: weight must be one-dimensional, got {listed(weight)}")
    shape, wanted = size_of(input), size_of(target)
    rows = shape[0] if len(shape) == 2 else 1
    if len(shape) > 2 or not input._kind_of().size or wanted != ((rows,) if len(shape) == 2 else wanted):
        raise RuntimeError(
            f"multi_margin_loss: expected non-empty vector or matrix and one target for each row, got {list(shape)}"
            f" and {list(wanted)}"
        )
    if target._kind_of().dtype != "i64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}")
    if weight is not None and size_of(weight) != (shape[-1] if shape else 1,):
        raise RuntimeError(f"inconsistent weight size: expected {shape[-1] if shape else 1} but got {listed(weight)}")
    columns = shape[-1] if shape else 1
    _check_targets(target, columns)
    weights = () if weight is None else (weight.detach(),)
    made = apply(MULTI_MARGIN, (input.reshape(rows, columns), target.reshape(rows), *weights),
                 (int(p), real(margin), reduction))
    return made.reshape(wanted) if reduction == "none" and len(shape) < 2 else made


def _check_targets(target: Core, columns: int, lowest: int = 0) -> None:
    array = target._array()
    if array.size and (array.min() < lowest or array.max() >= columns):
        raise RuntimeError(f"target out of range: classes are {lowest} to {columns - 1}")


def _labels(m: Any, target: Any) -> tuple[Any, Any]:
    """[n, j, c]: whether the j-th entry before the first -1 names class c; and [n, c]: whether any does."""
    n, c = shape_of(target)
    cube = (n, c, c)
    negative = converted(m, m.lt(target, 0), "i64")
    before = m.le(counting(m, cube, 2), counting(m, cube, 1))
    ended = total(m, m.select(before, back(m, negative, cube, (1,)), 0), (2,))
    valid = m.eq(ended, 0)
    named = m.and_(m.eq(back(m, target, cube, (2,)), counting(m, cube, 2)), back(m, valid, cube, (2,)))
    return named, m.gt(total(m, converted(m, named, "i64"), (1,)), 0)


def _multilabel(m: Any, x: Any, target: Any, reduction: str) -> Any:
    n, c = shape_of(x)
    cube = (n, c, c)
    named, right = _labels(m, target)
    counted = m.gt(total(m, converted(m, named, "i64"), (2,)), 0)
    value = total(m, m.select(named, back(m, x, cube, (1,)), 0), (2,))
    short = _at_least_zero(m, 1 - back(m, value, cube, (2,)) + back(m, x, cube, (1,)))
    asked = m.and_(back(m, counted, cube, (2,)), m.not_(back(m, right, cube, (1,))))
    return reduced(m, total(m, m.select(asked, short, 0), (1, 2)) / float(c), reduction)


MULTILABEL = Operation("multilabel_margin_loss", "MultilabelMarginLossBackward0", _multilabel)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Margins between each right class and each wrong one; the right ones stand before the first -1."""
    reduction = chosen(reduction, size_average, reduce)
    shape = size_of(input)
    if size_of(target) != shape or len(shape) > 2 or not input._kind_of().size:
        raise RuntimeError(
            f"multilabel_margin_loss: expected a non-empty vector or matrix and a target of its size, got {list(shape)}"
            f" and {listed(target)}"
        )
    rows = shape[0] if len(shape) == 2 else 1
    _check_targets(target, shape[-1] if shape else 1, -1)
    flat = (rows, shape[-1] if shape else 1)
    made = apply(MULTILABEL, (input.reshape(flat), target.reshape(flat)), (reduction,))
    return made.reshape(()) if len(shape) < 2 else made


def _soft_labels(m: Any, x: Any, y: Any, w: Any, reduction: str) -> Any:
    each = (y * m.softplus(-x) + (1 - y) * m.softplus(x)) * w
    shape = shape_of(x)
    return reduced(m, total(m, each, (len(shape) - 1,)) / float(shape[-1]), reduction)


SOFT_LABELS = {
    r: Operation("multilabel_soft_margin_loss", n, _soft_labels, "float", True)
    for r, n in {**FOLDS, "none": "DivBackward0"}.items()
}


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over classes of the cross entropy of whether each applies, from logits."""
    reduction = chosen(reduction, size_average, reduce)
    one = ones((), dtype=input.dtype) if weight is None else weight
    return apply(SOFT_LABELS[reduction], (input, target, one), (reduction,))


__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip
