"""Optimisers; see pullback.runtime.optim."""

from pullback.runtime.optim import *  # noqa: F403
