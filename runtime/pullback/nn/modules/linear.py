"""Linear layers under their older path."""

from pullback.runtime.nn.layers import (  # noqa: F401
    Bilinear,
    Identity,
    Linear,
)
from pullback.runtime.nn.lazy import (  # noqa: F401
    LazyLinear,
)
