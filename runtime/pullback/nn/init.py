"""First values of parameters."""

from pullback.runtime.nn.init import *  # noqa: F403
