"""Parameters and buffers."""

from pullback.runtime.nn.parameter import Parameter  # noqa: F401
from pullback.runtime.nn.registration import Buffer  # noqa: F401
from pullback.runtime.programs.inner import is_lazy as is_lazy
