"""A group of one process; see pullback.runtime.programs.distributed."""

from pullback import _distributed as _loaded  # noqa: F401
from pullback.runtime.programs.distributed import *  # noqa: F403
from pullback.runtime.programs.refused import distributed as __getattr__  # noqa: F401
