"""Types that annotations of layers name; see pullback.runtime.programs.aliases."""

from pullback.runtime.programs.aliases import *  # noqa: F403
