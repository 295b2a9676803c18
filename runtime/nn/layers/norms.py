"""Normalisation as layers, with weights and running moments."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import ones, tensor, zeros
from ...tensor.reverse.modes import no_grad
from ...tensor.value.dtypes import int64
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter, blank


def _affine(module: Module, shape: Any, weight: bool, bias: bool, dtype: Any, device: Any) -> None:
    """Parameters of a shape, or None."""
    for name, there in (("weight", weight), ("bias", bias)):
        module.register_parameter(name, blank(*shape, dtype=dtype, device=device) if there else None)


def _start(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _Running(Module):
    """Channels with moments of their own, and running averages of them."""

    _version = 2
    ranks: ClassVar[tuple[int, ...]]
    said: ClassVar[str]
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool, track_running_stats: bool,
        device: Any, dtype: Any, bias: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        _affine(self, (num_features,), affine, affine and bias, dtype, device)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running averages."""
        if self.track_running_stats:
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None
            with no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Start again: weights one, biases zero."""
        self.reset_running_stats()
        _start(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            raise ValueError(f"expected {self.said} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine},"
            f" bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Old dictionaries don't have num_batches_tracked."""
        key = prefix + "num_batches_tracked"
        if local_metadata.get("version", 1) < 2 and self.track_running_stats and key not in state_dict:
            held = self.num_batches_tracked
            state_dict[key] = held if held is not None else tensor(0, dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        running = (self.running_mean, self.running_var) if kept else (None, None)
        return F.batch_norm(input, *running, self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Channels of [batch, channels] or [batch, channels, n], with the moments of the batch in training."""

    ranks, said = (2, 3), "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """Channels of [batch, channels, height, width], with the moments of the batch in training."""

    ranks, said = (4,), "4D"


class BatchNorm3d(_BatchNorm):
    """Channels of [batch, channels, depth, height, width], with the moments of the batch in training."""

    ranks, said = (5,), "5D"


class _InstanceNorm(_Running):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == self.ranks[1]
        channels = input.shape[1 if batched else 0]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={1 if batched else 0} to match num_features ({self.num_features}), but"
                f" got: {channels}."
            )
        made = F.instance_norm(
            input if batched else input.unsqueeze(0), self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return made if batched else made.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Channels of [batch, channels, n] with their own moments in every example."""

    ranks, said = (2, 3), "2D or 3D"


class InstanceNorm2d(_InstanceNorm):
    """Channels of [batch, channels, height, width] with their own moments in every example."""

    ranks, said = (3, 4), "3D or 4D"


class InstanceNorm3d(_InstanceNorm):
    """Channels of [batch, channels, depth, height, width] with their own moments in every example."""

    ranks, said = (4, 5), "4D or 5D"


class LayerNorm(Module):
    """The last dimensions with their own moments."""

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        _affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again: weights one, biases zero."""
        _start(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine},"
                f" bias={self.bias is not None}")


class RMSNorm(Module):
    """The last dimensions divided by the root of their mean square."""

    weight: Parameter | None

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = blank(*self.normalized_shape, dtype=dtype, device=device) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again: weights one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Groups of channels with their own moments in every example."""

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        _affine(self, (num_channels,), affine, affine and bias, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again: weights one, biases zero."""
        _start(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        has = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={has}"


class LocalResponseNorm(Module):
    """Elements divided by a power of the mean square of neighbouring channels."""

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
