"""DataParallel and DistributedDataParallel, for programs that wrap their network in them: they call the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..programs.distributed import get_world_size
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


class DistributedDataParallel(Module):
    """A module behind another; parameters are named `module.weight`.

    Gradients are averaged over the group's processes, of which there is one: it must have been made by
    `distributed.init_process_group`. How they would be sent (`bucket_cap_mb` and the like) changes nothing.
    """

    module: Module

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
        bucket_cap_mb: Any = None, find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False, **others: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if device_ids:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
                f"device GPU modules or CPU modules, but got device_ids {device_ids}, and there is the processor alone."
            )
        get_world_size(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a"
                " gradient."
            )
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        self.process_group, self.find_unused_parameters = process_group, find_unused_parameters
        self.broadcast_buffers, self.require_backward_grad_sync = broadcast_buffers is not False, True
        self.static_graph = static_graph

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose gradients stay with each process: with one, it has no effect."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, *args: Any, **kwargs: Any) -> Iterator[None]:
        """A block in which processes may have different numbers of batches: with one, it has no effect."""
        yield


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """What the module computes; there are no devices to share work among."""
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))
