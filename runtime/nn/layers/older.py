"""Layers for other machines, and under older names: what they compute is that of others."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensor.face.tensor import Tensor
from ..module import Module
from .losses import NLLLoss
from .norms import _BatchNorm


class SyncBatchNorm(_BatchNorm):
    """Batch norm of any rank, whose moments are those of all processes, of which there is one."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with each batch norm in it replaced by one of this class on the same parameters."""
        made: Module = module
        if isinstance(module, _BatchNorm):
            given = module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
            made = cls(*given, process_group)
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked, made.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class NLLLoss2d(NLLLoss):
    """NLLLoss, of pictures as well, under its older name."""

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        warnings.warn(
            "NLLLoss2d has been deprecated. Please use NLLLoss instead as a drop-in replacement and see"
            " https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details",
            FutureWarning, stacklevel=2,
        )  # fmt: skip
        super().__init__(weight, size_average, ignore_index, reduce, reduction)
