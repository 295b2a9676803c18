"""What losses have in common: how they are folded, their arguments of old, and the checks of their sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ....compiler.ir.symint import real
from ...tensor.ops.folds.reductions import back
from ...tensor.trace.fragments.fragments import Operation, Rule
from ...tensor.trace.tape import unrepeatable
from ...tensor.value.core import Core, apply
from ...tensor.value.promotion import common_shape
from .terms import Shape, need_tensor, shape_of, size_of, total

REDUCTIONS = ("mean", "sum", "none")
FOLDS = {"mean": "MeanBackward0", "sum": "SumBackward0"}
"""What the gradient of a loss is called whose last step is a plain mean or sum."""


def checked_reduction(reduction: str) -> str:
    """`reduction`, if it is one."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: use mean, sum or none")
    return reduction


def chosen(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction, which old programs say by two flags."""
    if size_average is None and reduce is None:
        return checked_reduction(reduction)
    average = size_average is None or size_average
    said = "none" if reduce is False else "mean" if average else "sum"
    unrepeatable()
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{said}' instead.",
                  stacklevel=3)
    return said


def reduced(m: Any, x: Any, reduction: str) -> Any:
    """All elements folded, as the reduction says."""
    if reduction == "none":
        return x
    added = total(m, x, tuple(range(len(shape_of(x)))))
    return added / real(x.value.type.size) if reduction == "mean" else added


def unreduced(m: Any, ct: Any, shape: Shape, reduction: str) -> Any:
    """The cotangent of every element, given that of the folded result."""
    if reduction == "none":
        return ct
    size = 1.0
    for n in shape:
        size *= n
    ct = ct / size if reduction == "mean" else ct
    return back(m, ct, shape, tuple(range(len(shape))))


class Loss:
    """A formula of tensors of one shape and of plain numbers, folded.

    node   what the gradient is called, or what it is for each reduction
    """

    def __init__(
        self, name: str, node: str | dict[str, str], formula: Callable[..., Any], rule: Rule = "float"
    ) -> None:
        def emit(m: Any, *args: Any) -> Any:
            return reduced(m, formula(m, *args[:-1]), args[-1])

        nodes = node if isinstance(node, dict) else dict.fromkeys(REDUCTIONS, node)
        self.operations = {r: Operation(name, nodes[r], emit, rule, True) for r in REDUCTIONS}
        self.name = name

    def __call__(self, tensors: tuple[Any, ...], reduction: str, *attributes: Any) -> Any:
        for k, x in enumerate(tensors):
            need_tensor(self.name, ("input", "target", "weight")[min(k, 2)], x)
        return apply(self.operations[reduction], tensors, (*attributes, reduction))


def warn_if_broadcast(input: Core, target: Core) -> None:
    """Warn where the target has another shape; raise where it does not fit at all."""
    need_tensor("loss", "input", input)
    need_tensor("loss", "target", target)
    a, b = size_of(input), size_of(target)
    if a != b:
        unrepeatable()
        warnings.warn(
            f"Using a target size (torch.Size({list(b)})) that is different to the input size"
            f" (torch.Size({list(a)})). This will likely lead to incorrect results due to broadcasting."
            " Please ensure they have the same size.",
            stacklevel=4,
        )
        common_shape([a, b])
