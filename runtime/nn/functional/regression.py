"""Losses of numbers: squared, absolute and in between, and likelihoods of counts and of normal numbers."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import full_like
from ...tensor.ops.elementwise.elementary import size_of_each
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.trace.tape import unrepeatable
from ...tensor.value.core import Core, apply
from ...tensor.value.given import real
from .losing import FOLDS, Loss, chosen, reduced, warn_if_broadcast
from .terms import need_tensor, shape_of, size_of, total


def _smooth(m: Any, x: Any, y: Any, beta: float) -> Any:
    away = x - y
    size = m.abs(away)
    return m.select(m.lt(size, beta), away * away * (0.5 / beta), size - 0.5 * beta)


def _huber(m: Any, x: Any, y: Any, delta: float) -> Any:
    away = x - y
    size = m.abs(away)
    return m.select(m.lt(size, delta), away * away * 0.5, (size - 0.5 * delta) * delta)


def _poisson(m: Any, x: Any, y: Any, logarithm: bool, full: bool, eps: float) -> Any:
    loss = m.exp(x) - y * x if logarithm else x - y * m.log(x + eps)
    if not full:
        return loss
    large = m.gt(y, 1)
    safe = m.select(large, y, 1)
    return loss + m.select(large, safe * m.log(safe) - safe + 0.5 * m.log(safe * (2 * math.pi)), 0)


def _gaussian(m: Any, x: Any, y: Any, var: Any, full: bool, eps: float) -> Any:
    loss = 0.5 * (m.log(var) + (x - y) * (x - y) / var)
    return loss + 0.5 * math.log(2 * math.pi) if full else loss


def _kl(m: Any, x: Any, y: Any, logarithm: bool) -> Any:
    """y (log y - x), or 0 where y is 0."""
    if logarithm:
        return m.exp(y) * (y - x)
    nothing = m.eq(y, 0)
    return m.select(nothing, 0 * y, y * m.log(m.select(nothing, 1, y))) - y * x


MSE = Loss("mse_loss", "MseLossBackward0", lambda m, x, y: (x - y) * (x - y))
L1 = Loss("l1_loss", {**FOLDS, "none": "AbsBackward0"}, lambda m, x, y: size_of_each(m, x - y), "common")
SMOOTH = Loss("smooth_l1_loss", "SmoothL1LossBackward0", _smooth)
HUBER = Loss("huber_loss", "HuberLossBackward0", _huber)
POISSON = {
    full: Loss("poisson_nll_loss", {**FOLDS, "none": node}, _poisson)
    for full, node in ((False, "SubBackward0"), (True, "AddBackward0"))
}
GAUSSIAN = Loss("gaussian_nll_loss", {**FOLDS, "none": "MulBackward0"}, _gaussian)
KL = {
    logarithm: Loss("kl_div", {**FOLDS, "none": node}, _kl)
    for logarithm, node in ((False, "SubBackward0"), (True, "MulBackward0"))
}


def _weighted(m: Any, each: Any, weight: Any, reduction: str, by_weight: bool) -> Any:
    if reduction != "mean" or not by_weight:
        return reduced(m, each * weight, reduction)
    axes = tuple(range(len(shape_of(each))))
    return total(m, each * weight, axes) / total(m, weight, axes)


WEIGHTED = {
    (reduction, by_weight): Operation("weighted_loss", node, _weighted, "float", True)
    for by_weight, mean in ((True, "DivBackward0"), (False, "MeanBackward0"))
    for reduction, node in (("mean", mean), ("sum", "SumBackward0"), ("none", "MulBackward0"))
}


def _maybe_weighted(loss: Loss, input: Any, target: Any, weight: Any, reduction: str, *attributes: Any) -> Tensor:
    warn_if_broadcast(input, target)
    if weight is None:
        return loss((input, target), reduction, *attributes)
    if size_of(weight) != size_of(input):
        raise ValueError(f"{loss.name}: weights and input must have the same size, got {size_of(weight)}")
    # Huber's mean is over all elements, the others' over all weights: PyTorch has it so.
    each = loss((input, target), "none", *attributes)
    return apply(WEIGHTED[reduction, loss is not HUBER], (each, weight), (reduction, loss is not HUBER))


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of squared differences."""
    return _maybe_weighted(MSE, input, target, weight, chosen(reduction, size_average, reduce))


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of absolute differences."""
    return _maybe_weighted(L1, input, target, weight, chosen(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Squares below beta, divided by 2 beta, and absolute differences above."""
    warn_if_broadcast(input, target)
    reduction = chosen(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    return SMOOTH((input, target), reduction, real(beta)) if beta else L1((input, target), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half squares below delta, and delta times absolute differences above."""
    if isinstance(delta, complex):
        raise TypeError("huber_loss(): argument 'delta' (position 4) must be float, not complex")
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    return _maybe_weighted(HUBER, input, target, weight, chosen(reduction), real(delta))


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-likelihood of counts, given their expectation or its logarithm."""
    reduction = chosen(reduction, size_average, reduce)
    return POISSON[bool(full)]((input, target), reduction, bool(log_input), bool(full), eps)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the log-likelihood of normal numbers, given expectation and variance."""
    need_tensor("gaussian_nll_loss", "input", input)
    if isinstance(var, float):
        if var < 0:
            raise ValueError(f"var has negative entry/entries: {var}")
        var = full_like(input, var)
    elif (var.detach() < 0).any():
        raise ValueError("var has negative entry/entries")
    var = _fitting(input, var)
    chosen(reduction)
    # The bound holds for the value only: the gradient passes, so that a variance can leave it.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    return GAUSSIAN((input, target, var), reduction, bool(full), eps)


def _fitting(input: Core, var: Any) -> Any:
    have, wanted = size_of(var), size_of(input)
    if have == wanted or (have == (1,) and not wanted):
        return var
    if wanted[:-1] == have:
        return var.unsqueeze(-1)
    if have[:-1] == wanted[:-1] and have[-1:] == (1,):
        return var
    if len(have) == len(wanted) and all(n in (1, k) for n, k in zip(have, wanted, strict=True)):
        return var
    raise ValueError(f"var is of incorrect size: {list(have)} for an input of {list(wanted)}")


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The Kullback-Leibler divergence of the distribution `target` from log-probabilities `input`."""
    if reduction == "batchmean" and size_average is None and reduce is None:
        need_tensor("kl_div", "input", input)
        shape = size_of(input)
        made = KL[bool(log_target)]((input, target), "sum", bool(log_target))
        return made / shape[0] if shape else made
    reduction = chosen(reduction, size_average, reduce)
    if reduction == "mean":
        unrepeatable()
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean'"
            " divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=2,
        )
    return KL[bool(log_target)]((input, target), reduction, bool(log_target))


__all__ = [
    "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip
