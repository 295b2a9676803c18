"""Upsampling under their older path."""

from pullback.runtime.nn.layers.pictures import (  # noqa: F401
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)
