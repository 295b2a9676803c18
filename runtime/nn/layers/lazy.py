"""Layers that find the size of their input when they are called first, and are ordinary layers from then on."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import empty
from ...tensor.reverse.hooks import RemovableHandle
from ...tensor.reverse.modes import no_grad
from ..module import Module
from ..parameter import Parameter
from ..registration import Buffer
from .convolutions import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .norms import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet."""

    kind: ClassVar[type]

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer: call the lazy module on an input first"
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take a shape, and become an ordinary one."""
        made: Any = self
        made.__class__ = self.kind
        with no_grad():
            made.data = empty(tuple(shape), dtype=dtype or made.dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        make, given = self.__reduce__()
        made = memo[id(self)] = make(*given)
        return made

    def __reduce__(self) -> Any:
        held: Any = self
        return type(self), (held.requires_grad, None, held.dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet."""

    kind = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return super().__new__(cls, empty(0, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet."""

    kind = Tensor

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__(empty(0, dtype=dtype))


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def _sized(held: Any, *shape: int) -> None:
    """Give a tensor its shape, if it waits for one."""
    if isinstance(held, UninitializedTensorMixin):
        held.materialize(shape)


class _Lazy(Module):
    """What lazy layers have in common: the class they become, and which of their arguments the input says."""

    cls_to_become: ClassVar[type[Module]]
    _first_call: RemovableHandle

    def _wait(self) -> None:
        """Find out before the first call."""
        self._first_call = self.register_forward_pre_hook(_find_out)

    def _first(self, input: Tensor, *rest: Any) -> None:
        self._first_call.remove()
        del self._first_call
        waiting = self.has_uninitialized_params()
        self.initialize_parameters(input, *rest)
        if waiting:
            self.reset_parameters()
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """What is loaded says the sizes as well."""
        for name, held in self._own_state().items():
            given = state_dict.get(prefix + name)
            if is_lazy(held) and given is not None and not is_lazy(given):
                held.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def has_uninitialized_params(self) -> bool:
        """Whether the layer waits for its first input."""
        held = (*self._parameters.values(), *self._buffers.values())
        return any(isinstance(p, UninitializedTensorMixin) for p in held)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, if there are any yet."""
        if not self.has_uninitialized_params() and hasattr(self.cls_to_become, "reset_parameters"):
            self.cls_to_become.reset_parameters(self)  # type: ignore[attr-defined]

    def initialize_parameters(self, input: Tensor, *rest: Any) -> None:
        """Take the sizes that the input says."""
        raise NotImplementedError


def _find_out(module: Any, args: tuple[Any, ...]) -> None:
    module._first(*args)


class LazyLinear(_Lazy, Linear):
    """Linear whose in_features is the input's last size."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        Linear.__init__(self, 0, 0, False, device, dtype)
        self.weight = UninitializedParameter(dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(dtype=dtype)
        self._wait()

    def initialize_parameters(self, input: Tensor, *rest: Any) -> None:
        self.in_features = input.shape[-1]
        _sized(self.weight, self.out_features, self.in_features)
        _sized(self.bias, self.out_features)


class _LazyConvolution(_Lazy):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        given = {"dilation": dilation, "padding_mode": padding_mode, "device": device, "dtype": dtype}
        self._start(out_channels, groups, bias, kernel_size, stride, padding, **given)

    def _start(self, out_channels: int, groups: int, bias: bool, *window: Any, **given: Any) -> None:
        self.cls_to_become.__init__(self, 0, 0, *window, bias=False, groups=1, **given)  # type: ignore[misc]
        layer: Any = self
        layer.groups, layer.out_channels = groups, out_channels
        layer.weight = UninitializedParameter(dtype=given["dtype"])
        if bias:
            layer.bias = UninitializedParameter(dtype=given["dtype"])
        self._wait()

    def initialize_parameters(self, input: Tensor, *rest: Any) -> None:
        layer: Any = self
        if input.dim() not in (layer.rank + 1, layer.rank + 2):
            raise RuntimeError(f"Expected {layer.rank + 1}D (unbatched) or {layer.rank + 2}D (batched) input to"
                               f" {self._get_name()}, but got input of size: {list(input.shape)}")
        layer.in_channels = input.shape[-layer.rank - 1]
        if layer.in_channels % layer.groups:
            raise ValueError("in_channels must be divisible by groups")
        _sized(layer.weight, *layer._weights(), *layer.kernel_size)
        _sized(layer.bias, layer.out_channels)


class _LazyTransposed(_LazyConvolution):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        given = {"dilation": dilation, "padding_mode": padding_mode, "device": device, "dtype": dtype}
        self._start(out_channels, groups, bias, kernel_size, stride, padding, output_padding=output_padding, **given)


class LazyConv1d(_LazyConvolution, Conv1d):
    """Conv1d whose in_channels is the input's."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """Conv2d whose in_channels is the input's."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """Conv3d whose in_channels is the input's."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """ConvTranspose1d whose in_channels is the input's."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """ConvTranspose2d whose in_channels is the input's."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """ConvTranspose3d whose in_channels is the input's."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(_Lazy):
    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        layer: Any = self
        self.cls_to_become.__init__(self, 0, eps, momentum, False, False, device, dtype)  # type: ignore[misc]
        layer.affine, layer.track_running_stats = affine, track_running_stats
        if affine:
            layer.weight = UninitializedParameter(dtype=dtype)
            layer.bias = UninitializedParameter(dtype=dtype) if bias else None
        if track_running_stats:
            layer.running_mean, layer.running_var = UninitializedBuffer(dtype=dtype), UninitializedBuffer(dtype=dtype)
            layer.num_batches_tracked = empty((), dtype=int).zero_()
        self._wait()

    def initialize_parameters(self, input: Tensor, *rest: Any) -> None:
        layer: Any = self
        layer._check_input_dim(input)
        layer.num_features = input.shape[1]
        for held in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
            _sized(held, layer.num_features)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """BatchNorm1d whose num_features is the input's number of channels."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """BatchNorm2d whose num_features is the input's number of channels."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """BatchNorm3d whose num_features is the input's number of channels."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """InstanceNorm1d whose num_features is the input's number of channels."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """InstanceNorm2d whose num_features is the input's number of channels."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """InstanceNorm3d whose num_features is the input's number of channels."""

    cls_to_become = InstanceNorm3d
