"""Results that come later; see pullback.runtime.programs.inside.futures."""

from pullback import _futures as _loaded  # noqa: F401
from pullback.runtime.programs.inside.futures import *  # noqa: F403
