"""Blocks in which nothing is measured; see pullback.runtime.programs.profiling."""

from pullback import _profiler as _loaded  # noqa: F401
from pullback.runtime.programs.profiling import *  # noqa: F403
from pullback.runtime.programs.refused import profiler as __getattr__  # noqa: F401
