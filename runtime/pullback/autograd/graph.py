"""What backward keeps, and hooks; see pullback.runtime.tensor.graph."""

from pullback.runtime.tensor.graph import *  # noqa: F403
