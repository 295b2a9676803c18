"""DataParallel, for programs that wrap their network in it: on the processor it calls the network."""

from __future__ import annotations

from typing import Any

from .module import Module


class DataParallel(Module):
    """A module behind another; parameters are named `module.weight`. There are no devices to share work among."""

    module: Module

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim, self.device_ids = module, dim, []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self.module(*inputs, **kwargs)
