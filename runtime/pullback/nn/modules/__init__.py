"""The modules under their older path."""

from pullback.nn.modules import module  # noqa: F401
from pullback.runtime.nn import *  # noqa: F403
