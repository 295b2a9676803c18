"""ASGD (Polyak and Juditsky, 1992) averages the parameters; Rprop (Riedmiller and Braun, 1993) looks at signs only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor.ops.arranging.creation import full_like, zeros_like
from .formulas import formula, in_each_part
from .optimizer import Optimizer, Plan, alike, not_negative, plain, way_of


def _asgd(m: Any, p: Any, g: Any, average: Any, *rest: Any) -> Any:
    *values, averaging, decaying, sign = rest
    eta, shrink, share, decay = alike(m, p, values)
    g = -g if sign else g
    g = g + decay * p if decaying else g
    p = p * shrink - eta * g
    return p, average + (p - average) * share if averaging else p


class ASGD(Optimizer):
    """Gradient descent with fading steps; `state[p]["ax"]` is the average of p from step `t0` on."""

    formula = formula("asgd", _asgd)
    scalars = ("step", "eta", "mu")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        not_negative(lr=lr, weight_decay=weight_decay)
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state, rate = self.state[p], plain(group["lr"])
        if not state:
            state.update(step=0, eta=np.float32(rate), mu=np.float32(1), ax=zeros_like(p))
        state["step"] += 1
        eta, mu, decay = float(state["eta"]), float(state["mu"]), group["weight_decay"]
        numbers = (eta, 1 - group["lambd"] * eta, mu, decay)
        # In single precision, as PyTorch has it, in a tensor of the parameter's dtype once it has been loaded.
        following = np.float32(rate / (1 + group["lambd"] * rate * state["step"]) ** group["alpha"])
        state["eta"] = type(state["eta"])(following)
        state["mu"] = type(state["mu"])(np.float32(1 / max(1, state["step"] - group["t0"])))
        return Plan((state["ax"],), numbers, (mu != 1, decay != 0, group["maximize"]))


def _rprop(m: Any, p: Any, g: Any, before: Any, size: Any, *rest: Any) -> Any:
    *values, sign = rest
    less, more, least, most = alike(m, p, values)
    g = -g if sign else g
    turned = g * before
    size = size * m.select(m.gt(turned, 0), more, m.select(m.lt(turned, 0), less, 1.0))
    size = m.minimum(m.maximum(size, least), most)
    g = m.select(m.lt(turned, 0), 0.0, g)
    return p - m.sign(g) * size, g, size


class Rprop(Optimizer):
    """Steps of a size for each element, which grows while the gradient keeps its sign and shrinks when it turns."""

    formula = formula("rprop", _rprop)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        way_of(foreach=foreach, differentiable=differentiable)
        settings = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        state = self.state[p]
        if not state:
            state.update(step=0, prev=zeros_like(p), step_size=full_like(p, in_each_part(plain(group["lr"]), p)))
        state["step"] += 1
        numbers = (*group["etas"], *group["step_sizes"])
        return Plan((state["prev"], state["step_size"]), numbers, (group["maximize"],))
