"""Windows by which signals are weighed; see pullback.runtime.tensor.ops.windows.tapers."""

from pullback.runtime.tensor.ops.windows.tapers import *  # noqa: F403
