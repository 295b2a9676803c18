"""Batch norms under their older path."""

from pullback.runtime.nn.layers.lazy import (  # noqa: F401
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
)
from pullback.runtime.nn.layers.norms import (  # noqa: F401
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    _BatchNorm,
)
from pullback.runtime.nn.layers.norms import _Running as _NormBase  # noqa: F401
from pullback.runtime.nn.layers.older import SyncBatchNorm  # noqa: F401
