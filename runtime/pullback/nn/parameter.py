"""Parameters and buffers."""

from pullback.runtime.nn.layers.lazy import UninitializedBuffer as UninitializedBuffer
from pullback.runtime.nn.layers.lazy import UninitializedParameter as UninitializedParameter
from pullback.runtime.nn.layers.lazy import UninitializedTensorMixin as UninitializedTensorMixin
from pullback.runtime.nn.layers.lazy import is_lazy as is_lazy
from pullback.runtime.nn.parameter import Parameter  # noqa: F401
from pullback.runtime.nn.registration import Buffer  # noqa: F401
