"""Dropouts under their older path."""

from pullback.runtime.nn.layers.dropouts import (  # noqa: F401
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from pullback.runtime.nn.layers.dropouts import _Dropout as _DropoutNd  # noqa: F401
