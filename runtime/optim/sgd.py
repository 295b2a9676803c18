"""Gradient descent, with momentum and weight decay."""

from __future__ import annotations

from typing import Any

from ..tensor.value.core import wrap
from .formulas import formula
from .optimizer import Optimizer, Plan, alike, move, not_negative, own, plain, way_of


def _sgd(m: Any, p: Any, g: Any, *rest: Any) -> Any:
    """The new parameter and, with momentum, the new velocity."""
    *values, moving, nesterov, first, decaying, sign = rest
    lr, momentum, damping, decay = alike(m, p, values[-4:])
    d = -g if sign else g
    d = d + decay * p if decaying else d
    if not moving:
        return p - lr * d
    velocity = d if first else momentum * values[0] + damping * d
    d = d + momentum * velocity if nesterov else velocity
    return p - lr * d, velocity


class SGD(Optimizer):
    """p - lr * gradient, the gradient averaged over steps by `momentum`."""

    formula = formula("sgd", _sgd)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative(nan=True, lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        way_of(foreach=foreach, differentiable=differentiable, fused=fused)
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, settings)

    def _sparse_step(self, group: dict[str, Any], p: Any, g: Any) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if group["momentum"] != 0 or group["nesterov"]:
            raise NotImplementedError("SGD: momentum of sparse gradients is not supported; use SparseAdam")
        sign = 1 if group["maximize"] else -1
        p.index_add_(0, g._indices()[0], g._values(), alpha=sign * plain(group["lr"]))

    def _step(self, group: dict[str, Any], params: list[Any], grads: list[Any]) -> None:
        if group["momentum"] != 0 or self.is_mixed(group, params):
            super()._step(group, params, grads)
            return
        rate, decay = group["lr"], group["weight_decay"]
        if type(rate) is not float or decay != 0:
            rate, decay = plain(rate), plain(decay)
        choices = False, False, False, decay != 0, group["maximize"]
        # Without momentum nothing is remembered, and one call moves all: by the rate and the decay, each an object of
        # its own; the other two numbers are not used.
        move(self.formula, choices, params, grads, [], own((rate, 0.0, 1.0, decay)))

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        momentum, decay = group["momentum"], plain(group["weight_decay"])
        numbers = (plain(group["lr"]), momentum, 1 - group["dampening"], decay)
        if momentum == 0:
            return Plan((), numbers, (False, False, False, decay != 0, group["maximize"]))
        state = self.state[p]
        first = state.get("momentum_buffer") is None
        if first:
            grad = self.given[id(p)] if self.given else p._grad
            state["momentum_buffer"] = wrap(grad._read())
        choices = (True, group["nesterov"], first, decay != 0, group["maximize"])
        return Plan((state["momentum_buffer"],), numbers, choices)
