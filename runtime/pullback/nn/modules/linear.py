"""Linear layers under their older path."""

from pullback.runtime.nn.layers.lazy import (  # noqa: F401
    LazyLinear,
)
from pullback.runtime.nn.layers.linear import (  # noqa: F401
    Bilinear,
    Identity,
    Linear,
)
