"""Norms of each sample under their older path."""

from pullback.runtime.nn.layers.norms import (  # noqa: F401
    GroupNorm,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
