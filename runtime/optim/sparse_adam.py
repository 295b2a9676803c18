"""Adam for sparse gradients: rows that have none stay as they are, their averages too."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ..sparse.operations import coalesce
from ..tensor.ops.arranging.creation import zeros_like
from .optimizer import Optimizer, not_negative, plain


class SparseAdam(Optimizer):
    """Adam's step of the rows that a sparse gradient names; RuntimeError for a gradient that is not sparse."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        if plain(lr) <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps <= 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        not_negative(lr=lr, eps=eps)
        for k, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _step(self, group: dict[str, Any], params: list[Any], grads: list[Any]) -> None:
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _sparse_step(self, group: dict[str, Any], p: Any, g: Any) -> None:
        state = self.state[p]
        self._undo.append((state, dict(state)))
        if not state:
            state.update(step=0, exp_avg=zeros_like(p.detach()), exp_avg_sq=zeros_like(p.detach()))
        n = state["step"] = state["step"] + 1
        g = coalesce(g)
        at, values = g._indices()[0], -g._values() if group["maximize"] else g._values()
        if not g._nnz():
            return
        first, second = group["betas"]
        mean, square = state["exp_avg"].index_select(0, at), state["exp_avg_sq"].index_select(0, at)
        more, wider = (values - mean) * (1 - first), (values * values - square) * (1 - second)
        state["exp_avg"].index_add_(0, at, more)
        state["exp_avg_sq"].index_add_(0, at, wider)
        rate = plain(group["lr"]) * sqrt(1 - second**n) / (1 - first**n)
        step = (more + mean) / ((wider + square).sqrt() + group["eps"])
        p.index_add_(0, at, step * -rate)
