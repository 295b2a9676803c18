"""Convolutions under their older path."""

from pullback.runtime.nn.layers.convolutions import (  # noqa: F401
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from pullback.runtime.nn.layers.convolutions import _Convolution as _ConvNd  # noqa: F401
from pullback.runtime.nn.layers.convolutions import _Transposed as _ConvTransposeNd  # noqa: F401
from pullback.runtime.nn.layers.lazy import (  # noqa: F401
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)
