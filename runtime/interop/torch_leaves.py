"""torch.Tensors as arguments of compiled functions.

    slope = pullback.grad(f)
    slope(torch.ones(3, dtype=torch.float64))        a torch.Tensor, of f's gradient

They are read where they lie, without a copy if they are contiguous; results come back as torch.Tensors that have no
history. One that requires grad is refused where PyTorch keeps gradients: it would lose them without a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.frontend.tree import BadLeaf, register_leaf
from . import packages

HISTORY = "is a torch.Tensor that requires grad, and what a compiled function returns has no history"
WAYS = "pass x.detach(), or make the function with pullback.to_torch, which keeps it"


def register() -> None:
    """Let compiled functions take torch.Tensors; this is called when they meet the first one."""
    torch = packages.torch()
    def to_array(x: Any) -> np.ndarray:
        if x.requires_grad and torch.is_grad_enabled():
            raise BadLeaf(HISTORY, WAYS)
        if x.device.type != "cpu" or x.layout is not torch.strided:
            where = f"on {x.device}" if x.device.type != "cpu" else f"of layout {x.layout}"
            raise BadLeaf(f"is a torch.Tensor {where}", "pass a dense one on the cpu")
        if x.dtype is torch.bfloat16:
            raise BadLeaf("is a torch.Tensor of bfloat16", "pass x.float()")
        return x.detach().numpy()

    for kind in (torch.Tensor, torch.nn.Parameter):
        register_leaf(kind, to_array, torch.from_numpy)


__all__ = ["register"]
