"""Kernels of attention, of which there is one; see pullback.runtime.programs.kernels."""

from pullback.runtime.programs.kernels import *  # noqa: F403
from pullback.runtime.programs.refused import attention as __getattr__  # noqa: F401
