"""Adam's relatives: Adamax (Kingma and Ba, 2015), NAdam (Dozat, 2016) and RAdam (Liu et al., 2020)."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ..tensor.ops.arranging.creation import zeros_like
from .formulas import formula
from .optimizer import Optimizer, Plan, alike, fractions, not_negative, plain, way_of


def _adamax(m: Any, p: Any, g: Any, mean: Any, most: Any, *rest: Any) -> Any:
    *values, decaying, sign = rest
    share, keep, rate, eps, decay = alike(m, p, values)
    g = -g if sign else g
    g = g + decay * p if decaying else g
    mean = mean + share * (g - mean)
    most = m.maximum(keep * most, m.abs(g) + eps)
    return p - rate * (mean / most), mean, most


class Adamax(Optimizer):
    """Adam with a fading maximum of the gradient's size in place of the average of its square."""

    formula = formula("adamax", _adamax)

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps)
        fractions(betas)
        not_negative(weight_decay=weight_decay)
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_inf=zeros_like(p))
        state["step"] += 1
        first, second = group["betas"]
        rate, decay = plain(group["lr"]) / (1 - first ** state["step"]), group["weight_decay"]
        numbers = (1 - first, second, rate, group["eps"], decay)
        return Plan((state["exp_avg"], state["exp_inf"]), numbers, (decay != 0, group["maximize"]))


def _moments(m: Any, p: Any, g: Any, mean: Any, square: Any, values: Any, choices: Any) -> Any:
    """The parameter and the gradient after weight decay, and both averages."""
    share, keep, add, decay = values
    decaying, decoupled, sign = choices
    g = -g if sign else g
    if decaying:
        p, g = (p * decay, g) if decoupled else (p, g + decay * p)
    return p, g, mean + share * (g - mean), keep * square + add * g * g


def _nadam(m: Any, p: Any, g: Any, mean: Any, square: Any, *rest: Any) -> Any:
    *values, decaying, decoupled, sign = rest
    *shares, spread, eps, now, ahead = alike(m, p, values)
    p, g, mean, square = _moments(m, p, g, mean, square, shares, (decaying, decoupled, sign))
    below = m.sqrt(square / spread) + eps
    return p - now * (g / below) - ahead * (mean / below), mean, square


class NAdam(Optimizer):
    """Adam with Nesterov's momentum, which `momentum_decay` lets grow over the steps."""

    formula = formula("nadam", _nadam)
    scalars = ("step", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps)
        fractions(betas)
        not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state = self.state[p]
        if not state:
            state.update(step=0, mu_product=np.float32(1), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        n = state["step"] = state["step"] + 1
        first, second = group["betas"]
        rate, fading = plain(group["lr"]), group["momentum_decay"]
        now, ahead = (first * (1 - 0.5 * 0.96 ** (k * fading)) for k in (n, n + 1))
        # PyTorch keeps the product in a tensor of single precision, but of the parameter's once it has been loaded.
        state["mu_product"] = state["mu_product"] * type(state["mu_product"])(now)
        product = float(state["mu_product"])
        numbers = (
            *_shares(group),
            1 - second**n,
            group["eps"],
            rate * (1 - now) / (1 - product),
            rate * ahead / (1 - product * ahead),
        )
        return Plan((state["exp_avg"], state["exp_avg_sq"]), numbers, _choices(group))


def _shares(group: dict[str, Any]) -> tuple[float, ...]:
    """The numbers of both averages, and of the decay."""
    first, second = group["betas"]
    decay = group["weight_decay"]
    decay = 1 - plain(group["lr"]) * decay if group["decoupled_weight_decay"] else decay
    return 1 - first, second, 1 - second, decay


def _choices(group: dict[str, Any]) -> tuple[bool, ...]:
    return group["weight_decay"] != 0, group["decoupled_weight_decay"], group["maximize"]


def _radam(m: Any, p: Any, g: Any, mean: Any, square: Any, *rest: Any) -> Any:
    *values, rectified, decaying, decoupled, sign = rest
    *shares, eps, rate = alike(m, p, values)
    p, g, mean, square = _moments(m, p, g, mean, square, shares, (decaying, decoupled, sign))
    d = rate * mean
    return p - (d / (m.sqrt(square) + eps) if rectified else d), mean, square


class RAdam(Optimizer):
    """Adam that divides by the average of squares only once enough of them are in it."""

    formula = formula("radam", _radam)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps)
        fractions(betas)
        not_negative(weight_decay=weight_decay)
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        n = state["step"] = state["step"] + 1
        first, second = group["betas"]
        rate, spread = plain(group["lr"]) / (1 - first**n), 1 - second**n
        longest = 2 / (1 - second) - 1
        length = longest - 2 * n * second**n / spread
        rectified = length > 5
        if rectified:
            share = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            rate *= sqrt(spread) * sqrt(share)
        numbers = (*_shares(group), group["eps"], rate)
        return Plan((state["exp_avg"], state["exp_avg_sq"]), numbers, (rectified, *_choices(group)))
