"""Types that annotations name; see pullback.runtime.programs.aliases."""

from pullback import _types as _loaded  # noqa: F401
from pullback.runtime.programs.aliases import *  # noqa: F403
