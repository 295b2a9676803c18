"""Containers under their older path."""

from pullback.runtime.nn.containers import (  # noqa: F401
    ModuleDict,
    ModuleList,
    Sequential,
)
from pullback.runtime.nn.holders import (  # noqa: F401
    ParameterDict,
    ParameterList,
)
