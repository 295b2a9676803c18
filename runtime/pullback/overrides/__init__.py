"""Classes that answer for functions; see pullback.runtime.programs.overrides."""

from pullback import _overrides as _loaded  # noqa: F401
from pullback.runtime.programs.function_modes import *  # noqa: F403
from pullback.runtime.programs.overrides import *  # noqa: F403
from pullback.runtime.programs.refused import overrides as __getattr__  # noqa: F401
