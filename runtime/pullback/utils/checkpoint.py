"""Parts of a model that run again on the way back; see pullback.runtime.utils.checkpoint."""

from pullback.runtime.utils.checkpoint import *  # noqa: F403
