"""Windows by which signals are weighed; see pullback.runtime.tensor.tapers."""

from pullback.runtime.tensor.tapers import *  # noqa: F403
