"""What backward keeps, and hooks; see pullback.runtime.tensor.reverse.graph."""

from pullback.runtime.tensor.reverse.graph import *  # noqa: F403
