"""Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from ..tensor.creation import zeros_like
from ..tensor.fragments import Operation, widen
from .optimizer import Numbers, Optimizer, not_negative, update


def _adam(m: Any, p: Any, g: Any, mean: Any, square: Any, *rest: Any) -> Any:
    """The new parameter and the new averages of the gradient and of its square."""
    *values, decoupled, decaying, sign = rest
    shape = p.value.type.static_shape()
    share, keep, add, step, root, eps, decay = (m(widen(m.b, v.value, shape)) for v in values)
    g = -g if sign else g
    if decaying:
        p, g = (p - decay * p, g) if decoupled else (p, g + decay * p)
    mean = mean + share * (g - mean)
    square = keep * square + add * g * g
    return p - step * (mean / (m.sqrt(square) / root + eps)), mean, square


ADAM_STEP = Operation("adam", "", _adam)


class Adam(Optimizer):
    """Steps of about `lr` in each element, by running averages of the gradient and of its square."""

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        for k, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
        settings = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, settings)

    def _step(self, group: dict[str, Any], params: Sequence[Any]) -> None:
        cache: dict[int, Numbers] = {}
        for p in params:
            state = self.state[p]
            if not state:
                state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            state["step"] += 1
            n = state["step"]
            if n not in cache:
                cache[n] = self._numbers(group, n)
            tensors = [p, p._grad, state["exp_avg"], state["exp_avg_sq"]]
            kind = (self.decoupled, group["weight_decay"] != 0, group["maximize"])
            update(ADAM_STEP, kind, tensors, cache[n])

    def _numbers(self, group: dict[str, Any], n: int) -> Numbers:
        first, second = group["betas"]
        step, decay = group["lr"] / (1 - first**n), group["weight_decay"]
        decay = group["lr"] * decay if self.decoupled else decay
        root = sqrt(1 - second**n)
        return Numbers(1 - first, second, 1 - second, step, root, group["eps"], decay)


class AdamW(Adam):
    """Adam whose weight decay does not pass through the averages."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)
