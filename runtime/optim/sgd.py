"""Gradient descent, with momentum and weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor.core import wrap
from ..tensor.fragments import Operation, widen
from .optimizer import Numbers, Optimizer, not_negative, update


def _number(m: Any, x: Any, like: Any) -> Any:
    return m(widen(m.b, x.value, like.value.type.static_shape()))


def _sgd(m: Any, p: Any, g: Any, *rest: Any) -> Any:
    """The new parameter and, with momentum, the new velocity."""
    *values, moving, nesterov, first, decaying, sign = rest
    lr, momentum, damping, decay = (_number(m, v, p) for v in values[-4:])
    d = -g if sign else g
    d = d + decay * p if decaying else d
    if not moving:
        return p - lr * d
    velocity = d if first else momentum * values[0] + damping * d
    d = d + momentum * velocity if nesterov else velocity
    return p - lr * d, velocity


SGD_STEP = Operation("sgd", "", _sgd)


class SGD(Optimizer):
    """p - lr * gradient, the gradient averaged over steps by `momentum`."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def _step(self, group: dict[str, Any], params: Sequence[Any]) -> None:
        moving = group["momentum"] != 0
        numbers = Numbers(
            group["lr"], group["momentum"], 1 - group["dampening"], group["weight_decay"]
        )
        for p in params:
            state, tensors = self.state[p], [p, p._grad]
            first = moving and state.get("momentum_buffer") is None
            if first:
                state["momentum_buffer"] = wrap(p._grad._read())
            if moving:
                tensors.append(state["momentum_buffer"])
            decaying = group["weight_decay"] != 0
            kind = (moving, group["nesterov"], first, decaying, group["maximize"])
            update(SGD_STEP, kind, tensors, numbers)
