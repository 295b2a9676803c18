"""Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ..tensor.ops.arranging.creation import zeros_like
from ..tensor.value.core import Core
from .formulas import formula
from .optimizer import Optimizer, Plan, alike, fractions, move, not_negative, own, plain, way_of


def _adam(m: Any, p: Any, g: Any, mean: Any, square: Any, *rest: Any) -> Any:
    """The new parameter and the new averages of the gradient and of its square; with `amsgrad` the largest square."""
    *values, decoupled, decaying, amsgrad, sign = rest
    share, keep, add, step, root, eps, decay = alike(m, p, values[-7:])
    g = -g if sign else g
    if decaying:
        p, g = (p - decay * p, g) if decoupled else (p, g + decay * p)
    mean = mean + share * (g - mean)
    square = keep * square + add * g * g
    if not amsgrad:
        return p - step * (mean / (m.sqrt(square) / root + eps)), mean, square
    most = m.maximum(values[0], square)
    return p - step * (mean / (m.sqrt(most) / root + eps)), mean, square, most


class Adam(Optimizer):
    """Steps of about `lr` in each element, by running averages of the gradient and of its square.

    With `amsgrad` (Reddi, Kale and Kumar, 2018) by the largest such average of squares so far.
    """

    formula = formula("adam", _adam)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps)
        fractions(betas)
        not_negative(weight_decay=weight_decay)
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Core)):
            raise ValueError(f"betas must be either both floats or both Tensors, got {betas}")
        if foreach and not capturable and any(isinstance(x, Core) for x in (lr, *betas)):
            raise ValueError("lr or betas as a Tensor is not supported for capturable=False and foreach=True")
        way_of(foreach=foreach, differentiable=differentiable, fused=fused)
        settings = {
            "lr": lr,
            "betas": tuple(map(plain, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, settings)

    def _step(self, group: dict[str, Any], params: list[Any], grads: list[Any]) -> None:
        states = [self.state[p] for p in params]
        age, amsgrad, remembered = states[0].get("step", -1), group["amsgrad"], []
        mixed = self.is_mixed(group, params)
        for state in states:
            if age < 0 or mixed or state.get("step") != age:
                super()._step(group, params, grads)
                return
            remembered += self._remembered(group, state) if amsgrad else (state["exp_avg"], state["exp_avg_sq"])
        n = age + 1
        self._undo += [(state, dict(state)) for state in states]
        for state in states:
            state["step"] = n
        move(self.formula, self._choices(group), params, grads, remembered, self._numbers(group, n))

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        n = state["step"] = state["step"] + 1
        return Plan(self._remembered(group, state), tuple(self._numbers(group, n)), self._choices(group))

    def _remembered(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[Any, ...]:
        both = state["exp_avg"], state["exp_avg_sq"]
        return (*both, state["max_exp_avg_sq"]) if group["amsgrad"] else both

    def _numbers(self, group: dict[str, Any], n: int) -> list[float]:
        """The numbers of step `n`, each an object of its own."""
        first, second = group["betas"]
        rate, decay = plain(group["lr"]), group["weight_decay"]
        return own((
            1.0 - first,
            second,
            1.0 - second,
            rate / (1.0 - first**n),
            sqrt(1.0 - second**n),
            group["eps"],
            rate * decay if group["decoupled_weight_decay"] else decay,
        ))

    def _choices(self, group: dict[str, Any]) -> tuple[bool, ...]:
        return group["decoupled_weight_decay"], group["weight_decay"] != 0, group["amsgrad"], group["maximize"]


class AdamW(Adam):
    """Adam whose weight decay does not pass through the averages."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
