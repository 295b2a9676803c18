"""Points that fill a cube evenly; see pullback.runtime.programs.quasirandom."""

from pullback import _quasirandom as _loaded  # noqa: F401
from pullback.runtime.programs.quasirandom import *  # noqa: F403
