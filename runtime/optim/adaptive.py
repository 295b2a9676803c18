"""Optimisers that scale each element's step by the gradients it has had: RMSprop, Adagrad, Adadelta."""

from __future__ import annotations

from typing import Any

from ..sparse.operations import coalesce
from ..tensor.ops.arranging.creation import full_like, zeros_like
from .formulas import formula, in_each_part
from .optimizer import Optimizer, Plan, alike, not_negative, plain, way_of


def _rmsprop(m: Any, p: Any, g: Any, square: Any, *rest: Any) -> Any:
    *values, centred, moving, decaying, sign = rest
    rate, keep, add, eps, decay, momentum = alike(m, p, values[-6:])
    held = list(values[:-6])
    g = -g if sign else g
    g = g + decay * p if decaying else g
    square = keep * square + add * g * g
    new = [square]
    spread = square
    if centred:
        mean = held.pop(0)
        mean = mean + add * (g - mean)
        spread = square - mean * mean
        new.append(mean)
    d = g / (m.sqrt(spread) + eps)
    if moving:
        d = momentum * held.pop(0) + d
        new.append(d)
    return p - rate * d, *new


class RMSprop(Optimizer):
    """Steps by the gradient over the root of a running average of its square (Hinton, 2012).

    With `centered` over the root of an estimate of its variance.
    """

    formula = formula("rmsprop", _rmsprop)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state, moving, centred = self.state[p], group["momentum"] > 0, group["centered"]
        if not state:
            state.update(step=0, square_avg=zeros_like(p))
            state.update({"momentum_buffer": zeros_like(p)} if moving else {})
            state.update({"grad_avg": zeros_like(p)} if centred else {})
        state["step"] += 1
        alpha, decay = group["alpha"], group["weight_decay"]
        numbers = (plain(group["lr"]), alpha, 1 - alpha, group["eps"], decay, group["momentum"])
        names = ["square_avg", *(["grad_avg"] if centred else []), *(["momentum_buffer"] if moving else [])]
        choices = (centred, moving, decay != 0, group["maximize"])
        return Plan(tuple([state[name] for name in names]), numbers, choices)


def _adagrad(m: Any, p: Any, g: Any, total: Any, *rest: Any) -> Any:
    *values, decaying, sign = rest
    rate, eps, decay = alike(m, p, values)
    g = -g if sign else g
    g = g + decay * p if decaying else g
    total = total + g * g
    return p - rate * (g / (m.sqrt(total) + eps)), total


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of its squares (Duchi, Hazan and Singer, 2011)."""

    formula = formula("adagrad", _adagrad)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay)
        not_negative(initial_accumulator_value=initial_accumulator_value, eps=eps)
        way_of(foreach=foreach, differentiable=differentiable, fused=fused)
        settings = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, settings)
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(group, p)

    def _begin(self, group: dict[str, Any], p: Any) -> None:
        self.state[p] = {"step": 0, "sum": full_like(p, in_each_part(group["initial_accumulator_value"], p))}

    def _next(self, group: dict[str, Any], p: Any) -> tuple[dict[str, Any], float]:
        """The state of a parameter, one step on, and the rate of that step."""
        if not self.state[p]:
            self._begin(group, p)
        state = self.state[p]
        state["step"] += 1
        return state, plain(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])

    def _sparse_step(self, group: dict[str, Any], p: Any, g: Any) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        self._undo.append((self.state[p], dict(self.state[p])))
        state, rate = self._next(group, p)
        g = coalesce(g)
        at, values = g._indices()[0], -g._values() if group["maximize"] else g._values()
        if g.sparse_dim() != 1:
            raise NotImplementedError("Adagrad: sparse gradients name rows, as those of embeddings do; use to_dense()")
        state["sum"].index_add_(0, at, values * values)
        p.index_add_(0, at, values / (state["sum"].index_select(0, at).sqrt() + group["eps"]), alpha=-rate)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        (state, rate), decay = self._next(group, p), group["weight_decay"]
        return Plan((state["sum"],), (rate, group["eps"], decay), (decay != 0, group["maximize"]))


def _adadelta(m: Any, p: Any, g: Any, square: Any, moved: Any, *rest: Any) -> Any:
    *values, decaying, sign = rest
    rate, keep, add, eps, decay = alike(m, p, values)
    g = -g if sign else g
    g = g + decay * p if decaying else g
    square = keep * square + add * g * g
    d = m.sqrt(moved + eps) / m.sqrt(square + eps) * g
    return p - rate * d, square, keep * moved + add * d * d


class Adadelta(Optimizer):
    """Steps in the unit of the parameter: by running averages of squares of steps and gradients (Zeiler, 2012)."""

    formula = formula("adadelta", _adadelta)

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr)
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        not_negative(eps=eps, weight_decay=weight_decay)
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state = self.state[p]
        if not state:
            state.update(step=0, square_avg=zeros_like(p), acc_delta=zeros_like(p))
        state["step"] += 1
        rho, decay = group["rho"], group["weight_decay"]
        numbers = (plain(group["lr"]), rho, 1 - rho, group["eps"], decay)
        return Plan((state["square_avg"], state["acc_delta"]), numbers, (decay != 0, group["maximize"]))
